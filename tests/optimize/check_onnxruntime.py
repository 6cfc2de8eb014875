#!/usr/bin/env python3
"""Runs a model before and after optimization in onnxruntime: equal outputs within a tolerance, and times.

  check_onnxruntime.py BEFORE.onnx AFTER.onnx [--input-shape NAME:1x3x8x8 ...] [--min-speedup 1.0]

Times are medians of runs that alternate between the two models, one thread, all of onnxruntime's own optimizations on.
Exit code 0 if the outputs agree, the interfaces are the same, and the speed-up is at least --min-speedup; 1 otherwise;
77 (skipped) if onnxruntime is not installed.
"""

import argparse
import json
import statistics
import sys
import time

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

INTEGERS = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}  # 0 and 1 are tokens, and bits of masks


def interface(path):
    """Names, types and shapes of inputs and outputs, and what else must survive."""
    model = onnx.load(path)
    weights = {tensor.name for tensor in model.graph.initializer}
    describe = lambda infos: [(i.name, i.type.SerializeToString()) for i in infos if i.name not in weights]
    return {
        "inputs": describe(model.graph.input),
        "outputs": describe(model.graph.output),
        "opsets": sorted((o.domain, o.version) for o in model.opset_import),
        "metadata": sorted((p.key, p.value) for p in model.metadata_props if not p.key.startswith("rulemill.")),
        "doc": (model.doc_string, model.graph.doc_string),
    }


def session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def random_inputs(runner, shapes, seed, default):
    generator = np.random.default_rng(seed)
    feeds = {}
    for info in runner.get_inputs():
        shape = shapes.get(info.name) or [d if isinstance(d, int) and d > 0 else default for d in info.shape]
        if info.type in INTEGERS:
            feeds[info.name] = generator.integers(0, 2, shape).astype(INTEGERS[info.type])
        elif info.type == "tensor(float)":
            feeds[info.name] = generator.standard_normal(shape).astype(np.float32)
        else:
            sys.exit(f"input {info.name} is {info.type}: only float32 and integers can be made up here")
    return feeds


def largest_difference(before, after):
    """Relative to the largest absolute value of each output."""
    worst = 0.0
    for a, b in zip(before, after, strict=True):
        if a.shape != b.shape or not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return float("inf")
        scale = max(float(np.max(np.abs(a), initial=0.0)), 1e-30)
        worst = max(worst, float(np.max(np.abs(a.astype(np.float64) - b), initial=0.0)) / scale)
    return worst


def interleaved_medians(runners, feeds, seconds, least=15):
    """Median milliseconds of each runner; one run of each in turns."""
    times = [[] for _ in runners]
    for runner in runners:
        for _ in range(3):
            runner.run(None, feeds)
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds or len(times[0]) < least:
        for runner, taken in zip(runners, times):
            start = time.perf_counter()
            runner.run(None, feeds)
            taken.append((time.perf_counter() - start) * 1e3)
    return [statistics.median(taken) for taken in times], len(times[0])


def parse_shape(text):
    name, _, dims = text.rpartition(":")
    return name, [int(d) for d in dims.replace(",", "x").split("x")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--input-shape", type=parse_shape, action="append", default=[])
    parser.add_argument("--default-size", type=int, default=64, help="for dimensions that have a name alone")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="relative to an output's largest value")
    parser.add_argument("--min-speedup", type=float, default=0.0)
    parser.add_argument("--seconds", type=float, default=2.0, help="of timing")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", help="write the numbers here")
    options = parser.parse_args()

    failures = []
    if interface(options.before) != interface(options.after):
        failures.append("inputs, outputs, opsets, metadata or documentation changed")
    runners = [session(path, options.threads) for path in (options.before, options.after)]
    worst = 0.0
    for seed in range(3):
        feeds = random_inputs(runners[0], dict(options.input_shape), seed, options.default_size + seed)
        worst = max(worst, largest_difference(*(runner.run(None, feeds) for runner in runners)))
    if not worst <= options.tolerance:
        failures.append(f"outputs differ by {worst:.3g} of the largest value (allowed {options.tolerance:g})")
    feeds = random_inputs(runners[0], dict(options.input_shape), 0, options.default_size)
    (before, after), runs = interleaved_medians(runners, feeds, options.seconds)
    speedup = before / after
    if speedup < options.min_speedup:
        failures.append(f"speed-up {speedup:.2f}, expected at least {options.min_speedup:.2f}")
    print(
        f"onnxruntime {onnxruntime.__version__}, {options.threads} thread(s), medians of {runs} interleaved runs: "
        f"before {before:.3f} ms, after {after:.3f} ms, {speedup:.2f} times as fast; "
        f"largest difference {worst:.2e} of the largest value"
    )
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"before_ms": before, "after_ms": after, "speedup": speedup, "runs": runs, "worst": worst}, file)
    for failure in failures:
        print(f"FAILED: {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
