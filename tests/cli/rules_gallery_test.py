#!/usr/bin/env python3
"""`rulemill rules gallery|show`: their drawings."""

import json
import re
import unittest

from binary import ROOT, Case, rulemill


class Gallery(Case):
    def setUp(self):
        super().setUp()
        self.rules = self.folder / "rules.rmdb"
        sources = [ROOT / "tests" / "prove" / name for name in ("proved.rules", "conditional.rules")]
        self.assert_works(rulemill("rules", "import", *sources, "--keep-narrowed", "--out", self.rules))

    def page(self):
        path = self.folder / "page.html"
        self.assert_works(rulemill("rules", "gallery", self.rules, "--out", path))
        return path.read_text(encoding="utf-8")

    def test_the_page_has_every_rule_with_both_sides_and_its_certificate(self):
        data = json.loads(re.search(r"^const data = (.*);$", self.page(), re.M).group(1))
        listed = self.json("rules", "list", self.rules, "--sort", "id")["rules"]
        self.assertEqual([rule["id"] for rule in data["rules"]], [rule["id"] for rule in listed])
        for rule in data["rules"]:
            self.assertIn("; rulemill certificate", rule["certificate"])
            for side in ("left", "right"):
                operators = [node for node in rule[side]["n"] if node[0] == 1]
                self.assertEqual(len(operators), rule["sizes"][0 if side == "left" else 1])
                inputs = [node[1] for node in rule[side]["n"] if node[0] == 0]
                self.assertEqual(len(inputs), len(set(inputs)), rule["id"])
                self.assertTrue(all(edge[0] < edge[1] for edge in rule[side]["e"]), rule["id"])
                self.assertTrue(all(node[3] for node in operators), "an operator without a type: " + rule["id"])
        merged = next(rule for rule in data["rules"] if rule["id"] == "products_share_input")
        self.assertEqual(sorted(edge[2] for edge in merged["right"]["e"] if edge[2]), ["first", "second"])
        self.assertEqual(dict(map(tuple, data["funnel"]))["core"], sum(rule["tier"] == "core" for rule in data["rules"]))

    def test_the_page_has_no_external_resources(self):
        page = self.page()
        self.assertNotRegex(page, r'(src|href)="(?!#)')
        self.assertNotRegex(page, r"@import|url\(|fetch\(|import\(")
        self.assertEqual(set(re.findall(r"https?://[^\s\"']*", page)), {"http://www.w3.org/2000/svg"})
        self.assertIn("prefers-color-scheme: dark", page)

    def test_a_rule_is_shown_as_two_graphs_with_types_and_proof(self):
        process = rulemill("rules", "show", self.rules, "products_share_input", "--certificate")
        self.assert_works(process)
        for part in ("├─ x[m, k]", "⇒", "concat axis=1", "= matmul(x, v)", ": [m, n]", "tier         core", "indicators 0 1"):
            self.assertIn(part, process.stdout)

    def test_an_unknown_rule_is_a_usage_error(self):
        self.assert_fails(rulemill("rules", "show", self.rules, "r999"), 2, "unknown rule 'r999'")


if __name__ == "__main__":
    unittest.main()
