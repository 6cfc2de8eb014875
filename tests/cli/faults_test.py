#!/usr/bin/env python3
"""Random faults: processes killed, suspended or interrupted, files damaged, the number of ranks changed between runs. The final run
always gives the undisturbed database, byte for byte, and reports and recomputes damaged files.

RULEMILL_FAULTS is the number of disturbed runs (default 20), RULEMILL_FAULT_SEED the seed of the first; a failure prints its seed.
`faults.py` runs more of them."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
import unittest

from binary import BINARY, MPIRUN, ROOT, Case, needs_mpi, rulemill
from faults import LEFTOVERS, FaultFixture, disturbed_run, flip, is_running, processes_below, results, table

SEED = int(os.environ.get("RULEMILL_FAULT_SEED", "20261122"))
STAGES = ["fingerprint", "join", "prove", "prune", "generalize"]
ROUNDS = int(os.environ.get("RULEMILL_FAULTS", "20"))


class Faults(Case):
    """Compares disturbed runs with one undisturbed run."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.scratch = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"rulemill-faults-{os.getpid()}"
        shutil.rmtree(cls.scratch, ignore_errors=True)
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        cls.scratch.mkdir()
        cls.fixture = FaultFixture(cls.scratch)
        cls.reference, cls.expected = cls.fixture.reference, cls.fixture.expected

    def copy(self, name):
        out = self.folder / name
        shutil.copytree(self.reference, out)
        return out

    def assert_recovers(self, out, ranks=0):
        process = rulemill(*self.fixture.words(out), ranks=ranks)
        self.assert_works(process)
        for name, content in results(out).items():
            self.assertEqual(content, self.expected[name], name)
        self.assertEqual([str(path) for pattern in LEFTOVERS for path in out.rglob(pattern)], [])
        return process

    def kinds(self, out):
        """Returns one file of each kind, with the stages that recompute it. None: it is never read, so damage is not reported."""
        return {next(out.glob("shards/*.h5")): ["fingerprint"], out / "shards/dictionary.json": ["fingerprint"],
                out / "candidates.rules": ["join"], out / "outcomes.json": ["prove"], out / "pruned.rmdb": ["prune"],
                out / "rules.rmdb": ["generalize"],
                out / "manifest.json": [], out / "manifest.copy.json": [], out / "timings.json": None, out / "funnel.json": None}

    def stages_run(self, process):
        return [stage for stage in STAGES if f"{stage}: already done" not in process.stdout.splitlines()]

    def test_a_flipped_bit_in_any_file_is_reported_once_and_only_that_file_is_recomputed(self):
        rng = random.Random(SEED)
        for path, stages in self.kinds(self.reference).items():
            name = path.relative_to(self.reference)
            with self.subTest(str(name), seed=SEED):
                out = self.copy(name.name)
                size = path.stat().st_size
                flip(out / name, rng.randrange(size), rng.randrange(7))
                process = self.assert_recovers(out)
                warnings = [line for line in process.stderr.splitlines() if str(name) in line and "recreated" in line]
                self.assertEqual(len(warnings), 0 if stages is None else 1, process.stderr)
                self.assertEqual(self.stages_run(process), stages or [], process.stdout)
                again = rulemill(*self.fixture.words(out))
                self.assertEqual(again.stdout.count("already done"), 2 * len(STAGES), again.stdout)

    def test_damage_to_any_byte_of_a_manifest_is_detected(self):
        rng = random.Random(SEED)
        out = self.copy("out")
        text = (out / "manifest.json").read_bytes()
        copy = (out / "manifest.copy.json").read_bytes()
        key = text.index(b'"rows"') + 1  # once a heap overflow
        for at in [key, 0, len(text) - 2, text.index(b"rulemill manifest"), text.index(b'"version"') + 11,
                   *(rng.randrange(len(text)) for _ in range(4))]:
            with self.subTest(at, seed=SEED):
                (out / "manifest.json").write_bytes(text)
                (out / "manifest.copy.json").write_bytes(copy)
                flip(out / "manifest.json", at, 1)
                self.assertEqual(self.stages_run(self.assert_recovers(out)), [])
        for name in ("manifest.json", "manifest.copy.json"):
            flip(out / name, key, 1)
        self.assertEqual(self.stages_run(self.assert_recovers(out)), STAGES)

    def test_only_a_truncated_or_missing_file_is_recomputed(self):
        for path, stages in self.kinds(self.reference).items():
            name = path.relative_to(self.reference)
            for kind in ("cut", "gone"):
                with self.subTest(f"{name} {kind}"):
                    out = self.copy(f"{name.name}-{kind}")
                    if kind == "gone":
                        (out / name).unlink()
                    else:
                        (out / name).write_bytes(path.read_bytes()[:-1 - path.stat().st_size // 3])
                    process = self.assert_recovers(out)
                    self.assertEqual(self.stages_run(process), stages or [], process.stdout)
                    if stages is not None and kind == "cut":
                        self.assertIn("recreated", process.stderr)

    def test_a_journal_is_used_up_to_a_flipped_bit_and_the_rest_is_recomputed(self):
        for journal, stage in (("verdicts.journal", "prove"), ("prune.journal", "prune")):
            for at in (2, 25, 0.3, 0.9):
                with self.subTest(journal, at=at):
                    out = self.killed_with(journal, stage)
                    size = (out / journal).stat().st_size
                    flip(out / journal, at if at > 1 else int(at * size), 1)
                    process = self.assert_recovers(out)
                    self.assertIn(journal, process.stderr)
                    shutil.rmtree(out)

    def killed_with(self, journal, stage):
        """Returns the folder of a run that was killed in this stage, with a long journal."""
        for attempt in range(50):
            out = self.folder / f"killed-{attempt}"
            shutil.rmtree(out, ignore_errors=True)
            process = self.fixture.start(out, 0)
            while process.poll() is None:
                try:
                    if (out / journal).stat().st_size > 500:
                        break
                except OSError:
                    pass
            process.kill()
            process.communicate()
            if (out / journal).exists() and (out / journal).stat().st_size > 500:
                stages = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["stages"]
                if not stages.get(stage, {}).get("finished"):
                    return out
        raise AssertionError(f"{journal} of an unfinished stage was never seen")

    def test_randomly_disturbed_runs_give_the_same_database(self):
        scenarios = []
        for seed in range(SEED, SEED + ROUNDS):
            with self.subTest(f"RULEMILL_FAULTS=1 RULEMILL_FAULT_SEED={seed}"):
                scenarios.append(disturbed_run(seed, self.fixture))
        print(table(scenarios), flush=True)

    def start_two_ranks(self, name="out", **env):
        """Starts a long run; returns the launcher's process and the ranks once work has begun."""
        out = self.folder / name
        command = [MPIRUN, "--allow-run-as-root", "--oversubscribe", "--quiet", "-n", "2", str(BINARY), "discover",
                   "--profile", str(ROOT / "data" / "profiles" / "reference.toml"), "--out", str(out), "--progress", "off"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **env})
        self.addCleanup(process.stderr.close)
        deadline = time.monotonic() + 60
        while not (out / "manifest.json").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return process, [child for child in processes_below(process.pid)
                         if b"discover" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes()]

    def assert_ended(self, ranks):
        deadline = time.monotonic() + 30
        while any(map(is_running, ranks)) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual([rank for rank in ranks if is_running(rank)], [])

    @needs_mpi
    def test_a_killed_rank_ends_the_job(self):
        process, ranks = self.start_two_ranks()
        os.kill(ranks[-1], signal.SIGKILL)
        self.assertNotEqual(process.wait(timeout=30), 0)
        self.assert_ended(ranks)

    @needs_mpi
    def test_a_rank_that_hangs_is_named_and_ends_the_job(self):
        for victim in (0, 1):
            with self.subTest(victim=victim):
                process, ranks = self.start_two_ranks(f"out{victim}", RULEMILL_RANK_TIMEOUT="2")
                os.kill(sorted(ranks)[victim], signal.SIGSTOP)
                _, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 4, errors)
                self.assertIn(f"rank {victim} has not responded for 2 s; run the same command again", errors)
                self.assert_ended(ranks)

    @needs_mpi
    def test_an_invalid_timeout_of_ranks_is_a_usage_error(self):
        process = rulemill("doctor", ranks=2, env={"RULEMILL_RANK_TIMEOUT": "soon"})
        self.assertEqual(process.returncode, 2, process.stderr)
        self.assertIn("RULEMILL_RANK_TIMEOUT: expected seconds from 1 to 86400, found 'soon'", process.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
