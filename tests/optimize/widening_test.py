#!/usr/bin/env python3
"""Rules that only widen rewrite models from left to right; no command takes them for equations."""

import unittest

from binary import ROOT, Case, rulemill

try:
    import onnx
    from onnx import TensorProto, helper
except ImportError:
    onnx = None

RULES = ROOT / "data" / "rules" / "widening.rules"


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

    def optimized(self, *nodes):
        """The operators of the result, and the report."""
        onnx.save(chain(*nodes), self.model)
        report = self.json("optimize", self.model, "--rules", self.rules, "--out", self.result, "--no-benchmark", "--min-gain", 0,
                           "--proof", self.folder / "proof")
        return [node.op_type for node in onnx.load(self.result).graph.node], report

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
