#!/usr/bin/env python3
"""What `optimize`, `equal` and `derive` do with the default rules, which default_rules_test.py makes."""

import collections
import json
import re
import sys
import unittest

from binary import BINARY, ROOT, Case, rulemill

sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests" / "optimize" / "onnx")]
try:
    import numpy
    import onnx
    from onnx import helper, numpy_helper

    import branched_models
    import exported_models
except ImportError:
    onnx = None

MODEL = ROOT / "data" / "models" / "acnet_block.onnx"
LORA = ROOT / "data" / "models" / "lora_layer.onnx"
TEXT = ROOT / "data" / "rules" / "models.rules"

# Sizes of weights and values of numbers in the models below, by name.
WEIGHTS = {"w": (64, 64), "v": (64, 64), "down": (64, 4), "up": (4, 64), "b": (64,), "c": (64,), "row": (1, 64), "wide": (8, 64),
           "s": (64,), "t": (64,), "m": (64,), "d": (64,), "few": (64, 4), "k": (16, 8, 1, 1), "kb": (16,), "ones": (1, 16, 1, 1), "ch": (16, 1, 1),
           "wide_k": (16, 8, 3, 3), "line": (16, 8, 3), "cube": (16, 8, 1, 2, 2), "turned": (8, 16, 1, 2, 2), "lines": (16, 1), "batch_lines": (1, 16, 1)}
NUMBERS = {"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "six": 6, "eight": 8, "sixth": 1 / 6, "half": 0.5, "less": -1, "low": -0.5}

# Sizes of the input and the result, nodes, and how many nodes of each operator are left.
GAINS = [
    # Products of two matrices with a bias: added, in a row, with a low-rank adapter, with factors, with other forms of a bias.
    ("8, 64", "8, 64", "p = Gemm<transB = 1>(x, w, b) q = Gemm<transB = 1>(x, v, c) y = Add(p, q)", {"Gemm": 1}),
    ("8, 64", "8, 64", "p = Gemm<alpha = 0.5>(x, w, b) q = Gemm<beta = 2.0>(x, v, c) y = Add(p, q)", {"Gemm": 1}),
    ("8, 64", "8, 64", "p = Gemm<transB = 1, alpha = 0.5, beta = 2.0>(x, w, b) y = Gemm<beta = 0.5>(p, v, c)", {"Gemm": 1}),
    ("8, 64", "8, 64", "p = Gemm<transB = 1>(x, w, b) y = BatchNormalization(p, s, t, m, d)", {"Gemm": 1}),
    ("8, 64", "8, 64", "p = MatMul(x, w) y = BatchNormalization(p, s, t, m, d)", {"Gemm": 1}),
    ("8, 64", "8, 64", "p = Gemm<beta = 3.0, transB = 1>(x, w, wide) q = Gemm(x, v, wide) y = Add(p, q)", {"MatMul": 1, "Add": 1}),
    ("8, 64", "8, 64", "p = Gemm<transB = 1>(x, w, b) q = MatMul(x, down) r = MatMul(q, up) t1 = Mul(r, two) y = Add(p, t1)", {"Gemm": 1}),
    ("8, 64", "8, 64", "p = Gemm(x, w, row) y = Gemm(p, v, c)", {"Gemm": 1}),
    ("64, 8", "8, 64", "p = Gemm<transA = 1>(x, w, b) y = Gemm<transB = 1, alpha = 2.0>(p, v, c)", {"Transpose": 1, "Gemm": 1}),
    # Products of three factors: the last two first, where the last one has few columns.
    ("2, 64, 64", "2, 64, 4", "z = Transpose<perm = [0, 2, 1]>(x) p = MatMul(x, z) q = Softmax(p) r = MatMul(q, x) y = MatMul(r, few)",
     {"Transpose": 1, "MatMul": 3, "Softmax": 1}),
    # Hard-swish, written out.
    ("1, 8, 8, 8", "1, 8, 8, 8", "p = Add(x, three) q = Clip(p, zero, six) r = Mul(x, q) y = Div(r, six)", {"HardSwish": 1}),
    ("1, 8, 8, 8", "1, 8, 8, 8", "p = Add(x, three) q = Clip(p, zero, six) r = Div(q, six) y = Mul(x, r)", {"HardSwish": 1}),
    ("1, 8, 8, 8", "1, 8, 8, 8", "p = Add(x, three) q = Clip(p, zero, six) r = Mul(q, sixth) y = Mul(r, x)", {"HardSwish": 1}),
    ("1, 8, 8, 8", "1, 8, 8, 8", "p = Mul(x, sixth) q = Add(p, half) r = Clip(q, zero, one) y = Mul(x, r)", {"HardSwish": 1}),
    ("1, 8, 8, 8", "1, 8, 8, 8", "p = Mul(x, half) q = Add(p, half) r = Relu(q) y = Min(r, one)", {"HardSigmoid": 1}),
    # Chains of numbers and of limits.
    ("8, 64", "8, 64", "p = Add(x, one) y = Add(p, two)", {"Add": 1}),
    ("8, 64", "8, 64", "p = Div(x, four) y = Mul(p, eight)", {"Mul": 1}),
    ("8, 64", "8, 64", "p = Sub(one, x) y = Sub(three, p)", {"Sub": 1}),
    ("8, 64", "8, 64", "p = Mul(x, two) q = Add(p, four) y = Mul(q, half)", {"Add": 1}),
    ("8, 64", "8, 64", "p = Add(x, four) q = Mul(p, two) y = Sub(q, eight)", {"Mul": 1}),
    ("8, 64", "8, 64", "p = Gemm(x, w, b) q = Add(p, one) r = Mul(q, two) z = Sub(r, three) y = Div(z, four)", {"Gemm": 1}),
    ("8, 64", "8, 64", "p = MatMul(x, w) q = Add(p, one) y = Add(q, b)", {"Gemm": 1}),
    ("8, 64", "8, 64", "p = Gemm(x, w, b) q = Sub(p, c) y = Div(q, s)", {"Gemm": 1}),
    ("8, 64", "8, 64", "p = Relu(x) y = Clip(p, less, one)", {"Clip": 1}),
    ("8, 64", "8, 64", "p = Min(x, six) y = Max(p, zero)", {"Clip": 1}),
    ("8, 64", "8, 64", "p = Clip(x, less) y = Relu(p)", {"Relu": 1}),
    ("8, 64", "8, 64", "p = Clip(x, less, four) y = Clip(p, low, eight)", {"Clip": 1}),
    ("8, 64", "8, 64", "p = Pow(x, two) y = Pow(p, two)", {"Mul": 2}),
    ("8, 64", "8, 64", "y = Pow(x, four)", {"Mul": 2}),
    # Values of channels and rows with leading ones.
    ("1, 8, 8, 8", "1, 16, 8, 8", "p = Conv(x, k) y = Mul(p, ones)", {"Conv": 1}),
    ("2, 8, 8, 8", "2, 16, 8, 8", "p = Conv(x, k, kb) q = Mul(p, ones) y = Add(q, ones)", {"Conv": 1}),
    ("2, 8, 8, 8", "2, 16, 8, 8", "p = Conv(x, k, kb) q = Mul(p, ch) y = Add(q, ch)", {"Conv": 1}),
    ("1, 8, 8, 8", "1, 16, 8, 8", "p = Conv(x, k, kb) q = Sub(p, ones) y = Div(q, ch)", {"Conv": 1}),
    ("2, 8, 10", "2, 16, 8", "p = Conv(x, line, kb) q = Div(p, lines) y = Sub(q, lines)", {"Conv": 1}),
    ("1, 8, 10", "1, 16, 8", "p = Conv(x, line, kb) q = Mul(p, batch_lines) y = Add(q, batch_lines)", {"Conv": 1}),
    # A Conv1D of Keras: bias, factor and activation behind the axis that is removed, in onnxruntime part of the convolution.
    ("2, 8, 1, 8", "2, 16, 8", "p = Conv(x, k) q = Squeeze(p) r = Add(q, batch_lines) y = Relu(r)", {"Conv": 1, "Relu": 1, "Squeeze": 1}),
    ("2, 8, 8, 1", "2, 16, 8", "p = Conv(x, k) q = Squeeze(p) r = Mul(q, lines) z = Add(r, batch_lines) y = Tanh(z)", {"Conv": 1, "Tanh": 1, "Squeeze": 1}),
    # Numbers and signs behind convolutions and products.
    ("1, 8, 8, 8", "1, 16, 8, 8", "p = Conv(x, k, kb) y = Div(p, three)", {"Conv": 1}),
    ("1, 8, 8, 8", "1, 16, 8, 8", "p = Conv(x, k, kb) q = Sub(p, three) y = Div(q, two)", {"Conv": 1}),
    ("1, 8, 8, 8", "1, 16, 8, 8", "p = Conv(x, k, kb) y = Neg(p)", {"Conv": 1}),
    ("2, 8, 10", "2, 16, 8", "p = Conv(x, line, kb) y = Sub(three, p)", {"Conv": 1}),
    ("8, 64", "8, 64", "p = Gemm(x, w, b) y = Neg(p)", {"Gemm": 1}),
    # Convolutions of any rank and padding, with a batch norm.
    ("1, 8, 9, 8", "1, 16, 7, 6", "p = Conv(x, wide_k) y = BatchNormalization(p, kb, kb, kb, kb)", {"Conv": 1}),
    ("1, 8, 9, 8", "1, 16, 4, 8", "p = Conv<pads = [0, 2, 0, 2], strides = [2, 1], dilations = [1, 2]>(x, wide_k) y = BatchNormalization(p, kb, kb, kb, kb)",
     {"Conv": 1}),
    ("1, 8, 3, 4, 5", "1, 16, 3, 3, 4", "p = Conv(x, cube) y = BatchNormalization(p, kb, kb, kb, kb)", {"Conv": 1}),
    ("1, 8, 3, 4, 5", "1, 16, 3, 5, 6", "p = ConvTranspose(x, turned) y = BatchNormalization(p, kb, kb, kb, kb)", {"ConvTranspose": 1}),
    ("1, 8, 10", "1, 16, 5", "p = Conv<pads = [1, 1], strides = [2]>(x, line) y = BatchNormalization(p, kb, kb, kb, kb)", {"Conv": 1}),
]


GAINS_OF_A_MODEL = 12
ENVIRONMENT = {"RULEMILL_CACHE": str(BINARY.parent / "package_cache")}


def operators_of(graph, output):
    """The number of nodes of each operator that an output depends on."""
    producers, pending, found = {name: node for node in graph.node for name in node.output}, [output], {}
    while pending:
        node = producers.get(pending.pop())
        if node is not None and node.output[0] not in found:
            found[node.output[0]] = node.op_type
            pending += node.input
    return collections.Counter(found.values())


class DefaultResults(Case):
    environment = ENVIRONMENT

    def test_optimizing_a_result_again_does_not_change_it(self):
        for model in (MODEL, LORA):
            with self.subTest(model.name):
                once, twice = self.folder / "once.onnx", self.folder / "twice.onnx"
                self.assertTrue(self.json("optimize", model, "--no-benchmark", "--out", once, env=self.environment)["changed"])
                again = self.json("optimize", once, "--no-benchmark", "--min-gain", "0", "--out", twice, env=self.environment)
                self.assertFalse(again["changed"])
                self.assertEqual(again["fired"], [])
                self.assertEqual(once.read_bytes(), twice.read_bytes())

    def not_derived(self, without=""):
        """Returns the rules of manual_rewrites.rules that do not follow from the default rules without operator `without`."""
        rules = ["rule " + rule for rule in ("\n" + TEXT.read_text(encoding="utf-8")).split("\nrule ")[1:]]
        (self.folder / "all.rules").write_text("\n".join(rule for rule in rules if not without or without + "(" not in rule) + "\n",
                                               encoding="utf-8")
        rulemill("derive", "--from", self.folder / "all.rules", ROOT / "tests" / "optimize" / "manual_rewrites.rules",
                 "--json", self.folder / "implied.json")
        answers = json.loads((self.folder / "implied.json").read_text())["rules"]
        self.assertEqual(len(answers), 50)
        return {rule["name"] for rule in answers if rule["result"] != "derived"}

    def test_manual_rewrites_follow_from_the_default_rules(self):
        self.assertEqual(self.not_derived(), set())
        self.assertEqual(self.not_derived(without="pool_kernel"), {"an_average_branch"})
        self.assertIn("adapter_into_its_layer", self.not_derived(without="matmul"))
        self.assertIn("softmax_of_a_shifted_row", self.not_derived(without="add_column"))
        self.assertIn("two_pools_of_three_are_one_of_five", self.not_derived(without="max_pool"))
        self.assertIn("softmax_of_bins_as_softmax_of_rows", self.not_derived(without="softmax_axis"))
        self.assertIn("image_added_to_its_multiple", self.not_derived(without="one"))
        self.assertEqual(self.not_derived(without="conv_transpose"), {"batch_norm_into_transposed_convolution"})


@unittest.skipIf(onnx is None, "SKIPPED: the onnx package is not installed")
class ModelsMadeHere(Case):
    environment = ENVIRONMENT

    def optimized(self, model):
        """Returns the number of nodes of each ONNX operator in the result."""
        before, after = self.folder / "before.onnx", self.folder / "after.onnx"
        onnx.save(model, before)
        self.assert_works(rulemill("optimize", before, "--out", after, "--no-benchmark", env=self.environment))
        return collections.Counter(node.op_type for node in onnx.load(after).graph.node)

    def test_identity_branches_and_sums_with_a_scalar_merge_into_the_convolution(self):
        model, blocks = branched_models.make("mobileone")
        counts = self.optimized(model)
        self.assertEqual((counts["Conv"], counts.get("Add", 0), counts.get("BatchNormalization", 0)), (blocks, 0, 0))
        random = numpy.random.default_rng(0)
        weights = [numpy_helper.from_array(random.random(shape).astype(numpy.float32), name)
                   for name, shape in [("k", (8, 8, 3, 3)), ("j", (8, 8, 1, 1)), ("zero", ())]]
        nodes = [helper.make_node("Conv", ["x", "k"], ["a"], pads=[1] * 4, kernel_shape=[3, 3]),
                 helper.make_node("Add", ["a", "zero"], ["b"]),
                 helper.make_node("Conv", ["x", "j"], ["c"], kernel_shape=[1, 1]), helper.make_node("Add", ["b", "c"], ["y"])]
        values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 8, 16, 16]) for name in ("x", "y")]
        graph = helper.make_graph(nodes, "scalar", values[:1], values[1:], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        self.assertEqual(self.optimized(model), {"Conv": 1})

    def test_equal_finds_numbers_behind_a_convolution_in_other_weights(self):
        numbers = "float two = {2}, float one = {1}, float five = {5}, float three = {3}"
        pair = (("1, 2, 3, 4", "1, -1", "c = Conv(x, k, b) s = Mul(c, two) a = Add(s, one) d = Div(a, five) y = Mul(d, three)"),
                ("6, 12, 18, 24", "9, -3", "c = Conv(x, k, b) y = Div(c, five)"))
        paths = [self.folder / f"{side}.onnx" for side in ("before", "after")]
        for path, (kernel, bias, nodes) in zip(paths, pair):
            onnx.save(onnx.parser.parse_model(
                f'<ir_version: 8, opset_import: ["" : 17]> g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) '
                f"<float[2, 2, 1, 1] k = {{{kernel}}}, float[2] b = {{{bias}}}, {numbers}> {{ {nodes} }}"), path)
        self.assertEqual(self.json("equal", *paths, env=self.environment)["verdict"], "equal")

    def test_equal_compares_outputs_that_rules_show_to_be_constant(self):
        texts = ("float[2] k = {1.5001, 1.5001}, float[2] h = {0.33333334, 0.33333334}, float[2] a = {16777216, 16777216}> "
                 "{ v = Mul(k, h) p = Add(x, v) d = Sub(p, v) e = Sub(x, d) y = Mul(e, a) }",
                 "float[2] v = {0.5000334, 0.5000334}, float[2] w = {0.5000333, 0.5000333}, float[2] a = {16777216, 16777216}> "
                 "{ p = Add(x, v) d = Sub(p, w) e = Sub(x, d) y = Mul(e, a) }")
        paths = [self.folder / f"{side}.onnx" for side in ("before", "after")]
        for path, text in zip(paths, texts):
            onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) <{text}'), path)
        process = rulemill("equal", *paths, env=self.environment)
        self.assertIn(process.returncode, (1, 2), process.stderr)
        self.assertNotIn("all inputs", process.stdout)

    def test_models_become_the_forms_that_are_known_to_be_cheaper(self):
        """Many side by side in a model, since most of the time goes into reading the rules."""
        for at in range(0, len(GAINS), GAINS_OF_A_MODEL):
            self.check_gains(GAINS[at:at + GAINS_OF_A_MODEL])

    def check_gains(self, rows):
        import onnxruntime
        random = numpy.random.default_rng(0)
        parts, feeds = [], {}
        for number, (size, result, nodes, _) in enumerate(rows):
            words = set(re.findall(r"\w+", nodes))
            constants = [numpy_helper.from_array(numpy.array(value, numpy.float32), name)
                         for name, value in NUMBERS.items() if name in words]
            constants += [numpy_helper.from_array((random.random(shape) + 0.5).astype(numpy.float32), name)
                          for name, shape in WEIGHTS.items() if name in words]
            text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[{size}] x) => (float[{result}] y) {{ {nodes} }}'
            part = onnx.parser.parse_model(text)
            part.graph.initializer.extend(constants)
            parts.append(onnx.compose.add_prefix(part, f"row{number}_"))
            feeds[f"row{number}_x"] = random.standard_normal([int(each) for each in size.split(",")]).astype(numpy.float32)
        graph = helper.make_graph(*([each for part in parts for each in getattr(part.graph, field)] if field else "rows"
                                    for field in ("node", "", "input", "output", "initializer")))
        self.optimized(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
        written = onnx.load(self.folder / "after.onnx")
        before, after = (onnxruntime.InferenceSession(self.folder / f"{name}.onnx", providers=["CPUExecutionProvider"]).run(None, feeds)
                         for name in ("before", "after"))
        for number, (_, _, nodes, expected) in enumerate(rows):
            with self.subTest(nodes):
                self.assertEqual(operators_of(written.graph, f"row{number}_y"), expected)
                numpy.testing.assert_allclose(after[number], before[number], rtol=1e-4, atol=1e-5 * abs(before[number]).max())

    def test_two_linear_layers_with_biases_become_one(self):
        random = numpy.random.default_rng(0)
        values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 64]) for name in ("x", "y")]
        for turned in (0, 1, None):
            shapes = {"v": (512, 64) if turned else (64, 512), "b": (512,), "w": (64, 512) if turned else (512, 64), "c": (64,)}
            if turned is None:
                nodes = [helper.make_node("MatMul", ["x", "v"], ["p"]), helper.make_node("Add", ["p", "b"], ["h"]),
                         helper.make_node("MatMul", ["h", "w"], ["q"]), helper.make_node("Add", ["q", "c"], ["y"])]
            else:
                nodes = [helper.make_node("Gemm", ["x", "v", "b"], ["h"], transB=turned),
                         helper.make_node("Gemm", ["h", "w", "c"], ["y"], transB=turned)]
            graph = helper.make_graph(nodes, "layers", values[:1], values[1:],
                                      [numpy_helper.from_array(random.random(shape).astype(numpy.float32), name)
                                       for name, shape in shapes.items()])
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
            self.assertEqual(self.optimized(model), {"Gemm": 1}, turned)
            self.assert_works(rulemill("equal", self.folder / "before.onnx", self.folder / "after.onnx", env=self.environment))

    def test_small_depthwise_branches_merge_into_a_kernel_of_size_seven(self):
        random = numpy.random.default_rng(0)
        for stride in (1, 2):
            weights = [numpy_helper.from_array(random.random((8, 1, size, size)).astype(numpy.float32), f"k{size}") for size in (1, 3, 7)]
            nodes = [helper.make_node("Conv", ["x", f"k{size}"], [f"y{size}"], pads=[size // 2] * 4, strides=[stride] * 2,
                                      kernel_shape=[size] * 2, group=8) for size in (1, 3, 7)]
            nodes += [helper.make_node("Add", ["y1", "y3"], ["s"]), helper.make_node("Add", ["s", "y7"], ["y"])]
            values = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 8, 16, 16]),
                      helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 8, 16 // stride, 16 // stride])]
            graph = helper.make_graph(nodes, "kernels", values[:1], values[1:], weights)
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
            with self.subTest(stride):
                self.assertEqual(self.optimized(model), {"Conv": 1})

    def test_padding_becomes_that_of_convolutions(self):
        self.assertEqual(self.optimized(exported_models.padded()), {"Conv": 6, "Relu": 6})

    def test_an_addition_to_whole_rows_before_a_softmax_is_removed(self):
        def value(name, *shape):
            return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)

        def model(nodes, inputs, output):
            graph = helper.make_graph(nodes, "reals", inputs, [output])
            return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        nodes = [helper.make_node("Add", ["x", "r"], ["s"]), helper.make_node("Softmax", ["s"], ["y"], axis=-1)]
        self.assertEqual(self.optimized(model(nodes, [value("x", 2, 4, 32, 64), value("r", 2, 4, 32, 1)], value("y", 2, 4, 32, 64))), {"Softmax": 1})

    def test_a_softmax_along_an_inner_axis_becomes_one_of_rows(self):
        values = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 4, 16, 2100]),
                  helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 16, 4, 2100])]
        nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1, 3]), helper.make_node("Softmax", ["t"], ["y"], axis=1)]
        graph = helper.make_graph(nodes, "bins", values[:1], values[1:])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        self.assertEqual(self.optimized(model), {"Softmax": 1, "Transpose": 2})
        written = onnx.load(self.folder / "after.onnx").graph.node
        self.assertEqual([node.op_type for node in written], ["Transpose", "Softmax", "Transpose"])

    def test_a_gated_image_added_to_itself_is_multiplied_once(self):
        values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
                  for name, shape in (("x", [1, 8, 64, 64]), ("g", [1, 8, 1, 1]), ("y", [1, 8, 64, 64]))]
        factor = numpy_helper.from_array(numpy.random.default_rng(0).random((1, 8, 1, 1)).astype(numpy.float32), "w")
        nodes = [helper.make_node("Mul", ["x", "g"], ["a"]), helper.make_node("Mul", ["w", "a"], ["b"]),
                 helper.make_node("Add", ["x", "b"], ["y"])]
        graph = helper.make_graph(nodes, "norm", values[:2], values[2:], [factor])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        self.assertEqual(self.optimized(model), {"Mul": 2, "Add": 1})
        shapes = {info.name: [d.dim_value for d in info.type.tensor_type.shape.dim]
                  for info in onnx.shape_inference.infer_shapes(onnx.load(self.folder / "after.onnx")).graph.value_info}
        self.assertEqual(sorted(shapes.values()), [[1, 8, 1, 1], [1, 8, 1, 1]])  # only the last product has the image's size

    def test_a_product_with_a_hard_sigmoid_is_a_hard_swish_only_with_its_numbers(self):
        values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 8, 64, 64]) for name in ("x", "y")]

        def model(*nodes):
            graph = helper.make_graph(nodes, "swish", values[:1], values[1:])
            return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)

        def product(alpha):
            return model(helper.make_node("HardSigmoid", ["x"], ["s"], alpha=alpha, beta=0.5), helper.make_node("Mul", ["s", "x"], ["y"]))
        self.assertEqual(self.optimized(product(1 / 6)), {"HardSwish": 1})
        self.assertEqual(self.optimized(product(0.2)), {"HardSigmoid": 1, "Mul": 1})
        onnx.save(model(helper.make_node("HardSwish", ["x"], ["y"])), self.folder / "swish.onnx")
        for alpha, verdict in ((1 / 6, "equal"), (0.2, "different")):
            onnx.save(product(alpha), self.folder / "product.onnx")
            rulemill("equal", self.folder / "swish.onnx", self.folder / "product.onnx", "--json", self.folder / "equal.json",
                     env=self.environment)
            self.assertEqual(json.loads((self.folder / "equal.json").read_text(encoding="utf-8"))["verdict"], verdict)

    def test_a_hard_swish_of_an_older_opset_has_the_cheapest_form_that_the_model_may_have(self):
        for opset, clip, last, opset_after, expected in (
                (12, "Clip(p, zero, six)", "Relu(s)", 20, {"HardSwish": 1, "Relu": 1}),
                (12, "Clip(p, zero, six)", "ReduceMax<axes = [1]>(s)", 17, {"HardSwish": 1, "ReduceMax": 1}),
                (12, "Clip(p, zero, six)", "ReduceSum<axes = [1]>(s)", 12, {"HardSigmoid": 1, "Mul": 1, "ReduceSum": 1}),
                (10, "Clip<min = 0.0, max = 6.0>(p)", "Relu(s)", 10, {"HardSigmoid": 1, "Mul": 1, "Relu": 1})):
            with self.subTest(opset=opset, last=last):
                model = onnx.parser.parse_model(f'''<ir_version: 8, opset_import: ["" : {opset}]> g (float[1, 8, 8, 8] x) => (float[1, c, 8, 8] y) {{
                    p = Add(x, three) q = {clip} r = Mul(x, q) s = Div(r, six) y = {last} }}''')
                model.graph.initializer.extend(numpy_helper.from_array(numpy.array(NUMBERS[name], numpy.float32), name) for name in ("zero", "three", "six"))
                self.assertEqual(self.optimized(model), expected)
                self.assertEqual(onnx.load(self.folder / "after.onnx").opset_import[0].version, opset_after)

    def test_resizing_a_small_image_becomes_two_products_with_constant_matrices(self):
        weights = [numpy_helper.from_array(numpy.random.default_rng(0).random((32, 32, 3, 3)).astype(numpy.float32), "k"),
                   numpy_helper.from_array(numpy.array([1, 32, 28, 20]), "sizes")]
        values = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 32, 14, 12]),
                  helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 32, 28, 20])]
        for attributes in ({"mode": "linear"}, {"mode": "cubic"}, {"mode": "cubic", "cubic_coeff_a": -0.5},
                           {"mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel"}):
            nodes = [helper.make_node("Conv", ["x", "k"], ["a"], pads=[1] * 4),
                     helper.make_node("Resize", ["a", "", "", "sizes"], ["y"], **attributes)]
            graph = helper.make_graph(nodes, "resize", values[:1], values[1:], weights)
            with self.subTest(attributes):
                model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
                self.assertEqual(self.optimized(model), {"Conv": 1, "MatMul": 2})

    def pooled(self, **attributes):
        """Returns the operators of an optimized convolution and average pool."""
        weights = [numpy_helper.from_array(numpy.random.default_rng(0).random((8, 16, 1, 1)).astype(numpy.float32), "k")]
        nodes = [helper.make_node("Conv", ["x", "k"], ["a"], kernel_shape=[1, 1]),
                 helper.make_node("AveragePool", ["a"], ["y"], kernel_shape=[2, 2], strides=[2, 2], **attributes)]
        values = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 16, 32, 32]),
                  helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 8, 16, 16])]
        graph = helper.make_graph(nodes, "pool", values[:1], values[1:], weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), self.folder / "in.onnx")
        self.assert_works(rulemill("optimize", self.folder / "in.onnx", "--out", self.folder / "out.onnx", "--no-benchmark",
                                   "--min-gain", "0", env=self.environment))
        return [node.op_type for node in onnx.load(self.folder / "out.onnx").graph.node]

    def test_a_pointwise_convolution_moves_after_the_pool_for_every_padding_mode(self):
        for attributes in ({}, {"count_include_pad": 1}, {"count_include_pad": 0, "pads": [0] * 4}):
            with self.subTest(attributes):
                self.assertEqual(self.pooled(**attributes), ["AveragePool", "Conv"])


if __name__ == "__main__":
    unittest.main()
