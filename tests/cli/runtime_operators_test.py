#!/usr/bin/env python3
"""`equal` shows that operators of onnxruntime compute what the ONNX operators compute that they stand for."""

import json
import sys
import unittest

from binary import ROOT, FusionRulesCase, rulemill

sys.path.insert(0, str(ROOT / "python"))
try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    onnx = None
try:
    import onnxruntime
except ImportError:
    onnxruntime = None

BATCH, ROWS, WIDTH, OUT = 2, 3, 4, 5
SHAPES = {"x": [BATCH, ROWS, WIDTH], "skip": [BATCH, ROWS, WIDTH], "key": [BATCH, ROWS, WIDTH]}


def weights():
    random = numpy.random.default_rng(5)
    shapes = {"w": [WIDTH, OUT], "g": [WIDTH], "b": [WIDTH], "r": [WIDTH]}
    values = {name: random.uniform(-1, 1, shape) for name, shape in shapes.items()}
    values |= {"quarter": 0.25, "quick": 1.702, "root": 2**0.5, "inverse": 0.5**0.5, "one": 1.0, "half": 0.5, "two": 2.0, "eps": 1e-5}
    stored = [numpy_helper.from_array(numpy.array(value, dtype=numpy.float32), name) for name, value in values.items()]
    return [*stored, numpy_helper.from_array(numpy.array([-1]), "last")]


def node(text, **attributes):
    """A node from "y, z = Op(a, b)". `ms.Op` is an operator of com.microsoft."""
    left, right = (part.strip() for part in text.split("="))
    operator, inputs = right.rstrip(")").split("(")
    domain = "com.microsoft" if operator.startswith("ms.") else ""
    return helper.make_node(operator.removeprefix("ms."), [name.strip() for name in inputs.split(",")],
                            [name.strip() for name in left.split(",")], domain=domain, **attributes)


NORM = node("y = LayerNormalization(s, g, b)", axis=-1, epsilon=1e-5)
# Normalizations of s written out, without weights.
CENTERED = [node("m = ReduceMean(s, last)"), node("c = Sub(s, m)"), node("p = Pow(c, two)"), node("v = ReduceMean(p, last)"),
            node("a = Add(v, eps)"), node("t = Sqrt(a)"), node("d = Div(c, t)")]
BY_ROOT = [node("p = Pow(s, two)"), node("v = ReduceMean(p, last)"), node("a = Add(v, eps)"), node("t = Sqrt(a)"), node("d = Div(s, t)")]
BY_INVERSE = [node("p = Mul(s, s)"), *BY_ROOT[1:4], node("i = Div(one, t)"), node("d = Mul(s, i)")]
SUM, WEIGHTED, BIASED = node("s = Add(x, skip)"), node("y = Mul(g, d)"), [node("k = Mul(d, g)"), node("y = Add(k, b)")]
# By name: nodes of ONNX, nodes with operators of onnxruntime.
EQUAL = {
    "Gelu": ([node("y = Gelu(x)")], [node("y = ms.Gelu(x)")]),
    "BiasGelu": ([node("s = Add(x, r)"), node("y = Gelu(s)")], [node("y = ms.BiasGelu(x, r)")]),
    "Gelu written out": ([node("d = Div(x, root)"), node("e = Erf(d)"), node("s = Add(e, one)"), node("t = Mul(x, s)"), node("y = Mul(t, half)")],
                         [node("y = ms.Gelu(x)")]),
    "Gelu with a factor": ([node("d = Mul(x, inverse)"), node("e = Erf(d)"), node("s = Add(e, one)"), node("h = Mul(x, half)"), node("y = Mul(h, s)")],
                           [node("y = ms.Gelu(x)")]),
    "the sum of SkipLayerNormalization": ([node("y = Add(x, skip)")], [node("n, m, v, y = ms.SkipLayerNormalization(x, skip, g, b)")]),
    "FastGelu": ([node("y = Gelu(x)", approximate="tanh")], [node("y = ms.FastGelu(x)")]),
    "FastGelu of a bias": ([node("s = Add(x, r)"), node("y = Gelu(s)", approximate="tanh")], [node("y = ms.FastGelu(x, r)")]),
    "QuickGelu": ([node("t = Mul(x, quick)"), node("s = Sigmoid(t)"), node("y = Mul(x, s)")],
                  [node("y = ms.QuickGelu(x)", alpha=1.702)]),
    "FusedMatMul of a matrix": ([node("p = MatMul(x, w)"), node("y = Mul(p, quarter)")], [node("y = ms.FusedMatMul(x, w)", alpha=0.25)]),
    "FusedMatMul of rows": ([node("t = Transpose(key)", perm=[0, 2, 1]), node("p = MatMul(x, t)"), node("y = Mul(p, quarter)")],
                            [node("y = ms.FusedMatMul(x, key)", alpha=0.25, transB=1)]),
    "FusedMatMul of columns": ([node("t = Transpose(x)", perm=[0, 2, 1]), node("y = MatMul(t, key)")],
                               [node("y = ms.FusedMatMul(x, key)", transA=1)]),
    "SkipLayerNormalization": ([node("s = Add(x, skip)"), NORM], [node("y = ms.SkipLayerNormalization(x, skip, g, b)", epsilon=1e-5)]),
    "SkipLayerNormalization of a bias": ([node("t = Add(x, r)"), node("s = Add(t, skip)"), NORM],
                                         [node("y = ms.SkipLayerNormalization(x, skip, g, b, r)", epsilon=1e-5)]),
    "SimplifiedLayerNormalization": ([node("y = RMSNormalization(x, g)", axis=-1, epsilon=1e-5)],
                                     [node("y = SimplifiedLayerNormalization(x, g)", axis=-1, epsilon=1e-5)]),
    "SkipSimplifiedLayerNormalization": (
        [node("s = Add(x, skip)"), node("y = RMSNormalization(s, g)", axis=-1, epsilon=1e-5)],
        [node("y = ms.SkipSimplifiedLayerNormalization(x, skip, g)", epsilon=1e-5)]),
    "LayerNormalization written out": ([SUM, *CENTERED, *BIASED], [SUM, NORM]),
    "SkipLayerNormalization written out": ([SUM, *CENTERED, *BIASED], [node("y = ms.SkipLayerNormalization(x, skip, g, b)", epsilon=1e-5)]),
    "SkipLayerNormalization of a bias written out": (
        [node("o = Add(x, r)"), node("s = Add(o, skip)"), *CENTERED, *BIASED],
        [node("y = ms.SkipLayerNormalization(x, skip, g, b, r)", epsilon=1e-5)]),
    "SimplifiedLayerNormalization written out": (
        [SUM, *BY_ROOT, WEIGHTED], [SUM, node("y = SimplifiedLayerNormalization(s, g)", axis=-1, epsilon=1e-5)]),
    "RMSNormalization by an inverse root": (
        [SUM, *BY_INVERSE, WEIGHTED], [SUM, node("y = RMSNormalization(s, g)", axis=2, epsilon=1e-5)]),
    "a second use of the sum": (
        [SUM, *BY_INVERSE, node("k = Mul(g, d)"), node("y = Add(s, k)")],
        [node("k, , , s = ms.SkipSimplifiedLayerNormalization(x, skip, g)", epsilon=1e-5), node("y = Add(s, k)")]),
    "the inverse root as an output": (
        [SUM, *CENTERED[:6], node("y = Reciprocal(t)")], [SUM, node("n, m, y = LayerNormalization(s, g, b)", axis=-1, epsilon=1e-5)]),
}
DIFFERENT = {
    "Gelu instead of FastGelu": ([node("y = ms.Gelu(x)")], [node("y = ms.FastGelu(x)")]),
    "another factor": ([node("y = ms.QuickGelu(x)", alpha=1.702)], [node("y = ms.QuickGelu(x)", alpha=1.0)]),
    "columns instead of rows": ([node("y = ms.FusedMatMul(x, skip)", transB=1)], [node("y = ms.FusedMatMul(skip, x)", transB=1)]),
    "a forgotten bias": ([node("y = ms.SkipLayerNormalization(x, skip, g, b, r)")],
                         [node("y = ms.SkipLayerNormalization(x, skip, g, b)")]),
    "another epsilon": ([node("y = ms.SkipSimplifiedLayerNormalization(x, skip, g)", epsilon=1e-5)],
                        [node("y = ms.SkipSimplifiedLayerNormalization(x, skip, g)", epsilon=1e-1)]),
    "another epsilon than the one written out": ([SUM, *BY_ROOT, WEIGHTED], [SUM, node("y = RMSNormalization(s, g)", axis=-1, epsilon=1e-3)]),
    "a mean that is not subtracted": ([SUM, *CENTERED, *BIASED], [SUM, *BY_ROOT, *BIASED]),
    "a mean that is not subtracted by the operator": (
        [SUM, *CENTERED, WEIGHTED], [node("y = ms.SkipSimplifiedLayerNormalization(x, skip, g)", epsilon=1e-5)]),
    "a weight in place of a bias": (
        [SUM, *CENTERED, *BIASED], [node("y = ms.SkipLayerNormalization(x, skip, b, g)", epsilon=1e-5)]),
}


def transformer(layers, width=32):
    """Layers of attention and of two products with Gelu, each with a residual sum and a normalization."""
    random = numpy.random.default_rng(0)
    tensors, nodes = {"scale": numpy.float32(0.25)}, []
    for layer in range(layers):
        p, last = f"l{layer}_", "y" if layer + 1 == layers else f"l{layer + 1}_x"
        shapes = {"wq": (width, width), "wk": (width, width), "wv": (width, width), "g": width, "b": width,
                  "w1": (width, 4 * width), "b1": 4 * width, "w2": (4 * width, width), "b2": width, "h": width, "c": width}
        tensors |= {p + name: random.standard_normal(shape).astype(numpy.float32) / 6 for name, shape in shapes.items()}
        for text, attributes in [
                ("q = MatMul(x, wq)", {}), ("k = MatMul(x, wk)", {}), ("v = MatMul(x, wv)", {}),
                ("t = Transpose(k)", {"perm": [0, 2, 1]}), ("s = MatMul(q, t)", {}), ("u = Mul(s, scale)", {}),
                ("a = Softmax(u)", {"axis": -1}), ("o = MatMul(a, v)", {}), ("r = Add(o, x)", {}),
                ("n = LayerNormalization(r, g, b)", {"axis": -1}), ("f = MatMul(n, w1)", {}), ("i = Add(f, b1)", {}),
                ("j = Gelu(i)", {}), ("m = MatMul(j, w2)", {}), ("e = Add(m, b2)", {}), ("z = Add(e, n)", {}),
                ("y = LayerNormalization(z, h, c)", {"axis": -1})]:
            made = node(text, **attributes)
            for names in (made.input, made.output):
                names[:] = [name if name == "scale" else last if name == "y" else p + name for name in names]
            nodes.append(made)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 8, width]) for name in ("l0_x", "y")]
    graph = helper.make_graph(nodes, "transformer", values[:1], values[1:],
                              [numpy_helper.from_array(value, name) for name, value in tensors.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@unittest.skipUnless(onnx, "SKIPPED: onnx is not installed (scripts/install-debian.sh)")
class RuntimeOperators(FusionRulesCase):
    def verdict(self, name, nodes, batch=BATCH):
        paths = []
        for side, part in zip(("before", "after"), nodes):
            used = {each for one in part for each in one.input}
            inputs = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [batch, *shape[1:]]) for each, shape in SHAPES.items()
                      if any(each in one.input for both in nodes for one in both)]
            output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
            graph = helper.make_graph(part, "g", inputs, [output], [each for each in weights() if each.name in used])
            domains = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
            paths.append(self.folder / f"{side}.onnx")
            onnx.save(helper.make_model(graph, opset_imports=domains, ir_version=10), paths[-1])
        report = self.folder / "report.json"
        result = rulemill("equal", *paths, "--rules", self.rules, "--json", report)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return json.loads(report.read_text(encoding="utf-8"))["verdict"]

    def test_they_compute_what_the_operators_of_onnx_compute(self):
        for name, nodes in EQUAL.items():
            with self.subTest(name):
                self.assertEqual(self.verdict(name, nodes), "equal")
                self.assertEqual(self.verdict(name, nodes, "an open batch"), "equal")

    def test_slices_are_the_parts_of_a_split(self):
        def model(nodes, name, axes, middle):
            numbers = {"zero": [0], "middle": [middle], "end": [axes[1]], "axis": [1], "parts": [middle, axes[1] - middle]}
            used = {each for one in nodes for each in one.input}
            graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, axes)],
                                      [helper.make_tensor_value_info(each, TensorProto.FLOAT, None) for each in ("y", "z")],
                                      [numpy_helper.from_array(numpy.array(value), each) for each, value in numbers.items() if each in used])
            path = self.folder / name
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
            return path
        slices = [node("y = Slice(x, zero, middle, axis)"), node("z = Slice(x, middle, end, axis)")]
        split = [node("y, z = Split(x, parts)", axis=1)]
        # In the last one the size is the square of another one, and twice the middle.
        for axes, middle in (([1, 128, 20, 20], 96), (["n", 128, 20, 20], 96), ([1, 64, 8, 64], 32)):
            with self.subTest(axes):
                paths = model(slices, "slices.onnx", axes, middle), model(split, "split.onnx", axes, middle)
                self.assert_works(rulemill("equal", *paths, "--rules", self.rules))

    @unittest.skipUnless(onnxruntime, "SKIPPED: onnxruntime is not installed (scripts/install-debian.sh)")
    def test_a_transformer_is_equal_to_what_the_extended_level_of_onnxruntime_makes_of_it(self):
        before, after = self.folder / "before.onnx", self.folder / "after.onnx"
        onnx.save(transformer(2), before)
        options = onnxruntime.SessionOptions()
        options.optimized_model_filepath = str(after)
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        onnxruntime.InferenceSession(str(before), options, providers=["CPUExecutionProvider"])
        domains = {each.domain for each in onnx.load(after).graph.node}
        self.assertIn("com.microsoft", domains)
        self.assert_works(rulemill("equal", before, after, "--rules", self.rules))
        model = onnx.load(after)
        fused = next(each for each in model.graph.node if each.op_type == "SkipLayerNormalization")
        fused.input[2], fused.input[3] = fused.input[3], fused.input[2]
        onnx.save(model, after)
        self.assert_fails(rulemill("equal", before, after, "--rules", self.rules), 1, "computes something else")

    def test_their_attributes_and_inputs_matter(self):
        for name, nodes in DIFFERENT.items():
            with self.subTest(name):
                self.assertEqual(self.verdict(name, nodes), "different")


if __name__ == "__main__":
    unittest.main()
