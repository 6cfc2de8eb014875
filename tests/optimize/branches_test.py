#!/usr/bin/env python3
"""The rules that `discover` finds reduce every block of networks in training form to one convolution."""

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
        """Returns the report, and the numbers of convolutions before, after, and in the inference form."""
        model, expected = branched_models.make(kind)
        before, after = self.folder / "before.onnx", self.folder / "after.onnx"
        onnx.save(model, before)
        report = self.json("optimize", before, "--rules", self.rules, "--out", after, "--no-benchmark")

        def convolutions(graph):
            return sum(node.op_type == "Conv" for node in graph.node)

        return report, convolutions(model.graph), convolutions(onnx.load(after).graph), expected

    def assert_stable(self):
        """Optimizing the result again changes nothing."""
        once, twice = self.folder / "after.onnx", self.folder / "twice.onnx"
        report = self.json("optimize", once, "--rules", self.rules, "--out", twice, "--no-benchmark")
        self.assertFalse(report["changed"])
        self.assertEqual(once.read_bytes(), twice.read_bytes())

    def test_every_block_of_a_branched_network_becomes_one_convolution(self):
        report, before, after, expected = self.optimize("repvgg")
        self.assertEqual((before, after), (29, expected))
        self.assertTrue(all(each["verdict"] == "equal" for each in report["verification"]["verifiers"]), report)
        self.assert_stable()

    def test_an_over_parametrized_depthwise_block_becomes_one_convolution(self):
        _, before, after, expected = self.optimize("mobileone-small")
        self.assertEqual((before, after), (21, expected))
        self.assert_stable()

    def test_the_fastest_candidate_is_written_and_not_the_cheapest(self):
        model, _ = branched_models.make("repvgg")
        before, after, command = self.folder / "before.onnx", self.folder / "after.onnx", self.folder / "benchmark.sh"
        onnx.save(model, before)
        nodes = []
        for fastest in ("0", "1"):
            command.write_text(f"#!/bin/sh\ncase $1 in */candidate{fastest}.onnx) echo 3;; */candidate*) echo 4;; *) echo 5;; esac\n",
                             encoding="utf-8")
            command.chmod(0o755)
            report = self.json("optimize", before, "--rules", self.rules, "--out", after, "--benchmark-command", command)
            self.assertGreater(len(report["timing"]["candidates"]), 1)
            self.assertEqual(report["onnx_nodes"]["after"], len(onnx.load(after).graph.node))
            nodes.append(report["onnx_nodes"]["after"])
        self.assertLess(nodes[0], nodes[1])


if __name__ == "__main__":
    unittest.main()
