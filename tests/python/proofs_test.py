#!/usr/bin/env python3
"""`rulemill.prove`: verdicts, certificates, and counterexamples that can be evaluated again."""

import contextlib
import io
import json
import pathlib
import re
import unittest

from binary import ROOT, Case
from binary import rulemill as run
from package_case import numpy, rulemill

DROP = "rule drop(x[m, n])\n  relu(relu(x)) => relu(x)\n"
FALSE = "rule drop(x[m, n])\n  relu(x) => x\n"


class Verdicts(unittest.TestCase):
    def test_a_true_rule_is_proved_with_a_certificate(self):
        verdict = rulemill.prove(DROP)
        self.assertTrue(verdict.proved)
        self.assertEqual((verdict.status, verdict.condition, verdict.counterexample), ("proved", "", None))
        self.assertIn("rule drop(x[m, n])", verdict.rule)
        self.assertRegex(verdict.certificate, r"\S")

    def test_a_rule_that_holds_under_a_condition_is_narrowed(self):
        found = (ROOT / "tests/prove/conditional.rules").read_text(encoding="utf-8").split("# found: ")[1].split("\n", 1)
        by_name = "rule groups(x[n, c, h], g[c], b[c], e[])\n  group_norm(x, g, b, e; groups=a) => instance_norm(x, g, b, e)\n"
        for text, condition, detail in (
                (found[1], found[0], f"when {found[0]} with x[n, "),
                (by_name, "c = a", "when c = a"),
                ("rule same(x:4, k:4)\n  conv2d(x, k; pad=valid) => conv2d(x, k)\n", "k[2] = 1, k[3] = 1", "when k[2] = 1"),
                ("rule once(x[b, h, s, d])\n  repeat_heads(x; r=r) => x\n", "r = 1", "when r = 1")):
            verdict = rulemill.prove(text)
            self.assertEqual((verdict.status, verdict.proved, verdict.condition), ("narrowed", False, condition))
            self.assertTrue(verdict.detail.startswith(detail), verdict.detail)
            self.assertIsNotNone(verdict.certificate)

    def test_an_ill_typed_rule_is_a_verdict(self):
        verdict = rulemill.prove("rule wrong(x[m, n])\n  x => split(x; axis=0, at=?).first\n")
        self.assertEqual(verdict.status, "ill-typed", verdict.detail)
        self.assertIsNone(verdict.certificate)

    def test_a_text_that_is_no_rule_is_an_error_with_its_place(self):
        with self.assertRaises(rulemill.InputError) as caught:
            rulemill.prove("rule bad(x[m])\n  reelu(x) => x\n")
        error = caught.exception
        self.assertEqual((error.file, error.line, error.column, error.exit_code), ("text", 2, 3, 3))
        self.assertIn("reelu", error.message)
        with self.assertRaises(rulemill.InputError) as caught:
            rulemill.prove("relu(x) => x")
        self.assertEqual(caught.exception.expected, "'rule' or 'property'")

    def test_two_rules_are_refused(self):
        with self.assertRaisesRegex(ValueError, "expected one rule, found 2"):
            rulemill.prove(DROP + DROP.replace("drop", "again"))

    def test_other_definitions_can_be_given(self):
        gated = ROOT / "data" / "demos" / "gated"
        text = "rule twice(x[m, n], y[m, n])\n  gated(x, y) => gated(x, y)\n"
        self.assertRegex(rulemill.prove(text, definitions=gated).status, "proved|ill-typed")
        with self.assertRaises(rulemill.InputError):
            rulemill.prove(text)


@unittest.skipIf(numpy is None, "SKIPPED: numpy is not installed (scripts/install-debian.sh)")
class Counterexamples(Case):
    def assert_differs_as_said(self, text):
        counterexample = rulemill.prove(text).counterexample
        for side, outputs, value in zip(("source", "target"), counterexample.evaluate(), (counterexample.source, counterexample.target)):
            output = outputs[counterexample.output] if isinstance(outputs, tuple) else outputs
            numpy.testing.assert_allclose(output[counterexample.position], value, rtol=1e-9, err_msg=side)
        self.assertNotEqual(counterexample.source, counterexample.target)
        return counterexample

    def test_it_has_all_inputs_sizes_and_both_values(self):
        counterexample = self.assert_differs_as_said(FALSE)
        x = counterexample.inputs["x"]
        self.assertEqual(x.shape, (counterexample.sizes["m"], counterexample.sizes["n"]))
        self.assertLess(x[counterexample.position], 0)
        self.assertEqual((counterexample.source, counterexample.target), (0, x[counterexample.position]))

    def test_a_rule_that_widens_has_one_where_its_source_is_defined(self):
        counterexample = self.assert_differs_as_said("rule wrong(x[m, n])\n  exp(log(x)) -> sqrt(x)\n")
        self.assertGreater(counterexample.inputs["x"].min(), 0)

    def test_scalars_parameters_and_several_outputs_are_evaluated(self):
        for text in ("rule a(x[m, n], s[])\n  scale(x, s) => x\n",
                     "rule b(x:4, k:4)\n  conv2d(x, k; stride=2) => conv2d(x, k; stride=2, act=relu)\n",
                     "rule c(x[m, n])\n  let s = split(x; axis=0, at=?)\n  s.first, s.second => s.first, relu(s.second)\n",
                     "rule d(x[m, n], c[] of positive)\n  scale(x, c) => x\n"):
            with self.subTest(text):
                self.assert_differs_as_said(text)

    def test_an_undefined_side_is_nan(self):
        counterexample = rulemill.prove("rule e(x[m])\n  log(x) => log(relu(x))\n").counterexample
        if counterexample is not None:
            self.assertTrue(numpy.isnan([counterexample.source, counterexample.target]).any() or counterexample.source != counterexample.target)

    def test_the_snippet_prints_both_values(self):
        for text in (FALSE, "rule c(x[m, n])\n  let s = split(x; axis=0, at=?)\n  s.first, s.second => s.first, relu(s.second)\n"):
            counterexample, printed = rulemill.prove(text).counterexample, io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(counterexample.snippet(), {})  # pylint: disable=exec-used
            values = [float(value) for value in re.findall(r"^(?:source|target) (\S+)$", printed.getvalue(), re.M)]
            self.assertEqual(values, [counterexample.source, counterexample.target], counterexample.snippet())

    def test_the_report_of_an_import_has_it_in_full(self):
        file = self.folder / "false.rules"
        file.write_text(FALSE, encoding="utf-8")
        run("rules", "import", file, "--out", self.folder / "out", "--json", self.folder / "report.json")
        found = json.loads(pathlib.Path(self.folder / "report.json").read_text(encoding="utf-8"))["rules"][0]["counterexample"]
        self.assertEqual(list(found), ["sizes", "inputs", "output", "position", "source", "target"])
        tensor = found["inputs"][0]
        self.assertEqual(tensor["name"], "x")
        self.assertEqual(len(tensor["values"]), tensor["shape"][0] * tensor["shape"][1])


if __name__ == "__main__":
    unittest.main()
