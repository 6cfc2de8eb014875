"""Findings as JUnit's XML and as SARIF 2.1.0."""

from __future__ import annotations

import json
import pathlib
import re
import urllib.parse
import xml.etree.ElementTree as xml
from typing import TYPE_CHECKING, Any, Dict, Sequence

if TYPE_CHECKING:
    from .verdicts import Finding, Findings

#: What XML cannot contain.
_CONTROL = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: JUnit's element for a state.
_ELEMENTS = {"failed": "failure", "broken": "error", "allowed": "skipped"}
_MEANINGS = {"narrowed": "The rule is proved under a condition that its text does not state.",
             "unknown": "A limit was reached before a proof or a counterexample was found.",
             "refuted": "The sides of the rule differ.", "different": "The models differ.",
             "ill-typed": "No sizes fit both sides of the rule.", "unreadable": "The file or the rule cannot be read.",
             "not decided": "The program ended without a verdict."}


def json_text(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def junit(groups: "Sequence[Findings]") -> str:
    """A test suite for each file or pair, a test case for each rule."""
    suites = xml.Element("testsuites", name="rulemill")
    for group in groups:
        suite = xml.SubElement(suites, "testsuite", name=_printable(group.file), time=f"{group.seconds:.3f}", tests=str(len(group.all)))
        for key, state in (("failures", "failed"), ("errors", "broken"), ("skipped", "allowed")):
            suite.set(key, str(sum(finding.state == state for finding in group.all)))
        for finding in group.all:
            file = _printable(finding.file)
            case = xml.SubElement(suite, "testcase", classname=file, name=_printable(finding.name) or file, file=file)
            if finding.line:
                case.set("line", str(finding.line))
            if finding.state in _ELEMENTS:
                outcome = xml.SubElement(case, _ELEMENTS[finding.state], type=finding.verdict, message=_printable(finding.detail))
                outcome.text = _printable(str(finding))
    xml.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(suites, encoding="unicode") + "\n"


def sarif(findings: "Sequence[Finding]", version: str) -> str:
    """A result for each finding that does not pass."""
    shown = [finding for finding in findings if finding.state != "passed"]
    driver = {"name": "rulemill", "version": version,
              "rules": [{"id": verdict, "shortDescription": {"text": meaning}} for verdict, meaning in _MEANINGS.items()]}
    return json_text({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
                      "runs": [{"tool": {"driver": driver}, "results": [_result(finding) for finding in shown]}]})


def _result(finding: "Finding") -> Dict[str, Any]:
    level = "note" if finding.state == "allowed" else "warning" if finding.verdict in ("narrowed", "unknown") else "error"
    path = pathlib.PurePath(finding.file)
    place: Dict[str, Any] = {"artifactLocation": {"uri": path.as_uri() if path.is_absolute() else urllib.parse.quote(path.as_posix())}}
    if finding.line:
        place["region"] = {"startLine": finding.line, **({"startColumn": finding.column} if finding.column else {})}
    text = ": ".join(filter(None, [finding.verdict, finding.name, finding.detail]))
    return {"ruleId": finding.verdict, "level": level, "message": {"text": text}, "locations": [{"physicalLocation": place}]}


def _printable(text: str) -> str:
    return _CONTROL.sub("?", text)
