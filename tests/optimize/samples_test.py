#!/usr/bin/env python3
"""The shipped models become cheaper and equal in onnxruntime; a failed verification leaves them unchanged."""

import json
import re
import shutil
import subprocess
import sys
import unittest

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


class Samples(QuickstartCase):
    def test_the_convolution_block_becomes_three_convolutions_with_equal_outputs(self):
        out = self.folder / "out.onnx"
        report = self.json("optimize", MODEL, "--rules", self.rules, "--out", out, "--no-benchmark")
        rows = {row["name"]: row for row in report["operators"]}
        self.assertEqual((rows["Conv"]["before"]["nodes"], rows["Conv"]["after"]["nodes"]), (12, 3))
        self.assertEqual(rows["Add"]["after"]["nodes"], 0)
        # One convolution replaces four. Times are measured by the benchmarks only.
        self.assertLess(2 * report["operations"]["after"], 1.5 * report["operations"]["before"])
        self.assertLess(report["initializer_bytes"]["after"], report["initializer_bytes"]["before"])
        process = subprocess.run([sys.executable, CHECK, MODEL, out, "--seconds", "0.5"], capture_output=True, text=True)
        print(process.stdout, end="")
        if process.returncode == SKIPPED:
            self.skipTest(process.stdout)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)

    def test_a_failed_verification_leaves_the_model_unchanged_with_a_warning(self):
        out = self.folder / "out.onnx"
        process = rulemill("optimize", MODEL, "--rules", self.rules, "--out", out, "--max-error-ratio", "0", "--no-benchmark", "--json", self.folder / "report.json")
        self.assert_works(process)
        report = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        self.assertFalse(report["changed"])
        self.assertEqual(report["fired"], [])
        self.assertIn("computes something else", report["warning"])
        self.assertIn("computes something else", process.stderr)
        self.assertEqual(out.read_bytes(), MODEL.read_bytes())

    def test_onnxruntime_verifies_besides_the_definitions_if_available(self):
        verifiers = self.json("optimize", MODEL, "--rules", self.rules, "--no-benchmark")["verification"]["verifiers"]
        self.assertEqual(verifiers[0]["verifier"], "definitions")
        self.assertTrue(all(each["verdict"] == "equal" for each in verifiers))
        if onnx is None:
            self.skipTest("SKIPPED: onnx and onnxruntime are not installed (scripts/install-debian.sh)")
        self.assertRegex(verifiers[1]["verifier"], r"^onnxruntime \d")
        alone = self.json("optimize", MODEL, "--rules", self.rules, "--no-benchmark", env={"RULEMILL_PYTHON": ""})["verification"]
        self.assertEqual(len(alone["verifiers"]), 1)
        self.assertIn("Python", alone["onnxruntime_skipped_reason"])

    def test_onnxruntime_alone_detects_a_definition_of_another_operator(self):
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
        weights = [onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, [64, 64], [0.1 * (i % period) for i in range(64 * 64)])
                   for name, period in (("a", 7), ("b", 5))]
        nodes = [onnx.helper.make_node("MatMul", ["x", name], ["x" + name]) for name in ("a", "b")]
        nodes.append(onnx.helper.make_node("Mul", ["xa", "xb"], ["y"]))
        values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [16, 64]) for name in ("x", "y")]
        graph = onnx.helper.make_graph(nodes, "product", values[:1], values[1:], weights)
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), model)
        command = ["optimize", model, "--rules", rules, "--definitions", operators, "--out", out, "--no-benchmark"]
        self.assertTrue(self.json(*command, "--verifier", "definitions")["changed"])
        report = self.json(*command)
        self.assertFalse(report["changed"])
        self.assertIn("onnxruntime", report["warning"])
        self.assertEqual(out.read_bytes(), model.read_bytes())

    def test_info_reports_the_covered_fraction_and_why_the_rest_is_opaque(self):
        report = self.json("info", MODEL)
        self.assertEqual(report["covered"], report["all"])
        self.assertEqual(sum(row["nodes"] for row in report["operators"]), report["all"]["nodes"])
        opaque = rulemill("info", ROOT / "tests" / "optimize" / "hostile" / "conv_stride0.onnx")
        self.assert_works(opaque)
        self.assertIn("covered by definitions: 0.0% of float nodes", opaque.stdout)
        self.assertRegex(opaque.stdout, r"(?m)^Conv +1 .*the ONNX library could not type it \(signal \d+\)")

    def test_a_gain_below_min_gain_leaves_the_model_unchanged(self):
        out = self.folder / "out.onnx"
        report = self.json("optimize", MODEL, "--rules", self.rules, "--out", out, "--min-gain", "0.9", "--no-benchmark")
        self.assertFalse(report["changed"])
        self.assertEqual(report["fired"], [])
        self.assertEqual(out.read_bytes(), MODEL.read_bytes())

    def test_a_model_that_no_rule_matches_is_copied(self):
        out = self.folder / "out.onnx"
        report = self.json("optimize", LORA, "--rules", self.rules, "--out", out, "--no-benchmark")
        self.assertFalse(report["changed"])
        self.assertEqual(out.read_bytes(), LORA.read_bytes())

    def test_the_html_report_is_self_contained_and_has_the_changes(self):
        page = self.folder / "page.html"
        report = self.json("optimize", MODEL, "--rules", self.rules, "--report", page, "--no-benchmark")
        text = page.read_text(encoding="utf-8")
        self.assertNotRegex(text, r'(src|href)="(?!#)')
        self.assertEqual(set(re.findall(r"https?://[^\s\"']*", text)), {"http://www.w3.org/2000/svg"})
        data = json.loads(re.search(r"^const data = (.*);$", text, re.M).group(1))
        self.assertGreater(len(data["changes"]), 0)
        for change in data["changes"]:
            self.assertTrue(any(node[0] == 1 for side in ("before", "after") for node in change[side]["n"]))
        self.assertEqual(sum(item["group"] == 0 for stretch in data["outline"] for item in stretch["items"]), 1)
        self.assertEqual([rule["title"].split(",")[0] for rule in data["rules"]],
                         [fired["rule"] + " reversed" * fired["reversed"] for fired in report["fired"]])
        for (name, result), each in zip(data["verification"], report["verification"]["verifiers"], strict=True):
            self.assertEqual(name, each["verifier"])
            self.assertRegex(result, "^equal on .* error against float64")
        self.assertIn("not timed", data["times"])
        self.assertIn("memory of this process", dict(data["figures"]))

    def test_the_json_has_the_numbers_of_the_terminal_report(self):
        process = rulemill("optimize", MODEL, "--rules", self.rules, "--no-benchmark", "--json", self.folder / "report.json")
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

    def test_the_model_and_its_external_data_are_not_overwritten(self):
        model, side = self.folder / "in.onnx", self.folder / "in.onnx.data"
        shutil.copy(MODEL, model)
        side.write_bytes(b"weights")
        for option in ("--out", "--report", "--json"):
            for file in (model, side):
                process = rulemill("optimize", model, "--rules", self.rules, "--no-benchmark", option, file)
                self.assert_fails(process, 2, f"{option}: is a file of MODEL, an input")
        self.assertEqual([model.read_bytes(), side.read_bytes()], [MODEL.read_bytes(), b"weights"])

    def test_an_unwritable_report_folder_is_an_error_and_nothing_is_written(self):
        process = rulemill("optimize", MODEL, "--rules", self.rules, "--out", self.folder / "out.onnx", "--report", "/proc/x/page.html")
        self.assert_fails(process, 3, "/proc/x")
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
