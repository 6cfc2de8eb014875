#!/usr/bin/env python3
"""The job scripts with a mocked Slurm: the commands that they start, and when they requeue. tests/slurm uses a real one."""

import os
import pathlib
import shutil
import subprocess
import unittest

from binary import ROOT, Case

# Records its arguments and runs the script of the test.
MOCK = """#!/bin/bash
echo "$(basename "$0") $*" >>"$MOCK/calls"
case $(basename "$0") in
  srun) source "$MOCK/step" ;;
  scontrol) [[ $1 == requeue ]] || echo "JobId=17 EndTime=$(date +%FT%T --date "$LEFT seconds") Other=1" ;;
  rulemill) source "$MOCK/status" ;;
esac
"""


class JobScripts(Case):
    def setUp(self):
        super().setUp()
        for name in ("srun", "scontrol", "rulemill"):
            (self.folder / name).write_text(MOCK)
            (self.folder / name).chmod(0o755)
        (self.folder / "o" / "reports").mkdir(parents=True)
        (self.folder / "o" / "models.txt").write_text("a.onnx\n/models/b.onnx\n")

    def run_job(self, script, words, step, status="exit 0", left=3000, **variables):
        """Runs the script; returns its exit code, the commands that it started, and stderr. `step` is the script of srun."""
        (self.folder / "step").write_text(step)
        (self.folder / "status").write_text(status)
        (self.folder / "calls").write_text("")
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "MOCK": str(self.folder), "LEFT": str(left),
                       "SLURM_JOB_ID": "17", "SLURM_JOB_NAME": "job", "SLURM_SUBMIT_DIR": str(ROOT), **variables}
        environment.pop("RULEMILL", None)
        process = subprocess.run(["bash", str(ROOT / "slurm" / script), *words], env=environment, cwd=self.folder,
                                 capture_output=True, text=True, check=False, timeout=60)
        return process.returncode, (self.folder / "calls").read_text().splitlines(), process.stderr

    def optimize(self, step, index=2, **more):
        return self.run_job("optimize.sbatch", ["rules", "o", *more.pop("words", [])], step, SLURM_ARRAY_JOB_ID="12",
                            SLURM_ARRAY_TASK_ID=str(index), **more)

    def test_an_interrupted_stage_is_requeued_if_it_made_progress(self):
        words = ["prove", "p.toml", "out", "--threads", "1"]
        for code in (4, 137):
            code_seen, calls, _ = self.run_job("stage.sbatch", words, f"mkdir -p out; echo more >>out/shard; exit {code}")
            self.assertEqual(code_seen, code)
            self.assertEqual(calls[1:], ["scontrol requeue 17"])
            self.assertIn("--kill-on-bad-exit=1 rulemill prove --profile p.toml --out out --progress plain --threads 1", calls[0])

    def test_a_stage_without_progress_is_requeued_once(self):
        words = ["prove", "p.toml", "out"]
        useless = "mkdir -p out/events; echo more >>out/events/e; exit 137"
        useful = "mkdir -p out; echo more >>out/shard; exit 137"
        for step in (useless, useful, useless):
            code, calls, _ = self.run_job("stage.sbatch", words, step)
            self.assertEqual((code, calls[1:]), (137, ["scontrol requeue 17"]))
        for _ in range(2):
            code, calls, errors = self.run_job("stage.sbatch", words, useless)
            self.assertEqual((code, calls[1:]), (1, []))
            self.assertIn("without progress since its last start", errors)
            self.assertEqual(self.run_job("stage.sbatch", words, useless)[0], 137)

    def test_failed_and_finished_stages_are_not_requeued(self):
        for code in (1, 3):
            begun = f"mkdir -p out/events; echo begin >>out/events/rank-00000.jsonl; exit {code}"
            code_seen, calls, _ = self.run_job("stage.sbatch", ["join", "p", "out"], begun)
            self.assertEqual((code_seen, calls[1:]), (code, []))
            self.assertEqual(self.optimize(f"exit {code}")[0], code)
        code, calls, _ = self.run_job("stage.sbatch", ["discover", "p", "out"], "exit 0")
        self.assertEqual((code, calls[1:]), (0, ["rulemill status out --require-stage generalize"]))

    def test_ranks_that_end_while_they_are_connected_are_started_once_more(self):
        words = ["join", "p", "out"]
        code, calls, _ = self.run_job("stage.sbatch", words, "exit 1")
        self.assertEqual((code, calls[1:]), (4, ["scontrol requeue 17"]))
        code, calls, errors = self.run_job("stage.sbatch", words, "exit 1")
        self.assertEqual((code, calls[1:]), (1, []))
        self.assertIn("its ranks did not start together", errors)
        shutil.rmtree(self.folder / "out")
        code, calls, _ = self.run_job("stage.sbatch", words, "exec sleep 50", RULEMILL_START_TIMEOUT="2")
        self.assertEqual((code, calls[1:]), (4, ["scontrol requeue 17"]))
        code, _, errors = self.run_job("stage.sbatch", words, "exit 0", RULEMILL_START_TIMEOUT="soon")
        self.assertEqual((code, errors), (2, "RULEMILL_START_TIMEOUT: 'soon' is not a number of seconds\n"))

    def test_success_without_a_finished_stage_is_a_failure(self):
        for expected in (4, 1):
            code, calls, errors = self.run_job("stage.sbatch", ["join", "p", "out"], "exit 0", status="exit 4")
            self.assertEqual((code, calls[1]), (expected, "rulemill status out --require-stage join"))
        self.assertIn("without progress", errors)

    def test_an_optimization_interrupted_before_its_time_limit_is_requeued(self):
        code, calls, _ = self.optimize("exit 4")
        self.assertEqual((code, calls[-1]), (4, "scontrol requeue 12_2"))
        code, calls, errors = self.optimize("exit 4", left=50)
        self.assertEqual(code, 1)
        self.assertFalse([call for call in calls if "requeue" in call])
        self.assertIn("longer optimize_time", errors)

    def test_an_optimization_searches_for_half_of_its_time_by_default(self):
        started = [call for call in self.optimize("exit 0")[1] if call.startswith("srun")]
        self.assertRegex(started[0], r"optimize /models/b.onnx --rules rules --out o/b.onnx --json o/reports/b.json .* --time-limit 1[45]\d\d$")
        started = [call for call in self.optimize("exit 0", words=["--time-limit", "7"])[1] if call.startswith("srun")]
        self.assertEqual(started[0].count("--time-limit"), 1)

    def test_sizes_are_not_checked_without_a_controller(self):
        def check(path):
            process = subprocess.run([shutil.which("bash"), str(ROOT / "slurm" / "submit"), "check"], capture_output=True, text=True,
                                     check=False, env={"PATH": path})
            return process.returncode, process.stdout, process.stderr.splitlines()

        for program in ("dirname", "readlink"):
            (self.folder / program).symlink_to(shutil.which(program))
        code, printed, lines = check(str(self.folder))
        self.assertEqual((code, printed, lines), (3, "", ["submit: sinfo is not on PATH; run this on a machine with Slurm's commands"]))
        (self.folder / "sinfo").write_text("#!/bin/bash\necho 'slurm_load_partitions: Unable to contact controller' >&2\nexit 1\n")
        (self.folder / "sinfo").chmod(0o755)
        code, printed, lines = check(f"{self.folder}:/usr/bin:/bin")
        self.assertEqual((code, printed), (3, ""))
        self.assertEqual(lines, ["submit: Slurm's controller does not answer, so that no size was checked: "
                                 "slurm_load_partitions: Unable to contact controller"])

    def test_a_folder_of_profiles_is_submitted_and_nodes_that_are_down_are_named(self):
        def submit(*words, state="idle", programs=("sinfo", "sbatch")):
            for name, text in (("sinfo", f"[[ $* == *%c* ]] && echo 'n1 64 256000 (null) infinite {state} all*' || echo 'all*'"), ("sbatch", "echo 17")):
                (self.folder / name).unlink(missing_ok=True)
                if name in programs:
                    (self.folder / name).write_text(f"#!/bin/bash\n{text}\n")
                    (self.folder / name).chmod(0o755)
            process = subprocess.run(["/bin/bash", str(ROOT / "slurm" / "submit"), "--site", self.folder / "site.sh", *words], capture_output=True,
                                     text=True, check=False, env={"PATH": f"{self.folder}:/usr/bin:/bin" if programs else str(self.folder)})
            return process.returncode, process.stdout, process.stderr

        site = (ROOT / "slurm" / "site.sh").read_text(encoding="utf-8")
        (self.folder / "site.sh").write_text(site + f"\nnodes=1 ranks_per_node=1 cores_per_rank=1 binary={self.folder / 'rulemill'}\n")
        profiles, out = self.folder / "profiles", self.folder / "out"
        profiles.mkdir()
        code, _, errors = submit("discover", profiles, out)
        self.assertEqual((code, errors), (3, f"submit: {profiles}: is no profile, nor a folder with *.toml; nothing was submitted\n"))
        (profiles / "p.toml").write_text("")
        self.assertEqual(submit("discover", profiles, out), (0, "rulemill-discover 17\n", ""))
        self.assertEqual(submit("check")[0], 0)
        for state in ("drained", "draining*", "down*", "idle*"):
            code, _, errors = submit("check", state=state)
            self.assertEqual(code, 3)
            self.assertIn("cpu: 1 nodes of the size are needed; 0 of 1 are up, the others are drained or down", errors)
        self.assertEqual(submit("discover", profiles, out, state="drained")[0], 0)  # the node may come back
        for program in ("dirname", "readlink", "mkdir"):
            (self.folder / program).symlink_to(shutil.which(program))
        missing = "submit: sinfo is not on PATH; run this on a machine with Slurm's commands\n"
        self.assertEqual(submit("discover", profiles, out, programs=()), (3, "", missing))

    @unittest.skipUnless(shutil.which("shellcheck"), "SKIPPED: shellcheck is not on PATH")
    def test_shellcheck_accepts_the_scripts(self):
        scripts = [str(path) for folder in ("slurm", "scripts") for path in pathlib.Path(ROOT / folder).glob("*")
                   if path.suffix in (".sh", ".sbatch") or path.name == "submit"]
        checked = subprocess.run(["shellcheck", "-x", "-P", str(ROOT), *scripts], capture_output=True, text=True, check=False)
        self.assertEqual(checked.stdout, "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
