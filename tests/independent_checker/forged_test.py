#!/usr/bin/env python3
"""Both checkers reject certificates that were made to prove false rules, one or more for each rule of inference."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from certificates import POSITIONS
from checker import Checker, Database, check
from definitions import Library

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/release"
RULEMILL, FORGE = os.environ.get("RULEMILL", str(BUILD / "rulemill")), os.environ.get("FORGE", str(BUILD / "forge"))


@unittest.skipUnless(shutil.which("cvc5"), "no cvc5")
class ForgedTest(unittest.TestCase):
    def test_both_checkers_reject_each_forged_certificate_for_its_reason(self):
        examples = (HERE / "forged.examples").read_text()
        reasons = re.findall(r"^=> (.*)$", examples, re.MULTILINE)
        self.assertLessEqual(set(POSITIONS), set(re.findall(r"^== (\w+)$", examples, re.MULTILINE)))
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copytree(ROOT / "data/operators", folder / "definitions")
            shutil.copy(ROOT / "tests/check/kernel/kernel_steps.op", folder / "definitions/zz.op")
            subprocess.run([FORGE, HERE / "forged.examples", folder / "definitions", folder / "forged.rmdb"], check=True)
            subprocess.run([RULEMILL, "check", folder / "forged.rmdb", "--definitions", folder / "definitions", "--json",
                            folder / "report.json", "-q", "--log-level", "error"], check=False)
            findings = {}
            for finding in json.loads((folder / "report.json").read_text())["findings"]:
                findings.setdefault(finding["rule"], []).append(finding["reason"])
            database = Database((folder / "forged.rmdb").read_bytes())
            checker = Checker(Library(folder / "definitions"), database.digests)
            rejected, _ = check(checker, [checker.read(rule) for rule in database.rules], 2000)
        self.assertEqual(len(database.rules), len(reasons))
        for number, reason in enumerate(reasons, 1):
            with self.subTest(rule=number, reason=reason):
                self.assertTrue(any(reason in finding for finding in findings.get(f"f{number}", [])), findings.get(f"f{number}"))
                self.assertIn(f"f{number}", rejected)


if __name__ == "__main__":
    unittest.main()
