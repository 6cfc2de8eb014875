#!/usr/bin/env python3
"""`optimize --runtime onnxruntime --provider cuda` on a machine whose onnxruntime has no such provider."""

import sys
import unittest

from binary import ROOT, Case, rulemill

try:
    import onnxruntime
except ImportError:
    print("SKIPPED: onnxruntime is not installed (scripts/install-python.sh)")
    sys.exit(77)

MODEL = ROOT / "data" / "models" / "acnet_block.onnx"


class Provider(Case):
    @unittest.skipIf("CUDAExecutionProvider" in onnxruntime.get_available_providers(), "onnxruntime has the provider")
    def test_without_it_the_command_says_so_at_once(self):
        result = self.folder / "result.onnx"
        process = rulemill("optimize", MODEL, "--runtime", "onnxruntime", "--provider", "cuda", "--out", result)
        self.assertEqual(process.returncode, 3)
        self.assertRegex(process.stderr, r"^rulemill: --provider cuda: onnxruntime [0-9.]+ has no CUDAExecutionProvider, only .+\n$")
        self.assertFalse(result.exists())


if __name__ == "__main__":
    unittest.main()
