#!/usr/bin/env python3
"""`rulemill.operators` and `rulemill.evaluate`: documented operators and their values on NumPy arrays."""

import json
import unittest

from binary import Case
from binary import rulemill as run
from package_case import numpy, rulemill


class Operators(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.operators = {each.name: each for each in rulemill.operators()}

    def test_each_operator_has_its_definition(self):
        for operator in self.operators.values():
            self.assertTrue(operator.signature.startswith(operator.name + "("), operator.signature)
            self.assertGreaterEqual(len(operator.outputs), 1)
        split = self.operators["split"]
        self.assertEqual(split.signature, "split(x[d...]; axis < rank, at: size)")
        self.assertEqual(split.doc, "The first `at` elements of an axis, and the rest.")
        self.assertIn("where at < d[axis]", split.definition)
        self.assertEqual((split.outputs, split.sizes, split.parameters), (("first", "second"), ("at",), ("axis",)))

    def test_outputs_of_a_composite_are_those_of_what_it_is_made_of(self):
        self.assertEqual(self.operators["conv2d_bias"].outputs, self.operators["add_channel"].outputs)

    @unittest.skipIf(numpy is None, "SKIPPED: numpy is not installed (scripts/install-debian.sh)")
    def test_eval_agrees_with_numpy(self):
        random = numpy.random.default_rng(0)
        x, w = random.standard_normal((3, 4)), random.standard_normal((4, 2))
        numpy.testing.assert_allclose(self.operators["matmul"].eval(x, w), x @ w, rtol=1e-12)
        numpy.testing.assert_allclose(self.operators["scale"].eval(x, 2), 2 * x, rtol=1e-12)
        first, second = self.operators["split"].eval(x, axis=1, at=3)
        numpy.testing.assert_array_equal(first, x[:, :3])
        numpy.testing.assert_array_equal(second, x[:, 3:])
        padded = self.operators["pad"].eval(x, front=[1, 0], back=[0, 2])
        numpy.testing.assert_array_equal(padded, numpy.pad(x, ((1, 0), (0, 2))))
        image, kernel = random.standard_normal((1, 1, 4, 4)), numpy.zeros((1, 1, 3, 3))
        kernel[0, 0, 1, 1] = 1
        numpy.testing.assert_array_equal(self.operators["conv2d"].eval(image, kernel, stride=2, pad="same"), image[:, :, ::2, ::2])

    @unittest.skipIf(numpy is None, "SKIPPED: numpy is not installed (scripts/install-debian.sh)")
    def test_terms_are_evaluated(self):
        x = numpy.array([[-1.0, 2.0], [3.0, -4.0]])
        numpy.testing.assert_array_equal(rulemill.evaluate("relu(add(x, x))", {"x": x}), numpy.maximum(2 * x, 0))
        one, other = rulemill.evaluate("let s = split(x; axis=0, at=1)\n s.second, s.first", {"x": x})
        numpy.testing.assert_array_equal(numpy.concatenate([other, one]), x)
        first = rulemill.evaluate("split(x; axis=1, at=half).first", {"x": x}, {"half": 1})
        numpy.testing.assert_array_equal(first, x[:, :1])
        undefined = rulemill.evaluate("log(x)", {"x": x})
        numpy.testing.assert_array_equal(numpy.isnan(undefined), x < 0)

    @unittest.skipIf(numpy is None, "SKIPPED: numpy is not installed (scripts/install-debian.sh)")
    def test_a_wrong_term_is_an_error_with_its_place(self):
        x = numpy.ones((2, 2))
        for terms, message, column in (("relu(relux(x))", "relux", 6), ("relu(x", "expected", 7), ("relu(x) y", "expected the end of the terms", 9),
                                       ("relu(z)", "'z' is no variable", 6)):
            with self.subTest(terms), self.assertRaisesRegex(rulemill.InputError, message) as caught:
                rulemill.evaluate(terms, {"x": x})
            self.assertEqual((caught.exception.file, caught.exception.line, caught.exception.column), ("TERMS", 1, column))
        for terms, message in (("matmul(x, y)", "TERMS: "), ("split(y; axis=0).first", "TERMS: size 'at' of 'split' is not determined")):
            with self.subTest(terms), self.assertRaisesRegex(rulemill.InputError, message):
                rulemill.evaluate(terms, {"x": x, "y": numpy.ones((3, 2))})


class Command(Case):
    def evaluate(self, terms, values):
        file = self.folder / "values.json"
        file.write_text(values if isinstance(values, str) else json.dumps(values), encoding="utf-8")
        return run("operators", "eval", terms, "--values", file)

    def test_it_prints_shapes_and_values(self):
        process = self.evaluate("relu(x), log(x)", {"x": {"shape": [1, 2], "values": [-1, 1]}})
        self.assert_works(process)
        self.assertEqual(process.stdout, "[1, 2]: 0, 1\n[1, 2]: undefined, 0\n")

    def test_invalid_values_are_errors_with_file_and_tensor(self):
        for values, expected in (({"x": {"shape": [2], "values": [1]}}, "'x': expected 2 values, found 1"),
                                 ({"x": {"shape": [0], "values": []}}, "'x': expected sizes of at least 1, found 0"),
                                 ({"x": [1, 2]}, "'x': expected an object with 'shape'"), ([1], "expected an object with a tensor"),
                                 ("{", "values.json:1:2")):
            with self.subTest(values):
                self.assert_fails(self.evaluate("relu(x)", values), 3, "values.json", expected)


if __name__ == "__main__":
    unittest.main()
