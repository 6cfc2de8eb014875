#!/usr/bin/env python3
"""The parts of the reader of PDL (python/rulemill/exchange): MLIR's text, patterns, attributes with unknown numbers; and random
changes of patterns, each of which is read or rejected with its place."""

import random
import re
import sys
import unittest

from binary import ROOT, Case, rulemill

sys.path.insert(0, str(ROOT / "python" / "rulemill"))

from exchange.errors import Problem  # noqa: E402 pylint: disable=wrong-import-position,import-error
from exchange.mlir_text import MlirText  # noqa: E402 pylint: disable=wrong-import-position,import-error
from exchange.pdl_patterns import Pattern, read_patterns  # noqa: E402 pylint: disable=wrong-import-position,import-error
from exchange.pdl_types import TypeReader, read_constant  # noqa: E402 pylint: disable=wrong-import-position,import-error
from exchange.sizes import number, parse_size  # noqa: E402 pylint: disable=wrong-import-position,import-error
from exchange.stablehlo_equations import Equations, is_neutral, numbers_of  # noqa: E402 pylint: disable=wrong-import-position,import-error

CORPUS = sorted((ROOT / "tests" / "corpus" / "pdl_rules").glob("*.pdl"))
WORDS = ["%t", "%x", "%n1", "pdl.type", "pdl.operand", "pdl.attribute = ", "pdl.rewrite ", "pdl.replace ", " with (", "stablehlo.dot",
         "stablehlo.pad", "tensor<2x3xf32>", "array<i64: 1, 0>", "dense<0.0> : ", "real: m, n", "{n}", "m // n", " : !pdl.value)", "-> (",
         "<", "?x", '"', "}", "{", "[", "\\", "\x00", "é"]


class Text(unittest.TestCase):
    def test_an_attribute_ends_at_its_line_or_bracket(self):
        for text, expected in (("array<i64: 1,\n  0> // order\n%x", "array<i64: 1, 0>"), ('"a > b" }', '"a > b"'), ("f(a -> b) ]", "f(a -> b)")):
            self.assertEqual(MlirText(text, "f").attribute(), expected)

    def test_data_are_lists_dictionaries_texts_and_integers(self):
        text = r'[{a = "x \22y\22", "b c" = [1 : i64, 2]}, "z\\"] '
        self.assertEqual(MlirText(text, "f").data(), [{"a": 'x "y"', "b c": [1, 2]}, "z\\"])

    def test_what_is_not_closed_is_named_with_its_place(self):
        for text, read, place in (('\n "a\n"', "data", "f:2:2"), (" [1, (2]", "attribute", "f:1:8"), ("\n(1", "attribute", "f:2:1"),
                                  (" { // }\n", "skip_braces", "f:1:2"), ("[" * 30, "data", "f:1:22")):
            with self.subTest(text), self.assertRaises(Problem) as caught:
                getattr(MlirText(text, "f"), read)()
            self.assertEqual(caught.exception.place, place)

    def test_words_end_where_their_characters_do(self):
        text = MlirText("pdl.operands // x\n  pdl.operand", "f")
        self.assertFalse(text.accept("pdl.operand"))
        self.assertEqual((text.word(), text.accept("pdl.operand"), text.peek()), ("pdl.operands", True, ""))


class Types(unittest.TestCase):
    def test_types_have_dimensions_and_elements(self):
        for text, shape, kind in (("tensor<2x{m * n}x$>", "2 m*n", "real"), ("tensor<i1>", "", "bool"), ("real: div(m, 2), n", "div(m,2) n", "real")):
            tensor = TypeReader(Pattern("p", "f:1:1")).read(text)
            self.assertEqual((tensor.shape, tensor.kind), (tuple(map(parse_size, shape.split())), kind))

    def test_a_constant_is_one_number(self):
        pattern = Pattern("p", "f:1:1")
        self.assertEqual(read_constant("dense<-1.5e+00> : tensor<2xf32>", pattern)[0], -1.5)
        for text in ("dense<[1.0, 2.0]> : tensor<2xf32>", "1.0 : f32"):
            self.assertIsNone(read_constant(text, pattern))


class UnknownNumbers(unittest.TestCase):
    def test_attributes_of_one_form_determine_their_numbers(self):
        equations = Equations()
        a, b = equations.unknown(), equations.unknown()
        self.assertTrue(equations.equate_texts(f"dense<[[{{{a}}}, {{{b} - 1}}]]> : tensor<1x2xi64>", "dense<[[3, {m + 1}]]> : tensor<1x2xi64>"))
        self.assertTrue(equations.solve())
        self.assertEqual((equations.value(a), equations.value(b)), (number(3), parse_size("m + 2")))

    def test_contradictions_and_products_of_unknown_numbers_are_not_solved(self):
        for left, right in (("{__unknown_1}, {__unknown_1}", "1, 2"), ("{2 * __unknown_1}", "3"), ("{__unknown_1 * __unknown_1}", "4")):
            equations = Equations()
            equations.unknown()
            self.assertTrue(equations.equate_texts(left, right))
            self.assertFalse(equations.solve(), left)

    def test_spellings_of_one_attribute_are_equal(self):
        for left, right, expected in (("dense<0> : tensor<2x2xi64>", "dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>", True),
                                      ("#s.dot<a = [], b = [1]>", "#s.dot<b = [1]>", True), ("array<i64: >", "array<i64>", True),
                                      ("array<i64: 1>", "array<i64: 1, 1>", False), ("array<i64: 1>", "array<i32: 1>", False)):
            equations = Equations()
            self.assertEqual(equations.equate_texts(left, right) and equations.solve(), expected, left)

    def test_numbers_and_neutral_attributes(self):
        self.assertEqual([numbers_of(text) for text in ("array<i64>", "array<i64: 0, 12>", "array<i64: -1>")], [(), (0, 12), None])
        self.assertTrue(is_neutral("window_reversal", "array<i1: false>"))
        self.assertFalse(is_neutral("window_reversal", "array<i1: true>"))


def changed(text, rng):
    tokens = re.findall(r"[\w.%@]+|\s+|.", text, re.DOTALL)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(tokens))
        tokens[at:at + rng.randint(0, 2)] = [rng.choice([*WORDS, rng.choice(tokens), ""])]
    return "".join(tokens)[:len(text) if rng.random() < 0.8 else rng.randrange(len(text))]


class Changed(Case):
    def test_changed_patterns_are_read_or_rejected_with_their_place(self):
        rng = random.Random(1)
        texts = [changed(rng.choice(CORPUS).read_text(encoding="utf-8"), rng) for _ in range(1000)]
        for text in texts:
            try:
                for pattern in read_patterns(MlirText(text, "fuzzed.pdl")):
                    self.assertRegex(pattern.place, r"^fuzzed.pdl:\d+:\d+$")
            except Problem as problem:
                self.assertRegex(problem.place, r"^fuzzed.pdl:\d+:\d+$", text)
        for text in texts[:6]:
            path = self.folder / "fuzzed.pdl"
            path.write_text(text, encoding="utf-8")
            process = rulemill("rules", "import", path, "--out", self.folder / "out.rmdb")
            self.assertIn(process.returncode, (0, 1, 3), text)
            for line in process.stderr.splitlines():
                self.assertRegex(line, rf"^rulemill: ({path}[: ]|rules import: )", text)


if __name__ == "__main__":
    unittest.main()
