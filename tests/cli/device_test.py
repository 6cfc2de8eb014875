"""Fingerprints with an emulated GPU: shards are identical to the CPU's, and the transferred bytes equal those of the cost model."""

import subprocess
import sys
import unittest

from binary import ROOT, Case, rulemill

PROFILE = ROOT / "data" / "profiles" / "reference.toml"
MODEL = ROOT / "bench" / "fingerprint_model.py"


def shards(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "shards").iterdir())}


class Device(Case):
    def fingerprint(self, name, *words, max_ops=3):
        out, report = self.folder / name, self.folder / f"{name}.json"
        process = rulemill("fingerprint", "--profile", PROFILE, "--max-ops", max_ops, "--out", out, "--json", report, "--progress", "off", *words)
        self.assertEqual(process.returncode, 0, process.stderr)
        return shards(out), report, process.stdout

    def test_shards_of_three_operators_are_identical(self):
        expected, _, _ = self.fingerprint("cpu", "--device", "cpu")
        made, report, said = self.fingerprint("device", "--device", "emulated", "--threads", 1)
        self.assertIn("emulated gpu", said)
        self.assertEqual(list(made), list(expected))
        for name, content in expected.items():
            self.assertTrue(made[name] == content, name)
        threads, _, _ = self.fingerprint("threads", "--device", "emulated", "--threads", 3)
        self.assertTrue(threads == expected)
        # The model exits with 1 unless its bytes equal the counted ones.
        model = subprocess.run([sys.executable, MODEL, report], capture_output=True, text=True, check=False)
        self.assertEqual(model.returncode, 0, model.stdout + model.stderr)
        self.assertRegex(model.stdout, r"uploaded bytes +model +([\d,]+) +counted +\1\n")

    def test_the_cpu_evaluates_over_the_reals(self):
        words = ["fingerprint", "--profile", ROOT / "data" / "profiles" / "models" / "shifted_rows.toml", "--progress", "off"]
        made = {}
        for device in ("cpu", "emulated"):
            process = rulemill(*words, "--max-ops", 2, "--device", device, "--out", self.folder / device)
            self.assert_works(process)
            self.assertIn("cpu reals", process.stdout)
            made[device] = shards(self.folder / device)
        self.assertTrue(made["cpu"] == made["emulated"])
        self.assertEqual(process.stderr.count("GPUs cannot evaluate over the reals; using the CPU"), 1, process.stderr)

    def test_the_model_rejects_a_run_without_a_gpu(self):
        _, report, _ = self.fingerprint("plain", "--device", "cpu", max_ops=1)
        model = subprocess.run([sys.executable, MODEL, report], capture_output=True, text=True, check=False)
        self.assertEqual((model.returncode, model.stderr), (1, f"{report}: not of a run with --device emulated\n"))


if __name__ == "__main__":
    unittest.main()
