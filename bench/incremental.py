#!/usr/bin/env python3
"""What a run costs that follows another one in its folder, beside the same run from scratch: an operator of the profile more, or a
level more. Processor time of the run and its helpers; the database must be the same, byte for byte.

    bench/incremental.py [--profile data/profiles/reference.toml] [--max-ops N] [--runs 1] OPERATOR... [level]"""

import argparse
import json
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ("candidates.rules", "outcomes.json", "rules.rmdb")


def without(text, operator):
    blocks = re.split(r"(?m)^(?=\[\[)", text)
    kept = [block for block in blocks if not (block.startswith("[[operators]]") and f'operator = "{operator}"' in block)]
    if len(kept) == len(blocks):
        sys.exit(f"the profile has no operator {operator}")
    return "".join(kept)


class Runs:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, pathlib.Path(folder)

    def discover(self, text, max_ops, out):
        """Its report, and its processor time."""
        profile, report = self.folder / "profile.toml", self.folder / "report.json"
        profile.write_text(text, encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([str(self.binary), "discover", "--profile", str(profile), "--max-ops", str(max_ops), "--out", str(self.folder / out),
                        "--progress", "off", "--json", str(report)], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return json.loads(report.read_text(encoding="utf-8")), seconds

    def results(self, out):
        return [(self.folder / out / name).read_bytes() for name in RESULTS]


def nodes(report):
    return sum(level["nodes"] for level in report["levels"])


def proofs(report):
    return report.get("crews", {}).get("prove", {}).get("proofs", 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "release" / "rulemill")
    parser.add_argument("--profile", type=pathlib.Path, default=ROOT / "data" / "profiles" / "reference.toml")
    parser.add_argument("--max-ops", type=int, default=3)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("more", nargs="+", help="operators that the run before lacks, or `level`")
    words = parser.parse_args()
    text = words.profile.read_text(encoding="utf-8")
    print("more         of the nodes  last level taken        proofs  from scratch  follows  of it  same bytes")
    for more in words.more:
        whole, follows = [], []
        for _ in range(words.runs):
            with tempfile.TemporaryDirectory(prefix="rulemill-incremental-") as folder:
                runs = Runs(words.binary, folder)
                scratch, seconds = runs.discover(text, words.max_ops, "scratch")
                whole.append(seconds)
                if more == "level":
                    before, _ = runs.discover(text, words.max_ops - 1, "out")
                else:
                    before, _ = runs.discover(without(text, more), words.max_ops, "out")
                report, seconds = runs.discover(text, words.max_ops, "out")
                follows.append(seconds)
                same = runs.results("scratch") == runs.results("out")
        taken = f"{report.get('taken', 0):,} of {report['levels'][-1]['orbits']:,}"
        share = 1 - nodes(before) / nodes(report)
        print(f"{more:12} {share:12.1%}  {taken:>18}  {proofs(report):5} of {proofs(scratch):5}  {statistics.median(whole):10.2f} s"
              f"  {statistics.median(follows):5.2f} s  {statistics.median(follows) / statistics.median(whole):5.0%}  {'yes' if same else 'NO'}",
              flush=True)
        if not same:
            sys.exit(1)


if __name__ == "__main__":
    main()
