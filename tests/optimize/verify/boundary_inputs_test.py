#!/usr/bin/env python3
"""onnxruntime rejects a result that fails on empty or small tensors, or overflows, where the model does not."""

import pathlib
import sys
import tempfile
import unittest

from binary import ROOT

sys.path.insert(0, str(ROOT / "python" / "onnxruntime_helpers"))
try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
    from verify import safe_verify
except ImportError:
    onnxruntime = None

QUERY = {"inputs": 3, "shapes": {}, "tolerance": 1e-4, "max_error_ratio": 4, "max_original_error": 0.05, "small_tensor_elements": 64}


@unittest.skipIf(onnxruntime is None, "SKIPPED: no onnxruntime")
class BoundaryInputs(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def model(self, name, inputs, nodes, weights=(), data_type=np.float32):
        element = helper.np_dtype_to_tensor_dtype(np.dtype(data_type))
        values = [helper.make_tensor_value_info(each, element, dims) for each, dims in inputs.items()]
        output = [helper.make_tensor_value_info("y", element, None)]
        tensors = [numpy_helper.from_array(np.asarray(array), each) for each, array in dict(weights).items()]
        graph = helper.make_graph([helper.make_node(*node[:3], **(node[3] if len(node) > 3 else {})) for node in nodes], name, values, output, tensors)
        path = self.folder / f"{name}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return str(path)

    def verdict(self, before, after):
        answer = safe_verify({**QUERY, "before": before, "after": after})
        return answer["verdict"], answer["reason"]

    def assert_different(self, before, after, reason):
        verdict, why = self.verdict(before, after)
        self.assertEqual(verdict, "different", why)
        self.assertIn(reason, why)
        self.assertEqual(self.verdict(before, before), ("equal", ""))

    def test_a_convolution_instead_of_a_sum_fails_on_an_empty_sequence(self):
        inputs = {"x": ["N", 1, "S", 8]}
        before = self.model("before", inputs, [("Add", ["x", "x"], ["y"])])
        after = self.model("after", inputs, [("Conv", ["x", "k"], ["y"])], {"k": np.full((1, 1, 1, 1), 2, np.float32)})
        self.assert_different(before, after, "does not run the result for x[0, 1, 0, 8]")

    def test_a_convolution_behind_a_pool_fails_where_the_pool_computes_nothing(self):
        inputs, pool = {"x": ["N", 4, "H", "W"]}, {"kernel_shape": [2, 2]}
        weights = {"ones": np.ones(4, np.float32), "zeros": np.zeros(4, np.float32), "k": np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1)}
        before = self.model("before", inputs, [("BatchNormalization", ["x", "ones", "zeros", "zeros", "ones"], ["a"], {"epsilon": 0.0}),
                                               ("AveragePool", ["a"], ["y"], pool)], weights)
        after = self.model("after", inputs, [("AveragePool", ["x"], ["a"], pool), ("Conv", ["a", "k"], ["y"])], weights)
        self.assert_different(before, after, "does not run the result")

    def test_a_scaling_behind_a_product_overflows_in_float16(self):
        inputs, weights = {"q": ["B", 8, 64], "k": ["B", 64, 8]}, {"s": np.float16(0.125)}
        before = self.model("before", inputs, [("Mul", ["q", "s"], ["a"]), ("MatMul", ["a", "k"], ["y"])], weights, np.float16)
        after = self.model("after", inputs, [("MatMul", ["q", "k"], ["a"]), ("Mul", ["a", "s"], ["y"])], weights, np.float16)
        self.assert_different(before, after, "overflows for inputs up to")

    def test_a_sum_before_its_division_overflows_in_float16(self):
        inputs, weights = {"x": ["N", 64]}, {"s": np.float16(64), "axes": np.array([1])}
        before = self.model("before", inputs, [("Div", ["x", "s"], ["a"]), ("ReduceSum", ["a", "axes"], ["y"])], weights, np.float16)
        after = self.model("after", inputs, [("ReduceSum", ["x", "axes"], ["a"]), ("Div", ["a", "s"], ["y"])], weights, np.float16)
        self.assert_different(before, after, "overflows for inputs up to")

    def test_an_empty_batch_of_a_recurrent_layer_does_not_end_the_process(self):
        random = np.random.default_rng(0)
        weights = {"w": random.random((1, 8, 3), np.float32), "r": random.random((1, 8, 2), np.float32)}
        model = self.model("lstm", {"x": [5, "N", 3]}, [("LSTM", ["x", "w", "r"], ["y"], {"hidden_size": 2})], weights)
        self.assertEqual(self.verdict(model, model), ("equal", ""))

    def test_sizes_that_must_be_equal_are_not_empty_alone(self):
        """The columns of an empty tensor have no values beside others."""
        inputs = {"x": ["N", 64], "z": ["M", 64]}
        before = self.model("before", inputs, [("Neg", ["x"], ["a"]), ("Concat", ["a", "z"], ["y"], {"axis": 1})])
        after = self.model("after", inputs, [("Concat", ["x", "z"], ["c"], {"axis": 1}), ("Mul", ["c", "s"], ["y"])],
                           {"s": np.concatenate([-np.ones(64, np.float32), np.ones(64, np.float32)])})
        self.assertEqual(self.verdict(before, after), ("equal", ""))

    def test_a_result_that_differs_at_size_one_only_is_different(self):
        weights = {"one": np.float32(1)}
        nodes = [("Shape", ["x"], ["d"], {"end": 1}), ("Cast", ["d"], ["n"], {"to": TensorProto.FLOAT}), ("Sub", ["n", "one"], ["m"]),
                 ("Min", ["m", "one"], ["f"]), ("Mul", ["x", "f"], ["y"])]
        before = self.model("before", {"x": ["N", 100]}, [("Mul", ["x", "one"], ["y"])], weights)
        self.assert_different(before, self.model("after", {"x": ["N", 100]}, nodes, weights), "for x[1, 100]")


if __name__ == "__main__":
    unittest.main()
