#!/usr/bin/env python3
"""Which rules fired over all models, and which of them published systems have: `fired.py TASO_FILE OUT.json RESULT.json…`.

RESULT.json are measure.py's. TASO_FILE is `graph_subst.pb` of TASO's repository; beside it stand the rules and properties that papers and
programs publish (data/imports/published.rules) and what runtimes fuse by hand (data/imports/runtimes.rules), all proved first by
`rulemill rules import`. A rule that fired is looked for with `rulemill implied`: whether it follows from the published ones, or from these
and the runtimes' together. What does not is what these systems do not have, as far as this text of their rules goes; a rule about operators
that TASO's set lacks is marked, since its generator was never given them. Prints a table, writes JSON. RULEMILL names the binary.
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
    """The rules of these files that hold, as text."""
    text = []
    for number, path in enumerate(files):
        database = folder / f"proved{number}"
        rulemill("rules", "import", path, "--out", database, allowed=(0, 1))
        rulemill("rules", "export", "--rules", database, database / "rules.rules")
        for rule in re.split(r"\n(?=rule )", (database / "rules.rules").read_text()):
            if rule.startswith("rule "):
                text.append(re.sub(r"^rule (\S+?)\(", rf"rule s{number}_\1(", rule))
    return text


def follow(folder, known, asked):
    """Of the rules asked about, by name, whether each follows from the known ones, whichever way round."""
    by, file, answers = folder / "known.rules", folder / "asked.rules", folder / "answers.json"
    by.write_text("\n".join(known))
    file.write_text("\n".join(asked))
    rulemill("implied", "--by", by, file, "--json", answers, allowed=(0, 1))
    return {entry["name"]: entry["answer"] for entry in json.loads(answers.read_text())["rules"]}


def collected(files):
    """By rule: its text, how often it fired, and in which models."""
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


def judged(texts, taso):
    """`published`, `runtimes` or `neither`, by rule."""
    names = {rule: f"f{number}" for number, rule in enumerate(texts)}
    asked = [re.sub(r"^rule \S+?\(", f"rule {names[rule]}(", text) for rule, text in texts.items()]
    imports = ROOT / "data" / "imports"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        known = proved(folder, taso, imports / "published.rules")
        by_published = follow(folder, known, asked)
        by_runtimes = follow(folder, [*known, *proved(folder, imports / "runtimes.rules")], asked)
    answers = {}
    for rule, name in names.items():
        first, second = by_published[name], by_runtimes[name]
        if first == "implied" or second == "implied":
            answers[rule] = "published" if first == "implied" else "runtimes"
        else:
            answers[rule] = "neither" if second == "not implied" else "unknown"
    return answers


def operators_of(text):
    return set(re.findall(r"([a-z_0-9]+)\(", text.split("\n", 1)[1]))


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    texts, times, models = collected([pathlib.Path(name) for name in sys.argv[3:]])
    answers = judged(texts, pathlib.Path(sys.argv[1]))
    table = tomllib.loads((ROOT / "data" / "imports" / "taso.toml").read_text())
    theirs = {each["operator"] for each in table["operators"]}
    rows = []
    for rule, count in times.most_common():
        rows.append({"rule": rule, "text": texts[rule], "times": count, "models": sorted(models[rule]), "answer": answers[rule],
                     "of_tasos_operators": operators_of(texts[rule]) <= theirs})
    pathlib.Path(sys.argv[2]).write_text(json.dumps(rows, indent=1) + "\n")
    print("| rule | times | models | follows from published rules | of TASO's operators alone |\n|---|---|---|---|---|")
    words = {"published": "yes", "runtimes": "with runtimes' fusions", "neither": "no", "unknown": "not decided"}
    for row in rows:
        lines = [line.strip() for line in row["text"].strip().split("\n")[1:]]
        print(f"| `{' '.join(lines)}` | {row['times']} | {len(row['models'])} | {words[row['answer']]} | {'yes' if row['of_tasos_operators'] else ''} |")
    count = lambda answer, alone: sum(row["answer"] == answer and row["of_tasos_operators"] == alone for row in rows)
    print(f"\n{len(rows)} rules fired: of TASO's operators alone " + ", ".join(f"{count(a, True)} {words[a]}" for a in words) +
          "; of other operators " + ", ".join(f"{count(a, False)} {words[a]}" for a in words))


if __name__ == "__main__":
    main()
