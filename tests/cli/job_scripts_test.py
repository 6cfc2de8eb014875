#!/usr/bin/env python3
"""The job scripts with a Slurm that is played: what they start, and when they go back into the queue."""

import os
import pathlib
import shutil
import subprocess
import unittest

from binary import ROOT, Case

# Notes its words and does what the test has written for it.
PLAYED = """#!/bin/bash
echo "$(basename "$0") $*" >>"$PLAYED/calls"
[[ $(basename "$0") == scontrol ]] || source "$PLAYED/step"
"""


class JobScripts(Case):
    def setUp(self):
        super().setUp()
        for name in ("srun", "scontrol"):
            (self.folder / name).write_text(PLAYED)
            (self.folder / name).chmod(0o755)

    def submit(self, script, words, step):
        """The script's exit code, what it started, and what it said; `step` is what srun does."""
        (self.folder / "step").write_text(step)
        (self.folder / "calls").unlink(missing_ok=True)
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "PLAYED": str(self.folder), "SLURM_JOB_ID": "17"}
        process = subprocess.run(["bash", str(ROOT / "slurm" / script), *words], env=environment, cwd=self.folder,
                                 capture_output=True, text=True, check=False, timeout=60)
        return process.returncode, (self.folder / "calls").read_text().splitlines(), process.stderr

    def test_a_stopped_discovery_goes_back_into_the_queue_if_it_gained_something(self):
        words = ["p.toml", "out"]
        code, calls, _ = self.submit("discover.sbatch", words, "mkdir -p out; echo more >>out/shard; exit 4")
        self.assertEqual(code, 4)
        self.assertEqual(calls[1:], ["scontrol requeue 17"])
        self.assertIn("--kill-on-bad-exit=1", calls[0])
        code, calls, errors = self.submit("discover.sbatch", words, "exit 4")
        self.assertEqual((code, calls[1:]), (1, []))
        self.assertIn("nothing was gained since the last start", errors)

    def test_what_has_failed_or_is_done_is_not_requeued(self):
        for script, words in (("discover.sbatch", ["p.toml", "out"]), ("optimize.sbatch", ["m.onnx", "rules", "o.onnx"])):
            for code in (0, 1, 3):
                self.assertEqual(self.submit(script, words, f"exit {code}")[0], code)
                self.assertEqual(len(self.submit(script, words, f"exit {code}")[1]), 1)

    def test_a_stopped_optimization_goes_back_into_the_queue(self):
        code, calls, _ = self.submit("optimize.sbatch", ["m.onnx", "rules", "o.onnx"], "exit 4")
        self.assertEqual((code, calls[1:]), (4, ["scontrol requeue 17"]))

    @unittest.skipUnless(shutil.which("shellcheck"), "SKIPPED: shellcheck is not on PATH")
    def test_the_scripts_have_no_faults_that_shellcheck_knows(self):
        scripts = [str(path) for folder in ("slurm", "scripts") for path in pathlib.Path(ROOT / folder).glob("*") if path.suffix in (".sh", ".sbatch")]
        checked = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True, check=False)
        self.assertEqual(checked.stdout, "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
