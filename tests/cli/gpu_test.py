"""`rulemill gpu`: plans without a GPU, and one line where a GPU is needed."""

import pathlib
import stat
import subprocess
import sys
import unittest

from binary import BINARY, ROOT, Case, rulemill

MODEL = ROOT / "data" / "models" / "acnet_block.onnx"
HAS_GPU = pathlib.Path("/dev/nvidia0").exists()

# A rulemill whose GPU takes 4 ms for a model, and 3 ms for the result.
STUB = """#!/bin/bash
set -e
for last; do :; done
case "$1 $2" in
"gpu time")
  [[ $3 == *faster* ]] && seconds=0.003 || seconds=0.004
  echo "{\\"seconds\\": $seconds, \\"lower\\": $seconds, \\"upper\\": $seconds, \\"device\\": \\"a device\\",
    \\"versions\\": \\"CUDA 0.1\\", \\"plan\\": \\"\\"}" > "$last" ;;
optimize*)
  [[ $2 != *broken* ]] || { echo "rulemill: $2: is no model" >&2; exit 3; }
  echo '{"changed": true}' > "$last"
  until [[ $1 == --out ]]; do shift; done
  touch "$2" ;;
esac
"""


class Gpu(Case):
    def test_a_plan_needs_no_gpu(self):
        report = self.json("gpu", "plan", MODEL)
        self.assertGreater(report["steps"], 0)
        self.assertGreaterEqual(report["arena_bytes"], report["min_arena_bytes"])
        process = rulemill("gpu", "plan", MODEL)
        self.assertRegex(process.stdout, r"acnet_block.onnx: \d+ products, [1-9]\d* convolutions, ")
        self.assertEqual(process.stdout, rulemill("gpu", "plan", MODEL).stdout)

    def test_a_file_that_is_not_a_model_is_reported(self):
        self.assert_fails(rulemill("gpu", "plan", self.folder / "absent.onnx"), 3, "absent.onnx")
        self.assert_fails(rulemill("gpu", "plan", MODEL, "--dynamic-size", "0"), 2, "--dynamic-size")

    @unittest.skipIf(HAS_GPU, "SKIPPED: there is a GPU here")
    def test_a_missing_gpu_is_reported_in_one_line(self):
        self.assert_fails(rulemill("gpu", "time", MODEL), 3, "GPU")
        out = self.folder / "out.onnx"
        self.assert_fails(rulemill("optimize", MODEL, "--cost", "cuda", "--out", out), 3, "GPU")
        self.assertFalse(out.exists())
        process = self.measure(BINARY, MODEL)
        self.assertEqual(process.returncode, 3)
        self.assertIn("GPU", process.stderr)
        self.assertEqual(process.stdout, "")

    def test_the_percentage_of_time_removed_is_printed_next_to_published_ones(self):
        stub = self.folder / "rulemill"
        stub.write_text(STUB, encoding="utf-8")
        stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
        for name in ("vgg19", "other", "broken"):
            (self.folder / f"{name}.onnx").touch()
        process = self.measure(stub, *(self.folder / f"{name}.onnx" for name in ("vgg19", "other", "broken")))
        self.assertEqual(process.returncode, 1, process.stderr)
        rows = {line.split()[0]: line.split() for line in process.stdout.splitlines() if line}
        self.assertEqual(rows["vgg19"][1:], ["4.000", "3.000", "25.0", "15", "13"])
        self.assertEqual(rows["other"][1:], ["4.000", "3.000", "25.0", "-", "-"])
        self.assertIn("is no model", process.stdout)

    def measure(self, binary, *models):
        command = [sys.executable, ROOT / "bench" / "gpu_models.py", "--rulemill", binary, *models]
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=120)


if __name__ == "__main__":
    unittest.main(verbosity=2)
