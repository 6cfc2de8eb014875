#!/usr/bin/env python3
"""What suffices to believe a result: rules that show it equal, and, behind a choice that rounding decides, the choices of the model."""

import unittest

from binary import Case, rulemill

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    import onnxruntime
except ImportError:
    onnxruntime = None

RULE = "rule factored(x[m, k], a[k, n], b[k, n])\n  add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))\n"


def chosen_rows(scale):
    """Rows of a table at the places of the four highest scores x·a + x·b; they differ by `scale`."""
    random = np.random.default_rng(7)
    close = np.repeat(random.standard_normal((32, 1)), 40, axis=1) + scale * random.standard_normal((32, 40))
    constants = {"a": close.astype(np.float32), "b": (close / 3).astype(np.float32), "count": np.array([4]),
                 "table": random.uniform(1, 2, (40, 16)).astype(np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "a"], ["s"]), helper.make_node("MatMul", ["x", "b"], ["t"]),
             helper.make_node("Add", ["s", "t"], ["scores"]), helper.make_node("TopK", ["scores", "count"], ["high", "places"]),
             helper.make_node("Gather", ["table", "places"], ["rows"], axis=0), helper.make_node("Relu", ["rows"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 32])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 4, 16])],
                              [numpy_helper.from_array(values, name) for name, values in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@unittest.skipUnless(onnxruntime, "SKIPPED: onnxruntime is not installed (scripts/install-debian.sh)")
class Verifiers(Case):
    def optimize(self, scale, *options):
        before, after, rules = self.folder / "before.onnx", self.folder / "after.onnx", self.folder / "rules.rules"
        onnx.save(chosen_rows(scale), before)
        rules.write_text(RULE, encoding="utf-8")
        self.assertEqual(rulemill("rules", "import", rules, "--out", self.folder / "rules").returncode, 0)
        report = self.json("optimize", before, "--rules", self.folder / "rules", "--out", after, "--no-benchmark", *options)
        self.assertEqual(sum(node.op_type == "MatMul" for node in onnx.load(after).graph.node), 1)
        return {each["verifier"].split()[0]: each for each in report["verification"]["verifiers"]}

    def test_choices_that_rounding_decides_are_those_of_the_model(self):
        verifiers = self.optimize(1e-7)
        self.assertEqual([verifiers["onnxruntime"]["verdict"], verifiers["onnxruntime"]["choices"]], ["equal", ["TopK"]])

    def test_other_choices_are_compared_with_the_whole_model(self):
        verifiers = self.optimize(1.0)
        self.assertEqual([verifiers["onnxruntime"]["verdict"], verifiers["onnxruntime"]["choices"]], ["equal", []])

    def test_a_result_that_rules_show_equal_needs_no_random_inputs(self):
        verifiers = self.optimize(1e-7, "--verifier", "rules")
        self.assertEqual(list(verifiers), ["rules"])
        self.assertEqual([verifiers["rules"]["verdict"], verifiers["rules"]["inputs"], verifiers["rules"]["tensors"]], ["equal", 0, 0])


if __name__ == "__main__":
    unittest.main()
