"""Random small ONNX models, and changes that an optimizer makes by mistake."""

import copy

import numpy
import onnx
from onnx import helper, numpy_helper

CHANNELS = 4


class ModelMaker:
    """A chain of layers on an image: convolutions with normalization and activation, shortcuts, pools and a classifier."""

    def __init__(self, random):
        self.random, self.nodes, self.weights = random, [], []

    def weight(self, shape, lower=-1.0, upper=1.0):
        name = f"w{len(self.weights)}"
        values = self.random.uniform(lower, upper, shape).astype(numpy.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def node(self, op_type, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], name=f"node_{name}", **attributes))
        return name

    def convolution(self, value):
        kernel = int(self.random.choice([1, 3]))
        weight, bias = self.weight([CHANNELS, CHANNELS, kernel, kernel]), self.weight([CHANNELS])
        return self.node("Conv", [value, weight, bias], pads=[kernel // 2] * 4, kernel_shape=[kernel] * 2)

    def normalization(self, value):
        statistics = [self.weight([CHANNELS], 0.5, 1.5), self.weight([CHANNELS]), self.weight([CHANNELS]),
                      self.weight([CHANNELS], 0.01, 0.5)]
        return self.node("BatchNormalization", [value, *statistics], epsilon=0.01)

    def block(self, value):
        inner = self.convolution(value)
        if self.random.random() < 0.7:
            inner = self.normalization(inner)
        if self.random.random() < 0.7:
            inner = self.node(str(self.random.choice(["Relu", "Sigmoid", "Tanh"])), [inner])
        shortcut = self.random.random()
        if shortcut < 0.3:
            inner = self.node("Add", [inner, value])
        elif shortcut < 0.5:
            inner = self.node("Sub", [inner, value])
        if self.random.random() < 0.3:
            inner = self.node("Transpose", [inner], perm=[0, 1, 3, 2])
        return inner

    def model(self):
        value = "x"
        for _ in range(int(self.random.integers(1, 4))):
            value = self.block(value)
        value = self.node("ReduceMean", [value], axes=[2], keepdims=0)
        value = self.node("MatMul", [value, self.weight([6, 6])])
        value = self.node("Add", [value, self.weight([6])])
        self.nodes[-1].output[0] = "y"
        graph = helper.make_graph(
            self.nodes, "planted", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, CHANNELS, 6, 6])],
            [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)


def _weights(model):
    return {tensor.name: tensor for tensor in model.graph.initializer}


def _set(tensor, values):
    tensor.CopyFrom(numpy_helper.from_array(numpy.ascontiguousarray(values), tensor.name))


def _attribute(node, name):
    return next((each for each in node.attribute if each.name == name), None)


def transpose_weight(model, random):
    square = [tensor for tensor in model.graph.initializer if len(tensor.dims) >= 2 and tensor.dims[0] == tensor.dims[1]]
    if not square:
        return None
    tensor = square[random.integers(len(square))]
    _set(tensor, numpy.swapaxes(numpy_helper.to_array(tensor), 0, 1))
    return f"weight {tensor.name} transposed"


def shift_padding(model, random):
    convolutions = [node for node in model.graph.node
                    if node.op_type == "Conv" and _attribute(node, "pads") and any(_attribute(node, "pads").ints)]
    if not convolutions:
        return None
    node = convolutions[random.integers(len(convolutions))]
    _attribute(node, "pads").ints[:] = [0, 1, 2, 1]
    return f"padding of {node.name} moved"


def move_axis(model, random):
    del random
    node = next(node for node in model.graph.node if node.op_type == "ReduceMean")
    _attribute(node, "axes").ints[:] = [3]
    return f"axis of {node.name} moved"


def change_epsilon(model, random):
    nodes = [node for node in model.graph.node if node.op_type == "BatchNormalization"]
    if not nodes:
        return None
    node = nodes[random.integers(len(nodes))]
    _attribute(node, "epsilon").f = 0.001
    return f"epsilon of {node.name} changed"


def forget_bias(model, random):
    nodes = [node for node in model.graph.node if node.op_type == "Conv" and len(node.input) == 3]
    if not nodes:
        return None
    node = nodes[random.integers(len(nodes))]
    del node.input[2]
    return f"bias of {node.name} forgotten"


def swap_inputs(model, random):
    nodes = [node for node in model.graph.node if node.op_type == "Sub"]
    if not nodes:
        return None
    node = nodes[random.integers(len(nodes))]
    node.input[:] = list(node.input)[::-1]
    return f"inputs of {node.name} swapped"


def drop_node(model, random):
    """Drops an activation, or a transposition of a square image."""
    places = [i for i, node in enumerate(model.graph.node) if node.op_type in ("Relu", "Sigmoid", "Tanh", "Transpose")]
    if not places:
        return None
    place = places[random.integers(len(places))]
    dropped = copy.deepcopy(model.graph.node[place])
    del model.graph.node[place]
    for node in model.graph.node:
        node.input[:] = [dropped.input[0] if name == dropped.output[0] else name for name in node.input]
    return f"{dropped.op_type} {dropped.name} dropped"


def change_weight(model, random):
    tensor = model.graph.initializer[random.integers(len(model.graph.initializer))]
    values = numpy_helper.to_array(tensor).copy()
    values.flat[random.integers(values.size)] += 0.25
    _set(tensor, values)
    return f"an element of {tensor.name} changed"


MUTATIONS = [transpose_weight, shift_padding, move_axis, change_epsilon, forget_bias, swap_inputs, drop_node,
             change_weight]


def mutate(model, random):
    """Returns a changed copy and a description; None if the chosen change does not apply."""
    changed = copy.deepcopy(model)
    mutation = MUTATIONS[random.integers(len(MUTATIONS))]
    description = mutation(changed, random)
    return (changed, description) if description else None
