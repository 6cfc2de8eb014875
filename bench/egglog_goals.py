#!/usr/bin/env python3
"""Compares egglog with `rulemill derive`: `egglog_goals.py RULES.rmdb [--goals 200] [--seconds 20] [--json FILE]`.

The goals are derived rules of the database, at the sizes that `rules export --goals` chooses. Both get the same rules: those of
its core whose operators all occur in the goal. So goals of the same operators share a program, and each program is small enough for
egglog to load. Prints how many goals are equal in both, in one or in neither, and each disagreement. Needs the Python package egglog. RULEMILL names the binary.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ.get("RULEMILL", str(ROOT / "build" / "release" / "rulemill"))
ROUNDS, MAX_TUPLES = 6, 5000
# In a process of its own, since one round of saturation cannot be stopped.
EGGLOG = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests" / "cli")!r})
from egglog_program import verdicts
for name, verdict in verdicts(open(sys.argv[1], encoding="utf-8").read(), {ROUNDS}, {MAX_TUPLES}, float(sys.argv[2])):
    print(name, verdict, flush=True)
"""


def rulemill(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, check=False)


def rules_of(database, tier, folder):
    """The texts of the rules of a tier."""
    path = folder / f"{tier}.rules"
    process = rulemill("rules", "export", database, path, "--tier", tier)
    if process.returncode != 0:
        sys.exit(process.stderr)
    return [each.group() for each in re.finditer(r"^rule \w+\(.*\n(?:[ ].*\n?)*", path.read_text(encoding="utf-8"), flags=re.M)]


def operators(text):
    return frozenset(re.findall(r"\b(\w+)\(", text.split("\n", 1)[1])) - {"div", "mod", "min", "max"}


def choose_groups(core, derived, count):
    """Goals by operators, from the largest group on, at most a tenth of the goals from one."""
    by_operators = collections.defaultdict(list)
    for goal in derived:
        by_operators[operators(goal)].append(goal)
    chosen, total = [], 0
    for names, goals in sorted(by_operators.items(), key=lambda item: (-len(item[1]), sorted(item[0]))):
        premises = [rule for rule in core if operators(rule) <= names]
        if not premises or total == count:
            continue
        goals = goals[:min(count // 10, count - total)]
        chosen.append((sorted(names), premises, goals))
        total += len(goals)
    return chosen


def compare(premises, goals, seconds, folder):
    """For each goal: egglog's verdict, derive's result and its detail."""
    files = {name: folder / name for name in ("premises.rules", "goals.rules", "rules.rmdb", "rules.egg", "derive.json")}
    files["premises.rules"].write_text("".join(premises), encoding="utf-8")
    files["goals.rules"].write_text("".join(goals), encoding="utf-8")
    rulemill("rules", "import", files["premises.rules"], "--out", files["rules.rmdb"])
    exported = rulemill("rules", "export", files["rules.rmdb"], files["rules.egg"], "--format", "egglog", "--goals", files["goals.rules"])
    if exported.returncode != 0:
        sys.exit(exported.stderr)
    rulemill("derive", "--from", files["rules.rmdb"], files["goals.rules"], "--json", files["derive.json"])
    derived = {rule["name"]: rule for rule in json.loads(files["derive.json"].read_text(encoding="utf-8"))["rules"]}
    try:
        process = subprocess.run([sys.executable, "-c", EGGLOG, files["rules.egg"], str(seconds)], capture_output=True, text=True,
                                 timeout=seconds * len(goals) + 60, check=False)
        output = process.stdout
    except subprocess.TimeoutExpired as error:
        output = (error.stdout or b"").decode()
    egglog = dict(line.split() for line in output.splitlines())
    program = files["rules.egg"].read_text(encoding="utf-8")
    for name in derived:
        egglog.setdefault(name, "stopped" if f"\n; goal {name}\n" in program else "no sizes")
    return [(name, egglog[name], rule["result"], rule["detail"]) for name, rule in derived.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", type=pathlib.Path)
    parser.add_argument("--goals", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20, help="limit of egglog for a goal")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    begin, results = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        core, derived = (rules_of(options.rules, tier, pathlib.Path(folder)) for tier in ("core", "derived"))
        for names, premises, goals in choose_groups(core, derived, options.goals):
            for name, egglog, result, detail in compare(premises, goals, options.seconds, pathlib.Path(folder)):
                results.append({"goal": name, "operators": names, "premises": len(premises), "egglog": egglog, "derive": result,
                                "detail": detail})
            print(f"{len(results)} goals, {time.monotonic() - begin:.0f} s: {', '.join(names)} ({len(premises)} rules)", file=sys.stderr)
    counts = collections.Counter((each["egglog"] == "equal", each["derive"] == "derived") for each in results)
    print("| goals | equal in both | only egglog | only derive | neither |\n|---|---|---|---|---|")
    print(f"| {len(results)} | {counts[True, True]} | {counts[True, False]} | {counts[False, True]} | {counts[False, False]} |")
    for each in results:
        if (each["egglog"] == "equal") != (each["derive"] == "derived"):
            print(f"{each['goal']}: egglog {each['egglog']}; derive {each['derive']} ({each['detail']}); {', '.join(each['operators'])}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
