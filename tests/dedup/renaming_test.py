"""Enumerating one node of each orbit loses no rule; too small a memory limit is an error."""

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

    def test_rules_with_and_without_symmetry_imply_each_other(self):
        orbits, few = self.discover("orbits")
        names, every = self.discover("names", "--no-symmetry")
        self.assertLess(2 * few["rows"], every["rows"])
        for one, other in ((orbits, names), (names, orbits)):
            # The exit code is 1 if any rule is not implied.
            self.assert_works(rulemill("derive", "--from", one / "rules.rmdb", other / "rules.rmdb"))

    def test_too_little_memory_is_an_error_with_the_required_amount(self):
        for stage, memory in (("fingerprint", "1MiB"), ("join", "40MiB")):
            out = self.folder / "small"
            if stage == "join":
                self.assert_works(rulemill("fingerprint", "--profile", PROFILE, "--out", out))
            done = rulemill(stage, "--profile", PROFILE, "--out", out, "--memory", memory)
            self.assert_fails(done, 1, f"--memory {memory[:-3]}", "at least")


if __name__ == "__main__":
    unittest.main()
