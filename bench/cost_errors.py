#!/usr/bin/env python3
"""Compares estimated costs with onnxruntime's profile: `cost_errors.py MODEL.onnx… [--rounds N] [--before BINARY]`.

For each model and ONNX operator: the cost of all its nodes by the analytic model, and their time in onnxruntime's profile with
one thread and without graph optimizations, so that its nodes are those of the model. Prints median and 90th percentile of the factor
between both, for products and for other operators, and the rank correlation of whole models. `--before` adds the same of another
binary. Operators that take less than 1% of a model are left out. RULEMILL names the binary.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ.get("RULEMILL", str(ROOT / "build" / "release" / "rulemill"))
PRODUCTS = {"Conv", "Gemm", "MatMul"}
MIN_SHARE = 0.01


def estimates(model, binary):
    """Returns seconds by operator."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "result.json"
        rules = pathlib.Path(folder) / "none.rules"
        rules.write_text("rule twice(x:1)\n  relu(relu(x)) => relu(x)\n")
        database = pathlib.Path(folder) / "none"
        run([binary, "rules", "import", rules, "--out", database])
        run([binary, "optimize", model, "--rules", database, "--no-benchmark", "--verifier", "definitions", "--json", path, "--quiet"])
        return {row["name"]: row["before"]["seconds"] for row in json.loads(path.read_text())["operators"]}


def run(command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def profile(model, rounds):
    """Returns seconds by operator: for each node the median of its runs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as folder:
        options.enable_profiling, options.profile_file_prefix = True, str(pathlib.Path(folder) / "profile")
        runner = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        generator = np.random.default_rng(0)
        feeds = {}
        for info in runner.get_inputs():
            shape = [size if isinstance(size, int) else 64 for size in info.shape]
            is_float = info.type == "tensor(float)"
            feeds[info.name] = (generator.standard_normal(shape).astype(np.float32) if is_float
                                else np.ones(shape, np.int64 if "int64" in info.type else np.int32))
        for _ in range(rounds):
            runner.run(None, feeds)
        events = json.loads(pathlib.Path(runner.end_profiling()).read_text())
    times = collections.defaultdict(list)
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            times[event["args"]["op_name"], event["name"]].append(event["dur"] * 1e-6)
    seconds = collections.Counter()
    for (operator, _), each in times.items():
        seconds[operator] += statistics.median(each)
    return seconds


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(i) for i in range(len(values))]


def correlation(first, second):
    return float(np.corrcoef(ranks(first), ranks(second))[0, 1]) if len(first) > 2 else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--before")
    arguments = parser.parse_args()
    binaries = {"now": BINARY, **({"before": arguments.before} if arguments.before else {})}
    factors = collections.defaultdict(list)
    totals = collections.defaultdict(list)
    for model in arguments.models:
        measured = profile(model, arguments.rounds)
        whole = sum(measured.values())
        totals["profile"].append(whole)
        for label, binary in binaries.items():
            estimated = estimates(model, binary)
            totals[label].append(sum(estimated.values()))
            for operator, seconds in measured.items():
                if seconds < MIN_SHARE * whole or not estimated.get(operator):
                    continue
                kind = "products" if operator in PRODUCTS else "others"
                factors[label, kind].append((estimated[operator] / seconds, model.stem, operator))
    print("| costs | operators | rows | median error | within a factor of 2 | 90th percentile of the factor |\n|---|---|---|---|---|---|")
    for (label, kind), rows in sorted(factors.items()):
        off = sorted(max(factor, 1 / factor) for factor, _, _ in rows)
        error = statistics.median(abs(factor - 1) for factor, _, _ in rows)
        within = sum(factor <= 2 for factor in off) / len(off)
        print(f"| {label} | {kind} | {len(rows)} | {error:.0%} | {within:.0%} | {off[int(0.9 * (len(off) - 1))]:.2f} |")
    for label in binaries:
        print(f"rank correlation of whole models, {label}: {correlation(totals[label], totals['profile']):.2f}")
    worst = sorted(factors["now", "others"], key=lambda row: -max(row[0], 1 / row[0]))[:8]
    print("largest differences now: " + ", ".join(f"{o} in {m} {f:.2f}" for f, m, o in worst))


if __name__ == "__main__":
    main()
