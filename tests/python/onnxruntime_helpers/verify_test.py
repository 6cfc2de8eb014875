#!/usr/bin/env python3
"""The verifier in onnxruntime compares a result with the original and with its float64 copy."""

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

ACCURACY = {"max_error_ratio": 4, "max_original_error": 0.05, "small_tensor_elements": 64, "tolerance": 1e-4}


def verify(before, after, **more):
    query = json.dumps({"before": str(before), "after": str(after), "inputs": 3, "shapes": {}, **ACCURACY, **more}).encode()
    process = subprocess.run([sys.executable, ROOT / "python/onnxruntime_helpers/verify.py"], capture_output=True,
                             input=struct.pack("<Q", len(query)) + query)
    messages, text = [], process.stdout
    while text:
        size = struct.unpack("<Q", text[:8])[0]
        messages.append(json.loads(text[8:8 + size]))
        text = text[8 + size:]
    return messages[1]


def model(nodes, constants, shape, opset=17, data_type=TensorProto.FLOAT):
    value = lambda name, dims: helper.make_tensor_value_info(name, data_type, dims)
    weights = [numpy_helper.from_array(np.asarray(values), name) for name, values in constants.items()]
    graph = helper.make_graph(nodes, "model", [value("x", shape)], [value("y", None)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def product(weight, **more):
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": weight}, [8, 32], **more)


def shifted(by, scale):
    """by + scale·x - by, which rounds x."""
    nodes = [helper.make_node(op, [a, b], [y]) for op, a, b, y in
             [("Mul", "x", "scale", "a"), ("Add", "a", "by", "b"), ("Sub", "b", "by", "c"), ("Div", "c", "scale", "y")]]
    return model(nodes, {"by": np.float32(by), "scale": np.float32(scale)}, [16, 16])


def convolution(weight, bias=None, **attributes):
    constants = {"w": weight} | ({} if bias is None else {"b": bias})
    nodes = [helper.make_node("Conv", ["x", *constants], ["y"], **attributes)]
    return model(nodes, constants, [2, weight.shape[1] * attributes.get("group", 1)] + [11] * (weight.ndim - 2))


def chain(opset=17):
    """Operators for which onnxruntime has no kernels for doubles."""
    nodes = [helper.make_node("Erf", ["x"], ["a"]), helper.make_node("HardSigmoid", ["a"], ["b"], alpha=0.3),
             helper.make_node("Resize", ["b", "", "scales"], ["c"], mode="nearest"),
             helper.make_node("AveragePool", ["c"], ["d"], kernel_shape=[2, 2]), helper.make_node("LeakyRelu", ["d"], ["e"], alpha=0.1),
             helper.make_node("GlobalAveragePool", ["e"], ["y"])]
    return model(nodes, {"scales": np.array([1, 1, 2, 2], np.float32)}, [2, 40, 6, 6], opset)


def chosen(scores, table, count=4, last="rows"):
    """The rows of a table at the places of the highest scores x·w, which rounding changes where scores are close."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["s"]), helper.make_node("TopK", ["s", "count"], ["high", "places"]),
             helper.make_node("Gather", ["table", "places"], ["rows"], axis=0), helper.make_node("Relu", ["rows"], ["y"])]
    if last == "places":
        nodes[1:] = [helper.make_node("TopK", ["s", "count"], ["high", "y"])]
    return model(nodes, {"w": scores, "table": table, "count": np.array([count])}, [8, 32])


@unittest.skipIf(onnxruntime is None, "SKIPPED: no onnxruntime")
class Verification(Case):
    def verified(self, before, after, **more):
        onnx.save(before, self.folder / "before.onnx")
        onnx.save(after, self.folder / "after.onnx")
        return verify(self.folder / "before.onnx", self.folder / "after.onnx", **more)

    def test_bits_are_compared_where_the_clean_up_must_keep_them(self):
        def sum_with(zero, last="Relu"):
            nodes = [helper.make_node("Add", ["x", "zero"], ["a"]), helper.make_node(last, ["a"], ["y"])]
            return model(nodes, {"zero": np.float32(zero)}, ["n", 8])

        def answer(before, after):
            return self.verified(before, after, same_bits=True)

        self.assertEqual(answer(sum_with(0.0), sum_with(0.0)), {"verdict": "equal", "reason": "", "inputs": 3, "given_inputs": 0})
        self.assertEqual(answer(sum_with(0.0, "Exp"), sum_with(-0.0, "Exp"))["verdict"], "equal")
        changed = answer(sum_with(-0.0, "Neg"), sum_with(0.0, "Neg"))
        self.assertEqual(changed["verdict"], "different")
        self.assertRegex(changed["reason"], r"^output y, random input 1: \d+ of \d+ elements changed, element 0 from 0.0 to -0.0$")
        self.assertEqual(answer(product(drawn(32, 32)), product(drawn(32, 32) * np.float32(1 + 1e-7)))["verdict"], "different")
        noise = lambda last: model([helper.make_node("RandomNormalLike", ["x"], ["a"]), helper.make_node(last, ["a"], ["y"])], {}, [2, 8])
        self.assertEqual(answer(noise("Neg"), noise("Abs")), {"verdict": "not verified", "reason": "the model's outputs change from run to run"})

    def test_an_error_above_the_allowed_multiple_is_rejected_even_within_the_tolerance(self):
        weight = drawn(32, 32)
        answer = self.verified(product(weight), product(weight * np.float32(1 + 2e-5)))
        self.assertEqual(answer["verdict"], "different")
        self.assertRegex(answer["reason"], r"error [12][.\d]*e-05 of the largest value, where the original's own is [\d.]+e-0[78]")

    def test_an_error_within_the_allowed_multiple_is_accepted_even_beyond_the_tolerance(self):
        answer = self.verified(shifted(3001, 1), shifted(3001, 0.75))
        self.assertEqual(answer["verdict"], "equal")
        self.assertGreater(answer["max_relative_difference"], 1e-4)
        self.assertGreater(answer["error_before"], 5e-5)
        self.assertLessEqual(answer["error_after"], 4 * answer["error_before"] + 4 * 2.0 ** -24)

    def test_nothing_is_compared_where_the_model_is_undefined_if_a_rule_that_widens_was_applied(self):
        chain = lambda *ops, shape: model([helper.make_node(op, [name or "x"], [after]) for op, name, after in ops], {}, shape)
        for shape in ([16, 16], ["n", 8]):
            before = chain(("Log", "", "a"), ("Exp", "a", "y"), shape=shape)
            defined = chain(("Identity", "", "y"), shape=shape)
            self.assertIn("NaN or infinity at other places", self.verified(before, defined)["reason"])
            self.assertEqual(self.verified(before, defined, only_where_defined=True)["verdict"], "equal")
            # Not where only the result is undefined, nor where the model is defined.
            self.assertIn("NaN", self.verified(defined, before, only_where_defined=True)["reason"])
            other = chain(("Abs", "", "a"), ("Sqrt", "a", "y"), shape=shape)
            self.assertEqual(self.verified(before, other, only_where_defined=True)["verdict"], "different")

    def test_convolutions_are_lowered_to_products_of_doubles(self):
        cases = [convolution(drawn(8, 3, 3, 3)), convolution(drawn(8, 3, 5, 3), drawn(8), pads=[1, 2, 0, 1], strides=[2, 3]),
                 convolution(drawn(6, 2, 3), group=3, dilations=[2]), convolution(drawn(8, 1, 3, 3), drawn(8), group=8, pads=[1, 1, 1, 1]),
                 convolution(drawn(4, 2, 1, 1), strides=[2, 2]), convolution(drawn(2, 2, 2, 3, 1), pads=[0, 1, 0, 1, 1, 0])]
        for case in cases:
            answer = self.verified(case, case)
            self.assertEqual([answer["verdict"], answer["no_reference_reason"]], ["equal", ""])
            self.assertEqual(answer["reference"], f"a float64 copy in onnxruntime {onnxruntime.__version__}")
            self.assertLess(answer["error_before"], 2e-6)
            self.assertGreater(answer["error_before"], 0)

    def test_the_size_of_a_model_includes_all_its_files_of_weights(self):
        path = self.folder / "model.onnx"
        graph = product(drawn(32, 32))
        onnx.save(graph, path, save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=0)
        files = [each for each in self.folder.iterdir() if each != path]
        self.assertTrue(files and all(each.suffix != ".data" for each in files))
        program = ("import sys; sys.path.insert(0, sys.argv[1]); import models, float64_copy; size = models.bytes_on_disk(sys.argv[2])\n"
                   "float64_copy.MAX_BYTES = size - 1\ntry: float64_copy.Copy(sys.argv[2])\nexcept models.CannotRun as error: print(size, error, file=sys.stderr)")
        process = subprocess.run([sys.executable, "-c", program, ROOT / "python/onnxruntime_helpers", path], capture_output=True, text=True)
        size = sum(each.stat().st_size for each in self.folder.iterdir())
        self.assertEqual(process.stderr.strip(), f"{size} the model is too large for a copy in float64")

    def test_other_operators_without_kernels_for_doubles_are_lowered_or_named(self):
        for opset in (17, 20):
            answer = self.verified(chain(opset), chain(opset))
            self.assertTrue(answer["reference"].endswith(", AveragePool, Resize in float32"), answer)
            self.assertLess(answer["error_before"], 2e-6)

    def test_a_model_of_doubles_is_compared_with_its_original(self):
        weight = drawn(32, 32).astype(np.float64) / 3
        double = lambda values: product(values, data_type=TensorProto.DOUBLE)
        self.assertEqual(self.verified(double(weight), double(weight * (1 + 1e-15)))["verdict"], "equal")
        answer = self.verified(double(weight), double(weight.astype(np.float32).astype(np.float64)))
        self.assertEqual(answer["verdict"], "different")

    def test_where_rounding_decides_what_leads_to_a_choice_and_what_follows_is_compared(self):
        close, table = np.repeat(drawn(32, 1), 40, axis=1), np.abs(drawn(40, 16, seed=1)) + 1
        close += drawn(32, 40, seed=2) * np.float32(2e-7)
        rounded = close * np.float32(1 + 1e-7)
        answer = self.verified(chosen(close, table), chosen(rounded, table))
        self.assertEqual([answer["verdict"], answer.get("choices")], ["equal", ["TopK"]], answer)
        self.assertEqual(self.verified(chosen(close, table), chosen(close, table))["choices"], [])
        other_scores = self.verified(chosen(close, table), chosen(close * np.float32(1.001), table))
        self.assertEqual(other_scores["verdict"], "different")
        self.assertRegex(other_scores["reason"], "^output input of choice 0: error")
        other_rows = self.verified(chosen(close, table), chosen(rounded, table * np.float32(1.001)))
        self.assertEqual(other_rows["verdict"], "different")
        self.assertRegex(other_rows["reason"], "^output y: error")
        self.assertEqual(self.verified(chosen(close, table, 4), chosen(rounded, table, 3))["verdict"], "different")
        computed = chosen(rounded, table, 2)
        computed.graph.node.insert(0, helper.make_node("Mul", ["count", "count"], ["square"]))
        computed.graph.node[2].input[1] = "square"
        self.assertEqual(self.verified(chosen(close, table, 4), computed)["verdict"], "equal")
        self.assertEqual(self.verified(chosen(close, table, 5), computed)["verdict"], "different")

    def test_a_choice_may_be_an_output(self):
        close = np.repeat(drawn(32, 1), 40, axis=1) + drawn(32, 40, seed=2) * np.float32(2e-7)
        places = [chosen(scores, drawn(40, 16), last="places") for scores in (close, close * np.float32(1 + 1e-7), close * np.float32(1.001))]
        for each in places:
            each.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
        self.assertEqual(self.verified(places[0], places[1])["verdict"], "equal")
        self.assertRegex(self.verified(places[0], places[2])["reason"], "^output input of choice 0: error")

    def test_without_a_float64_copy_the_tolerance_decides_and_the_reason_is_reported(self):
        weight = drawn(32, 32)
        answer = self.verified(product(weight, opset=12), product(weight * np.float32(1 + 2e-5), opset=12))
        self.assertEqual([answer["verdict"], answer["reference"], answer["no_reference_reason"]], ["equal", "", "opset 12 is below 13"])

    def test_a_model_may_import_operators_that_it_does_not_use(self):
        """As exporters from TensorFlow do."""
        before = product(drawn(32, 32))
        before.opset_import.append(helper.make_opsetid("ai.onnx.ml", 2))
        self.assertEqual(self.verified(before, before)["no_reference_reason"], "")

    def test_a_reference_that_the_model_itself_is_far_from_is_not_reported_as_one(self):
        answer = self.verified(shifted(1e7, 1), shifted(1e7, 1))
        self.assertEqual([answer["verdict"], answer["reference"], answer["error_before"]], ["equal", "", 0])
        self.assertRegex(answer["no_reference_reason"], r"^the model's own error is 0\.\d+ of the largest value; where the runtime's ")
        mixed = self.verified(shifted(1e7, 1), shifted(1e7, 1), inputs=6)  # the last one has larger numbers
        self.assertRegex(mixed["reference"], r"^a float64 copy in onnxruntime .*; on other inputs the model's own error is up to 0\.\d+$")
        self.assertGreater(mixed["error_before"], 1e-3)


if __name__ == "__main__":
    unittest.main()
