#!/usr/bin/env python3
"""Compares estimated costs with onnxruntime's profile: `cost_errors.py MODEL.onnx… [--rounds N] [--before BINARY] [--rows]`.

For each model and ONNX operator: the cost of all its nodes by the analytic model, and their time in onnxruntime's profile with one
thread. Both are of the model as `optimize` writes it without a rule, so that their nodes are the same. Products are compared with
the profile of the model as the runtime runs it, in blocked layouts and with activations fused into them; other operators with a
profile without graph optimizations, in which they are nodes. A node's time is the least of its runs. Prints median and 90th percentile
of the factor between both, and the rank correlation of whole models. `--before` adds the same of another binary, `--rows` prints
every factor. Operators that take less than 1% of a model are left out. RULEMILL names the binary.
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
# The rows of products by the operator's name in the runtime, which makes Gemm of MatMul and Add.
PRODUCTS = {"Conv": "Conv", "FusedConv": "Conv",
            **dict.fromkeys(["MatMul", "FusedMatMul", "Gemm", "FusedGemm"], "MatMul, Gemm")}
EXPANDED = {"HardSwish": ("HardSigmoid", "Mul")}  # functions of ONNX that the runtime expands; one row with their operators
MIN_SHARE = 0.01
NO_RULES = "rule twice(x:1)\n  relu(relu(x)) => relu(x)\n"


def estimates(model, binary, written):
    """Writes the model as it is without a rule, and returns its seconds by operator."""
    with tempfile.TemporaryDirectory() as folder:
        report, rules, database = (pathlib.Path(folder) / name for name in ("report.json", "none.rules", "none"))
        rules.write_text(NO_RULES)
        run([binary, "rules", "import", rules, "--out", database])
        run([binary, "optimize", model, "--rules", database, "--no-benchmark", "--min-gain", "0", "--verifier", "definitions",
             "--verify-inputs", "1", "--json", report, "--out", written, "--quiet"])
        return {row["name"]: row["before"]["seconds"] for row in json.loads(report.read_text())["operators"]}


def run(command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def profile(model, rounds, level):
    """Returns seconds by operator: for each node the least of its runs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = level
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
        seconds[operator] += min(each)
    return seconds


def measured(model, rounds):
    """Returns the seconds of the whole model as it runs, and those of its operators."""
    levels = onnxruntime.GraphOptimizationLevel
    as_run = profile(model, rounds, levels.ORT_ENABLE_ALL)
    others = profile(model, rounds, levels.ORT_DISABLE_ALL)
    return sum(as_run.values()), {**{operator: each for operator, each in others.items() if operator not in PRODUCTS},
                                  **{operator: each for operator, each in as_run.items() if operator in PRODUCTS}}


def rows(seconds, functions):
    """Returns the seconds by row: one for each kind of product, and for each function with the operators that it expands to."""
    names = {**PRODUCTS, **{part: function for function in functions for part in EXPANDED[function]}}
    result = collections.Counter()
    for operator, each in seconds.items():
        result[names.get(operator, operator)] += each
    return result


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
    parser.add_argument("--rows", action="store_true")
    arguments = parser.parse_args()
    binaries = {"now": BINARY, **({"before": arguments.before} if arguments.before else {})}
    factors = collections.defaultdict(list)
    totals = collections.defaultdict(list)
    for model in arguments.models:
        with tempfile.TemporaryDirectory() as folder:
            written = pathlib.Path(folder) / "written.onnx"
            estimated = {label: estimates(model, binary, written) for label, binary in reversed(binaries.items())}
            whole, times = measured(written, arguments.rounds)
        totals["profile"].append(whole)
        for label, costs in estimated.items():
            totals[label].append(sum(costs.values()))
            functions = EXPANDED.keys() & costs.keys()
            costs = rows(costs, functions)
            for operator, seconds in rows(times, functions).items():
                if seconds < MIN_SHARE * whole or not costs.get(operator):
                    continue
                kind = "products" if operator in PRODUCTS.values() else "others"
                factors[label, kind].append((costs[operator] / seconds, model.stem, operator))
                if arguments.rows:
                    print(f"{label:8} {model.stem:32} {operator:24} {seconds * 1e3:9.3f} ms {costs[operator] / seconds:6.2f}")
    print("| costs | operators | rows | median error | within a factor of 2 | 90th percentile of the factor |\n|---|---|---|---|---|---|")
    for (label, kind), found in sorted(factors.items()):
        off = sorted(max(factor, 1 / factor) for factor, _, _ in found)
        error = statistics.median(abs(factor - 1) for factor, _, _ in found)
        within = sum(factor <= 2 for factor in off) / len(off)
        print(f"| {label} | {kind} | {len(found)} | {error:.0%} | {within:.0%} | {off[int(0.9 * (len(off) - 1))]:.2f} |")
    for label in binaries:
        print(f"rank correlation of whole models, {label}: {correlation(totals[label], totals['profile']):.2f}")
    worst = sorted(factors["now", "others"] + factors["now", "products"], key=lambda row: -max(row[0], 1 / row[0]))[:8]
    print("largest differences now: " + ", ".join(f"{o} in {m} {f:.2f}" for f, m, o in worst))


if __name__ == "__main__":
    main()
