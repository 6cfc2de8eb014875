#!/usr/bin/env python3
"""Faults at random: processes killed, stopped or told to stop, files damaged, ranks changed between runs. Whatever happens, the
run that comes through gives byte for byte the undisturbed database, and what is damaged is named and made again.

RULEMILL_FAULTS is the number of disturbed runs (default 20), RULEMILL_FAULT_SEED the seed of the first; a failure prints its own.
`faults.py` does more of them."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
import unittest

from binary import BINARY, MPIRUN, ROOT, Case, needs_mpi, rulemill
from faults import LEFTOVERS, Workshop, disturbed_run, flip, is_running, processes_below, results, table

SEED = int(os.environ.get("RULEMILL_FAULT_SEED", "20261122"))
STAGES = ["fingerprint", "join", "prove", "prune"]
ROUNDS = int(os.environ.get("RULEMILL_FAULTS", "20"))


class Faults(Case):
    """One undisturbed run, of which every disturbed one is compared with the results."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.scratch = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"rulemill-faults-{os.getpid()}"
        shutil.rmtree(cls.scratch, ignore_errors=True)
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        cls.scratch.mkdir()
        cls.workshop = Workshop(cls.scratch)
        cls.whole, cls.expected = cls.workshop.whole, cls.workshop.expected

    def copy(self, name):
        out = self.folder / name
        shutil.copytree(self.whole, out)
        return out

    def assert_comes_through(self, out, ranks=0):
        process = rulemill(*self.workshop.words(out), ranks=ranks)
        self.assert_works(process)
        for name, content in results(out).items():
            self.assertEqual(content, self.expected[name], name)
        self.assertEqual([str(path) for pattern in LEFTOVERS for path in out.rglob(pattern)], [])
        return process

    def kinds(self, out):
        """One file of each kind, with the stages that make it again. None: it is never read, so damage is not reported."""
        return {next(out.glob("shards/*.h5")): ["fingerprint"], out / "shards/dictionary.json": ["fingerprint"],
                out / "candidates.rules": ["join"], out / "outcomes.json": ["prove"], out / "rules.rmdb": ["prune"],
                out / "manifest.json": [], out / "manifest.copy.json": [], out / "timings.json": None, out / "funnel.json": None}

    def stages_run(self, process):
        return [stage for stage in STAGES if f"{stage}: already done" not in process.stdout.splitlines()]

    def test_a_flipped_bit_in_any_kind_of_file_is_found_named_once_and_the_file_made_again_and_nothing_else(self):
        rng = random.Random(SEED)
        for path, stages in self.kinds(self.whole).items():
            name = path.relative_to(self.whole)
            with self.subTest(str(name), seed=SEED):
                out = self.copy(name.name)
                size = path.stat().st_size
                flip(out / name, rng.randrange(size), rng.randrange(7))
                process = self.assert_comes_through(out)
                warnings = [line for line in process.stderr.splitlines() if str(name) in line and "made again" in line]
                self.assertEqual(len(warnings), 0 if stages is None else 1, process.stderr)
                self.assertEqual(self.stages_run(process), stages or [], process.stdout)
                again = rulemill(*self.workshop.words(out))
                self.assertEqual(again.stdout.count("already done"), 8, again.stdout)

    def test_every_byte_of_a_manifest_may_be_damaged(self):
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
                self.assertEqual(self.stages_run(self.assert_comes_through(out)), [])
        for name in ("manifest.json", "manifest.copy.json"):
            flip(out / name, key, 1)
        self.assertEqual(self.stages_run(self.assert_comes_through(out)), STAGES)

    def test_a_file_cut_short_or_gone_is_made_again_and_nothing_else(self):
        for path, stages in self.kinds(self.whole).items():
            name = path.relative_to(self.whole)
            for kind in ("cut", "gone"):
                with self.subTest(f"{name} {kind}"):
                    out = self.copy(f"{name.name}-{kind}")
                    if kind == "gone":
                        (out / name).unlink()
                    else:
                        (out / name).write_bytes(path.read_bytes()[:-1 - path.stat().st_size // 3])
                    process = self.assert_comes_through(out)
                    self.assertEqual(self.stages_run(process), stages or [], process.stdout)
                    if stages is not None and kind == "cut":
                        self.assertIn("made again", process.stderr)

    def test_a_journal_with_a_flipped_bit_is_used_up_to_there_and_the_rest_done_again(self):
        for journal, stage in (("verdicts.journal", "prove"), ("prune.journal", "prune")):
            for at in (2, 25, 0.3, 0.9):
                with self.subTest(journal, at=at):
                    out = self.killed_with(journal)
                    size = (out / journal).stat().st_size
                    flip(out / journal, at if at > 1 else int(at * size), 1)
                    process = self.assert_comes_through(out)
                    self.assertIn(journal, process.stderr)
                    shutil.rmtree(out)

    def killed_with(self, journal):
        """A folder with a journal of some size, in which a run was killed."""
        for attempt in range(50):
            out = self.folder / f"killed-{attempt}"
            shutil.rmtree(out, ignore_errors=True)
            process = self.workshop.start(out, 0)
            while process.poll() is None:
                try:
                    if (out / journal).stat().st_size > 500:
                        break
                except OSError:
                    pass
            process.kill()
            process.communicate()
            if (out / journal).exists() and (out / journal).stat().st_size > 500:
                return out
        raise AssertionError(f"{journal} was never seen")

    def test_runs_disturbed_at_random_come_through_to_the_same_database(self):
        stories = []
        for seed in range(SEED, SEED + ROUNDS):
            with self.subTest(f"RULEMILL_FAULTS=1 RULEMILL_FAULT_SEED={seed}"):
                stories.append(disturbed_run(seed, self.workshop))
        print(table(stories), flush=True)

    @needs_mpi
    def test_a_rank_that_is_killed_ends_the_job(self):
        reference = ROOT / "data" / "profiles" / "reference.toml"
        out = self.folder / "out"
        command = [MPIRUN, "--allow-run-as-root", "--oversubscribe", "--quiet", "-n", "2", str(BINARY), "discover",
                   "--profile", str(reference), "--out", str(out), "--progress", "off"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not (out / "manifest.json").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        ranks = [child for child in processes_below(process.pid)
                 if b"discover" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes()]
        os.kill(ranks[-1], signal.SIGKILL)
        self.assertNotEqual(process.wait(timeout=30), 0)
        deadline = time.monotonic() + 30
        while any(map(is_running, ranks)) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual([rank for rank in ranks if is_running(rank)], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
