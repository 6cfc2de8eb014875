#!/usr/bin/env python3
"""The kernel and the independent checker refuse certificates that were made to prove false rules, some for each rule of inference."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from certificates import POSITIONS
from checker import Checker, check
from definitions import Library
from records import Database

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
FORGE = os.environ.get("FORGE", str(ROOT / "build/release/forge"))


@unittest.skipUnless(shutil.which("cvc5"), "no cvc5")
class ForgedTest(unittest.TestCase):
    def test_both_checkers_refuse_each_forged_certificate_for_its_reason(self):
        examples = (HERE / "forged.examples").read_text()
        reasons = re.findall(r"^=> (.*)$", examples, re.MULTILINE)  # or "accepted"
        self.assertLessEqual({*POSITIONS, "derivation"}, set(re.findall(r"^== (\w+)$", examples, re.MULTILINE)))
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copytree(ROOT / "data/operators", folder / "definitions")
            shutil.copy(HERE / "forged.op", folder / "definitions/zz.op")
            command = [FORGE, HERE / "forged.examples", folder / "definitions", folder / "forged.rmdb"]
            verdicts = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
            database = Database((folder / "forged.rmdb").read_bytes())
            checker = Checker(Library(folder / "definitions"), database.digests)
            records = [checker.read(rule) for rule in database.rules]
            rejected, _ = check(checker, records, 2000)
        self.assertEqual((len(verdicts), len(database.rules)), (len(reasons), len(reasons)))
        for record, reason, verdict in zip(records, reasons, verdicts):
            with self.subTest(rule=record.id, reason=reason):
                self.assertIn(reason, verdict)
                self.assertEqual(record.id not in rejected, reason == "accepted", rejected.get(record.id))


if __name__ == "__main__":
    unittest.main()
