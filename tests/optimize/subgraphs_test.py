#!/usr/bin/env python3
"""Subgraphs are optimized as graphs of their own, with their captured values; the rest of the model is unchanged."""

import unittest

import numpy as np
import onnx
from binary import Case, rulemill
from onnx import TensorProto, helper, numpy_helper

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

RULES = """
rule associate(x:2, a:2, b:2)
  matmul(matmul(x, a), b) => matmul(x, matmul(a, b))
rule distribute(x:2, a:2, b:2)
  add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))
"""
WIDTH = 32


def weights(*names):
    random = np.random.default_rng(len(names))
    shapes = {"W": (WIDTH, WIDTH), "A": (WIDTH, 4), "B": (4, WIDTH)}
    return [numpy_helper.from_array(random.standard_normal(shapes[name[0]]).astype(np.float32), name) for name in names]


def adapter(x, y, prefix=""):
    """x·W + (x·A)·B with captured weights."""
    name = lambda part: f"{prefix}{part}"
    return [helper.make_node("MatMul", [x, "W"], [name("base")]), helper.make_node("MatMul", [x, "A"], [name("down")]),
            helper.make_node("MatMul", [name("down"), "B"], [name("up")]), helper.make_node("Add", [name("base"), name("up")], [y])]


def value(name, shape=("rows", WIDTH), kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, initializers, outputs=None, opset=17):
    graph = helper.make_graph(nodes, "outer", inputs, outputs or [value("y")], initializers)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    return made


def choice(then, other):
    return helper.make_node("If", ["which"], ["y"], name="choice", then_branch=then, else_branch=other)


def choice_model():
    then = helper.make_graph(adapter("x", "then_y", "then_"), "then", [], [value("then_y")])
    other = helper.make_graph([helper.make_node("Relu", ["x"], ["else_y"])], "else", [], [value("else_y")])
    return model([choice(then, other)], [value("x"), value("which", [], TensorProto.BOOL)], weights("W", "A", "B"))


def loop_model():
    """Five rounds of s := tanh(s·W + (s·A)·B) / 8."""
    nodes = adapter("s", "sum") + [helper.make_node("Tanh", ["sum"], ["bent"]), helper.make_node("Mul", ["bent", "eighth"], ["next"]),
                                   helper.make_node("Identity", ["go"], ["go_on"])]
    body = helper.make_graph(nodes, "round", [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("s")],
                             [value("go_on", [], TensorProto.BOOL), value("next")])
    constants = [numpy_helper.from_array(np.array(5, np.int64), "rounds"), numpy_helper.from_array(np.array(True), "yes"),
                 numpy_helper.from_array(np.array(0.125, np.float32), "eighth")]
    loop = helper.make_node("Loop", ["rounds", "yes", "x"], ["y"], name="loop", body=body)
    return model([loop], [value("x")], weights("W", "A", "B") + constants)


def scan_model():
    """The adapter on each element of a sequence; the state is the sum."""
    nodes = adapter("element", "row") + [helper.make_node("Add", ["state", "row"], ["new_state"]),
                                         helper.make_node("Identity", ["row"], ["out"])]
    body = helper.make_graph(nodes, "step", [value("state"), value("element")], [value("new_state"), value("out")])
    scan = helper.make_node("Scan", ["x", "sequence"], ["last", "y"], name="scan", num_scan_inputs=1, body=body)
    return model([scan], [value("x"), value("sequence", [7, "rows", WIDTH])], weights("W", "A", "B"),
                 [value("last"), value("y", [7, "rows", WIDTH])])


def nested_model():
    """An If node in a Loop, and values of the outer graph with names such as the exporter uses."""
    then = helper.make_graph(adapter("s", "then_y", "then_"), "then", [], [value("then_y")])
    other = helper.make_graph([helper.make_node("Neg", ["s"], ["else_y"])], "else", [], [value("else_y")])
    nodes = [helper.make_node("If", ["which"], ["chosen"], then_branch=then, else_branch=other),
             helper.make_node("Tanh", ["chosen"], ["next"]), helper.make_node("Identity", ["go"], ["go_on"])]
    body = helper.make_graph(nodes, "round", [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("s")],
                             [value("go_on", [], TensorProto.BOOL), value("next")])
    constants = [numpy_helper.from_array(np.array(3, np.int64), "rounds"), numpy_helper.from_array(np.array(True), "yes"),
                 numpy_helper.from_array(np.full((WIDTH,), 2, np.float32), "rulemill_constant")]
    outer = [helper.make_node("Loop", ["rounds", "yes", "x"], ["looped"], body=body),
             helper.make_node("Mul", ["looped", "rulemill_constant"], ["rulemill_value"]),
             helper.make_node("Add", ["rulemill_value", "W_row"], ["y"])]
    row = numpy_helper.from_array(np.ones(WIDTH, np.float32), "W_row")
    return model(outer, [value("x"), value("which", [], TensorProto.BOOL)], weights("W", "A", "B") + constants + [row])


MODELS = {"choice": choice_model, "loop": loop_model, "scan": scan_model, "nested": nested_model}


def products(graph):
    inner = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return sum(node.op_type == "MatMul" for node in graph.node) + sum(products(body) for body in inner)


class Subgraphs(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "rules.txt").write_text(RULES, encoding="utf-8")
        self.assert_works(rulemill("rules", "import", self.folder / "rules.txt", "--out", self.folder / "rules", "--progress", "off"))

    def optimized(self, made, *more):
        onnx.save(made, self.folder / "in.onnx")
        report = self.json("optimize", self.folder / "in.onnx", "--rules", self.folder / "rules", "--out", self.folder / "out.onnx",
                           "--no-benchmark", *more)
        return report, onnx.load(self.folder / "out.onnx")

    def test_rules_and_nodes_are_explained_in_subgraphs(self):
        onnx.save(loop_model(), self.folder / "in.onnx")
        explained = lambda target: rulemill("optimize", self.folder / "in.onnx", "--rules", self.folder / "rules", "--explain", target)
        self.assertRegex(explained("distribute").stdout, "^At sum in .*in.onnx: graph round of node loop stands Add, read as .*\nRule distribute ")
        self.assertRegex(explained("up").stdout, "^At up in .*\nRule associate")
        self.assert_fails(explained("nowhere"), 2, "no rule and no node of the model is named 'nowhere'")
        self.assert_fails(explained("loop"), 2, "'loop' is opaque")

    def test_a_subgraph_is_optimized_with_its_captured_values(self):
        for name, make in MODELS.items():
            with self.subTest(name):
                report, after = self.optimized(make())
                self.assertTrue(report["changed"])
                self.assertEqual(report["subgraphs"]["changed"], 1)
                self.assertEqual([products(make().graph), products(after.graph)], [3, 1])
                onnx.checker.check_model(after)
                kept = {tensor.name for tensor in after.graph.initializer}
                self.assertFalse(kept & {"W", "A", "B"}, "unused weights remain")

    @unittest.skipIf(onnxruntime is None, "SKIPPED: no onnxruntime")
    def test_onnxruntime_finds_equal_outputs_for_every_branch(self):
        random = np.random.default_rng(1)
        for name, make in MODELS.items():
            self.optimized(make())
            sessions = [onnxruntime.InferenceSession(str(self.folder / f"{which}.onnx"), providers=["CPUExecutionProvider"])
                        for which in ("in", "out")]
            for which in (True, False):
                feeds = {info.name: np.array(which) if info.type == "tensor(bool)" else
                         random.standard_normal([dim if isinstance(dim, int) else 3 for dim in info.shape]).astype(np.float32)
                         for info in sessions[0].get_inputs()}
                with self.subTest(name, which=which):
                    for before, after in zip(*(each.run(None, feeds) for each in sessions)):
                        np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-5)

    def test_a_model_whose_subgraphs_do_not_change_is_copied(self):
        other = [helper.make_graph([helper.make_node(kind, ["x"], [f"{kind}_y"])], kind, [], [value(f"{kind}_y")]) for kind in ("Relu", "Neg")]
        made = model([choice(*other)], [value("x"), value("which", [], TensorProto.BOOL)], [])
        report, _ = self.optimized(made)
        self.assertFalse(report["changed"])
        self.assertEqual(report["subgraphs"], {"searched": 2, "changed": 0})
        self.assertEqual((self.folder / "out.onnx").read_bytes(), (self.folder / "in.onnx").read_bytes())


if __name__ == "__main__":
    unittest.main()
