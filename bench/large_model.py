#!/usr/bin/env python3
"""Writes a model that is too large for two copies in memory: `large_model.py FOLDER` writes model.onnx, its external data and rules.

A chain of products of one row with square weights (default: 12 of 7168x7168, 2.47 GB), and a low-rank branch next to the first
one, which the rules merge into its weight. Goal: peak memory of at most 1.5 times the size of the files plus 300 MB in
    rulemill rules import FOLDER/rules.txt --out FOLDER/rules
    /usr/bin/time -f "%e s, %M kB" rulemill optimize FOLDER/model.onnx --rules FOLDER/rules --out FOLDER/out.onnx \\
      --verifier definitions --verify-inputs 1 --min-gain 0
"""

import argparse
import pathlib

import numpy
import onnx
from onnx import TensorProto, helper

RULES = """rule associate(x:2, a:2, b:2)
  matmul(matmul(x, a), b) => matmul(x, matmul(a, b))
rule distribute(x:2, a:2, b:2)
  add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))
"""


def external(file, name, values):
    """Appends the values to the external data and returns a tensor that refers to them."""
    tensor = TensorProto(name=name, dims=values.shape, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    place = {"location": pathlib.Path(file.name).name, "offset": file.tell(), "length": values.nbytes}
    for key, value in place.items():
        tensor.external_data.add(key=key, value=str(value))
    file.write(values.tobytes())
    return tensor


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--products", type=int, default=12)
    parser.add_argument("--width", type=int, default=7168)
    parser.add_argument("--rank", type=int, default=8)
    options = parser.parse_args()
    random = numpy.random.default_rng(0)
    options.folder.mkdir(parents=True, exist_ok=True)
    with open(options.folder / "model.onnx.data", "wb") as side:
        def weight(name, *shape):
            scale = numpy.float32(shape[0] ** -0.5)
            return external(side, name, random.standard_normal(shape, dtype=numpy.float32) * scale)

        weights = [weight(f"w{i}", options.width, options.width) for i in range(options.products)]
        weights += [weight("down", options.width, options.rank), weight("up", options.rank, options.width)]
    nodes = [helper.make_node("MatMul", ["x", "down"], ["low"]), helper.make_node("MatMul", ["low", "up"], ["branch"])]
    last = "x"
    for i in range(options.products):
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"product{i}"]))
        if i == 0:
            nodes.append(helper.make_node("Add", ["product0", "branch"], ["sum"]))
        last = f"t{i}"
        nodes.append(helper.make_node("Relu", ["sum" if i == 0 else f"product{i}"], [last]))
    shape = [1, options.width]
    graph = helper.make_graph(nodes, "large", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(last, TensorProto.FLOAT, shape)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(model, options.folder / "model.onnx")
    (options.folder / "rules.txt").write_text(RULES)


if __name__ == "__main__":
    main()
