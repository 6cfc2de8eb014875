#!/usr/bin/env python3
"""Times two ONNX models against each other in onnxruntime and compares their outputs.

    build/venv/bin/python bench/compare_models.py BEFORE.onnx AFTER.onnx [--runs 200] [--threads 0]

Runs are interleaved, so that both meet the same state of the machine; medians and quartiles are printed. The first line
says how far the outputs differ, relative to the largest value of each output.
"""

import argparse
import statistics
import sys
import time

import numpy
import onnxruntime


def session(path, threads, optimizations):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        if optimizations
        else onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def random_inputs(model, seed):
    """By input name; open dimensions get a small number."""
    generator = numpy.random.default_rng(seed)
    inputs = {}
    for value in model.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 4 for d in value.shape]
        inputs[value.name] = generator.standard_normal(shape).astype(numpy.float32)
    return inputs


def worst_difference(before, after, seeds):
    """Relative to the largest absolute value of the output; also checks names, order and shapes."""
    names = [value.name for value in before.get_outputs()]
    if names != [value.name for value in after.get_outputs()]:
        sys.exit("the models have different outputs")
    worst = 0.0
    for seed in range(seeds):
        inputs = random_inputs(before, seed)
        for x, y in zip(before.run(names, inputs), after.run(names, inputs)):
            if x.shape != y.shape:
                sys.exit(f"shapes differ: {x.shape} and {y.shape}")
            scale = max(float(numpy.abs(x).max()), 1e-30)
            worst = max(worst, float(numpy.abs(x - y).max()) / scale)
    return worst


def milliseconds(model, inputs):
    start = time.perf_counter()
    model.run(None, inputs)
    return 1000 * (time.perf_counter() - start)


def measure(before, after, runs):
    inputs = random_inputs(before, 1)
    times = ([], [])
    for run in range(runs + 10):
        for which, model in enumerate((before, after)):
            spent = milliseconds(model, inputs)
            if run >= 10:  # the first runs warm up
                times[which].append(spent)
    return times


def describe(name, times):
    low, median, high = statistics.quantiles(times, n=4)
    print(f"{name:8} median {median:8.3f} ms, quartiles {low:.3f} to {high:.3f}")
    return median


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--threads", type=int, default=0, help="0: onnxruntime's choice")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--no-optimizations", action="store_true", help="switch onnxruntime's own graph optimizations off")
    arguments = parser.parse_args()
    before = session(arguments.before, arguments.threads, not arguments.no_optimizations)
    after = session(arguments.after, arguments.threads, not arguments.no_optimizations)
    print(f"largest relative difference {worst_difference(before, after, arguments.seeds):.2e}")
    times = measure(before, after, arguments.runs)
    ratio = describe("before", times[0]) / describe("after", times[1])
    print(f"after is {ratio:.2f} times as fast")


if __name__ == "__main__":
    main()
