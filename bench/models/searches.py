#!/usr/bin/env python3
"""Which search reaches what: `searches.py FOLDER OUT.json [NAME…]`.

Each FOLDER/NAME.onnx is searched by saturation with greedy extraction, by saturation whose e-graphs of up to 300 nodes are
extracted by integer programming, too, and by backtracking. Nothing is timed or written: the cost is the analytic one, of the
cheapest graph, as a share of the model's; seconds are the processor's for the whole command, which reads the model, searches and
writes nothing, so that a busy machine changes them little. Prints a table, adds to the JSON. RULEMILL names the binary.
"""

import json
import pathlib
import resource
import subprocess
import sys
import tempfile

import measure

SEARCHES = {"greedy": [], "exact": ["--exact", "300"], "backtracking": ["--search", "backtrack"]}


def searched(model, options):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.run([measure.BINARY, "optimize", str(model), "--no-timing", "--min-gain", "0.999", "--time-limit", "900",
                                  "--judge", "definitions", "--verify-seeds", "1", "--json", str(report), *options],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if process.returncode != 0:  # what a signal ends says nothing
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
            results[name] = {search: searched(folder / f"{name}.onnx", options) for search, options in SEARCHES.items()}
        except RuntimeError as error:  # one model must not end the others
            print(f"| {name} | failed: {error} |", flush=True)
            continue
        print(row(name, results[name]), flush=True)
        out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
