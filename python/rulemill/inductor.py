"""Whether the patterns of Inductor, or those that functions of other packages register, compute the same as their replacements.

    python -m rulemill.inductor [MODULE:FUNCTION…] [--only TEXT] [--rules DATABASE] [--json FILE]

A pattern and its replacement are functions of Python. They are taken from the calls of `register_replacement` which FUNCTION makes (by
default the installed torch's own ones), called with the registered example inputs (random numbers of these shapes, strides and types; a
scalar is a number), and compared by `rulemill.torch.equal`. Functions that are registered for several float types are compared in the
first one, and in others if their results have different types in the first; dropout is 0, as in the patterns that Inductor registers for
inference. The exit code is 1 if a replacement differs; docs/compilers.md has what was found."""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import importlib
import inspect
import json
import pathlib
import re
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence
from unittest import mock

from .errors import Error

try:
    import torch
    from torch._inductor import pattern_matcher
except ImportError as _missing:
    raise Error(f"rulemill.inductor needs PyTorch: {_missing}") from None

from . import torch as rulemill_torch

#: The functions of torch that register patterns.
REGISTRARS = tuple(f"torch._inductor.fx_passes.{name}" for name in
                   ("fuse_attention:_sfdp_init", "misc_patterns:_misc_patterns_init", "pad_mm:_pad_mm_init",
                    "freezing_patterns:addmm_patterns_init", "post_grad:lazy_init"))
STATUSES = ("equal", "different", "not shown", "not expressible")
#: Of a dimension; larger ones, which registration does not need either, become this.
_MAX_SIZE = 16
_NAMES = ("register_replacement", "gen_register_replacement")


@dataclass
class Pattern:
    """A pattern and its replacement as functions, with the registered example inputs, and constants by name; `origin`: the module."""

    origin: str
    search: Callable[..., Any]
    replace: Callable[..., Any]
    inputs: List[Any]
    constants: Dict[str, Any]

    @property
    def name(self) -> str:
        """The name of the function that is searched for."""
        return getattr(self.search, "__name__", str(self.search))


@dataclass
class Compared:
    """What was found about a pattern at example inputs of these shapes and types; `status` is one of STATUSES, `reason` says why."""

    origin: str
    pattern: str
    shapes: List[Any]
    types: List[str]
    status: str
    reason: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.origin}.{self.pattern} ({', '.join(dict.fromkeys(self.types))}): {self.status}, {self.seconds} s" + (
            f": {self.reason[:300]}" if self.reason else "")


def registered(registrars: Sequence[str] = REGISTRARS) -> List[Pattern]:
    """The patterns that functions, given as MODULE:FUNCTION, register. Such a function may take a device. Raises Error if there is none."""
    found: List[Pattern] = []
    original = pattern_matcher.register_replacement

    def record(origin: str, *args: Any, **kwargs: Any) -> bool:
        given = inspect.signature(original).bind(*args, **kwargs).arguments
        found.append(Pattern(origin, given["search_fn"], given["replace_fn"], list(given["example_inputs"]),
                             dict(given.get("scalar_workaround") or {})))
        return True

    for each in registrars:
        name, _, function = each.partition(":")
        try:
            module = importlib.import_module(name)
            registrar = inspect.unwrap(getattr(module, function))
        except (ImportError, AttributeError, ValueError) as error:
            raise Error(f"{each}: expected MODULE:FUNCTION of a module that can be imported: {error}") from None
        recorders = (functools.partial(record, name), lambda _, *args, origin=name, **kwargs: record(origin, *args, **kwargs))
        with contextlib.ExitStack() as stack:
            for owner in {id(owner): owner for owner in (module, pattern_matcher)}.values():
                for attribute, recorder in zip(_NAMES, recorders):
                    if hasattr(owner, attribute):
                        stack.enter_context(mock.patch.object(owner, attribute, recorder))
            registrar(*([torch.device("cpu")] if inspect.signature(registrar).parameters else []))
    return found


def _example(name: str, value: Any) -> Any:
    """Random numbers like the example; a scalar is a number, and a mask has zeros and ones."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.dim() == 0:
        return 4.0  # its root is exact, which exporters of attention multiply by twice
    if max(value.shape) > _MAX_SIZE:
        value = torch.empty([min(size, _MAX_SIZE) for size in value.shape], dtype=value.dtype)
    values = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
    if value.dtype == torch.bool:
        return values.copy_(torch.rand(value.shape) < 0.7)
    if name == "attn_mask":
        return values.copy_((torch.arange(values.numel()) % 3 != 1).reshape(values.shape))
    return values.copy_(torch.randn(value.shape)) if value.dtype.is_floating_point else values.zero_()


def _without_constants(function: Callable[..., Any], constants: Mapping[str, Any]) -> Callable[..., Any]:
    """The function of the tensors alone, with its other arguments by name."""
    parameters = inspect.signature(function).parameters
    given = {name: 0.0 if name == "dropout_p" else value for name, value in constants.items() if name in parameters}
    return functools.partial(function, **given) if given else function


def compared(patterns: Sequence[Pattern], rules: Any = None) -> Iterator[Compared]:
    """Compares each pattern with its replacement; `rules` as of `rulemill.torch.equal`."""
    seen = set()
    for pattern in patterns:
        shapes = [tuple(value.shape) if isinstance(value, torch.Tensor) else value for value in pattern.inputs]
        types = [str(value.dtype).removeprefix("torch.") for value in pattern.inputs if isinstance(value, torch.Tensor)]
        in_first_type, in_types = (pattern.name, str(shapes), types.count("bool")), (pattern.name, *types)
        if not seen.isdisjoint((in_first_type, in_types)):
            continue
        seen.add(in_types)
        torch.manual_seed(0)
        begin = time.monotonic()
        inputs = [_example(*each) for each in zip(inspect.signature(pattern.search).parameters, pattern.inputs)]
        functions = [_without_constants(each, pattern.constants) for each in (pattern.search, pattern.replace)]
        try:
            found = rulemill_torch.equal(*functions, inputs, rules=rules)
            status, reason = found.status, found.place.partition(",")[0]  # a line of torch, not of a user, is left out
        except Error as error:
            status, reason = "not expressible", error.message
        if "different types" not in reason:
            seen.add(in_first_type)
        yield Compared(pattern.origin, pattern.name, shapes, types, status, reason, round(time.monotonic() - begin, 1))


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m rulemill.inductor", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("registrars", nargs="*", metavar="MODULE:FUNCTION", default=list(REGISTRARS))
    parser.add_argument("--only", default="", help="patterns with such a name, a regular expression")
    parser.add_argument("--rules", help="rule database (default: the default rules)")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(arguments)
    if options.json and not options.json.resolve().parent.is_dir():
        parser.error(f"argument --json: expected a file in a folder that exists, found '{options.json}'")
    try:
        found = registered(options.registrars)
    except Error as error:
        parser.error(f"argument MODULE:FUNCTION: {error.message}")
    chosen = [pattern for pattern in found if re.search(options.only, pattern.name)]
    if not chosen:
        parser.error(f"argument --only: none of {len(found)} patterns has such a name")
    print(f"torch {torch.__version__}: {len(chosen)} patterns", flush=True)
    results: List[Compared] = []
    for each in compared(chosen, options.rules):
        results.append(each)
        print(each, flush=True)
        if options.json:
            text = json.dumps({"torch": torch.__version__, "results": [asdict(result) for result in results]}, indent=1)
            options.json.write_text(text + "\n", encoding="utf-8")
    for origin in dict.fromkeys(each.origin for each in results):
        counts = collections.Counter(each.status for each in results if each.origin == origin)
        print(f"{origin}: " + ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status]))
    return int(any(each.status == "different" for each in results))


if __name__ == "__main__":
    sys.exit(main())
