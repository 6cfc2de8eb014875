#!/usr/bin/env python3
"""Disturbs runs of `rulemill discover` at random and compares the results with an undisturbed run, byte for byte:

    tests/cli/faults.py [--runs 200] [--seed N] [--profile FILE] [--max-ops K]

Each run is disturbed one to three times, on one to three ranks, and then finishes undisturbed. A scenario depends on its seed and on
the timing of the machine. Prints a table of the faults and of how the disturbed processes ended."""

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
LEFTOVERS = ("*.partial", "*.journal", "*.pieces", "previous")
RUN_TIMEOUT = 90  # seconds after which a run hangs


def results(out):
    return {name: (out / name).read_bytes() for name in RESULTS}


def flip(path, at, bit=0):
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def processes_below(pid):
    """Returns the descendants of this process; some may have ended."""
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


class FaultFixture:
    """The undisturbed run, and folders for disturbed ones."""

    def __init__(self, folder, profile=SMALL, options=("--checkpoint-rows", "64")):
        self.folder, self.profile, self.options = pathlib.Path(folder), profile, options
        self.reference = self.folder / "reference"
        begin = time.monotonic()
        process = rulemill(*self.words(self.reference))
        if process.returncode != 0:
            raise RuntimeError(process.stderr)
        self.seconds = time.monotonic() - begin
        self.expected = results(self.reference)
        self.smaller = self.folder / "smaller"
        self.run_smaller()

    def run_smaller(self):
        """Returns a folder with a run that lacks the last operator, from which the next run reuses results."""
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
    """Sends a signal to one of the descendants with this word on its command line."""
    below = [pid for pid in processes_below(process.pid) if has_word(pid, word)]
    if below:
        kill(rng.choice(below), sign)


def suspend(process, rng, word):
    below = [pid for pid in [process.pid, *processes_below(process.pid)] if has_word(pid, word)]
    if below:
        victim = rng.choice(below)
        kill(victim, signal.SIGSTOP)
        time.sleep(0.4)
        kill(victim, signal.SIGCONT)


RANK, WORKER = b"discover", b"proof-worker"

# Faults of processes, by name.
PROCESS_FAULTS = {
    "kill the launcher or the only process": lambda process, rng: process.kill(),
    "kill a rank": lambda process, rng: hit(process, RANK, signal.SIGKILL, rng),
    "kill a worker": lambda process, rng: hit(process, WORKER, signal.SIGKILL, rng),
    "suspend and resume a rank": lambda process, rng: suspend(process, rng, RANK),
    "hang a solver": lambda process, rng: hit(process, WORKER, signal.SIGSTOP, rng),
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


# Faults of files between runs: name → which files, and the fault.
FILE_FAULTS = {
    "drop a journal's end": ("*.journal", cut_last_record),
    "flip a bit in a journal": ("*.journal", flip_somewhere),
    "cut a shard": ("shards/*.h5", cut),
    "flip a bit in a shard": ("shards/*.h5", flip_somewhere),
    "flip a bit in a checkpoint": ("*.pieces/*", flip_somewhere),
    "flip a bit in any file": ("**/*", flip_somewhere),
    "cut any file": ("**/*", cut),
    "remove any file": ("**/*", lambda path, rng: path.unlink()),
}


def damage(rng, out):
    """Injects a fault; returns which, and in which file, or None."""
    kind = rng.choice(list(FILE_FAULTS))
    pattern, fault = FILE_FAULTS[kind]
    files = [path for path in sorted(out.glob(pattern))
             if path.is_file() and path.name != ".lock" and "events" not in path.parts and path.stat().st_size > 0]
    if not files:
        return None
    path = rng.choice(files)
    fault(path, rng)
    return kind, path.name


def has_begun(pid, out):
    """True if the process or a descendant has opened a file in its folder. Before that it is still in the launcher's start, which
    can hang by itself (PMIx_Init of Open MPI 4.1)."""
    for process in [pid, *processes_below(pid)]:
        try:
            links = [os.readlink(link) for link in pathlib.Path(f"/proc/{process}/fd").iterdir()]
        except OSError:
            continue
        if any(link.startswith(str(out)) for link in links):
            return True
    return False


def run_undisturbed(fixture, out, ranks, fail):
    """Runs it undisturbed, and again if its launcher hangs at the start; returns the exit code and stderr."""
    for _ in range(3):
        process = fixture.start(out, ranks)
        try:
            return process.communicate(timeout=RUN_TIMEOUT)[1], process.returncode
        except subprocess.TimeoutExpired:
            begun = has_begun(process.pid, out)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if begun:
                fail("the undisturbed run hangs")
    return fail("the launcher does not start a run")


def disturbed_run(seed, fixture, log=None):
    """Runs one scenario; returns its faults as (kind, outcome). Raises AssertionError with the scenario if the result differs, a
    disturbed process hangs or crashes, or damaged data is used."""
    rng = random.Random(seed)
    out = fixture.folder / f"run-{seed}"
    scenario = []

    def fail(what):
        raise AssertionError(f"seed {seed}: {what}; the scenario: {scenario}")

    if rng.random() < 1 / 3:
        shutil.copytree(fixture.smaller, out)
        scenario.append(("begin in the folder of a run without the last operator", "of that folder"))
    for _ in range(rng.randint(1, 3)):
        ranks = rng.choice([0, 0, 2, 3]) if MPIRUN else 0
        kind = rng.choice([*PROCESS_FAULTS, FULL])
        # A hanging worker is abandoned at its time limit; a full disk is emulated by a limit on the size of files.
        more = ["--proof-timeout", "1"] if kind == "hang a solver" else []
        process = fixture.start(out, ranks, more, rng.randrange(500, 60_000) if kind == FULL else None)
        time.sleep(rng.uniform(0, 1.1 * fixture.seconds))
        if kind != FULL:
            PROCESS_FAULTS[kind](process, rng)
        try:
            errors = process.communicate(timeout=RUN_TIMEOUT)[1]
        except subprocess.TimeoutExpired:
            begun = has_begun(process.pid, out)
            os.killpg(process.pid, signal.SIGKILL)
            errors = process.communicate()[1]
            if begun:
                fail(f"it hangs after: {kind}")
        scenario.append((f"{kind}, {'several ranks' if ranks else 'one process'}", f"exit {process.returncode}"))
        if "terminate called" in errors or process.returncode in (-signal.SIGSEGV, -signal.SIGABRT):
            fail(f"it crashed: {errors}")
        # Processes that a killed launcher leaves behind end by themselves.
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and any(has_word(int(entry.name), str(out).encode())
                                                  for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()):
            time.sleep(0.02)
        if out.exists() and rng.random() < 0.6:
            done = damage(rng, out)
            if done:
                scenario.append((done[0], f"of {done[1]}"))
    errors, code = run_undisturbed(fixture, out, rng.choice([0, 2]) if MPIRUN else 0, fail)
    if code != 0:
        fail(f"the undisturbed run exited with {code}: {errors}")
    for name, content in results(out).items():
        if content != fixture.expected[name]:
            fail(f"{name} differs")
    left = [str(path) for pattern in LEFTOVERS for path in out.rglob(pattern)]
    if left:
        fail(f"left behind: {left}")
    shutil.rmtree(out)
    if log:
        print(f"seed {seed}: {'; '.join(f'{kind} → {outcome}' for kind, outcome in scenario)}", file=log, flush=True)
    return scenario


def table(scenarios):
    """Returns one line per kind of fault, without the name of a damaged file."""
    counts = collections.defaultdict(collections.Counter)
    for kind, outcome in (step for scenario in scenarios for step in scenario):
        counts[kind]["recovered" if outcome.startswith("of ") else outcome] += 1
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
    failures, scenarios = 0, []
    with tempfile.TemporaryDirectory(prefix="rulemill-faults-") as folder:
        fixture = FaultFixture(folder, words.profile, options)
        for seed in range(words.seed, words.seed + words.runs):
            try:
                scenarios.append(disturbed_run(seed, fixture, sys.stdout))
            except AssertionError as error:
                failures += 1
                print(error, flush=True)
    print(table(scenarios))
    print(f"{words.runs} runs, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
