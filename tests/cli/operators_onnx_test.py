#!/usr/bin/env python3
"""`rulemill operators check --onnx`: the shipped mappings agree with onnxruntime, and wrong ones are detected."""

import json
import re
import unittest

from binary import ROOT, Case, rulemill

# Each is detected by two random nodes per mapping, since those with chosen numbers come first.
WRONG = {
    "another function": ("operator shy(x[d...])\n  y[i... < d...] = -x[i...]\n  onnx Relu\n", "shy"),
    "a bound that small numbers do not reach": ("operator six(x[d...])\n  y[i... < d...] = capped(x[i...])\n  onnx Relu\n", "six"),
    "the other value at equal numbers": (
        "operator above(a[d...], b[d...])\n  y[i... < d...] of bool = over(a[i...], b[i...])\n  onnx GreaterOrEqual since 12\n", "above"),
    "the other padding": (
        "operator behind(x[d...]; front[d...]: int, back[d...]: int)\n  y[i... < d... + front... + back...] = x[i... - back...]\n"
        "  onnx Pad(x, const [front..., back...]) since 13\n", "behind"),
    "another default": ("operator slope(x[d...], a[])\n  y[i... < d...] = relu(x[i...]) - a[] * relu(-x[i...])\n"
                        "  onnx LeakyRelu {alpha = a default 0.5}\n", "slope"),
    "the variance without epsilon": (
        "operator rows(x[d..., n], g[n], b[n])\n  tensor m[i... < d...] = sum(p < n) x[i..., p] / n\n"
        "  tensor v[i... < d...] = sum(p < n) (x[i..., p] - m[i...]) * (x[i..., p] - m[i...]) / n\n"
        "  y[i... < d..., q < n] = (x[i..., q] - m[i...]) * g[q] * recip(sqrt(v[i...] + 0.5)) + b[q]\n"
        "  onnx LayerNormalization since 17 {axis = -1 default -1, epsilon = 0.00001}\n", "rows"),
}
UNKNOWN = {
    "Reluu {foo = 3}": "does not have operator Reluu of ONNX",
    "Relu {foo = 3}": "does not have attribute foo of operator Relu of ONNX",
    "Relu(x, x, x)": "does not have input 3 of operator Relu of ONNX",
    'Relu {domain = "com.microsoft"}': "does not have operator Relu of domain com.microsoft",
}


class Mappings(Case):
    def report(self, *arguments):
        where = self.folder / "report.json"
        done = rulemill("operators", "check", "--onnx", *arguments, "--json", where)
        return done, json.loads(where.read_text(encoding="utf-8")) if where.exists() else {}

    def test_the_shipped_mappings_are_compared_and_agree_with_onnxruntime(self):
        done, report = self.report("--trials", "3")
        self.assert_works(done)
        untried = {m["op_type"] for m in report["mappings"] if m["agreed"] == 0}
        of_training = (ROOT / "python" / "rulemill" / "torch_operators.py").read_text(encoding="utf-8")  # which PyTorch computes
        self.assertEqual(untried, set(re.findall(r'"rulemill\.torch\.(\w+)"', of_training)))

    def test_a_wrong_mapping_is_detected(self):
        for what, (text, name) in WRONG.items():
            with self.subTest(what):
                folder = self.folder / name
                folder.mkdir()
                functions = "function relu(t) = max(t, 0)\nfunction sqrt(t) = sqrt(t)\nfunction recip(t) = 1 / t\n"
                functions += "function capped(t) = min(max(t, 0), 6)\nfunction over(a, b) = less(b, a)\n"
                (folder / "wrong.op").write_text(functions + text, encoding="utf-8")
                done, _ = self.report("--definitions", folder, "--trials", "2")
                self.assert_fails(done, 1, "1 mappings differ")
                self.assertIn(name, done.stdout)

    def test_an_operator_of_a_domain_that_onnxruntime_does_not_have_is_listed_as_not_compared(self):
        (self.folder / "own.op").write_text(
            "function relu(t) = max(t, 0)\noperator mine(x[d...])\n  y[i... < d...] = relu(x[i...])\n  onnx Mine {domain = \"com.example\"}\n"
            "operator wrong(x[d...])\n  y[i... < d...] = -x[i...]\n  onnx Relu\n", encoding="utf-8")
        done, report = self.report("--definitions", self.folder)
        self.assert_fails(done, 1, "1 mappings differ")
        self.assertRegex(done.stdout, r"mine .* not compared: onnxruntime .* does not have domain com\.example")
        mine, wrong = report["mappings"]
        self.assertEqual((mine["operator"], mine["agreed"], mine["difference"]), ("mine", 0, ""))
        self.assertIn("com.example", mine["rejection"])
        self.assertNotEqual(wrong["difference"], "")

    def test_a_mapping_to_something_that_onnxruntime_does_not_have_is_an_error_with_its_place(self):
        for mapping, expected in UNKNOWN.items():
            with self.subTest(mapping):
                (self.folder / "wrong.op").write_text(
                    f"function relu(t) = max(t, 0)\noperator one(x[d...])\n  y[i... < d...] = relu(x[i...])\n  onnx {mapping}\n", encoding="utf-8")
                done, _ = self.report("--definitions", self.folder)
                self.assert_fails(done, 3, "wrong.op:4:", expected)


if __name__ == "__main__":
    unittest.main()
