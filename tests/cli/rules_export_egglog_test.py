#!/usr/bin/env python3
"""`rulemill rules export --format egglog`: the program, run by egglog, shows the same equalities as `rulemill derive`."""

import importlib.util
import unittest

from binary import ROOT, Case, rulemill

HAS_EGGLOG = importlib.util.find_spec("egglog") is not None
if HAS_EGGLOG:
    from egglog_program import verdicts

RULES = ROOT / "tests" / "cli" / "exported.rules"
GOALS = ROOT / "tests" / "cli" / "exported_goals.rules"
ROUNDS, MAX_TUPLES = 5, 3000


@unittest.skipUnless(HAS_EGGLOG, "SKIPPED: egglog is not installed")
class Egglog(Case):
    def test_egglog_and_derive_show_the_same_goals(self):
        database = self.folder / "rules.rmdb"
        self.assert_works(rulemill("rules", "import", RULES, "--out", database))
        report = self.json("rules", "export", database, self.folder / "rules.egg", "--format", "egglog",
                           "--goals", GOALS)
        self.assertEqual(report["written"], RULES.read_text().count("\nrule "))
        self.assertNotIn("skipped", report)
        program = (self.folder / "rules.egg").read_text(encoding="utf-8")
        found = {name: verdict == "equal" for name, verdict in verdicts(program, ROUNDS, MAX_TUPLES)}
        derived = self.json("derive", "--from", database, GOALS, code=1)
        expected = {rule["name"]: rule["result"] == "derived" for rule in derived["rules"]}
        self.assertEqual(found, expected)
        self.assertEqual({name.startswith("not_") for name, verdict in found.items() if verdict}, {False})
        self.assertEqual({name.startswith("not_") for name, verdict in found.items() if not verdict}, {True})


if __name__ == "__main__":
    unittest.main()
