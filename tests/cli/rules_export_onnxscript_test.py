#!/usr/bin/env python3
"""`rulemill rules export --format onnxscript`: the module, run by onnxscript's rewriter on models."""

import importlib.util
import shutil
import pathlib
import sys
import tempfile
import unittest

from binary import ROOT, Case, rulemill

HAS_ONNXSCRIPT = all(importlib.util.find_spec(name) for name in ("onnxscript", "onnxruntime"))
if HAS_ONNXSCRIPT:
    import numpy
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

RULES = ROOT / "tests" / "cli" / "exported.rules"
BATCH, SEQ = "batch", "seq"  # open sizes
SIZES = {BATCH: 3, SEQ: 5}


def weight(name, *shape):
    random = numpy.random.default_rng(sum(map(ord, name)))
    return numpy_helper.from_array(random.standard_normal(shape).astype(numpy.float32), name)


def model(nodes, inputs, outputs, weights=(), kind=None, opset=20):
    """A checked model; each node is (operator, inputs, output or outputs, attributes)."""
    kind = kind or TensorProto.FLOAT
    infos = [[helper.make_tensor_value_info(name, kind, shape) for name, shape in each.items()] for each in (inputs, outputs)]
    made = [helper.make_node(op, ins.split(), outs.split(), **(rest[0] if rest else {})) for op, ins, outs, *rest in nodes]
    graph = helper.make_graph(made, "graph", *infos, list(weights))
    result = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.checker.check_model(result, full_check=True)
    return result


def operators(of):
    return [node.op_type for node in of.graph.node if node.op_type not in ("Constant", "Identity")]


def run(of, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    return onnxruntime.InferenceSession(of.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)


@unittest.skipUnless(HAS_ONNXSCRIPT, "SKIPPED: onnxscript or onnxruntime is not installed")
class Onnxscript(Case):
    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="rulemill-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.database = cls.shared / "rules.rmdb"
        process = rulemill("rules", "import", RULES, "--out", cls.database)
        if process.returncode != 0:
            raise AssertionError(process.stdout + process.stderr)
        cls.cheaper = cls.load("cheaper")

    @classmethod
    def load(cls, name, *options):
        path = cls.shared / f"exported_{name}.py"
        process = rulemill("rules", "export", cls.database, path, "--format", "onnxscript", *options)
        if process.returncode != 0:
            raise AssertionError(process.stdout + process.stderr)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def rewrite(self, before, module=None, rounds=20):
        """Rewrites the model, compares the outputs of both, and returns the operators of the result."""
        after = (module or self.cheaper).rewrite_model(before, rounds)
        random = numpy.random.default_rng(1)
        feeds = {}
        for value in before.graph.input:
            shape = [SIZES.get(dim.dim_param, dim.dim_value) for dim in value.type.tensor_type.shape.dim]
            dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            feeds[value.name] = (3 * random.standard_normal(shape)).astype(dtype)
        for expected, found in zip(run(before, feeds), run(after, feeds), strict=True):
            scale = max(1.0, float(numpy.max(numpy.abs(expected))))
            self.assertLess(float(numpy.max(numpy.abs(expected - found))) / scale, 1e-5)
        return operators(after)

    def assert_kept(self, before, module=None):
        self.assertEqual(self.rewrite(before, module), operators(before))

    def test_products_with_open_sizes_are_merged(self):
        nodes = [("MatMul", "x a", "p"), ("MatMul", "x b", "q"), ("Add", "q p", "y")]
        shapes = {"x": [BATCH, SEQ, 8]}, {"y": [BATCH, SEQ, 4]}
        self.assertEqual(self.rewrite(model(nodes, *shapes, [weight("a", 8, 4), weight("b", 8, 4)])), ["Add", "MatMul"])

    def test_products_of_two_and_of_four_dimensions_are_merged(self):
        nodes = [("MatMul", "x a", "p"), ("MatMul", "x b", "q"), ("Add", "p q", "y")]
        for front in ([], [2, 3]):
            inputs = {"x": [*front, 6, 8], "a": [*front, 8, 4], "b": [*front, 8, 4]}
            self.assertEqual(self.rewrite(model(nodes, inputs, {"y": [*front, 6, 4]})), ["Add", "MatMul"])

    def test_grouped_and_strided_convolutions_are_merged(self):
        for group, stride in ((1, 1), (2, 2), (8, 3)):
            form = {"pads": [1, 1, 1, 1], "strides": [stride, stride], "group": group}
            nodes = [("Conv", "x k", "p", form), ("Conv", "x l", "q", form), ("Add", "p q", "y")]
            weights = [weight("k", 16, 8 // group, 3, 3), weight("l", 16, 8 // group, 3, 3)]
            before = model(nodes, {"x": [BATCH, 8, 9, 9]}, {"y": [BATCH, 16, 8 // stride + 1, 8 // stride + 1]}, weights)
            self.assertEqual(self.rewrite(before), ["Add", "Conv"])

    def test_a_residual_block_keeps_its_other_nodes(self):
        form = {"pads": [1, 1, 1, 1]}
        nodes = [("Conv", "x k", "p", form), ("Conv", "x l", "q", form), ("Add", "p q", "s"), ("Relu", "s", "r"),
                 ("Relu", "r", "t"), ("Add", "t x", "y")]
        weights = [weight("k", 8, 8, 3, 3), weight("l", 8, 8, 3, 3)]
        before = model(nodes, {"x": [BATCH, 8, 5, 5]}, {"y": [BATCH, 8, 5, 5]}, weights)
        self.assertEqual(self.rewrite(before), ["Add", "Conv", "Relu", "Add"])

    def test_poolings_are_merged(self):
        form = {"kernel_shape": [3, 3], "strides": [2, 2]}
        nodes = [("AveragePool", "x", "p", form), ("AveragePool", "z", "q", form), ("Add", "p q", "y")]
        before = model(nodes, {"x": [BATCH, 4, 9, 9], "z": [BATCH, 4, 9, 9]}, {"y": [BATCH, 4, 4, 4]})
        self.assertEqual(self.rewrite(before, self.only("sums_pools")), ["Add", "AveragePool"])

    def test_an_output_can_become_an_input(self):
        turn = {"perm": [1, 0]}
        before = model([("Transpose", "x", "t", turn), ("Transpose", "t", "y", turn)], {"x": [SEQ, 8]}, {"y": [SEQ, 8]})
        self.assertEqual(self.rewrite(before), [])

    def test_one_transpose_instead_of_two(self):
        turn = {"perm": [1, 0]}
        nodes = [("Transpose", "x", "t", turn), ("Transpose", "a", "u", turn), ("MatMul", "u t", "y")]
        before = model(nodes, {"x": [3, 64], "a": [64, 5]}, {"y": [5, 3]})
        self.assertEqual(self.rewrite(before, self.only("transposes_product")), ["MatMul", "Transpose"])

    def test_halves_are_joined_by_their_sizes(self):
        module = self.only("joins_halves")
        sizes = numpy_helper.from_array(numpy.array([3, 5]), "sizes")
        for order, expected in (("a b", []), ("b a", ["Split", "Concat"])):
            nodes = [("Split", "x sizes", "a b", {"axis": 1}), ("Concat", order, "y", {"axis": -1})]
            self.assertEqual(self.rewrite(model(nodes, {"x": [SEQ, 8]}, {"y": [SEQ, 8]}, [sizes]), module), expected)

    def test_one_value_per_row_is_told_from_one_tensor(self):  # wording: allow
        nodes = [("Add", "x b", "p"), ("Sub", "p b", "y")]
        self.assertEqual(self.rewrite(model(nodes, {"x": [BATCH, 8], "b": [BATCH, 1]}, {"y": [BATCH, 8]})), [])
        self.assert_kept(model(nodes, {"x": [3, 8], "b": [1, 8]}, {"y": [3, 8]}))

    def test_several_outputs_are_merged_unless_one_feeds_the_other(self):
        nodes = [("MatMul", "x a", "p"), ("MatMul", "x b", "q")]
        before = model(nodes, {"x": [6, 8]}, {"p": [6, 4], "q": [6, 3]}, [weight("a", 8, 4), weight("b", 8, 3)])
        self.assertEqual(self.rewrite(before, self.only("merges")), ["Concat", "MatMul", "Split"])
        chained = model([("MatMul", "x a", "p"), ("MatMul", "x p", "q")], {"x": [8, 8]}, {"p": [8, 8], "q": [8, 8]},
                        [weight("a", 8, 8)])
        self.assert_kept(chained, self.only("merges"))

    def only(self, name):
        """The module with one class of rules."""
        module = self.load(name, "--all")
        module.RULES = [rule for rule in module.RULES if rule.__name__.partition("_form")[0] == name]
        self.assertGreater(len(module.RULES), 0)
        return module

    def test_rules_are_not_applied_where_they_do_not_hold(self):
        sums = [("MatMul", "x a", "p"), ("MatMul", "x b", "q"), ("Add", "p q", "y")]
        integers = model(sums, {"x": [6, 8], "a": [8, 4], "b": [8, 4]}, {"y": [6, 4]}, kind=TensorProto.INT32)
        broadcast = model(sums, {"x": [6, 8], "a": [8, 4], "b": [8, 1]}, {"y": [6, 4]})
        dilated = [("Conv", "x k", "p", {"pads": [2, 2, 2, 2], "dilations": [2, 2]}), ("Conv", "x l", "q", {"pads": [1, 1, 1, 1]}),
                   ("Add", "p q", "y")]
        dilated = model(dilated, {"x": [2, 8, 9, 9]}, {"y": [2, 8, 9, 9]}, [weight("k", 8, 8, 3, 3), weight("l", 8, 8, 3, 3)])
        other_kernels = [("Conv", "x k", "p", {"pads": [1, 1, 1, 1]}), ("Conv", "x l", "q"), ("Add", "p q", "y")]
        other_kernels = model(other_kernels, {"x": [2, 8, 9, 9]}, {"y": [2, 8, 9, 9]},
                              [weight("k", 8, 8, 3, 3), weight("l", 8, 8, 1, 1)])
        used_twice = model([*sums, ("Relu", "p", "z")], {"x": [6, 8], "a": [8, 4], "b": [8, 4]}, {"y": [6, 4], "z": [6, 4]})
        for before in (integers, broadcast, dilated, other_kernels, used_twice):
            self.assert_kept(before)

    def test_models_of_opset_13_and_17_are_rewritten(self):
        sums = [("MatMul", "x a", "p"), ("MatMul", "x b", "q"), ("Add", "p q", "y")]
        for opset in (13, 17):
            before = model(sums, {"x": [6, 8]}, {"y": [6, 4]}, [weight("a", 8, 4), weight("b", 8, 4)], opset=opset)
            self.assertEqual(self.rewrite(before), ["Add", "MatMul"])

    def test_unknown_ranks_and_old_opsets_are_left(self):
        sums = [("MatMul", "x a", "p"), ("MatMul", "x b", "q"), ("Add", "p q", "y")]
        weights = [weight("a", 8, 4), weight("b", 8, 4)]
        old = model(sums, {"x": [6, 8]}, {"y": [6, 4]}, weights, opset=12)
        self.assert_kept(old)
        unknown = model(sums, {"x": [6, 8]}, {"y": [6, 4]}, weights)
        unknown.graph.input[0].type.tensor_type.ClearField("shape")
        self.assertEqual(operators(self.cheaper.rewrite_model(unknown)), operators(unknown))

    def test_each_rule_is_exported_or_skipped_with_a_reason(self):
        report = self.json("rules", "export", self.database, self.folder / "rules.py", "--format", "onnxscript")
        skipped = {entry["rule"]: entry["reason"] for entry in report["skipped"]}
        names = {name.removesuffix("_reversed") for name in [*report["rules"], *skipped]}
        self.assertEqual(len(names), RULES.read_text().count("\nrule "))
        self.assertIn("add_channel has no ONNX form", skipped["adds_channels"])
        self.assertIn("the sizes decide", skipped["associates"])
        self.assertIn("adds_channels", (self.folder / "rules.py").read_text().split('"""')[0])
        process = rulemill("rules", "export", self.database, self.folder / "all.py", "--format", "onnxscript", "--all")
        self.assert_works(process)
        self.assertIn("class associates(Rule)", (self.folder / "all.py").read_text())

    def test_options_of_other_forms_are_refused(self):
        words = ["rules", "export", self.database, self.folder / "out"]
        self.assert_fails(rulemill(*words, "--all"), 2, "--all")
        self.assert_fails(rulemill(*words, "--format", "onnxscript", "--goals", RULES), 2, "--goals")
        self.assert_fails(rulemill(*words, "--format", "taso", "--canonical"), 2, "--canonical")


if __name__ == "__main__":
    unittest.main()
