#!/usr/bin/env python3
"""Rules that only widen rewrite models from left to right; no command takes them for equations."""

import unittest

from binary import ROOT, Case, rulemill

try:
    import numpy
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper
except ImportError:
    onnx = None

RULES = ROOT / "data" / "rules" / "stated.rules"


def chain(*nodes):
    """A model of nodes (operator, inputs, output) from x and z to y."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [6, 7]) for name in ("x", "z", "y")]
    graph = helper.make_graph([helper.make_node(op, inputs, [output]) for op, inputs, output in nodes], "g", values[:2], values[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@unittest.skipIf(onnx is None, "SKIPPED: onnx is not installed (scripts/install-debian.sh)")
class Widening(Case):
    def setUp(self):
        super().setUp()
        self.rules, self.model, self.result = (self.folder / name for name in ("rules.rmdb", "model.onnx", "result.onnx"))
        self.assert_works(rulemill("rules", "import", RULES, "--out", self.rules))
        self.more, text = self.folder / "more.rmdb", self.folder / "more.rules"
        text.write_text(RULES.read_text() + "rule scaled_product(x[m, k], y[m, 1], w[k, n])\n  mul_column(matmul(div_column(x, y), w), y)"
                        " => matmul(mul_column(div_column(x, y), y), w)\n")
        self.assert_works(rulemill("rules", "import", text, "--out", self.more))

    def optimized(self, *nodes):
        """The operators of the result, and the report."""
        onnx.save(chain(*nodes), self.model)
        report = self.json("optimize", self.model, "--rules", self.rules, "--out", self.result, "--no-benchmark", "--min-gain", 0,
                           "--proof", self.folder / "proof")
        return [node.op_type for node in onnx.load(self.result).graph.node], report

    def report(self):
        process = rulemill("optimize", self.model, "--rules", self.rules, "--no-benchmark", "--min-gain", 0)
        self.assert_works(process)
        return process.stdout

    def test_models_are_rewritten_and_no_proof_is_written(self):
        for nodes, expected in (
                ([("Add", ["x", "z"], "a"), ("Log", ["a"], "b"), ("Exp", ["b"], "y")], ["Add"]),
                ([("Add", ["x", "z"], "a"), ("Sqrt", ["a"], "b"), ("Div", ["a", "b"], "y")], ["Add", "Sqrt"]),
                ([("Log", ["x"], "a"), ("Log", ["z"], "b"), ("Sub", ["a", "b"], "c"), ("Exp", ["c"], "y")], ["Div"])):
            with self.subTest(nodes=nodes):
                found, report = self.optimized(*nodes)
                self.assertEqual(found, expected)
                self.assertEqual(report["proof"].get("bytes", 0), 0)
                self.assertTrue(all("->" in fired["text"] for fired in report["fired"]))
                self.assertNotEqual(rulemill("equal", self.model, self.result, "--rules", self.rules).returncode, 0)

    def compared(self, nodes, outputs, shapes=([6, 6], [6, 6], [6, 6]), kinds=None):
        """The rules that fired for a model of nodes (operator, inputs, output) from x, z and w. Its result must have the numbers of the
        model, and be infinite where that is, on inputs with zeros and negative numbers; it may have others where the model has NaN."""
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in zip("xzw", shapes)]
        results = [helper.make_tensor_value_info(name, (kinds or {}).get(name, TensorProto.FLOAT), None) for name in outputs]
        made = [helper.make_node(op, inputs, [output], **attributes) for op, inputs, output, attributes in nodes]
        zeros = [helper.make_tensor("zero", TensorProto.FLOAT, [], [0.0])] if any("zero" in node.input for node in made) else []
        onnx.save(helper.make_model(helper.make_graph(made, "g", values, results, zeros),
                                    opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.model)
        report = self.json("optimize", self.model, "--rules", self.more, "--out", self.result, "--no-benchmark", "--min-gain", 0)
        sessions = [onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]) for path in (self.model, self.result)]
        generator = numpy.random.default_rng(5)
        for number in range(8):
            feeds = {info.name: generator.uniform((-1, 0)[number % 2], 1, info.shape) for info in sessions[0].get_inputs()}
            feeds = {name: numpy.where(generator.random(drawn.shape) < 0.3, 0, drawn).astype(numpy.float32) for name, drawn in feeds.items()}
            for before, after in zip(*(session.run(None, feeds) for session in sessions)):
                known = ~numpy.isnan(before) if before.dtype.kind == "f" else numpy.ones(before.shape, bool)
                numpy.testing.assert_allclose(after[known], before[known], rtol=1e-4, atol=1e-5)
        return [fired["rule"].split("@")[0] for fired in report["fired"] if "->" in fired["text"]]

    def test_the_report_says_where_a_result_is_proved_and_compared(self):
        onnx.save(chain(("Add", ["x", "z"], "a"), ("Log", ["a"], "b"), ("Exp", ["b"], "y")), self.model)
        text = self.report()
        self.assertIn("proved where the model is defined", text)
        self.assertEqual(text.count("\nverified by"), text.count("random inputs where the model is not NaN"), text)
        onnx.save(chain(("Add", ["x", "z"], "a"), ("Relu", ["a"], "b"), ("Relu", ["b"], "y")), self.model)
        self.assertNotIn("NaN", self.report())

    def test_a_number_of_an_undefined_value_may_differ_as_negative_zeros_show(self):
        found, report = self.optimized(("Log", ["x"], "a"), ("Log", ["z"], "b"), ("Sub", ["a", "b"], "c"), ("Exp", ["c"], "y"))
        self.assertEqual((found, [fired["widens"] for fired in report["fired"]]), (["Div"], [True]))
        self.assertEqual({each["verdict"] for each in report["verification"]["verifiers"]}, {"equal where defined"})
        x, z = numpy.full([6, 7], 2, numpy.float32), numpy.full([6, 7], 4, numpy.float32)
        z[0, :3] = [-0.0, 0, -1]  # log(-0) is undefined; the operator returns -infinity
        before, after = (onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": x, "z": z})[0]
                         for path in (self.model, self.result))
        numpy.testing.assert_array_equal(before[0, :3], [numpy.inf, numpy.inf, numpy.nan])
        numpy.testing.assert_array_equal(after[0, :3], [-numpy.inf, numpy.inf, -2])
        numpy.testing.assert_allclose(before[1:], after[1:], rtol=1e-5)

    def test_a_model_that_masks_keeps_its_numbers(self):
        divided = [("Div", ["x", "z"], "d", {}), ("MatMul", ["d", "w"], "p", {}), ("Mul", ["p", "z"], "q", {}), ("MatMul", ["x", "w"], "r", {}),
                   ("Equal", ["z", "zero"], "m", {})]
        shapes = ([6, 6], [6, 1], [6, 6])
        self.assertEqual(self.compared([*divided, ("Where", ["m", "r", "q"], "y", {})], ["y"], shapes), [])
        self.assertEqual(self.compared([*divided, ("Where", ["m", "zero", "q"], "y", {})], ["y", "r"], shapes), [])
        quotient = [("Div", ["x", "z"], "d", {}), ("Mul", ["d", "z"], "q", {}), ("Equal", ["z", "zero"], "m", {})]
        self.compared([*quotient, ("Where", ["m", "w", "q"], "y", {})], ["y"])
        self.compared([*quotient, ("Where", ["m", "w", "q"], "s", {}), ("MatMul", ["s", "w"], "y", {})], ["y", "d"])

    def test_outputs_that_share_a_value_keep_their_numbers(self):
        quotient = [("Div", ["x", "z"], "d", {}), ("Mul", ["d", "z"], "q", {})]
        found = self.compared([*quotient, ("MatMul", ["q", "w"], "y", {}), ("Add", ["q", "w"], "s", {})], ["q", "y", "s", "d"])
        self.assertEqual(found, ["quotient_multiplied"])

    def test_what_observes_an_undefined_value_prevents_them(self):
        quotient = [("Div", ["x", "z"], "d", {}), ("Mul", ["d", "z"], "q", {})]
        for op, attributes, kind in (("IsNaN", {}, TensorProto.BOOL), ("IsInf", {}, TensorProto.BOOL), ("Relu", {}, TensorProto.FLOAT),
                                     ("Cast", {"to": TensorProto.INT32}, TensorProto.INT32), ("Sign", {}, TensorProto.FLOAT),
                                     ("ReduceMax", {"axes": [1]}, TensorProto.FLOAT), ("ArgMax", {"axis": 1}, TensorProto.INT64)):
            with self.subTest(op=op):
                self.assertEqual(self.compared([*quotient, (op, ["q"], "y", attributes)], ["y"], kinds={"y": kind}), [])
                self.assertEqual(self.compared([*quotient, ("Add", ["q", "w"], "a", {}), (op, ["a"], "y", attributes)], ["y", "q"],
                                               kinds={"y": kind}), [])
        for op in ("Less", "Equal", "GreaterOrEqual"):
            with self.subTest(op=op):
                self.assertEqual(self.compared([*quotient, (op, ["q", "w"], "y", {})], ["y"], kinds={"y": TensorProto.BOOL}), [])
        for op in ("Max", "Min"):
            self.assertEqual(self.compared([*quotient, (op, ["q", "w"], "y", {})], ["y"]), [])
        for op in ("Sigmoid", "Tanh", "Exp", "Erf", "Reciprocal", "Softmax"):  # finite at an infinite value, or not for a zero of either sign
            with self.subTest(op=op):
                self.assertEqual(self.compared([*quotient, (op, ["q"], "y", {})], ["y"]), [])
                self.assertEqual(self.compared([*quotient, ("MatMul", ["q", "w"], "p", {}), (op, ["p"], "y", {})], ["y"]), [])
        self.assertEqual(self.compared([*quotient, ("Div", ["w", "q"], "y", {})], ["y"]), [])
        for op in ("Neg", "Abs", "Sqrt", "Log", "Transpose"):
            with self.subTest(op=op):
                self.assertEqual(self.compared([*quotient, (op, ["q"], "y", {})], ["y"]), ["quotient_multiplied"])

    def test_an_observer_that_an_equation_removes_prevents_them(self):
        text, merged = "rule same(x[d...], c[d...])\n  choose(equal_to(x, x), x, c) => x\n", self.folder / "same.rules"
        merged.write_text(text + RULES.read_text())
        self.assert_works(rulemill("rules", "import", merged, "--out", self.more))
        chosen = [("Log", ["x"], "a", {}), ("Exp", ["a"], "e", {}), ("Equal", ["e", "e"], "m", {}), ("Where", ["m", "e", "z"], "y", {})]
        self.assertEqual(self.compared([*chosen[:2], ("Add", ["e", "z"], "y", {})], ["y"]), ["exponential_of_logarithm"])
        onnx.save(chain(*(each[:3] for each in chosen)), self.model)
        report = self.json("optimize", self.model, "--rules", self.more, "--out", self.result, "--no-benchmark", "--min-gain", 0)
        self.assertFalse(any(fired["widens"] for fired in report["fired"]), report["fired"])

    def test_what_observes_a_value_is_in_a_subgraph(self):
        branches = [helper.make_graph([helper.make_node("IsNaN" if name == "tests" else "Cast", ["q"], ["r"], **attributes)], name, [],
                                      [helper.make_tensor_value_info("r", TensorProto.BOOL, None)])
                    for name, attributes in (("tests", {}), ("casts", {"to": TensorProto.BOOL}))]
        quotient = [("Div", ["x", "z"], "d", {}), ("Mul", ["d", "z"], "q", {}), ("ReduceSum", ["w"], "s", {"keepdims": 0})]
        chosen = [("Greater", ["s", "zero"], "c", {}), ("If", ["c"], "y", {"then_branch": branches[0], "else_branch": branches[1]})]
        self.assertEqual(self.compared([*quotient, *chosen], ["y"], kinds={"y": TensorProto.BOOL}), [])

    def test_what_observes_a_value_is_in_another_window(self):
        chain = [(("Abs", "Neg")[i % 2], [f"t{i}"], f"t{i + 1}", {}) for i in range(60)]
        quotient = [("Div", ["x", "z"], "d", {}), ("Mul", ["d", "z"], "t0", {}), *chain]
        self.assertEqual(self.compared([*quotient, ("IsNaN", ["t60"], "y", {})], ["y"], kinds={"y": TensorProto.BOOL}), [])
        self.assertEqual(self.compared([*quotient, ("Neg", ["t60"], "y", {})], ["y"]), ["quotient_multiplied"])

    def test_nothing_is_narrowed(self):
        for nodes in ([("Add", ["x", "z"], "a"), ("Sqrt", ["a"], "y")], [("Div", ["x", "z"], "y")], [("Mul", ["x", "z"], "y")]):
            with self.subTest(nodes=nodes):
                found, report = self.optimized(*nodes)
                self.assertEqual((found, report["changed"]), ([op for op, _, _ in nodes], False))

    def test_equations_are_not_derived_from_them(self):
        goals = self.folder / "goals.rules"
        goals.write_text("rule same(x[m, n]) exp(log(x)) => x\nrule reversed(x[m, n]) x => exp(log(x))\n"
                         "rule within(x[m, n], y[n, k]) matmul(exp(log(x)), y) => matmul(x, y)\n")
        found = self.json("derive", "--from", self.rules, goals, code=1)["rules"]
        self.assertEqual([rule["result"] for rule in found], ["not derived"] * 3)

    def test_other_systems_get_none_of_them(self):
        for form, suffix in (("egglog", "egg"), ("pdl", "mlir"), ("onnxscript", "py"), ("taso", "pb")):
            report = self.json("rules", "export", self.rules, self.folder / f"rules.{suffix}", "--format", form)
            reasons = [skipped["reason"] for skipped in report["skipped"]]
            self.assertEqual(reasons.count("it only widens"), RULES.read_text().count("->"), form)
        text = self.folder / "text.rules"
        self.assert_works(rulemill("rules", "export", self.rules, text))
        self.assertEqual(text.read_text().count("->"), RULES.read_text().count("->"))
        self.assert_works(rulemill("check", self.rules))


if __name__ == "__main__":
    unittest.main()
