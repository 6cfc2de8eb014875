#!/usr/bin/env python3
"""What the scripts of the gallery and of the status page draw."""

import json
import re
import unittest

from binary import ROOT, Case, rulemill
from drawn_page import draw, needs_node

RULES = """
rule collect(x:2, v:2, w:2)
  add(matmul(x, v), matmul(x, w)) => matmul(x, add(v, w))
rule share(x:2, v:2, w:2)
  let s = split(matmul(x, concat(v, w; axis=1)); axis=1, at=?)
  matmul(x, v), matmul(x, w) => s.first, s.second
"""


class Pages(Case):
    def setUp(self):
        super().setUp()
        self.rules, self.page = self.folder / "rules.rmdb", self.folder / "page.html"
        text = self.folder / "two.rules"
        text.write_text(RULES, encoding="utf-8")
        self.assert_works(rulemill("rules", "import", text, "--out", self.rules))

    @needs_node
    def test_the_gallery_draws_every_rule_as_two_graphs(self):
        self.assert_works(rulemill("rules", "gallery", self.rules, "--out", self.page))
        listed = self.json("rules", "list", self.rules)["rules"]
        drawn, _ = draw(self.page)
        self.assertEqual((len(listed), drawn.counts["article"], drawn.counts["svg"]), (2, 2, 5))
        self.assertIn("2 of 2 rules", drawn.text)
        self.assertIn("1 of 2 rules", draw(self.page, "share")[0].text)

    @needs_node
    def test_a_search_among_many_rules_takes_less_than_two_seconds(self):
        self.assert_works(rulemill("rules", "gallery", self.rules, "--out", self.page))
        text = self.page.read_text(encoding="utf-8")
        data = json.loads(re.search(r"^const data = (.*);$", text, re.M).group(1))
        data["rules"] = [{**data["rules"][0], "id": f"r{i}"} for i in range(60000)]
        self.page.write_text(re.sub(r"(?m)^const data = .*;$", lambda _: f"const data = {json.dumps(data)};", text), encoding="utf-8")
        drawn, milliseconds = draw(self.page, "matmul")
        self.assertRegex(drawn.text, "of 60,000 rules")
        self.assertLess(int(milliseconds), 2000)

    @needs_node
    def test_the_status_of_a_run_has_a_timeline_and_a_funnel(self):
        out = self.folder / "out"
        self.assert_works(rulemill("discover", "--profile", ROOT / "tests" / "cli" / "small.toml", "--out", out, "--progress", "off"))
        self.assert_works(rulemill("status", out, "--html", self.page))
        drawn, _ = draw(self.page)
        self.assertEqual(drawn.counts["svg"], 2)
        for words in ("Stages", "fingerprint", "peak memory", "rank 0", "Balance", "core"):
            self.assertIn(words, drawn.text)


if __name__ == "__main__":
    unittest.main()
