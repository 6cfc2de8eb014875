#!/usr/bin/env python3
"""`equal` has onnxruntime compute what nodes without definitions compute from constants, and compares it with stored constants."""

import json
import sys
import unittest

from binary import ROOT, FusionRulesCase, rulemill

sys.path.insert(0, str(ROOT / "python"))
try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    import onnxruntime
except ImportError:
    onnxruntime = None

SIZE = 16
WINDOW = helper.make_node("HannWindow", ["n"], ["w"]) if onnxruntime else None


@unittest.skipUnless(onnxruntime, "SKIPPED: onnxruntime is not installed (scripts/install-debian.sh)")
class ComputedConstants(FusionRulesCase):
    def model(self, name, nodes, stored, ir_version=8):
        values = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [4, SIZE]) for each in ("x", "y")]
        graph = helper.make_graph(nodes, "g", values[:1], values[1:], [numpy_helper.from_array(value, each) for each, value in stored.items()])
        path = self.folder / name
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=ir_version), path)
        return path

    def windowed(self, *nodes, name="before.onnx", last="w", **stored):
        """A tensor times the window of its size, after further nodes."""
        return self.model(name, [WINDOW, *nodes, helper.make_node("Mul", ["x", last], ["y"])], {"n": numpy.array(SIZE), **stored})

    def stored(self, values):
        return self.model("after.onnx", [helper.make_node("Mul", ["x", "v"], ["y"])], {"v": values})

    def report(self, before, after):
        result = rulemill("equal", before, after, "--rules", self.rules, "--json", self.folder / "report.json")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return json.loads((self.folder / "report.json").read_text(encoding="utf-8"))

    def window(self):
        graph = helper.make_graph([WINDOW], "g", [], [helper.make_tensor_value_info("w", TensorProto.FLOAT, [SIZE])],
                                  [numpy_helper.from_array(numpy.array(SIZE), "n")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {})[0]

    def test_a_computed_constant_is_the_stored_one(self):
        report = self.report(self.windowed(), self.stored(self.window()))
        self.assertEqual([report["verdict"], report["runtime_constants"]], ["equal", 1])

    def test_nodes_after_it_are_computed_by_the_definitions(self):
        scaled = self.windowed(helper.make_node("Mul", ["w", "third"], ["s"]), last="s", third=numpy.float32(1 / 3))
        report = self.report(scaled, self.stored(self.window() / numpy.float32(3)))
        self.assertEqual([report["verdict"], report["runtime_constants"]], ["equal", 1])

    def test_another_element_is_a_difference(self):
        other = self.window()
        other[3] += numpy.float32(0.01)
        self.assertNotEqual(self.report(self.windowed(), self.stored(other))["verdict"], "equal")

    def test_random_constants_are_not_computed(self):
        noise = helper.make_node("RandomUniformLike", ["w"], ["r"], seed=1.0)
        report = self.report(self.windowed(noise, last="r"), self.stored(self.window()))
        self.assertNotEqual(report["verdict"], "equal")
        same = self.report(self.windowed(noise, last="r"), self.windowed(noise, name="after.onnx", last="r"))
        self.assertEqual(same["verdict"], "equal")

    def test_initializers_that_a_caller_can_set_are_no_constants(self):
        def model(name):
            path = self.windowed(name=name)
            made = onnx.load(path)
            made.graph.input.append(helper.make_tensor_value_info("n", TensorProto.INT64, []))
            onnx.save(made, path)
            return path
        after = self.stored(self.window())
        made = onnx.load(after)
        made.graph.input.append(helper.make_tensor_value_info("n", TensorProto.INT64, []))
        made.graph.initializer.append(numpy_helper.from_array(numpy.array(SIZE), "n"))
        onnx.save(made, after)
        report = self.report(model("before.onnx"), after)
        self.assertNotEqual(report["verdict"], "equal")
        self.assertEqual(report["runtime_constants"], 0)


if __name__ == "__main__":
    unittest.main()
