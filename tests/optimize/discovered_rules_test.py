#!/usr/bin/env python3
"""`optimize --discover` finds rules that its databases lack at the model, keeps them, and a later run uses them."""

import json
import unittest

from binary import Case, rulemill

try:
    import numpy
    import onnx
    from onnx import numpy_helper
except ImportError:
    onnx = None

# No default rule moves a sum over columns past a product with a row added.
MODEL = """<ir_version: 9, opset_import: ["" : 17]>
g (float[64, 256] x) => (float[64, 1] y) {
  p = Gemm<transB = 1>(x, w, b)
  y = ReduceSum<keepdims = 1>(p, axes)
}"""
WRONG = [
    (("--discover-seconds", "5"), 2, "--discover"),
    (("--keep-rules", "found.rmdb"), 2, "--discover"),
    (("--discover", "--discover-seconds", "0"), 2, "--discover-seconds"),
    (("--discover", "--discover-seconds", "-1"), 2, "--discover-seconds"),
    (("--discover", "--discover-seconds", "soon"), 2, "--discover-seconds"),
    (("--discover", "--only-clean"), 2, "--only-clean"),
    (("--discover", "--explain", "p"), 2, "--discover"),
    (("--discover", "--keep-rules", "/dev/null/found.rmdb"), 3, "/dev/null"),
]


@unittest.skipUnless(onnx, "needs onnx")
class DiscoveredRules(Case):
    def setUp(self):
        super().setUp()
        model = onnx.parser.parse_model(MODEL)
        generator = numpy.random.default_rng(1)
        for name, shape in {"w": (128, 256), "b": (128,)}.items():
            model.graph.initializer.append(numpy_helper.from_array(generator.random(shape, numpy.float32), name))
        model.graph.initializer.append(numpy_helper.from_array(numpy.array([1]), "axes"))
        self.model, self.kept = self.folder / "model.onnx", self.folder / "found.rmdb"
        onnx.save(model, self.model)

    def optimize(self, *words):
        """Returns the report and the operators of the result."""
        report, out = self.folder / "report.json", self.folder / "faster.onnx"
        self.assert_works(rulemill("optimize", self.model, "--no-benchmark", "--out", out, "--json", report, *words, timeout=600))
        return json.loads(report.read_text()), sorted(node.op_type for node in onnx.load(out).graph.node)

    def test_rules_are_discovered_kept_and_used_again(self):
        default = rulemill("rules", "default", timeout=600).stdout.strip()
        report, operators = self.optimize("--rules", default)
        self.assertEqual(operators, ["Gemm", "ReduceSum"])

        report, operators = self.optimize("--rules", default, "--discover", "--discover-seconds", "120", "--keep-rules", self.kept)
        self.assertEqual(operators, ["Gemm"])
        found = [rule for rule in report["fired"] if rule["rule"].startswith("found/")]
        self.assertTrue(any("reduce_sum" in rule["text"] for rule in found), report["fired"])
        self.assertTrue(all(rule["certified"] for rule in report["fired"]))
        self.assertLess(report["cost_seconds"]["after"], 0.5 * report["cost_seconds"]["before"])
        discovered = report["discovered"]
        self.assertGreaterEqual(len(discovered["places"]), discovered["tried"])
        self.assertIn("rules", [place["result"] for place in discovered["places"]])
        self.assertGreaterEqual(discovered["tried"], discovered["with_rules"])
        self.assertGreater(discovered["with_rules"], 0)
        self.assert_works(rulemill("check", self.kept, timeout=600))

        report, operators = self.optimize("--rules", default, "--rules", self.kept)
        self.assertEqual(operators, ["Gemm"])
        self.assertNotIn("discovered", report)

        again = self.folder / "again.rmdb"  # nothing is left to discover
        report, operators = self.optimize("--rules", default, "--rules", self.kept, "--discover", "--keep-rules", again)
        self.assertEqual((operators, report["discovered"]["tried"]), (["Gemm"], 0))
        self.assertFalse(again.exists())

    def test_wrong_input_is_refused_before_anything_is_done(self):
        for words, code, message in WRONG:
            with self.subTest(words):
                process = rulemill("optimize", self.model, "--no-benchmark", *words)
                self.assertEqual(process.returncode, code, process.stderr)
                self.assertIn(message, process.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["model.onnx"])


if __name__ == "__main__":
    unittest.main()
