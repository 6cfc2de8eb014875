"""Proofs of rules."""

from __future__ import annotations

import pathlib
import re
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Tuple

from . import program, tensors
from .databases import variables_of
from .errors import Error, InputError
from .operators import evaluate
from .program import PathLike

if TYPE_CHECKING:
    from .tensors import Array


class Counterexample:
    """Sizes and inputs at which the sides of a rule differ.

    `sizes`: numbers by name; `inputs`: arrays by variable; `output`, `position`: the element that differs; `source`, `target`: its
    two values, NaN where a side is undefined."""

    def __init__(self, raw: Mapping[str, Any], rule: str, definitions: Optional[PathLike]) -> None:
        self._rule = rule
        self._definitions = definitions
        self.raw = raw
        self.sizes: Dict[str, int] = dict(raw["sizes"])
        self.output: int = raw["output"]
        self.position: Tuple[int, ...] = tuple(raw["position"])
        self.source, self.target = (float("nan") if raw[side] is None else float(raw[side]) for side in ("source", "target"))

    @property
    def inputs(self) -> "Dict[str, Array]":
        return {tensor["name"]: tensors.from_json(tensor) for tensor in self.raw["inputs"]}

    def evaluate(self) -> Tuple[Any, Any]:
        """The outputs of the source and of the target at these inputs: an array each, or a tuple of arrays."""
        values = self.inputs
        for name in _positive_variables(self._rule):
            values[name] = _array(evaluate(f"positive({name})", {name: values[name]}, definitions=self._definitions))
        source, target = _sides(self._rule)
        return evaluate(source, values, self.sizes, self._definitions), evaluate(target, values, self.sizes, self._definitions)

    def snippet(self) -> str:
        """A program that shows the difference."""
        lines = ["import numpy as np", "import rulemill", "", "values = {"]
        lines += [f"    {tensor['name']!r}: np.array({tensor['values']}).reshape({tuple(tensor['shape'])})," for tensor in self.raw["inputs"]]
        lines += ["}", f"sizes = {self.sizes}"]
        definitions = "" if self._definitions is None else f", definitions={str(self._definitions)!r}"
        for name in _positive_variables(self._rule):
            lines.append(f'values[{name!r}] = rulemill.evaluate("positive({name})", {{{name!r}: values[{name!r}]}}{definitions})')
        several = isinstance(self.evaluate()[0], tuple)
        element = (f"[{self.output}]" if several else "") + (f"[{', '.join(map(str, self.position))}]" if self.position else "")
        for side, terms in zip(("source", "target"), _sides(self._rule)):
            lines.append(f'print("{side}", rulemill.evaluate({terms!r}, values, sizes{definitions}){element})')
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        shapes = ", ".join(f"{tensor['name']}{tensor['shape']}" for tensor in self.raw["inputs"])
        return f"at {shapes} output {self.output} element {list(self.position)}: source {self.source:g}, target {self.target:g}"


@dataclass(frozen=True)
class Verdict:
    """The verdict on a rule.

    `status`: "proved", "refuted", "narrowed" (proved under a condition that its text does not state), "unknown" or "ill-typed";
    `rule`: the rule with its types; `condition`: that of a narrowed rule; `counterexample`: of a
    refuted rule; `certificate`: of a proved or narrowed one; `detail`: the reason in words."""

    status: str
    rule: str
    condition: str
    detail: str
    counterexample: Optional[Counterexample]
    certificate: Optional[str]
    raw: Mapping[str, Any]

    @property
    def proved(self) -> bool:
        return self.status == "proved"


def prove(text: str, definitions: Optional[PathLike] = None) -> Verdict:
    """Proves or refutes one rule:

        prove("rule drop(x[m, n])\\n  relu(relu(x)) => relu(x)")

    The form of rules is described in docs/python.md. Raises InputError, with line and column, if the text is no rule."""
    with tempfile.TemporaryDirectory(prefix="rulemill-") as folder:
        file, database = pathlib.Path(folder) / "text", pathlib.Path(folder) / "rules.rmdb"
        file.write_text(text, encoding="utf-8")
        given = program.option_words({"definitions": definitions})
        completed = program.call("rules", "import", file, "--keep-narrowed", "--out", database, *given)
        rules = completed.report.get("rules", [])
        if completed.error and not rules:
            raise _without_folder(completed.error, file)
        if len(rules) != 1:
            raise ValueError(f"expected one rule, found {len(rules)}")
        raw = rules[0]
        if raw["verdict"] == "unreadable":
            raise _without_folder(InputError(f"{raw['place']}: {raw['detail']}", exit_code=3), file)
        certificate = None
        if raw["tier"] in ("core", "derived"):
            certificate = program.run("rules", "show", database, raw["name"], *given)["certificate"]
    counterexample = Counterexample(raw["counterexample"], raw["rule"], definitions) if "counterexample" in raw else None
    return Verdict(raw["verdict"], raw["rule"], raw["condition"], raw["detail"], counterexample, certificate, raw)


def _without_folder(error: Error, file: pathlib.Path) -> Error:
    """The error at a place in the text, not in the file that held it for a moment."""
    replaced = type(error)(error.message.replace(str(file), "text"), error.exit_code)
    replaced.file = "text" if error.file == str(file) else error.file
    return replaced


def _sides(rule: str) -> Tuple[str, str]:
    """The source and the target of a rule's text, each after its `let` lines."""
    lines = rule.rstrip("\n").split("\n")[1:]
    lets = "".join(line.strip() + "\n" for line in lines if line.lstrip().startswith("let "))
    body = " ".join(line.strip() for line in lines if not line.lstrip().startswith(("let ", "when ")))
    source, target = re.split("=>|->", body)
    return lets + source.strip(), lets + target.strip()


def _positive_variables(rule: str) -> Tuple[str, ...]:
    return tuple(name for name, type_text in variables_of(rule).items() if type_text.endswith(" of positive"))


def _array(value: Any) -> "Array":
    return value  # type: ignore[no-any-return]
