#!/usr/bin/env python3
"""`rules import BEFORE.onnx AFTER.onnx`: two models are one rule."""

import json
import unittest

from binary import Case, rulemill

try:
    import numpy
    import onnx
    from onnx import helper
except ImportError:
    onnx = None


@unittest.skipIf(onnx is None, "SKIPPED: onnx is not installed (scripts/install-debian.sh)")
class ModelRules(Case):
    weights = {"a": (4, 5), "b": (4, 2), "c": (5, 3)} if onnx else {}

    def model(self, name, nodes, outputs=("y",), input_name="x", **constants):
        """A model of x[n, 4] and the weights that the nodes read. `nodes`: (operator, inputs, outputs, attributes)."""
        random = numpy.random.default_rng(1)
        tensors = {key: random.uniform(-1, 1, shape).astype(numpy.float32) for key, shape in self.weights.items()} | constants
        made = [helper.make_node(operator, inputs, results, **attributes) for operator, inputs, results, attributes in nodes]
        read = {key for node in made for key in node.input}
        graph = helper.make_graph(
            made, name, [helper.make_tensor_value_info(input_name, onnx.TensorProto.FLOAT, ["n", 4])],
            [helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, None) for output in outputs],
            [onnx.numpy_helper.from_array(numpy.asarray(values), key) for key, values in tensors.items() if key in read])
        path = self.folder / f"{name}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), path)
        return path

    def prove(self, *models):
        process = rulemill("rules", "import", *models, "--out", self.folder / "out", "--json", self.folder / "report.json")
        return process, json.loads((self.folder / "report.json").read_text())["rules"] if process.returncode < 3 else process

    def test_a_product_may_be_associated_for_all_sizes(self):
        before = self.model("before", [("MatMul", ["x", "a"], ["p"], {}), ("MatMul", ["p", "c"], ["y"], {})])
        after = self.model("after", [("MatMul", ["a", "c"], ["q"], {}), ("MatMul", ["x", "q"], ["y"], {})])
        process, rules = self.prove(before, after)
        self.assert_works(process)
        self.assertEqual([(rule["name"], rule["verdict"]) for rule in rules], [("after", "proved")])
        self.assertIn("x[m, k]", rules[0]["rule"])
        self.assert_works(rulemill("check", self.folder / "out"))

    def test_sizes_of_a_split_are_inferred(self):
        before = self.model("before", [("MatMul", ["x", "a"], ["y"], {}), ("MatMul", ["x", "b"], ["z"], {})], ("y", "z"))
        after = self.model("after", [("Concat", ["a", "b"], ["ab"], {"axis": 1}), ("MatMul", ["x", "ab"], ["p"], {}),
                                     ("Split", ["p", "sizes"], ["y", "z"], {"axis": 1})], ("y", "z"), sizes=numpy.array([5, 2]))
        process, rules = self.prove(before, after)
        self.assert_works(process)
        self.assertEqual(rules[0]["verdict"], "proved")

    def test_ones_and_zeros_are_known(self):
        before = self.model("before", [("Mul", ["x", "one"], ["p"], {}), ("Relu", ["p"], ["y"], {})], one=numpy.float32(1))
        after = self.model("after", [("Relu", ["x"], ["y"], {})])
        self.assertEqual(self.prove(before, after)[1][0]["verdict"], "proved")

    def test_a_false_rule_has_a_counterexample(self):
        before = self.model("before", [("Relu", ["x"], ["p"], {}), ("Softmax", ["p"], ["y"], {"axis": -1})])
        after = self.model("after", [("Softmax", ["x"], ["p"], {"axis": -1}), ("Relu", ["p"], ["y"], {})])
        process, rules = self.prove(before, after)
        self.assertEqual((process.returncode, rules[0]["verdict"]), (1, "refuted"))
        self.assertIn("counterexample", rules[0])

    def test_what_a_rule_cannot_say_is_one_clear_line(self):
        relu = self.model("relu", [("Relu", ["x"], ["y"], {})])
        scaled = self.model("scaled", [("Mul", ["x", "factor"], ["y"], {})], factor=numpy.float32(5.7))
        unknown = self.model("unknown", [("Unknown", ["x"], ["y"], {"domain": "elsewhere"})])
        other = self.model("other", [("Relu", ["z"], ["y"], {})], input_name="z")
        for models, words in [((scaled, relu), "constant of shape []"), ((unknown, relu), "node y (Unknown) has no term"),
                              ((relu, other), "different inputs"), ((relu,), "expected a second model")]:
            process = rulemill("rules", "import", *models, "--out", self.folder / "out")
            self.assert_fails(process, 3, words)
            self.assertEqual(process.stderr.count("\n"), 1, process.stderr)


if __name__ == "__main__":
    unittest.main()
