#!/usr/bin/env python3
"""`rulemill equal` on pairs of models: none that differs is called equal, none that is equal is called different, and most of the equal are shown.
equal_pairs_test.py [--different N] [--equal N] [--seed S] [--rules DATABASE] [--keep FOLDER] [--out FILE]; with --out, writes the counts."""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from binary import ROOT, rulemill

try:
    import onnx

    import equal_pairs
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

TIMEOUT = 300  # seconds of a comparison, on a busy machine
MIN_SHOWN = 0.95


class Campaign:
    def __init__(self, rules, folder, keep):
        self.rules, self.folder, self.keep = rules, folder, keep
        self.verdicts, self.by_change, self.failures, self.seconds = collections.Counter(), collections.defaultdict(collections.Counter), [], 0.0

    def verdict(self, number, pair):
        before, after, report = (self.folder / f"{number}-{name}" for name in ("before.onnx", "after.onnx", "report.json"))
        onnx.save(pair.before, before)
        onnx.save(pair.after, after)
        start = time.monotonic()
        try:
            process = rulemill("equal", before, after, *(["--rules", self.rules] if self.rules else []), "--json", report, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return "timeout", ""
        self.seconds += time.monotonic() - start
        if process.returncode not in (0, 1):
            return f"exit code {process.returncode}", process.stderr.strip()
        return json.loads(report.read_text(encoding="utf-8"))["verdict"], process.stdout

    def run(self, pairs, is_equal):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for number, (pair, answer) in enumerate(map_lazily(pool, self.verdict, pairs)):
                verdict, text = answer
                self.verdicts[is_equal, verdict] += 1
                change = pair.change.split(":")[0] if is_equal and pair.operator != "equation" else pair.operator if is_equal else pair.change
                self.by_change[is_equal, change][verdict] += 1
                is_wrong = verdict not in ({"equal", "not shown", "timeout"} if is_equal else {"different", "not shown", "timeout"})
                if is_wrong:
                    self.failures.append(number)
                    print(f"{'equal' if is_equal else 'different'} pair {number}, called {verdict}: {pair.operator}, {pair.change}\n{text}",
                          flush=True)
                if self.keep and (is_wrong or (is_equal and verdict != "equal")):
                    name = f"{'equal' if is_equal else 'different'}-{number}"
                    onnx.save(pair.before, self.keep / f"{name}-before.onnx")
                    onnx.save(pair.after, self.keep / f"{name}-after.onnx")
                    print(f"{name}: {verdict}: {pair.operator}, {pair.change}", flush=True)


def map_lazily(pool, action, items):
    """Yields each item with its result, in order."""
    open_items = collections.deque()
    for number, item in enumerate(items):
        open_items.append((item, pool.submit(action, number, item)))
        if len(open_items) > 8:
            item, future = open_items.popleft()
            yield item, future.result()
    for item, future in open_items:
        yield item, future.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--different", type=int, default=40)
    parser.add_argument("--equal", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rules", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for pairs that are called wrongly or not shown")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rulemill-pairs-") as scratch:
        campaign = Campaign(arguments.rules, pathlib.Path(scratch), arguments.keep)
        campaign.run(equal_pairs.different_pairs(arguments.seed, arguments.different), is_equal=False)
        campaign.run(equal_pairs.equal_pairs(arguments.seed, arguments.equal), is_equal=True)
    shown = campaign.verdicts[True, "equal"] / max(1, arguments.equal)
    counts = {("equal" if is_equal else "different"): {verdict: count for (kind, verdict),
                                                       count in sorted(campaign.verdicts.items()) if kind == is_equal}
              for is_equal in (False, True)}
    print(f"pairs of seed {arguments.seed}: {counts}; {shown:.1%} of the equal shown; {campaign.seconds:.0f} s of comparisons")
    if arguments.out:
        changes = {f"{'equal' if is_equal else 'different'}: {change}": dict(verdicts) for (is_equal, change),
                   verdicts in sorted(campaign.by_change.items())}
        arguments.out.write_text(json.dumps({"seed": arguments.seed, "verdicts": counts, "changes": changes}, indent=1) + "\n", encoding="utf-8")
    return 1 if campaign.failures or shown < MIN_SHOWN else 0


if __name__ == "__main__":
    sys.exit(main())
