"""Exported programs of PyTorch as ONNX models. Read by `rulemill.torch` only; needs torch and onnx.

A program's calls are first written as they are, as nodes of the domain "aten": tensors, numbers and sizes are inputs, and other arguments
attributes of the same name. What such a node means is in the definitions alone (their lines `aten`): rulemill reads the model by them and
writes it as ONNX. PyTorch decomposes calls as far as no definition reads them. Here are only sizes (ONNX's Shape and arithmetic of
integers), conversions of element types (Cast), and constants of whole numbers that PyTorch computes."""

from __future__ import annotations

import functools
import operator
import pathlib
import tempfile
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

import onnx
import torch

from . import program as binary
from .errors import Error, InputError
from .program import PathLike

DOMAIN = "aten"
#: The domain of operators that ONNX lacks, such as gradients of convolutions.
OWN_DOMAIN = "rulemill.torch"
#: Of the written models; definitions name operators of ONNX up to it.
OPSET = 23
IR_VERSION = 10

#: Where elements lie, which is no part of what a call computes.
_OF_MEMORY = {"layout", "device", "pin_memory", "memory_format", "non_blocking"}
_AS_INPUTS = {"TensorType", "SymIntType", "NumberType"}
_CONVERSIONS = {"prims.convert_element_type.default", "aten._to_copy.default"}
_LARGE = 1 << 30  # bytes, beyond which weights are in a file of their own
_MAX_COMPUTED = 1 << 16  # elements of a constant that a call of constants gives
ONNX_TYPES = {getattr(torch, name): getattr(onnx.TensorProto, kind) for name, kind in (
    ("float32", "FLOAT"), ("float64", "DOUBLE"), ("float16", "FLOAT16"), ("bfloat16", "BFLOAT16"), ("bool", "BOOL"), ("int64", "INT64"),
    ("int32", "INT32"), ("int16", "INT16"), ("int8", "INT8"), ("uint8", "UINT8"))}


class NotRead(InputError):
    """A call that no definition reads: the message names it and why. `calls`: operators of which calls are not read, as far as known;
    `nodes`: the names of such calls in the program, as far as known."""

    def __init__(self, message: str, exit_code: int = 3, calls: Sequence[str] = (), nodes: Sequence[str] = ()) -> None:
        super().__init__(message, exit_code)
        self.calls, self.nodes = frozenset(calls), frozenset(nodes)


@functools.lru_cache(maxsize=None)
def kind_of(argument: Any) -> Tuple[str, bool]:
    """The innermost type of an argument of a schema, and whether it is a list."""
    kind, is_list = argument.real_type, False
    while kind.kind() in ("OptionalType", "ListType"):
        is_list = is_list or kind.kind() == "ListType"
        kind = kind.getElementType()
    return kind.kind(), is_list


def is_input(argument: Any) -> bool:
    """Whether a node has this argument of a schema as an input, not as an attribute."""
    return kind_of(argument)[0] in _AS_INPUTS


def onnx_type(dtype: torch.dtype, what: str) -> int:
    if dtype not in ONNX_TYPES:
        raise NotRead(f"{what} has elements of {dtype}, which no definition has")
    return int(ONNX_TYPES[dtype])


@functools.lru_cache(maxsize=None)
def composites(definitions: Optional[PathLike]) -> FrozenSet[str]:
    """The operators that PyTorch can compute by others, but of which the definitions read some calls."""
    graph = onnx.GraphProto(name="calls")
    for name in (str(call).partition(".")[2] for call in torch.export.default_decompositions().keys() if call.namespace == DOMAIN):
        graph.node.append(onnx.helper.make_node(name, [], [name], domain=DOMAIN))
        graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    _, report = written(to_model(graph), definitions)
    return frozenset(f"{DOMAIN}.{row['op_type']}" for row in report["operators"] if not row["reason"].startswith("no operator maps"))


def decomposed(program: Any, kept: FrozenSet[str]) -> Any:
    """The program over the core operators of ATen and those that are kept, with the conversions of types that PyTorch does inside of calls
    as calls. PyTorch's calls beside ATen (`prims`) are what it itself computes them by."""
    from torch.onnx._internal.exporter import _fx_passes
    table = torch.export.default_decompositions()
    for call in [call for call in table.keys() if str(call) in kept]:
        table.pop(call)
    for call in {node.target for node in program.graph.nodes if getattr(node.target, "namespace", "") == "prims"}:
        if hasattr(call, "impl_aten") and str(call) not in _CONVERSIONS and torch.Tag.nondeterministic_seeded not in call.tags:
            table[call] = call.impl_aten if "force_stride_order" not in str(call) else _in_another_order
    table[torch.ops.aten.var_mean.correction] = _var_mean
    program = program.run_decompositions(table)
    _fx_passes.insert_type_promotion_nodes(program.graph_module)
    return program


def _var_mean(x: torch.Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Tuple[torch.Tensor, torch.Tensor]:
    """Two calls of ATen for one, as definitions have one result."""
    dim = list(range(x.dim())) if dim is None else dim
    return torch.ops.aten.var.correction(x, dim, correction=correction, keepdim=keepdim), torch.ops.aten.mean.dim(x, dim, keepdim)


def _in_another_order(x: torch.Tensor, stride: Any) -> torch.Tensor:
    """Where elements lie is no part of what a call computes."""
    return torch.ops.aten.clone.default(x)


def to_tensor_proto(tensor: torch.Tensor, name: str) -> Any:
    tensor = tensor.detach().cpu().contiguous()
    kind = onnx_type(tensor.dtype, f"the tensor {name}")
    data = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor
    return onnx.TensorProto(name=name, dims=list(tensor.shape), data_type=kind, raw_data=data.numpy().tobytes())


class ProgramWriter:
    """Writes a decomposed program, whose values keep their names, as a model of the domain "aten"."""

    def __init__(self, program: Any) -> None:
        self.program = program
        self.graph = onnx.GraphProto(name="program")
        self._symbols: Dict[str, Tuple[str, int]] = {}  # where a size is: an input and its axis
        self._sizes: Dict[str, str] = {}  # values of one element, by expression
        self._values: Dict[str, str] = {}  # by name of a node of the program
        self._constants: Dict[Any, str] = {}
        self._known: Dict[Any, torch.Tensor] = {}  # whole numbers and truth values that are constants, by node

    def model(self) -> Any:
        changed = [spec.target for spec in self.program.graph_signature.output_specs if spec.kind.name != "USER_OUTPUT"]
        if changed:
            raise NotRead(f"it changes {changed[0]} in place; expected a function without side effects (of a module: call .eval())")
        self._add_placeholders()
        for node in self.program.graph.nodes:
            if node.op == "call_function" and isinstance(node.meta.get("val"), (torch.Tensor, tuple, list)):
                try:
                    self._add_call(node)
                except NotRead as error:
                    error.nodes = frozenset([node.name])
                    raise
            elif node.op not in ("placeholder", "output", "call_function"):
                raise NotRead(f"{node.target}: a call of {node.op}; expected operators of ATen")
        for number, output in enumerate(self.program.graph.output_node().args[0]):
            if not isinstance(output, torch.fx.Node):
                raise NotRead(f"result {number} is no tensor")
            self._add_output(output)
        return to_model(self.graph)

    def _add_placeholders(self) -> None:
        signature = self.program.graph_signature
        stored = {**signature.inputs_to_parameters, **signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
        tensors = {**self.program.state_dict, **self.program.constants}
        for node in self.program.graph.nodes:
            if node.op != "placeholder":
                continue
            if node.name in stored:
                self._values[node.name] = stored[node.name]
                tensor = tensors[stored[node.name]]
                if node.name in signature.inputs_to_lifted_tensor_constants and not tensor.is_floating_point():
                    self._known[node] = tensor
                if node.users:
                    self.graph.initializer.append(to_tensor_proto(tensor, stored[node.name]))
                continue
            value = node.meta.get("val")
            if not isinstance(value, torch.Tensor):
                raise NotRead(f"argument {node.name} is no tensor")
            self._values[node.name] = node.name
            self.graph.input.append(self._info(node.name, value))
            for axis, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                    self._symbols.setdefault(str(size.node.expr), (node.name, axis))

    def _info(self, name: str, value: torch.Tensor) -> Any:
        if 0 in [size for size in value.shape if not isinstance(size, torch.SymInt)]:
            raise NotRead(f"{name} has a dimension of size 0, which no definition has")
        shape = [str(size) if isinstance(size, torch.SymInt) else int(size) for size in value.shape]
        return onnx.helper.make_tensor_value_info(name, onnx_type(value.dtype, name), shape)

    def _add_output(self, output: Any) -> None:
        name = self._values[output.name]
        taken = {each.name for each in (*self.graph.input, *self.graph.initializer, *self.graph.output)}
        if name in taken:
            name = self._node("Identity", [name], f"{name}.result{len(self.graph.output)}")
        self.graph.output.append(self._info(name, output.meta["val"]))

    def _node(self, op_type: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        self.graph.node.append(onnx.helper.make_node(op_type, inputs, [output], name=output, **attributes))
        return output

    def _constant(self, tensor: torch.Tensor) -> str:
        key = (tensor.dtype, tuple(tensor.shape), str(tensor.tolist()))
        if key not in self._constants:
            self._constants[key] = f"constant.{len(self._constants)}"
            self.graph.initializer.append(to_tensor_proto(tensor, self._constants[key]))
        return self._constants[key]

    def _add_call(self, node: Any) -> None:
        if node.target is operator.getitem:  # an output of a call, which has its name
            source, number = node.args
            self._values[node.name] = self._outputs_of(source)[number]
            return
        what, value = str(node.target), node.meta["val"]
        if self._is_computed(node):
            self._known[node] = node.target(*torch.fx.map_arg(node.args, self._known.get), **node.kwargs)
            self._values[node.name] = self._constant(self._known[node])
            return
        if what in _CONVERSIONS:
            self._add_conversion(node)
            return
        if not isinstance(node.target, torch._ops.OpOverload) or node.target.namespace != DOMAIN:
            raise NotRead(f"{what}: no definition reads it", calls=[what])
        inputs, attributes = self._arguments(node, what)
        if isinstance(value, torch.Tensor) and 0 in [size for size in value.shape if not isinstance(size, torch.SymInt)]:
            raise NotRead(f"{what}: its result has a dimension of size 0, which no definition has", calls=[what])
        outputs = [node.name] if isinstance(value, torch.Tensor) else self._outputs_of(node)
        if node.target is torch.ops.aten.convolution_backward.default:  # whose mask says which gradient it is
            outputs = [each for each in outputs if each]
        self._values[node.name] = node.name
        self.graph.node.append(onnx.helper.make_node(what.partition(".")[2], inputs, outputs, name=node.name, domain=DOMAIN))
        self.graph.node[-1].attribute.extend(attributes)

    def _is_computed(self, node: Any) -> bool:
        """Whether PyTorch computes the call here: of numbers alone, or of whole numbers and truth values with such a result."""
        value, given = node.meta["val"], node.all_input_nodes
        if not isinstance(value, torch.Tensor) or not isinstance(value.numel(), int) or not 0 < value.numel() <= _MAX_COMPUTED:
            return False
        random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
        return not random and all(each in self._known for each in given) and not (given and value.is_floating_point())

    @staticmethod
    def _outputs_of(node: Any) -> List[str]:
        """The names of a call's outputs: those of the first values that are taken from them."""
        names = {user.args[1]: user.name for user in reversed(list(node.users)) if user.target is operator.getitem and user.users}
        return [names.get(number, "") for number in range(max(names, default=0) + 1)]

    def _add_conversion(self, node: Any) -> None:
        source, value = node.args[0], node.meta["val"]
        to = node.args[1] if len(node.args) > 1 else node.kwargs.get("dtype") or source.meta["val"].dtype
        name = self._values[source.name]
        self._values[node.name] = self._node("Cast", [name], node.name, to=onnx_type(to, node.name)) \
            if to != source.meta["val"].dtype else self._node("Identity", [name], node.name)
        if isinstance(value, torch.Tensor) and value.dtype != to:
            raise NotRead(f"{node.target}: its result has type {value.dtype}, not {to}")

    def _arguments(self, node: Any, what: str) -> Tuple[List[str], List[Any]]:
        """The inputs and attributes of a node: all arguments of the schema, also those that the call leaves to their defaults."""
        inputs: List[str] = []
        attributes: List[Any] = []
        dtype = self._dtype_of_numbers(node)
        for number, argument in enumerate(node.target._schema.arguments):
            given = node.args[number] if number < len(node.args) and not argument.kwarg_only else \
                node.kwargs.get(argument.name, argument.default_value)
            if argument.name in _OF_MEMORY:
                continue
            try:
                if argument.name == "size" and isinstance(given, (list, tuple)) and len(given) == node.meta["val"].dim():
                    given = [length if each == -1 else each for each, length in zip(given, node.meta["val"].shape)]
                if is_input(argument):
                    inputs += self._inputs(given, argument, dtype)
                elif given is not None:
                    attributes.append(_attribute(argument.name, given, argument))
            except NotRead as error:
                raise NotRead(f"{what}: argument {argument.name}: {error.message}", calls=[what]) from None
        while inputs and not inputs[-1]:
            inputs.pop()
        return inputs, attributes

    @staticmethod
    def _dtype_of_numbers(node: Any) -> torch.dtype:
        """The type of numbers among the arguments: that of the tensors, else of the result."""
        tensors = [each.meta["val"] for each in node.all_input_nodes if isinstance(each.meta.get("val"), torch.Tensor)]
        own = [each.dtype for each in tensors if each.dtype != torch.bool] or [each.dtype for each in tensors]
        value = node.meta["val"]
        return own[0] if own else (value if isinstance(value, torch.Tensor) else value[0]).dtype

    def _inputs(self, given: Any, argument: Any, dtype: torch.dtype) -> List[str]:
        kind, is_list = kind_of(argument)
        if kind == "SymIntType":
            return [self._whole_numbers(given, is_list)]
        elements = list(given) if is_list and given is not None else [given]
        return [self._tensor(each, dtype) for each in elements]

    def _tensor(self, given: Any, dtype: torch.dtype) -> str:
        """A tensor, or a number as a tensor without dimensions."""
        if given is None:
            return ""
        if isinstance(given, torch.fx.Node):
            value = given.meta["val"]
            if isinstance(value, torch.Tensor):
                return self._values[given.name]
            if isinstance(value, torch.SymInt):
                return self._size_as_number(value, dtype)
            given = value
        if not isinstance(given, (bool, int, float)):
            raise NotRead(f"found {given}, expected a number or a tensor")
        if not dtype.is_floating_point and (isinstance(given, float) or dtype == torch.bool and not isinstance(given, bool)):
            raise NotRead(f"found {given} beside elements of {dtype}")
        return self._constant(torch.tensor(given, dtype=dtype))

    def _size_as_number(self, size: torch.SymInt, dtype: torch.dtype) -> str:
        name = f"number.{len(self.graph.node)}"
        alone = self._node("Reshape", [self._size(size.node.expr), self._constant(torch.tensor([], dtype=torch.int64))], name)
        return self._node("Cast", [alone], f"{name}.real", to=onnx_type(dtype, "a size"))

    def _whole_numbers(self, given: Any, is_list: bool) -> str:
        """A whole number or a list of them, of which some are sizes."""
        if given is None:
            return ""
        given = [each.meta["val"] if isinstance(each, torch.fx.Node) else each for each in (given if is_list else [given])]
        if all(isinstance(each, int) for each in given):
            return self._constant(torch.tensor(given if is_list else given[0], dtype=torch.int64))
        parts = [self._size(each.node.expr) if isinstance(each, torch.SymInt) else self._constant(torch.tensor([each])) for each in given]
        name = f"sizes.{len(self.graph.node)}"
        if is_list:
            return self._node("Concat", parts, name, axis=0) if len(parts) > 1 else parts[0]
        return self._node("Reshape", [parts[0], self._constant(torch.tensor([], dtype=torch.int64))], name)

    def _size(self, expression: Any) -> str:
        """The value of an expression over sizes, as a list of one element."""
        key = str(expression)
        if key not in self._sizes:
            self._sizes[key] = self._new_size(expression)
        return self._sizes[key]

    def _new_size(self, expression: Any) -> str:
        if expression.is_Integer:
            return self._constant(torch.tensor([int(expression)]))
        if expression.is_Symbol and str(expression) in self._symbols:
            value, axis = self._symbols[str(expression)]
            return self._node("Shape", [value], f"size.{expression}", start=axis, end=axis + 1)
        operands = expression.args
        if expression.is_Pow and operands[1].is_Integer and 0 < operands[1] < 5:
            operands = [operands[0]] * int(operands[1])
        name = {"Add": "Add", "Mul": "Mul", "Pow": "Mul", "FloorDiv": "Div"}.get(type(expression).__name__)
        is_rounded_up = name == "Div" and not operands[0].is_nonnegative  # by ONNX, as integers of C are
        if name is None or is_rounded_up or expression.is_Pow and operands is expression.args:
            raise NotRead(f"the size {expression}; expected sums, products and quotients of sizes of arguments")
        parts = [self._size(each) for each in operands]
        return functools.reduce(lambda a, b: self._node(name, [a, b], f"size.{len(self.graph.node)}"), parts)


def _attribute(name: str, given: Any, argument: Any) -> Any:
    kind, is_list = kind_of(argument)
    types = {"BoolType": onnx.AttributeProto.INT, "IntType": onnx.AttributeProto.INT, "ScalarTypeType": onnx.AttributeProto.INT,
             "FloatType": onnx.AttributeProto.FLOAT, "StringType": onnx.AttributeProto.STRING}
    if kind not in types:
        raise NotRead(f"found {given}, expected numbers or words")
    of_list = {onnx.AttributeProto.INT: onnx.AttributeProto.INTS, onnx.AttributeProto.FLOAT: onnx.AttributeProto.FLOATS}
    values = [_plain(each, kind) for each in (given if is_list and isinstance(given, (list, tuple)) else [given])]
    return onnx.helper.make_attribute(name, values if is_list else values[0], attr_type=of_list[types[kind]] if is_list else types[kind])


def _plain(given: Any, kind: str) -> Any:
    if isinstance(given, torch.dtype):
        return onnx_type(given, "it")
    expected = str if kind == "StringType" else (int, float) if kind == "FloatType" else int
    if not isinstance(given, expected):
        raise NotRead(f"found {given}, expected a number or a word")
    return float(given) if kind == "FloatType" else given if kind == "StringType" else int(given)


def read(program: Any, path: PathLike, definitions: Optional[PathLike] = None) -> None:
    """Writes an exported program as an ONNX model to `path`: its inputs, results and weights by the program's names, and the nodes that
    the definitions give for its calls. Raises NotRead where they have no meaning for a call, and says which and why."""
    model, _ = model_of(program, definitions)
    onnx.save(model, str(path), save_as_external_data=model.ByteSize() > _LARGE)


def model_of(program: Any, definitions: Optional[PathLike] = None) -> Tuple[Any, Any]:
    """The model that `read` writes, and the program that it is read from, in which PyTorch decomposes calls as far as no definition reads
    them."""
    kept = composites(definitions)
    while True:
        core = decomposed(program, kept)
        try:
            model, report = written(ProgramWriter(core).model(), definitions)
            check_calls(model, report)
        except NotRead as error:
            if not kept or error.calls and not error.calls & kept:
                raise
            kept = kept - error.calls if error.calls else frozenset()
            continue
        _add_places(model, core)
        return model, core


def _add_places(model: Any, program: Any) -> None:
    """Notes at each node where the program's call is, as torch.onnx.export does: at the node of its value, and at those that lead to it."""
    calls = {node.name: node for node in program.graph.nodes if node.op == "call_function"}
    used_by: Dict[str, Any] = {}
    for node in reversed(model.graph.node):
        names = [name.partition(".")[0] for name in node.output if name.partition(".")[0] in calls]
        call = calls[names[0]] if names else next((used_by[name] for name in node.output if name in used_by), None)
        if call is None:
            continue
        for name in node.input:
            used_by.setdefault(name, call)
        scopes = [path for path, _ in call.meta.get("nn_module_stack", {}).values()]
        for key, value in (("class_hierarchy", str([str(call.target)])), ("name_scopes", str([*scopes, call.name])),
                           ("stack_trace", call.meta.get("stack_trace", ""))):
            node.metadata_props.add(key=f"pkg.torch.onnx.{key}", value=value)


def to_model(graph: Any) -> Any:
    """A model with this graph of nodes of ONNX and of the domain "aten"."""
    names = ["", DOMAIN, *([OWN_DOMAIN] if any(node.op_type.startswith("convolution_backward") for node in graph.node) else [])]
    sets = [onnx.helper.make_opsetid(name, 1 if name else OPSET) for name in names]
    return onnx.ModelProto(graph=graph, opset_import=sets, ir_version=IR_VERSION, producer_name="rulemill.torch")


def written(model: Any, definitions: Optional[PathLike] = None) -> Tuple[Any, Mapping[str, Any]]:
    """A model of the domain "aten" as rulemill writes it, and its report. Nodes that no definition reads are as they were."""
    with tempfile.TemporaryDirectory(prefix="rulemill-") as folder:
        file, result = pathlib.Path(folder) / "aten.onnx", pathlib.Path(folder) / "model.onnx"
        onnx.save(model, str(file), save_as_external_data=model.ByteSize() > _LARGE)
        try:
            report = binary.run("info", file, "--roundtrip", result, *binary.option_words({"definitions": definitions}))
        except Error as error:  # a definition has another type than the call, or no encoding
            raise NotRead(error.message.replace(f"{file}: ", "")) from None
        found = onnx.load(str(result))
    for each in [each for each in found.opset_import if each.domain == DOMAIN]:
        found.opset_import.remove(each)
    return found, report


def check_calls(model: Any, report: Mapping[str, Any]) -> None:
    """Raises NotRead if calls of the model are left, with the reasons of the importer's report."""
    left = [node for node in model.graph.node if node.domain == DOMAIN]
    if not left:
        return
    reasons = {row["op_type"].rpartition("aten.")[2]: row["reason"] for row in report["operators"] if row["reason"]}
    node = left[0]
    reason = reasons.get(node.op_type, "no definition reads it")
    reason = "no definition reads it of whole numbers or truth values" if reason == "no float" else reason
    raise NotRead(f"aten.{node.op_type} ({node.name}): {reason}", calls=[f"{DOMAIN}.{each.op_type}" for each in left],
                  nodes=[each.name for each in left])


__all__ = ["DOMAIN", "NotRead", "ONNX_TYPES", "OWN_DOMAIN", "ProgramWriter", "check_calls", "composites", "is_input", "kind_of", "model_of", "read", "to_model",
           "to_tensor_proto", "written"]
