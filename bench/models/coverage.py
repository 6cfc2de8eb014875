#!/usr/bin/env python3
"""Share of models that the definitions cover, and whether a roundtrip preserves outputs: `coverage.py FOLDER… [--json FILE]`.

Imports every *.onnx below the folders (`rulemill info`), exports it without applying rules (`--roundtrip`), and runs both in
onnxruntime with one thread and without its optimizations. Outputs must be bit-identical, at two choices of sizes for dynamic
dimensions. If onnxruntime has no kernels for the types of a model, `rulemill equal` must show that both are equal ("equal" in the
table). Prints a table: the share of float nodes and of arithmetic that is covered. Exits with 1 if a model is rejected or its
outputs differ. RULEMILL names the binary. Needs onnxruntime.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidGraph, NotImplemented

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("RULEMILL", str(ROOT / "build" / "release" / "rulemill"))
DYNAMIC_SIZES = {"batch": (1, 2), "sequence": (16, 24), "size": (224, 256)}
KINDS = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def feeds(inputs, turn):
    generator = np.random.default_rng(turn)
    result = {}
    for info in inputs:
        shape = []
        for axis, dim in enumerate(info.shape):
            kind = "batch" if axis == 0 else "sequence" if len(info.shape) == 2 else "size"
            shape.append(dim if isinstance(dim, int) else DYNAMIC_SIZES[kind][turn])
        if info.type in KINDS:
            result[info.name] = generator.standard_normal(shape).astype(KINDS[info.type])
        elif "mask" in info.name:
            result[info.name] = np.ones(shape, np.int64)
        else:
            result[info.name] = generator.integers(0, 900, shape)
    return result


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def compare(before, after):
    """Returns the number of runs with bit-identical outputs, or "equal" without kernels; raises ValueError if outputs differ."""
    try:
        one = session(before)
    except (InvalidGraph, NotImplemented):
        subprocess.run([BINARY, "equal", str(before), str(after)], capture_output=True, check=True)
        return "equal"
    other = session(after)
    is_dynamic = any(not isinstance(dim, int) for info in one.get_inputs() for dim in info.shape)
    for turn in range(2 if is_dynamic else 1):
        fed = feeds(one.get_inputs(), turn)
        for info, a, b in zip(one.get_outputs(), one.run(None, fed), other.run(None, fed)):
            if not same_bits(a, b):
                raise ValueError(f"output {info.name} differs")
    return 2 if is_dynamic else 1


def row(path, folder):
    report, after = folder / "report.json", folder / path.name
    done = subprocess.run([BINARY, "info", str(path), "--roundtrip", str(after), "--json", str(report)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip().splitlines()[-1])
    found = json.loads(report.read_text())
    share = lambda key: 100 * found["covered"][key] / found["all"][key] if found["all"][key] else 100.0
    opaque = {entry["op_type"]: entry["reason"] for entry in found["operators"] if entry["reason"] not in ("", "no float")}
    times = compare(path, after)
    return {"model": f"{path.parent.name}/{path.stem}", "opset": found["opset"], "nodes": found["all"]["nodes"],
            "covered_nodes": share("nodes"), "covered_arithmetic": share("flops"), "runs": times, "opaque": opaque}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    rows, failed = [], 0
    print("| model | opset | float nodes | covered | of arithmetic | identical runs | opaque |\n|---|---|---|---|---|---|---|")
    for path in sorted(path for folder in given.folders for path in folder.glob("*.onnx")):
        with tempfile.TemporaryDirectory() as folder:
            try:
                one = row(path, pathlib.Path(folder))
                rows.append(one)
                print(f"| {one['model']} | {one['opset']} | {one['nodes']} | {one['covered_nodes']:.1f} | "
                      f"{one['covered_arithmetic']:.2f} | {one['runs']} | {' '.join(sorted(one['opaque']))} |", flush=True)
            except Exception as error:  # one model must not end the others
                failed += 1
                rows.append({"model": f"{path.parent.name}/{path.stem}", "failure": str(error)})
                print(f"| {path.parent.name}/{path.stem} | failed: {' '.join(str(error).split())[:160]} |", flush=True)
    good = [one for one in rows if "failure" not in one]
    enough = [one for one in good if one["covered_nodes"] >= 95 and one["covered_arithmetic"] >= 98]
    print(f"\n{len(rows)} models, {len(good)} with identical outputs, {len(enough)} with 95% of float nodes and 98% of arithmetic covered")
    if given.json:
        given.json.write_text(json.dumps({"onnxruntime": onnxruntime.__version__, "rows": rows}, indent=1) + "\n")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
