#!/usr/bin/env python3
"""`rulemill ci`: a line for each verdict, JUnit, SARIF and the exit code; the example repository of data/demos/ci."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import types
import unittest
import xml.etree.ElementTree as xml

from binary import BINARY, LONG_RULES, ROOT, Case, rulemill

try:
    import onnx
    from onnx import helper
except ImportError:
    onnx = None

COMPILERS = ROOT / "data" / "compilers"
UNKNOWN = re.findall(r"^# unknown.*\n((?:[^#\n].*\n)+)", "".join(path.read_text(encoding="utf-8") for path in sorted(COMPILERS.glob("*.rules"))), re.M)
TEXTS = {
    "open.rules": UNKNOWN[0],
    "true.rules": "rule idem(x[m, n])\n  relu(relu(x)) => relu(x)\n",
    "mixed.rules": "rule idem(x[m, n])\n  relu(relu(x)) => relu(x)\nrule drop(x[m, n])\n  relu(x) => x\n",
    "narrowed.rules": "rule valid(x:4, k:4)\n  conv2d(x, k; pad=valid) => conv2d(x, k)\n",
    "ill_typed.rules": "rule ill(x[m, n])\n  add(x, concat(x, x; axis=0)) => x\n",
    "broken.rules": "rule torn(x[m, n])\n  relu(x => x\n",
    "empty.rules": "",
    "odd <&\"> name.rules": "rule drop(x[m, n])\n  relu(x) => x\n",
    "broken.onnx": "not a model",
    "bad/bad.op": "operator nothing(\n",
}
# Words, exit code, and the lines with the states: passed, failed, broken or allowed.
OPEN = f"open.rules --definitions {COMPILERS / 'operators'}"
CASES = [
    ("bad", 3, ["bad: unreadable: is a folder; expected a file of rules|broken"]),
    ("true.rules", 0, ["true.rules:1:1: proved: idem|passed"]),
    ("mixed.rules", 1, ["mixed.rules:1:1: proved: idem|passed", "mixed.rules:3:1: refuted: drop: at x[|failed"]),
    ("narrowed.rules", 1, ["narrowed.rules:1:1: narrowed: valid: when k[2] = 1, k[3] = 1|failed"]),
    ("narrowed.rules --allow narrowed", 0, ["narrowed.rules:1:1: narrowed: valid: when k[2]|allowed"]),
    ("narrowed.rules --allow unknown", 1, ["narrowed.rules:1:1: narrowed: valid: when k[2]|failed"]),
    (OPEN, 1, ["open.rules:1:1: unknown: |failed"]),
    (OPEN + " --allow unknown", 0, ["open.rules:1:1: unknown: |allowed"]),
    ("true.rules ill_typed.rules", 3, ["proved: idem|passed", "ill_typed.rules:1:1: ill-typed: ill: add(x|broken"]),
    ("broken.rules mixed.rules", 3, ["broken.rules:2:10: unreadable: torn: expected ')'|broken", "proved|passed", "refuted|failed"]),
    ("empty.rules", 3, ["empty.rules: unreadable: has no rules|broken"]),
    ("none.rules true.rules", 3, ["none.rules: unreadable: cannot be read|broken", "proved: idem|passed"]),
    ("true.rules --definitions bad", 3, ["true.rules: unreadable: bad/bad.op:|broken"]),
    ("true.rules --definitions none", 3, ["true.rules: unreadable: none: is not a folder|broken"]),
    ("broken.onnx broken.onnx", 3, ["broken.onnx: unreadable: not an ONNX model|broken"]),
    ("broken.onnx true.rules broken.onnx", 3,
     ["unreadable: expected a second model after it|broken", "proved: idem|passed", "unreadable: expected a second|broken"]),
]
MODELS = [
    ("double.onnx sum.onnx", 0, ["sum.onnx: equal: from double.onnx|passed"]),
    ("double.onnx clamp.onnx", 1, ["clamp.onnx: different: from double.onnx: value y, element |failed"]),
    ("double.onnx tall.onnx", 1, ["tall.onnx: different: from double.onnx: value y: [1, 2] became [2, 1]|failed"]),
    ("double.onnx sum.onnx double.onnx wide.onnx mixed.rules", 3,
     ["equal|passed", "wide.onnx: unreadable: the models have different inputs|broken", "proved|passed", "refuted|failed"]),
]


class Ci(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "bad").mkdir()
        for name, text in TEXTS.items():
            (self.folder / name).write_text(text, encoding="utf-8")

    def words(self, text):
        return [str(self.folder / word) if re.search(r"^(\w+\.(rules|onnx)|bad)$", word) else word for word in text.split()]

    def check(self, words, code, expected):
        """Runs the command; compares its lines and both reports."""
        reports = {name: self.folder / name for name in ("junit", "sarif", "json")}
        process = rulemill("ci", *words, *(word for name, path in reports.items() for word in (f"--{name}", path)))
        self.assertEqual(process.returncode, code, process.stdout + process.stderr)
        *lines, total = process.stdout.splitlines()
        lines = [line.replace(f"{self.folder}/", "") for line in lines]
        self.assertEqual(len(lines), len(expected), lines)
        self.assertTrue(total.startswith(f"{len(expected)} verdict{'s' * (len(expected) > 1)}: "), total)
        states = []
        for line, part in zip(lines, expected):
            text, state = part.rsplit("|", 1)
            self.assertIn(text, line)
            states.append(state)
        self.assertEqual(re.findall("^rulemill: (ci|)", process.stderr, re.M), ["ci"] if code else [])
        cases = list(xml.parse(reports["junit"]).iter("testcase"))
        elements = {"passed": [], "failed": ["failure"], "broken": ["error"], "allowed": ["skipped"]}
        self.assertEqual([[child.tag for child in case] for case in cases], [elements[state] for state in states])
        self.assertEqual([child.text.replace(f"{self.folder}/", "") for case in cases for child in case], [line for line, state in zip(lines, states) if state != "passed"])
        results = json.loads(reports["sarif"].read_text(encoding="utf-8"))["runs"][0]["results"]
        shown = [finding for finding in json.loads(reports["json"].read_text(encoding="utf-8"))["findings"] if finding["state"] != "passed"]
        self.assertEqual([result["ruleId"] for result in results], [finding["verdict"] for finding in shown])
        self.assertEqual([result["level"] == "note" for result in results], [finding["state"] == "allowed" for finding in shown])
        return results

    def test_rules_have_a_line_and_an_entry_of_each_report_by_their_verdict(self):
        for text, code, expected in CASES:
            with self.subTest(text):
                self.check(self.words(text), code, expected)

    @unittest.skipIf(onnx is None, "SKIPPED: onnx is not installed (scripts/install-debian.sh)")
    def test_two_models_in_a_row_are_compared(self):
        for name, nodes, width in (("double", [("Add", "xx")], 2), ("sum", [("Identity", "x"), ("Add", "ax")], 2),
                                   ("clamp", [("Relu", "x"), ("Add", "ax")], 2), ("wide", [("Add", "xx")], 3),
                                   ("tall", [("Transpose", "x")], 2)):
            outputs = ["a", "y"][-len(nodes):]
            shapes = [[1, width], [width, 1] if name == "tall" else [1, width]]
            tensors = [helper.make_tensor_value_info(value, onnx.TensorProto.FLOAT, shape) for value, shape in zip("xy", shapes)]
            graph = helper.make_graph([helper.make_node(kind, list(inputs), [output]) for (kind, inputs), output in zip(nodes, outputs)],
                                      "graph", tensors[:1], tensors[1:])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.folder / f"{name}.onnx")
        rules = self.folder / "rules.rmdb"
        self.assert_works(rulemill("rules", "import", self.folder / "true.rules", "--out", rules))
        for text, code, expected in MODELS:
            with self.subTest(text):
                self.check([*self.words(text), "--rules", str(rules)], code, expected)

    def test_places_are_uris_and_names_of_any_kind_are_escaped(self):
        result, = self.check([self.folder / 'odd <&"> name.rules'], 1, ["refuted|failed"])
        place = result["locations"][0]["physicalLocation"]
        self.assertEqual(place["artifactLocation"]["uri"], (self.folder / 'odd <&"> name.rules').as_uri())
        self.assertEqual(place["region"], {"startLine": 1, "startColumn": 1})

    def test_outputs_may_be_standard_output_and_quiet_prints_only_the_failure(self):
        process = rulemill("ci", *self.words("mixed.rules"), "--junit", "-")
        self.assertEqual(xml.fromstring(process.stdout).find("testsuite").get("failures"), "1")
        self.assertIn("refuted: drop", process.stderr)
        with open("/dev/full", "w", encoding="utf-8") as full:
            process = subprocess.run([BINARY, "ci", *self.words("true.rules")], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((process.returncode, process.stderr), (1, "rulemill: standard output: cannot be written: No space left on device\n"))
        self.assert_fails(rulemill("ci", *self.words("true.rules"), "--junit", "/dev/full"), 3, "cannot be written: No space left")
        process = rulemill("ci", *self.words("mixed.rules"), "--quiet")
        self.assertEqual((process.stdout, process.stderr), ("", "rulemill: ci: 1 of 2 are neither proved nor equal: 1 refuted\n"))

    def test_a_signal_ends_it_and_the_command_that_it_runs(self):
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            process = subprocess.Popen([BINARY, "ci", LONG_RULES], stderr=subprocess.PIPE, text=True)
            deadline, children = time.monotonic() + 60, pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
            while not (started := children.read_text().split()) and time.monotonic() < deadline:
                time.sleep(0.01)
            self.wait_until_busy(types.SimpleNamespace(pid=started[0], poll=lambda: None))
            process.send_signal(number)
            self.assertIn("rulemill: ci: interrupted\n", process.communicate(timeout=60)[1])
            self.assertEqual(process.returncode, 4)
            self.assertFalse(pathlib.Path(f"/proc/{started[0]}").exists())

    def test_without_python_the_command_is_refused(self):
        self.assert_fails(rulemill("ci", *self.words("true.rules"), env={"RULEMILL_PYTHON": ""}), 1, "ci: needs Python")

    def test_the_workflow_of_the_example_repository_proves_its_rules(self):
        shutil.copytree(ROOT / "data" / "demos" / "ci", self.folder / "repository")
        os.chdir(self.folder / "repository")
        self.addCleanup(os.chdir, ROOT)
        text = (self.folder / "repository/.github/workflows/rules.yml").read_text(encoding="utf-8")
        command, = re.findall(r"run: rulemill (ci .*)", text)
        words = [file for word in command.split() for file in (sorted(map(str, (self.folder / "repository").glob(word))) if "*" in word else [word])]
        process = rulemill(*words)
        self.assert_works(process)
        self.assertIn("3 verdicts: 3 proved", process.stdout)
        for name in re.findall(r"(?:sarif_file|path): (\S+)", text):
            self.assertTrue((self.folder / "repository" / name).stat().st_size)


if __name__ == "__main__":
    unittest.main(verbosity=2)
