#!/usr/bin/env python3
"""Compares estimated costs with onnxruntime's profile: `cost_errors.py MODEL.onnx… [--rounds N] [--before BINARY] [--rows] [--out FILE]`.

For each model, the cost of its nodes by the analytic model and their time in onnxruntime's profile with one thread: by kind of
operator, as the runtime runs the model, in blocked layouts and with nodes fused (KINDS), and by ONNX operator, where other
operators than products are from a profile without graph optimizations, in which they are nodes. Both are of the model as `optimize`
writes it without a rule, so that the nodes are the same. A node's time is the least of its runs. Prints median and 90th percentile
of the factor between both, and the rank correlation of whole models. `--before` adds the same of another binary, `--rows` prints
every factor, `--out` writes them as JSON. What takes less than 1% of a model is left out. RULEMILL names the binary.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ.get("RULEMILL", str(ROOT / "build" / "release" / "rulemill"))
# The rows of products by the operator's name in the runtime, which makes Gemm of MatMul and Add.
PRODUCTS = {"Conv": "Conv", "FusedConv": "Conv",
            **dict.fromkeys(["MatMul", "FusedMatMul", "Gemm", "FusedGemm"], "MatMul, Gemm")}
EXPANDED = {"HardSwish": ("HardSigmoid", "Mul")}  # functions of ONNX that the runtime expands; one row with their operators
# Kinds of operators as the runtime runs them, with its own operators; all others are elementwise.
KINDS = {
    "products": ["Conv", "FusedConv", "MatMul", "FusedMatMul", "Gemm", "FusedGemm", "ConvTranspose", "Attention", "MultiHeadAttention",
                 "LSTM", "GRU", "RNN", "Einsum"],
    "normalizations": ["LayerNormalization", "SkipLayerNormalization", "SimplifiedLayerNormalization", "RMSNormalization",
                       "SkipSimplifiedLayerNormalization", "BatchNormalization", "InstanceNormalization", "GroupNormalization",
                       "LpNormalization", "Softmax", "LogSoftmax"],
    "movement": ["Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Concat", "Split", "Slice", "Gather", "GatherElements",
                 "GatherND", "ScatterND", "Pad", "Expand", "Tile", "DepthToSpace", "SpaceToDepth", "ReorderInput", "ReorderOutput"],
    "windows and reductions": ["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "ReduceMean", "ReduceSum", "ReduceMax",
                               "ReduceMin", "ReduceL2", "Resize", "Upsample", "CumSum", "TopK", "ArgMax"],
}
KIND_OF = {operator: kind for kind, operators in KINDS.items() for operator in operators}
MIN_SHARE = 0.01
NO_RULES = "rule twice(x:1)\n  relu(relu(x)) => relu(x)\n"


def estimates(model, binary, written):
    """Writes the model as it is without a rule, and returns its seconds by operator."""
    with tempfile.TemporaryDirectory() as folder:
        report, rules, database = (pathlib.Path(folder) / name for name in ("report.json", "none.rules", "none"))
        rules.write_text(NO_RULES)
        run([binary, "rules", "import", rules, "--out", database])
        run([binary, "optimize", model, "--rules", database, "--no-benchmark", "--min-gain", "0", "--verify-inputs", "1",
             "--json", report, "--out", written, "--quiet"])
        return {row["name"]: row["before"]["seconds"] for row in json.loads(report.read_text())["operators"]}


def run(command):
    """Results are compared in this interpreter's onnxruntime."""
    environment = {**os.environ, "RULEMILL_PYTHON": sys.executable}
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, env=environment)


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
    """Returns the seconds of operators as the model runs, and those of operators as nodes of their own."""
    levels = onnxruntime.GraphOptimizationLevel
    as_run = profile(model, rounds, levels.ORT_ENABLE_ALL)
    others = profile(model, rounds, levels.ORT_DISABLE_ALL)
    return as_run, {**{operator: each for operator, each in others.items() if operator not in PRODUCTS},
                    **{operator: each for operator, each in as_run.items() if operator in PRODUCTS}}


def kinds(seconds):
    result = collections.Counter()
    for operator, each in seconds.items():
        result[KIND_OF.get(operator, "elementwise")] += each
    return result


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


def summary(factors):
    """Returns the cells of one line of a table."""
    off = sorted(max(factor, 1 / factor) if factor > 0 else float("inf") for factor in factors)
    error = statistics.median(abs(factor - 1) for factor in factors)
    within = sum(factor <= 2 for factor in off) / len(off)
    return f"{len(factors)} | {error:.0%} | {within:.0%} | {off[int(0.9 * (len(off) - 1))]:.2f}"


def compare(model, binaries, rounds):
    """Returns the seconds of the whole model, by estimate and profile, and (label, table, row, seconds of the profile, factor)."""
    with tempfile.TemporaryDirectory() as folder:
        written = pathlib.Path(folder) / "written.onnx"
        estimated = {label: estimates(model, binary, written) for label, binary in reversed(binaries.items())}
        as_run, alone = measured(written, rounds)
    whole = sum(as_run.values())
    found = []
    for label, costs in estimated.items():
        functions = EXPANDED.keys() & costs.keys()
        tables = {"kinds": (kinds(costs), kinds(as_run)), "operators": (rows(costs, functions), rows(alone, functions))}
        for table, (costs_by_row, times) in tables.items():
            for row, seconds in times.items():
                if seconds >= MIN_SHARE * whole and row in costs_by_row:
                    found.append((label, table, row, seconds, costs_by_row[row] / seconds))
    return {"profile": whole, **{label: sum(costs.values()) for label, costs in estimated.items()}}, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--before")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    binaries = {"now": BINARY, **({"before": arguments.before} if arguments.before else {})}
    factors = collections.defaultdict(list)
    totals = collections.defaultdict(list)
    results = {}
    for model in arguments.models:
        try:
            whole, found = compare(model, binaries, arguments.rounds)
        except subprocess.CalledProcessError as error:  # it has said why; one model must not end the others
            print(f"{model.stem}: {error}", flush=True)
            continue
        for label, seconds in whole.items():
            totals[label].append(seconds)
        for label, table, row, seconds, factor in found:
            factors[label, table, row].append((factor, model.stem))
            if arguments.rows:
                print(f"{label:8} {model.stem:32} {table:10} {row:24} {seconds * 1e3:9.3f} ms {factor:6.2f}", flush=True)
        results[model.stem] = {"seconds": whole, "rows": found}
        if arguments.out:
            arguments.out.write_text(json.dumps(results, indent=1) + "\n")
    print(f"{len(results)} models\n\n| costs | kind | rows | median error | within a factor of 2 | 90th percentile of the factor |\n"
          "|---|---|---|---|---|---|")
    for label in binaries:
        for kind in [*KINDS, "elementwise"]:
            if found := [factor for factor, _ in factors[label, "kinds", kind]]:
                print(f"| {label} | {kind} | {summary(found)} |")
        for name, is_product in (("operators that are products", True), ("other operators", False)):
            found = [factor for (of, table, row), each in factors.items() for factor, _ in each
                     if (of, table) == (label, "operators") and (row in PRODUCTS.values()) == is_product]
            print(f"| {label} | {name} | {summary(found)} |")
        print(f"| {label} | whole models | {summary([e / m for e, m in zip(totals[label], totals['profile'])])} |")
    for label in binaries:
        print(f"rank correlation of whole models, {label}: {correlation(totals[label], totals['profile']):.2f}")
    worst = sorted(((max(factor, 1 / max(factor, 1e-3)), row, model, factor) for (label, table, row), each in factors.items()
                    if (label, table) == ("now", "operators") for factor, model in each), reverse=True)[:12]
    print("largest differences now: " + ", ".join(f"{row} in {model} {factor:.2f}" for _, row, model, factor in worst))


if __name__ == "__main__":
    main()
