#!/usr/bin/env python3
"""Faults at random: processes killed, stopped or told to stop, files damaged, ranks changed between runs. Whatever happens, the
run that comes through gives byte for byte the undisturbed database, and what is damaged is named and made again.

RULEMILL_FAULTS is the number of disturbed runs (default 8), RULEMILL_FAULT_SEED the seed; a failure prints both."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
import unittest

from binary import BINARY, MPIRUN, ROOT, Case, needs_mpi, rulemill

SMALL = pathlib.Path(__file__).with_name("small.toml")
RESULTS = ["candidates.rules", "outcomes.json", "rules.rmdb"]
SEED = int(os.environ.get("RULEMILL_FAULT_SEED", "20261122"))
ROUNDS = int(os.environ.get("RULEMILL_FAULTS", "8"))


def words(out):
    return ["discover", "--profile", SMALL, "--out", out, "--progress", "off", "--checkpoint-rows", "64"]


def results(out):
    return {name: (out / name).read_bytes() for name in RESULTS}


def flip(path, at, bit=0):
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def processes_below(pid):
    """The processes below this one; some may be gone already."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                pass
    found, front = [], {pid}
    while front:
        front = {child for child, parent in parents.items() if parent in front}
        found += sorted(front)
    return found


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Faults(Case):
    """One undisturbed run, of which every disturbed one is compared with the results."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.scratch = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"rulemill-faults-{os.getpid()}"
        shutil.rmtree(cls.scratch, ignore_errors=True)
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        cls.whole = cls.scratch / "whole"
        begin = time.monotonic()
        process = rulemill(*words(cls.whole))
        assert process.returncode == 0, process.stderr
        cls.seconds = time.monotonic() - begin
        cls.expected = results(cls.whole)

    def copy(self, name):
        out = self.folder / name
        shutil.copytree(self.whole, out)
        return out

    def assert_comes_through(self, out, ranks=0):
        process = rulemill(*words(out), ranks=ranks)
        self.assert_works(process)
        for name, content in results(out).items():
            self.assertEqual(content, self.expected[name], name)
        self.assertEqual([str(path) for pattern in ("*.partial", "*.journal", "*.pieces") for path in out.rglob(pattern)], [])
        return process

    def kinds(self, out):
        """One file of each kind, by whether damage to it must be reported: the others are never read."""
        return {next(out.glob("shards/*.h5")): True, out / "shards/dictionary.json": True, out / "candidates.rules": True,
                out / "outcomes.json": True, out / "rules.rmdb": True, out / "manifest.json": True,
                out / "timings.json": False, out / "funnel.json": False}

    def test_a_flipped_bit_in_any_kind_of_file_is_found_named_once_and_the_file_made_again(self):
        rng = random.Random(SEED)
        for path, reported in self.kinds(self.whole).items():
            name = path.relative_to(self.whole)
            with self.subTest(str(name), seed=SEED):
                out = self.copy(name.name)
                size = path.stat().st_size
                flip(out / name, rng.randrange(size), rng.randrange(7))
                process = self.assert_comes_through(out)
                warnings = [line for line in process.stderr.splitlines() if str(name) in line and "made again" in line]
                self.assertEqual(len(warnings), 1 if reported else 0, process.stderr)
                again = rulemill(*words(out))
                self.assertEqual(again.stdout.count("already done"), 8, again.stdout)

    def test_every_byte_of_a_manifest_may_be_damaged(self):
        rng = random.Random(SEED)
        out = self.copy("out")
        text = (out / "manifest.json").read_bytes()
        key = text.index(b'"rows"') + 1  # once a heap overflow
        for at in [key, 0, len(text) - 2, text.index(b"rulemill manifest"), text.index(b'"version"') + 11,
                   *(rng.randrange(len(text)) for _ in range(4))]:
            with self.subTest(at, seed=SEED):
                (out / "manifest.json").write_bytes(text)
                flip(out / "manifest.json", at, 1)
                self.assert_comes_through(out)

    def test_a_file_cut_short_or_gone_is_made_again(self):
        for path, reported in self.kinds(self.whole).items():
            name = path.relative_to(self.whole)
            for kind in ("cut", "gone"):
                with self.subTest(f"{name} {kind}"):
                    out = self.copy(f"{name.name}-{kind}")
                    if kind == "gone":
                        (out / name).unlink()
                    else:
                        (out / name).write_bytes(path.read_bytes()[:-1 - path.stat().st_size // 3])
                    if name.name == "manifest.json" and kind == "cut":
                        reported = True
                    process = self.assert_comes_through(out)
                    if reported and kind == "cut":
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
            process = self.start(out, 0)
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

    def start(self, out, ranks):
        command = [str(word) for word in [BINARY, *words(out)]]
        if ranks:
            command = [MPIRUN, "--allow-run-as-root", "--oversubscribe", "--quiet", "-n", str(ranks), *command]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def disturb(self, rng, process):
        """Something at some moment; what it was."""
        delay = rng.uniform(0, 1.5 * self.seconds)
        time.sleep(delay)
        kind = rng.choice(["kill", "kill any", "stop any", signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
        try:
            if kind == "kill":
                process.kill()
            elif kind in ("kill any", "stop any"):
                victim = rng.choice(processes_below(process.pid) or [process.pid])
                os.kill(victim, signal.SIGKILL if kind == "kill any" else signal.SIGSTOP)
                if kind == "stop any":
                    time.sleep(0.3)
                    os.kill(victim, signal.SIGCONT)
            else:
                process.send_signal(kind)
        except ProcessLookupError:
            pass
        return f"{kind} after {delay:.3f} s"

    def damage(self, rng, out):
        """One file of those that are there, at random; what happened to it."""
        files = [path for path in sorted(out.rglob("*")) if path.is_file() and path.name != ".lock" and path.stat().st_size > 0]
        if not files or rng.random() < 0.5:
            return "no damage"
        path = rng.choice(files)
        at = rng.randrange(path.stat().st_size)
        if rng.random() < 0.3:
            path.write_bytes(path.read_bytes()[:at])
            return f"{path.name} cut at {at}"
        flip(path, at, rng.randrange(8))
        return f"{path.name} flipped at {at}"

    @needs_mpi
    def test_runs_disturbed_at_random_come_through_to_the_same_database(self):
        for number in range(ROUNDS):
            rng = random.Random(SEED + number)
            out = self.folder / str(number)
            story = []
            for _ in range(rng.randint(1, 3)):
                process = self.start(out, rng.choice([0, 0, 2, 3]))
                story.append(self.disturb(rng, process))
                errors = process.communicate(timeout=120)[1]
                self.assertNotIn("terminate called", errors, story)
                story.append(f"exit {process.returncode}")
                if out.exists():
                    story.append(self.damage(rng, out))
            with self.subTest(f"RULEMILL_FAULTS=1 RULEMILL_FAULT_SEED={SEED + number}", story=story):
                self.assert_comes_through(out, ranks=rng.choice([0, 2]))

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
