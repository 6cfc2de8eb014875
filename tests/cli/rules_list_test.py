#!/usr/bin/env python3
"""`rulemill rules list`: types, conditions and gains, what is hidden, candidates that are no rules."""

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
    def test_types_and_conditions_are_shown_and_what_is_degenerate_is_hidden(self):
        (self.folder / "some.rules").write_text(RULES)
        rulemill("rules", "import", self.folder / "some.rules", "--out", self.folder / "db.rmdb")
        process = rulemill("rules", "list", "--rules", self.folder / "db.rmdb")
        self.assert_works(process)
        self.assertIn("x[m, k], a[k, n], b[k, n]", process.stdout)
        self.assertRegex(process.stdout, r"enlarge\(k; .*r <= 3, s <= 3")
        self.assertNotIn("matmul(y, x)", process.stdout)
        self.assertIn("; 1 of constants or single elements alone are hidden: --all", process.stdout)
        every = rulemill("rules", "list", "--all", "--rules", self.folder / "db.rmdb")
        self.assertIn("matmul(y, x)", every.stdout)
        self.assertNotIn("hidden", every.stdout)

    def test_several_operators_and_none_that_is_unknown(self):
        (self.folder / "some.rules").write_text(RULES)
        rulemill("rules", "import", self.folder / "some.rules", "--out", self.folder / "db.rmdb")
        listed = lambda uses: len(self.json("rules", "list", "--rules", self.folder / "db.rmdb", "--uses", uses)["rules"])
        self.assertEqual(listed("enlarge"), 1)
        self.assertEqual(listed("enlarge,matmul"), 2)
        self.assert_fails(rulemill("rules", "list", "--rules", self.folder / "db.rmdb", "--uses", "matmul,enlage"), 2,
                          "no operator is called 'enlage'")

    def test_by_gain_and_candidates_with_their_reason(self):
        out = self.folder / "out"
        self.assert_works(rulemill("discover", "--profile", ROOT / "tests/cli/small.toml", "--out", out, "--progress", "off"))
        rules = self.json("rules", "list", "--rules", out, "--sort", "gain")["rules"]
        table = rulemill("rules", "list", "--rules", out).stdout
        self.assertEqual(len(table.splitlines()), len(rules) + 4, "a line each, a head, its rule and a sum below")
        gains = [1 - min(r["cost"].values()) / max(r["cost"].values()) for r in rules if "cost" in r]
        self.assertGreater(len(gains), 0)
        self.assertEqual(gains, sorted(gains, reverse=True))
        self.assertGreater(gains[0], 0)
        candidates = self.json("rules", "list", "--rules", out, "--candidates", "refuted,unknown")["candidates"]
        self.assertTrue(all(c["verdict"] in ("refuted", "unknown") and c["reason"] for c in candidates))
        self.assert_fails(rulemill("rules", "list", "--rules", out, "--candidates", "proved"), 2, "proved")
        self.assert_fails(rulemill("rules", "list", "--rules", out / "rules.rmdb", "--candidates", "unknown"), 2, "folder")


if __name__ == "__main__":
    unittest.main()
