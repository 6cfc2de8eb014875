"""An optimized model as calls of PyTorch. Unchanged parts are taken from the exported program, whose names the models keep; what rules
wrote is called by `torch_operators`. Read by the backend of `torch.compile` only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

import numpy
import onnx
import torch

from .torch_export import Refused
from .torch_operators import OPERATORS, OnnxNode, call

#: Of constants that are numbers of a call, such as shapes.
_MAX_NUMBERS = 64
#: Of values between two of the exported program.
_MAX_CONE = 100

Value = Tuple[Any, int]  # a node and the number of its output


@dataclass(frozen=True)
class _Step:
    """A call: an ONNX node, or a node of the exported program with the values that stand for those that it is computed from."""

    node: Any
    outputs: Sequence[str]
    leaves: Mapping[str, str]


class _TooLarge(Exception):
    """More than _MAX_CONE values."""


class _Model:
    """The nodes of a model by the values that they give, under the names of the exported program."""

    def __init__(self, proto: Any, names: Mapping[str, str]) -> None:
        identities = {node.output[0]: node.input[0] for node in proto.graph.node if node.op_type == "Identity"}
        self._names, self._identities = names, identities
        self.nodes = [node for node in proto.graph.node if node.op_type not in ("Identity", "Constant")]
        self.values: Dict[str, Value] = {}
        for node in self.nodes:
            for number, output in enumerate(node.output):
                self.values.setdefault(self.name(output), (node, number))
        self.constants = {each.name: onnx.numpy_helper.to_array(each) for each in proto.graph.initializer}
        for node in proto.graph.node:
            if node.op_type == "Constant":
                self.constants[node.output[0]] = constant(node)
        self.results = [self.name(output.name) for output in proto.graph.output]

    def name(self, value: str) -> str:
        while value in self._identities:
            value = self._identities[value]
        return self._names.get(value, value)


def constant(node: Any) -> Any:
    value = onnx.helper.get_attribute_value(node.attribute[0])
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else numpy.asarray(
        value, dtype=numpy.float32 if "float" in node.attribute[0].name else numpy.int64)


class Calls:
    """The calls of an optimized model.

    `program`: the exported program; `clean`: its model, cleaned; `result`: the optimized model; `weights`: by name of a constant in the
    models, the number of the argument that has it. `constants`: tensors of the result that no argument has."""

    def __init__(self, program: Any, clean: Any, result: Any, weights: Mapping[str, int], tensors: Mapping[str, torch.Tensor]) -> None:
        graph: Any = _without_duplicates(program.graph)
        self._nodes = {node.name: node for node in graph.nodes}
        signature = program.graph_signature
        stored = {**signature.inputs_to_parameters, **signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
        outputs = [node.name for node in graph.output_node().args[0]]
        names = {f"arg.{place}": name for place, name in enumerate(signature.user_inputs)}
        names.update({f"result.{place}": name for place, name in enumerate(outputs)})
        self._weights = weights
        self._before, self._after = _Model(clean, names), _Model(result, names)
        self._inputs = list(signature.user_inputs)
        self._weight_nodes = {name: stored[name] for name in self._nodes if name in stored}
        self._live = {name: weights[name] for name, array in self._after.constants.items()
                      if name in weights and torch.equal(_tensor(array), tensors[name].detach().cpu())}
        self._lifted = {target: program.constants[target] for target in stored.values() if target in program.constants and target not in weights}
        self.constants: List[torch.Tensor] = []
        self._places: Dict[str, int] = {}
        given = {value: self._after.name(value) for node in self._after.nodes for value in node.input}
        self._constants = {value: self._after.constants[name] for value, name in given.items() if name in self._after.constants}
        self._steps = self._plan()

    def _plan(self) -> List[_Step]:
        """The calls in order."""
        needed: Set[str] = set(self._after.results)
        steps: List[_Step] = []
        for node in reversed(self._after.nodes):
            outputs = [self._after.name(output) for output in node.output]
            asked = [name for number, name in enumerate(outputs) if name in needed and self._after.values[name] == (node, number)]
            kept = {name: self._kept(name, node.op_type in OPERATORS) for name in asked}
            for name, leaves in kept.items():
                if leaves is not None:
                    needed.update(leaves.values())
                    steps.append(_Step(self._nodes[name], [name], leaves))
            if any(leaves is None for leaves in kept.values()):
                needed.update(self._after.name(value) for value in node.input if value)
                steps.append(_Step(node, outputs, {}))
        for name in sorted(needed):
            if name in self._after.constants and name not in self._live:
                self._places[name] = len(self.constants)
                self.constants.append(_tensor(self._after.constants[name]))
        return steps[::-1]

    def _kept(self, name: str, has_call: bool) -> Optional[Dict[str, str]]:
        """If the result computes a value by the nodes of the cleaned model, the values that it computes it from, by those of the exported
        program; else None. They have the same names, unless no other call is known."""
        if name not in self._nodes or name not in self._before.values:
            return None
        leaves: Dict[str, str] = {}
        try:
            if not self._matches(name, name, name, leaves, []):
                return None
        except _TooLarge:
            return None
        if has_call and any(before != after for before, after in leaves.items()):
            return None
        return leaves if self._needed_by_program(name) <= set(leaves) else None

    def _matches(self, root: str, before: str, after: str, leaves: Dict[str, str], visited: List[str]) -> bool:
        """Whether both models compute two values by equal nodes from values of the exported program."""
        before, after = self._before.name(before), self._after.name(after)
        visited.append(before)
        if len(visited) > _MAX_CONE:
            raise _TooLarge
        if before in self._before.constants:
            if before in self._weights or after in self._weights:
                return before == after
            return after in self._after.constants and _same(self._before.constants[before], self._after.constants[after])
        if before != root and (before in self._nodes or before not in self._before.values):
            return leaves.setdefault(before, after) == after
        if after not in self._after.values:
            return False
        (node, number), (other, other_number) = self._before.values[before], self._after.values[after]
        same = (node.domain, node.op_type, number, len(node.input)) == (other.domain, other.op_type, other_number, len(other.input))
        return same and _attributes(node) == _attributes(other) and all(
            bool(mine) == bool(theirs) and (not mine or self._matches(root, mine, theirs, leaves, visited))
            for mine, theirs in zip(node.input, other.input))

    def _needed_by_program(self, name: str) -> Set[str]:
        """The values that the exported program computes this one from, as far as the cleaned model has them."""
        leaves: Set[str] = set()
        pending = list(self._nodes[name].all_input_nodes)
        while pending:
            node = pending.pop()
            if node.name in self._before.values or node.name in self._inputs:
                leaves.add(node.name)
            elif node.name not in self._weight_nodes:
                pending += node.all_input_nodes
        return leaves

    def __call__(self, inputs: Sequence[torch.Tensor], weights: Mapping[int, torch.Tensor],
                 constants: Sequence[torch.Tensor]) -> List[torch.Tensor]:
        """The results, from the inputs of the model, its weights by number of argument, and its constants."""
        values: Dict[str, Any] = dict(zip(self._inputs, inputs))
        values.update({name: weights[place] for name, place in self._live.items()})
        values.update({name: constants[place] for name, place in self._places.items()})
        stored = {name: weights[self._weights[target]] if target in self._weights else self._lifted[target]
                  for name, target in self._weight_nodes.items()}
        for step in self._steps:
            if isinstance(step.node, torch.fx.Node):
                values[step.outputs[0]] = self._run(step.node, {**stored, **{name: values[given] for name, given in step.leaves.items()}})
            else:
                found = call(described(step.node, self._constants), [values[self._after.name(value)] if value else None for value in step.node.input])
                values.update({name: tensor for name, tensor in zip(step.outputs, found) if name})
        return [values[name] for name in self._after.results]

    def _run(self, node: torch.fx.Node, values: Dict[str, Any]) -> Any:
        """The value of a node of the exported program, from values of the types with which it was traced."""
        for name, value in values.items():
            traced = self._nodes[name].meta["val"]
            if isinstance(value, torch.Tensor) and (value.shape, value.dtype) != (traced.shape, traced.dtype):
                raise Refused(f"no call is known for {node.target} of {list(value.shape)}")
        pending = [node]
        while pending:
            missing = [each for each in pending[-1].all_input_nodes if each.name not in values]
            if missing:
                pending += missing
                continue
            last = pending.pop()
            args, kwargs = torch.fx.node.map_arg((last.args, last.kwargs), lambda each: values[each.name])
            values[last.name] = last.target(*args, **kwargs)  # type: ignore[operator]
        return values[node.name]


def described(node: Any, constants: Mapping[str, Any]) -> OnnxNode:
    """An ONNX node, for `torch_operators.call`."""
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    attributes = {name: value.decode() if isinstance(value, bytes) else value for name, value in attributes.items()}
    arrays = [constants.get(value) if value else None for value in node.input]
    numbers = [array.reshape(-1).tolist() if array is not None and array.size <= _MAX_NUMBERS else None for array in arrays]
    return OnnxNode(f"{node.domain}.{node.op_type}" if node.domain else node.op_type, attributes, len(node.output), numbers)


def _without_duplicates(graph: torch.fx.Graph) -> torch.fx.Graph:
    """A copy in which equal calls, which the clean-up merges, are one."""
    copied = torch.fx.Graph()
    places: Dict[Any, Any] = {}
    found: Dict[Any, Any] = {}
    for node in graph.nodes:
        args = torch.fx.node.map_arg((node.args, node.kwargs), places.__getitem__)
        key = (node.op, node.target, repr(args))
        if node.op != "call_function" or key not in found:
            found[key] = copied.node_copy(node, places.__getitem__)
        places[node] = found[key]
    return copied


def _attributes(node: Any) -> List[bytes]:
    return sorted(each.SerializeToString(deterministic=True) for each in node.attribute)


def _same(a: Any, b: Any) -> bool:
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


def _tensor(array: Any) -> torch.Tensor:
    if array.dtype.name == "bfloat16":  # which torch does not know
        return torch.from_numpy(array.view(numpy.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(numpy.array(array, order="C"))


__all__ = ["Calls", "constant", "described"]
