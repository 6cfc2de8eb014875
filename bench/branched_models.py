#!/usr/bin/env python3
"""Writes models in training form, with random weights: `branched_models.py KIND FILE`.

repvgg: blocks of a 3x3, a 1x1 and, where shapes allow, an identity branch, each with a batch norm, added (RepVGG, CVPR'21).
mobileone: over-parametrized, four 3x3 branches per depthwise block and four 1x1 branches per pointwise block (MobileOne, CVPR'23).
In inference form each block is one convolution; `blocks` counts them.
"""

import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Branched:
    def __init__(self):
        self.random = numpy.random.default_rng(0)
        self.nodes, self.weights = [], []
        self.blocks = 0

    def weight(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values.astype(numpy.float32), name))
        return name

    def normal(self, *shape):
        return self.weight(self.random.standard_normal(shape) * 0.2)

    def node(self, kind, inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"n{len(self.nodes)}", **attributes))
        return name

    def norm(self, x, channels):
        variance = self.weight(self.random.random(channels) + 0.5)
        parameters = [self.normal(channels) for _ in range(3)]
        return self.node("BatchNormalization", [x, *parameters, variance], epsilon=1e-5)

    def convolution(self, x, inner, outer, kernel, stride, group=1):
        return self.node("Conv", [x, self.normal(outer, inner // group, kernel, kernel)], kernel_shape=[kernel] * 2,
                         strides=[stride] * 2, pads=[kernel // 2] * 4, group=group)

    def block(self, x, inner, outer, stride, kernels, group=1):
        """Adds branches with these kernels, and one without a convolution if the shapes allow it."""
        branches = [self.norm(self.convolution(x, inner, outer, kernel, stride, group), outer) for kernel in kernels]
        if stride == 1 and inner == outer:
            branches.append(self.norm(x, outer))
        total = branches[0]
        for branch in branches[1:]:
            total = self.node("Add", [total, branch])
        self.blocks += 1
        return self.node("Relu", [total])

    def repvgg(self, x, inner, outer, stride):
        return self.block(x, inner, outer, stride, [3, 1])

    def mobileone(self, x, inner, outer, stride):
        x = self.block(x, inner, inner, stride, [1, 3, 3, 3, 3], group=inner)
        return self.block(x, inner, outer, 1, [1, 1, 1, 1])

    def stages(self, block, stages):
        x, channels = self.repvgg("x", 3, 16, 2), 16
        for outer, repeats in stages:
            for i in range(repeats):
                x, channels = block(x, channels, outer, 2 if i == 0 else 1), outer
        return self.convolution(x, channels, 24, 1, 1)

    def model(self, output, size=64):
        values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, size, size])]
        pooled = self.node("GlobalAveragePool", [output])
        outputs = [helper.make_tensor_value_info(pooled, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "branched", values, outputs, self.weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
        made = onnx.shape_inference.infer_shapes(made)
        onnx.checker.check_model(made)
        return made


KINDS = {
    "repvgg": lambda b: b.stages(b.repvgg, [(16, 2), (24, 4), (32, 6), (48, 1)]),
    "mobileone": lambda b: b.stages(b.mobileone, [(16, 2), (32, 4), (64, 4), (64, 2)]),
    "mobileone-small": lambda b: b.stages(b.mobileone, [(16, 2)]),
}


def make(kind):
    """Returns the model and the number of convolutions in inference form."""
    branched = Branched()
    model = branched.model(KINDS[kind](branched))
    return model, branched.blocks + 1


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit(f"usage: branched_models.py {'|'.join(KINDS)} FILE")
    model, convolutions = make(sys.argv[1])
    onnx.save(model, sys.argv[2])
    before = sum(node.op_type == "Conv" for node in model.graph.node)
    print(f"{sys.argv[1]}: {len(model.graph.node)} nodes, {before} convolutions, {convolutions} in inference form")


if __name__ == "__main__":
    main()
