"""Optimization of models."""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Union

from . import program, tensors
from .errors import Error
from .program import PathLike, ProgressOption

if TYPE_CHECKING:
    import onnx

    Model = Union[PathLike, onnx.ModelProto]
    Feeds = Mapping[str, Any]


@dataclass(frozen=True)
class Speedup:
    """How many times as fast the result is: the median over rounds in which both models ran in turns, its quartiles, and the median
    times of both models in milliseconds."""

    median: float
    lower: float
    upper: float
    milliseconds_before: float
    milliseconds_after: float

    def __str__(self) -> str:
        return f"{self.median:.3f} times as fast (quartiles {self.lower:.3f} and {self.upper:.3f})"


@dataclass(frozen=True)
class FiredRule:
    """A rule that changed the model, in the direction in which it was applied `times` times: `text` is source => target, the reverse of
    the database's rule if `reversed`. One that `widens` holds only where its source is defined."""

    id: str
    text: str
    tier: str
    times: int
    reversed: bool
    certified: bool
    widens: bool = False


@dataclass(frozen=True)
class Verification:
    """What one verifier found: `verdict` is "equal", "equal where defined" if a rule that widens fired, "different", "not loaded" or
    "not verified"."""

    verifier: str
    verdict: str
    max_relative_difference: float
    inputs: int
    reason: str


class Result:
    """An optimized model.

    `path`: its file, which exists as long as this object if `out` was not given; `changed`: False if it is a copy of the model;
    `speedup`: None if it was not timed; `fired`, `verifiers`; `warning`: why a cheaper model was not used, or empty; `raw`: the whole
    report, as `--json` writes it."""

    def __init__(self, raw: Mapping[str, Any], path: pathlib.Path, folder: pathlib.Path) -> None:
        self._folder = folder
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.raw = raw
        self.path = path
        self.changed: bool = raw["changed"]
        self.warning: str = raw["warning"]
        self.speedup = _speedup(raw["timing"])
        self.fired = [FiredRule(each["rule"], each["text"], each["tier"], each["times"], each["reversed"], each["certified"],
                                each["widens"])
                      for each in raw["fired"]]
        self.verifiers = [Verification(each["verifier"], each["verdict"], each["max_relative_difference"] or 0.0, each["inputs"], each["reason"])
                          for each in raw["verification"]["verifiers"]]

    @property
    def model(self) -> "onnx.ModelProto":
        """The optimized model, loaded with onnx."""
        import onnx
        return onnx.load(str(self.path))

    def report_html(self) -> str:
        """A page with costs, times, rules and both graphs. It needs no network."""
        return (self._folder / "report.html").read_text(encoding="utf-8")

    def save(self, path: PathLike) -> None:
        """Copies the model, with its external data if there are any (PATH.data)."""
        if pathlib.Path(f"{self.path}.data").exists():
            import onnx
            onnx.save(self.model, os.fspath(path), save_as_external_data=True, location=pathlib.Path(path).name + ".data")
        else:
            shutil.copyfile(self.path, path)

    def __repr__(self) -> str:
        return f"<rulemill.Result {'changed' if self.changed else 'unchanged'}, {self.speedup or 'not timed'}>"


def optimize(model: "Model", rules: "PathLike | Sequence[PathLike] | None" = None,
             inputs: "PathLike | Feeds | Sequence[PathLike | Feeds] | None" = None, time: bool = True,
             progress: ProgressOption = None, *, out: Optional[PathLike] = None, definitions: Optional[PathLike] = None,
             **options: Any) -> Result:
    """Makes a model faster: `optimize("model.onnx", out="faster.onnx")`.

    `model`: a file, or a ModelProto; give the file if it has external data. `rules`: databases; by default the rules that the package
    has. `inputs`: what the model is verified and timed on: arrays by input, several of these, or files that `--inputs` reads; by
    default random ones. `time=False` relies on the cost model. `progress` receives lines of text, or is True for a bar. `options` are
    those of `rulemill optimize`, such as `min_gain=0.1`, `input_shape={"x": (1, 3, 224, 224)}`, `benchmark_seconds=20` or `strict=True`."""
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="rulemill-"))
    try:
        return _optimize(scratch, model, rules, inputs, time, progress, out, definitions, options)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _optimize(scratch: pathlib.Path, model: "Model", rules: Any, inputs: Any, time: bool, progress: ProgressOption,
              out: Optional[PathLike], definitions: Optional[PathLike], options: Mapping[str, Any]) -> Result:
    """`scratch` is for temporary files, and for those that the result owns."""
    source = os.fspath(model) if isinstance(model, (str, os.PathLike)) else write_model(model, scratch)
    path = pathlib.Path(out) if out is not None else scratch / "result.onnx"
    if path.is_dir():
        path /= pathlib.Path(source).name
    databases = [rules] if isinstance(rules, (str, os.PathLike)) else rules
    words = program.option_words({
        "out": path, "report": scratch / "report.html", "definitions": definitions, "no_benchmark": not time,
        "rules": None if databases is None else [os.fspath(each) for each in databases],
        "inputs": _input_files(inputs, scratch), **options})
    try:
        return Result(program.run("optimize", source, *words, progress=progress), path, scratch)
    except Error as error:  # a file of the caller's arrays or model has its name alone
        raise type(error)(error.message.replace(f"{scratch}{os.sep}", ""), error.exit_code) from None


def write_model(model: "onnx.ModelProto", folder: pathlib.Path) -> str:
    """Writes the model to a file in the folder, and returns its path."""
    if not hasattr(model, "SerializeToString"):
        raise TypeError(f"model: expected a path or an onnx.ModelProto, found {type(model).__name__}")
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return str(path)


def _input_files(inputs: Any, folder: pathlib.Path) -> List[str]:
    """The files of the inputs; arrays are written to new ones."""
    if inputs is None:
        return []
    files = []
    for number, each in enumerate([inputs] if isinstance(inputs, (str, os.PathLike, Mapping)) else inputs):
        if isinstance(each, Mapping):
            file = folder / f"inputs{number}.npz"
            tensors.write_npz(file, each)
            files.append(str(file))
        else:
            files.append(os.fspath(each))
    return files


def _speedup(timing: Mapping[str, Any]) -> Optional[Speedup]:
    for candidate in timing["candidates"]:
        if candidate["selected"]:
            lower, upper = candidate["quartiles"]
            return Speedup(candidate["ratio"], lower, upper, timing["milliseconds"], candidate["milliseconds"])
    return None
