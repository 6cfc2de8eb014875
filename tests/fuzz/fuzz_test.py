#!/usr/bin/env python3
"""Every parser on mutated inputs for a few seconds: `fuzz_test.py [--runs N] [--seed S] [PARSER...]`. First the driver
itself, which has to find what is planted."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUZZ = os.environ.get("FUZZ") or str(ROOT / "build" / "release" / "fuzz")
# What the driver must say of each; an address sanitizer reports an allocation that nothing can hold itself.
PLANTED = [{"signal 11"}, {"more than 1 s"}, {"exception: map::at"}, {"does not name its file"},
           {"exception: std::bad_alloc", "a sanitizer's report"}]


def fuzz(*arguments, **environment):
    return subprocess.run([FUZZ, *arguments], capture_output=True, text=True, cwd=ROOT, check=False,
                          env=os.environ | environment)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("parsers", nargs="*")
    arguments.add_argument("--runs", default="600")
    arguments.add_argument("--seconds", default="2")
    arguments.add_argument("--patience", default="10")
    arguments.add_argument("--seed", default="0")
    arguments.add_argument("--keep", default=tempfile.mkdtemp(prefix="rulemill-fuzz-"))
    given = arguments.parse_args()
    keep = ["--keep", given.keep]
    planted = fuzz("planted", "--runs", "130", "--patience", "1", "--seconds", "60", *keep, ASAN_OPTIONS="handle_segv=0")
    missed = [ways for ways in PLANTED if not any(way in planted.stdout for way in ways)]
    if missed or planted.returncode != 1:
        print(f"planted and not found: {missed}\n{planted.stdout}{planted.stderr}")
        return 1
    failed = False
    for parser in given.parsers or [p for p in fuzz().stdout.split() if p != "planted"]:
        found = fuzz(parser, "--runs", given.runs, "--seconds", given.seconds, "--patience", given.patience, "--seed",
                     given.seed, *keep)
        print(found.stdout + found.stderr, end="", flush=True)
        failed = failed or found.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
