#!/usr/bin/env python3
"""Operators of other ONNX domains: `optimize` reads them, and writes them for a runtime that has them."""

import unittest

from binary import ROOT, Case, rulemill

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    onnx = None

ROWS, WIDTH, HEADS = 96, 64, 4


def attention_model(path):
    """Attention by several heads, as exporters write it."""
    random = numpy.random.default_rng(0)
    weights = [numpy_helper.from_array(random.normal(size=(WIDTH, WIDTH)).astype(numpy.float32) / 8, name) for name in ("wq", "wk", "wv")]
    weights.append(numpy_helper.from_array(numpy.array([1, ROWS, HEADS, WIDTH // HEADS]), "parts"))
    weights.append(numpy_helper.from_array(numpy.array([1, ROWS, WIDTH]), "whole"))
    weights.append(numpy_helper.from_array(numpy.array(0.25, numpy.float32), "factor"))
    nodes = []

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], **attributes))

    for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        node("MatMul", ["x", "w" + name], name)
        node("Reshape", [name, "parts"], name + "_parts")
        node("Transpose", [name + "_parts"], name + "_heads", perm=order)
    node("MatMul", ["q_heads", "k_heads"], "products")
    node("Mul", ["products", "factor"], "scores")
    node("Softmax", ["scores"], "shares", axis=-1)
    node("MatMul", ["shares", "v_heads"], "mixed")
    node("Transpose", ["mixed"], "mixed_rows", perm=[0, 2, 1, 3])
    node("Reshape", ["mixed_rows", "whole"], "y")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, ROWS, WIDTH]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "attention", values[:1], values[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


@unittest.skipUnless(onnx, "SKIPPED: onnx is not installed (scripts/install-debian.sh)")
class Domains(Case):
    def optimized(self, model, *arguments):
        """Returns the result, and the number of nodes of each operator with its domain."""
        out = self.folder / "out.onnx"
        report = self.json("optimize", model, "--rules", self.rules, "--out", out, "--no-benchmark", *arguments)
        result = onnx.load(out)
        operators = [(node.domain, node.op_type) for node in result.graph.node]
        return result, operators, report

    def setUp(self):
        super().setUp()
        self.rules = self.folder / "rules"
        self.assert_works(rulemill("discover", "--profile", ROOT / "data" / "profiles" / "attention_heads.toml", "--out", self.rules))
        self.model = self.folder / "model.onnx"
        attention_model(self.model)

    def test_attention_is_one_operator_for_onnxruntime_only(self):
        fused = ("com.microsoft", "MultiHeadAttention")
        _, operators, _ = self.optimized(self.model)
        self.assertNotIn(fused, operators)
        result, operators, report = self.optimized(self.model, "--runtime", "onnxruntime")
        self.assertEqual(operators.count(fused), 1)
        self.assertEqual(len(operators), 4)  # with three products
        self.assertEqual({each.domain: each.version for each in result.opset_import}, {"": 17, "com.microsoft": 1})
        self.assertTrue(report["changed"])

    def test_a_model_with_operators_of_the_domain_is_read(self):
        result, _, _ = self.optimized(self.model, "--runtime", "onnxruntime")
        again = self.folder / "again.onnx"
        onnx.save(result, again)
        self.assertEqual(self.optimized(again)[2]["opaque"], [])


if __name__ == "__main__":
    unittest.main()
