"""Models with the redundancy that exporters of PyTorch leave: chains of sizes, constants computed from constants, copies."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Builder:
    """Nodes in order. Values are names; `constant` makes a Constant node, `weight` an initializer."""

    def __init__(self, seed=0, prefix=""):
        self.nodes, self.weights, self.count, self.prefix = [], [], 0, prefix
        self.random = np.random.default_rng(seed)

    def __call__(self, op, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"{self.prefix}{op.lower()}_{self.count}" + (f"_{i}" if i else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=f"/{op}_{self.count}", **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value, dtype=np.int64):
        return self("Constant", value=numpy_helper.from_array(np.array(value, dtype)))

    def weight(self, *shape):
        self.count += 1
        name = f"weight_{self.count}"
        self.weights.append(numpy_helper.from_array(self.random.standard_normal(shape).astype(np.float32) / 8, name))
        return name

    def size(self, value, axis):
        """As TorchScript exports `value.shape[axis]`."""
        return self("Gather", self("Shape", value), self.constant(axis), axis=0)

    def view(self, value, *dims):
        """As TorchScript exports `value.view(dims)`: dims are numbers or sizes."""
        axis = self.constant([0])
        parts = [self("Unsqueeze", d if isinstance(d, str) else self.constant(d), axis) for d in dims]
        return self("Reshape", value, self("Concat", *parts, axis=0))

    def model(self, inputs, outputs):
        graph = helper.make_graph(self.nodes, "exported", inputs, outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        return model


def layer_norm(b, x, width):
    centered = b("Sub", x, b("ReduceMean", x, axes=[-1]))
    variance = b("ReduceMean", b("Pow", centered, b.constant(2, np.float32)), axes=[-1])
    scaled = b("Div", centered, b("Sqrt", b("Add", variance, b.constant(1e-12, np.float32))))
    return b("Add", b("Mul", scaled, b.weight(width)), b.weight(width))


def linear(b, x, rows, columns):
    return b("Add", b.weight(columns), b("MatMul", x, b.weight(rows, columns)))


def encoder(layers=2, width=32, heads=4, vocabulary=50):
    """A BERT: open batch and sequence; the mask is expanded by computed sizes; each head split reads the sizes again."""
    b = Builder()
    batch, sequence = b.size("input_ids", 0), b.size("input_ids", 1)
    positions = b("Slice", b.constant([list(range(64))]), b.constant([0]), b("Unsqueeze", sequence, b.constant([0])),
                  b.constant([1]), b.constant([1]))
    x = b("Add", b("Gather", b.weight(vocabulary, width), "input_ids"), b("Gather", b.weight(64, width), positions))
    x = b("Dropout", layer_norm(b, x, width))
    mask = b("Cast", b("Unsqueeze", b("Unsqueeze", "mask", b.constant([1])), b.constant([2])), to=TensorProto.FLOAT)
    mask = b("Mul", b("Sub", b.constant(1, np.float32), mask), b.constant(-1e4, np.float32))
    del batch
    for _ in range(layers):
        query, key, value = (split_heads(b, linear(b, x, width, width), heads, width // heads) for _ in range(3))
        scores = b("MatMul", query, b("Transpose", key, perm=[0, 1, 3, 2]))
        scale = b("Sqrt", b("Cast", b.constant(width // heads), to=TensorProto.FLOAT))
        scores = b("Add", b("Div", scores, b("Cast", scale, to=TensorProto.FLOAT)), mask)
        mixed = b("Transpose", b("MatMul", b("Softmax", scores, axis=-1), value), perm=[0, 2, 1, 3])
        joined = b.view(mixed, b.size(mixed, 0), b.size(mixed, 1), width)
        x = layer_norm(b, b("Add", x, linear(b, joined, width, width)), width)
        x = layer_norm(b, b("Add", x, linear(b, b("Relu", linear(b, x, width, 4 * width)), 4 * width, width)), width)
    b.nodes.append(helper.make_node("Identity", [x], ["hidden"], name="/output"))
    ints = lambda name: helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
    output = helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["batch", "sequence", width])
    return b.model([ints("input_ids"), ints("mask")], [output])


def split_heads(b, x, heads, size):
    return b("Transpose", b.view(x, b.size(x, 0), b.size(x, 1), heads, size), perm=[0, 2, 1, 3])


def convolution(b, x, before, after, kernel=3, stride=1):
    y = b("Conv", x, b.weight(after, before, kernel, kernel), b.weight(after), pads=[kernel // 2] * 4, strides=[stride] * 2)
    return b("Mul", y, b("Sigmoid", y))


def detector(size=32, batch="batch"):
    """A YOLO: splits, resizes to computed sizes, and anchors computed from the sizes of feature maps."""
    b = Builder(1)
    x = convolution(b, "images", 3, 8, stride=2)
    first, second = b("Split", x, b.constant([4, 4]), outputs=2, axis=1)
    x = b("Concat", b("Concat", first, second, axis=1), convolution(b, second, 4, 4), axis=1)
    small = convolution(b, x, 12, 8, stride=2)
    spatial = b("Concat", b("Unsqueeze", b.size(x, 2), b.constant([0])), b("Unsqueeze", b.size(x, 3), b.constant([0])), axis=0)
    channels = b("Slice", b("Shape", small), b.constant([0]), b.constant([2]), b.constant([0]))
    sizes = b("Concat", channels, b("Cast", spatial, to=TensorProto.INT64), axis=0)
    large = b("Resize", small, "", "", sizes, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    maps = [convolution(b, b("Concat", large, x, axis=1), 20, 6, kernel=1), convolution(b, small, 8, 6, kernel=1)]
    flat = b("Concat", *(b.view(each, b.size(each, 0), 6, -1) for each in maps), axis=2)
    anchors = b("Concat", *(grid(b, each) for each in maps), axis=0)
    points = b("Unsqueeze", b("Transpose", anchors, perm=[1, 0]), b.constant([0]))
    corner = b("Slice", flat, b.constant([0]), b.constant([2]), b.constant([1]))
    rest = b("Slice", flat, b.constant([2]), b.constant([np.iinfo(np.int64).max]), b.constant([1]))
    boxes = b("Add", b("Mul", corner, b.constant(1, np.float32)), points)
    b.nodes.append(helper.make_node("Concat", [boxes, rest], ["predictions"], name="/output", axis=1))
    image = helper.make_tensor_value_info("images", TensorProto.FLOAT, [batch, 3, size, size])
    return b.model([image], [helper.make_tensor_value_info("predictions", TensorProto.FLOAT, [batch, 6, None])])


def grid(b, feature):
    """The centers of the cells of a feature map, as pairs."""
    rows, columns = (b("Add", b("Cast", b("Range", b.constant(0), b.size(feature, axis), b.constant(1)), to=TensorProto.FLOAT),
                       b.constant(0.5, np.float32)) for axis in (2, 3))
    shape = b("Concat", b("Unsqueeze", b.size(feature, 2), b.constant([0])), b("Unsqueeze", b.size(feature, 3), b.constant([0])), axis=0)
    y = b("Expand", b("Unsqueeze", rows, b.constant([1])), shape)
    x = b("Expand", b("Unsqueeze", columns, b.constant([0])), shape)
    pair = b("Concat", *(b("Unsqueeze", each, b.constant([-1])) for each in (x, y)), axis=-1)
    return b("Reshape", pair, b.constant([-1, 2]))


def padded(layers=6, size=64):
    """A network that pads each image to what TensorFlow calls SAME, by an amount that is computed from the image's size."""
    b = Builder(5)
    x = "images"
    for layer in range(layers):
        amounts = [same_padding(b, x, axis, kernel=3, stride=2) for axis in (2, 3)]
        none, axis = b.constant([0, 0]), b.constant([0])
        pads = b("Concat", none, *(b("Unsqueeze", front, axis) for front, _ in amounts), none,
                 *(b("Unsqueeze", back, axis) for _, back in amounts), axis=0)
        x = b("Relu", b("Conv", b("Pad", x, pads, b.constant(0, np.float32), mode="constant"),
                        b.weight(4, 4 if layer else 3, 3, 3), b.weight(4), strides=[2, 2]))
    b.nodes.append(helper.make_node("Identity", [x], ["features"], name="/output"))
    image = helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, size, size])
    return b.model([image], [helper.make_tensor_value_info("features", TensorProto.FLOAT, [1, 4, None, None])])


def same_padding(b, x, axis, kernel, stride):
    """The padding in front and behind, as numbers."""
    number = lambda value: b.constant(value, np.float32)
    size = b("Cast", b.size(x, axis), to=TensorProto.FLOAT)
    steps = b("Mul", b("Sub", b("Ceil", b("Div", size, number(stride))), number(1)), number(stride))
    both = b("Cast", b("Clip", b("Sub", b("Add", steps, number(kernel)), size), number(0)), to=TensorProto.INT64)
    front = b("Div", both, b.constant(2))
    return front, b("Sub", both, front)


def branches():
    """An If whose condition is a comparison of static sizes, and a Loop whose body has copies and constants."""
    b = Builder(2)
    inner = Builder(3, "then_")
    doubled = inner("Mul", "x", inner.constant(2, np.float32))
    then_branch = helper.make_graph([*inner.nodes, helper.make_node("Identity", [doubled], ["then"])], "then", [],
                                    [helper.make_tensor_value_info("then", TensorProto.FLOAT, [None, 4])])
    else_branch = helper.make_graph([helper.make_node("Neg", ["x"], ["else"])], "else", [],
                                    [helper.make_tensor_value_info("else", TensorProto.FLOAT, [None, 4])])
    condition = b("Equal", b.size("x", 1), b.constant(4))
    chosen = b("If", condition, then_branch=then_branch, else_branch=else_branch)
    body = Builder(4, "body_")
    step = body("Add", body("Identity", "state"), body("Sqrt", body.constant(2, np.float32)))
    body.nodes.append(helper.make_node("Identity", ["go"], ["go_on"]))
    body.nodes.append(helper.make_node("Add", [step, chosen], ["next"]))
    scalar = lambda name, kind: helper.make_tensor_value_info(name, kind, [])
    matrix = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 4])
    loop = helper.make_graph(body.nodes, "body", [scalar("i", TensorProto.INT64), scalar("go", TensorProto.BOOL), matrix("state")],
                             [scalar("go_on", TensorProto.BOOL), matrix("next")])
    b.nodes.append(helper.make_node("Loop", [b.constant(3), "", chosen], ["y"], name="/loop", body=loop))
    return b.model([helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])], [matrix("y")])


MODELS = {"encoder": encoder, "detector": detector, "static_detector": lambda: detector(batch=1), "branches": branches,
          "padded": padded}
