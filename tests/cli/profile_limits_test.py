#!/usr/bin/env python3
"""Profiles beyond the limits of the executor are reported in one line, an unused operator with a warning; eight inputs work."""

import unittest

from binary import ROOT, Case, rulemill

HEAD = 'name = "limits"\nseed = 7\nmax_ops = {ops}\nmax_elements = {elements}\n'
HUGE = """
operator huge_middle(x[m, k], w[k, n])
  tensor t[i < m, j < n, p < k, q < 9] = x[i, p] * w[p, j]
  y[i < m, j < n] = sum(p < k, q < 9) t[i, j, p, q]

operator eight(a[n], b[n], c[n], d[n], e[n], f[n], g[n], h[n])
  y[i < n] = a[i] * b[i] + c[i] * d[i] + e[i] * f[i] + g[i] * h[i]
"""


class ProfileLimits(Case):
    def discover(self, text, *options, ops=1, elements=64):
        definitions = self.folder / "definitions"
        if not definitions.exists():
            definitions.mkdir()
            for path in (ROOT / "data" / "operators").iterdir():
                (definitions / path.name).write_bytes(path.read_bytes())
            (definitions / "huge.op").write_text(HUGE, encoding="utf-8")
        profile = self.folder / "profile.toml"
        profile.write_text(HEAD.format(ops=ops, elements=elements) + text, encoding="utf-8")
        return rulemill("discover", "--profile", profile, "--out", self.folder / "out", "--definitions", definitions,
                        "--progress", "off", *options)

    def test_a_too_large_intermediate_tensor_is_reported(self):
        text = '[[variables]]\nnames = ["x1"]\nshape = [4, 4]\n[[operators]]\noperator = "huge_middle"\n'
        self.assert_fails(self.discover(text), 3, "profile.toml:8:1: huge_middle, an intermediate tensor has 576 "
                                                  "elements, more than max_elements = 64")
        self.assert_works(self.discover(text, "--fresh", elements=1000))

    def test_a_maximum_over_too_many_elements_is_reported(self):
        text = ('[[variables]]\nnames = ["x1"]\nshape = [1, 1, 12, 12]\n[[operators]]\noperator = "max_pool"\n'
                'parameters = { kernel = 9, stride = 1, pad = "valid" }\n')
        self.assert_fails(self.discover(text, elements=1000), 3, "a maximum is taken over 81 elements; at most 64 can be compared")

    def test_an_operator_that_never_applies_is_reported_and_the_run_continues(self):
        text = ('[[variables]]\nnames = ["x1"]\nshape = [4, 4]\n[[operators]]\noperator = "relu"\n'
                '[[operators]]\noperator = "conv2d"\n')
        process = self.discover(text, ops=2)
        self.assert_works(process)
        self.assertIn("profile.toml:10:1: operator 'conv2d' never applies", process.stdout + process.stderr)
        self.assertNotIn("'relu' never applies", process.stdout + process.stderr)

    def test_an_operator_with_eight_inputs_works(self):
        """Products and the four summands commute: these symmetries are found and proved."""
        text = ('[[variables]]\nnames = ["a1", "b1"]\nshape = [3]\n[[operators]]\noperator = "eight"\n')
        self.assert_works(self.discover(text))
        rules = self.json("rules", "list", self.folder / "out", "--definitions", self.folder / "definitions")["rules"]
        self.assertGreater(len(rules), 5)
        self.assertTrue(all("eight(" in rule["text"] for rule in rules))
        self.assert_works(rulemill("check", self.folder / "out", "--definitions", self.folder / "definitions"))


if __name__ == "__main__":
    unittest.main()
