#!/usr/bin/env python3
"""Checks the vocabulary: prints each use of a banned word as file:line, with a replacement; exits 1.

Whole words, in tracked sources and documents. A line that must keep a word ends with a comment `wording: allow`."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = {".cc", ".h", ".cu", ".py", ".sh", ".sbatch", ".md", ".txt", ".cmake", ".op", ".toml", ".rules",
            ".properties", ".proto", ".html", ".js"}
EXEMPT = {"tests/wording_test.py"}

# Pattern of whole words: what to say instead.
INSTEAD = {
    r"crews?|teams?|workbench(es)?": "scheduler, pool, context",
    r"(stays?|kept|held|set|put|taken) apart": "inactive, separate",
    r"gifts?|naps?|napping": "transfer, poll",
    r"telling": "boundary",
    r"patience|patient(ly)?": "timeout, limit",
    r"courts?|judges?|judged|judging|judgements?": "differential test, verifier, verified",
    r"rooms?|doors?|houses?": "subfolder, only includer, source rules",
    r"ow(e|es|ed|ing)|dut(y|ies)|objections?": "obligation, check error",
    r"whoever|nobody": "name the actor, or use the passive",
    r"(is|are|was|be) (asked|told)|hears?|heard": "is called, receives, reports",
    r"sayable|unsayable|(is|are|be|been) said": "exportable, is encoded, is stated",
    r"anew|for ever|likewise|whereof|thereof": "again, forever, also",
    r"some (hundreds?|thousands?|tens?)|thousand million": "about 100, billion",
    r"turned round|dealt out|lies? aside|put aside|lay aside": "reversed, distributed, is kept",
}
STARTS = re.compile(r"(?:^|[.!?] )\W*(What is|Who is|Of what|What it is|Whether what)\b")
PATTERN = re.compile(r"\b(?:" + "|".join(f"(?P<w{number}>{words})" for number, words in enumerate(INSTEAD)) + r")\b", re.I)
ADVICE = list(INSTEAD.values())


def violations(text):
    """Yields (line number, found words, advice) for each use in a text."""
    for number, line in enumerate(text.splitlines(), 1):
        if "wording: allow" in line:
            continue
        for match in PATTERN.finditer(line):
            yield number, match.group(0), ADVICE[int(match.lastgroup[1:])]
        match = STARTS.search(line)
        if match:
            yield number, match.group(1), "name the thing"


def main():
    assert [found for _, found, _ in violations("The crew naps.\nFine. What is kept\n")] == ["crew", "naps", "What is"]
    list_files = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(list_files, cwd=ROOT, capture_output=True, check=True)
    count = 0
    for name in sorted(files.stdout.decode().split("\0")):
        path = ROOT / name
        if path.suffix not in SUFFIXES or name in EXEMPT or not path.is_file() or name.startswith("tests/corpus/"):
            continue
        for number, found, advice in violations(path.read_text(encoding="utf-8", errors="replace")):
            print(f"{name}:{number}: '{found}': say {advice}")
            count += 1
    print(f"wording: {count} words to replace")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
