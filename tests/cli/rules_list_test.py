#!/usr/bin/env python3
"""`rulemill rules list`: types, conditions, gains, hidden rules and rejected candidates."""

import math
import unittest

from binary import ROOT, Case, rulemill

RULES = """rule wide(x[m, k], a[k, n], b[k, n])
  add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))
rule kernels(x[n, c, h, w], k[f, c, r, s], l[f, c, 3, 3])
  add(conv2d(x, k), conv2d(x, l)) => conv2d(x, add(enlarge(k; rows=3, cols=3), l))
rule single(x[1, 1], y[1, 1])
  matmul(x, y) => matmul(y, x)
rule false(x[n, n], y[n, n])
  matmul(x, y) => matmul(y, x)
"""


class RulesList(Case):
    def test_types_and_conditions_are_shown_and_degenerate_rules_are_hidden(self):
        (self.folder / "some.rules").write_text(RULES)
        rulemill("rules", "import", self.folder / "some.rules", "--out", self.folder / "db.rmdb")
        process = rulemill("rules", "list", self.folder / "db.rmdb")
        self.assert_works(process)
        self.assertIn("x[m, k], a[k, n], b[k, n]", process.stdout)
        self.assertRegex(process.stdout, r"enlarge\(k; .*r <= 3, s <= 3")
        self.assertNotIn("matmul(y, x)", process.stdout)
        self.assertIn("; 1 without a dimension that can exceed 1 are hidden, see --all", process.stdout)
        every = rulemill("rules", "list", "--all", self.folder / "db.rmdb")
        self.assertIn("matmul(y, x)", every.stdout)
        self.assertNotIn("hidden", every.stdout)

    def test_rules_are_selected_by_operators_and_unknown_ones_are_rejected(self):
        (self.folder / "some.rules").write_text(RULES)
        rulemill("rules", "import", self.folder / "some.rules", "--out", self.folder / "db.rmdb")
        listed = lambda uses: len(self.json("rules", "list", self.folder / "db.rmdb", "--uses", uses)["rules"])
        self.assertEqual(listed("enlarge"), 1)
        self.assertEqual(listed("enlarge,matmul"), 2)
        self.assert_fails(rulemill("rules", "list", self.folder / "db.rmdb", "--uses", "matmul,enlage"), 2,
                          "unknown operator 'enlage'")

    def test_rules_are_sorted_by_gain_and_rejected_candidates_have_a_reason(self):
        out = self.folder / "out"
        self.assert_works(rulemill("discover", "--profile", ROOT / "tests/cli/small.toml", "--out", out, "--progress", "off"))
        rules = self.json("rules", "list", out, "--sort", "gain")["rules"]
        table = rulemill("rules", "list", out).stdout
        self.assertEqual(len(table.splitlines()), len(rules) + sum(rule["special_cases"] > 0 for rule in rules) + 5,
                         "a line each, one for special cases, a head, its rule, a sum and a legend below")
        self.assertRegex(table, r"gain: the share of .* that the cheaper side saves.*<=: the cheaper side is the left one\n$")
        gains = [1 - min(r["cost"].values()) / max(r["cost"].values()) for r in rules if "cost" in r]
        self.assertGreater(len(gains), 0)
        self.assertEqual(gains, sorted(gains, reverse=True))
        self.assertGreater(gains[0], 0)
        general = self.folder / "general.rmdb"
        self.assert_works(rulemill("rules", "generalize", out, "--include-derived", "--keep-originals", "--out", general))
        used = self.json("rules", "list", general, "--sort", "use", "--all")["rules"]
        saving = [rule for rule in used if "cost" in rule and len(set(rule["cost"].values())) == 2]
        order = [(rule["tier"] == "core", "..." in rule["text"].split("\n")[0]) for rule in saving]
        self.assertEqual((order[0], order[-1]), ((True, True), (False, False)))
        self.assertEqual(order, sorted(order, reverse=True))
        candidates = self.json("rules", "list", out, "--candidates", "refuted,unknown")["candidates"]
        self.assertTrue(all(c["verdict"] in ("refuted", "unknown") and c["reason"] for c in candidates))
        self.assert_fails(rulemill("rules", "list", out, "--candidates", "proved"), 2, "proved")
        self.assert_fails(rulemill("rules", "list", out / "rules.rmdb", "--candidates", "unknown"), 2, "folder")

    def test_a_refuted_candidate_has_the_values_of_a_counterexample(self):
        out = self.folder / "out"
        self.assert_works(rulemill("discover", "--profile", ROOT / "data/profiles/exponents.toml", "--out", out, "--generalize", "none",
                                   "--progress", "off"))
        candidates = self.json("rules", "list", out, "--candidates", "refuted,unknown")["candidates"]
        refuted = [each for each in candidates if each["verdict"] == "refuted"]
        self.assertGreater(len(refuted), 0)
        for each in refuted:
            values = each["counterexample"]
            self.assertNotEqual(values["source"], values["target"])
            self.assertTrue(all(len(one["values"]) == math.prod(one["shape"]) for one in values["inputs"]))
        first = refuted[0]["id"]
        listed, shown = rulemill("rules", "list", out, "--candidates", "refuted").stdout, rulemill("rules", "show", out, first)
        self.assert_works(shown)
        name = refuted[0]["counterexample"]["inputs"][0]["name"]
        self.assertRegex(listed, rf"# {first} is false here:\n{name} = np\.array\(\[")
        self.assertRegex(shown.stdout, rf"^rule {first}\((.|\n)*verdict +refuted\nreason +at {name}\[(.|\n)*\n{name} = np\.array\(\[")
        self.assertEqual(self.json("rules", "show", out, first)["counterexample"], refuted[0]["counterexample"])
        unknown = next(each["id"] for each in candidates if each["verdict"] == "unknown")
        self.assertEqual(self.json("rules", "show", out, unknown)["verdict"], "unknown")
        self.assert_fails(rulemill("rules", "show", out, "c0"), 2, "unknown rule 'c0'")


if __name__ == "__main__":
    unittest.main()
