#!/usr/bin/env python3
"""`rulemill.equal`: verdicts on two models, and where different ones differ."""

import unittest

from binary import ROOT, Case
from binary import rulemill as run
from package_case import numpy, onnx, rulemill

MODEL = ROOT / "data/models/acnet_block.onnx"
HEAD = '<ir_version: 8, opset_import: ["" : 17]> g '


@unittest.skipIf(onnx is None or numpy is None, "needs onnx and NumPy")
class Equal(Case):
    def models(self, *texts):
        return [onnx.parser.parse_model(HEAD + text) for text in texts]

    def test_verdicts(self):
        text, rules = self.folder / "idempotent.rules", self.folder / "idempotent.rmdb"
        text.write_text("rule idempotent(x[d...])\n  relu(relu(x)) => relu(x)\n", encoding="utf-8")
        self.assert_works(run("rules", "import", text, "--out", rules))
        scale = "(float[2, 3] x) => (float[2, 3] y) <float k = {%s}> { y = Mul(x, k) }"
        twice = "(float[2, 3] x) => (float[2, 3] y) { y = Add(x, x) }"
        for before, after, status in ((scale % "2", twice, "equal"), (scale % "3", twice, "different"),
                                      ("(float[2] x) => (float[2] y) { y = Erf(x) }", "(float[2] x) => (float[2] y) { t = Erf(x) y = Erf(t) }", "different")):
            with self.subTest(before):
                found = rulemill.equal(*self.models(before, after), rules=rules)
                self.assertEqual((found.status, found.equal), (status, status == "equal"))
                if status == "different":
                    self.assertEqual(list(found.inputs), ["x"])
                    before_value, after_value = (found.first_difference[side] for side in ("before", "after"))
                    self.assertNotEqual(before_value, after_value)

    def test_what_is_no_model_is_refused(self):
        with self.assertRaises(TypeError):
            rulemill.equal(MODEL, 42)
        with self.assertRaises(rulemill.InputError) as caught:
            rulemill.equal(MODEL, self.folder / "missing.onnx")
        self.assertIn("missing.onnx", caught.exception.message)


if __name__ == "__main__":
    unittest.main()
