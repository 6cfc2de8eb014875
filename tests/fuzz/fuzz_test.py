#!/usr/bin/env python3
"""Fuzzes every parser for a few seconds: `fuzz_test.py [--runs N] [--seed S] [--jobs N] [PARSER...]`. First it tests the driver,
which must find all planted failures."""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUZZ = os.environ.get("FUZZ") or str(ROOT / "build" / "release" / "fuzz")
# For each planted failure, messages of which the driver must print one. An address sanitizer reports the allocation.
PLANTED = [{"signal 11"}, {"more than 1 s"}, {"exception: map::at"}, {"does not name its file"},
           {"exception: std::bad_alloc", "a sanitizer's report"}]


def fuzz(*arguments, **environment):
    return subprocess.run([FUZZ, *arguments], capture_output=True, text=True, cwd=ROOT, check=False,
                          env=os.environ | environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parsers", nargs="*")
    parser.add_argument("--runs", default="600")
    parser.add_argument("--seconds", default="2")
    parser.add_argument("--timeout", default="10")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--jobs", type=int, default=1, help="parsers side by side")
    parser.add_argument("--keep", default=tempfile.mkdtemp(prefix="rulemill-fuzz-"))
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error("--jobs: expected at least 1")
    keep = ["--keep", arguments.keep]
    planted = fuzz("planted", "--runs", "130", "--timeout", "1", "--seconds", "60", *keep, ASAN_OPTIONS="handle_segv=0")
    missed = [messages for messages in PLANTED if not any(message in planted.stdout for message in messages)]
    if missed or planted.returncode != 1:
        print(f"planted failures that were not found: {missed}\n{planted.stdout}{planted.stderr}")
        return 1
    limits = ["--runs", arguments.runs, "--seconds", arguments.seconds, "--timeout", arguments.timeout, "--seed", arguments.seed]
    failed = False
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as executor:
        names = arguments.parsers or [p for p in fuzz().stdout.split() if p != "planted"]
        for process in executor.map(lambda name: fuzz(name, *limits, *keep), names):
            print(process.stdout + process.stderr, end="", flush=True)
            failed = failed or process.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
