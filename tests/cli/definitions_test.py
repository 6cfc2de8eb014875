#!/usr/bin/env python3
"""Definitions with a false claim stop every command; changed definitions of a database are detected."""

import shutil
import unittest

from binary import ROOT, Case, rulemill

SHIPPED = ROOT / "data" / "operators"

RUNNING_SUM = """operator prefix_sum(x[d..., n])
  y[i... < d..., j < n] = sum(p < j + 1) x[i..., p]
"""
PROFILE = """name = "sums"
seed = 7
max_ops = 3
max_elements = 64
[[variables]]
names = ["x1", "x2"]
shape = [2, 3]
[[operators]]
operator = "add"
[[operators]]
operator = "prefix_sum"
"""
NORMALIZED = """rule twice(x:4, g:1, b:1, m:1, v:1, e:0)
  relu(relu(batch_norm(x, g, b, m, v, e))) => relu(batch_norm(x, g, b, m, v, e))
"""


class Definitions(Case):
    def definitions(self, text):
        """Makes a folder of the shipped definitions and these."""
        folder = self.folder / "mine"
        folder.mkdir(exist_ok=True)
        (folder / "mine.op").write_text(f'include "{SHIPPED}"\n{text}', encoding="utf-8")
        return folder

    def test_a_false_claim_stops_every_command_that_reads_it(self):
        rules = self.folder / "one.rules"
        rules.write_text("rule r(x:2)\n  relu(relu(x)) => relu(x)\n", encoding="utf-8")
        commands = [("operators", "list"), ("operators", "check"), ("rules", "import", rules, "--out", self.folder / "theirs"),
                    ("discover", "--profile", ROOT / "tests" / "cli" / "small.toml", "--out", self.folder / "out"),
                    ("rules", "list", self.folder), ("check", self.folder)]
        claims = {
            "operator mm4(a[n, n], b[n, n])\n  commutative\n  where n % 4 = 0\n"
            "  y[i < n, j < n] = sum(k < n) a[i, k] * b[k, j]\n": "mine.op:2:10: operator 'mm4': it is declared commutative, but",
            "function h(t) = max(t, 0) + max(t - 50, 0)\n  law h(h(t)) = h(t)\n": "mine.op:3:7: the law h(h(t)) = h(t) does not hold: h(",
        }
        for text, expected in claims.items():
            folder = self.definitions(text)
            for command in commands:
                self.assert_fails(rulemill(*command, "--definitions", folder), 3, expected)

    def test_an_operator_that_may_be_undefined_is_warned_of_with_its_place_when_it_is_loaded(self):
        folder = self.definitions("operator root_plus(x[d...], e[])\n  y[i... < d...] = sqrt(x[i...] + e[])\n"
                                  "operator bounded(x[d...], e[])\n  y[i... < d...] = inverse_root(x[i...] + e[])\n")
        process = rulemill("operators", "check", "--definitions", folder)
        self.assert_works(process)
        self.assertEqual(process.stderr.count("undefined for some values"), 1)
        self.assertRegex(process.stderr, r"mine\.op:2:\d+: operator 'root_plus' is undefined for some values of its inputs, by sqrt; .*inverse_root")
        self.assertNotIn("undefined", rulemill("operators", "check").stderr)

    def test_a_read_at_an_index_of_other_dimensions_is_warned_of_unless_a_condition_relates_them(self):
        folder = self.definitions("operator two_packs(x[d...], y[e...])\n  z[i... < d...] = x[i...] * y[i...]\n"
                                  "operator two_sizes(x[n], y[m])\n  z[] = sum(p < n) x[p] * y[p]\n"
                                  "operator related(x[n], y[m])\n  where m <= n\n  z[i < n] = x[i] + y[i]\n"
                                  "operator guarded(x[n], y[m])\n  z[i < n] = y[i] if i < m else x[i]\n"
                                  "operator one_pack(x[d...], y[d...])\n  z[i... < d...] = x[i...] * y[i...]\n")
        process = rulemill("operators", "check", "--definitions", folder)
        self.assert_works(process)
        self.assertEqual(process.stderr.count(" warning]"), 2)
        self.assertRegex(process.stderr, r"mine\.op:3:\d+: operator 'two_packs' reads dimension e\.\.\. of 'y' at an index over d\.\.\.,.* outside of 'y' are 0")
        self.assertRegex(process.stderr, r"mine\.op:5:\d+: operator 'two_sizes' reads dimension m of 'y' at an index over n, ")

    def test_a_size_parameter_stands_for_a_divisor_that_is_a_difference(self):
        text = "operator im2col(x[c, w]; k: size, o: size)\n  where o = w - k + 1\n  y[i < c * o, j < k] = x[i // o, i % o + j]\n"
        self.assert_works(rulemill("operators", "check", "--definitions", self.definitions(text)))
        refused = rulemill("operators", "check", "--definitions", self.definitions(text.replace("i // o", "i // (w - k + 1)")))
        self.assert_fails(refused, 3, "this divisor may be zero: ", "a size parameter d with 'where d = …' is a size")

    def test_an_assumed_law_is_named_where_it_is_used(self):
        folder = self.definitions("function g(t) = sqrt(t * t)\n  law g(g(t)) = g(t)\n"
                                  "operator g(x[d...])\n  y[i... < d...] = g(x[i...])\n")
        process = rulemill("operators", "check", "--definitions", folder)
        self.assert_works(process)
        self.assertIn("not proved: g(g(t)) = g(t)", process.stdout)
        rules = self.folder / "one.rules"
        rules.write_text("rule r(x:2)\n  g(g(x)) => g(x)\nrule s(x:2)\n  relu(relu(x)) => relu(x)\n", encoding="utf-8")
        theirs = self.folder / "theirs"
        self.assert_works(rulemill("rules", "import", rules, "--out", theirs, "--definitions", folder))
        shown = {}
        for rule in self.json("rules", "list", theirs, "--definitions", folder)["rules"]:
            process = rulemill("rules", "show", theirs, rule["id"], "--definitions", folder)
            self.assert_works(process)
            shown["g(x)" in rule["text"]] = process.stdout
        self.assertIn("assumes      g(g(t)) = g(t)", shown[True])
        self.assertNotIn("assumes", shown[False])

    def test_a_database_detects_changes_of_its_definitions_only(self):
        folder = self.folder / "operators"
        shutil.copytree(SHIPPED, folder)
        rules, theirs = self.folder / "one.rules", self.folder / "theirs"
        rules.write_text(NORMALIZED, encoding="utf-8")
        self.assert_works(rulemill("rules", "import", rules, "--out", theirs, "--definitions", folder))
        listing = ("rules", "list", theirs, "--definitions", folder)
        file = folder / "normalization.op"
        text = file.read_text(encoding="utf-8")
        same = text.replace("operator norm_scale", "# what a channel is multiplied with\noperator  norm_scale").replace("onnx Softmax since 13 {axis = rank - 1}", "")
        self.assertNotEqual(same, text)
        file.write_text(same + "operator new(x[n])\n  y[i < n] = x[i]\n", encoding="utf-8")
        self.assert_works(rulemill(*listing))
        changed = text.replace("y[o < c] = g[o] * recip", "y[o < c] = 2 * g[o] * recip")
        self.assertNotEqual(changed, text)
        file.write_text(changed, encoding="utf-8")
        self.assert_fails(rulemill(*listing), 3, "operator 'batch_norm' is defined otherwise than when the rules were proved")

    def test_rules_of_a_running_sum_are_found_proved_and_checked(self):
        folder, out = self.definitions(RUNNING_SUM), self.folder / "out"
        (self.folder / "sums.toml").write_text(PROFILE, encoding="utf-8")
        self.assert_works(rulemill("discover", "--definitions", folder, "--profile", self.folder / "sums.toml", "--out", out,
                                   "--progress", "off"))
        rules = self.json("rules", "list", out, "--definitions", folder, "--uses", "prefix_sum")["rules"]
        self.assertRegex(" ".join(rule["text"] for rule in rules), r"add\(prefix_sum\(x[12]\), prefix_sum\(x[12]\)\)\s+=> prefix_sum\(add\(x1, x2\)\)")
        self.assert_works(rulemill("check", out, "--definitions", folder))


if __name__ == "__main__":
    unittest.main()
