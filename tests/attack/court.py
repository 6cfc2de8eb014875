"""Puts rules to the prover without its refuter, and what it calls proved to the evaluator: the parts that all attacks
share. A false rule that is proved is printed with what it takes to see it again."""

import json
import os
import pathlib
import select
import subprocess
import time
from collections import Counter

import rules
from parser import Definitions, Rules

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 20  # seconds for one case, on a busy machine


def prover_binary():
    return os.environ.get("PROVE_PAIRS") or str(ROOT / "build" / "release" / "prove_pairs")

TOLERATED = set()


class Prover:
    """The prover in a process of its own, which is started anew when a case ends it or takes too long."""

    def __init__(self, *arguments):
        self.command = [prover_binary(), *arguments]
        self.process = None

    def ask(self, case, definitions, text=None, **more):
        """Verdicts on the rules of a text, or on what the definitions claim; one with the verdict "ended" or "slow" if the process did not live."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.pending = b""
        given = {"id": case} | ({"rules": text} if text else {}) | ({"definitions": definitions} if definitions else {}) | more
        self.process.stdin.write(json.dumps(given).encode() + b"\n")
        self.process.stdin.flush()
        verdicts, deadline = [], time.time() + PATIENCE
        while True:
            line = self.line(deadline)
            if line is None:
                return verdicts + [self.give_up()]
            verdict = json.loads(line)
            if verdict["verdict"] == "done":
                return verdicts
            verdicts.append(verdict)

    def line(self, deadline):
        while b"\n" not in self.pending:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.time()))
            data = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not data:
                return None
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        return line

    def give_up(self):
        try:
            status = self.process.wait(timeout=2)
            verdict = {"verdict": "ended", "detail": f"exit status {status}"}
        except subprocess.TimeoutExpired:
            verdict = {"verdict": "slow", "detail": f"more than {PATIENCE} s"}
        self.close()
        return verdict

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


class Record:
    """What became of the cases of one attack."""

    def __init__(self):
        self.counts = Counter()
        self.bad = []
        self.begin = time.time()

    def add(self, kind, case, *details):
        """Something that must not be."""
        self.counts[kind] += 1
        self.bad.append(kind)
        print(f"\n{kind}: {case}\n" + "\n".join(str(d).rstrip() for d in details), flush=True)

    def summary(self, attack):
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        return f"{attack}: {counts}; {time.time() - self.begin:.0f} s"


def judge(record, case, verdict, operators, functions, definitions="", sizes=30, glance=4, seed=1):
    """Counts one verdict and evaluates what it is about."""
    record.counts[verdict["verdict"]] += 1
    if verdict["verdict"] in ("ended", "slow"):
        record.add(f"prover {verdict['verdict']}", case, verdict["detail"], definitions)
    if "typed" not in verdict:
        return
    record.counts["typed"] += 1
    proved = verdict["verdict"] == "proved"
    try:
        rule = Rules(verdict["typed"]).rules[0]
        trial = rules.judge(rule, operators, functions, sizes if proved else glance, seed)
    except RecursionError:
        record.counts["too deep to evaluate"] += 1
        return
    record.counts["comparisons"] += trial.compared
    if proved and trial.compared == 0:
        record.counts["proved, not evaluated"] += 1
    if not trial.findings:
        return
    finding = trial.findings[0]
    record.counts["refuted by the evaluator"] += 1
    if proved and finding.kind in TOLERATED:
        record.counts[f"proved, {finding.kind}"] += 1
    elif proved:
        record.add(f"FALSE PROVED ({finding.kind})", case, finding, definitions, verdict["typed"])


def definitions_of(text):
    read = Definitions(text)
    return read.operators, read.functions
