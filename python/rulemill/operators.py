"""Operators and their values."""

from __future__ import annotations

import json
import pathlib
import re
import tempfile
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Tuple, Union

from . import program, tensors
from .program import PathLike

if TYPE_CHECKING:
    from .tensors import Array


class Operator:
    """An operator.

    `name`; `signature`: its inputs and parameters; `doc`: the comment above its definition; `definition`: the definition itself;
    `outputs`, `sizes`, `parameters`: names; `assumed_laws`: laws of its scalar functions that are tested but not proved."""

    def __init__(self, raw: Mapping[str, Any], definitions: Optional[PathLike]) -> None:
        self._definitions = definitions
        self.raw = raw
        self.name: str = raw["name"]
        self.outputs: Tuple[str, ...] = tuple(raw["outputs"])
        self.sizes: Tuple[str, ...] = tuple(raw["sizes"])
        self.parameters: Tuple[str, ...] = tuple(raw["parameters"])
        self.assumed_laws: Tuple[str, ...] = tuple(raw["assumed_laws"])
        self.doc, self.definition = _paragraph(raw["place"])
        self.signature = re.sub(r"^(commutative )?operator ", "", self.definition.split("\n")[0])

    def eval(self, *arrays: Any, **parameters: Any) -> "Union[Array, Tuple[Array, ...]]":
        """Evaluates the operator on NumPy arrays: `split.eval(x, axis=1, at=2)`. Several outputs are a tuple."""
        names = [f"x{number}" for number in range(len(arrays))]
        given = "; " + ", ".join(f"{name}={_text(value)}" for name, value in parameters.items()) if parameters else ""
        term = f"{self.name}({', '.join(names)}{given})"
        terms = ", ".join(f"{term}.{output}" for output in self.outputs) if len(self.outputs) > 1 else term
        return evaluate(terms, dict(zip(names, arrays)), definitions=self._definitions)

    def __repr__(self) -> str:
        return f"<rulemill.Operator {self.signature}>"


def operators(definitions: Optional[PathLike] = None) -> List[Operator]:
    """The operators of a folder of definitions, or of the installed ones."""
    report = program.run("operators", "list", *program.option_words({"definitions": definitions}))
    return [Operator(raw, definitions) for raw in report["operators"]]


def evaluate(terms: str, values: Mapping[str, Any], sizes: Optional[Mapping[str, int]] = None,
             definitions: Optional[PathLike] = None) -> "Union[Array, Tuple[Array, ...]]":
    """Evaluates terms in double precision, by the definitions: `evaluate("relu(matmul(x, w))", {"x": x, "w": w})`. Undefined elements
    are NaN. Several terms, separated by commas, give a tuple; `let` lines as in rules may precede them. `sizes` are the numbers for
    sizes that the terms name, as in `split(x; axis=0, at=m)`."""
    with tempfile.TemporaryDirectory(prefix="rulemill-") as folder:
        file = pathlib.Path(folder) / "values.json"
        arrays = {name: tensors.to_json(value) for name, value in values.items()}
        file.write_text(json.dumps({**arrays, **(sizes or {})}), encoding="utf-8")
        report = program.run("operators", "eval", terms, "--values", file, *program.option_words({"definitions": definitions}))
    outputs = tuple(tensors.from_json(output) for output in report["outputs"])
    return outputs[0] if len(outputs) == 1 else outputs


def _text(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, (list, tuple)) else str(value)


def _paragraph(place: str) -> Tuple[str, str]:
    """The comment above a definition and the definition, which ends at an empty line."""
    file, line, _ = place.rsplit(":", 2)
    lines = pathlib.Path(file).read_text(encoding="utf-8").split("\n")
    begin = end = int(line) - 1
    while begin > 0 and lines[begin - 1].startswith("#"):
        begin -= 1
    while end < len(lines) and lines[end].strip():
        end += 1
    return "\n".join(text.lstrip("# ") for text in lines[begin:int(line) - 1]), "\n".join(lines[int(line) - 1:end])
