#!/usr/bin/env python3
"""Proves the rules of data/compilers and prints the tables of docs/compilers.md:

    bench/compilers.py [--binary build/release/rulemill] [NAME...]"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = ROOT / "data" / "compilers"
OPERATORS = RULES / "operators"
VERDICT = re.compile(r"# (?P<verdict>proved|narrowed|refuted|unknown)(?:[:;] (?P<reason>.*))?")


def stated_verdicts(path):
    """Returns for each rule of a file the verdict in the line before it, as a match of VERDICT, or None."""
    verdicts, previous = {}, ""
    for line in path.read_text(encoding="utf-8").splitlines():
        rule = re.match(r"rule (\w+)\(", line)
        if rule:
            verdicts[rule[1]] = VERDICT.fullmatch(previous)
        previous = line
    return verdicts


def prove(binary, path, database):
    """Imports a rule file; returns the entries of its rules."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [binary, "rules", "import", path, "--definitions", OPERATORS, "--out", database, "--json", report,
                   "--log-level", "error"]
        process = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if process.returncode not in (0, 1):  # 1: not every rule is proved
            raise SystemExit(process.stderr.strip())
        return json.loads(report.read_text(encoding="utf-8"))


def fault_of(reason):
    """Returns who does a false rewrite and the condition that would make it true, or None if no compiler does it."""
    found = re.search(r"((?:done by the compiler|reported)[^;]*); (.*)", reason or "")
    return found and found.groups()


def short_origin(origin):
    """Returns `compiler` for what a compiler does, and otherwise the report."""
    return "compiler" if origin == "done by the compiler" else origin.removeprefix("reported (").removesuffix(")")


def short_counterexample(detail):
    """Returns the sizes, the element, and the values of both sides there."""
    return re.sub(r"^at (.*) output 0 element (\[.*?\]): the source is (\S+), the target (\S+)$", r"\1; \2: \3, \4", detail)


def count_row(name, report, stated):
    """Returns a row of the first table."""
    counts = collections.Counter()
    for entry in report["rules"]:
        counts[entry["verdict"]] += 1
        counts["faults"] += fault_of(stated[entry["name"]]["reason"]) is not None
    return [name, len(report["rules"]), counts["proved"], counts["narrowed"], counts["refuted"], counts["unknown"],
            counts["faults"], f"{report['seconds']:.1f}"]


def print_table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="rule files without their extension; default: all")
    parser.add_argument("--binary", default=ROOT / "build" / "release" / "rulemill")
    options = parser.parse_args()
    names = options.names or sorted(path.stem for path in RULES.glob("*.rules"))
    rows, faults, unknown = [], [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            path = RULES / f"{name}.rules"
            stated = stated_verdicts(path)
            report = prove(options.binary, path, pathlib.Path(folder) / f"{name}.rmdb")
            rows.append(count_row(name, report, stated))
            for entry in report["rules"]:
                reason = stated[entry["name"]]["reason"]
                if entry["verdict"] == "unknown":
                    unknown[reason] += 1
                if fault := fault_of(reason):
                    faults.append([f"{name}: `{entry['name']}`", short_origin(fault[0]), short_counterexample(entry["detail"]), fault[1]])
    if len(rows) > 1:
        rows.append(["all", *(sum(row[i] for row in rows) for i in range(1, 7)), f"{sum(float(row[7]) for row in rows):.1f}"])
    print_table(["file", "rules", "proved", "narrowed", "refuted", "unknown", "faults", "s"], rows)
    print_table(["rule", "origin", "sizes; element: source, target", "condition"], faults)
    print_table(["unknown because of", "rules"], unknown.most_common())


if __name__ == "__main__":
    main()
