#!/usr/bin/env python3
"""onnxruntime judges a result by the model's own error: both are held against a copy of the model in float64."""

import json
import struct
import subprocess
import sys
import unittest

import numpy as np
import onnx
from binary import ROOT, Case
from onnx import TensorProto, helper, numpy_helper

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

ACCEPTANCE = {"own_error": 4, "most_own_error": 0.05, "few_elements": 64, "tolerance": 1e-4}


def ask(before, after):
    question = json.dumps({"before": str(before), "after": str(after), "seeds": 3, "shapes": {}, **ACCEPTANCE}).encode()
    process = subprocess.run([sys.executable, ROOT / "data/judges/onnxruntime_judge.py"], capture_output=True,
                             input=struct.pack("<Q", len(question)) + question)
    frames, text = [], process.stdout
    while text:
        size = struct.unpack("<Q", text[:8])[0]
        frames.append(json.loads(text[8:8 + size]))
        text = text[8 + size:]
    return frames[1]


def model(nodes, constants, shape, opset=17, kind=TensorProto.FLOAT):
    value = lambda name, dims: helper.make_tensor_value_info(name, kind, dims)
    weights = [numpy_helper.from_array(np.asarray(values), name) for name, values in constants.items()]
    graph = helper.make_graph(nodes, "model", [value("x", shape)], [value("y", None)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def product(weight, **more):
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": weight}, [8, 32], **more)


def shifted(by, scale):
    """by + scale·x - by, which loses the last digits of x."""
    nodes = [helper.make_node(op, [a, b], [y]) for op, a, b, y in
             [("Mul", "x", "scale", "a"), ("Add", "a", "by", "b"), ("Sub", "b", "by", "c"), ("Div", "c", "scale", "y")]]
    return model(nodes, {"by": np.float32(by), "scale": np.float32(scale)}, [16, 16])


def convolution(weight, bias=None, **attributes):
    constants = {"w": weight} | ({} if bias is None else {"b": bias})
    nodes = [helper.make_node("Conv", ["x", *constants], ["y"], **attributes)]
    return model(nodes, constants, [2, weight.shape[1] * attributes.get("group", 1)] + [11] * (weight.ndim - 2))


def chain(opset=17):
    """What the runtime has no kernel of doubles for."""
    nodes = [helper.make_node("Erf", ["x"], ["a"]), helper.make_node("HardSigmoid", ["a"], ["b"], alpha=0.3),
             helper.make_node("Resize", ["b", "", "scales"], ["c"], mode="nearest"),
             helper.make_node("AveragePool", ["c"], ["d"], kernel_shape=[2, 2]), helper.make_node("LeakyRelu", ["d"], ["e"], alpha=0.1),
             helper.make_node("GlobalAveragePool", ["e"], ["y"])]
    return model(nodes, {"scales": np.array([1, 1, 2, 2], np.float32)}, [2, 40, 6, 6], opset)


@unittest.skipIf(onnxruntime is None, "SKIPPED: no onnxruntime")
class Float64(Case):
    def judged(self, before, after):
        onnx.save(before, self.folder / "before.onnx")
        onnx.save(after, self.folder / "after.onnx")
        return ask(self.folder / "before.onnx", self.folder / "after.onnx")

    def test_an_error_many_times_the_models_own_is_refused_though_the_tolerance_would_let_it_pass(self):
        weight = drawn(32, 32)
        answer = self.judged(product(weight), product(weight * np.float32(1 + 2e-5)))
        self.assertEqual(answer["verdict"], "different")
        self.assertRegex(answer["reason"], r"error [12][.\d]*e-05 of the largest value, where the original's own is [\d.]+e-0[78]")

    def test_what_is_as_wrong_as_the_model_is_passes_though_it_is_further_off_than_the_tolerance(self):
        answer = self.judged(shifted(3001, 1), shifted(3001, 0.75))
        self.assertEqual(answer["verdict"], "equal")
        self.assertGreater(answer["worst"], 1e-4)
        self.assertGreater(answer["error_before"], 5e-5)
        self.assertLessEqual(answer["error_after"], 4 * answer["error_before"] + 4 * 2.0 ** -24)

    def test_convolutions_are_said_by_products_of_doubles(self):
        cases = [convolution(drawn(8, 3, 3, 3)), convolution(drawn(8, 3, 5, 3), drawn(8), pads=[1, 2, 0, 1], strides=[2, 3]),
                 convolution(drawn(6, 2, 3), group=3, dilations=[2]), convolution(drawn(8, 1, 3, 3), drawn(8), group=8, pads=[1, 1, 1, 1]),
                 convolution(drawn(4, 2, 1, 1), strides=[2, 2]), convolution(drawn(2, 2, 2, 3, 1), pads=[0, 1, 0, 1, 1, 0])]
        for case in cases:
            answer = self.judged(case, case)
            self.assertEqual([answer["verdict"], answer["not_exact"]], ["equal", ""])
            self.assertEqual(answer["exact"], f"a float64 copy in onnxruntime {onnxruntime.__version__}")
            self.assertLess(answer["error_before"], 2e-6)
            self.assertGreater(answer["error_before"], 0)

    def test_other_operators_without_a_kernel_of_doubles_are_said_by_others_or_named(self):
        for opset in (17, 20):
            answer = self.judged(chain(opset), chain(opset))
            self.assertTrue(answer["exact"].endswith(", AveragePool, Resize in float32"), answer)
            self.assertLess(answer["error_before"], 2e-6)

    def test_a_model_of_doubles_is_held_against_itself(self):
        weight = drawn(32, 32).astype(np.float64) / 3
        double = lambda values: product(values, kind=TensorProto.DOUBLE)
        self.assertEqual(self.judged(double(weight), double(weight * (1 + 1e-15)))["verdict"], "equal")
        answer = self.judged(double(weight), double(weight.astype(np.float32).astype(np.float64)))
        self.assertEqual(answer["verdict"], "different")

    def test_where_nothing_runs_in_float64_the_tolerance_judges_and_it_is_said_why(self):
        weight = drawn(32, 32)
        answer = self.judged(product(weight, opset=12), product(weight * np.float32(1 + 2e-5), opset=12))
        self.assertEqual([answer["verdict"], answer["exact"], answer["not_exact"]], ["equal", "", "opset 12 is below 13"])


if __name__ == "__main__":
    unittest.main()
