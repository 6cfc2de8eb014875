#!/usr/bin/env python3
"""Writes the sample models of data/models, whose arithmetic rules can reduce. Needs onnx and numpy; seeds are fixed.

acnet_block.onnx  three blocks in training form: the sum of 3x3, 1x3, 3x1 and 1x1 convolutions of one input, each with a
                  bias, then relu (ACNet and RepVGG).
lora_layer.onnx   the projections and the feed-forward part of a transformer layer with unmerged adapters:
                  x W + (x A) B, on any number of rows.

--large FOLDER writes the models of large_models.py instead, which are too large to ship.
"""

import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from large_models import LARGE

OPSET = 15
IR_VERSION = 8


class Builder:
    """Builds a graph: nodes in order, initializers from one random stream."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.initializers = [], []

    def constant(self, name, values):
        """Adds the initializer once."""
        if all(tensor.name != name for tensor in self.initializers):
            self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def weight(self, name, shape, scale, offset=0.0, positive=False):
        values = self.random.standard_normal(shape) * scale
        return self.constant(name, (offset + (np.abs(values) if positive else values)).astype(np.float32))

    def scalar(self, name, value):
        return self.constant(name, np.array(value, dtype=np.float32))

    def integers(self, name, values):
        return self.constant(name, np.array(values, dtype=np.int64))

    def node(self, op_type, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op_type, inputs, [output], name=f"{output}/{op_type}", **attributes))
        return output

    def save(self, path, name, inputs, outputs, doc):
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.initializers, doc_string=doc)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="rulemill",
            producer_version="export_models.py",
        )
        helper.set_model_props(model, {"source": "scripts/export_models.py", "form": "training"})
        model = onnx.shape_inference.infer_shapes(model)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)
        print(f"{path}: {len(self.nodes)} nodes, {path.stat().st_size} bytes")


def branch(builder, x, name, channels, rows, cols):
    fan_in = channels * rows * cols
    kernel = builder.weight(f"{name}.weight", (channels, channels, rows, cols), 0.5 / np.sqrt(fan_in))
    bias = builder.weight(f"{name}.bias", (channels,), 0.1)
    pads = [rows // 2, cols // 2, rows // 2, cols // 2]
    return builder.node("Conv", [x, kernel, bias], name, kernel_shape=[rows, cols], pads=pads, strides=[1, 1])


def acnet_block(path, channels=32, size=28, blocks=3):
    builder = Builder(seed=1)
    x = "image"
    for block in range(blocks):
        prefix = f"block{block}"
        total = None
        for rows, cols in ((3, 3), (1, 3), (3, 1), (1, 1)):
            y = branch(builder, x, f"{prefix}.conv{rows}x{cols}", channels, rows, cols)
            total = y if total is None else builder.node("Add", [total, y], f"{prefix}.sum{rows}x{cols}")
        x = builder.node("Relu", [total], "features" if block == blocks - 1 else f"{prefix}.relu")
    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, size, size])
    builder.save(path, "acnet_block", [info("image")], [info("features")], "Convolution branches, added.")


def adapted(builder, x, name, inner, outer, low_rank):
    weight = builder.weight(f"{name}.weight", (inner, outer), 1 / np.sqrt(inner))
    down = builder.weight(f"{name}.lora_A", (inner, low_rank), 1 / np.sqrt(inner))
    up = builder.weight(f"{name}.lora_B", (low_rank, outer), 0.5 / np.sqrt(low_rank))
    base = builder.node("MatMul", [x, weight], f"{name}.base")
    adapter = builder.node("MatMul", [x, down], f"{name}.down")
    adapter = builder.node("MatMul", [adapter, up], f"{name}.up")
    return builder.node("Add", [base, adapter], name)


def lora_layer(path, width=128, low_rank=16):
    builder = Builder(seed=2)
    query = adapted(builder, "tokens", "query", width, width, low_rank)
    key = adapted(builder, "tokens", "key", width, width, low_rank)
    value = adapted(builder, "tokens", "value", width, width, low_rank)
    gate = builder.node("Sigmoid", [builder.node("Mul", [query, key], "score")], "gate")
    mixed = builder.node("Mul", [gate, value], "mixed")
    attended = builder.node("Add", ["tokens", adapted(builder, mixed, "output", width, width, low_rank)], "attended")
    hidden = builder.node("Relu", [adapted(builder, attended, "expand", width, 2 * width, low_rank)], "hidden")
    contracted = adapted(builder, hidden, "contract", 2 * width, width, low_rank)
    builder.node("Add", [attended, contracted], "states")
    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", width])
    builder.save(path, "lora_layer", [info("tokens")], [info("states")], "Projections with adapters, not merged.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = pathlib.Path(__file__).resolve().parent.parent / "data" / "models"
    parser.add_argument("--out", type=pathlib.Path, default=default, help="folder (default: data/models)")
    parser.add_argument("--large", type=pathlib.Path, metavar="FOLDER", help="write the large models to this folder instead")
    parser.add_argument("--only", choices=sorted(LARGE), action="append", help="only this large model; may be repeated")
    options = parser.parse_args()
    folder = options.large or options.out
    folder.mkdir(parents=True, exist_ok=True)
    if options.large:
        for seed, (name, build) in enumerate(LARGE.items(), 3):
            if not options.only or name in options.only:
                builder = Builder(seed)
                inputs, outputs = build(builder)
                describe = lambda infos: [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in infos.items()]
                builder.save(folder / f"{name}.onnx", name, describe(inputs), describe(outputs), build.__doc__ or name)
        return
    acnet_block(folder / "acnet_block.onnx")
    lora_layer(folder / "lora_layer.onnx")


if __name__ == "__main__":
    main()
