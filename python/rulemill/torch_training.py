"""Joint graphs of forward and backward, as Inductor partitions them, rewritten by proved rules. Calls that no definition reads stay as they
are, between rewritten parts. Weights are inputs: nothing is computed from their values. Read by the backend of `torch.compile` only."""

from __future__ import annotations

import copy
import operator
import pathlib
import tempfile
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

import onnx
import torch
from torch._functorch._aot_autograd.descriptors import InputMutationAOTOutput
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._inductor.custom_graph_pass import CustomPartitionerFn
from torch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from torch.utils._python_dispatch import _disable_current_modes

from . import torch_export, torch_operators, torch_program, torch_rewriting
from .torch_export import Refused
from .torch_joining import VAR_MEAN, Joined, changes, is_effect, reached

#: A rewriting may need this many times the bytes between the passes, of arguments and what is saved for the backward pass, as before.
_MAX_SAVED = 1.1
_MAX_ROUNDS = 20
Node = torch.fx.Node


class Partitioner(CustomPartitionerFn):  # type: ignore[misc]
    """Inductor's partitioner, of the rewritten graph if that is right and gains. `line`: what was done, or empty."""

    def __init__(self, inputs: Sequence[torch.Tensor], rules: Optional[Sequence[str]], seconds: float, digest: str,
                 reason: Callable[[BaseException], str]) -> None:
        self.inputs, self._rules, self._seconds, self._digest, self._reason = inputs, rules, seconds, f"{digest} {seconds}", reason
        self.line = ""

    def uuid(self) -> Any:
        return self._digest

    def __call__(self, gm: torch.fx.GraphModule, joint_inputs: Sequence[object], **kwargs: Any) -> Tuple[Any, Any]:
        outputs = int(kwargs["num_fwd_outputs"])
        found = None
        try:
            with _disable_current_modes(), torch._guards.tracing(None), torch._dynamo.utils.preserve_rng_state():
                found, line = self._rewritten(gm, outputs)
            if found is not None:
                before = min_cut_rematerialization_partition(_copied(gm), joint_inputs, **kwargs)
                after = min_cut_rematerialization_partition(found, joint_inputs, **kwargs)
                (kept_before, bytes_before), (kept_after, bytes_after) = (_saved(each[0], outputs) for each in (before, after))
                if late := (kept_after - kept_before) & _changed(gm, kept_after):
                    raise Refused(f"the backward pass would read {min(late)} after it is changed")
                line += f"; bytes saved for the backward pass: {bytes_after}, before {bytes_before}"
                others = sum(each.numel() * each.element_size() for each in self.inputs)
                if bytes_after + others > _MAX_SAVED * (bytes_before + others):
                    raise Refused(f"it would save {bytes_after} bytes for the backward pass in place of {bytes_before}")
                self.line = line
                return after
        except Exception as error:  # whatever it is, Inductor partitions the graph as it was
            line = f"left to Inductor: {self._reason(error)}"
        self.line = line
        return min_cut_rematerialization_partition(gm, joint_inputs, **kwargs)

    def _rewritten(self, joint: torch.fx.GraphModule, outputs: int) -> Tuple[Optional[torch.fx.GraphModule], str]:
        _check(joint)
        values = _arguments(joint, self.inputs)
        parts = _Parts(joint)
        with tempfile.TemporaryDirectory(prefix="rulemill-") as name, torch.no_grad():
            folder = pathlib.Path(name)
            program, graph = parts.read(folder / "graph.onnx")
            inputs = _values(joint, values, parts.inputs)
            found = torch_rewriting.rewrite_model(folder / "graph.onnx", program, graph, inputs, (), self._rules, self._seconds, len(parts.results))
        unread = parts.unread
        line = found.line + (f"; not read: {', '.join(unread)}" if unread else "")
        if found.graph is None:
            return None, line
        return parts.joined(found, outputs), line


def _check(joint: torch.fx.GraphModule) -> None:
    """Raises Refused for graphs with open sizes, other devices or marks for recomputing."""
    for node in joint.graph.nodes:
        value = node.meta.get("val")
        tensors = [each for each in torch.utils._pytree.tree_leaves(value) if each is not None]
        if node.op != "output" and any(not isinstance(each, torch.Tensor) or each.device.type != "cpu" for each in tensors):
            raise Refused(f"{node.name} is no tensor on a CPU")
        if any(isinstance(size, torch.SymInt) for each in tensors for size in each.shape):
            raise Refused("it has open sizes")
        if changes(node) and node.target is not torch.ops.aten.copy_.default:
            raise Refused(f"{node.target} changes a tensor")
        if "recompute" in node.meta or node.op in ("call_module", "call_method"):
            raise Refused(f"{node.name} is to be computed again in the backward pass" if "recompute" in node.meta else f"{node.name} is no call of ATen")


def _arguments(joint: torch.fx.GraphModule, inputs: Sequence[torch.Tensor]) -> List[torch.Tensor]:
    """Values for the arguments: those of the first call, and random gradients of its results."""
    nodes = joint.graph.find_nodes(op="placeholder")
    own = [node for node in nodes if "tangents" not in node.target]
    tensors = [tensor.detach() for tensor in inputs]
    forms = [(node.meta["val"].shape, node.meta["val"].dtype) for node in own]
    if forms != [(tensor.shape, tensor.dtype) for tensor in tensors]:
        raise Refused("PyTorch changes the order of its arguments")
    given = dict(zip(own, tensors))
    return [given[node].clone() if node in given else _random(node.meta["val"]) for node in nodes]


def _random(like: torch.Tensor) -> torch.Tensor:
    made = torch.randn(like.shape, dtype=like.dtype) if like.dtype.is_floating_point else torch.zeros(like.shape, dtype=like.dtype)
    return torch.empty_strided(like.shape, like.stride(), dtype=like.dtype).copy_(made)


class _Recorder(torch.fx.Interpreter):
    """Computes a graph, and keeps the values of some nodes."""

    def __init__(self, module: torch.fx.GraphModule, names: Set[str]) -> None:
        super().__init__(module)
        self.found: Dict[str, torch.Tensor] = {}
        self._names = names

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if n.name in self._names:
            self.found[n.name] = value.clone() if n.op == "placeholder" else value
        return value


def _values(joint: torch.fx.GraphModule, arguments: Sequence[torch.Tensor], nodes: Sequence[Node]) -> List[torch.Tensor]:
    recorder = _Recorder(joint, {node.name for node in nodes})
    recorder.run(*arguments, enable_io_processing=False)
    return [recorder.found[node.name] for node in nodes]


class _Parts:
    """What of a joint graph definitions read, as a function of what the rest gives (`inputs`) with the values that the rest and the graph's
    results need (`results`, of which these come first; then `operands`)."""

    def __init__(self, joint: torch.fx.GraphModule) -> None:
        self._joint, self._nodes = joint, list(joint.graph.nodes)
        self._left = {node for node in self._nodes if node.op == "get_attr" or node.op == "call_function" and self._is_left(node)}
        self.inputs: List[Node] = []
        self.results: List[Node] = []
        self.operands: List[Node] = []

    @staticmethod
    def _is_left(node: Node) -> bool:
        if node.target is operator.getitem:
            return False
        values = [each.meta.get("val") for each in (node, *node.all_input_nodes)]
        tensors = [each for each in torch.utils._pytree.tree_leaves(values) if isinstance(each, torch.Tensor)]
        reals = {each.dtype for each in tensors if each.dtype.is_floating_point}
        known = isinstance(node.target, torch._ops.OpOverload) and (node.target.namespace in ("aten", "prims"))
        strange = any(each.dtype not in torch_program.ONNX_TYPES or 0 in each.shape for each in tensors)
        return not known or strange or is_effect(node) or len(reals) > 1 and "convert" not in str(node.target)

    @property
    def unread(self) -> List[str]:
        return sorted({str(node.target).rpartition(".")[0] for node in self._left if node.op == "call_function"})

    def _is_body(self, node: Node) -> bool:
        if node.target is operator.getitem:
            return self._is_body(node.args[0])  # type: ignore[arg-type]
        return node.op == "call_function" and node not in self._left

    def _cut(self) -> None:
        while True:
            self._cut_once()
            # Models are compared at random numbers, for which truth values are mostly the same.
            truths = {node for node in (*self.results, *self.operands) if not node.meta["val"].dtype.is_floating_point}
            if not truths:
                break
            self._left |= truths
        if not self.inputs or not (self.results or self.operands):
            raise Refused("no definition reads its calls")

    def _cut_once(self) -> None:
        outputs = [each for each in self._joint.graph.output_node().all_input_nodes if self._is_body(each)]
        body = [node for node in self._nodes if self._is_body(node)]
        used = {each for node in body for each in node.all_input_nodes}
        self.inputs = [node for node in self._nodes if node in used and not self._is_body(node)]
        self.results = list(dict.fromkeys(outputs))
        taken = {each for node in self._left for each in node.all_input_nodes if self._is_body(each)}
        self.operands = [node for node in self._nodes if node in taken and node not in set(self.results)]

    def read(self, path: pathlib.Path) -> Tuple[Any, torch.fx.GraphModule]:
        """Writes what definitions read as a model. Returns it as a program of PyTorch over core operators, and as it is."""
        kept = torch_program.composites(None)
        for _ in range(_MAX_ROUNDS):
            self._cut()
            graph = self._module()
            program, origins = self._decomposed(graph, kept)
            try:
                model, report = torch_program.written(torch_program.ProgramWriter(program).model())
                torch_program.check_calls(model, report)
            except torch_program.NotRead as error:
                unread = {node: origins[node.name] for node in program.graph.nodes if node.name in error.nodes and node.name in origins}
                later = reached(program.graph, set(unread))  # whose inputs are not known for this reason alone
                new = {each for node, each in unread.items() if not any(given in later for given in node.all_input_nodes)}
                if not new:
                    raise
                self._left |= new
                continue
            for each in (*model.graph.input, *model.graph.output):
                if each.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
                    raise Refused("bfloat16")
            torch_export.rename(model, {})
            onnx.save(model, str(path), save_as_external_data=model.ByteSize() > 1 << 30)
            return program, graph
        raise Refused("no definition reads its calls")

    def _module(self) -> torch.fx.GraphModule:
        graph, places = torch.fx.Graph(), {}
        for node in self.inputs:
            places[node] = graph.placeholder(node.name)
            places[node].meta = dict(node.meta)
        for node in self._nodes:
            if self._is_body(node):
                places[node] = graph.node_copy(node, places.__getitem__)
        graph.output(tuple(places[node] for node in (*self.results, *self.operands)))
        graph.eliminate_dead_code()
        self._origins = {copied: node for node, copied in places.items()}
        return torch.fx.GraphModule(self._joint, graph)

    def _decomposed(self, module: torch.fx.GraphModule, kept: Any) -> Tuple[Any, Dict[str, Node]]:
        """The calls over core operators, as far as definitions do not read them, and for each of these by name the call that it is of."""
        table = {call: rule for call, rule in torch.export.default_decompositions().items() if str(call) not in kept}
        for kept_call in (torch.ops.aten.select_backward.default, torch.ops.aten.slice_backward.default):
            table.pop(kept_call, None)
        table.pop(torch.ops.aten.var.correction, None)
        table[torch.ops.prims.fma.default] = lambda a, b, c: a * b + c
        origins: Dict[str, Node] = {}
        mine = self._origins

        class Traced(torch.fx.Interpreter):
            def run_node(self, n: Node) -> Any:
                made = get_proxy_mode().tracer.graph.nodes
                before = set(made)
                value = self.read(n)
                origins.update({node.name: mine[n] for node in made if node not in before and n in mine})
                return value

            def read(self, n: Node) -> Any:
                call = _gradient_of_part(n)
                if call:
                    return call[0](self.env[n.args[1]], *call[1:])  # type: ignore[index]
                if n.target is torch.ops.aten.convolution_backward.default:
                    return _gradients(*self.fetch_args_kwargs_from_env(n)[0])
                if n.target is VAR_MEAN:
                    args, settings = self.fetch_args_kwargs_from_env(n)
                    return torch.ops.aten.var.correction(*args, **settings), torch.ops.aten.mean.dim(*args[:2], settings.get("keepdim", False))
                return super().run_node(n)

        fakes = [node.meta["val"] for node in self.inputs]
        with fakes[0].fake_mode:
            traced = make_fx(lambda *tensors: Traced(module).run(*tensors), decomposition_table=table)(*fakes)
        traced.graph.eliminate_dead_code()
        inputs = [node.name for node in traced.graph.find_nodes(op="placeholder")]
        signature = SimpleNamespace(user_inputs=inputs, inputs_to_parameters={}, inputs_to_buffers={}, inputs_to_lifted_tensor_constants={}, output_specs=[])
        return SimpleNamespace(graph=traced.graph, graph_module=traced, graph_signature=signature, state_dict={}, constants={}), origins

    def joined(self, found: Any, outputs: int) -> torch.fx.GraphModule:
        """The joint graph in which the rewritten calls stand for those that were read."""
        return Joined(self._joint, self._left, self.inputs, [*self.results, *self.operands], found, outputs).module()


def _gradients(y: Any, x: Any, kernel: Any, _: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, extra: Any, groups: int,
               mask: Sequence[bool]) -> Any:
    """The gradients of a convolution of x, one call for each."""
    found: List[Any] = [None, None, y.sum([0, *range(2, y.dim())]) if mask[2] else None]
    settings = stride, padding, dilation, groups
    reach = [(size - 1) * step + 1 for size, step in zip(kernel.shape[2:], dilation)]
    is_same = not transposed and y.dim() == 4 and all(width % 2 and 2 * pad + 1 == width for pad, width in zip(padding, kernel.shape[2:])) \
        and len(set(stride)) == 1 and set(dilation) == {1}
    if mask[0] and transposed:
        found[0] = torch.ops.aten.convolution(y, kernel, None, stride, padding, dilation, False, [0] * len(stride), groups)
    elif mask[0] and is_same:
        found[0] = torch_operators.gradients(y, x, kernel, settings, [True, False, False])[0]
    elif mask[0]:
        left = [(size + 2 * pad - width) % step for size, pad, width, step in zip(x.shape[2:], padding, reach, stride)]
        found[0] = torch.ops.aten.convolution(y, kernel, None, stride, padding, dilation, True, left, groups)
    if mask[1]:
        found[1] = torch_operators.gradients(*((x, y) if transposed else (y, x)), kernel, settings, [False, True, False])[1]
    return tuple(found)


def _gradient_of_part(node: Node) -> Optional[Tuple[Any, ...]]:
    """The gradient of a selection that PyTorch has decomposed into zeros of which a part is set: the call, and its arguments but one."""
    names = {torch.ops.aten.select_scatter.default: "index", torch.ops.aten.slice_scatter.default: "start"}
    base = node.args[0] if node.target in names else None
    if not isinstance(base, Node) or base.target is not torch.ops.aten.full.default or base.args[1] != 0:
        return None
    if node.args[1].meta["val"].dtype != node.meta["val"].dtype:
        return None
    sizes = list(node.meta["val"].shape)
    given = dict(zip(("dim", *(("index",) if names[node.target] == "index" else ("start", "end", "step"))), node.args[2:]))
    given.update(node.kwargs)
    axis = int(given.get("dim", 0)) % len(sizes)
    if "index" in given:
        return torch.ops.aten.select_backward.default, sizes, axis, int(given["index"]) % sizes[axis]
    first, last = slice(given.get("start"), given.get("end")).indices(sizes[axis])[:2]
    if given.get("step", 1) != 1:
        return None
    return torch.ops.aten.slice_backward.default, sizes, axis, first, last, 1


def _copied(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    graph = copy.deepcopy(module.graph)
    made = torch.fx.GraphModule(module, graph)
    made.meta = dict(module.meta)
    return made


def _base(node: Node) -> Node:
    """What the tensor is a view of."""
    while node.op == "call_function" and _is_view(node):
        node = node.args[0]  # type: ignore[assignment]
    return node


def _changed(joint: torch.fx.GraphModule, arguments: Set[str]) -> Set[str]:
    """The arguments that the forward pass changes; all of these, if it changes some after the graph has run."""
    results = joint.graph.output_node().meta.get("desc")
    if results is None or any(isinstance(each, InputMutationAOTOutput) for each in results):
        return arguments
    return {_base(node.args[0]).name for node in joint.graph.nodes if changes(node) and isinstance(node.args[0], Node)}


def _saved(forward: torch.fx.GraphModule, outputs: int) -> Tuple[Set[str], int]:
    """What the forward pass keeps for the backward pass: arguments, and the bytes of what is none."""
    kept = {_base(node) for node in forward.graph.output_node().args[0][outputs:]}
    values = [each.meta.get("val") for each in kept if each.op != "placeholder"]
    return ({each.name for each in kept if each.op == "placeholder"},
            sum(each.numel() * each.element_size() for each in values if isinstance(each, torch.Tensor)))


def _is_view(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and bool(schema.arguments) and schema.arguments[0].alias_info is not None and not schema.is_mutable


__all__ = ["Partitioner"]
