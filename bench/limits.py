#!/usr/bin/env python3
"""Memory and time at the limits: `limits.py [--folder FOLDER] [--products N]`.

Optimizes the model of large_model.py (default: 2.47 GB), whose peak memory must be at most 1.5 times the size of its files plus
300 MB, and a chain of 10,000 nodes, which must take less than 10 s. Prints both and exits with 1 if a limit is exceeded. RULEMILL
names the binary.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
BINARY = os.environ.get("RULEMILL", str(HERE.parent / "build" / "release" / "rulemill"))
CHAIN = 10_000


def measured(*command):
    """Runs the command; returns elapsed seconds and peak bytes."""
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command[1]} ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024


def optimize(model, rules, out):
    return measured(BINARY, "optimize", model, "--rules", rules, "--out", out, "--verifier", "definitions", "--verify-inputs", "1",
                    "--min-gain", "0", "--no-benchmark")


def chain(path):
    weight = numpy_helper.from_array(numpy.full((8,), 1.5, numpy.float32), "w")
    nodes = [helper.make_node(*(("Add", [f"t{i}", "w"]) if i % 2 else ("Tanh", [f"t{i}"])), [f"t{i + 1}"]) for i in range(CHAIN)]
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("t0", TensorProto.FLOAT, [4, 8])],
                              [helper.make_tensor_value_info(f"t{CHAIN}", TensorProto.FLOAT, [4, 8])], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, help="folder for the large model, which is kept; default: a temporary folder")
    parser.add_argument("--products", type=int, default=12)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or pathlib.Path(scratch) / "large"
        subprocess.run([sys.executable, HERE / "large_model.py", folder, "--products", str(given.products)], check=True)
        subprocess.run([BINARY, "rules", "import", folder / "rules.txt", "--out", folder / "rules", "--progress", "off"], check=True,
                       stdout=subprocess.DEVNULL)
        size = sum(path.stat().st_size for path in folder.glob("model.onnx*"))
        seconds, peak = optimize(folder / "model.onnx", folder / "rules", pathlib.Path(scratch) / "large.onnx")
        allowed = 1.5 * size + 300e6
        print(f"large model: {size / 1e9:.2f} GB, {seconds:.1f} s, peak {peak / 1e9:.2f} GB, allowed {allowed / 1e9:.2f} GB")
        chain(pathlib.Path(scratch) / "chain.onnx")
        chain_seconds, chain_peak = optimize(pathlib.Path(scratch) / "chain.onnx", folder / "rules", pathlib.Path(scratch) / "out.onnx")
        print(f"chain of {CHAIN} nodes: {chain_seconds:.1f} s, peak {chain_peak / 1e6:.0f} MB")
    return 0 if peak <= allowed and chain_seconds < 10 else 1


if __name__ == "__main__":
    sys.exit(main())
