"""The program `rulemill`: where it is, and how it is run."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from .errors import Error, Interrupted, error_of
from .progress import Bar

#: A path, or its text.
PathLike = Union[str, "os.PathLike[str]"]
#: Receives each line of progress.
Progress = Callable[[str], object]
#: True: a bar.
ProgressOption = Union[Progress, bool, None]

_PACKED = pathlib.Path(__file__).resolve().parent / "packed"
_LAUNCHER_VARIABLES = ("OMPI_", "PMIX_", "PMI_", "SLURM_", "MPI_")
_SECONDS_TO_STOP = 10


def path() -> pathlib.Path:
    """The program: $RULEMILL, the one in this package, or the build of the source tree that this package is in."""
    given = os.environ.get("RULEMILL")
    built = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "rulemill"
    for candidate in [pathlib.Path(given)] if given else [_PACKED / "bin" / "rulemill.bin", built]:
        if candidate.is_file():
            return candidate
    raise Error(f"{given or _PACKED}: there is no program rulemill; install the package with pip, or set RULEMILL")


def version() -> str:
    """The version of the program: "0.2.0"."""
    return subprocess.run([str(path()), "--version"], check=True, text=True, stdout=subprocess.PIPE).stdout.split()[1]


def launcher() -> pathlib.Path:
    """The program as a command of its own. A rank of an MPI job needs a script that sets up MPI's components."""
    script = _PACKED / "bin" / "rulemill"
    is_rank = any(name.startswith(_LAUNCHER_VARIABLES) for name in os.environ)
    return script if is_rank and "RULEMILL" not in os.environ and script.is_file() else path()


def environment() -> Dict[str, str]:
    """The environment, with this Python as the one that runs models."""
    return {"RULEMILL_PYTHON": sys.executable, **os.environ}


def option_words(options: Mapping[str, object]) -> List[str]:
    """`min_gain=0.1` as `--min-gain 0.1`. True is a flag; None and False are left out; a list repeats the option; a dictionary of
    shapes, such as `input_shape={"x": (1, 3)}`, becomes `--input-shape x:1x3`."""
    words: List[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, Mapping):
            value = [f"{key}:{'x'.join(map(str, shape))}" for key, shape in value.items()]
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            for each in value if isinstance(value, (list, tuple)) else [value]:
                words += [option, os.fspath(each) if isinstance(each, os.PathLike) else str(each)]
    return words


class Completed:
    """What a run of the program reported: `report` as `--json` writes it (empty if it failed before), and its error, if any."""

    def __init__(self, report: Dict[str, Any], error: Optional[Error]) -> None:
        self.report = report
        self.error = error


def run(*words: object, progress: ProgressOption = None, timeout: Optional[float] = None) -> Dict[str, Any]:
    """Runs a subcommand and returns its report. Raises its error, or one if it takes longer than `timeout` seconds."""
    completed = call(*words, progress=progress, timeout=timeout)
    if completed.error:
        raise completed.error
    return completed.report


def call(*words: object, progress: ProgressOption = None, timeout: Optional[float] = None) -> Completed:
    """Runs a subcommand. Raises only `Interrupted`, and what interrupts Python, after the program has ended."""
    if isinstance(progress, bool):
        with Bar() if progress else contextlib.nullcontext() as bar:
            return call(*words, progress=bar, timeout=timeout)
    with tempfile.TemporaryDirectory(prefix="rulemill-") as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [str(path()), *map(str, words), "--json", str(report), "--progress", "plain" if progress else "off"]
        # In a session of its own, so that the Ctrl-C of a terminal reaches only Python, which passes it on once: at a second signal
        # the program would end without cleaning up.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   errors="replace", env=_alone(environment()), start_new_session=True)
        timer = threading.Timer(timeout or 0, process.kill)
        if timeout is not None:
            timer.start()
        try:
            lines = _read(process, progress)
            exit_code = process.wait()
        except BaseException:
            _stop(process)
            raise
        finally:
            timer.cancel()
        if timeout is not None and exit_code == -signal.SIGKILL:
            return Completed({}, Error(f"{words[0]}: stopped after {timeout:g} seconds"))
        error = error_of(exit_code, lines) if exit_code != 0 else None
        if isinstance(error, Interrupted):
            raise error
        return Completed(json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}, error)


def _alone(variables: Mapping[str, str]) -> Dict[str, str]:
    """Without the variables by which a process finds its MPI job: the program is no rank of the job that Python may be in."""
    return {name: value for name, value in variables.items() if not name.startswith(_LAUNCHER_VARIABLES)}


def _read(process: "subprocess.Popen[str]", progress: Optional[Progress]) -> List[str]:
    assert process.stderr is not None
    lines: List[str] = []
    with process.stderr:
        for line in process.stderr:
            lines.append(line.rstrip("\n"))
            if progress and not lines[-1].startswith("rulemill: "):
                progress(lines[-1])
    return lines


def _stop(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
