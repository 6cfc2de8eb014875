#!/usr/bin/env python3
"""Cost of an incremental run, with an operator or a level more than the previous run in the folder, compared with the same run from
scratch. Processor time of the run and its worker processes; the results must be byte-identical.

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
        """Returns the report and the processor seconds."""
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
    return report.get("task_statistics", {}).get("prove", {}).get("proofs", 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "release" / "rulemill")
    parser.add_argument("--profile", type=pathlib.Path, default=ROOT / "data" / "profiles" / "reference.toml")
    parser.add_argument("--max-ops", type=int, default=3)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("added", nargs="+", help="operators that the previous run lacks, or `level`")
    options = parser.parse_args()
    text = options.profile.read_text(encoding="utf-8")
    print("added        of the nodes  rows reused             proofs  from scratch  incremental  ratio  identical")
    for added in options.added:
        full, incremental = [], []
        for _ in range(options.runs):
            with tempfile.TemporaryDirectory(prefix="rulemill-incremental-") as folder:
                runs = Runs(options.binary, folder)
                scratch, seconds = runs.discover(text, options.max_ops, "scratch")
                full.append(seconds)
                if added == "level":
                    before, _ = runs.discover(text, options.max_ops - 1, "out")
                else:
                    before, _ = runs.discover(without(text, added), options.max_ops, "out")
                report, seconds = runs.discover(text, options.max_ops, "out")
                incremental.append(seconds)
                same = runs.results("scratch") == runs.results("out")
        reused = f"{report.get('rows_reused', 0):,} of {report['levels'][-1]['orbits']:,}"
        share = 1 - nodes(before) / nodes(report)
        print(f"{added:12} {share:12.1%}  {reused:>18}  {proofs(report):5} of {proofs(scratch):5}  {statistics.median(full):10.2f} s"
              f"  {statistics.median(incremental):5.2f} s  {statistics.median(incremental) / statistics.median(full):5.0%}  {'yes' if same else 'NO'}",
              flush=True)
        if not same:
            sys.exit(1)


if __name__ == "__main__":
    main()
