#!/usr/bin/env python3
"""The independent checker accepts every certificate of three operators and of the laws, and its verdicts on damaged ones are
those of `rulemill check`. Needs cvc5."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from definitions import Library
from functions import monotonicity
from polynomials import Arithmetic, size
from rules import RuleReader
from statement import rank_reader

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
RULEMILL = os.environ.get("RULEMILL", str(ROOT / "build/release/rulemill"))


def run(*command) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@unittest.skipUnless(shutil.which("cvc5"), "no cvc5")
class CheckerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.three, cls.laws = pathlib.Path(cls.folder.name, "three"), pathlib.Path(cls.folder.name, "laws")
        made = run(RULEMILL, "discover", "--profile", "data/profiles/reference.toml", "--out", str(cls.three))
        assert made.returncode == 0, made.stderr
        made = run(RULEMILL, "rules", "import", "tests/prove/laws.rules", "--out", str(cls.laws))
        assert made.returncode == 0, made.stderr

    def check(self, folder: pathlib.Path, least: int):
        checked = run(sys.executable, str(HERE / "checker.py"), str(folder / "rules.rmdb"))
        counts = re.search(r"(\d+) certificates, (\d+) rejected", checked.stdout)
        self.assertIsNotNone(counts, checked.stdout + checked.stderr)
        self.assertEqual((checked.returncode, counts.group(2)), (0, "0"), checked.stdout[-2000:])
        self.assertGreaterEqual(int(counts.group(1)), least)

    def test_every_certificate_of_three_operators_is_accepted(self):
        self.check(self.three, 1000)

    def test_every_certificate_of_the_laws_is_accepted(self):
        self.check(self.laws, 70)

    def test_verdicts_on_damaged_certificates_are_those_of_rulemill(self):
        compared = run(sys.executable, str(HERE / "damage.py"), str(self.three / "rules.rmdb"), str(self.laws / "rules.rmdb"),
                       "--rulemill", RULEMILL, "--proofs", "200", "--statements", "10", "--changed", "20")
        self.assertEqual(compared.returncode, 0, compared.stdout[-3000:] + compared.stderr[-1000:])
        for verdict in ("accepted here, accepted by rulemill", "rejected here, rejected by rulemill"):
            self.assertIn(verdict, compared.stdout)


class PartsTest(unittest.TestCase):
    def test_ranks_are_known_where_sizes_of_one_would_divide_by_zero(self):
        library = Library(ROOT / "data" / "operators")
        kernels = "pool_kernel(; kernel=3, c=q*q2)"
        rule = RuleReader("rule r(i1[n, 2*q, h, w], w1[q*q2*q3, 1, r, s]) "
                          f"conv2d(conv2d(i1, concat({kernels}, {kernels}; axis=1)), w1) "
                          "=> conv2d(avg_pool(i1; kernel=3), concat(w1, w1; axis=1))", library, Arithmetic(), rank_reader(library)).read()
        self.assertEqual(len(rule.source), 1)

    def test_equal_polynomials_have_one_text(self):
        a, b = size("a"), size("b")
        self.assertEqual(repr(a - b), repr(-1 * b + a))

    def test_a_root_less_one_is_not_monotone_as_it_is_0_where_it_is_undefined(self):
        root = ("sqrt", ("argument", 0))
        self.assertEqual((monotonicity(root, 0), monotonicity(("-", root, ("number", 1)), 0)), ({1}, set()))


if __name__ == "__main__":
    unittest.main()
