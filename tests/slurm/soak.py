#!/usr/bin/env python3
"""Disturbs jobs on a real Slurm with two emulated nodes, two ranks each, until so many signals were sent and jobs restarted:

    PYTHONPATH=tests/cli tests/slurm/soak.py [--signals 200] [--restarts 100] [--seed N] [--minutes M]

A job is disturbed at random times by signals to one of its ranks and by `scontrol requeue`, at most eight times, and then finishes.
Its results are compared with those of an undisturbed run, byte for byte. A job that fails because two starts in a row made no
progress is submitted again, as its message says. Prints a table of the faults; fails at the first wrong result or unexpected end."""

import argparse
import collections
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

from cluster import Cluster, why_not

from binary import BINARY, ROOT, rulemill

PROFILE = ["--profile", ROOT / "data" / "profiles" / "reference.toml", "--max-ops", "3", "--threads", "1"]
RESULTS = ["candidates.rules", "outcomes.json", "rules.rmdb"]
SIGNALS = {"INT": signal.SIGINT, "TERM": signal.SIGTERM, "USR1": signal.SIGUSR1, "KILL": signal.SIGKILL, "STOP": signal.SIGSTOP}
MAX_FAULTS_OF_JOB = 8
SITE = f"""source {ROOT}/slurm/site.sh
binary={BINARY}
launch=(--mpi=pmix)
nodes=2
ranks_per_node=2
cores_per_rank=1
memory_per_core=500M
time=10
export RULEMILL_RANK_TIMEOUT=5
export RULEMILL_START_TIMEOUT=15
"""


def results(out):
    return {name: (out / name).read_bytes() for name in RESULTS}


class Soak:
    def __init__(self, cluster, folder, expected, seed):
        self.cluster, self.folder, self.expected = cluster, folder, expected
        self.random = random.Random(seed)
        self.faults = collections.Counter()
        self.last = collections.deque(maxlen=3)  # faults, with how far the run was
        self.restarts = self.jobs = self.without_progress = 0
        (folder / "site.sh").write_text(SITE)

    def signals(self):
        return sum(self.faults[name] for name in SIGNALS)

    def submit(self, out):
        process = self.cluster.run(ROOT / "slurm" / "submit", "--site", self.folder / "site.sh", "discover", PROFILE[1], out, *PROFILE[2:])
        return process.stdout.split()[1]

    def ranks(self, out):
        found = self.cluster.processes_of(f"--out\0{out}")
        return [pid for pid in found if pathlib.Path(f"/proc/{pid}/comm").exists()
                and pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == BINARY.name]

    def disturb(self, job, out):
        """Returns whether there was something to disturb."""
        if self.random.random() < 0.15:
            if self.cluster.job_state(job) != "RUNNING":
                return False
            self.cluster.run("scontrol", "requeue", job, check=False)
            self.count("requeue", out)
            return True
        ranks = self.ranks(out)
        if not ranks:
            return False
        name = self.random.choice(list(SIGNALS))
        self.cluster.kill(self.random.choice(ranks), SIGNALS[name])
        self.count(name, out)
        return True

    def count(self, name, out):
        log = out / "events" / "rank-00000.jsonl"
        self.faults[name] += 1
        self.last.append((name, f"{log.stat().st_size if log.exists() else 0} bytes of events"))

    def run_job(self):
        out = self.folder / f"out-{self.jobs}"
        self.jobs += 1
        job, left = self.submit(out), self.random.randint(1, MAX_FAULTS_OF_JOB)
        deadline, due = time.monotonic() + 900, time.monotonic() + self.random.uniform(0.2, 6)
        while time.monotonic() < deadline:
            self.cluster.shorten_requeue_delay(job)
            state = self.cluster.job_state(job)
            if state == "COMPLETED":
                self.restarts += self.cluster.restarts(job)
                for name, content in results(out).items():
                    if content != self.expected[name]:
                        raise SystemExit(f"job {job}: {name} differs from that of an undisturbed run")
                shutil.rmtree(out)
                return
            if state == "FAILED":
                log = self.log(out, job)
                if "without progress since its last start" not in log:
                    raise SystemExit(f"job {job} failed after {list(self.last)}:\n{log}")
                self.restarts += self.cluster.restarts(job)
                self.without_progress += 1
                job = self.submit(out)
            elif state in ("CANCELLED", "NODE_FAIL", "TIMEOUT", "OUT_OF_MEMORY"):
                raise SystemExit(f"job {job} is {state} after {list(self.last)}:\n{self.log(out, job)}")
            if left > 0 and time.monotonic() >= due and self.disturb(job, out):
                left -= 1
                due = time.monotonic() + self.random.uniform(0.2, 10)
            time.sleep(0.1)
        raise SystemExit(f"job {job} hangs after {list(self.last)}: {self.cluster.facts('job', job)}\n{self.log(out, job)}")

    @staticmethod
    def log(out, job):
        return (out / "logs" / f"rulemill-discover-{job}.log").read_text()[-3000:]

    def report(self):
        print(f"{self.jobs} jobs, {self.signals()} signals, {self.restarts} restarts, {self.without_progress} submitted again for want of "
              f"progress; {dict(sorted(self.faults.items()))}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--signals", type=int, default=200)
    parser.add_argument("--restarts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60, help="end after the job that is running then")
    given = parser.parse_args()
    if why_not():
        parser.error(why_not())
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="rm-soak-", dir="/tmp"))
    end = time.monotonic() + given.minutes * 60
    try:
        process = rulemill("discover", *PROFILE, "--out", scratch / "expected", "--progress", "off")
        if process.returncode != 0:
            sys.exit(process.stderr)
        (scratch / "slurm").mkdir()
        with Cluster(scratch / "slurm", 2) as cluster:
            soak = Soak(cluster, scratch, results(scratch / "expected"), given.seed)
            while (soak.signals() < given.signals or soak.restarts < given.restarts) and time.monotonic() < end:
                soak.run_job()
                soak.report()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
