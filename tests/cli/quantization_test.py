#!/usr/bin/env python3
"""Quantization to 8 bits (data/operators/quantization.op): values as in onnxruntime, rules that hold exactly, and none that holds within
a step only."""

import json
import unittest

from binary import ROOT, Case, rulemill

try:
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    onnxruntime = None

BOUNDS = {"int8": (-128, 127), "uint8": (0, 255)}
TIES = {0.5: 0, 1.5: 2, 2.5: 2, -0.5: 0, -1.5: -2, -2.5: -2, 0.49: 0, 0.51: 1, -0.51: -1, 3: 3}  # halves to the even number
LISTED = ["concat(dequantize(x1, s1, s2), dequantize(x2, s1, s2); axis=1)  => dequantize(concat(x1, x2; axis=1), s1, s2)",
          "concat(quantize_int8(x1, s1, s2), quantize_int8(x2, s1, s2); axis=1)  => quantize_int8(concat(x1, x2; axis=1), s1, s2)",
          "flatten(quantize_uint8(x1, s1, s2))  => quantize_uint8(flatten(x1), s1, s2)",
          "relu(dequantize(q1, s1, s2))  => dequantize(clip_low(q1, s2), s1, s2)"]


class Quantization(Case):
    def evaluate(self, term, **values):
        path = self.folder / "values.json"
        tensors = {name: {"shape": [len(value)] if isinstance(value, list) else [], "values": value if isinstance(value, list) else [value]}
                   for name, value in values.items()}
        path.write_text(json.dumps(tensors), encoding="utf-8")
        return self.json("operators", "eval", term, "--values", path)["outputs"][0]["values"]

    def test_halves_are_rounded_to_the_even_number_before_the_zero_point_is_added(self):
        for kind in BOUNDS:
            for scale in (1, 0.25, 8):
                numbers = [scale * tie for tie in TIES]
                found = self.evaluate(f"quantize_{kind}(x, s, z)", x=numbers, s=scale, z=5)
                self.assertEqual(found, [5 + nearest for nearest in TIES.values()], (kind, scale))

    def test_numbers_beyond_the_type_have_its_bounds_after_the_zero_point_is_added(self):
        for kind, (low, high) in BOUNDS.items():
            for zero in (low, 0, 7, high):
                edges = [low - zero - 1, low - zero - 0.5, low - zero, high - zero, high - zero + 0.5, high - zero + 1, -1e6, 1e6]
                found = self.evaluate(f"quantize_{kind}(x, s, z)", x=edges, s=1, z=zero)
                self.assertEqual(found, [low, low, low, high, high, high, low, high], (kind, zero))

    def test_the_zero_point_stands_for_zero(self):
        self.assertEqual(self.evaluate("dequantize(q, s, z)", q=[-128, 3, 4, 127], s=0.5, z=3), [-65.5, 0, 0.5, 62])
        self.assertEqual(self.evaluate("dequantize_filters(k, s, z)", k=[5, 5, 5], s=[1, 2, 4], z=[5, 4, 3]), [0, 2, 8])

    @unittest.skipUnless(onnxruntime, "SKIPPED: onnxruntime is not installed (scripts/install-python.sh)")
    def test_values_are_those_of_onnxruntime(self):
        random = np.random.default_rng(1)
        for kind, onnx_type in (("int8", TensorProto.INT8), ("uint8", TensorProto.UINT8)):
            for scale in (0.5, 0.125):  # so that quotients are exact
                numbers = np.concatenate([random.normal(size=200) * 60, np.arange(-300, 300) / 2]).astype(np.float32) * np.float32(scale)
                zero = np.array(random.integers(BOUNDS[kind][0], BOUNDS[kind][1] + 1), kind)
                constants = [numpy_helper.from_array(np.array(scale, np.float32), "s"), numpy_helper.from_array(zero, "z")]
                nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])]
                graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [len(numbers)])],
                                          [helper.make_tensor_value_info("q", onnx_type, None),
                                           helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
                model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
                runner = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
                q, y = runner.run(None, {"x": numbers})
                given = {"x": numbers.astype(float).tolist(), "s": scale, "z": int(zero)}
                self.assertEqual(self.evaluate(f"quantize_{kind}(x, s, z)", **given), q.tolist())
                self.assertEqual(self.evaluate(f"dequantize(quantize_{kind}(x, s, z), s, z)", **given), y.tolist())

    def test_rules_that_hold_exactly_are_proved_with_certificates(self):
        rules = self.folder / "rules"
        report = self.json("rules", "import", ROOT / "tests" / "prove" / "quantization.rules", "--out", rules)
        self.assertGreater(len(report["rules"]), 20)
        for entry in report["rules"]:
            self.assertEqual(entry["verdict"], "proved", entry)
        self.assert_works(rulemill("check", rules))

    def test_rules_that_hold_within_a_step_are_refuted(self):
        refuted = ROOT / "tests" / "prove" / "quantization_refuted.rules"
        for entry in self.json("rules", "import", refuted, "--out", self.folder / "rules", code=1)["rules"]:
            self.assertEqual(entry["verdict"], "refuted", entry)

    def test_rules_of_movement_and_maxima_are_found(self):
        found = self.folder / "found"
        self.assert_works(rulemill("discover", "--profile", ROOT / "data" / "profiles" / "quantized.toml", "--out", found))
        self.assert_works(rulemill("check", found))
        listed = rulemill("rules", "list", found, "--tier", "core").stdout
        for rule in LISTED:
            self.assertIn(rule, listed)
        line = next(line for line in listed.splitlines() if "max_pool(dequantize(" in line)
        self.assertIn("s1[] of positive", line)


if __name__ == "__main__":
    unittest.main()
