#!/usr/bin/env python3
"""`rulemill variants`: different models that are proved to be equal, the same ones for the same seed."""

import sys
import unittest

from binary import ROOT, FusionRulesCase, rulemill

try:
    import onnx
    import onnx.parser
except ImportError:
    onnx = None

# Of products and sums, whose rules lead from each form to the others.
MODEL = """<ir_version: 8, opset_import: ["" : 18]> g (float[2,3] x, float[2,3] z) => (float[2,4] y)
  <float[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[3,4] v = {2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1}>
  { a = MatMul(x, w) b = MatMul(z, w) c = Add(a, b) d = MatMul(x, v) e = Add(c, d) y = Relu(e) }"""


@unittest.skipIf(onnx is None, "SKIPPED: onnx is not installed (scripts/install-debian.sh)")
class Variants(FusionRulesCase):
    sources = (ROOT / "tests" / "cli" / "variants.rules",)

    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.onnx"
        onnx.save(onnx.parser.parse_model(MODEL), self.model)

    def variants(self, name, *options, count=3):
        """Returns the contents of all files."""
        out = self.folder / name
        self.assert_works(rulemill("variants", self.model, "--rules", self.rules, "--out", out, "--count", count, *options))
        return {file.name: file.read_bytes() for file in out.iterdir()}

    def test_variants_are_different_and_their_proofs_are_followed(self):
        files = self.variants("out")
        models = [name for name in files if name.endswith(".onnx")]
        self.assertEqual(set(files), {f"variant_{i}.{kind}" for i in range(1, 4) for kind in ("onnx", "proof")})
        texts = {onnx.printer.to_text(onnx.load(self.folder / "out" / name).graph) for name in models}
        self.assertEqual(len(texts), len(models))
        self.assertNotIn(onnx.printer.to_text(onnx.load(self.model).graph), texts)
        for name in models:
            variant = self.folder / "out" / name
            onnx.checker.check_model(onnx.load(variant), full_check=True)
            self.assert_works(rulemill("check", self.model, variant, "--proof", variant.with_suffix(".proof")))

    def test_they_depend_on_the_seed_only(self):
        first = self.variants("first", "--seed", "7")
        fewer = self.variants("second", "--seed", "7", count=2)
        self.assertEqual(len(fewer), 4)
        self.assertEqual({name: first[name] for name in fewer}, fewer)
        self.assertNotEqual(first, self.variants("third", "--seed", "8"))

    def test_bad_input_is_refused_before_anything_is_written(self):
        words = ["variants", self.model, "--rules", self.rules, "--out"]
        self.assert_fails(rulemill(*words, self.folder), 2, "expected a new or empty folder")
        self.assert_fails(rulemill(*words, self.folder / "out", "--count", "0"), 2, "--count")
        self.model.write_bytes(b"no model")
        self.assert_fails(rulemill(*words, self.folder / "out"), 3, "model.onnx")
        onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 18]> g (float[2] x) => (float[2] y) { y = Relu(x) }'), self.model)
        self.assert_fails(rulemill(*words, self.folder / "out"), 1, "no variant with a proof was found")
        self.assertEqual(list((self.folder / "out").iterdir()), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
