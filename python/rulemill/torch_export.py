"""Functions of PyTorch as ONNX models: read by the definitions, or written by torch's exporter where these do not cover a call. Read by
`rulemill.torch` only; needs torch, onnx and onnxruntime. What tracing leaves out or fixes silently is refused here: random numbers, changes
in place, sizes that the function fixes or compares."""

from __future__ import annotations

import contextlib
import copy
import inspect
import pathlib
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import onnx
import torch
from torch.utils import _pytree as pytree

from . import torch_program
from .errors import Error, InputError
from .program import PathLike
from .torch_arguments import CONSTANTS, Arguments, Size, distinct_sizes
from .torch_checks import Refused, check_effects, check_guards, check_inputs, check_numbers, names_of_sizes
from .torch_hooks import frames_of_users, quiet, registry_made_once

#: How far an exported model's result may be from the function's, of the largest element.
_TOLERANCE = {torch.float64: 1e-6, torch.float32: 2e-3, torch.float16: 5e-2, torch.bfloat16: 1e-1}


class Flat(torch.nn.Module):
    """A function of tensors alone with a flat tuple of tensors as its result."""

    def __init__(self, function: Callable[..., Any], arguments: Arguments) -> None:
        super().__init__()
        self.function = function
        self._arguments = arguments
        self.spec: Any = None
        self.constants: List[Any] = []
        self.problem = ""
        self._is_called = False

    def forward(self, *tensors: torch.Tensor) -> Tuple[torch.Tensor, ...]:
        args, kwargs = self._arguments.with_tensors(tensors)
        leaves, spec = pytree.tree_flatten(self.function(*args, **kwargs))
        constants = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        found = tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
        strange = [type(leaf).__name__ for leaf in constants if type(leaf) not in CONSTANTS]
        if strange:
            self.problem = f"its result contains a {strange[0]}; expected tensors"
        elif not found:
            self.problem = "its result has no tensor"
        elif self._is_called and (spec, constants) != (self.spec, self.constants):
            self.problem = f"its result has other parts than tensors that change: {self.constants}, then {constants}"
        self.spec, self.constants, self._is_called = spec, constants, True
        return found


class Exported:
    """A function as an ONNX model, in the file `path`. `types`: of the results; `places`: where the function computes a value, by the
    names of values and nodes; `note`: why the model was not run beside the function, or empty."""

    def __init__(self, name: str, flat: Flat, folder: pathlib.Path, arguments: Arguments, sizes: Mapping[str, Size],
                 definitions: Optional[PathLike] = None) -> None:
        self.name, self._flat, self.path, self._definitions = name, flat, folder / f"{name}.onnx", definitions
        self._arguments, self._sizes = arguments, sizes
        self.places: Dict[str, str] = {}
        self.note = ""
        self._written: Any = None
        self._program: Any = None
        dims = {size.name: torch.export.Dim(size.name, min=size.minimum, max=size.maximum) for size in sizes.values()}
        shapes = tuple({axis: dims[size.name] for axis, size in axes.items()} for axes in arguments.axes)
        oblivious = any(size.minimum < 2 for size in sizes.values())
        settings: Any = torch.fx.experimental._config
        with quiet(), frames_of_users(), registry_made_once(), settings.patch(backed_size_oblivious=oblivious):
            program = _traced(name, flat, arguments, shapes)
            self._names = names_of_sizes(name, program, arguments)
            check_guards(name, program, self._names, sizes)
            self._traced = program
            proto = self._read()
            if proto is None:
                self._export()
            check_guards(name, program, self._names, sizes)
        check_effects(name, self.program, arguments)
        self._is_large = sum(tensor.numel() * tensor.element_size() for tensor in program.state_dict.values()) > 1 << 30
        self.types = [str(node.meta["val"].dtype) for node in program.graph.output_node().args[0]]
        self._write(proto)

    def _read(self) -> Any:
        """The model by the definitions; None if they do not read each call."""
        try:
            proto, self._program = torch_program.model_of(self._traced, self._definitions)
            return proto
        except torch_program.NotRead:
            return None

    def _export(self) -> None:
        """Has torch's exporter write the model."""
        try:
            self._written = torch.onnx.export(self._traced, dynamo=True, optimize=False, verbose=False)
        except Exception as error:
            raise InputError(f"{self.name}: torch cannot write it as ONNX: {_reason(error)}", 3) from error
        self._program = self._written.exported_program

    @property
    def is_read(self) -> bool:
        """Whether the model is the definitions' and not of torch's exporter."""
        return self._written is None

    @property
    def program(self) -> Any:
        """The function as calls of ATen, by whose names the model calls its values and weights."""
        return self._program

    @property
    def calls(self) -> List[Any]:
        """The calls of the function, as it makes them."""
        return [node for node in self._traced.graph.nodes if node.op == "call_function"]

    @property
    def result(self) -> Tuple[Any, List[Any]]:
        """The structure of the function's result, and what in it is not a tensor."""
        return self._flat.spec, self._flat.constants

    def run(self, tensors: Sequence[torch.Tensor]) -> List[torch.Tensor]:
        """The function's own results."""
        with torch.no_grad():
            return list(self._flat(*[tensor.clone() for tensor in tensors]))

    def export(self) -> None:
        """Writes the model again, as torch's exporter does."""
        with quiet(), frames_of_users(), registry_made_once():
            self._export()
        self._write()

    def simplify(self) -> None:
        """Writes the model again, as onnxscript's optimizer leaves it, which torch.onnx.export uses by default."""
        with quiet():
            self._written.optimize()
        self._write()

    def _write(self, read: Any = None) -> None:
        proto = read or self._written.model_proto
        check_inputs(self.name, proto, self._arguments, self._names)
        rename(proto, self._names)
        onnx.save(proto, str(self.path), save_as_external_data=self._is_large)
        self.places = _places(proto)
        self.note = _run_beside(self, self._arguments, self._sizes)
        if self._flat.problem:
            raise InputError(f"{self.name}: {self._flat.problem}", 3)


def forms(models: Sequence[Exported]) -> Iterator[bool]:
    """Models as they are, then all as torch's exporter writes them, then (True) after onnxscript's optimizer; as far as they can be written
    so."""
    yield False
    with contextlib.suppress(Refused, Error):
        read = [model for model in models if model.is_read]
        for model in read:
            model.export()
        if read:
            yield False
        for model in models:
            model.simplify()
        yield True


def export(name: str, function: Callable[..., Any], arguments: Arguments, sizes: Mapping[str, Size],
           folder: pathlib.Path, definitions: Optional[PathLike] = None) -> Exported:
    """Exports a function, read by these definitions, and runs the model beside it. Raises Refused if it depends on where the sizes are in their ranges."""
    if isinstance(function, torch.nn.Module):
        try:
            function = copy.deepcopy(function)  # a module may change itself while it runs
        except Exception as error:
            raise InputError(f"{name}: the module cannot be copied: {_first_line(error)}", 3) from error
    flat = Flat(function, arguments)
    with _captured_tensors_kept(name, function):
        _run_once(name, flat, arguments)
        return Exported(name, flat, folder, arguments, sizes, definitions)


@contextlib.contextmanager
def _captured_tensors_kept(name: str, function: Callable[..., Any]) -> Iterator[None]:
    """Restores tensors, and those of modules, that the function captures. Raises an error if it changes one."""
    captured: List[Any] = [getattr(function, "__self__", None), *getattr(function, "args", ()), *getattr(function, "keywords", {}).values()]
    inner = getattr(function, "func", function)  # of functools.partial
    with contextlib.suppress(TypeError, ValueError):
        variables = inspect.getclosurevars(inner)
        captured += [*variables.nonlocals.values(), *variables.globals.values()]
    tensors = [each for each in captured if isinstance(each, torch.Tensor)]
    for module in captured:
        tensors += [*module.parameters(), *module.buffers()] if isinstance(module, torch.nn.Module) else []
    kept = [(tensor, tensor.detach().clone()) for tensor in tensors]
    try:
        yield
    finally:
        changed = [(tensor, copied) for tensor, copied in kept if not torch.equal(tensor.nan_to_num(), copied.nan_to_num())]
        for tensor, copied in changed:
            tensor.detach().copy_(copied)
        if changed:
            raise InputError(f"{name}: it changes a tensor that it captures in place; expected a function without side effects "
                             "(of a module: call .eval())", 3)


def _run_once(name: str, flat: Flat, arguments: Arguments) -> None:
    """Before it is traced, since a function may keep tensors that it makes at its first call. Raises its error."""
    tensors = [tensor.clone() for tensor in arguments.tensors]
    try:
        with torch.no_grad():
            flat(*tensors)
    except Exception as error:
        raise InputError(f"{name}: it fails on the arguments: {type(error).__name__}: {_first_line(error)}", 3) from error
    if flat.problem:
        raise InputError(f"{name}: {flat.problem}", 3)


def _traced(name: str, flat: Flat, arguments: Arguments, shapes: Any) -> Any:
    try:
        program = torch.export.export(flat, tuple(arguments.tensors), dynamic_shapes=(shapes,), strict=False)
    except Exception as error:
        if flat.problem:
            raise InputError(f"{name}: {flat.problem}", 3) from error
        raise Refused(f"{name}: torch cannot export it: {_reason(error)}") from error
    if flat.problem:
        raise InputError(f"{name}: {flat.problem}", 3)
    return program


def rename(proto: Any, names: Mapping[str, str]) -> None:
    """Names sizes as the caller does, and inputs and results by position: through Identity, since one value may be several results."""
    graph = proto.graph
    del graph.value_info[:]
    for number, given in enumerate(graph.input):
        graph.node.insert(0, onnx.helper.make_node("Identity", [f"arg.{number}"], [given.name], name=f"arg.{number}"))
        given.name = f"arg.{number}"
    for each in [*graph.input, *graph.output]:
        for dim in each.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = re.sub(r"\w+", lambda word: names.get(word[0], word[0]), dim.dim_param)
    for number, output in enumerate(graph.output):
        made_by = next((node for node in graph.node if output.name in node.output), None)
        graph.node.append(onnx.helper.make_node("Identity", [output.name], [f"result.{number}"], name=f"result.{number}"))
        if made_by is not None:
            graph.node[-1].metadata_props.extend(made_by.metadata_props)
        output.name = f"result.{number}"


def _places(proto: Any) -> Dict[str, str]:
    """Where values come from: "aten.mul.Tensor in layers.0, model.py:12: return x * y", by the names of values and nodes."""
    found = {}
    for node in proto.graph.node:
        properties = {each.key.rpartition(".")[2]: each.value for each in node.metadata_props}
        if not properties:
            continue
        classes = re.findall(r"'([^']*)'", properties.get("class_hierarchy", ""))
        scopes = [scope.partition("function.")[2] for scope in re.findall(r"'([^']*)'", properties.get("name_scopes", ""))[:-1]]
        lines = properties.get("stack_trace", "").split("\n")
        frames = [(line, following.strip()) for line, following in zip(lines, [*lines[1:], ""]) if line.strip().startswith("File ")]
        own = [frame for frame in frames if f"{pathlib.Path(torch.__file__).parent}" not in frame[0]]
        text = classes[-1] if classes else node.op_type
        text += f" in {scopes[-1]}" if scopes and scopes[-1] else ""
        for place, code in own[-1:]:
            position = re.search(r'File "(.*)", line (\d+)', place)
            text += f", {pathlib.Path(position[1]).name}:{position[2]}: {code}" if position else ""
        found.update(dict.fromkeys([*node.output, node.name], text))
    return found


def _run_beside(exported: Exported, arguments: Arguments, sizes: Mapping[str, Size]) -> str:
    """Compares the model with the function: on the arguments, and with each open size, and with all, at its smallest. Returns why it
    could not, or nothing."""
    import onnxruntime
    names = list(sizes)
    usual = {name: size.nearest(example) for (name, size), example in zip(sizes.items(), distinct_sizes(len(names)))}
    smallest = {name: size.minimum for name, size in sizes.items()}
    trials = [arguments.tensors]
    if names:
        trials += [arguments.drawn(each) for each in (usual, smallest, *({**usual, name: smallest[name]} for name in names[:6]))]
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(str(exported.path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return f"onnxruntime does not load {exported.name}: {_first_line(error)}"
    for number, tensors in enumerate(trials):
        shapes = ", ".join(f"{label} {list(tensor.shape)}" for label, tensor in zip(arguments.labels, tensors))
        try:
            expected = exported.run(tensors)
        except Exception as error:
            raise Refused(f"{exported.name}: it fails at {shapes}: {_first_line(error)}") from error
        try:
            found = session.run(None, {f"arg.{place}": tensor.cpu().numpy() for place, tensor in enumerate(tensors)})
        except TypeError:  # NumPy lacks the type
            return f"onnxruntime was not run on {exported.name}"
        except Exception as error:
            raise Refused(f"{exported.name}: the exported model fails at {shapes}: {_first_line(error)}") from error
        for place, (mine, theirs) in enumerate(zip(expected, map(torch.as_tensor, found))):
            if mine.shape != theirs.shape or difference(mine, theirs) > 1:
                message = f"{exported.name}: the exported model has another result {place} than the function at {shapes}"
                raise Refused(message) if number else InputError(message, 3)
    return ""


def difference(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference of two tensors of one shape, in units of what rounding may be; 1 for each other difference."""
    a, b = a.detach().cpu(), b.detach().cpu()
    if a.numel() == 0 or torch.equal(a, b):
        return 0.0
    if not a.dtype.is_floating_point:
        return 2.0
    left, right = a.double(), b.double()
    finite = left.isfinite() & right.isfinite()
    if not torch.equal(torch.where(finite, 0.0, left).nan_to_num(7.0), torch.where(finite, 0.0, right).nan_to_num(7.0)):
        return 2.0
    if not finite.any():
        return 0.0
    largest = torch.maximum(left[finite].abs().max(), right[finite].abs().max())
    return float((left[finite] - right[finite]).abs().max() / (largest * _TOLERANCE.get(a.dtype, 2e-3) + 1e-30))


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _reason(error: BaseException) -> str:
    """The exporter's own reason in a line: that of the innermost cause, with the conditions on sizes that it lists."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).split("\n\n")[0].splitlines() if line.strip()]
    listed = [line[2:].replace("  ", " ") for line in lines if line.startswith("- ")]
    head = re.sub(r" For more information,.*", "", _first_line(error))
    text = " ".join([head, "; ".join(listed)]).strip()
    return text if len(text) <= 500 else text[:497] + "..."


def checked_pair(before: Exported, after: Exported) -> None:
    """Raises an error if the results have different structures, constants or types."""
    if before.result[0] != after.result[0]:
        raise InputError(f"the results have different structures: {before.result[0]} before, {after.result[0]} after", 3)
    if before.result[1] != after.result[1]:
        raise InputError(f"the results have different constants: {before.result[1]} before, {after.result[1]} after", 3)
    if before.types != after.types:
        raise InputError(f"the results have different types: {', '.join(before.types)} before, {', '.join(after.types)} after", 3)
    check_numbers([*before.calls, *after.calls])


def export_pair(before: Callable[..., Any], after: Callable[..., Any], arguments: Arguments,
                folder: pathlib.Path, definitions: Optional[PathLike] = None) -> Tuple[List[Exported], Dict[str, Size]]:
    """Both functions as models, as `export_all` does; their results must have the same structures, constants and types."""
    return export_all({"before": before, "after": after}, arguments, folder, lambda pair: checked_pair(*pair), definitions)


def export_all(functions: Mapping[str, Callable[..., Any]], arguments: Arguments, folder: pathlib.Path,
               check: Callable[[List[Exported]], None] = lambda models: None,
               definitions: Optional[PathLike] = None) -> Tuple[List[Exported], Dict[str, Size]]:
    """Functions as models, and the ranges of the sizes for which they stand: from 1; or from 2, those that a refusal of 1 names, or
    all."""
    ranges = arguments.sizes
    raised = {name: Size(name, max(2, size.minimum), size.maximum) for name, size in ranges.items()}
    problem, sizes = Refused(""), ranges
    for attempt in range(3):
        try:
            models = [export(name, function, arguments, sizes, folder, definitions) for name, function in functions.items()]
            check(models)
            return models, dict(sizes)
        except Refused as refused:
            problem = refused
        named = set(re.findall(r"\w+", str(problem))) & set(ranges)
        following = {name: raised[name] if attempt or not named or name in named else size for name, size in ranges.items()}
        if following == sizes:
            break
        sizes = following
    raise InputError(str(problem), 3) from problem.__cause__


__all__ = ["Exported", "Flat", "Refused", "difference", "export_all", "export_pair", "forms", "rename"]
