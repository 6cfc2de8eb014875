#!/usr/bin/env python3
"""Two models are found equal, different or not shown to be equal; planted mistakes are never called equal."""

import argparse
import collections
import json
import sys
import unittest

from binary import ROOT, FusionRulesCase, rulemill

try:
    import numpy
    import onnx
    from onnx import helper
    sys.path.insert(0, str(ROOT / "tests" / "optimize" / "equal"))
    import planted
except ImportError:
    onnx = None

ARGUMENTS = argparse.Namespace(mutations=8, seed=1)


@unittest.skipIf(onnx is None, "SKIPPED: onnx is not installed (scripts/install-debian.sh)")
class Equal(FusionRulesCase):
    def save(self, name, model):
        path = self.folder / name
        onnx.save(model, path)
        return path

    def compare(self, before, after, *options):
        """Returns the exit code and the report."""
        report = self.folder / "report.json"
        process = rulemill("equal", self.save("before.onnx", before), self.save("after.onnx", after), "--rules", self.rules,
                           "--json", report, *options)
        return process, json.loads(report.read_text(encoding="utf-8"))

    def model(self, seed):
        return planted.ModelMaker(numpy.random.default_rng(seed)).model()

    def test_renamed_values_nodes_and_weights_do_not_matter(self):
        before = self.model(1)
        after = onnx.compose.add_prefix(before, "new_", rename_inputs=False, rename_outputs=False)
        process, report = self.compare(before, after)
        self.assertEqual((process.returncode, report["verdict"]), (0, "equal"), process.stderr)
        self.assertEqual(report["unmatched"], 0)

    def test_a_product_folded_into_weights_is_equal_by_rules_within_rounding(self):
        random = numpy.random.default_rng(2)
        values = {"a": random.uniform(-1, 1, [5, 4]).astype(numpy.float32), "b": random.uniform(-1, 1, [4, 3]).astype(numpy.float32)}

        def model(nodes, tensors):
            graph = helper.make_graph(
                nodes, "folded", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 5])],
                [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
                [onnx.numpy_helper.from_array(values, name) for name, values in tensors.items()])
            return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
        before = model([helper.make_node("MatMul", ["x", "a"], ["p"]), helper.make_node("MatMul", ["p", "b"], ["y"])],
                       values)
        after = model([helper.make_node("MatMul", ["x", "c"], ["y"])], {"c": values["a"] @ values["b"]})
        process, report = self.compare(before, after)
        self.assertEqual((process.returncode, report["verdict"]), (0, "equal"), process.stdout + process.stderr)
        self.assertEqual(report["constants"], 1)
        self.assertLess(report["constant_difference"], 2)
        wrong = model([helper.make_node("MatMul", ["x", "c"], ["y"])], {"c": (values["a"] @ values["b"]) * 1.001})
        process, report = self.compare(before, wrong)
        self.assert_fails(process, 1, "computes something else")
        self.assertEqual(report["verdict"], "different")

    def test_a_difference_comes_with_an_input_and_the_first_node_where_the_models_part(self):
        before = self.model(3)
        after = onnx.ModelProto()
        after.CopyFrom(before)
        first = next(node for node in after.graph.node if node.op_type == "Conv")
        del first.input[2]
        process, report = self.compare(before, after)
        self.assert_fails(process, 1, "computes something else")
        self.assertEqual(report["refutation"]["node"], "Conv " + first.name)
        self.assertEqual(list(report["refutation"]["inputs"]), ["x"])
        self.assertNotEqual(report["refutation"]["output"]["before"], report["refutation"]["output"]["after"])

    def test_values_without_common_names_are_paired_by_their_elements(self):
        random, layers = numpy.random.default_rng(4), 30
        weights = [random.uniform(-0.6, 0.6, [2, 5, 5]).astype(numpy.float32) for _ in range(layers)]

        def model(fused, changed=None):
            nodes, tensors, value = [], [], "x"
            for number, (a, b) in enumerate(weights):
                c = a @ b
                if number == changed:
                    c[1, 1] += 0.25
                used = [c] if fused else [a, b]
                tensors += [onnx.numpy_helper.from_array(each, f"w{number}_{k}_{fused}") for k, each in enumerate(used)]
                for k in range(len(used)):
                    nodes.append(helper.make_node("MatMul", [value, f"w{number}_{k}_{fused}"], [f"p{number}_{k}_{fused}"]))
                    value = nodes[-1].output[0]
                nodes.append(helper.make_node("Tanh", [value], ["y" if number == layers - 1 else f"t{number}_{fused}"]))
                value = nodes[-1].output[0]
            graph = helper.make_graph(nodes, "layers", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3, 5])],
                                      [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)], tensors)
            return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)

        process, report = self.compare(model(False), model(True))
        self.assertEqual((process.returncode, report["verdict"], report["by_rules"]), (0, "equal", layers), process.stdout)
        self.assertEqual(self.compare(model(False), model(True, changed=7))[1]["verdict"], "different")

    def convolution(self, bias):
        random = numpy.random.default_rng(5)
        tensors = [onnx.numpy_helper.from_array(random.uniform(-1, 1, [4, 3, 3, 3]).astype(numpy.float32), "k")]
        if bias is not None:
            tensors.append(onnx.numpy_helper.from_array(numpy.array(bias, numpy.float32), "b"))
        inputs = ["x", "k"] if bias is None else ["x", "k", "b"]
        graph = helper.make_graph([helper.make_node("Conv", inputs, ["y"], kernel_shape=[3, 3], pads=[1] * 4)], "convolution",
                                  [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 3, 8, 8])],
                                  [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)], tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)

    def test_names_of_dimensions_do_not_make_them_equal(self):
        def model(nodes, dimension):
            graph = helper.make_graph(
                [helper.make_node("Slice", ["x", "one", "end", "zero"], ["s"]), *nodes], "names",
                [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [size]) for name, size in (("x", "n"), ("z", dimension))],
                [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [])],
                [onnx.numpy_helper.from_array(numpy.array([value]), name) for name, value in (("zero", 0), ("one", 1), ("end", 1 << 40))])
            return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
        for dimension in ("n-1", "n--1", "s#0"):
            joined = [helper.make_node("Add", ["s", "z"], ["t"]), helper.make_node("ReduceSum", ["t"], ["y"], keepdims=0)]
            parts = [helper.make_node("ReduceSum", ["s"], ["p"], keepdims=0), helper.make_node("ReduceSum", ["z"], ["q"], keepdims=0),
                     helper.make_node("Add", ["p", "q"], ["y"])]
            process, report = self.compare(model(joined, dimension), model(parts, dimension))
            self.assertNotEqual(report["verdict"], "equal", process.stdout)

    def test_a_bias_of_zeros_may_be_dropped_and_no_other(self):
        self.assertEqual(self.compare(self.convolution([0.0] * 4), self.convolution(None))[1]["verdict"], "equal")
        for other in ([0, 0, 1e-3, 0], [0, 0, 0, 1]):
            self.assertEqual(self.compare(self.convolution(other), self.convolution(None))[1]["verdict"], "different")
        self.assertNotEqual(self.compare(self.convolution([0, 1e-30, 0, 0]), self.convolution(None))[1]["verdict"], "equal")

    def product(self, gemm, alpha=1.0, transposed=False, heads=2):
        """A product of matrices by rows with a bias, and its columns split; as MatMul and Add, or as Gemm between two Reshape."""
        weight = numpy.random.default_rng(3).uniform(-1, 1, [6, 6]).astype(numpy.float32)
        tensors = {"w": weight.T.copy() if transposed else weight, "b": numpy.arange(1, 7, dtype=numpy.float32),
                   "rows": numpy.array([5, 6]), "split": numpy.array([1, 5, heads, 6 // heads])}
        nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["s"])]
        if gemm:
            nodes = [helper.make_node("Reshape", ["x", "rows"], ["f"]),
                     helper.make_node("Gemm", ["f", "w", "b"], ["s"], alpha=alpha, transB=int(transposed))]
        graph = helper.make_graph([*nodes, helper.make_node("Reshape", ["s", "split"], ["y"])], "product",
                                  [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 5, 6])],
                                  [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
                                  [onnx.numpy_helper.from_array(value, name) for name, value in tensors.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)

    def test_what_no_rule_shows_is_proved_from_the_definitions(self):
        for transposed in (False, True):
            process, report = self.compare(self.product(gemm=False), self.product(gemm=True, transposed=transposed))
            self.assertEqual((report["verdict"], report["by_rules"]), ("equal", 0), process.stdout)
            self.assertEqual(list(report["statements"].values()), [1])
            self.assertIn("merged by proofs from the definitions 1, statements 1", process.stdout)
        process, report = self.compare(self.product(gemm=False), self.product(gemm=True, alpha=0.5))
        self.assertEqual((report["verdict"], report["statements"]), ("different", {}), process.stdout)

    def model_of(self, nodes, tensors, shape):
        graph = helper.make_graph(nodes, "window", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
                                  [onnx.numpy_helper.from_array(numpy.array(value), name) for name, value in tensors.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)

    def test_a_statement_may_name_the_sizes_of_a_product_in_another_order_than_its_variables(self):
        random = numpy.random.default_rng(7)
        weights = {name: random.uniform(-1, 1, shape).astype(numpy.float32) for name, shape in (("w", [19, 23]), ("b", [23]))}
        product = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["b", "p"], ["y"])]
        flat = [helper.make_node("Reshape", ["x", "rows"], ["f"]), helper.make_node("Gemm", ["f", "w", "b"], ["q"]),
                helper.make_node("Reshape", ["q", "result"], ["y"])]
        for first, second in ((5, 11), (11, 5)):
            shapes = {"rows": numpy.array([first * second, 19]), "result": numpy.array([first, second, 23])}
            before = self.model_of(product, weights, [first, second, 19])
            process, report = self.compare(before, self.model_of(flat, weights | shapes, [first, second, 19]))
            self.assertEqual((report["verdict"], report["by_rules"]), ("equal", 0), process.stdout)

    def layers(self, flat, changed=0.0):
        """Two products of matrices with GELU between them, on the last axis; flat: between two Reshape, with other names."""
        random = numpy.random.default_rng(6)
        tensors = {name: random.uniform(-1, 1, shape).astype(numpy.float32)
                   for name, shape in (("w", [6, 24]), ("b", [24]), ("v", [24, 6]), ("c", [6]))}
        tensors |= {"root": numpy.float32(2 ** 0.5), "one": numpy.float32(1), "half": numpy.float32(0.5)}
        tensors["v"][3, 2] += changed
        if flat:
            tensors |= {"rows": numpy.array([25, 6]), "image": numpy.array([1, 5, 5, 6])}
            first = [helper.make_node("Reshape", ["x", "rows"], ["f"]), helper.make_node("Gemm", ["f", "w", "b"], ["flat_h"])]
            last = [helper.make_node("Gemm", ["flat_m", "v", "c"], ["q"]), helper.make_node("Reshape", ["q", "image"], ["y"])]
        else:
            first = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["h"])]
            last = [helper.make_node("MatMul", ["m", "v"], ["r"]), helper.make_node("Add", ["r", "c"], ["y"])]
        name = "flat_" if flat else ""
        gelu = [helper.make_node("Div", [name + "h", "root"], [name + "d"]), helper.make_node("Erf", [name + "d"], [name + "e"]),
                helper.make_node("Add", [name + "e", "one"], [name + "s"]),
                helper.make_node("Mul", [name + "h", name + "s"], [name + "t"]),
                helper.make_node("Mul", [name + "t", "half"], [name + "m"])]
        return self.model_of([*first, *gelu, *last], tensors, [1, 5, 5, 6])

    def test_a_window_too_large_for_a_proof_is_split_where_its_values_agree(self):
        process, report = self.compare(self.layers(flat=False), self.layers(flat=True))
        self.assertEqual((report["verdict"], report["by_rules"]), ("equal", 0), process.stdout)
        self.assertGreater(len(report["statements"]), 5)
        process, report = self.compare(self.layers(flat=False), self.layers(flat=True, changed=0.01))
        self.assertEqual(report["verdict"], "different", process.stdout)

    def test_a_number_folded_into_weights_is_compared_within_rounding(self):
        weight = numpy.random.default_rng(7).uniform(-1, 1, [4, 3, 3, 3]).astype(numpy.float32)

        def model(factor, folded):
            scaled = [] if folded else [helper.make_node("Mul", ["x", "s"], ["t"])]
            tensors = {"k": weight * numpy.float32(factor) if folded else weight, **({} if folded else {"s": numpy.float32(factor)})}
            convolution = helper.make_node("Conv", ["x" if folded else "t", "k"], ["y"], kernel_shape=[3, 3], pads=[1] * 4)
            return self.model_of([*scaled, convolution], tensors, [2, 3, 8, 8])
        process, report = self.compare(model(0.3, False), model(0.3, True))
        self.assertEqual((report["verdict"], report["constants"], report["by_rules"]), ("equal", 1, 0), process.stdout)
        self.assertEqual(self.compare(model(0.3, False), model(0.30003, True))[1]["verdict"], "different")

    def test_small_numbers_may_stay_numbers_in_a_proof(self):
        def model(transpose_first):
            axis = 0 if transpose_first else 2
            perm, given, transposed = ([2, 0, 3, 1, 4], "x", "t") if transpose_first else ([0, 2, 1, 3], "q", "y")
            transpose = helper.make_node("Transpose", [given], [transposed], perm=perm)
            # Values of one name would be proved one by one.
            parts = [f"{given}_{place}" for place in ("first", "middle", "last")]
            layers = [helper.make_node("Split", ["t" if transpose_first else "x", "parts"], parts, axis=axis),
                      helper.make_node("Squeeze", [parts[1], "axis"], ["y" if transpose_first else "q"])]
            nodes = [transpose, *layers] if transpose_first else [*layers, transpose]
            return self.model_of(nodes, {"parts": numpy.array([1, 1, 1]), "axis": numpy.array([axis])}, [1, 21, 3, 3, 20])
        process, report = self.compare(model(True), model(False))
        self.assertEqual((report["verdict"], len(report["statements"])), ("equal", 1), process.stdout)

    def test_values_in_another_order_of_dimensions_are_compared_transposed(self):
        """A residual sum is computed channels-last, and keeps its name."""
        def model(channels_last, axis=1):
            last, first = [0, 2, 3, 1], [0, 3, 1, 2]
            rows = [helper.make_node("Transpose", ["x"], ["xt"], perm=last), helper.make_node("Erf", ["xt"], ["rows"])]
            if channels_last:
                nodes = [helper.make_node("Add", ["rows", "xt"], ["sum"]), helper.make_node("Transpose", ["sum"], ["back"], perm=first),
                         helper.make_node("Softmax", ["back"], ["y"], axis=axis)]
            else:
                nodes = [helper.make_node("Transpose", ["rows"], ["back"], perm=first), helper.make_node("Add", ["back", "x"], ["sum"]),
                         helper.make_node("Softmax", ["sum"], ["y"], axis=axis)]
            return self.model_of([*rows, *nodes], {}, [2, 5, 7, 7])
        process, report = self.compare(model(False), model(True))
        self.assertEqual(report["verdict"], "equal", process.stdout)
        self.assertEqual(self.compare(model(False), model(True, axis=2))[1]["verdict"], "different")

    def test_a_summand_of_zero_may_be_dropped_and_no_other(self):
        def model(summand):
            added = [] if summand is None else [helper.make_node("Add", ["x", "s"], ["t"])]
            tanh = helper.make_node("Tanh", ["x" if summand is None else "t"], ["y"])
            return self.model_of([*added, tanh], {} if summand is None else {"s": numpy.float32(summand)}, [3, 4])
        self.assertEqual(self.compare(model(0), model(None))[1]["verdict"], "equal")
        self.assertEqual(self.compare(model(1e-3), model(None))[1]["verdict"], "different")
        self.assertNotEqual(self.compare(model(1e-30), model(None))[1]["verdict"], "equal")

    def test_computations_of_shapes_are_evaluated_before_models_are_compared(self):
        def model(nodes, tensors):
            graph = helper.make_graph([*nodes, helper.make_node("Reshape", ["x", "shape"], ["y"])], "shapes",
                                      [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3, 4])],
                                      [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
                                      [onnx.numpy_helper.from_array(numpy.array(values, numpy.int64), name)
                                       for name, values in tensors.items()])
            return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
        before = model([helper.make_node("Shape", ["x"], ["dims"]), helper.make_node("ReduceProd", ["dims"], ["elements"], keepdims=1),
                        helper.make_node("Div", ["elements", "rows"], ["columns"]),
                        helper.make_node("Concat", ["rows", "columns"], ["shape"], axis=0)], {"rows": [4]})
        process, report = self.compare(before, model([], {"shape": [4, 6]}))
        self.assertEqual(report["verdict"], "equal", process.stdout)
        process, report = self.compare(before, model([], {"shape": [6, 4]}))
        self.assertNotEqual(report["verdict"], "equal", process.stdout)

    def test_models_are_compared_after_the_clean_up_where_they_are_not_shown_before(self):
        def model(rows):
            nodes = [helper.make_node("Neg", ["x"], ["u"]), helper.make_node("ScatterND", ["x", "rows", "u"], ["t"])]
            tanh = helper.make_node("Tanh", ["u" if rows is None else "t"], ["y"])
            tensors = {} if rows is None else {"rows": numpy.array(rows, numpy.int64)}
            return self.model_of([*nodes[:1 if rows is None else 2], tanh], tensors, [3])
        process, report = self.compare(model([[0], [1], [2]]), model(None))
        self.assertEqual((report["verdict"], report["cleaned"]), ("equal", True), process.stdout)
        self.assertNotEqual(self.compare(model([[0], [1], [1]]), model(None))[1]["verdict"], "equal")

    def test_an_unknown_operator_is_equal_to_itself_only_with_the_same_attributes(self):
        def model(name, mode):
            node = helper.make_node("Unknown", ["x"], ["t"], name=name, domain="elsewhere", mode=mode)
            graph = helper.make_graph([node, helper.make_node("Relu", ["t"], ["y"])], "unknown",
                                      [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3])],
                                      [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [3])])
            return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("elsewhere", 1)],
                                     ir_version=7)
        self.assertEqual(self.compare(model("a", 1), model("b", 1))[1]["verdict"], "equal")
        process, report = self.compare(model("a", 1), model("a", 2))
        self.assert_fails(process, 1, "not shown to be equal")
        self.assertEqual(report["verdict"], "not shown")

    def test_large_models_are_evaluated_by_the_definitions_as_often_as_a_count_of_multiply_adds_allows(self):
        def model(factor, rows):
            nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Tanh", ["p"], ["s"])]
            if factor is None:
                nodes += [helper.make_node("Add", ["s", "s"], ["d"]), helper.make_node("Sin", ["d"], ["y"])]
            else:
                nodes += [helper.make_node("Sin", ["s"], ["a"]), helper.make_node("Cos", ["s"], ["c"]),
                          helper.make_node("Mul", ["a", "c"], ["m"]), helper.make_node("Mul", ["m", "f"], ["y"])]
            tensors = {"w": numpy.eye(1024, dtype=numpy.float32), "f": numpy.float32(factor or 0)}
            return self.model_of(nodes, tensors, [rows, 1024])
        process, report = self.compare(model(None, 8), model(2, 8))
        self.assertEqual(report["verdict"], "not shown", process.stdout)
        self.assertIn("equal on 6 inputs by the definitions", report["evaluation"])
        process, report = self.compare(model(None, 512), model(2, 512))
        self.assertEqual(report["verdict"], "not shown", process.stdout)
        self.assertIn("multiply-adds, of at most 1e+09", report["evaluation"])
        self.assertNotEqual(self.compare(model(None, 512), model(2.5, 512))[1]["verdict"], "equal")

    def test_a_default_that_one_model_spells_out_does_not_matter(self):
        def model(**attributes):
            nodes = [helper.make_node("Selu", ["x"], ["t"]), helper.make_node("ThresholdedRelu", ["t"], ["u"], **attributes),
                     helper.make_node("Relu", ["u"], ["y"])]
            graph = helper.make_graph(nodes, "defaults", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3])],
                                      [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [3])])
            return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
        self.assertEqual(self.compare(model(), model(alpha=1.0))[1]["verdict"], "equal")
        self.assertNotEqual(self.compare(model(), model(alpha=0.5))[1]["verdict"], "equal")

    def test_weights_of_types_without_algebra_are_compared_by_content(self):
        def model(value):
            nodes = [helper.make_node("Cast", ["k"], ["t"], to=onnx.TensorProto.FLOAT), helper.make_node("Add", ["x", "t"], ["y"])]
            graph = helper.make_graph(nodes, "bytes", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3])],
                                      [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [3])],
                                      [onnx.numpy_helper.from_array(numpy.array([1, 2, value], numpy.uint8), "k")])
            return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
        self.assertEqual(self.compare(model(3), model(3))[1]["verdict"], "equal")
        self.assertNotEqual(self.compare(model(3), model(4))[1]["verdict"], "equal")

    def test_outputs_of_other_shapes_are_different_by_their_shapes(self):
        def model(width):
            graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "width",
                                      [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 5])],
                                      [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", width])],
                                      [onnx.numpy_helper.from_array(numpy.ones((5, width), numpy.float32), "w")])
            return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
        process, report = self.compare(model(4), model(3))
        self.assertEqual(report["verdict"], "different")
        self.assertEqual(report["refutation"]["output"], {"value": "y", "shapes": "[3, 4] became [3, 3]"})
        self.assertIn("batch = 3\noutput: value y: [3, 4] became [3, 3]\n", process.stdout)

    def test_other_names_are_paired_by_position_and_other_types_are_one_clear_line(self):
        before, after = self.model(1), self.model(1)
        after.graph.input[0].name = "z"
        for node in after.graph.node:
            node.input[:] = ["z" if name == "x" else name for name in node.input]
        process, report = self.compare(before, after)
        self.assertEqual((report["verdict"], report["by_position"]), ("equal", True))
        self.assertIn("paired by position", process.stdout)
        after.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 3
        process = rulemill("equal", self.save("before.onnx", before), self.save("after.onnx", after), "--rules", self.rules)
        self.assert_fails(process, 3, "different inputs", "x: FLOAT[2, 4, 6, 6]", "z: FLOAT[3, 4, 6, 6]")

    def two_outputs(self, inputs, outputs, dims, functions):
        nodes = [helper.make_node(function, [name], [output]) for function, name, output in zip(functions, inputs, outputs)]
        values = [[helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [dim]) for name, dim in zip(names, dims)] for names in (inputs, outputs)]
        return helper.make_model(helper.make_graph(nodes, "g", *values), opset_imports=[helper.make_opsetid("", 13)], ir_version=7)

    def test_outputs_of_other_names_are_paired_by_position_and_names_of_dimensions_do_not_matter(self):
        before = self.two_outputs(["x", "z"], ["p", "q"], ["n", "m"], ["Tanh", "Neg"])
        expected = {"equal": (["a", "b"], ["u", "v"], ["m", "n"], ["Tanh", "Neg"]), "different": (["a", "b"], ["u", "v"], ["k", "n"], ["Neg", "Tanh"])}
        for verdict, after in expected.items():
            self.assertEqual(self.compare(before, self.two_outputs(*after))[1]["verdict"], verdict)
        exchanged = self.two_outputs(["z", "x"], ["q", "p"], ["m", "n"], ["Neg", "Tanh"])  # names decide
        self.assertEqual(self.compare(before, exchanged)[1]["verdict"], "equal")
        one = self.two_outputs(["a", "b"], ["u", "v"], ["n", "n"], ["Tanh", "Neg"])
        process = rulemill("equal", self.save("before.onnx", before), self.save("after.onnx", one), "--rules", self.rules)
        self.assert_fails(process, 3, "different inputs")

    def test_notes_on_nodes_and_the_opset_do_not_matter(self):
        def model(opset, note):
            node = helper.make_node("ReverseSequence", ["x", "n"], ["y"], batch_axis=1, time_axis=0)
            if note:
                node.metadata_props.add(key="place", value=note)
            graph = helper.make_graph([node], "graph",
                                      [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4, 3]), helper.make_tensor_value_info("n", onnx.TensorProto.INT64, [3])],
                                      [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4, 3])])
            return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        for after in (model(13, ""), model(13, "line 7"), model(20, "line 7")):
            self.assertEqual(self.compare(model(13, "line 3"), after)[1]["verdict"], "equal")

    def test_a_time_limit_leaves_what_is_not_shown(self):
        def model(*nodes):
            graph = helper.make_graph(
                [helper.make_node("Conv", ["x", "w"], ["c"]), *nodes,
                 *(helper.make_node("Tanh", [f"t{k}"], [f"t{k + 1}" if k < 99 else "y"]) for k in range(100))], "slow",
                [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 32, 98, 98])],
                [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 32, 96, 96])],
                [onnx.numpy_helper.from_array(numpy.ones([32, 32, 3, 3], numpy.float32), "w"),
                 onnx.numpy_helper.from_array(numpy.float32(1.0000001), "s")])
            return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
        process, report = self.compare(model(helper.make_node("Tanh", ["c"], ["t0"])),
                                       model(helper.make_node("Mul", ["c", "s"], ["d"]), helper.make_node("Tanh", ["d"], ["t0"])),
                                       "--time-limit", "1")
        self.assertEqual((process.returncode, report["verdict"]), (1, "not shown"), process.stdout)
        self.assertIn("time limit of 1 s", report["evaluation"])
        self.assertLess(report["seconds"], 4)

    def test_planted_mistakes_are_never_called_equal(self):
        random = numpy.random.default_rng(ARGUMENTS.seed)
        verdicts, done = collections.Counter(), 0
        while done < ARGUMENTS.mutations:
            model = planted.ModelMaker(random).model()
            before = self.save("original.onnx", model)
            optimized = self.folder / "optimized.onnx"
            self.assert_works(rulemill("optimize", before, "--rules", self.rules, "--out", optimized, "--no-benchmark",
                                       "--min-gain", "0", "--verifier", "definitions"))
            mutated = planted.mutate(onnx.load(optimized), random)
            if mutated is None:
                continue
            done += 1
            process, report = self.compare(model, mutated[0])
            verdicts[report["verdict"]] += 1
            self.assertNotEqual(report["verdict"], "equal", mutated[1] + "\n" + process.stdout)
        print(dict(verdicts))
        self.assertGreaterEqual(verdicts["different"], 0.99 * done)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutations", type=int, default=ARGUMENTS.mutations)
    parser.add_argument("--seed", type=int, default=ARGUMENTS.seed)
    parser.parse_known_args(namespace=ARGUMENTS)
    unittest.main(argv=sys.argv[:1])
