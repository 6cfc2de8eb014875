#!/usr/bin/env python3
"""Operators of other ONNX domains: `optimize` reads them, and writes them for a runtime that has them."""

import os
import shutil
import unittest

from binary import ROOT, Case, rulemill

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    onnx = None

PROFILE = ROOT / "data" / "profiles" / "onnxruntime" / "attention_heads.toml"
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
        self.assert_works(rulemill("discover", "--profile", PROFILE, "--out", self.rules))
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

    def test_default_rules_for_onnxruntime_lead_to_its_operators(self):
        small = self.folder / "small"
        models = small / "data" / "profiles" / "models"
        models.mkdir(parents=True)
        shutil.copy(ROOT / "data" / "profiles" / "quickstart.toml", models)  # a few rules instead of all
        for folder in ("data/operators", "data/runtimes", "data/profiles/onnxruntime", "pages", "python"):
            (small / folder).symlink_to(ROOT / folder)
        environment = {**os.environ, "RULEMILL_DATA": str(small / "data"), "RULEMILL_CACHE": str(self.folder / "cache")}
        for runtime, count in (("any", 0), ("onnxruntime", 1)):
            out = self.folder / f"{runtime}.onnx"
            self.assert_works(rulemill("optimize", self.model, "--out", out, "--no-benchmark", "--min-gain", "0", "--runtime", runtime,
                                       env=environment))
            operators = [node.op_type for node in onnx.load(out).graph.node]
            self.assertEqual(operators.count("MultiHeadAttention"), count)
        names = sorted(path.name.partition("-")[0] for path in (self.folder / "cache" / "rules").glob("*.rmdb"))
        self.assertEqual(names, ["models", "onnxruntime"])

    def test_a_model_with_operators_of_the_domain_is_read(self):
        result, _, _ = self.optimized(self.model, "--runtime", "onnxruntime")
        again = self.folder / "again.onnx"
        onnx.save(result, again)
        self.assertEqual(self.optimized(again)[2]["opaque"], [])


OWN = """function sigmoid(t) = 1 / (1 + exp(-t))
operator mul(a[d...], b[d...])
  y[i... < d...] = a[i...] * b[i...]
  onnx Mul
operator sigmoid(x[d...])
  y[i... < d...] = sigmoid(x[i...])
  onnx Sigmoid
operator gated(x[d...], y[d...])
  z[i... < d...] = x[i...] * sigmoid(y[i...])
  onnx Gated {domain = "com.example"}
"""


@unittest.skipUnless(onnx, "SKIPPED: onnx is not installed (scripts/install-debian.sh)")
class OwnDomain(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "own").mkdir()
        (self.folder / "own" / "own.op").write_text(OWN, encoding="utf-8")
        (self.folder / "gate.rules").write_text("rule gate(x[m, n], y[m, n])\n  mul(x, sigmoid(y)) => gated(x, y)\n", encoding="utf-8")
        self.definitions = ("--definitions", self.folder / "own")
        self.assert_works(rulemill("rules", "import", self.folder / "gate.rules", *self.definitions, "--out", self.folder / "rules"))
        nodes = [helper.make_node("Sigmoid", ["y"], ["s"]), helper.make_node("Mul", ["x", "s"], ["z"])]
        x, y, z = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, 512]) for name in "xyz")
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
        onnx.save(helper.make_model(helper.make_graph(nodes, "gate", [x, y], [z]), opset_imports=opsets, ir_version=8), self.folder / "gate.onnx")

    def report(self, *more):
        return self.json("optimize", self.folder / "gate.onnx", "--rules", self.folder / "rules", *self.definitions, *more)

    def test_a_result_that_onnxruntime_cannot_load_is_reported_as_such(self):
        try:
            import onnxruntime  # noqa: F401
        except ImportError:
            self.skipTest("SKIPPED: onnxruntime is not installed (scripts/install-debian.sh)")
        report = self.report("--no-benchmark")
        self.assertEqual([each["verdict"] for each in report["verification"]["verifiers"]], ["not loaded"])
        self.assertRegex(report["warning"], "not used: onnxruntime .* cannot load it: .*com.example:Gated.*; if another runtime runs it, give --verifier")
        report = self.report("--benchmark-seconds", "0.1")
        self.assertRegex(report["warning"], r"not used: it cannot be timed \(onnxruntime .*\): it does not load: .*com.example:Gated")

    def test_the_definitions_alone_verify_it_and_nothing_misses_onnxruntime(self):
        report = self.report("--no-benchmark", "--verifier", "definitions")
        self.assertTrue(report["changed"])
        self.assertEqual(report["verification"]["onnxruntime_skipped_reason"], "--verifier definitions")
        self.assertEqual([each["verdict"] for each in report["verification"]["verifiers"]], ["equal"])


if __name__ == "__main__":
    unittest.main()
