#!/usr/bin/env python3
"""Opaque constructs survive an optimization unchanged: strings, sequences, optional values, sparse tensors, quantized operators,
other domains; calls of model functions become their bodies."""

import unittest

import numpy as np
import onnx
from binary import Case, rulemill
from onnx import TensorProto, helper, numpy_helper

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

RULES = "rule associate(x:2, a:2, b:2)\n  matmul(matmul(x, a), b) => matmul(x, matmul(a, b))\n"
WIDTH = 16


def tensor(name, shape=(4, WIDTH), kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name, *shape):
    values = np.random.default_rng(len(name)).standard_normal(shape).astype(np.float32)
    return numpy_helper.from_array(values, name)


def strings():
    """A label for each row, by the sign of its sum."""
    nodes = [helper.make_node("ReduceSum", ["p", "one"], ["sums"], keepdims=0), helper.make_node("Less", ["sums", "zero"], ["low"]),
             helper.make_node("Where", ["low", "no", "yes"], ["labels"])]
    words = [helper.make_tensor(word, TensorProto.STRING, [], [word.encode()]) for word in ("no", "yes")]
    numbers = [numpy_helper.from_array(np.array([1], np.int64), "one"), numpy_helper.from_array(np.array(0, np.float32), "zero")]
    return nodes, words + numbers, [tensor("labels", [4], TensorProto.STRING)], {}


def sequences():
    nodes = [helper.make_node("SplitToSequence", ["p"], ["rows"], axis=0), helper.make_node("SequenceAt", ["rows", "two"], ["row"]),
             helper.make_node("SequenceLength", ["rows"], ["count"])]
    return nodes, [numpy_helper.from_array(np.array(2, np.int64), "two")], [tensor("row", None), tensor("count", [], TensorProto.INT64)], {}


def optional():
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [4, WIDTH]))
    nodes = [helper.make_node("Optional", ["p"], ["maybe"], type=helper.make_tensor_type_proto(TensorProto.FLOAT, [4, WIDTH])),
             helper.make_node("OptionalGetElement", ["maybe"], ["there"])]
    return nodes, [], [tensor("there")], {"value_info": [helper.make_value_info("maybe", kind)]}


def sparse():
    values = numpy_helper.from_array(np.array([1.5, -2], np.float32), "thin")
    places = numpy_helper.from_array(np.array([3, WIDTH + 1], np.int64), "places")
    made = helper.make_sparse_tensor(values, places, [4, WIDTH])
    return [helper.make_node("Add", ["p", "thin"], ["s"])], [], [tensor("s")], {"sparse_initializer": [made]}


def quantized():
    numbers = [numpy_helper.from_array(np.array(0.05, np.float32), "scale"), numpy_helper.from_array(np.array(3, np.int8), "zero"),
               numpy_helper.from_array(np.arange(-8, 8, dtype=np.int8).reshape(WIDTH, 1), "q")]
    nodes = [helper.make_node("QuantizeLinear", ["p", "scale", "zero"], ["small"]),
             helper.make_node("QLinearMatMul", ["small", "scale", "zero", "q", "scale", "zero", "scale", "zero"], ["product"]),
             helper.make_node("DequantizeLinear", ["product", "scale", "zero"], ["back"])]
    return nodes, numbers, [tensor("back", [4, 1])], {}


def function():
    body = [helper.make_node("Mul", ["a", "a"], ["squared"]), helper.make_node("Add", ["squared", "a"], ["b"])]
    made = helper.make_function("example.local", "Bend", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    return [helper.make_node("Bend", ["p"], ["bent"], domain="example.local")], [], [tensor("bent")], {"functions": [made], "kept": body}


def foreign():
    """onnxruntime's own domain."""
    return [helper.make_node("Gelu", ["p"], ["g"], domain="com.microsoft")], [], [tensor("g")], {}


KINDS = {each.__name__: each for each in (strings, sequences, optional, sparse, quantized, function, foreign)}


def model(kind):
    nodes, initializers, outputs, more = KINDS[kind]()
    products = [helper.make_node("MatMul", ["x", "a"], ["inner"]), helper.make_node("MatMul", ["inner", "b"], ["p"])]
    graph = helper.make_graph(products + nodes, kind, [tensor("x")], outputs,
                              [weight("a", WIDTH, 8), weight("b", 8, WIDTH), *initializers], value_info=more.get("value_info"),
                              sparse_initializer=more.get("sparse_initializer"))
    domains = [helper.make_opsetid(name, version) for name, version in (("", 17), ("example.local", 1), ("com.microsoft", 1))]
    return helper.make_model(graph, opset_imports=domains, functions=more.get("functions"), ir_version=8), more.get("kept", nodes)


class Survival(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "rules.txt").write_text(RULES, encoding="utf-8")
        self.assert_works(rulemill("rules", "import", self.folder / "rules.txt", "--out", self.folder / "rules", "--progress", "off"))

    def test_constructs_around_a_rewrite_are_unchanged_and_compute_the_same(self):
        for kind in KINDS:
            with self.subTest(kind):
                before, kept = model(kind)
                onnx.save(before, self.folder / "in.onnx")
                report = self.json("optimize", self.folder / "in.onnx", "--rules", self.folder / "rules", "--out",
                                   self.folder / "out.onnx", "--no-benchmark", "--min-gain", "0")
                self.assertTrue(report["changed"], report["warning"])
                after = onnx.load(self.folder / "out.onnx")
                self.assertEqual([node.op_type for node in after.graph.node], ["MatMul", *(node.op_type for node in kept)])
                for old, new in zip(kept, list(after.graph.node)[-len(kept):]):
                    self.assertEqual((old.domain, list(old.attribute)), (new.domain, list(new.attribute)))
                weights = {tensor.name: tensor.SerializeToString() for tensor in after.graph.initializer}
                for old in before.graph.initializer:
                    if old.name not in ("a", "b"):
                        self.assertEqual(old.SerializeToString(), weights[old.name])
                for part in ("sparse_initializer", "output", "input"):
                    self.assertEqual(list(getattr(before.graph, part)), list(getattr(after.graph, part)))
                self.assertEqual(list(after.functions), [], "calls are their bodies")
                self.assert_equal_in_onnxruntime()

    def assert_equal_in_onnxruntime(self):
        if onnxruntime is None:
            return
        sessions = [onnxruntime.InferenceSession(str(self.folder / f"{which}.onnx"), providers=["CPUExecutionProvider"])
                    for which in ("in", "out")]
        x = np.random.default_rng(0).standard_normal((4, WIDTH)).astype(np.float32)
        for before, after in zip(*(each.run(None, {"x": x}) for each in sessions)):
            if before.dtype.kind == "f":
                np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-4)
            else:
                np.testing.assert_array_equal(after, before)


if __name__ == "__main__":
    unittest.main()
