#!/usr/bin/env python3
"""The job scripts on a real Slurm with two emulated nodes. Whatever happens to a job, its database is byte-identical to that of an
undisturbed run."""

import os
import pathlib
import shutil
import signal
import tempfile
import time
import unittest

from cluster import Cluster, wait_for, why_not

from binary import BINARY, ROOT, rulemill

SUBMIT = ROOT / "slurm" / "submit"
SMALL = ROOT / "tests" / "cli" / "small.toml"
REFERENCE = ROOT / "data" / "profiles" / "reference.toml"
LONG = ["--max-ops", "3", "--threads", "1"]  # some seconds of work
MODELS = ROOT / "data" / "models"
RESULTS = ["candidates.rules", "outcomes.json", "rules.rmdb"]


def results(out):
    return {name: (out / name).read_bytes() for name in RESULTS}


@unittest.skipIf(why_not(), f"SKIPPED: {why_not()}")
def of_process(pid, name):
    """Returns a file of /proc; nothing if the process has ended since."""
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Paths of sockets in it have at most 107 bytes.
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="rm-slurm-", dir="/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        cls.expected = {}
        for name, words in (("small", [SMALL]), ("long", [REFERENCE, *LONG])):
            process = rulemill("discover", "--profile", *words, "--out", cls.scratch / name, "--progress", "off")
            assert process.returncode == 0, process.stderr
            cls.expected[name] = results(cls.scratch / name)
        (cls.scratch / "slurm").mkdir()
        cls.cluster = cls.enterClassContext(Cluster(cls.scratch / "slurm", 2))

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="job-", dir=self.scratch))
        self.out = self.folder / "out"
        self.site()
        self.begin = time.monotonic()
        self.addCleanup(self.show_logs)
        self.addCleanup(lambda: print(f"{self.id().rpartition('.')[2]}: {time.monotonic() - self.begin:.1f} s", flush=True))

    def site(self, **changes):
        """Writes the site's file; default: two nodes with two ranks each."""
        values = {"binary": BINARY, "launch": "(--mpi=pmix)", "nodes": 2, "ranks_per_node": 2, "cores_per_rank": 1,
                  "memory_per_core": "500M", "time": "10", "optimize_cores": 1, "optimize_memory_per_core": "500M",
                  "optimize_time": "10", **changes}
        lines = [f"source {ROOT}/slurm/site.sh", *(f"{name}={value}" for name, value in values.items())]
        (self.folder / "site.sh").write_text("\n".join(lines) + "\n")

    def show_logs(self):
        """Prints the logs of the jobs of a failed test, and those of Slurm."""
        outcome = self._outcome.result
        if any(test is self for test, _ in outcome.failures + outcome.errors):
            print(self.cluster.run("scontrol", "show", "job", check=False).stdout[-1500:], flush=True)
            for log in [*sorted(self.folder.rglob("*.log")), *sorted(self.cluster.folder.glob("*.log"))]:
                print(f"--- {log.name}\n{log.read_text()}", flush=True)

    def submit(self, *words, code=0):
        """Submits; returns the submitted jobs as name → id or, for an expected failure, the message."""
        process = self.cluster.run(SUBMIT, "--site", self.folder / "site.sh", *words, check=False)
        self.assertEqual(process.returncode, code, process.stdout + process.stderr)
        return dict(line.split() for line in process.stdout.splitlines()) if code == 0 else process.stderr

    def submit_long(self):
        return self.submit("discover", REFERENCE, self.out, *LONG)["rulemill-discover"]

    def log(self, job, stage="discover"):
        return (self.out / "logs" / f"rulemill-{stage}-{job}.log").read_text()

    def assert_same(self, out, name):
        for file, content in results(out).items():
            self.assertEqual(content, self.expected[name][file], file)

    def wait_for_proofs(self, job):
        """A job may be stopped and requeued before that, since slurmctld may check its time limit at any moment."""
        def question():
            self.cluster.shorten_requeue_delay(job)
            return (self.out / "verdicts.journal").exists()
        wait_for(question, 120, "proofs have begun")

    def ranks(self, node=None):
        """Returns the processes of the job's ranks on one node or all."""
        found = self.cluster.processes_of(f"--out\0{self.out}")
        ranks = [pid for pid in found if of_process(pid, "comm").strip() == b"rulemill"]
        if node:
            ranks = [pid for pid in ranks if f"SLURMD_NODENAME={node}".encode() in of_process(pid, "environ")]
        return ranks

    def test_one_job_on_two_nodes(self):
        job = self.submit("discover", SMALL, self.out)["rulemill-discover"]
        self.cluster.wait(job, "COMPLETED")
        self.assert_same(self.out, "small")
        self.assertIn("valid rules", self.log(job))

    def test_a_chain_of_stages(self):
        jobs = self.submit("chain", SMALL, self.out)
        self.assertEqual(list(jobs), [f"rulemill-{stage}" for stage in ("fingerprint", "join", "prove", "prune", "generalize")])
        self.cluster.wait(jobs["rulemill-generalize"], "COMPLETED")
        self.assert_same(self.out, "small")

    def test_a_failed_stage_stops_its_chain(self):
        (self.folder / "wrong.toml").write_text(SMALL.read_text().replace('"matmul"', '"matmull"'))
        jobs = self.submit("chain", self.folder / "wrong.toml", self.out)
        self.cluster.wait(jobs["rulemill-fingerprint"], "FAILED")
        self.assertIn("wrong.toml:", self.log(jobs["rulemill-fingerprint"], "fingerprint"))
        for stage in ("join", "prove", "prune", "generalize"):
            self.cluster.wait(jobs[f"rulemill-{stage}"], "CANCELLED")
        self.assertEqual(list(self.out.glob("candidates.rules")), [])

    def test_a_job_at_its_time_limit_is_requeued_until_it_is_done(self):
        self.site(time=1)
        job = self.submit_long()
        self.wait_for_proofs(job)
        # slurmctld checks time limits every 30 s: the ranks are suspended until they have its signal.
        ranks = self.ranks()
        for rank in ranks:
            self.cluster.kill(rank, signal.SIGSTOP)
        wait_for(lambda: all(self.cluster.is_pending(rank, signal.SIGUSR1) for rank in ranks), 120, "the time limit is checked")
        for rank in ranks:
            self.cluster.kill(rank, signal.SIGCONT)
        self.cluster.wait(job, "COMPLETED", seconds=200)
        self.assertGreater(self.cluster.restarts(job), 0)
        self.assertIn("requeued to resume", self.log(job))
        self.assert_same(self.out, "long")

    def test_the_next_job_resumes_after_scancel(self):
        job = self.submit_long()
        self.wait_for_proofs(job)
        self.cluster.run("scancel", job)
        self.cluster.wait(job, "CANCELLED")
        wait_for(lambda: not self.ranks(), 60, "no rank is left")
        again = self.submit_long()
        self.cluster.wait(again, "COMPLETED")
        self.assertIn("join: already done", self.log(again))
        self.assert_same(self.out, "long")

    def test_a_killed_rank_ends_the_job_which_is_requeued(self):
        job = self.submit_long()
        self.wait_for_proofs(job)
        os.kill(self.ranks("n1")[0], signal.SIGKILL)
        begin = time.monotonic()
        wait_for(lambda: not self.ranks(), 20, "the other rank has noticed")
        print(f"a killed rank: noticed after {time.monotonic() - begin:.1f} s", flush=True)
        self.cluster.wait(job, "COMPLETED")
        self.assertGreater(self.cluster.restarts(job), 0)
        self.assert_same(self.out, "long")

    def test_a_rank_that_hangs_ends_the_job_which_is_requeued(self):
        with (self.folder / "site.sh").open("a") as site:
            site.write("export RULEMILL_RANK_TIMEOUT=5\n")
        job = self.submit_long()
        self.wait_for_proofs(job)
        os.kill(self.ranks("n1")[0], signal.SIGSTOP)
        self.cluster.wait(job, "COMPLETED")
        self.assertGreater(self.cluster.restarts(job), 0)
        self.assertIn("has not responded for 5 s", self.log(job))
        self.assert_same(self.out, "long")

    def test_a_job_survives_a_node_failure(self):
        job = self.submit_long()
        self.wait_for_proofs(job)
        self.cluster.fail_node("n1")
        wait_for(lambda: self.cluster.job_state(job) == "PENDING", 60, "the job is in the queue again")
        self.cluster.repair_node("n1")
        self.cluster.wait(job, "COMPLETED")
        self.assert_same(self.out, "long")

    def test_ranks_that_srun_could_not_start_are_a_failure(self):
        wrapper = self.folder / "nothing"
        wrapper.write_text(f"#!/bin/bash\n[[ $1 == status ]] || exit 0\nexec {BINARY} \"$@\"\n")
        wrapper.chmod(0o755)
        self.site(binary=wrapper)
        job = self.submit("discover", SMALL, self.out)["rulemill-discover"]
        self.cluster.wait(job, "FAILED")

    def test_a_job_without_progress_is_not_requeued(self):
        wrapper = self.folder / "stops"
        wrapper.write_text("#!/bin/bash\nexit 4\n")
        wrapper.chmod(0o755)
        self.site(binary=wrapper)
        job = self.submit("discover", SMALL, self.out)["rulemill-discover"]
        self.cluster.wait(job, "FAILED")
        self.assertIn("without progress since its last start", self.log(job))

    def test_an_array_of_models_and_their_table(self):
        broken = self.folder / "broken.onnx"
        broken.write_bytes((MODELS / "acnet_block.onnx").read_bytes()[:5000])
        rules = self.folder / "rules"
        quickstart = ROOT / "data" / "profiles" / "quickstart.toml"
        self.site(nodes=1)
        plain = ["--verifier", "definitions", "--no-benchmark"]
        discovery = self.submit("discover", quickstart, rules)["rulemill-discover"]
        jobs = self.submit("--after", discovery, "optimize", rules, self.out, MODELS / "acnet_block.onnx", broken,
                           MODELS / "lora_layer.onnx", "--", *plain)
        self.cluster.wait(jobs["rulemill-table"], "COMPLETED")
        states = {facts["ArrayTaskId"]: facts["JobState"] for facts in self.cluster.facts("job", jobs["rulemill-optimize"])}
        self.assertEqual(states, {"1": "COMPLETED", "2": "FAILED", "3": "COMPLETED"})
        table = self.log(jobs["rulemill-table"], "table")
        for model, words in (("acnet_block", "24 → 6 "), ("broken", "no report"), ("lora_layer", r"\d")):
            self.assertRegex(table, rf"(?m)^{model} .*{words}")
        self.assertIn("broken.onnx", (self.out / "logs" / f"rulemill-optimize-{jobs['rulemill-optimize']}_2.log").read_text())
        alone = self.folder / "alone.onnx"
        process = rulemill("optimize", MODELS / "acnet_block.onnx", "--rules", rules, "--out", alone, *plain)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(alone.read_bytes(), (self.out / "acnet_block.onnx").read_bytes())

    def test_impossible_jobs_are_rejected_before_submission(self):
        self.assertIn("absent.toml: no such file; nothing was submitted", self.submit("chain", "absent.toml", self.out, code=3))
        self.site(binary="/absent/rulemill")
        self.assertIn("/absent/rulemill", self.submit("discover", SMALL, self.out, code=3))
        for change, words in (({"nodes": 3}, "cpu: 3 nodes of 2 cores, 1000 MB and 0 GPUs are needed; there are 2"),
                              ({"cores_per_rank": 5}, "cpu: a node needs 10 cores; the largest has 4"),
                              ({"memory_per_core": "9G"}, "cpu: a node needs 18432 MB of memory; the largest has 4000 MB"),
                              ({"gpu_partition": "cards"}, "no partition 'cards'"),
                              ({"gpu_partition": "all"}, "gpu: a node needs 4 GPUs; the largest has 0")):
            with self.subTest(words):
                self.site(**change)
                self.assertIn(words, self.submit("chain", SMALL, self.out, code=3))
                self.assertIn(words, self.submit("check", code=3))
        self.site()
        self.assertIn("fit", self.cluster.run(SUBMIT, "--site", self.folder / "site.sh", "check").stdout)
        self.assertEqual(self.submit("optimize", self.folder, self.out, MODELS / "acnet_block.onnx", "none.onnx", code=3),
                         "submit: none.onnx: no such model; nothing was submitted\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
