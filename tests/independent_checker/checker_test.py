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
from functions import ALL_SIGNS, Function, Natural, exact_value, formula_signs, monotonicity
from laws import Law, counterexample
from obligations import of_indicators
from order import CaseScripts
from polynomials import Arithmetic, CheckError, Poly, atom, bound_index, size, variable
from rules import RuleReader
from statement import rank_reader
from sums import Guard, Product, is_bounded
from syntax import parse_poly

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

    def test_definitions_need_no_positive_values(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "copy.op").write_text("operator copy(x[n])\n  y[i < n] = x[i]\n")
            self.assertEqual(list(Library(pathlib.Path(folder)).operators), ["copy"])

    def test_an_index_is_no_size_of_a_rule(self):
        """Where a dimension is the index of the output, nothing is in range, and x => y would be proved."""
        library = Library(ROOT / "data" / "operators")
        for index in ("@0", "#0"):
            with self.subTest(index=index), self.assertRaisesRegex(CheckError, "expected a size"):
                RuleReader(f"rule r(x[{index}], y[{index}]) x => y", library, Arithmetic(), rank_reader(library)).read()
            with self.subTest(index=index), self.assertRaisesRegex(CheckError, "expected a size"):
                parse_poly(index, Arithmetic())

    def test_equal_polynomials_have_one_text(self):
        a, b = size("a"), size("b")
        self.assertEqual(repr(a - b), repr(-1 * b + a))

    def test_a_law_that_is_false_for_large_numbers_or_where_a_value_is_undefined_has_a_counterexample(self):
        s, zero, one, two = ("argument", 0), ("number", 0), ("number", 1), ("number", 2)
        capped, inverse, sign = ("min", s, ("number", 1000)), ("/", one, s), ("-", ("less", zero, s), ("less", s, zero))
        functions = {name: Function(name, 1, f) for name, f in (("capped", capped), ("recip", inverse), ("sign", sign))}
        recip, of_sign = ("apply", "recip", s), ("apply", "sign", s)
        for is_true, law in ((False, Law(1, ("apply", "capped", s), s)), (False, Law(1, ("*", s, recip), one)),
                             (True, Law(1, ("*", s, recip), one, (("positive", s),))), (True, Law(1, ("apply", "recip", recip), s)),
                             (True, Law(1, ("apply", "recip", of_sign), of_sign)),
                             (False, Law(1, ("*", two, recip), recip))):
            with self.subTest(law=law):
                self.assertEqual(counterexample(law, functions) is None, is_true)

    def test_a_range_is_finite_if_guards_bound_each_index_by_sizes_and_others_that_they_bound(self):
        i, j, n = variable(bound_index(0)), variable(bound_index(1)), size("n")
        for is_finite, polys in ((True, (i, n - i, j - i, n - j)), (True, (n * i, n - n * i, j, i - j)), (False, (i, j, n - i - j)),
                                 (False, (i, n - i, j)), (False, (i, i + n, j, n - j)), (False, (i * i - n, n - i * i, j, n - j))):
            with self.subTest(guards=polys):
                product = Product(guards=tuple(Guard(False, poly) for poly in polys), bound=(bound_index(0), bound_index(1)))
                self.assertEqual(is_bounded(product), is_finite)

    def test_a_guard_that_is_repeated_changes_nothing(self):
        n, i = Guard(False, size("n") - 5), Guard(False, variable(bound_index(0)))
        self.assertEqual(of_indicators("", (), [(1, (n, i, n)), (-1, (i, n))], ()), [])

    def test_a_polynomial_and_its_negative_have_one_reciprocal(self):
        order = CaseScripts({}, (), "")
        a, b = (order.name(atom("real", name), lambda name: "true") for name in ("a", "b"))
        order.signs[order.by_leading(a - b)[1]] = 1
        self.assertEqual(order.quotient(Poly.of(1), a - b), -order.quotient(Poly.of(1), b - a))

    def test_a_power_has_the_sign_of_a_number_that_is_not_negative(self):
        power = "power", ("argument", 0), ("argument", 1)
        self.assertEqual(formula_signs(power, [frozenset((1,)), ALL_SIGNS]), ({1}, True))
        self.assertEqual(formula_signs(power, [frozenset((0, 1)), Natural((0, 1))]), ({0, 1}, True))
        self.assertEqual(formula_signs(power, [ALL_SIGNS, frozenset((0, 1))]), (ALL_SIGNS, False))

    def test_a_number_is_rounded_exactly(self):
        half = "floor", ("/", ("argument", 0), ("number", 2))
        self.assertEqual([exact_value(half, [n]) for n in (3, -3)], [1, -2])

    def test_a_root_less_one_is_not_monotone_as_it_is_0_where_it_is_undefined(self):
        root = ("sqrt", ("argument", 0))
        self.assertEqual((monotonicity(root, 0), monotonicity(("-", root, ("number", 1)), 0)), ({1}, set()))


if __name__ == "__main__":
    unittest.main()
