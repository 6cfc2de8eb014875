#!/usr/bin/env python3
"""Nodes of onnxruntime that stand for several compute in onnxruntime what their parts compute, and `equal` shows it."""

import itertools
import json
import math
import sys
import unittest

from binary import ROOT, FusionRulesCase, rulemill

sys.path.insert(0, str(ROOT / "python"))
try:
    import numpy
    import onnx
    from onnx import TensorProto, helper
    import onnxruntime
except ImportError:
    onnxruntime = None

MICROSOFT = "com.microsoft"
# By activation: the numbers of it, and its node with these.
ACTIVATIONS = {
    "Relu": ([], {}), "Sigmoid": ([], {}), "Tanh": ([], {}), "LeakyRelu": ([0.2], {"alpha": 0.2}),
    "HardSigmoid": ([0.3, 0.4], {"alpha": 0.3, "beta": 0.4}), "Clip": ([-0.5, 0.75], {}),
}
CONVOLUTIONS = {
    "a padded one": {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [1, 1], "dilations": [1, 1], "group": 1, "auto_pad": "NOTSET"},
    "one with steps and groups": {"kernel_shape": [3, 3], "pads": [0, 1, 2, 1], "strides": [2, 1], "group": 2},
    "an unpadded one": {"strides": [2, 2]},
}


INPUTS = ("x", "a", "rows", "q", "k", "v", "earlier_k", "earlier_v")


def activation(name, numbers, source, result):
    """The node of an activation; a Clip reads its numbers from initializers."""
    inputs = [source, "low", "high"] if name == "Clip" else [source]
    return helper.make_node(name, inputs, [result], **ACTIVATIONS[name][1])


def read_by(parts):
    """The inputs that nodes read and none of them computes."""
    made = {name for node in parts for name in node.output}
    return [name for node in parts for name in node.input if name and name not in made]


@unittest.skipUnless(onnxruntime, "SKIPPED: onnxruntime is not installed (scripts/install-debian.sh)")
class FusedNodes(FusionRulesCase):
    def setUp(self):
        super().setUp()
        random = numpy.random.default_rng(3)
        shapes = {"x": [2, 4, 7, 6], "w": [6, 4, 3, 3], "v": [6, 2, 3, 3], "b": [6], "a": [5, 4], "m": [4, 3], "n": [3, 4], "c": [3],
                  "rows": [2, 5, 8], "packed": [8, 24], "side": [24]}
        self.values = {name: random.uniform(-1, 1, shape).astype(numpy.float32) for name, shape in shapes.items()}
        low, high = ACTIVATIONS["Clip"][0]
        self.values |= {"low": numpy.float32(low), "high": numpy.float32(high), "thirds": numpy.array([8, 8, 8])}

    def write(self, name, nodes, opset=17):
        known = [each for each in dict.fromkeys(read_by(nodes)) if each in self.values]
        inputs = [helper.make_tensor_value_info(each, TensorProto.FLOAT, self.values[each].shape)
                  for each in known if each in INPUTS]
        stored = [onnx.numpy_helper.from_array(numpy.asarray(self.values[each]), each) for each in known if each not in INPUTS]
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph(nodes, "g", inputs, [output], stored)
        domains = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
        path = self.folder / f"{name}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=domains, ir_version=8 if opset < 23 else 11), path)
        return path

    def compute(self, path):
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return session.run(None, {each.name: self.values[each.name] for each in session.get_inputs()})[0]

    def verdict(self, before, after):
        report = self.folder / "report.json"
        result = rulemill("equal", before, after, "--rules", self.rules, "--json", report)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return json.loads(report.read_text(encoding="utf-8"))["verdict"]

    def assert_stands_for(self, fused, parts, opset=17):
        """One and the same in onnxruntime, and by the definitions."""
        one, several = self.write("one", [fused], opset), self.write("several", parts, opset)
        numpy.testing.assert_allclose(self.compute(one), self.compute(several), rtol=1e-5, atol=1e-5)
        self.assertEqual(self.verdict(several, one), "equal")

    def test_a_fused_convolution_is_a_convolution_and_its_activation(self):
        for (name, (numbers, _)), (which, given) in itertools.product(ACTIVATIONS.items(), CONVOLUTIONS.items()):
            for bias in ([], ["b"]):
                with self.subTest(name, which=which, bias=bias):
                    inputs = ["x", "v" if given.get("group", 1) == 2 else "w", *bias]
                    more = {"activation_params": numbers} if numbers else {}
                    fused = helper.make_node("FusedConv", inputs, ["y"], domain=MICROSOFT, activation=name, **given, **more)
                    self.assert_stands_for(fused, [helper.make_node("Conv", inputs, ["t"], **given), activation(name, numbers, "t", "y")])

    def test_a_fused_convolution_adds_its_fourth_input_before_its_activation(self):
        given = CONVOLUTIONS["a padded one"]
        for bias in ("", "b"):
            with self.subTest(bias=bias):
                fused = helper.make_node("FusedConv", ["x", "w", bias, "r"], ["y"], domain=MICROSOFT, activation="Relu", **given)
                residual = helper.make_node("Conv", ["x", "w"], ["r"], **given)
                inputs = ["x", "w"] + ([bias] if bias else [])
                parts = [residual, helper.make_node("Conv", inputs, ["t"], **given), helper.make_node("Add", ["t", "r"], ["s"]),
                         helper.make_node("Relu", ["s"], ["y"])]
                one, several = self.write("one", [residual, fused]), self.write("several", parts)
                numpy.testing.assert_allclose(self.compute(one), self.compute(several), rtol=1e-5, atol=1e-5)
                self.assertEqual(self.verdict(several, one), "equal")

    def test_a_clip_of_a_fused_convolution_that_is_an_operator_of_its_own_is_that_operator(self):
        self.values |= {"low": numpy.float32(0), "high": numpy.float32(6)}
        fused = helper.make_node("FusedConv", ["x", "w"], ["y"], domain=MICROSOFT, activation="Clip", activation_params=[0.0, 6.0])
        self.assert_stands_for(fused, [helper.make_node("Conv", ["x", "w"], ["t"]), activation("Clip", [], "t", "y")])

    def test_the_factor_of_a_fused_product_is_that_of_its_operands(self):
        """Both operands of an attention's first product have a factor, of one dimension, and the second is transposed."""
        third, power = numpy.float32([0.35355338]), float(numpy.float32(0.35355338) ** 2)
        self.values |= {"third": third, "other": self.values["rows"][:, :3] + 1}
        parts = [helper.make_node("Mul", ["rows", "third"], ["u"]), helper.make_node("Transpose", ["other"], ["t"], perm=[0, 2, 1]),
                 helper.make_node("Mul", ["t", "third"], ["v"]), helper.make_node("MatMul", ["u", "v"], ["y"])]
        fused = helper.make_node("FusedMatMul", ["rows", "other"], ["y"], domain=MICROSOFT, alpha=power, transB=1)
        self.assert_stands_for(fused, parts)
        twice = helper.make_node("FusedMatMul", ["rows", "other"], ["y"], domain=MICROSOFT, alpha=2 * power, transB=1)
        self.assertEqual(self.verdict(self.write("several", parts), self.write("one", [twice])), "different")

    def test_a_fused_product_is_a_product_and_its_activation(self):
        for name in ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid"):
            numbers, attributes = ACTIVATIONS[name]
            for given in ({}, {"transB": 1}, {"alpha": 0.5, "beta": 2.0}):
                with self.subTest(name, given=given):
                    inputs = ["a", "n" if "transB" in given else "m", "c"]
                    more = {f"activation_{key}": value for key, value in attributes.items()}
                    fused = helper.make_node("FusedGemm", inputs, ["y"], domain=MICROSOFT, activation=name, **given, **more)
                    self.assert_stands_for(fused, [helper.make_node("Gemm", inputs, ["t"], **given), activation(name, numbers, "t", "y")])

    def attention(self, scale):
        """Attention written out, by two heads of four columns each."""
        def heads(value, order):
            return [helper.make_node("Reshape", [value, "by_head"], [value + "_4"]),
                    helper.make_node("Transpose", [value + "_4"], [value + "_h"], perm=order)]
        self.values |= {"by_head": numpy.array([2, 5, 2, 4]), "flat": numpy.array([2, 5, 8]), "scale": numpy.float32(scale)}
        return [helper.make_node("MatMul", ["rows", "packed"], ["p"]), helper.make_node("Add", ["p", "side"], ["pb"]),
                helper.make_node("Split", ["pb", "thirds"], ["q", "k", "v"], axis=2),
                *heads("q", [0, 2, 1, 3]), *heads("k", [0, 2, 3, 1]), *heads("v", [0, 2, 1, 3]),
                helper.make_node("MatMul", ["q_h", "k_h"], ["s"]), helper.make_node("Mul", ["s", "scale"], ["u"]),
                helper.make_node("Softmax", ["u"], ["o"], axis=-1), helper.make_node("MatMul", ["o", "v_h"], ["r"]),
                helper.make_node("Transpose", ["r"], ["rt"], perm=[0, 2, 1, 3]), helper.make_node("Reshape", ["rt", "flat"], ["y"])]

    def test_packed_attention_is_a_projection_and_attention_by_several_heads(self):
        for scale in (None, 0.3):
            with self.subTest(scale=scale):
                given = {} if scale is None else {"scale": scale}
                one = self.write("one", [helper.make_node("Attention", ["rows", "packed", "side"], ["y"], domain=MICROSOFT, num_heads=2, **given)])
                number = {"scale": scale or 1 / math.sqrt(4)}
                split = [helper.make_node("MatMul", ["rows", "packed"], ["p"]), helper.make_node("Add", ["p", "side"], ["pb"]),
                         helper.make_node("Split", ["pb", "thirds"], ["q", "k", "v"], axis=2),
                         helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["y"], domain=MICROSOFT, num_heads=2, **number)]
                several, written_out = self.write("several", split), self.write("out", self.attention(number["scale"]))
                numpy.testing.assert_allclose(self.compute(one), self.compute(written_out), rtol=1e-5, atol=1e-5)
                self.assertEqual(self.verdict(several, one), "equal")
                self.assertNotEqual(self.verdict(written_out, one), "different")

    def scores(self, query, key, value, summand=None, result="y"):
        """Attention by heads in a dimension of their own, written out."""
        self.values["half"] = numpy.float32(0.5)
        nodes = [helper.make_node("Transpose", [key], ["kt"], perm=[0, 1, 3, 2]), helper.make_node("MatMul", [query, "kt"], ["s"]),
                 helper.make_node("Mul", ["s", "half"], ["u"])]
        if summand:
            nodes.append(helper.make_node("Add", ["u", summand], ["m"]))
        return nodes + [helper.make_node("Softmax", [nodes[-1].output[0]], ["o"], axis=-1), helper.make_node("MatMul", ["o", value], [result])]

    def test_attention_with_a_summand_of_its_scores_is_its_nodes(self):
        random = numpy.random.default_rng(5)
        for shape in ([5, 6], [2, 3, 5, 6]):
            with self.subTest(shape):
                self.values |= {name: random.uniform(-1, 1, [2, 3, rows, 4]).astype(numpy.float32) for name, rows in (("q", 5), ("k", 6), ("v", 6))}
                self.values["mask"] = random.uniform(-2, 2, shape).astype(numpy.float32)
                self.assert_stands_for(helper.make_node("Attention", ["q", "k", "v", "mask"], ["y"]), self.scores("q", "k", "v", "mask"), 23)

    def test_attention_that_hides_keys_is_not_taken_for_one_that_does_not(self):
        random = numpy.random.default_rng(8)
        self.values |= {name: random.uniform(-1, 1, [2, 3, 5, 4]).astype(numpy.float32) for name in "qkv"}
        self.values |= {"seen": random.uniform(0, 1, [5, 5]) < 0.7, "lengths": numpy.array([3, 5])}
        plain = self.write("several", self.scores("q", "k", "v"), 23)
        hidden = {"causal": (["q", "k", "v"], {"is_causal": 1}, 23), "masked": (["q", "k", "v", "seen"], {}, 23),
                  "of given lengths": (["q", "k", "v", "", "", "", "lengths"], {}, 24)}
        for name, (inputs, attributes, opset) in hidden.items():
            with self.subTest(name):
                one = self.write("one", [helper.make_node("Attention", inputs, ["y"], **attributes)], opset)
                self.assertNotEqual(self.verdict(plain, one), "equal")

    def test_attention_with_earlier_keys_and_values_is_its_nodes(self):
        random = numpy.random.default_rng(6)
        shapes = {"q": 1, "k": 1, "v": 1, "earlier_k": 7, "earlier_v": 7}
        self.values |= {name: random.uniform(-1, 1, [2, 3, rows, 4]).astype(numpy.float32) for name, rows in shapes.items()}
        joined = [helper.make_node("Concat", [f"earlier_{name}", name], [f"all_{name}"], axis=2) for name in "kv"]
        fused = helper.make_node("Attention", ["q", "k", "v", "", "earlier_k", "earlier_v"], ["y", "now_k", "now_v"], scale=0.5)
        self.assert_stands_for(fused, [*joined, *self.scores("q", "all_k", "all_v")], 23)

    def test_attention_of_onnxruntime_with_a_summand_is_its_nodes(self):
        """Heads are columns, side by side."""
        random = numpy.random.default_rng(7)
        self.values |= {name: random.uniform(-1, 1, [2, 5, 12]).astype(numpy.float32) for name in "qkv"}
        self.values |= {"bias": random.uniform(-2, 2, [1, 3, 5, 5]).astype(numpy.float32), "by_head": numpy.array([2, 5, 3, 4]),
                        "flat": numpy.array([2, 5, 12])}
        heads = [node for name in "qkv" for node in (helper.make_node("Reshape", [name, "by_head"], [name + "_4"]),
                                                     helper.make_node("Transpose", [name + "_4"], [name + "_h"], perm=[0, 2, 1, 3]))]
        parts = [*heads, *self.scores("q_h", "k_h", "v_h", "bias", "r"), helper.make_node("Transpose", ["r"], ["rt"], perm=[0, 2, 1, 3]),
                 helper.make_node("Reshape", ["rt", "flat"], ["y"])]
        fused = helper.make_node("MultiHeadAttention", ["q", "k", "v", "", "", "bias"], ["y"], domain=MICROSOFT, num_heads=3)
        self.assert_stands_for(fused, parts)
        other = helper.make_node("MultiHeadAttention", ["q", "k", "v", "", "", "bias"], ["y"], domain=MICROSOFT, num_heads=3, scale=0.25)
        self.assertEqual(self.verdict(self.write("several", parts), self.write("one", [other])), "different")

    def test_what_differs_is_called_different(self):
        given = CONVOLUTIONS["a padded one"]
        conv = helper.make_node("Conv", ["x", "w", "b"], ["t"], **given)
        fused = helper.make_node("FusedConv", ["x", "w", "b"], ["y"], domain=MICROSOFT, activation="Relu", **given)
        self.assertEqual(self.verdict(self.write("several", [conv, activation("Sigmoid", [], "t", "y")]), self.write("one", [fused])), "different")
        one = helper.make_node("Attention", ["rows", "packed", "side"], ["y"], domain=MICROSOFT, num_heads=2)
        four = helper.make_node("Attention", ["rows", "packed", "side"], ["y"], domain=MICROSOFT, num_heads=4)
        self.assertEqual(self.verdict(self.write("two", [one]), self.write("four", [four])), "different")


if __name__ == "__main__":
    unittest.main()
