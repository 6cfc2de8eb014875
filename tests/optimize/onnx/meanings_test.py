#!/usr/bin/env python3
"""ONNX's operators mean what onnxruntime computes, also of empty tensors and of unusual arguments: different models are not called
equal, and the clean-up keeps every bit without onnxruntime at hand. Models are written in ONNX's text form."""

import sys
import unittest

from binary import Case, rulemill

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError:
    print("SKIPPED: onnx and onnxruntime are not installed (scripts/install-debian.sh)")
    sys.exit(77)

HEAD = '<ir_version: 8, opset_import: ["" : {opset}, "com.microsoft" : 1]> g '
VECTOR = "(float[n] x) => ({type}[p] y) <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, float[1] f = {{2}}>"

# What the model computes from a vector x of n elements, as the type of the result and its nodes.
OF_SIZES = [
    ("int64", "s = Shape(x) y = Max(s, one)"),
    ("int64", "s = Shape(x) y = Min(s, one)"),
    ("bool", "s = Shape(x) y = Equal(s, zero)"),
    ("bool", "s = Shape(x) y = Greater(s, zero)"),
    ("bool", "s = Shape(x) y = Less(zero, s)"),
    ("bool", "s = Shape(x) y = Cast<to = 9>(s)"),
    ("int64", "s = Shape(x) c = Cast<to = 9>(s) y = Where(c, two, one)"),
    ("int64", "s = Shape(x) c = Equal(s, zero) y = Where(c, one, s)"),
    ("float", "s = Shape(x) m = Max(s, one) y = Expand(f, m)"),
    ("float", "s = Shape(x) t = Div(s, two) y = Expand(f, t)"),
    ("float", "s = Shape(x) t = Mod(s, two) y = Expand(f, t)"),
    ("float", "s = Shape(x) d = Sub(s, one) e = Max(d, zero) y = Expand(f, e)"),
    ("int64", "e = Expand(f, zero) t = Add(e, x) y = Shape(t)"),
    ("int64", "a = Slice(x, zero, one) y = Shape(a)"),
    ("int64", "a = Slice(x, one, two) y = Size(a)"),
    ("int64", "a = Concat<axis = 0>(x, f) y = Shape(a)"),
    ("int64", "r = ReduceSum<keepdims = 1>(x) y = Shape(r)"),
    ("float", "a = Identity(x) s = Shape(a) y = Expand(x, s)"),
    ("float", "s = Shape(x) t = Concat<axis = 0>(one, s) r = Reshape(x, t) u = Transpose<perm = [1, 0]>(r) y = Reshape(u, s)"),
    ("int64", "s = Shape(x) t = Concat<axis = 0>(s, two) z = Cast<to = 6>(t) a = ReduceProd<keepdims = 0>(z) b = Cast<to = 7>(a)"
              " y = Reshape(b, one)"),
]

# Pairs of models that differ: of inputs, constants and nodes, with the opset.
DIFFERENT = [
    (17, "(float[3] x) => (float[p] y) <int64[3] k = {1, 2, 3}> { r = ReduceSum<noop_with_empty_axes = 1>(k) f = Cast<to = 1>(r) y = Mul(x, f) }",
         "(float[3] x) => (float[p] y) <float[1] f = {6}> { y = Mul(x, f) }"),
    (18, "(float[2, 3] x, float[1] k) => (float[p, q] y) { s = Shape(x) r = ReduceProd<noop_with_empty_axes = 1>(s) y = Expand(k, r) }",
         "(float[2, 3] x, float[1] k) => (float[p] y) <int64[1] r = {6}> { y = Expand(k, r) }"),
    (17, "(float[2, 3, 4] x, float[1] k) => (float[p, q] y) <int64[1] a = {-1}, int64[1] b = {-3}, int64[1] c = {0}>"
         "{ s = Shape(x) r = Slice(s, a, b, c, a) y = Expand(k, r) }",
         "(float[2, 3, 4] x, float[1] k) => (float[p, q, r] y) <int64[3] r = {4, 3, 2}> { y = Expand(k, r) }"),
    (17, "(float[2, 3, 4] x, float[1] k) => (float[p, q, r] y) <int64[1] a = {-1}, int64[1] b = {9223372036854775807}, int64[1] c = {0}>"
         "{ s = Shape(x) r = Slice(s, a, b, c, a) y = Expand(k, r) }",
         "(float[2, 3, 4] x, float[1] k) => (float[p] y) <int64[0] r = {}> { y = Expand(k, r) }"),
    # onnxruntime reads all numbers but 1 as 0, here and in its own clean-up.
    (19, "(float[2, 3] x) => (float[p, q] y) { t = ReduceMin<noop_with_empty_axes = 2>(x) y = Abs(t) }",
         "(float[2, 3] x) => (float y) { t = ReduceMin<noop_with_empty_axes = 2, keepdims = 0>(x) y = Abs(t) }"),
    (18, "(float[3] x, float[1] k) => (float[p, q] y) <int64[2] q = {1, 1}, int64[1] e = {3}>"
         "{ s = Size(x) z = Reshape(s, q) r = Expand(z, e) f = Cast<to = 1>(r) y = Mul(k, f) }",
         "(float[3] x, float[1] k) => (float[p] y) <float[3] f = {3, 3, 3}> { y = Mul(k, f) }"),
    (17, "(float[n] x, float[1] k) => (float[p] y) <int64[1] c = {3}> { s = Shape(x) t = Div(s, c) y = Expand(k, t) }",
         "(float[n] x, float[1] k) => (float[p] y) <int64[1] c = {3}, int64[1] o = {1}> { s = Shape(x) t = Div(s, c) m = Max(t, o) y = Expand(k, m) }"),
    (17, "(float[n] x, float[1] k) => (float[p] y) <int32[1] c = {65536}, int32[1] o = {1}>"
         "{ s = Shape(x) i = Cast<to = 6>(s) a = Mul(i, c) b = Mul(a, c) d = Add(b, o) e = Cast<to = 7>(d) y = Expand(k, e) }",
         "(float[n] x, float[1] k) => (float[p] y) <int64[1] c = {4294967296}, int64[1] o = {1}, int64[1] z = {2}>"
         "{ s = Shape(x) b = Mul(s, c) d = Add(b, o) m = Min(d, z) y = Expand(k, m) }"),
    (17, "(float[2, 3, 8] x, float[2, 3, 8] k) => (float[p, q, r] y) <float[8] s = {1, 2, 3, 4, 5, 6, 7, 8}>"
         "{ y = com.microsoft.SkipSimplifiedLayerNormalization(x, k, s) }",
         "(float[2, 3, 8] x, float[2, 3, 8] k) => (float[p, q, r] y) <float[8] s = {1, 2, 3, 4, 5, 6, 7, 8}>"
         "{ y = com.microsoft.SkipSimplifiedLayerNormalization<epsilon = 0.00001>(x, k, s) }"),
    (17, "(float[4] x) => (float[4] y) <float e = {3}> { y = Pow(x, e) }", "(float[4] x) => (float[4] y) <float e = {3.000002}> { y = Pow(x, e) }"),
    (10, "(float[n] x) => (float[p] y) <int64[1] a = {1}, int64[1] b = {3}> { s = Slice(x, a, b) y = Relu(s) }", "(float[n] x) => (float[p] y) { y = Relu(x) }"),
    (17, "(float[1, 2, 8] q) => (float[1, 2, 8] y) { y = com.microsoft.MultiHeadAttention<num_heads = 2, scale = 0.0>(q, q, q) }",
         "(float[1, 2, 8] q) => (float[1, 2, 8] y) { y = com.microsoft.MultiHeadAttention<num_heads = 4, scale = 0.0>(q, q, q) }"),
    # onnxruntime refuses this scale, and ONNX's reference multiplies by it.
    (23, "(float[1, 1, 2, 4] q, float[1, 1, 3, 4] k, float[1, 1, 3, 4] v) => (float[1, 1, 2, 4] y) { y = Attention(q, k, v) }",
         "(float[1, 1, 2, 4] q, float[1, 1, 3, 4] k, float[1, 1, 3, 4] v) => (float[1, 1, 2, 4] y) { y = Attention<scale = 0.0>(q, k, v) }"),
]

EQUAL = [
    (17, "(float[2, 3] x) => (float[3, 2] y) { y = Transpose(x) }", "(float[2, 3] x) => (float[3, 2] y) { y = Transpose<perm = [1, 0]>(x) }"),
    (17, "(float[1, 3, 1] x) => (float[3] y) { r = Relu(x) y = Squeeze(r) }",
         "(float[1, 3, 1] x) => (float[3] y) <int64[2] a = {0, 2}> { r = Relu(x) y = Squeeze(r, a) }"),
    (17, "(float[n, 6] x) => (float[n, 2, 3] y) <int64[3] s = {0, 2, -1}> { r = Relu(x) y = Reshape(r, s) }",
         "(float[n, 6] x) => (float[n, 2, 3] y) <int64[2] t = {2, 3}, int64[1] a = {0}, int64[1] b = {1}>"
         "{ r = Relu(x) z = Shape(r) h = Slice(z, a, b) s = Concat<axis = 0>(h, t) y = Reshape(r, s) }"),
    (17, "(float[3] x) => (float[p] y) <int64[1] t = {3}> { a = Expand(x, t) b = Concat<axis = 0>(a) y = Reshape(b, t) }",
         "(float[3] x) => (float[3] y) { y = Identity(x) }"),
    (19, "(float[3] x) => (float[3] y) <int64[0] n = {}> { c = ConstantOfShape(n) y = Add(x, c) }", "(float[3] x) => (float[3] y) <float c = {0}> { y = Add(x, c) }"),
    (17, "(float[1, 2, 4] q, float[1, 3, 4] k, float[1, 3, 4] v) => (float[1, 2, 4] y)"
         "{ y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v) }",
         "(float[1, 2, 4] q, float[1, 3, 4] k, float[1, 3, 4] v) => (float[1, 2, 4] y)"
         "{ y = com.microsoft.MultiHeadAttention<num_heads = 2, scale = 0.0>(q, k, v) }"),
    (13, "(float[1, 2, 4, 4] x) => (float[1, 2, 8, 8] y) <float[4] s = {1, 1, 2, 2}>"
         "{ y = Resize<mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\">(x, , s) }",
         "(float[1, 2, 4, 4] x) => (float[1, 2, 8, 8] y) <float[4] s = {1, 1, 2, 2}, float[0] r = {}>"
         "{ y = Resize<mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\">(x, r, s) }"),
    (17, "(float[2, 3, 8] x, float[2, 3, 8] k) => (float[p, q, r] y) <float[8] s = {1, 2, 3, 4, 5, 6, 7, 8}>"
         "{ y = com.microsoft.SkipSimplifiedLayerNormalization(x, k, s) }",
         "(float[2, 3, 8] x, float[2, 3, 8] k) => (float[p, q, r] y) <float[8] s = {1, 2, 3, 4, 5, 6, 7, 8}>"
         "{ y = com.microsoft.SkipSimplifiedLayerNormalization<epsilon = 0.000000000001>(x, k, s) }"),
    (17, "(float[1, 4, t] x, int64[1] n) => (float[1, 4, u] y) <int64[1] a = {0}, int64[1] d = {2}, float[1] z = {0}>"
         "{ s = Slice(x, a, n, d) r = Relu(s) m = Relu(r) y = Sub(m, z) }",
         "(float[1, 4, t] x, int64[1] n) => (float[1, 4, u] y) <int64[1] a = {0}, int64[1] d = {2}>"
         "{ s = Slice(x, a, n, d) y = Relu(s) }"),
]

# Models that no runtime loads, or that only some do: they are left as they are.
LEFT_ALONE = [
    (17, "(float[1] x) => (float[p, q, r] y) <float[2, 3, 1] k = {0, 1, 2, 3, 4, 5}> { r = Transpose<perm = [-1, -2, -3]>(k) y = Mul(x, r) }"),
    (17, "(float[1] x) => (float[p] y) <float[3] k = {1, 2, 3},"
         " int64[4] s = {4611686018427387904, 4611686018427387904, 4611686018427387904, 4611686018427387907}>"
         "{ a, b, c, d = Split(k, s) y = Mul(x, d) }"),
    (17, "(float[2, 3] x) => (float[p, q] y) <int64[2] k = {0, 0}> { r = Pad(x, k) y = Relu(r) }"),
    (17, "(float[2, 3] x) => (float[p, q] y) { r = Transpose<perm = [0]>(x) y = Relu(r) }"),
    (18, "(float[3] x) => (float[p] y) { r = Split<num_outputs = 3>(x) y = Relu(r) }"),
]


def repeated_opset(model):
    model.opset_import.add(version=17)


def negative_dimension(model):
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1


def output_of_another_rank(model):
    del model.graph.output[0].type.tensor_type.shape.dim[1]


def branches_without_types(model):
    for attribute in model.graph.node[0].attribute:
        attribute.g.output[0].ClearField("type")


# Models that the standard does not describe, and that onnxruntime runs.
RUN = [
    ("(float[n, 3] x) => (float[n, 3] y) { t = Relu(x) y = Relu(t) }", repeated_opset),
    ("(float[n, 3] x) => (float[p, 3] y) { t = Relu(x) y = Relu(t) }", negative_dimension),
    ("(float[n, 3] x) => (float[p, q] y) { t = Relu(x) y = Relu(t) }", output_of_another_rank),
    ("(float[n, 3] x) => (float[p, q] y) <bool c = {1}> { y = If(c) <then_branch = a () => (float[p, q] u) { t = Relu(x) u = Relu(t) },"
     " else_branch = b () => (float[p, q] v) { v = Neg(x) }> }", branches_without_types),
]


def model(opset, text):
    return onnx.parser.parse_model(HEAD.format(opset=opset) + text)


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class Meanings(Case):
    def save(self, name, opset, text):
        path = self.folder / f"{name}.onnx"
        onnx.save(model(opset, text), path)
        return path

    def compare(self, opset, before, after):
        return rulemill("equal", self.save("before", opset, before), self.save("after", opset, after), "--rules", self.rules)

    def setUp(self):
        super().setUp()
        self.rules = self.folder / "rules"
        (self.folder / "twice.rules").write_text("rule twice(x:3)\n  relu(relu(x)) => relu(x)\n")
        self.assert_works(rulemill("rules", "import", self.folder / "twice.rules", "--out", self.rules))

    def test_the_clean_up_keeps_results_at_every_size_without_onnxruntime(self):
        for kind, nodes in OF_SIZES:
            with self.subTest(nodes):
                path, out = self.save("model", 17, VECTOR.format(type=kind) + "{" + nodes + "}"), self.folder / "out.onnx"
                self.assert_works(rulemill("optimize", path, "--only-clean", "--out", out, env={"RULEMILL_PYTHON": ""}))
                before, after = session(path), session(out)
                for size in (0, 1, 2, 3, 7):
                    inputs = {"x": np.arange(size, dtype=np.float32)}
                    try:
                        expected = before.run(None, inputs)[0]
                    except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
                        continue  # the model does not run at this size
                    found = after.run(None, inputs)[0]
                    self.assertEqual((expected.dtype, expected.shape, expected.tobytes()), (found.dtype, found.shape, found.tobytes()), size)

    def test_different_models_are_not_called_equal(self):
        for opset, before, after in DIFFERENT:
            with self.subTest(before):
                process = self.compare(opset, before, after)
                self.assertEqual(process.returncode, 1, process.stdout + process.stderr)

    def test_equal_models_are_shown(self):
        for opset, before, after in EQUAL:
            with self.subTest(before):
                self.assert_works(self.compare(opset, before, after))

    def test_models_that_runtimes_refuse_are_refused_or_left_as_they_are(self):
        refused = 0
        for opset, text in LEFT_ALONE:
            with self.subTest(text):
                path, out = self.save("model", opset, text), self.folder / "out.onnx"
                process = rulemill("optimize", path, "--only-clean", "--out", out)
                if process.returncode == 3:
                    self.assert_fails(process, 3, f"{path}: ")
                    refused += 1
                else:
                    self.assert_works(process)
                    self.assertEqual(path.read_bytes(), out.read_bytes())
        self.assertLess(refused, len(LEFT_ALONE))

    def test_models_that_onnxruntime_runs_are_read(self):
        for text, change in RUN:
            with self.subTest(change.__name__):
                path, out = self.folder / "model.onnx", self.folder / "out.onnx"
                changed = model(17, text)
                change(changed)
                onnx.save(changed, path)
                self.assert_works(rulemill("optimize", path, "--rules", self.rules, "--no-benchmark", "--min-gain", "0", "--out", out))
                inputs = {"x": np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)}
                before, after = (onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
                                 for file in (path, out))
                np.testing.assert_array_equal(before, after)


if __name__ == "__main__":
    unittest.main()
