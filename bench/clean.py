#!/usr/bin/env python3
"""Compares `optimize --only-clean` with onnxslim and onnxsim: nodes, bytes, seconds, whether outputs have the same bits, and how many
times as fast the result runs (onnxruntime, one thread, processor time, medians of interleaved runs).

    bench/clean.py [MODEL.onnx ...]      # default: the exported models of tests/optimize/onnx
    TOOLS=rulemill bench/clean.py …      # not the others

Prints a Markdown table. onnxslim and onnxsim must be on the path; RULEMILL names the binary. Nodes include those of
subgraphs, without constants; bytes include external data. Outputs are compared in onnxruntime without optimizations and without packed weights."""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "optimize" / "onnx"), str(ROOT / "tests" / "cli")]

import clean_test
import exported_models
import numpy as np
import onnx
import onnxruntime

BINARY = os.environ.get("RULEMILL", ROOT / "build" / "release" / "rulemill")
COMMANDS = {"rulemill": lambda model, out: [BINARY, "optimize", model, "--only-clean", "--out", out],
            "onnxslim": lambda model, out: ["onnxslim", model, out],
            "onnxsim": lambda model, out: ["onnxsim", model, out]}
TOOLS = os.environ.get("TOOLS", " ".join(COMMANDS)).split()
RUNS = 9
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
         "tensor(bool)": np.bool_}


def draw(infos, size):
    random = np.random.default_rng(0)
    shape_of = lambda info: [dim if isinstance(dim, int) else size for dim in info.shape]
    return {info.name: (8 * random.random(shape_of(info))).astype(TYPES[info.type]) for info in infos}


def speedup(model, result, feeds):
    """Returns the median time of the model divided by that of the result, with the runtime's optimizations."""
    sessions, times = [], ([], [])
    for path in (model, result):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        sessions.append(onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]))
    for turn in range(RUNS):
        for which in ((0, 1), (1, 0))[turn % 2]:
            start = time.thread_time()
            sessions[which].run(None, feeds)
            times[which].append(time.thread_time() - start)
    return statistics.median(times[0]) / statistics.median(times[1])


def compare(model, result):
    """Returns how outputs agree ("same", the largest difference, or why they cannot be compared) and the speedup."""
    before = clean_test.session(model)
    for size in (2, 32, 576):
        feeds = draw(before.get_inputs(), size)
        try:
            expected = before.run(None, feeds)
        except Exception:  # the model does not run at these sizes
            continue
        found = clean_test.session(result).run(None, feeds)
        if all(x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in zip(expected, found)):
            outputs = "same"
        else:
            outputs = f"{max(float(np.abs(x.astype(float) - y).max()) for x, y in zip(expected, found)):.1g}"
        return f"{outputs}; {speedup(model, result, feeds):.2f}"
    return "not run"


def agreement(model, result):
    try:
        return compare(str(model), str(result))
    except Exception as error:
        return f"does not run: {type(error).__name__}"


def measure(name, model, folder):
    before = onnx.load(model)
    cells = [name, str(clean_test.count_nodes(before.graph)), f"{os.path.getsize(model):,}"]
    for tool in TOOLS:
        out = folder / tool / "out.onnx"
        out.parent.mkdir()
        start = time.monotonic()
        process = subprocess.run(COMMANDS[tool](model, out), capture_output=True, check=False)
        seconds = time.monotonic() - start
        if process.returncode != 0 or not out.exists():
            cells.append("fails")
        else:
            size = sum(file.stat().st_size for file in out.parent.iterdir())
            cells.append(f"{clean_test.count_nodes(onnx.load(out).graph)}; {size:,}; {seconds:.1f} s; {agreement(model, out)}")
        shutil.rmtree(out.parent)
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    print("| model | nodes | bytes | " + " | ".join(TOOLS) + " |\n|---|---|---|" + "---|" * len(TOOLS))
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        models = {pathlib.Path(path).name: pathlib.Path(path) for path in sys.argv[1:]}
        for name, make in {} if models else exported_models.MODELS.items():
            models[name] = folder / f"{name}.model.onnx"
            onnx.save(make(), models[name])
        for name, path in models.items():
            measure(name, path, folder)


if __name__ == "__main__":
    main()
