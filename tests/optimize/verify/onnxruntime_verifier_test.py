#!/usr/bin/env python3
"""onnxruntime detects a definition that differs from the ONNX operator to which it is mapped."""

import unittest

import onnx
from binary import Case, rulemill
from onnx import TensorProto, helper

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

WRONG = """
operator add(a[d...], b[d...])
  y[i... < d...] = a[i...] + b[i...]
  commutative
  onnx Add
operator shy(x[d...])
  y[i... < d...] = -x[i...]
  onnx Relu
"""
RULE = "rule together(x:2, z:2)\n  add(shy(x), shy(z)) => shy(add(x, z))\n"


class WrongMapping(Case):
    def setUp(self):
        super().setUp()
        self.definitions = self.folder / "wrong"
        self.definitions.mkdir()
        (self.definitions / "wrong.op").write_text(WRONG, encoding="utf-8")
        (self.folder / "rule.txt").write_text(RULE, encoding="utf-8")
        self.model, self.out = self.folder / "in.onnx", self.folder / "out.onnx"
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, 64])
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["z"], ["b"]), helper.make_node("Add", ["a", "b"], ["y"])]
        graph = helper.make_graph(nodes, "relus", [value("x"), value("z")], [value("y")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.model)
        self.assert_works(rulemill("rules", "import", self.folder / "rule.txt", "--definitions", self.definitions, "--out",
                                   self.folder / "rules", "--progress", "off"))

    def report(self, *more):
        return self.json("optimize", self.model, "--rules", self.folder / "rules", "--definitions", self.definitions, "--out", self.out,
                         "--no-benchmark", *more)

    def test_the_definitions_alone_do_not_detect_a_wrong_mapping(self):
        report = self.report("--verifier", "definitions")
        self.assertTrue(report["changed"])
        self.assertEqual(report["verification"]["verifiers"][0]["max_relative_difference"], 0)

    @unittest.skipIf(onnxruntime is None, "SKIPPED: no onnxruntime")
    def test_onnxruntime_rejects_the_result_and_the_model_is_unchanged(self):
        report = self.report()
        self.assertFalse(report["changed"])
        self.assertIn("it computes something else (onnxruntime", report["warning"])
        self.assertEqual(self.out.read_bytes(), self.model.read_bytes())


if __name__ == "__main__":
    unittest.main()
