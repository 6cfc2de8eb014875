#!/usr/bin/env python3
"""Compares the searches: `searches.py FOLDER OUT.json [--searches NAME…] [--models NAME…]`.

Searches each FOLDER/NAME.onnx by saturation with greedy extraction, by saturation with exact extraction (ILP) for e-graphs of up
to 300 nodes, by backtracking, and by saturation with ten times the limits. Nothing is benchmarked or written. The cost is the
analytic cost of the cheapest graph as a share of the model's. Seconds are processor time of the whole command, so that a busy
machine hardly changes them; `limits` are the saturations that ended at a limit, on nodes, iterations and matches, of all. Prints a
table and adds to the JSON, in which a model that has a search already is not searched again. RULEMILL names the binary.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import tempfile

import measure

SEARCHES = {"greedy": [], "exact": ["--ilp-max-nodes", "300"], "backtracking": ["--search", "backtrack"],
            "ten times": ["--effort", "10"]}


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
    cost, searched = read["cost_seconds"], read["search"]
    return {"cost": cost["cheapest_found"] / cost["before"], "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "search_seconds": searched["seconds"], "extracted": searched["extracted"], "exactly": searched["extracted_exactly"],
            "limits": searched["limits_reached"]}


def cells(kind, found):
    text = f"{found['cost']:.4f} | {found['seconds']:.1f}"
    if kind == "exact":
        return f"{text} | {found['exactly']} of {found['extracted']}"
    if kind == "backtracking":
        return text
    return f"{text} | {', '.join(str(found['limits'][limit]) for limit in ('nodes', 'iterations', 'matches'))} of {found['extracted']}"


def header(kind):
    return f"{kind}: cost | s" + {"exact": " | exactly", "backtracking": ""}.get(kind, " | limits")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--searches", nargs="+", choices=SEARCHES, default=["greedy", "exact", "backtracking"])
    parser.add_argument("--models", nargs="+")
    given = parser.parse_args()
    results = json.loads(given.out.read_text()) if given.out.exists() else {}
    columns = " | ".join(header(kind) for kind in given.searches)
    print(f"| model | {columns} |\n|{'---|' * (columns.count('|') + 2)}", flush=True)
    for name in given.models or sorted(path.stem for path in given.folder.glob("*.onnx")):
        found = results.setdefault(name, {})
        try:
            for kind in given.searches:
                if kind not in found:
                    found[kind] = search(given.folder / f"{name}.onnx", SEARCHES[kind])
                    given.out.write_text(json.dumps(results, indent=1) + "\n")
        except RuntimeError as error:  # one model must not end the others
            print(f"| {name} | failed: {error} |", flush=True)
            continue
        print(f"| {name} | {' | '.join(cells(kind, found[kind]) for kind in given.searches)} |", flush=True)


if __name__ == "__main__":
    main()
