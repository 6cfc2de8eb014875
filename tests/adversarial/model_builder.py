"""Builds random models value by value, with shapes."""

import random

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOATS = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16, "float64": TensorProto.DOUBLE}
NUMPY = {TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16, TensorProto.BFLOAT16: ml_dtypes.bfloat16,
         TensorProto.DOUBLE: np.float64, TensorProto.INT64: np.int64, TensorProto.BOOL: np.bool_}
OPSETS = (13, 14, 17, 18, 20, 21, 22)
BFLOAT16_OPSETS = (22, 23)  # the first whose Conv and pools take the type
SPECIAL = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 1e-3, 100.0)
SIZES = (1, 2, 3, 4, 5, 7, 8)
LARGE_SIZES = (16, 33)


class Value:
    """A tensor of the model. Dimensions are numbers, or text if they depend on an input's: equal texts are equal sizes."""

    def __init__(self, name, dims, kind="float"):
        self.name, self.dims, self.kind = name, tuple(dims), kind


class Builder:
    """A model under construction. Values in `pool` may become arguments or outputs."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.dtype = self.rng.choice(list(FLOATS))
        self.opset = self.rng.choice(BFLOAT16_OPSETS if self.dtype == "bfloat16" else OPSETS)
        self.nodes, self.weights, self.inputs, self.pool, self.used = [], [], [], [], set()
        self.count = 0
        self.is_dynamic = self.rng.random() < 0.4
        # Few scales of weights: ordinary, with special numbers, badly scaled.
        self.weight_mode = self.rng.choice(["normal"] * 4 + ["special", "wide"])

    # Parts

    def fresh(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def size(self):
        return self.rng.choice(LARGE_SIZES if self.rng.random() < 0.02 else SIZES)

    def input(self, dims, kind="float"):
        value = Value(self.fresh("x"), dims, kind)
        self.inputs.append(value)
        self.pool.append(value)
        return value

    def dim(self, name):
        """Returns a dimension of an input: dynamic, ordinary, or rarely 0."""
        if self.is_dynamic and self.rng.random() < 0.6:
            return name
        return 0 if self.rng.random() < 0.01 else self.size()

    def constant(self, array, kind="float"):
        element = {"float": FLOATS[self.dtype], "int": TensorProto.INT64, "bool": TensorProto.BOOL}[kind]
        array = np.asarray(array).astype(NUMPY[element])
        name = self.fresh("w")
        self.weights.append(numpy_helper.from_array(array, name))
        return Value(name, array.shape, kind)

    def weight(self, dims, positive=False):
        values = self.numbers.standard_normal(dims)
        if self.weight_mode == "special":
            values = self.numbers.choice(SPECIAL, dims)
        if self.weight_mode == "wide":
            values = values * 2.0 ** self.numbers.integers(-6, 7, dims)
        return self.constant(np.abs(values) + 0.05 if positive else values)

    def number(self):
        return self.constant(self.rng.choice(SPECIAL + (self.rng.gauss(0, 1), 0.125, 8.0)))

    def ints(self, *values):
        return self.constant(np.array(values, np.int64), "int")

    def node(self, op_type, arguments, dims, kind="float", **attributes):
        """Appends a node. `dims` are those of its output, or a list of those of several outputs."""
        several = len(dims) > 0 and isinstance(dims[0], list)
        outputs = [Value(self.fresh("v"), each, kind) for each in (dims if several else [dims])]
        self.nodes.append(helper.make_node(op_type, [each.name if each else "" for each in arguments], [each.name for each in outputs],
                                           **attributes))
        self.used.update(each.name for each in arguments if each)
        return outputs if several else outputs[0]

    def reduce(self, op_type, x, axes, keepdims):
        dims = [1 if i in axes else d for i, d in enumerate(x.dims) if keepdims or i not in axes]
        if self.opset >= (13 if op_type == "ReduceSum" else 18):
            return self.node(op_type, [x, self.ints(*axes)], dims, keepdims=int(keepdims))
        return self.node(op_type, [x], dims, axes=list(axes), keepdims=int(keepdims))

    def reshape(self, x, shape, dims):
        return self.node("Reshape", [x, self.ints(*shape)], dims)

    def split(self, x, axis, at):
        sides = [[part if i == axis else d for i, d in enumerate(x.dims)] for part in (at, x.dims[axis] - at)]
        return self.node("Split", [x, self.ints(at, x.dims[axis] - at)], sides, axis=axis)

    def pick(self, kind="float", rank=None):
        """Returns a value of the pool, preferring unused and late ones; None if there is none."""
        fitting = [each for each in self.pool if each.kind == kind and (rank is None or len(each.dims) == rank)]
        unused = [each for each in fitting if each.name not in self.used]
        if unused and self.rng.random() < 0.7:
            fitting = unused
        return self.rng.choice(fitting[-4:]) if fitting else None

    def like(self, x):
        """Returns a value that combines with x elementwise to the dimensions of x."""
        same = [each for each in self.pool if each.kind == "float" and each.dims == x.dims]
        choice = self.rng.random()
        if choice < 0.45 and same:
            return self.rng.choice(same)
        if choice < 0.65:
            return self.number()
        fixed = [d if isinstance(d, int) and self.rng.random() < 0.6 else 1 for d in x.dims]
        return self.weight(fixed[self.rng.randrange(len(fixed) + 1):])

    # Models

    def model(self):
        outputs = [each for each in self.pool if each.name not in self.used and each not in self.inputs]
        used = [each for each in self.pool if each.name in self.used and each not in self.inputs]
        if not outputs or used and self.rng.random() < 0.15:
            outputs += self.rng.sample(used, min(1, len(used)))
        elements = {"float": FLOATS[self.dtype], "int": TensorProto.INT64, "bool": TensorProto.BOOL}
        infos = [helper.make_tensor_value_info(each.name, elements[each.kind], each.dims) for each in self.inputs]
        results = [helper.make_tensor_value_info(each.name, elements[each.kind], [d if isinstance(d, int) else None for d in each.dims])
                   for each in dict.fromkeys(outputs)]
        graph = helper.make_graph(self.nodes, "random", infos, results, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8 if self.opset < 22 else 10)
