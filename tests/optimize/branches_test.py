#!/usr/bin/env python3
"""Networks in training form: the rules that `discover` finds bring every block to one convolution, as their authors do by hand."""

import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from binary import ROOT, Case, rulemill

sys.path.insert(0, str(ROOT / "bench"))
try:
    import onnx

    import branched_models
except ImportError:
    onnx = None

PROFILE = ROOT / "data" / "profiles" / "models" / "convolution.toml"


@unittest.skipIf(onnx is None, "SKIPPED: the onnx package is not installed")
class Branches(Case):
    @classmethod
    def setUpClass(cls):
        cls.rules = Path(tempfile.mkdtemp(prefix="rulemill-test-"))
        process = rulemill("discover", "--profile", PROFILE, "--out", cls.rules, "--progress", "off")
        if process.returncode != 0:
            raise AssertionError(process.stdout + process.stderr)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.rules, ignore_errors=True)

    def optimize(self, kind):
        """The report, and convolutions before, after, and in the inference form."""
        model, expected = branched_models.make(kind)
        before, after = self.folder / "before.onnx", self.folder / "after.onnx"
        onnx.save(model, before)
        report = self.json("optimize", before, "--rules", self.rules, "--out", after)

        def convolutions(graph):
            return sum(node.op_type == "Conv" for node in graph.node)

        return report, convolutions(model.graph), convolutions(onnx.load(after).graph), expected

    def test_every_block_of_a_branched_network_becomes_one_convolution(self):
        report, before, after, expected = self.optimize("repvgg")
        self.assertEqual((before, after), (29, expected))
        self.assertTrue(report["search"]["exhausted"])
        self.assertTrue(all(judge["verdict"] == "equal" for judge in report["verification"]["judges"]), report)

    def test_an_over_parametrized_depthwise_block_becomes_one_convolution(self):
        _, before, after, expected = self.optimize("mobileone-small")
        self.assertEqual((before, after), (21, expected))


if __name__ == "__main__":
    unittest.main()
