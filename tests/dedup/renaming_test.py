"""Enumerating one node of each orbit loses no rule; too small a limit on memory is told."""

import json
import unittest

from binary import ROOT, Case, rulemill

PROFILE = ROOT / "data" / "profiles" / "quickstart.toml"


class Renamings(Case):
    def discover(self, name, *options):
        out = self.folder / name
        report = self.folder / f"{name}.json"
        self.assert_works(rulemill("discover", "--profile", PROFILE, "--out", out, "--json", report, *options))
        return out, json.loads(report.read_text())

    def test_rules_of_all_names_follow_from_rules_of_one_and_the_other_way_round(self):
        orbits, few = self.discover("orbits")
        names, every = self.discover("names", "--every-renaming")
        self.assertLess(2 * few["rows"], every["rows"])
        for one, other in ((orbits, names), (names, orbits)):
            # Exit code 1 if any is not.
            self.assert_works(rulemill("implied", "--by", one / "rules.rmdb", other / "rules.rmdb"))

    def test_too_little_memory_is_refused_with_what_is_needed(self):
        for stage, memory in (("fingerprint", "1MB"), ("join", "40MB")):
            out = self.folder / "small"
            if stage == "join":
                self.assert_works(rulemill("fingerprint", "--profile", PROFILE, "--out", out))
            done = rulemill(stage, "--profile", PROFILE, "--out", out, "--memory", memory)
            self.assert_fails(done, 1, f"--memory {memory[:-2]}", "at least")


if __name__ == "__main__":
    unittest.main()
