#!/usr/bin/env python3
"""Disturbs runs of `rulemill discover` at random and holds what comes out against an undisturbed run, byte for byte:

    tests/cli/faults.py [--runs 200] [--seed N] [--profile FILE] [--max-ops K]

A run is disturbed one to three times, on one to three ranks, and then left alone. Each story follows from its seed, but for
what the machine's timing does to it; the table at the end says what was done how often, and how the disturbed processes ended."""

import argparse
import collections
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from binary import BINARY, MPIRUN, ROOT, rulemill

SMALL = pathlib.Path(__file__).with_name("small.toml")
RESULTS = ["candidates.rules", "outcomes.json", "rules.rmdb"]
LEFTOVERS = ("*.partial", "*.journal", "*.pieces", "earlier")
PATIENCE = 90  # seconds after which a run hangs


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


def has_word(pid, word):
    try:
        return word in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Workshop:
    """The undisturbed run, and folders for others."""

    def __init__(self, folder, profile=SMALL, options=("--checkpoint-rows", "64")):
        self.folder, self.profile, self.options = pathlib.Path(folder), profile, options
        self.whole = self.folder / "whole"
        begin = time.monotonic()
        process = rulemill(*self.words(self.whole))
        if process.returncode != 0:
            raise RuntimeError(process.stderr)
        self.seconds = time.monotonic() - begin
        self.expected = results(self.whole)
        self.smaller = self.folder / "smaller"
        self.run_smaller()

    def run_smaller(self):
        """What a run on the last operator less leaves: one that follows in its folder takes over what it can."""
        text = pathlib.Path(self.profile).read_text(encoding="utf-8")
        profile = self.folder / "smaller.toml"
        profile.write_text(text[:text.rindex("[[operators]]")], encoding="utf-8")
        process = rulemill("discover", "--profile", profile, "--out", self.smaller, "--progress", "off", *self.options)
        if process.returncode != 0:
            raise RuntimeError(process.stderr)

    def words(self, out):
        return ["discover", "--profile", self.profile, "--out", out, "--progress", "off", *self.options]

    def start(self, out, ranks, more=(), largest_file=None):
        command = [str(word) for word in [BINARY, *self.words(out), *more]]
        if ranks:
            command = [MPIRUN, "--allow-run-as-root", "--oversubscribe", "--quiet", "-n", str(ranks), *command]
        limit = None if largest_file is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=limit,
                                start_new_session=True)


def kill(pid, sign):
    try:
        os.kill(pid, sign)
    except ProcessLookupError:
        pass


def hit(process, word, sign, rng):
    """A signal to one of the processes below that has this word on its command line."""
    below = [pid for pid in processes_below(process.pid) if has_word(pid, word)]
    if below:
        kill(rng.choice(below), sign)


def pause(process, rng, word):
    below = [pid for pid in [process.pid, *processes_below(process.pid)] if has_word(pid, word)]
    if below:
        victim = rng.choice(below)
        kill(victim, signal.SIGSTOP)
        time.sleep(0.4)
        kill(victim, signal.SIGCONT)


RANK, HELPER = b"discover", b"proof-helper"

# What may happen to the processes: name → what is done at that moment.
BLOWS = {
    "kill the launcher, or the one process": lambda process, rng: process.kill(),
    "kill a rank": lambda process, rng: hit(process, RANK, signal.SIGKILL, rng),
    "kill a helper": lambda process, rng: hit(process, HELPER, signal.SIGKILL, rng),
    "stop a rank and let it go on": lambda process, rng: pause(process, rng, RANK),
    "hang a solver": lambda process, rng: hit(process, HELPER, signal.SIGSTOP, rng),
    "SIGTERM": lambda process, rng: process.terminate(),
    "SIGUSR1": lambda process, rng: process.send_signal(signal.SIGUSR1),
    "SIGINT": lambda process, rng: process.send_signal(signal.SIGINT),
}
FULL = "fill the disk"


def cut_last_record(path, rng):
    data = path.read_bytes()
    path.write_bytes(data[:len(data) - min(len(data), rng.randint(1, 60))])


def cut(path, rng):
    path.write_bytes(path.read_bytes()[:rng.randrange(path.stat().st_size)])


def flip_somewhere(path, rng):
    flip(path, rng.randrange(path.stat().st_size), rng.randrange(8))


# What may happen to files between runs: name → which, and what is done.
DAMAGES = {
    "drop a journal's end": ("*.journal", cut_last_record),
    "flip a bit in a journal": ("*.journal", flip_somewhere),
    "cut a shard": ("shards/*.h5", cut),
    "flip a bit in a shard": ("shards/*.h5", flip_somewhere),
    "flip a bit in a piece of a stage": ("*.pieces/*", flip_somewhere),
    "flip a bit in any file": ("**/*", flip_somewhere),
    "cut any file": ("**/*", cut),
    "remove any file": ("**/*", lambda path, rng: path.unlink()),
}


def damage(rng, out):
    """What was done to which file, if anything."""
    kind = rng.choice(list(DAMAGES))
    pattern, deed = DAMAGES[kind]
    files = [path for path in sorted(out.glob(pattern))
             if path.is_file() and path.name != ".lock" and "events" not in path.parts and path.stat().st_size > 0]
    if not files:
        return None
    path = rng.choice(files)
    deed(path, rng)
    return kind, path.name


def has_begun(pid, out):
    """Whether it or a process below has opened something in its folder: before that it is still in the launcher's own start, which
    can hang by itself (PMIx_Init of Open MPI 4.1)."""
    for process in [pid, *processes_below(pid)]:
        try:
            links = [os.readlink(link) for link in pathlib.Path(f"/proc/{process}/fd").iterdir()]
        except OSError:
            continue
        if any(link.startswith(str(out)) for link in links):
            return True
    return False


def left_alone(workshop, out, ranks, fail):
    """The run that nobody disturbs; started again if its launcher never lets it begin. Its exit code and stderr."""
    for _ in range(3):
        process = workshop.start(out, ranks)
        try:
            return process.communicate(timeout=PATIENCE)[1], process.returncode
        except subprocess.TimeoutExpired:
            begun = has_begun(process.pid, out)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if begun:
                fail("the run that was left alone hangs")
    return fail("the launcher does not start a run")


def disturbed_run(seed, workshop, log=None):
    """One story: what was done, as (kind, outcome). Raises AssertionError, with the story, if the result is another one, a
    disturbed process hangs or crashes, or damage is used."""
    rng = random.Random(seed)
    out = workshop.folder / f"run-{seed}"
    story = []

    def fail(what):
        raise AssertionError(f"seed {seed}: {what}; the story: {story}")

    if rng.random() < 1 / 3:
        shutil.copytree(workshop.smaller, out)
        story.append(("begin where a run on an operator less ended", "of that folder"))
    for _ in range(rng.randint(1, 3)):
        ranks = rng.choice([0, 0, 2, 3]) if MPIRUN else 0
        kind = rng.choice([*BLOWS, FULL])
        # A helper that hangs is given up after its time; a disk is full at some number of bytes a file.
        more = ["--proof-seconds", "1"] if kind == "hang a solver" else []
        process = workshop.start(out, ranks, more, rng.randrange(500, 60_000) if kind == FULL else None)
        time.sleep(rng.uniform(0, 1.1 * workshop.seconds))
        if kind != FULL:
            BLOWS[kind](process, rng)
        try:
            errors = process.communicate(timeout=PATIENCE)[1]
        except subprocess.TimeoutExpired:
            begun = has_begun(process.pid, out)
            os.killpg(process.pid, signal.SIGKILL)
            errors = process.communicate()[1]
            if begun:
                fail(f"it hangs after: {kind}")
        story.append((f"{kind}, {'several ranks' if ranks else 'one process'}", f"exit {process.returncode}"))
        if "terminate called" in errors or process.returncode in (-signal.SIGSEGV, -signal.SIGABRT):
            fail(f"it crashed: {errors}")
        # What a killed launcher has left behind ends by itself.
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and any(has_word(int(entry.name), str(out).encode())
                                                  for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()):
            time.sleep(0.02)
        if out.exists() and rng.random() < 0.6:
            done = damage(rng, out)
            if done:
                story.append((done[0], f"of {done[1]}"))
    errors, code = left_alone(workshop, out, rng.choice([0, 2]) if MPIRUN else 0, fail)
    if code != 0:
        fail(f"the run that was left alone ended with {code}: {errors}")
    for name, content in results(out).items():
        if content != workshop.expected[name]:
            fail(f"{name} is another one")
    left = [str(path) for pattern in LEFTOVERS for path in out.rglob(pattern)]
    if left:
        fail(f"left behind: {left}")
    shutil.rmtree(out)
    if log:
        print(f"seed {seed}: {'; '.join(f'{kind} → {outcome}' for kind, outcome in story)}", file=log, flush=True)
    return story


def table(stories):
    """A line a kind; which file was damaged is not told."""
    counts = collections.defaultdict(collections.Counter)
    for kind, outcome in (step for story in stories for step in story):
        counts[kind]["came through" if outcome.startswith("of ") else outcome] += 1
    return "\n".join(f"{sum(outcomes.values()):5}  {kind}: {', '.join(f'{n} × {outcome}' for outcome, n in outcomes.most_common())}"
                     for kind, outcomes in sorted(counts.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--profile", type=pathlib.Path, default=SMALL)
    parser.add_argument("--max-ops", type=int)
    words = parser.parse_args()
    options = ["--checkpoint-rows", "64", *(["--max-ops", str(words.max_ops)] if words.max_ops else [])]
    failures, stories = 0, []
    with tempfile.TemporaryDirectory(prefix="rulemill-faults-") as folder:
        workshop = Workshop(folder, words.profile, options)
        for seed in range(words.seed, words.seed + words.runs):
            try:
                stories.append(disturbed_run(seed, workshop, sys.stdout))
            except AssertionError as error:
                failures += 1
                print(error, flush=True)
    print(table(stories))
    print(f"{words.runs} runs, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
