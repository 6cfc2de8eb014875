"""Whether two functions of PyTorch compute the same. Importing it also registers the backend "rulemill" of `torch.compile`.

    import rulemill.torch
    print(rulemill.torch.prove(lambda x, w, v: x @ w + x @ v, lambda x, w, v: x @ (w + v), x="m k", w="k n", v="k n"))

Both are read by the definitions, or exported to ONNX by torch where these do not cover a call, and compared by `rulemill.equal`;
docs/python.md has what is claimed. `read` writes an exported program as ONNX; `operators` writes the definition of an operator that computes
what a function does."""

from __future__ import annotations

import inspect
import pathlib
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, List, Mapping, Optional, Sequence, Tuple, Union

from . import equality
from .errors import Error, InputError, UsageError
from .program import PathLike

try:
    import onnx as _onnx  # noqa: F401
    import onnxruntime as _onnxruntime  # noqa: F401
    import onnxscript as _onnxscript  # noqa: F401
    import torch

    from torch._dynamo.backends import registry

    from . import torch_backend, torch_definition, torch_export
    from .torch_arguments import Arguments, Size, distinct_sizes
    from .torch_program import NotRead, read
except ImportError as _missing:
    raise Error(f"rulemill.torch needs torch, onnx, onnxscript and onnxruntime: {_missing}") from None

if TYPE_CHECKING:
    from .torch_export import Exported

Function = Callable[..., Any]
#: Of the primes that are sizes of examples, how many are left out where larger sizes are tried: these begin at 67.
LARGER = 16
#: Of all arguments that are tried so.
MAX_ELEMENTS = 1 << 18

if "rulemill" not in registry._COMPILER_FNS:
    registry.register_backend(torch_backend.backend, name="rulemill")


@dataclass(frozen=True)
class Counterexample:
    """Arguments at which the functions differ: `args` and `kwargs` as the caller gave them, with these tensors; `before`, `after`: the
    results of the functions there, as lists of tensors; `confirmed`: they differ by more than rounding in the tensors' own type (the
    verdict is about real numbers)."""

    args: Tuple[Any, ...]
    kwargs: Mapping[str, Any]
    before: List[torch.Tensor]
    after: List[torch.Tensor]
    confirmed: bool


@dataclass(frozen=True)
class Comparison(equality.Equality):
    """The verdict on two functions: `status` is "equal", "different" or "not shown".

    `claim`: what was shown, with the ranges of the sizes; `counterexample`: if different; `place`: the first operation of `before` that
    differs, or that was not matched, with its line or module as far as torch's exporter keeps them; `notes`: what was not checked."""

    claim: str = ""
    place: str = ""
    counterexample: Optional[Counterexample] = None
    notes: Sequence[str] = field(default_factory=tuple)

    def __str__(self) -> str:
        lines = [f"{self.status}: {self.claim}" if self.equal else self.claim]
        if self.status == "different":
            lines.append(f"first difference: {self.place or 'in a result'}")
        elif self.place:
            lines.append(f"not matched: {self.place}")
        return "\n".join([*lines, *self.notes])


def equal(before: Function, after: Function, args: Union[torch.Tensor, Sequence[Any]], dynamic_shapes: Any = None, *,
          kwargs: Optional[Mapping[str, Any]] = None, rules: "PathLike | Sequence[PathLike] | None" = None,
          definitions: Optional[PathLike] = None, **options: Any) -> Comparison:
    """Decides whether two functions or modules compute the same for all values of the tensors in `args`.

    `args`, `kwargs`: what both are called with; tensors in tuples, lists and dictionaries are inputs, and everything else is a constant.
    `dynamic_shapes`: as of `torch.export.export`, with named sizes; by default the shapes of the tensors. Modules are compared in the
    mode in which they are, and are not changed. `rules`, `definitions`, `options`: as of `rulemill.equal`."""
    given = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    keywords = dict(kwargs or {})
    if isinstance(dynamic_shapes, Mapping):  # by name of parameter
        dynamic_shapes = _by_position(before, dynamic_shapes, len(given))
    sizes = None if dynamic_shapes is None else (tuple(dynamic_shapes), None)
    for name, function in (("before", before), ("after", after)):
        if not callable(function):
            raise UsageError(f"{name}: expected a function or a module, found {type(function).__name__}", 2)
    return _compare(before, after, Arguments(before, given, keywords, sizes), rules, definitions, options)


def prove(before: Function, after: Function, /, *, dtype: Union[torch.dtype, Mapping[str, torch.dtype]] = torch.float32,
          rules: "PathLike | Sequence[PathLike] | None" = None, definitions: Optional[PathLike] = None, **shapes: str) -> Comparison:
    """Decides whether two functions compute the same for all sizes: `prove(torch.add, lambda a, b: b + a, a="m n", b="m n")`.

    `shapes`: the shape of each argument, by name and in order: names are sizes, one name is one size, numbers are themselves, and "" is
    a scalar. `dtype`: of all tensors, or by argument."""
    return _compare(before, after, _named(before, _order(before, after, list(shapes)), shapes, dtype), rules, definitions, {})


def operators(function: Function, /, *, name: Optional[str] = None, out: Optional[PathLike] = None,
              dtype: Union[torch.dtype, Mapping[str, torch.dtype]] = torch.float32, definitions: Optional[PathLike] = None,
              **shapes: str) -> str:
    """The definition of an operator that computes what a function or module does, at all sizes: `operators(gate, x="m n", y="m n")`.

    `shapes`, `dtype`: as of `prove`; `name`: of the operator, by default the function's; `out`: the file for the text. Numbers in the
    function are numbers in the definition; tensors that it captures, such as weights, are inputs after those of the function."""
    if not callable(function):
        raise UsageError(f"function: expected a function or a module, found {type(function).__name__}", 2)
    arguments = _named(function, _order(function, function, list(shapes)), shapes, dtype)
    text = torch_definition.definition(function, arguments, name, definitions)
    if out is not None:
        pathlib.Path(out).write_text(text, encoding="utf-8")
    return text


def _named(function: Function, order: Sequence[str], shapes: Mapping[str, str],
           dtype: Union[torch.dtype, Mapping[str, torch.dtype]]) -> Arguments:
    """Examples of arguments with these shapes."""
    tensors, sizes = [], []
    names = sorted({word for shape in shapes.values() for word in _words(shape) if not word.isdigit()})
    examples = dict(zip(names, distinct_sizes(len(names))))
    for argument in order:
        words = _words(shapes[argument])
        shape = [int(word) if word.isdigit() else examples[word] for word in words]
        kind = dtype.get(argument, torch.float32) if isinstance(dtype, Mapping) else dtype
        tensors.append(torch.zeros(shape, dtype=kind) if not kind.is_floating_point else torch.randn(shape).to(kind))
        sizes.append({axis: word for axis, word in enumerate(words) if not word.isdigit()})
    arguments = Arguments(function, tensors, {}, (tuple(sizes), None))
    arguments.labels = list(order)
    return arguments


def _words(shape: Any) -> List[str]:
    words = shape.replace(",", " ").split() if isinstance(shape, str) else [""]
    for word in words:
        if not (word.isidentifier() or word.isdigit() and int(word) > 0):
            raise UsageError(f"expected a shape such as 'm k' or 'n 3', found {shape!r}", 2)
    return words


def _parameters(function: Function) -> Optional[List[str]]:
    """The names of a function's parameters; None if it does not state them."""
    try:
        found = inspect.signature(function.forward if isinstance(function, torch.nn.Module) else function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in found):
        return None
    return [each.name for each in found if each.default is each.empty]


def _order(before: Function, after: Function, names: List[str]) -> List[str]:
    """The arguments in the order of the parameters of both functions."""
    first, second = _parameters(before), _parameters(after)
    if first is not None and sorted(first) != sorted(names):
        raise UsageError(f"expected the shapes of {', '.join(first)}, found those of {', '.join(names)}", 2)
    if first and second and first != second and sorted(first) == sorted(second):
        raise UsageError(f"the functions have parameters in different orders: {', '.join(first)} and {', '.join(second)}", 2)
    return first or names


def _by_position(function: Function, shapes: Mapping[str, Any], count: int) -> List[Any]:
    names = _parameters(function) or []
    if not set(shapes) <= set(names):
        raise UsageError(f"dynamic_shapes: expected names of {', '.join(names)}, found {', '.join(shapes)}", 2)
    return [shapes.get(name) for name in names[:count]]


def _compare(before: Function, after: Function, arguments: Arguments, rules: Any, definitions: Any,
             options: Mapping[str, Any]) -> Comparison:
    with tempfile.TemporaryDirectory(prefix="rulemill-") as name:
        folder = pathlib.Path(name)
        pair, sizes = torch_export.export_pair(before, after, arguments, folder, definitions)
        answers: List[Comparison] = []
        for simplified in torch_export.forms(pair):
            try:
                found = equality.equal(pair[0].path, pair[1].path, rules, definitions=definitions, **options)
            except Error as error:
                raise type(error)(error.message.replace(f"{folder}/", ""), error.exit_code) from None
            answers.append(_comparison(found, pair, arguments, sizes, simplified))
            if answers[-1].status != "not shown":
                return answers[-1]
        return _compared_by_running(pair, arguments, sizes) or answers[0]


def _comparison(found: equality.Equality, pair: "Sequence[Exported]", arguments: Arguments, sizes: Mapping[str, Size],
                simplified: bool) -> Comparison:
    """The program's verdict in terms of the functions. A difference counts only if it is within the ranges of the sizes, and if the
    program found it by the definitions or the functions have it."""
    notes = [model.note for model in pair if model.note]
    if simplified:
        notes.append("compared after onnxscript's optimizer")
    if found.equal:
        return Comparison("equal", found.raw, _claim(arguments, sizes, found.raw), notes=notes)
    if found.status == "different":
        drawn = found.raw.get("refutation", {})  # absent if onnxruntime compared the results
        names = [(found.first_difference or {}).get("value", ""), drawn.get("node", "").split(" ")[-1]]
        counterexample = _counterexample(found, pair, arguments, sizes)
        if counterexample is not None:
            return _different(counterexample, arguments, found.raw, _place(pair[0], names), notes)
        notes.append("the models differ at sizes or values at which the functions do not")
    opened = found.open or {}
    place = _place(pair[0], [opened.get("value", ""), *(node.split(" ")[-1] for node in opened.get("before_nodes", []))])
    return Comparison("not shown", found.raw, "not shown to be equal, and no difference was found", place, notes=notes)


def _place(model: "Exported", names: Sequence[str]) -> str:
    return next((model.places[name] for name in names if name in model.places), "")


def _counterexample(found: equality.Equality, pair: "Sequence[Exported]", arguments: Arguments,
                    sizes: Mapping[str, Size]) -> Optional[Counterexample]:
    """The program's own inputs, or, if the report lacks them or the functions fail there, random tensors at which the functions differ."""
    drawn = found.raw.get("refutation", {})
    at = {name: drawn.get("sizes", {}).get(name, size.minimum) for name, size in sizes.items()}
    inside = {name: size.nearest(at[name]) for name, size in sizes.items()}
    given = found.inputs
    own = [[torch.as_tensor(given[f"arg.{place}"]).to(tensor) for place, tensor in enumerate(arguments.tensors)]] \
        if len(given) == len(arguments.places) and at == inside else []
    kept = None
    for tensors in [*own, *(arguments.drawn(inside, seed) for seed in range(8))]:
        compared = _run(pair, arguments, tensors, 1e-2 if drawn else 1.0)
        if compared is not None and (compared.confirmed or own and tensors is own[0]):
            kept = compared
        if compared is not None and compared.confirmed:
            break
    return kept


def _compared_by_running(pair: "Sequence[Exported]", arguments: Arguments, sizes: Mapping[str, Size]) -> Optional[Comparison]:
    """A difference that the program did not find, since it tries small sizes: one of which a test by hand would say so, too."""
    examples = distinct_sizes(len(sizes) + LARGER)
    for example in (examples, examples[LARGER:]):
        drawn = {name: size.nearest(number) for (name, size), number in zip(sizes.items(), example)}
        for seed in range(2 if arguments.elements(drawn) <= MAX_ELEMENTS else 0):
            compared = _run(pair, arguments, arguments.drawn(drawn, seed), 25.0)
            if compared is not None and compared.confirmed:
                return _different(compared, arguments, {"verdict": "different"}, "", ["found by running both functions"])
    return None


def _run(pair: "Sequence[Exported]", arguments: Arguments, tensors: List[torch.Tensor], limit: float) -> Optional[Counterexample]:
    """Both functions at these arguments; None where one fails. A difference is one of shapes, or above a limit in units of rounding."""
    try:
        before, after = (model.run(tensors) for model in pair)
    except Exception:
        return None
    args, kwargs = arguments.with_tensors(tensors)
    differs = any(a.shape != b.shape or torch_export.difference(a, b) > limit for a, b in zip(before, after))
    return Counterexample(args, kwargs, before, after, differs)


def _different(found: Counterexample, arguments: Arguments, raw: Mapping[str, Any], place: str, notes: Sequence[str]) -> Comparison:
    leaves = torch.utils._pytree.tree_leaves((found.args, dict(found.kwargs)))
    shapes = ", ".join(f"{label} {list(leaves[place].shape)}" for label, place in zip(arguments.labels, arguments.places))
    return Comparison("different", raw, f"different at {shapes}", place, found, notes)


def _claim(arguments: Arguments, sizes: Mapping[str, Size], raw: Mapping[str, Any]) -> str:
    texts = []
    for label, tensor, axes in zip(arguments.labels, arguments.tensors, arguments.axes):
        shape = ", ".join(axes[axis].name if axis in axes else str(size) for axis, size in enumerate(tensor.shape))
        texts.append(f"{label} [{shape}]")
    ranges = []
    for name, size in sizes.items():
        limits = [each for each in (size.maximum, raw["upper_bounds"].get(name)) if each is not None]
        ranges.append(str(Size(name, max(size.minimum, raw["lower_bounds"].get(name, 1)), min(limits, default=None))))
    where = f" and sizes {', '.join(ranges)}" if ranges else ""
    return f"for all {', '.join(texts)}{where}, as functions of real numbers; rounding may differ"


__all__ = ["Comparison", "Counterexample", "Error", "InputError", "NotRead", "UsageError", "equal", "operators", "prove", "read"]
