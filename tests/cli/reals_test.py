#!/usr/bin/env python3
"""A profile with values = "reals": rules that do not hold in the field are found and proved, and a resumed run gives the results of a
run from scratch."""

import json
import unittest

from binary import ROOT, Case, rulemill

POSITIVES = ROOT / "data" / "profiles" / "positives.toml"
EXPONENTS = ROOT / "data" / "profiles" / "exponents.toml"
REALS = 'values = "reals"\n'
LAWS = """
rule exponential_of_a_sum(x:3, y:3)
  exp(add(x, y)) => mul(exp(x), exp(y))
rule relu_of_a_positive_multiple(x:3, y:3)
  relu(mul(exp(y), x)) => mul(exp(y), relu(x))
rule what_a_softmax_is_made_of(x:3)
  div_column(exp(x), reduce_sum_keepdims(exp(x); axes=[2])) => softmax(x)
"""
TABLE = ["candidates.rules", "outcomes.json", "rules.rmdb"]


class Reals(Case):
    def setUp(self):
        super().setUp()
        self.text = EXPONENTS.read_text(encoding="utf-8")
        self.assertIn(REALS, self.text)

    def discover(self, text, name, *options):
        profile = self.folder / "profile.toml"
        profile.write_text(text, encoding="utf-8")
        return rulemill("discover", "--profile", profile, "--out", self.folder / name, "--progress", "off", *options)

    def implied(self, name):
        laws = self.folder / "laws.rules"
        laws.write_text(LAWS, encoding="utf-8")
        report = self.folder / "implied.json"
        rulemill("derive", "--from", self.folder / name / "rules.rmdb", laws, "--json", report)
        return {rule["name"] for rule in json.loads(report.read_text(encoding="utf-8"))["rules"] if rule["result"] == "derived"}

    def test_rules_that_do_not_hold_in_the_field_are_found_and_proved(self):
        self.assert_works(self.discover(self.text, "reals"))
        self.assertEqual(self.implied("reals"), {"exponential_of_a_sum", "relu_of_a_positive_multiple", "what_a_softmax_is_made_of"})
        self.assert_works(rulemill("check", self.folder / "reals" / "rules.rmdb"))
        self.assert_works(self.discover(self.text.replace(REALS, ""), "field"))
        self.assertEqual(self.implied("field"), set())

    def test_rules_of_positive_factors_are_found_proved_derived_and_checked(self):
        self.assert_works(self.discover(POSITIVES.read_text(encoding="utf-8"), "positives"))
        rules = rulemill("rules", "list", self.folder / "positives").stdout
        for rule in ("relu(scale(x1, c1))  => scale(relu(x1), c1)", "abs(scale(x1, c1))  => scale(abs(x1), c1)"):
            line = next(line for line in rules.splitlines() if line.endswith(rule))
            self.assertIn("c1[] of positive", line)
        self.assertRegex(rules, "derived +derivation.*c1\\[\\] of positive")
        self.assert_works(rulemill("check", self.folder / "positives" / "rules.rmdb", "--cvc5"))

    def test_an_added_operator_gives_the_results_of_a_run_from_scratch_and_another_domain_is_rejected(self):
        less = self.text.replace('[[operators]]\noperator = "neg"\n', "")
        self.assertNotEqual(less, self.text)
        self.assert_works(self.discover(less, "grown", "--max-ops", 2))
        self.assertIn("operator neg() is new", self.discover(self.text, "grown", "--max-ops", 2).stdout)
        self.assert_works(self.discover(self.text, "scratch", "--max-ops", 2))
        self.assertEqual(self.files("grown"), self.files("scratch"))
        other = self.discover(self.text.replace(REALS, ""), "grown", "--max-ops", 2)
        self.assert_fails(other, 3, "was made from other inputs: values was removed")

    def files(self, name):
        out = self.folder / name
        return {path.name: path.read_bytes() for path in [*(out / "shards").iterdir(), *(out / file for file in TABLE)]}


if __name__ == "__main__":
    unittest.main()
