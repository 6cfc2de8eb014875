#!/usr/bin/env python3
"""Operators that stand next to each other in models and that no rule has together: `neighbours.py FILE… --rules FILE [--seconds S]`.

`optimize --discover` lists for each model the graphs of 2 to 4 operators without a rule, and tries to discover rules of the costliest
for S seconds a model. Prints a table of these graphs, those first that occur in most models: in how many models, their greatest share
of a model's cost, and what was found; then how many models gain by 3% and more with the rules, and how many more with what was found, by the
cost model. RULEMILL names the binary."""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("RULEMILL", str(ROOT / "build" / "release" / "rulemill"))
#: The results of a place, in order.
RESULTS = ["not tried", "time limit", "no rule that saves", "rules"]


def report_of(model, options, *more):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [BINARY, "optimize", model, "--rules", options.rules, "--no-benchmark", "--min-gain", "0", *more,
                   "--json", report, "--quiet"]
        process = subprocess.run(command, capture_output=True, text=True, timeout=options.limit)
        if not report.exists():
            raise ValueError((process.stderr.strip().splitlines() or ["no report"])[-1])
        return json.loads(report.read_text(encoding="utf-8"))


class Neighbours:
    """A graph of operators, producers first, over all models."""

    def __init__(self):
        self.models, self.share, self.result = 0, 0.0, RESULTS[0]

    def add(self, places, cost):
        self.models += 1
        self.share = max(self.share, sum(place["seconds"] for place in places) / cost)
        self.result = max([self.result, *(place["result"] for place in places)], key=RESULTS.index)


def add_model(report, table):
    by_operators = collections.defaultdict(list)
    for place in report["discovered"]["places"]:
        by_operators[" → ".join(reversed(place["operators"]))].append(place)
    for operators, places in by_operators.items():
        table[operators].add(places, report["cost_seconds"]["before"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="ONNX files, and folders of such")
    parser.add_argument("--rules", required=True, help="rule database")
    parser.add_argument("--seconds", type=float, default=1, help="for discovery, a model")
    parser.add_argument("--limit", type=float, default=600, help="seconds for all of a model")
    parser.add_argument("--rows", type=int, default=60, help="of the table")
    options = parser.parse_args()
    files = [file for each in map(pathlib.Path, options.models) for file in (sorted(each.rglob("*.onnx")) if each.is_dir() else [each])]
    table = collections.defaultdict(Neighbours)
    gains = []
    for file in files:
        try:
            by_rules = report_of(file, options)
            report = report_of(file, options, "--discover", "--discover-seconds", str(options.seconds))
        except (ValueError, subprocess.TimeoutExpired) as error:
            print(f"{file.stem}: {error}", file=sys.stderr)
            continue
        add_model(report, table)
        found = report["discovered"]
        gains.append([each["cost_seconds"]["before"] / each["cost_seconds"]["after"] for each in (by_rules, report)])
        print(f"{file.stem}: {len(found['places'])} places, {found['tried']} tried, {found['with_rules']} with rules, "
              f"{found['seconds']:.0f} s; gain {gains[-1][0]:.3f}, {gains[-1][1]:.3f} with what was found", file=sys.stderr)
    counts = collections.Counter(each.result for each in table.values())
    print(f"{len(gains)} models, {len(table)} graphs without a rule: " + ", ".join(f"{counts[name]} {name}" for name in RESULTS))
    print("\n| operators | models | greatest share of cost | found |\n|---|---|---|---|")
    rows = sorted(table.items(), key=lambda each: (-each[1].models, -each[1].share, each[0]))
    for operators, each in rows[:options.rows]:
        print(f"| {operators} | {each.models} | {100 * each.share:.1f}% | {each.result} |")
    more = sum(found >= 1.03 * before for before, found in gains)
    print(f"\n{sum(before >= 1.03 for before, _ in gains)} of {len(gains)} models gain by 3% and more, {more} by 3% more with what was found")


if __name__ == "__main__":
    main()
