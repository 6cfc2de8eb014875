#!/usr/bin/env python3
"""Lists the rules that fired over all models, and which of them published systems have: `fired.py TASO_FILE OUT.json RESULT.json…`.

RESULT.json are from measure.py. TASO_FILE is `graph_subst.pb` of TASO's repository. Its rules, the published rules of other systems
(data/imports/published.rules) and the fusions of runtimes (data/imports/runtimes.rules) are proved first (`rulemill rules import`).
`rulemill derive` then tries to derive each fired rule from the published rules, or from these and the fusions. These systems lack
the others, as far as the text of their rules goes. Rules with operators that TASO's set lacks are marked, because its generator
had no such operators. Prints a table and writes JSON. RULEMILL names the binary.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

import measure

ROOT = measure.ROOT


def rulemill(*arguments, allowed=(0,)):
    process = subprocess.run([measure.BINARY, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if process.returncode not in allowed:
        sys.exit(process.stderr.strip())


def proved(folder, *files):
    """Returns the provable rules of these files as text."""
    text = []
    for number, path in enumerate(files):
        database = folder / f"proved{number}"
        rulemill("rules", "import", path, "--out", database, allowed=(0, 1))
        rulemill("rules", "export", database, database / "rules.rules")
        for rule in re.split(r"\n(?=rule )", (database / "rules.rules").read_text()):
            if rule.startswith("rule "):
                text.append(re.sub(r"^rule (\S+?)\(", rf"rule s{number}_\1(", rule))
    return text


def derive(folder, premises, goals):
    """Returns by name whether each goal can be derived from the premises, in either direction."""
    source, file, report = folder / "premises.rules", folder / "goals.rules", folder / "report.json"
    source.write_text("\n".join(premises))
    file.write_text("\n".join(goals))
    rulemill("derive", "--from", source, file, "--json", report, allowed=(0, 1))
    return {entry["name"]: entry["result"] for entry in json.loads(report.read_text())["rules"]}


def collected(files):
    """Returns by rule its text, how often it fired, and in which models."""
    texts, times, models = {}, collections.Counter(), collections.defaultdict(set)
    for path in files:
        for result in json.loads(path.read_text())["results"]:
            if "rules" not in result:
                continue
            for rule, count in result["fired"].items():
                texts[rule] = result["rules"][rule]
                times[rule] += count
                models[rule].add(result["model"])
    return texts, times, models


def classify(texts, taso):
    """Returns by rule the sources from which it can be derived: `published`, `runtimes`, `neither` or `unknown`."""
    names = {rule: f"f{number}" for number, rule in enumerate(texts)}
    goals = [re.sub(r"^rule \S+?\(", f"rule {names[rule]}(", text) for rule, text in texts.items()]
    imports = ROOT / "data" / "imports"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        premises = proved(folder, taso, imports / "published.rules")
        by_published = derive(folder, premises, goals)
        by_runtimes = derive(folder, [*premises, *proved(folder, imports / "runtimes.rules")], goals)
    sources = {}
    for rule, name in names.items():
        first, second = by_published[name], by_runtimes[name]
        if first == "derived" or second == "derived":
            sources[rule] = "published" if first == "derived" else "runtimes"
        else:
            sources[rule] = "neither" if second == "not derived" else "unknown"
    return sources


def operators_of(text):
    return set(re.findall(r"([a-z_0-9]+)\(", text.split("\n", 1)[1]))


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    texts, times, models = collected([pathlib.Path(name) for name in sys.argv[3:]])
    sources = classify(texts, pathlib.Path(sys.argv[1]))
    table = tomllib.loads((ROOT / "data" / "imports" / "taso.toml").read_text())
    theirs = {each["operator"] for each in table["operators"]}
    rows = []
    for rule, count in times.most_common():
        rows.append({"rule": rule, "text": texts[rule], "times": count, "models": sorted(models[rule]), "derivable_from": sources[rule],
                     "of_tasos_operators": operators_of(texts[rule]) <= theirs})
    pathlib.Path(sys.argv[2]).write_text(json.dumps(rows, indent=1) + "\n")
    print("| rule | times | models | derivable from published rules | TASO's operators only |\n|---|---|---|---|---|")
    words = {"published": "yes", "runtimes": "with runtimes' fusions", "neither": "no", "unknown": "undecided"}
    for row in rows:
        lines = [line.strip() for line in row["text"].strip().split("\n")[1:]]
        print(f"| `{' '.join(lines)}` | {row['times']} | {len(row['models'])} | {words[row['derivable_from']]} | {'yes' if row['of_tasos_operators'] else ''} |")
    count = lambda source, taso_only: sum(row["derivable_from"] == source and row["of_tasos_operators"] == taso_only for row in rows)
    print(f"\n{len(rows)} rules fired: with TASO's operators only " + ", ".join(f"{count(a, True)} {words[a]}" for a in words) +
          "; with other operators " + ", ".join(f"{count(a, False)} {words[a]}" for a in words))


if __name__ == "__main__":
    main()
