"""A joint graph of forward and backward in which rewritten calls stand for those that were read. Read by torch_training only."""

from __future__ import annotations

import copy
import operator
from typing import Any, Dict, List, Sequence, Set

import torch
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

from .torch_export import Refused

Node = torch.fx.Node
VAR_MEAN = torch.ops.aten.var_mean.correction
_GRADIENTS = torch.ops.aten.convolution_backward.default


def is_effect(node: Node) -> bool:
    """Whether a call must be made once, in its order."""
    tags = getattr(node.target, "tags", ())
    return not hasattr(node.target, "_schema") or changes(node) or torch.Tag.nondeterministic_seeded in tags or "inductor_prims" in str(node.target)


def changes(node: Node) -> bool:
    """Whether a call changes a tensor."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


class Joined:
    """A joint graph made from the calls of two graphs: those that are left as they are, and the rewritten ones."""

    def __init__(self, joint: torch.fx.GraphModule, left: Set[Node], inputs: Sequence[Node], results: Sequence[Node], found: Any,
                 outputs: int) -> None:
        self._joint, self._left, self._outputs = joint, left, outputs
        traced: List[Node] = list(found.graph.graph.nodes)
        given = [node for node in traced if node.op == "placeholder"]
        self._given: Dict[Node, Any] = dict(zip(given, [*inputs, *found.constants]))
        self._results = dict(zip(results, traced[-1].args[0]))  # type: ignore[arg-type]
        self._graph = torch.fx.Graph()
        self._made: Dict[Node, Node] = {}

    def module(self) -> torch.fx.GraphModule:
        nodes = list(self._joint.graph.nodes)
        for node in nodes:
            if node.op == "placeholder":
                self._made[node] = self._graph.node_copy(node)
        last = [node for node in nodes if node in self._left and changes(node)]  # after all that reads the tensor that it changes
        for node in [node for node in nodes if node in self._left and node not in last] + nodes[-1].all_input_nodes + last:
            self._make(node)
        output = nodes[-1]
        made = self._graph.output(torch.fx.map_arg(output.args[0], lambda each: self._made[self._source(each)]))
        made.meta = copy.copy(output.meta)
        self._graph._codegen = copy.deepcopy(self._joint.graph._codegen)
        self._check_order(nodes, last)
        _join_moments(self._graph)
        _join_gradients(self._graph)
        module = torch.fx.GraphModule(self._joint, self._graph)
        module.meta = dict(self._joint.meta)
        values = [node.meta["val"] for node in self._graph.find_nodes(op="placeholder")]
        FakeTensorProp(module, values[0].fake_mode).propagate_dont_convert_inputs(*values)
        return module

    def _source(self, node: Node) -> Node:
        """The node of either graph by which a value of the joint graph or an input of the traced graph is made."""
        while True:
            if node in self._results:
                node = self._results[node]
            elif isinstance(self._given.get(node), Node):
                node = self._given[node]
            else:
                return node

    def _make(self, root: Node) -> None:
        pending, waiting = [self._source(root)], set()
        while pending:
            node = pending[-1]
            if node in self._made:
                pending.pop()
                continue
            missing = [each for each in map(self._source, node.all_input_nodes) if each not in self._made]
            if missing and node in waiting:
                raise Refused("a rewritten part would need its own result")
            waiting.add(node)
            if missing:
                pending += missing
                continue
            pending.pop()
            if node in self._given:
                self._made[node] = self._constant(self._given[node])
            else:
                self._made[node] = self._graph.node_copy(node, lambda each: self._made[self._source(each)])

    def _constant(self, tensor: torch.Tensor) -> Node:
        if tensor.numel() == 0 or not bool((tensor == tensor.reshape(-1)[0]).all()):
            raise Refused("a constant of several numbers")
        return self._graph.call_function(torch.ops.aten.full.default, (list(tensor.shape), tensor.reshape(-1)[0].item()), {
            "dtype": tensor.dtype, "layout": torch.strided, "device": tensor.device, "pin_memory": False})

    def _check_order(self, nodes: Sequence[Node], last: Sequence[Node]) -> None:
        """Raises Refused unless effects are in their order and results of the forward pass are computed without gradients."""
        effects = [self._made[node].name for node in nodes if node in self._left and node not in last and is_effect(node) and node in self._made]
        names = [node.name for node in self._graph.nodes]
        if effects != [name for name in names if name in set(effects)]:
            raise Refused("random numbers would be drawn in another order")
        for place, node in enumerate(last):
            changed = {each for each in node.all_input_nodes if each.op == "placeholder"}
            later = nodes[nodes.index(node) + 1:]
            if any(each in changed | {node} for after in later for each in after.all_input_nodes):
                raise Refused(f"{node.name} changes a tensor that is read later")
        before, after = _of_gradients(self._joint.graph), _of_gradients(self._graph)
        for node in [*nodes[-1].all_input_nodes, *(each for each in nodes if each in self._left)]:
            if node not in before and self._made[self._source(node)] in after:
                raise Refused("a result of the forward pass would be computed from gradients")


def _join_moments(graph: torch.fx.Graph) -> None:
    """Makes the variance and the mean of the same numbers one call again, as before `_decomposed`."""
    means = {(node.args[0], tuple(node.args[1] or ()), bool(node.args[2])): node
             for node in graph.find_nodes(op="call_function", target=torch.ops.aten.mean.dim) if len(node.args) == 3 and not node.kwargs}
    for node in graph.find_nodes(op="call_function", target=torch.ops.aten.var.correction):
        mean = means.get((node.args[0], tuple(node.args[1] or ()), bool(node.kwargs.get("keepdim", False))))
        if mean is None:
            continue
        first = next(each for each in graph.nodes if each in (node, mean))
        with graph.inserting_before(first):
            both = graph.call_function(VAR_MEAN, node.args, node.kwargs)
            parts = [graph.call_function(operator.getitem, (both, number)) for number in range(2)]
        for part, each in zip(parts, (node, mean)):
            each.replace_all_uses_with(part)
            graph.erase_node(each)


def _join_gradients(graph: torch.fx.Graph) -> None:
    """Makes the gradients of one convolution, of its image, its kernel and its summands, one call again, as before `_decomposed`."""
    calls = graph.find_nodes(op="call_function", target=_GRADIENTS)
    places = {node: place for place, node in enumerate(graph.nodes)}
    sums = {node.args[0]: node for node in graph.find_nodes(op="call_function", target=torch.ops.aten.sum.dim_IntList)
            if list(node.args[1]) == [0, *range(2, node.args[0].meta["val"].dim())] and not any(node.args[2:]) and not node.kwargs}
    for kernel in [each for each in calls if list(each.args[-1]) == [False, True, False]]:
        y, x = kernel.args[:2]
        image = next((each for each in calls if list(each.args[-1]) == [True, False, False] and each.args[3:-1] == kernel.args[3:-1]
                      and each.args[0] is y and _is_same(each.args[1], x) and _is_same(kernel.args[2], each.args[2])), None)
        bias = sums.pop(y, None)
        parts = [image, kernel, bias]
        weights = image.args[2] if image is not None else kernel.args[2]
        given = max(places.get(each, len(places)) for each in (y, x, weights))
        users = [user for part in parts[:2] if part is not None for each in part.users for user in each.users] + list(bias.users if bias is not None else ())
        if (image is None and bias is None) or any(places.get(user, -1) <= given for user in users):
            continue
        first = next(each for each in graph.nodes if places.get(each, -1) == given).next
        with graph.inserting_before(first):
            sizes = None if bias is None else [kernel.args[2].meta["val"].shape[0]]
            joined = graph.call_function(_GRADIENTS, (y, x, weights, sizes, *kernel.args[4:-1], [part is not None for part in parts]))
            outputs = [graph.call_function(operator.getitem, (joined, number)) if part is not None else None for number, part in enumerate(parts)]
        for number, part in enumerate(parts[:2]):
            for each in list(part.users if part is not None else ()):
                each.replace_all_uses_with(outputs[number])
                graph.erase_node(each)
            if part is not None:
                graph.erase_node(part)
                calls.remove(part)
        if bias is not None:
            bias.replace_all_uses_with(outputs[2])
            graph.erase_node(bias)


def _is_same(found: Node, needed: Node) -> bool:
    """Whether the first tensor is the second one, or a new one of its form, of which sizes alone matter."""
    return found is needed or "empty" in str(found.target) and found.meta["val"].shape == needed.meta["val"].shape


def _of_gradients(graph: torch.fx.Graph) -> Set[Node]:
    """What depends on gradients of the results."""
    return reached(graph, {node for node in graph.find_nodes(op="placeholder") if "tangents" in str(node.target)})


def reached(graph: torch.fx.Graph, nodes: Set[Node]) -> Set[Node]:
    """The nodes and what is computed from them."""
    found = set(nodes)
    for node in graph.nodes:
        if any(each in found for each in node.all_input_nodes):
            found.add(node)
    return found


__all__ = ["VAR_MEAN", "Joined", "changes", "is_effect", "reached"]
