#!/usr/bin/env python3
"""A model is optimized before it is quantized: bench/models/quantized.py with the sample model."""

import argparse
import sys
import unittest

from binary import ROOT, Case, rulemill

sys.path.insert(0, str(ROOT / "bench" / "models"))
try:
    import quantized
except ImportError:
    print("SKIPPED: onnx and onnxruntime are not installed (scripts/install-python.sh)")
    sys.exit(77)


class Quantized(Case):
    def test_rules_merge_branches_before_quantization_and_leave_a_quantized_model(self):
        rules = self.folder / "rules"
        self.assert_works(rulemill("discover", "--profile", ROOT / "data/profiles/quickstart.toml", "--out", rules))
        given = argparse.Namespace(options=["--rules", rules, "--no-benchmark"], calibrations=4, seconds=0.2)
        found = quantized.compared(ROOT / "data" / "models" / "acnet_block.onnx", self.folder, given)
        nodes = {form: each["nodes"] for form, each in found.items()}
        errors = {form: each["error"] for form, each in found.items()}
        self.assertEqual(nodes["model"], 24)
        self.assertLess(nodes["optimized, then quantized"], nodes["quantized"] / 3)
        self.assertEqual(nodes["quantized, then optimized"], nodes["quantized"])
        self.assertLess(errors["optimized"], 1e-6)
        self.assertTrue(1e-3 < errors["quantized"] < 0.1, errors)
        self.assertEqual(errors["quantized, then optimized"], errors["quantized"])
        self.assertLess(errors["optimized, then quantized"], 1.1 * errors["quantized"])


if __name__ == "__main__":
    unittest.main()
