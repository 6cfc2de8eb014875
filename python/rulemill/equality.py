"""Whether two models compute the same."""

from __future__ import annotations

import os
import pathlib
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence

from . import program, tensors
from .optimization import write_model
from .program import PathLike

if TYPE_CHECKING:
    from .optimization import Model
    from .tensors import Array


@dataclass(frozen=True)
class Equality:
    """The verdict on two models.

    `status`: "equal" (for all inputs and sizes, as functions of real numbers), "different" or "not shown"; `first_difference`: of
    different models, the first value that differs, with its shapes, or an element and its two values; `open`: if not shown, the first
    value that was not matched, with its nodes in both models."""

    status: str
    raw: Mapping[str, Any]

    @property
    def equal(self) -> bool:
        return self.status == "equal"

    @property
    def inputs(self) -> "Dict[str, Array]":
        """Arrays by input at which different models differ; inputs of many elements are left out."""
        inputs = self.raw.get("refutation", {}).get("inputs", {})
        return {name: tensors.from_json({"shape": each["shape"], "values": each["elements"]}) for name, each in inputs.items()
                if "elements" in each}

    @property
    def first_difference(self) -> Optional[Mapping[str, Any]]:
        found: Optional[Mapping[str, Any]] = self.raw.get("refutation", {}).get("first_difference")
        return found

    @property
    def open(self) -> Optional[Mapping[str, Any]]:
        found: Optional[Mapping[str, Any]] = self.raw.get("open")
        return found


def equal(before: "Model", after: "Model", rules: "PathLike | Sequence[PathLike] | None" = None, *,
          definitions: Optional[PathLike] = None, **options: Any) -> Equality:
    """Decides whether two models compute the same: `equal("model.onnx", "faster.onnx").equal`.

    `before`, `after`: files, or ModelProtos. `rules`: databases; by default the rules that the package has. `options` are those of
    `rulemill equal`, such as `verify_inputs=20`."""
    with tempfile.TemporaryDirectory(prefix="rulemill-") as folder:
        paths = []
        for name, model in (("before", before), ("after", after)):
            place = pathlib.Path(folder) / name
            place.mkdir()
            paths.append(os.fspath(model) if isinstance(model, (str, os.PathLike)) else write_model(model, place))
        databases = [rules] if isinstance(rules, (str, os.PathLike)) else rules
        words = program.option_words({"definitions": definitions, **options,
                                      "rules": None if databases is None else [os.fspath(each) for each in databases]})
        completed = program.call("equal", *paths, *words)
    if completed.error and "verdict" not in completed.report:  # a model of the caller has its name alone
        raise type(completed.error)(completed.error.message.replace(f"{folder}{os.sep}", ""), completed.error.exit_code)
    return Equality(completed.report["verdict"], completed.report)
