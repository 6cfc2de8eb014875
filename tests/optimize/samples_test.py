#!/usr/bin/env python3
"""The shipped models through the binary: smaller, the same in onnxruntime, and nothing written where a check fails."""

import json
import re
import shutil
import subprocess
import sys
import unittest
from html.parser import HTMLParser

from binary import ROOT, QuickstartCase, rulemill

try:
    import onnx
    import onnxruntime
except ImportError:
    onnx = None

MODEL = ROOT / "data" / "models" / "acnet_block.onnx"
LORA = ROOT / "data" / "models" / "lora_layer.onnx"
CHECK = ROOT / "tests" / "optimize" / "check_onnxruntime.py"
SKIPPED = 77


class Tags(HTMLParser):
    """Opened and closed tags, and whatever a page would load from elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.loads, self.counts = [], [], {}

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.loads += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "path", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()


class Samples(QuickstartCase):
    def test_the_convolution_block_becomes_three_convolutions_and_onnxruntime_confirms_equal_outputs(self):
        out = self.folder / "out.onnx"
        report = self.json("optimize", MODEL, "--rules", self.rules, "--out", out, "--no-timing")
        rows = {row["name"]: row for row in report["operators"]}
        self.assertEqual((rows["Conv"]["before"]["nodes"], rows["Conv"]["after"]["nodes"]), (12, 3))
        self.assertEqual(rows["Add"]["after"]["nodes"], 0)
        # A convolution each for what was four of them: what it takes on a busy machine is the benchmarks' matter.
        self.assertLess(2 * report["operations"]["after"], 1.5 * report["operations"]["before"])
        self.assertLess(report["initializer_bytes"]["after"], report["initializer_bytes"]["before"])
        process = subprocess.run([sys.executable, CHECK, MODEL, out, "--seconds", "0.5"], capture_output=True, text=True)
        print(process.stdout, end="")
        if process.returncode == SKIPPED:
            self.skipTest(process.stdout)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)

    def test_a_verification_that_fails_leaves_the_model_as_it_is_and_says_so(self):
        out = self.folder / "out.onnx"
        process = rulemill("optimize", MODEL, "--rules", self.rules, "--out", out, "--own-error", "0", "--no-timing", "--json", self.folder / "report.json")
        self.assert_works(process)
        report = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        self.assertFalse(report["changed"])
        self.assertEqual(report["fired"], [])
        self.assertIn("computes something else", report["warning"])
        self.assertIn("computes something else", process.stderr)
        self.assertEqual(out.read_bytes(), MODEL.read_bytes())

    def test_onnxruntime_judges_beside_the_definitions_where_it_can_be_had(self):
        judges = self.json("optimize", MODEL, "--rules", self.rules, "--no-timing")["verification"]["judges"]
        self.assertEqual(judges[0]["judge"], "definitions")
        self.assertTrue(all(judge["verdict"] == "equal" for judge in judges))
        if onnx is None:
            self.skipTest("SKIPPED: onnx and onnxruntime are not installed (scripts/install-debian.sh)")
        self.assertRegex(judges[1]["judge"], r"^onnxruntime \d")
        alone = self.json("optimize", MODEL, "--rules", self.rules, "--no-timing", env={"RULEMILL_PYTHON": ""})["verification"]
        self.assertEqual(len(alone["judges"]), 1)
        self.assertIn("Python", alone["without_onnxruntime"])

    def test_a_definition_that_means_another_operator_is_caught_by_onnxruntime_alone(self):
        if onnx is None:
            self.skipTest("SKIPPED: onnx and onnxruntime are not installed (scripts/install-debian.sh)")
        operators, rules = self.folder / "operators", self.folder / "rules"
        shutil.copytree(ROOT / "data" / "operators", operators)
        file = operators / "elementwise.op"
        text = file.read_text(encoding="utf-8")
        swapped = text.replace("onnx Add\n", "onnx @\n").replace("onnx Mul\n", "onnx Add\n").replace("onnx @\n", "onnx Mul\n")
        file.write_text(swapped, encoding="utf-8")
        (self.folder / "rules.txt").write_text(
            "rule distribute(x:2, a:2, b:2)\n  add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))\n", encoding="utf-8")
        self.assert_works(rulemill("rules", "import", self.folder / "rules.txt", "--out", rules, "--definitions", operators))
        model, out = self.folder / "product.onnx", self.folder / "out.onnx"
        weights = [onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, [64, 64], [0.1 * (i % 7) for i in range(64 * 64)])
                   for name in ("a", "b")]
        nodes = [onnx.helper.make_node("MatMul", ["x", name], ["x" + name]) for name in ("a", "b")]
        nodes.append(onnx.helper.make_node("Mul", ["xa", "xb"], ["y"]))
        values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [16, 64]) for name in ("x", "y")]
        graph = onnx.helper.make_graph(nodes, "product", values[:1], values[1:], weights)
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), model)
        command = ["optimize", model, "--rules", rules, "--definitions", operators, "--out", out, "--no-timing"]
        self.assertTrue(self.json(*command, "--judge", "definitions")["changed"])
        report = self.json(*command)
        self.assertFalse(report["changed"])
        self.assertIn("onnxruntime", report["warning"])
        self.assertEqual(out.read_bytes(), model.read_bytes())

    def test_info_says_how_much_of_a_model_is_understood_and_why_the_rest_is_not(self):
        report = self.json("info", MODEL)
        self.assertEqual(report["understood"], report["all"])
        self.assertEqual(sum(row["nodes"] for row in report["operators"]), report["all"]["nodes"])
        opaque = rulemill("info", ROOT / "tests" / "optimize" / "hostile" / "conv_stride0.onnx")
        self.assert_works(opaque)
        self.assertIn("understood: 0.0% of nodes", opaque.stdout)
        self.assertRegex(opaque.stdout, r"(?m)^Conv +1 .*the ONNX library could not type it \(signal \d+\)")

    def test_a_gain_below_the_least_that_is_asked_for_leaves_the_model_as_it_is(self):
        out = self.folder / "out.onnx"
        report = self.json("optimize", MODEL, "--rules", self.rules, "--out", out, "--min-gain", "0.9", "--no-timing")
        self.assertFalse(report["changed"])
        self.assertEqual(report["fired"], [])
        self.assertEqual(out.read_bytes(), MODEL.read_bytes())

    def test_a_model_that_no_rule_concerns_is_written_as_it_was(self):
        out = self.folder / "out.onnx"
        report = self.json("optimize", LORA, "--rules", self.rules, "--out", out, "--no-timing")
        self.assertFalse(report["changed"])
        self.assertEqual(out.read_bytes(), LORA.read_bytes())

    def test_the_report_is_one_page_that_loads_nothing_and_draws_what_changed(self):
        page = self.folder / "page.html"
        report = self.json("optimize", MODEL, "--rules", self.rules, "--report", page, "--no-timing")
        text = page.read_text(encoding="utf-8")
        tags = Tags()
        tags.feed(text)
        self.assertEqual(tags.open, [])
        self.assertEqual([load for load in tags.loads if not load.startswith("#")], [])
        self.assertNotRegex(text, r"https?://")
        kinds = len(re.findall(r"<h3 id='change-[A-Z]+'>", text))
        self.assertGreater(kinds, 0)
        self.assertEqual(tags.counts["svg"], 2 * kinds)
        self.assertEqual(len(re.findall(r"<a class='kind' href='#change-A'>", text)), 1)
        for fired in report["fired"]:
            self.assertIn(fired["rule"], text)
        for judge in report["verification"]["judges"]:
            self.assertRegex(text, rf"<th>{judge['judge']}</th><td>equal on .* error against float64")
        for words in ("memory of this process", "certificate", "by definitions", "not timed", "1×32×", "What changed"):
            self.assertIn(words, text)

    def test_what_the_terminal_says_is_in_the_json(self):
        process = rulemill("optimize", MODEL, "--rules", self.rules, "--no-timing", "--json", self.folder / "report.json")
        self.assert_works(process)
        report = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        for row in report["operators"]:
            self.assertRegex(process.stdout, rf"(?m)^{row['name']} +{row['before']['nodes']} ")
        self.assertRegex(process.stdout, rf"(?m)^total +{report['onnx_nodes']['before']} ")
        for fired in report["fired"]:
            self.assertIn(f"{fired['times']} x {fired['rule']}", process.stdout)
        gain = report["cost_seconds"]["before"] / report["cost_seconds"]["after"]
        self.assertIn(f"{gain:.2f} times as fast", process.stdout)
        before, after = (report["operations"][side] / 1e6 for side in ("before", "after"))
        self.assertLess(after, before)
        self.assertIn(f"{before:.4g} -> {after:.4g} million operations", process.stdout)

    def test_nothing_is_written_over_the_model_or_its_side_file(self):
        model, side = self.folder / "in.onnx", self.folder / "in.onnx.data"
        shutil.copy(MODEL, model)
        side.write_bytes(b"weights")
        for option in ("--out", "--report", "--json"):
            for file, name in ((model, "the model itself"), (side, "the model's side file")):
                process = rulemill("optimize", model, "--rules", self.rules, "--no-timing", option, file)
                self.assert_fails(process, 2, f"{option}: is {name}")
        self.assertEqual([model.read_bytes(), side.read_bytes()], [MODEL.read_bytes(), b"weights"])

    def test_a_full_or_missing_place_for_the_report_is_named_and_nothing_is_written(self):
        process = rulemill("optimize", MODEL, "--rules", self.rules, "--out", self.folder / "out.onnx", "--report", "/proc/x/page.html")
        self.assert_fails(process, 3, "/proc/x")
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
