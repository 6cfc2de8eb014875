#!/usr/bin/env python3
"""Runs the operator cases of the installed onnx package, of all opsets, against the definitions: what these cover must compute the
same. Integers and other inputs that are not tensors of a network (shapes, axes, scales) become constants of the model, because the
model defines a computation only then."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.loader import load_node_model_tests
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

FIXED = {"scales", "sizes", "roi", "axes", "shape", "pads", "repeats", "split", "k", "starts", "ends", "steps"}
MIN_PASSED = 695


def tensor(value, name):
    return value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(numpy.asarray(value), name)


def write(case, folder):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs, outputs = case.data_sets[0]
    kept = []
    for info, value in zip(list(model.graph.input), inputs):
        if not isinstance(value, (numpy.ndarray, numpy.generic, onnx.TensorProto)):
            return False
        made = tensor(value, info.name)
        made.name = info.name
        if made.data_type != onnx.TensorProto.FLOAT or info.name in FIXED:
            model.graph.initializer.append(made)
            model.graph.input.remove(info)
        else:
            kept.append(made)
    if not all(isinstance(value, (numpy.ndarray, numpy.generic, onnx.TensorProto)) for value in outputs):
        return False
    data = folder / case.name / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / case.name / "model.onnx").write_bytes(model.SerializeToString())
    for i, made in enumerate(kept):
        (data / f"input_{i}.pb").write_bytes(made.SerializeToString())
    for i, (value, info) in enumerate(zip(outputs, model.graph.output)):
        (data / f"output_{i}.pb").write_bytes(tensor(value, info.name).SerializeToString())
    return True


def main():
    binary = pathlib.Path(os.environ["RULEMILL"]).parent / "test_optimize"
    with tempfile.TemporaryDirectory() as folder:
        numpy.random.seed(0)
        written = sum(write(case, pathlib.Path(folder)) for case in load_node_model_tests())
        root = pathlib.Path(__file__).resolve().parents[3]
        done = subprocess.run([binary, "[onnx]"], cwd=root, env=os.environ | {"RULEMILL_ONNX_CASES": folder},
                              capture_output=True, text=True, check=False)
        print(done.stdout[-6000 if done.returncode == 0 else -20000:], done.stderr[-2000:])
        found = re.search(r"ONNX operator tests: (\d+) pass, (\d+) differ, (\d+) not covered", done.stdout)
        passed, differing = (int(found[1]), int(found[2])) if found else (0, -1)
        print(f"onnx {onnx.__version__}: {written} cases, {passed} pass, {differing} differ")
        return 0 if done.returncode == 0 and differing == 0 and passed >= MIN_PASSED else 1


if __name__ == "__main__":
    sys.exit(main())
