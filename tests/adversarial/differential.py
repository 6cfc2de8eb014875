"""Compares the prover, without its refuter, with the evaluator: code that all adversarial tests share. A proved rule that
is false is printed with the command that reproduces it."""

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
CASE_TIMEOUT = 20  # seconds for one case, on a busy machine


def prover_binary():
    return os.environ.get("PROVE_PAIRS") or str(ROOT / "build" / "release" / "prove_pairs")


class Prover:
    """A prover process. It is restarted after a case that crashes it or exceeds the timeout."""

    def __init__(self, *arguments):
        self.command = [prover_binary(), *arguments]
        self.process = None

    def query(self, case, definitions, text=None, **options):
        """Returns the verdict on each rule of the text, or, without a text, on the definitions. The last verdict is
        "crashed" or "timeout" if the process did not finish the case."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.pending = b""
        request = {"id": case, **options}
        if text:
            request["rules"] = text
        if definitions:
            request["definitions"] = definitions
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        verdicts, deadline = [], time.time() + CASE_TIMEOUT
        while True:
            line = self.read_line(deadline)
            if line is None:
                return verdicts + [self.abandon_case()]
            verdict = json.loads(line)
            if verdict["verdict"] == "done":
                return verdicts
            verdicts.append(verdict)

    def read_line(self, deadline):
        """Returns the next line, or None at the deadline or at the end of the output."""
        while b"\n" not in self.pending:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.time()))
            data = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not data:
                return None
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        return line

    def abandon_case(self):
        try:
            status = self.process.wait(timeout=2)
            verdict = {"verdict": "crashed", "detail": f"exit status {status}"}
        except subprocess.TimeoutExpired:
            verdict = {"verdict": "timeout", "detail": f"more than {CASE_TIMEOUT} s"}
        self.close()
        return verdict

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


class Results:
    """Counts and failures of one adversarial test."""

    def __init__(self):
        self.counts = Counter()
        self.failures = []
        self.begin = time.time()

    def add_failure(self, kind, case, *details):
        self.counts[kind] += 1
        self.failures.append(kind)
        print(f"\n{kind}: {case}\n" + "\n".join(str(d).rstrip() for d in details), flush=True)

    def summary(self, test):
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        return f"{test}: {counts}; {time.time() - self.begin:.0f} s"


def check_verdict(results, case, verdict, operators, functions, definitions="", sizes=30, sizes_if_unproved=4, seed=1):
    """Counts a verdict and evaluates its rule. A proved rule with a counterexample is a failure."""
    results.counts[verdict["verdict"]] += 1
    if verdict["verdict"] in ("crashed", "timeout"):
        results.add_failure(f"prover: {verdict['verdict']}", case, verdict["detail"], definitions)
    if "typed" not in verdict:
        return
    results.counts["typed"] += 1
    proved = verdict["verdict"] == "proved"
    try:
        rule = Rules(verdict["typed"]).rules[0]
        evaluation = rules.evaluate_rule(rule, operators, functions, sizes if proved else sizes_if_unproved, seed)
    except RecursionError:
        results.counts["too deep to evaluate"] += 1
        return
    results.counts["comparisons"] += evaluation.compared
    if proved and evaluation.compared == 0:
        results.counts["proved, not evaluated"] += 1
    counterexample = evaluation.counterexample
    if counterexample is None:
        return
    results.counts["refuted by the evaluator"] += 1
    if proved:
        kind = f"FALSE RULE PROVED ({counterexample.kind})"
        results.add_failure(kind, case, counterexample, definitions, verdict["typed"])


def parse_definitions(text):
    definitions = Definitions(text)
    return definitions.operators, definitions.functions
