"""Whether the rewrite rules of onnxscript, or those of a package that uses its rewriter, keep what models compute.

    python -m rulemill.onnxscript [PACKAGE…] [--only TEXT] [--out FOLDER] [--json FILE]

Each rule is applied by onnxscript's own rewriter, with its matcher, check and replacement, to models that its pattern matches
(`onnxscript_instances`); before and after are compared by `rulemill.equal`, with open sizes where the rule fires on them. A verdict
is about these models, not about the rule; docs/compilers.md has what the verdicts mean. The exit code is 1 if a rule is wrong."""

from __future__ import annotations

import argparse
import collections
import contextlib
import gc
import importlib
import inspect
import json
import logging
import multiprocessing
import pathlib
import pkgutil
import re
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from . import equality, program
from .errors import Error

try:
    import numpy as np
    import onnx
    import onnx.printer
    import onnx.reference
    import onnxruntime
    import onnxscript.rewriter
    from onnxscript.rewriter import RewriteRule, RewriteRuleClassBase

    from .onnxscript_instances import Generator
    from .onnxscript_models import Instance, brief, run
except ImportError as _missing:
    raise Error(f"rulemill.onnxscript needs onnxscript, onnx and onnxruntime: {_missing}") from None

#: From the best to the worst; a rule has the worst status of its models.
STATUSES = ("equal for all sizes", "equal for some sizes", "equal at these sizes", "not shown", "fails", "different")
WRONG = ("fails", "different")
_REFUSED = "onnxruntime refuses the result: "
_NOT_RULES = re.compile(r"\.(models|testing|conftest|\w*_test)(\.|$)")


@dataclass
class Rule:
    """A rule as its package makes it, with its forms for operands in another order."""

    name: str
    forms: List[Any] = field(default_factory=list)


@dataclass
class Shown:
    """What was found on one model: `open`: its open sizes, by name with the number at which it was drawn; `fixed`: numbers that remain
    among the dimensions of its inputs and constants."""

    status: str
    detail: str
    open: Dict[str, int]
    fixed: List[int]
    before: str
    seconds: float = 0.0


@dataclass
class RuleVerdict:
    """The verdict on a rule: its status is the worst of its models; None if there is no model, and `why` says what was in the way."""

    rule: str
    models: List[Shown]
    why: str
    seconds: float = 0.0

    @property
    def status(self) -> Optional[str]:
        return max((each.status for each in self.models), key=STATUSES.index, default=None)

    def __str__(self) -> str:
        counts = collections.Counter(each.status for each in self.models)
        found = ", ".join(f"{counts[status]} {status}" for status in reversed(STATUSES) if counts[status])
        worst = next((each.detail for each in self.models if each.status == self.status and each.detail), "")
        return f"{self.rule}: {found or 'no model: ' + self.why}" + (f" ({worst})" if worst else "")


def _modules(package: str) -> List[Any]:
    """The package and all its modules but models and tests."""
    root = importlib.import_module(package)
    names = [each.name for each in pkgutil.walk_packages(getattr(root, "__path__", []), f"{package}.")]
    found = [root]
    for name in names:
        if not _NOT_RULES.search(name):
            with contextlib.suppress(ImportError):
                found.append(importlib.import_module(name))
    return found


def _place(rule: Any) -> Tuple[Any, str]:
    """The function that makes the replacement, and the module of the rule."""
    function = rule._replacement_pattern._function
    owner = getattr(function, "__self__", None)
    return function, (type(owner) if isinstance(owner, RewriteRuleClassBase) else function).__module__


def rules(packages: Sequence[str] = ("onnxscript.rewriter",)) -> List[Rule]:
    """All rules of the packages: those that exist once all modules are imported, and those that functions without arguments return."""
    modules = {module.__name__: module for package in packages for module in _modules(package)}
    for module in modules.values():
        for function in [each for each in vars(module).values() if inspect.isfunction(each) and each.__module__ == module.__name__]:
            if "RewriteRuleSet" in str(inspect.signature(function).return_annotation) and not inspect.signature(function).parameters:
                module.__dict__.setdefault("_of_functions", []).append(function())
    found: Dict[Any, Rule] = {}
    for rule in [each for each in gc.get_objects() if isinstance(each, RewriteRule)]:
        function, place = _place(rule)
        if place in modules:
            variable = next((name for name, value in vars(modules[place]).items()
                             if getattr(value, "_replacement_pattern", None) is rule._replacement_pattern), function.__name__)
            name = f"{place.partition('rewriter.')[2] or place}.{rule.name or variable}"
            # Forms for exchanged operands share the replacement; a function that makes a set again makes rules of one name and text.
            key = name if rule.name else id(rule._replacement_pattern)
            own = found.setdefault(key, Rule(name))
            if _text(rule) not in map(_text, own.forms):
                own.forms.append(rule)
    return sorted(found.values(), key=lambda each: each.name)


def _text(rule: Any) -> str:
    return re.sub(r"anonymous:\d+", "_", str(rule._target_pattern))


def compare(forms: Sequence[Any], name: str = "rule", *, trials: int = 20000, models: int = 6, seed: int = 0,
          out: Optional[pathlib.Path] = None) -> RuleVerdict:
    """The verdict on a rule, given as a list of its `RewriteRule`s. `trials`: of the search for `models` models on which it fires;
    `out`: a folder for models on which it is wrong."""
    begin = time.monotonic()
    generator = Generator(forms, seed)
    instances, failures = _instances(generator, trials, models)
    verdict = RuleVerdict(name, [], "")
    for instance in instances:
        start = time.monotonic()
        try:
            shown = _shown(generator, instance)
        except _Wrong as wrong:
            smallest = _reduced(generator, instance.at(wrong.feeds), wrong.status)
            shown = Shown(wrong.status, wrong.detail, {}, [], onnx.printer.to_text(smallest.model()))
            if out:
                _write(generator, smallest, out / f"{name}-{len(verdict.models) + 1}", shown.detail)
        shown.seconds = round(time.monotonic() - start, 1)
        verdict.models.append(shown)
    for error, instance in failures.items():
        verdict.models.append(Shown("fails", f"the rule raises {error}", {}, [], onnx.printer.to_text(instance.model())))
        if out:
            _write(generator, instance, out / f"{name}-{len(verdict.models)}", error)
    if not verdict.models:
        verdict.why = generator.why()
    verdict.seconds = round(time.monotonic() - begin, 1)
    return verdict


def _instances(generator: Generator, trials: int, models: int) -> Tuple[List[Instance], Dict[str, Instance]]:
    """Models on which the rule fires, that differ in ranks, types or the lines of the rule's code; and those on which it raises."""
    kept: List[Instance] = []
    found: Dict[Any, Instance] = {}
    failures: Dict[str, Instance] = {}
    lines: set[Any] = set()
    news = building = 0
    while (now := generator.trials) < trials and (len(found) < 2 * models or now < news + trials / 8):
        if kept and building > (0.5 if found else 0.25) * now:
            instance = generator.changed(kept[-1] if generator.chance(0.4) else generator.pick(kept))
        else:
            instance = generator.build()
            building += generator.trials - now
        if instance is None:
            continue
        applied = generator.apply(instance.model())
        if applied.lines - lines:
            lines |= applied.lines
            kept.append(instance)
            news = now
        if applied.error and instance.feeds():
            failures.setdefault(applied.error, instance)
        if applied.after and instance.feeds():
            found.setdefault((applied.lines, instance.kinds(), instance.ranks()), instance)
    chosen: List[Tuple[Any, Instance]] = []
    while found and len(chosen) < models:
        likeness = lambda key: sum((lines == key[0]) + (kinds == key[1]) + (shapes == key[2]) for (lines, kinds, shapes), _ in chosen)
        key = min(found, key=lambda key: (likeness(key), not any(max(each.shape, default=1) > 1 for each in found[key].feeds().values()),
                                          any(kind not in ("float32", "int64") for kind in key[1])))
        chosen.append((key, found.pop(key)))
    return [instance for _, instance in chosen], failures


def _shown(generator: Generator, instance: Instance) -> Shown:
    """Compares before and after with as many open sizes as the rule accepts, then at the drawn sizes."""
    shape = {name: leaf.value.shape for name, leaf in instance.leaves.items() if not leaf.constant or leaf.value.dtype.kind == "f"}
    sizes = sorted({size for name in instance.feeds() for size in shape[name]}, reverse=True)
    names: Dict[int, str] = {}
    for more in [sizes, *([each] for each in sizes)]:
        wider = {**names, **{size: f"n{size}" for size in more}}
        problem = _opens(generator, instance, wider) if len(wider) > len(names) else None
        names = names if problem else wider
    for tried in [names, {}] if names else [{}]:
        before = instance.model(tried)
        after = generator.apply(before).after
        if after is None:  # without the shapes of inner values
            continue
        status, detail = _compared(before, after, instance.feeds())
        fixed = sorted({size for name, each in shape.items() for size in each if size not in tried or name not in instance.feeds()})
        if status == "equal":
            status = "equal for all sizes" if not fixed else "equal for some sizes" if tried else "equal at these sizes"
        if status != "not shown" or not tried:
            break
    return Shown(status, detail, {name: size for size, name in tried.items()}, fixed, onnx.printer.to_text(before))


def _opens(generator: Generator, instance: Instance, names: Mapping[int, str]) -> Optional[str]:
    """None if the rule fires with these open sizes and both models run at others; otherwise why not."""
    try:
        before = instance.model(names)
        after = generator.apply(before).after
        if after is None:
            return "the rule does not fire"
        for more in (0, 1, 4):
            others = {size: size + more for size in names}
            feeds = {name: np.resize(value, [others.get(size, size) for size in value.shape]) for name, value in instance.feeds().items()}
            _refute(before, after, feeds, f" at {', '.join(f'{names[size]} = {other}' for size, other in others.items())}")
    except _Wrong:
        raise
    except Exception as error:
        return brief(error)
    return None


class _Wrong(Exception):
    """The rule is wrong at these inputs of its model."""

    def __init__(self, detail: str, feeds: Mapping[str, Any]) -> None:
        super().__init__(detail)
        self.detail, self.feeds = detail, feeds
        self.status = "fails" if detail.startswith(_REFUSED) else "different"


def _refute(before: onnx.ModelProto, after: onnx.ModelProto, feeds: Mapping[str, Any], where: str = "") -> None:
    """Raises if the outputs differ at these inputs, and onnx.reference, where it knows the operators, agrees with onnxruntime."""
    expected = run(before, feeds)
    if difference := _difference(expected, lambda: run(after, feeds)):
        with contextlib.suppress(Exception):
            reference: Any = onnx.reference.ReferenceEvaluator(before).run(None, dict(feeds))
            if _difference(expected, lambda: list(reference)):
                return
        raise _Wrong(difference + where, feeds)


def _difference(expected: Sequence[Any], other: Callable[[], Sequence[Any]]) -> str:
    """How other outputs differ from what is expected, by more than rounding; "" if they do not."""
    try:
        found = other()
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error):  # a type for which onnxruntime has no code
            return ""
        return f"{_REFUSED}{brief(error)}"
    for a, b in zip(expected, found):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{a.dtype}{list(a.shape)} becomes {b.dtype}{list(b.shape)}"
        a, b = a.astype("f8"), b.astype("f8")
        is_number = np.isfinite(a)
        if not np.allclose(a[is_number], b[is_number], rtol=1e-2, atol=1e-2 * np.abs(a[is_number]).max(initial=1e-3)):
            at = int(np.argmax(np.abs(np.where(is_number, a - b, 0))))
            return f"{a.reshape(-1)[at]:g} becomes {b.reshape(-1)[at]:g}"
    return ""


def _compared(before: onnx.ModelProto, after: onnx.ModelProto, feeds: Mapping[str, Any]) -> Tuple[str, str]:
    """The verdict on two models. What differs has to differ in onnxruntime, too."""
    found = [feeds, *({name: _other(value, seed) for name, value in feeds.items()} for seed in range(3))]
    wrong = None
    for trial in found:
        try:
            _refute(before, after, trial)
        except _Wrong as error:
            wrong = wrong or error
        except Exception:  # numbers that are sizes
            continue
    try:
        verdict = equality.equal(before, after, time_limit=60)
    except Error as error:
        if wrong:
            raise wrong from None
        return "not shown", error.message[:200]
    if wrong and verdict.equal and wrong.status == "different":
        return "not shown", f"{wrong.detail}, but equal as functions of real numbers"
    if wrong:
        raise wrong
    if verdict.status == "different":
        with contextlib.suppress(KeyError, ValueError, AttributeError):
            _refute(before, after, {name: verdict.inputs[name].astype(value.dtype) if value.dtype.kind == "f" else value for name, value in feeds.items()})
        return "not shown", "different in rulemill, not in onnxruntime"
    if verdict.equal:
        limits = {f"{name} {sign} {bound}" for key, sign in (("lower_bounds", ">="), ("upper_bounds", "<=")) for name, bound in verdict.raw[key].items()}
        return "equal", f"for {', '.join(sorted(limits))}" if limits else ""
    return "not shown", str((verdict.open or {}).get("before", ""))[:200]


def _other(value: Any, seed: int) -> Any:
    """Other numbers. Integers remain, since the shapes that the model states may depend on them."""
    other = np.random.default_rng(seed).standard_normal(value.shape) * 4
    return np.asarray(other).astype(value.dtype) if value.dtype.kind == "f" else value


def _reduced(generator: Generator, instance: Instance, status: str) -> Instance:
    """A smaller model on which the rule is wrong in the same way."""
    for _ in range(60):
        candidate = generator.smaller(instance)
        if candidate and candidate.size() <= instance.size():
            with contextlib.suppress(Exception):
                before = candidate.model()
                after = generator.apply(before).after
                try:
                    _refute(before, after or before, candidate.feeds())
                except _Wrong as wrong:
                    instance = candidate if wrong.status == status else instance
    return instance


def _write(generator: Generator, instance: Instance, folder: pathlib.Path, detail: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    before = instance.model()
    after = generator.apply(before).after
    onnx.save(before, folder / "before.onnx")
    if after:
        onnx.save(after, folder / "after.onnx")
    np.savez(folder / "inputs.npz", **instance.feeds())
    (folder / "detail.txt").write_text(detail + "\n", encoding="utf-8")


def _compared_apart(rule: Rule, options: argparse.Namespace) -> RuleVerdict:
    """The verdict by another process, since onnxruntime ends its process on some models that are drawn; then by one with another seed."""
    context = multiprocessing.get_context("fork")  # rules are functions, which no other way passes on
    for seed in (options.seed, options.seed + 1):
        receiver, sender = context.Pipe(duplex=False)
        work = lambda seed=seed, sender=sender: sender.send(compare(rule.forms, rule.name, trials=options.trials, models=options.models, seed=seed, out=options.out))
        process = context.Process(target=work)
        process.start()
        sender.close()
        with contextlib.suppress(EOFError):
            return receiver.recv()  # type: ignore[no-any-return]
        process.join()
    return RuleVerdict(rule.name, [], f"the search ended with exit code {process.exitcode}")


def versions() -> Dict[str, str]:
    return {"rulemill": program.version(), **{each.__name__: each.__version__ for each in (onnxscript, onnx, onnxruntime)}}


def _expression(text: str) -> "re.Pattern[str]":
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"expected a regular expression, found '{text}': {error}") from None


def _positive(text: str) -> int:
    if not re.fullmatch(r"0*[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, found '{text}'")
    return int(text)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rulemill.onnxscript", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", default=["onnxscript.rewriter"], help="whose rules are compared (default: onnxscript.rewriter)")
    parser.add_argument("--only", type=_expression, default="", help="rules in whose name this expression is found")
    parser.add_argument("--trials", type=_positive, default=20000, help="of the search for models of a rule, a millisecond each (default: 20000)")
    parser.add_argument("--models", type=_positive, default=6, help="of a rule, at most (default: 6)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, help="folder for models on which a rule is wrong")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(arguments)
    if options.json and not options.json.resolve().parent.is_dir():
        parser.error(f"argument --json: expected a file in a folder that exists, found '{options.json}'")
    logging.disable(logging.CRITICAL)
    try:
        found = rules(options.packages)
    except ImportError as error:
        parser.error(f"argument packages: expected packages that can be imported: {error}")
    chosen = [rule for rule in found if re.search(options.only, rule.name)]
    if not chosen:
        parser.error(f"argument --only: none of {len(found)} rules has such a name" if found else "argument packages: they have no rules")
    print(", ".join(f"{name} {version}" for name, version in versions().items()))
    print(f"{len(found)} rules", flush=True)
    verdicts: List[RuleVerdict] = []
    for rule in chosen:
        verdicts.append(_compared_apart(rule, options))
        print(verdicts[-1], flush=True)
        if options.json:
            results = [{"status": each.status, **asdict(each)} for each in verdicts]
            options.json.write_text(json.dumps({**versions(), "rules": results}, indent=1) + "\n", encoding="utf-8")
    counts = collections.Counter(each.status or "no model" for each in verdicts)
    print(", ".join(f"{counts[status]} {status}" for status in (*STATUSES, "no model")))
    return int(any(counts[status] for status in WRONG))


if __name__ == "__main__":
    sys.exit(main())
