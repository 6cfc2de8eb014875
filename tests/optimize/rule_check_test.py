#!/usr/bin/env python3
"""`optimize` checks the certificates of the rules that fired before it writes anything."""

import sys
import unittest

from binary import ROOT, Case, rulemill

sys.path.insert(0, str(ROOT / "tests" / "cli"))
import database_form as form  # noqa: E402

try:
    import onnx
    from onnx import helper
except ImportError:
    onnx = None

RULES = """
rule twice(x[d...])
  relu(relu(x)) => relu(x)
rule associates(x:2, y:2, z:2)
  matmul(matmul(x, y), z) => matmul(x, matmul(y, z))
"""


def record_of(database, rule):
    return next(part for part in database.parts if part[0] == form.RULE and form.value_of(form.fields(part[1]), 1) == rule.encode())


@unittest.skipIf(onnx is None, "SKIPPED: the onnx package is not installed")
class RuleCheck(Case):
    def setUp(self):
        super().setUp()
        self.database, self.forged = self.folder / "rules.rmdb", self.folder / "forged.rmdb"
        (self.folder / "given.rules").write_text(RULES, encoding="utf-8")
        self.assert_works(rulemill("rules", "import", self.folder / "given.rules", "--out", self.database))
        self.model = self.folder / "model.onnx"
        values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [64, 64]) for name in ("x", "y")]
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
        graph = helper.make_graph(nodes, "twice", values[:1], values[1:])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), self.model)
        self.outputs = {"--out": self.folder / "out.onnx", "--json": self.folder / "report.json", "--report": self.folder / "page.html"}

    def optimize(self, *databases):
        words = [word for database in databases for word in ("--rules", database)]
        words += [word for output in self.outputs.items() for word in output]
        return rulemill("optimize", self.model, *words, "--no-benchmark")

    def assert_refused(self, change, *parts):
        """The database is refused after `change` on the fields of rule `twice`, and nothing is written."""
        database = form.DatabaseFile(self.database)
        record = record_of(database, "twice")
        fields = form.fields(record[1])
        change(fields)
        record[1] = form.message(fields)
        database.save(self.forged)
        for databases in ([self.forged], [self.database, self.forged]):
            self.assert_fails(self.optimize(*databases), 3, "forged.rmdb: rule twice, on which the result depends, is invalid: ",
                              *parts, "nothing was written")
            self.assertEqual([path for path in self.outputs.values() if path.exists()], [])

    def test_a_result_of_valid_rules_is_written(self):
        self.assert_works(self.optimize(self.database))
        self.assertEqual([node.op_type for node in onnx.load(self.outputs["--out"]).graph.node], ["Relu"])

    def test_a_rule_under_the_certificate_of_another_is_refused(self):
        other = form.value_of(form.fields(record_of(form.DatabaseFile(self.database), "associates")[1]), form.CERTIFICATE)
        self.assert_refused(lambda fields: form.set_value(fields, form.CERTIFICATE, other), "its certificate states another rule")

    def test_a_rule_without_a_certificate_is_refused(self):
        self.assert_refused(lambda fields: fields.remove(next(part for part in fields if part[0] == form.CERTIFICATE)),
                            "has no certificate")

    def test_a_proof_that_does_not_hold_is_refused(self):
        def shorten(fields):
            certificate = form.fields(form.value_of(fields, form.CERTIFICATE))
            text = form.value_of(certificate, form.CERTIFICATE_TEXT).decode().splitlines(keepends=True)
            form.set_value(certificate, form.CERTIFICATE_TEXT, "".join(text[:-1]).encode())
            form.set_value(fields, form.CERTIFICATE, form.message(certificate))
        self.assert_refused(shorten, "see `rulemill check`")

    def test_a_second_rule_of_the_same_name_is_refused(self):
        database = form.DatabaseFile(self.database)
        twin = form.fields(record_of(database, "associates")[1])
        form.set_value(twin, 1, b"twice")
        database.parts.insert(database.parts.index(record_of(database, "twice")), [form.RULE, form.message(twin)])
        database.save(self.forged)
        self.assert_fails(self.optimize(self.forged), 3, "two rules have this name")

    def test_a_rule_that_did_not_fire_does_not_matter(self):
        database = form.DatabaseFile(self.database)
        record = record_of(database, "associates")
        record[1] = form.message([part for part in form.fields(record[1]) if part[0] != form.CERTIFICATE])
        database.save(self.forged)
        self.assert_works(self.optimize(self.forged))


if __name__ == "__main__":
    unittest.main()
