#!/usr/bin/env python3
"""Compares the searches: `searches.py FOLDER OUT.json [NAME…]`.

Searches each FOLDER/NAME.onnx by saturation with greedy extraction, by saturation with exact extraction (ILP) for e-graphs of up
to 300 nodes, and by backtracking. Nothing is benchmarked or written. The cost is the analytic cost of the cheapest graph as a
share of the model's. Seconds are processor time of the whole command, so that a busy machine hardly changes them. Prints a
table and adds to the JSON. RULEMILL names the binary.
"""

import json
import pathlib
import resource
import subprocess
import sys
import tempfile

import measure

SEARCHES = {"greedy": [], "exact": ["--ilp-max-nodes", "300"], "backtracking": ["--search", "backtrack"]}


def search(model, options):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.run([measure.BINARY, "optimize", str(model), "--no-benchmark", "--min-gain", "0.999", "--time-limit", "900",
                                  "--verifier", "definitions", "--verify-inputs", "1", "--json", str(report), *options],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if process.returncode != 0:  # a process ended by a signal prints nothing
            raise RuntimeError(process.stderr.strip() or f"it ended with {process.returncode}")
        read = json.loads(report.read_text())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = read["cost_seconds"]
    return {"cost": cost["cheapest_found"] / cost["before"], "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "extracted": read["search"]["extracted"], "exactly": read["search"]["extracted_exactly"]}


def row(name, found):
    exact = found["exact"]
    shown = " | ".join(f"{found[search]['cost']:.4f} | {found[search]['seconds']:.1f}" for search in SEARCHES)
    return f"| {name} | {shown} | {exact['exactly']} of {exact['extracted']} |"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    results = json.loads(out.read_text()) if out.exists() else {}
    print("| model | greedy: cost | s | exact: cost | s | backtracking: cost | s | extracted exactly |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name in sys.argv[3:] or sorted(path.stem for path in folder.glob("*.onnx")):
        try:
            results[name] = {kind: search(folder / f"{name}.onnx", options) for kind, options in SEARCHES.items()}
        except RuntimeError as error:  # one model must not end the others
            print(f"| {name} | failed: {error} |", flush=True)
            continue
        print(row(name, results[name]), flush=True)
        out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
