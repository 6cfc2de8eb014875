#!/usr/bin/env python3
"""Exports small expressions and their best known forms: `expressions.py FOLDER [NAME…]`; needs torch and onnxscript.

The 33 expressions are those of STENSO's evaluation (Tensor Program Superoptimization through Cost-Guided Symbolic Program Synthesis,
CGO 2026), restated in PyTorch with its sizes: 200 in each dimension, 1,000 if all inputs are vectors. Writes FOLDER/NAME.onnx, and
FOLDER/NAME.by_hand.onnx, the cheapest form that a person finds. `expressions.py FOLDER --measure [-- OPTION…]` then optimizes each
model with these options, runs the three forms in onnxruntime in turns (turns.py; one thread, processor time), and prints a table.
RULEMILL names the binary.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("RULEMILL", str(ROOT / "build" / "release" / "rulemill"))


def expressions():
    """Returns by name the ranks of the arguments, the function, and its form by hand."""
    import torch

    dot, exp, log, sqrt, stack = torch.matmul, torch.exp, torch.log, torch.sqrt, torch.stack
    total, diagonal = torch.sum, torch.diagonal

    def rows_mixed(a, x, y):
        return stack([x * row + (1 - row) * y for row in a], dim=0)

    def batched_rows(a, b):
        first, second, third = a.shape[0], a.shape[1], b.shape[1]
        return torch.reshape(torch.reshape(a, (first, second, 1, third)) @ b, (first, second, third))

    return {
        "github_1": ([2, 2], lambda a, b: diagonal(dot(a, b)) * 1, lambda a, b: total(a * b.T, 1)),
        "github_2": ([2], lambda a: torch.pow(a, 2), lambda a: a * a),
        "github_3": ([2, 2], lambda a, b: exp(log(a + b)), lambda a, b: a + b),
        "github_4": ([2, 2], lambda a, b: exp(log(a) - log(b)), lambda a, b: a / b),
        "github_5": ([2, 1], lambda a, x: total(a * x, 1), lambda a, x: total(a * x, 1)),
        "github_6": ([2, 1], lambda a, x: dot(a.T, x), lambda a, x: dot(x, a)),
        "github_7": ([2, 1], lambda a, x: total(a * x, 0), lambda a, x: total(a, 0) * x),
        "github_8": ([2, 1, 1], rows_mixed, lambda a, x, y: a * (x - y) + y),
        "github_9": ([1], lambda a: total(torch.pow(a, 2), -1), lambda a: dot(a, a)),
        "github_10": ([2, 2, 2], lambda a, b, c: a * b + c * b, lambda a, b, c: (a + c) * b),
        "github_11": ([1, 1], lambda a, b: total(a * b), lambda a, b: dot(a, b)),
        "github_12": ([0, 2, 2], lambda a, b, c: dot(a * b, c), lambda a, b, c: dot(b, c) * a),
        "github_13": ([3, 2], batched_rows, lambda a, b: dot(a, b)),
        "github_14": ([2], lambda a: torch.pow(a, -1), torch.reciprocal),
        "github_15": ([2], lambda a: a.T.T, torch.clone),
        "github_16": ([2, 1], lambda a, x: dot(dot(x, a), x), lambda a, x: dot(dot(x, a), x)),
        "github_17": ([2, 2], lambda a, b: torch.trace(dot(a, b.T)), lambda a, b: total(a * b)),
        "github_18": ([2, 2, 2], lambda a, b, c: total(stack([a, b, c]), 0), lambda a, b, c: a + b + c),
        "github_19": ([2], lambda a: total(total(a, 0), 0), total),
        "github_20": ([2, 2], lambda a, b: total(diagonal(dot(a, b))), lambda a, b: total(a * b.T)),
        "github_21": ([2, 2], lambda a, b: torch.amax(stack([a, b]), 0), torch.maximum),
        "synth_1": ([2, 2], lambda a, b: a * b + 3 * (a * b), lambda a, b: 4 * a * b),
        "synth_2": ([2, 2], lambda a, b: a + b - a - a + b * b - b, lambda a, b: b * b - a),
        "synth_3": ([2, 2], lambda a, b: (a + b) / sqrt(a + b), lambda a, b: sqrt(a + b)),
        "synth_4": ([2, 2], lambda a, b: a + a + b - a - a - b * b, lambda a, b: b - b * b),
        "synth_5": ([2, 2], lambda a, b: torch.pow(sqrt(a), 4) + 2 * b, lambda a, b: a * a + 2 * b),
        "synth_6": ([2], lambda a: torch.pow(sqrt(a) + sqrt(a), 2), lambda a: 4 * a),
        "synth_7": ([2], lambda a: torch.pow(a, 6) / torch.pow(a, 4), lambda a: a * a),
        "synth_8": ([2, 2], lambda a, b: a * b + a * b, lambda a, b: 2 * a * b),
        "synth_9": ([2, 1], lambda a, x: total(total(a * x, 0)), lambda a, x: dot(total(a, 0), x)),
        "synth_10": ([2], lambda a: stack([row * 2 for row in a]), lambda a: a * 2),
        "synth_11": ([2], lambda a: a * a * a * a * a, lambda a: (a * a) * (a * a) * a),
        "synth_12": ([2], lambda a: a + a + a + a + a, lambda a: a * 5),
    }


def export(folder, names):
    import torch

    class Expression(torch.nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, *arguments):
            return self.function(*arguments)

    folder.mkdir(parents=True, exist_ok=True)
    for name, (ranks, function, by_hand) in expressions().items():
        if names and name not in names:
            continue
        size = 200 if max(ranks) > 1 else 1000
        arguments = tuple(torch.rand([size] * rank) + 0.1 for rank in ranks)
        for form, suffix in ((function, ""), (by_hand, ".by_hand")):
            program = torch.onnx.export(Expression(form), arguments, dynamo=True, optimize=False, verbose=False,
                                        input_names=[f"x{i}" for i in range(len(ranks))], output_names=["y"])
            program.save(folder / f"{name}{suffix}.onnx")


def measure(folder, names, extra):
    import numpy
    import turns

    gains = []
    print("| expression | nodes | nodes after | times as fast | by hand |\n|---|---|---|---|---|")
    for path in sorted(folder.glob("*_*.onnx"), key=lambda p: (p.stem.split("_")[0], int(p.stem.split("_")[1].split(".")[0]))):
        if ".by_hand" in path.name or ".faster" in path.name or (names and path.stem not in names):
            continue
        faster = path.with_suffix(".faster.onnx")
        subprocess.run([BINARY, "optimize", path, "--out", faster, "--no-benchmark", "--min-gain", "0", *extra], check=True, stdout=subprocess.DEVNULL)
        forms = {"model": path, "faster": faster, "by hand": path.with_suffix(".by_hand.onnx")}
        runners = {form: turns.session(file) for form, file in forms.items()}
        generator = numpy.random.default_rng(1)
        fed = {i.name: numpy.asarray(generator.random(i.shape) + 0.1, numpy.float32) for i in runners["model"].get_inputs()}
        times = turns.in_turns(runners, fed, 1.0)
        ratio = {form: statistics.median(a / b for a, b in zip(times["model"], times[form])) for form in ("faster", "by hand")}
        gains.append((ratio["faster"], ratio["by hand"]))
        print(f"| {path.stem} | {nodes(path)} | {nodes(faster)} | {ratio['faster']:.2f} | {ratio['by hand']:.2f} |", flush=True)
    means = [statistics.geometric_mean(column) for column in zip(*gains)]
    print(f"| geometric mean | | | {means[0]:.2f} | {means[1]:.2f} |")


def nodes(path):
    import onnx

    return len(onnx.load(path).graph.node)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--measure", action="store_true")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_intermixed_args(sys.argv[1:end])
    if options.measure:
        measure(options.folder, options.names, sys.argv[end + 1 :])
    else:
        export(options.folder, options.names)


if __name__ == "__main__":
    sys.exit(main())
