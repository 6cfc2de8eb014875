"""Runs the commands of the program on each file, and reports what they find."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import sys
import tempfile
from dataclasses import asdict, dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional

from .. import program
from ..errors import Error, InputError, Interrupted
from . import formats

Request = Dict[str, Any]
HOLDS = ("proved", "equal")
MALFORMED = ("ill-typed", "unreadable")


@dataclass(frozen=True)
class Finding:
    """A verdict on a rule or on a pair of models. `line` and `column` are 0 if the place is a whole file. `state`: "passed", "allowed",
    "failed", or "broken" if there is nothing to decide."""

    file: str
    line: int
    column: int
    name: str
    verdict: str
    detail: str
    state: str

    def __str__(self) -> str:
        place = ":".join([self.file, *(str(number) for number in (self.line, self.column) if number)])
        return ": ".join(filter(None, [place, self.verdict, self.name, self.detail]))


class Findings:
    """The findings on one file or pair, in the order of the file."""

    def __init__(self, file: str, request: Request) -> None:
        self.file = file
        self.seconds = 0.0
        self.version = ""
        self.all: List[Finding] = []
        self._request = request

    def add(self, place: str, name: str, verdict: str, detail: str) -> None:
        found = re.search(r"(?::(\d+))?(?::(\d+))?$", place)
        line, column = (int(number or 0) for number in found.groups()) if found else (0, 0)
        state = ("passed" if verdict in HOLDS else "allowed" if verdict in self._request["allow"]
                 else "broken" if verdict in MALFORMED or verdict == "not decided" else "failed")
        detail = detail.removeprefix(f"{place or self.file}: ")
        self.all.append(Finding(self.file, line, column, name, verdict, detail, state))

    def run(self, *words: object) -> program.Completed:
        common = {name: self._request[name] for name in ("definitions", "log_level")}
        completed = program.call(*words, *program.option_words(common), progress=_print_progress if self._request["progress"] else None)
        self.seconds = completed.report.get("seconds", 0.0)
        self.version = completed.report.get("rulemill", "")
        return completed

    def add_error(self, error: Optional[Error]) -> None:
        """The file as a whole: the program found no rule in it, or ended without a verdict."""
        is_here = error is not None and error.file == self.file  # not in a definition, for example
        place = ":".join(str(part) for part in (error.file, error.line, error.column) if part) if error and is_here else ""
        verdict = "unreadable" if error is None or isinstance(error, InputError) else "not decided"
        self.add(place, "", verdict, error.message if error else "expected rules, found none")


def rule_findings(file: str, request: Request) -> Findings:
    findings = Findings(file, request)
    if os.path.isdir(file):
        findings.add_error(InputError("is a folder; expected a file of rules", 3))
        return findings
    with tempfile.TemporaryDirectory(prefix="rulemill-") as folder:
        words = program.option_words({"out": folder, "taso_table": request["taso_table"]})
        completed = findings.run("rules", "import", file, *words)
    for rule in completed.report.get("rules", []):
        findings.add(rule["place"], rule["name"], rule["verdict"], rule["detail"])
    if not findings.all:
        findings.add_error(completed.error)
    return findings


def difference_text(found: Mapping[str, Any]) -> str:
    """Where two values differ: in their shapes, or in an element."""
    if "shapes" in found:
        return f"value {found['value']}: {found['shapes']}"
    values = ("NaN" if found[side] is None else f"{found[side]:.9g}" for side in ("before", "after"))
    return f"value {found['value']}, element {found['element']}: {' became '.join(values)}"


def pair_findings(before: str, after: str, request: Request) -> Findings:
    findings = Findings(after, request)
    completed = findings.run("equal", before, after, *program.option_words({"rules": request["rules"]}))
    report = completed.report
    if "verdict" not in report:
        findings.add_error(completed.error)
        return findings
    bounds = [f"{name} {sign} {bound}" for key, sign in (("lower_bounds", ">="), ("upper_bounds", "<=")) for name, bound in report[key].items()]
    detail = completed.error.message if completed.error else f"where {', '.join(bounds)}" if bounds else ""
    if "refutation" in report:
        detail = difference_text(report["refutation"]["output"])
    findings.add("", f"from {before}", "unknown" if report["verdict"] == "not shown" else report["verdict"], detail)
    return findings


def all_findings(request: Request) -> Iterator[Findings]:
    """Of each file; two models in a row are a pair."""
    files = iter(request["files"])
    for file in files:
        if not file.endswith(".onnx"):
            yield rule_findings(file, request)
            continue
        after = next(files, None)
        if after is not None and after.endswith(".onnx"):
            yield pair_findings(file, after, request)
            continue
        alone = Findings(file, request)
        alone.add_error(InputError("expected a second model after it: two models are a pair", 3))
        yield alone
        if after is not None:
            yield rule_findings(after, request)


def counts_text(findings: List[Finding]) -> str:
    counts: Dict[str, int] = {}
    for finding in findings:
        counts[finding.verdict] = counts.get(finding.verdict, 0) + 1
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))


def write(path: str, text: str) -> None:
    """Replaces a file at once, at the end of links. Writes to devices and pipes; - is standard output."""
    if path == "-":
        print(text, end="", flush=True)
        return
    target = pathlib.Path(path)
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
            return
        target = pathlib.Path(os.path.realpath(path))
        scratch = target.with_name(f"{target.name}.{os.getpid()}")
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(target)
    except OSError as problem:
        problem.filename = path
        raise


def _print_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def report_all(request: Request) -> int:
    """Prints and writes what is found; returns the exit code."""
    stream = sys.stderr if request["prints_to_stderr"] else sys.stdout
    done: List[Findings] = []
    for findings in all_findings(request):
        done.append(findings)
        for finding in findings.all if not request["quiet"] else []:
            print(finding, file=stream, flush=True)
    flat = [finding for findings in done for finding in findings.all]
    version = next((findings.version for findings in done if findings.version), "")
    not_held = [finding for finding in flat if finding.state in ("failed", "broken")]
    error = f"ci: {len(not_held)} of {len(flat)} are neither proved nor equal: {counts_text(not_held)}" if not_held else ""
    if not request["quiet"]:
        print(f"{len(flat)} verdict{'' if len(flat) == 1 else 's'}: {counts_text(flat)}", file=stream, flush=True)
    report = {"findings": [asdict(finding) for finding in flat], "command": "ci", "rulemill": version, **({"error": error} if error else {})}
    for name, text in (("junit", formats.junit(done)), ("sarif", formats.sarif(flat, version)), ("json", formats.json_text(report))):
        if request[name]:
            write(request[name], text)
    if error:
        print(f"rulemill: {error}", file=sys.stderr)
    return 3 if any(finding.verdict in MALFORMED for finding in flat) else 1 if error else 0


def main(request: Request) -> int:
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, signal.default_int_handler)
    try:
        return report_all(request)
    except (KeyboardInterrupt, Interrupted):
        print("rulemill: ci: interrupted", file=sys.stderr)
        return 4
    except OSError as problem:
        print(f"rulemill: {problem.filename or 'standard output'}: cannot be written: {problem.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still in its buffer
        return 3 if problem.filename else 1
