#!/usr/bin/env python3
"""The rules of data/compilers have the verdicts that their files state, and the proved ones pass the checker."""

import sys
import unittest

from binary import BINARY, ROOT, Case, rulemill

sys.path.insert(0, str(ROOT / "bench"))
import compilers


class Compilers(Case):
    def verdicts(self, path):
        """Returns (verdict, condition) by rule."""
        report = compilers.prove(BINARY, path, self.folder / "out.rmdb")
        return {entry["name"]: (entry["verdict"], entry["condition"]) for entry in report["rules"]}

    def test_each_rule_has_the_verdict_that_its_file_states(self):
        count = 0
        for path in sorted(compilers.RULES.glob("*.rules")):
            stated = compilers.stated_verdicts(path)
            self.assertEqual([name for name, verdict in stated.items() if verdict is None], [], f"{path}: no verdict")
            found = self.verdicts(path)
            self.assertEqual(found.keys(), stated.keys(), path)
            for name, (verdict, condition) in found.items():
                with self.subTest(rule=f"{path.stem}: {name}"):
                    self.assertEqual(verdict, stated[name]["verdict"])
                    if verdict == "narrowed":
                        self.assertEqual(condition, stated[name]["reason"].partition(";")[0])
                    elif verdict != "proved":
                        self.assertNotIn(stated[name]["reason"], (None, ""), "expected a reason")
            self.assert_works(rulemill("check", self.folder / "out.rmdb", "--definitions", compilers.OPERATORS,
                                       "--log-level", "error"))
            count += len(found)
        self.assertGreaterEqual(count, 600)


if __name__ == "__main__":
    unittest.main()
