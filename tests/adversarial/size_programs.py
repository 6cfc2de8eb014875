"""Random programs that compute integers from the sizes of a model's inputs, as exporters write them: for the dimensions of a reshape,
an expansion, a slice, or as outputs."""

import random

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from operator_cases import make_model

NUMBERS = [0, 1, 2, 3, -1, -2, 4, 5, 7, -3]
LARGE = [2 ** 31 - 1, -2 ** 31, 2 ** 62, 2 ** 63 - 1, -2 ** 63, 2 ** 31, 2 ** 33 + 1]
FLOATS = {"f": TensorProto.FLOAT, "d": TensorProto.DOUBLE, "h": TensorProto.FLOAT16}
TYPES = {"l": (TensorProto.INT64, np.int64), "i": (TensorProto.INT32, np.int32), "b": (TensorProto.BOOL, np.bool_),
         "f": (TensorProto.FLOAT, np.float32), "d": (TensorProto.DOUBLE, np.float64), "h": (TensorProto.FLOAT16, np.float16)}


class Program:
    """A program of a seed. Values are (name, rank, type); `dims` are the dimensions of the inputs, numbers or names."""

    def __init__(self, seed, prefix="", opset=None):
        self.random, self.prefix, self.count = random.Random(seed), prefix, 0
        self.opset = opset or self.random.choice([11, 12, 13, 17, 18, 21, 23])
        self.nodes, self.weights, self.pool = [], [], []
        letters = [f"{prefix}n", f"{prefix}m", f"{prefix}k"]
        self.dims = [[self.random.choice([*letters[:2], 1, 2, 3, letters[2]]) for _ in range(self.random.randrange(1, 4))] for _ in range(2)]
        self.dims[0][0] = letters[0]
        self.inputs = [(f"{prefix}x{i}", len(dims), "f") for i, dims in enumerate(self.dims)]
        self.pool.append(self.node("Shape", [self.inputs[0]], 1, "l"))
        for _ in range(self.random.randrange(2, 8)):
            self.step()
        self.result = self.pool[-1]
        self.outputs = [self.result[0], *self.consumers()]

    # Parts

    def name(self):
        self.count += 1
        return f"{self.prefix}v{self.count}"

    def constant(self, value, kind="l"):
        name = self.name()
        with np.errstate(all="ignore"):
            array = np.array(value).astype(TYPES[kind][1])
        self.weights.append(numpy_helper.from_array(array, name))
        return name, array.ndim, kind

    def node(self, op_type, inputs, rank, kind, **attributes):
        name = self.name()
        self.nodes.append(helper.make_node(op_type, [each[0] if each else "" for each in inputs], [name], **attributes))
        return name, rank, kind

    def number(self, kind="l"):
        return self.random.choice(LARGE if kind in "li" and self.random.random() < 0.08 else NUMBERS)

    def like(self, value):
        """A value of the same type: a constant, or one of the program."""
        same = [each for each in self.pool if each[2] == value[2] and each[1] <= 1]
        if same and self.random.random() < 0.4:
            return self.random.choice(same)
        if self.random.random() < 0.5:
            return self.constant(self.number(value[2]), value[2])
        return self.constant([self.number(value[2]) for _ in range(self.random.choice([1, 1, 2, 3]))], value[2])

    def axes(self, op_type, value, axes, rank, **attributes):
        """A node whose axes are an attribute, or an input in later versions."""
        since = 18 if op_type in ("ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean") else 13
        if axes is None:
            return self.node(op_type, [value], rank, value[2], **attributes)
        if self.opset < since:
            return self.node(op_type, [value], rank, value[2], axes=axes, **attributes)
        return self.node(op_type, [value, self.constant(axes)], rank, value[2], **attributes)

    # Steps

    def step(self):
        value = self.random.choice(self.pool[-3:])
        steps = [self.gather, self.slice, self.concat, self.rank, self.arithmetic, self.arithmetic, self.arithmetic, self.cast, self.compare,
                 self.reduce, self.shape, self.make, self.unary, self.select, self.reshape]
        made = self.random.choice(steps)(value)
        if made is not None:
            self.pool.append(made)

    def shape(self, value):
        choice, x = self.random.randrange(4), self.random.choice(self.inputs)
        if choice == 0:
            return self.node("Size", [x], 0, "l")
        bounds = {}
        if self.opset >= 15 and self.random.random() < 0.5:
            bounds = {key: self.random.choice([0, 1, -1, 2, -2, 5, -5]) for key in ("start", "end") if self.random.random() < 0.6}
        return self.node("Shape", [self.random.choice([x, value]) if choice == 1 else x], 1, "l", **bounds)

    def gather(self, value):
        if value[1] == 0:
            return None
        at = self.random.choice([0, 0, -1, 1, [0], [-1], [1, 0], [0, 0], [-1, 0, -1], [[0], [0]], []])
        at = self.constant(at, "l")
        if self.random.random() < 0.15 and value[1] == at[1]:
            return self.node("GatherElements", [value, at], at[1], value[2], axis=self.random.choice([0, -1]))
        return self.node("Gather", [value, at], value[1] - 1 + at[1], value[2], axis=self.random.choice([0, 0, -1, value[1] - 1]))

    def slice(self, value):
        if value[1] == 0:
            return None
        ends = [0, 1, -1, 2, -2, 3, -3, -5, 9, 2 ** 31 - 1, 2 ** 63 - 1, -2 ** 63]
        bounds = [self.constant([self.random.choice(ends)]) for _ in range(2)]
        rest = [self.constant([self.random.choice([0, 0, -1])]), self.constant([self.random.choice([1, 1, 1, 2, -1, -1, -2])])]
        return self.node("Slice", [value, *bounds, *rest[:self.random.randrange(3)]], value[1], value[2])

    def concat(self, value):
        parts = [each for each in self.pool if each[1] == 1 and each[2] == value[2]]
        if value[1] != 1:
            return None
        others = [self.random.choice(parts) if self.random.random() < 0.6 else self.constant([self.number() for _ in range(self.random.randrange(3))], value[2])
                  for _ in range(self.random.randrange(1, 3))]
        return self.node("Concat", self.random.sample([value, *others], 1 + len(others)), 1, value[2], axis=self.random.choice([0, -1]))

    def rank(self, value):
        if self.random.random() < 0.5 and value[1] > 0:
            return self.axes("Squeeze", value, self.random.choice([None, [0], [-1]]), value[1] - 1)
        return self.axes("Unsqueeze", value, self.random.choice([[0], [-1], [0] if value[1] == 0 else [1]]), value[1] + 1)

    def reshape(self, value):
        choice = self.random.randrange(4)
        if choice == 0 and value[1] == 2:
            return self.node("Transpose", [value], 2, value[2], **self.random.choice([{}, {"perm": [1, 0]}, {"perm": [0, 1]}]))
        if choice == 1:
            return self.node("Flatten", [value], 2, value[2], axis=self.random.choice([0, 1, -1][:1 + 2 * (value[1] > 0)]))
        if choice == 2 and value[1]:
            return self.node("Tile", [value, self.constant([self.random.choice([1, 2, 0])] * value[1])], value[1], value[2])
        dims = self.random.choice([[-1], [1, -1], [-1, 1], [], [1], [2, -1], [0], [1, 1, -1]])
        return self.node("Reshape", [value, self.constant(dims)], len(dims), value[2])

    def arithmetic(self, value):
        if value[2] == "b":
            return self.node(self.random.choice(["And", "Or", "Xor"]), [value, self.like(value)], value[1], "b")
        op_type = self.random.choice(["Add", "Sub", "Mul", "Div", "Div", "Mod", "Max", "Min", "Max", "Pow"] if value[2] in "li" else
                                     ["Add", "Sub", "Mul", "Div", "Div", "Max", "Min"])
        if op_type in ("Max", "Min") and self.opset < 12 and value[2] in "lih":
            return None
        if op_type == "Pow":
            other = self.constant(self.random.choice([0, 1, 2, 3]), value[2])
        elif op_type in ("Div", "Mod"):
            other = self.constant(self.random.choice([2, 3, 1, 4, -2, 7, -1]), value[2])
        else:
            other = self.like(value)
        operands = [value, other] if self.random.random() < 0.75 or op_type in ("Div", "Mod", "Pow") else [other, value]
        return self.node(op_type, operands, max(value[1], other[1]), value[2])

    def unary(self, value):
        if value[2] == "b":
            return self.node("Not", [value], value[1], "b")
        choice = self.random.choice(["Neg", "Abs", "Identity", "Clip", "CumSum"] + (["Floor", "Ceil", "Sqrt", "Round"] if value[2] in "fd" else []))
        if choice == "Clip":
            if self.opset < 12 and value[2] != "f":
                return None
            bounds = [self.constant(each, value[2]) if self.random.random() < 0.7 else None for each in (self.random.choice([0, 1, 2]),
                self.random.choice([3, 5, 1]))]
            return self.node("Clip", [value, *bounds], value[1], value[2])
        if choice == "CumSum":
            return self.node("CumSum", [value, self.constant(0)], value[1], value[2]) if value[1] and value[2] != "h" else None
        return self.node(choice, [value], value[1], value[2])

    def cast(self, value):
        kind = self.random.choice("llliifdhb" if value[2] in "li" else "lllif")
        return self.node("Cast", [value], value[1], kind, to=TYPES[kind][0])

    def compare(self, value):
        if value[2] == "b":
            return None
        op_type = self.random.choice(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"] if self.opset >= 16 else ["Equal", "Less",
            "Greater"])
        other = self.like(value)
        return self.node(op_type, [value, other], max(value[1], other[1]), "b")

    def select(self, value):
        tests = [each for each in self.pool if each[2] == "b"]
        if not tests:
            return None
        other = self.like(value)
        test = self.random.choice(tests)
        return self.node("Where", self.random.choice([[test, value, other], [test, other, value]]), max(value[1], other[1], test[1]), value[2])

    def reduce(self, value):
        if value[1] == 0 or value[2] in "bh":
            return None
        op_type, keeps = self.random.choice(["ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean"]), self.random.random() < 0.5
        attributes = {} if keeps and self.random.random() < 0.5 else {"keepdims": int(keeps)}
        axes = self.random.choice([None, [0], [-1]])
        rank = value[1] if keeps else value[1] - 1 if axes else 0
        if self.opset >= 18 and self.random.random() < 0.2:
            attributes["noop_with_empty_axes"] = self.random.choice([0, 1])
            axes = self.random.choice([None, []])
            rank = value[1] if attributes["noop_with_empty_axes"] or keeps else 0
        return self.axes(op_type, value, axes, rank, **attributes)

    def make(self, value):
        choice = self.random.randrange(5)
        if choice == 0 and value[2] == "l" and value[1] == 0:
            start, step = self.constant(self.random.choice([0, 1, -1])), self.constant(self.random.choice([1, 1, 2, -1]))
            return self.node("Range", [start, value, step] if self.random.random() < 0.7 else [value, start, step], 1, "l")
        if choice == 1 and value[2] == "l" and value[1] == 1:
            length = self.random.choice([value, self.node("Shape", [value], 1, "l")])
            fill = self.random.choice([np.array([1]), np.array([0]), np.array([-1]), np.array([2], np.int32), None])
            kind = "f" if fill is None else "l" if fill.dtype == np.int64 else "i"
            attributes = {} if fill is None else {"value": numpy_helper.from_array(fill, "value")}
            made = self.node("ConstantOfShape", [length], 1 if length != value else 9, kind, **attributes)
            return made if made[1] < 9 else None
        if choice == 2:
            dims = self.random.choice([[2], [1], [3], [1, 1], [2, 1], []])
            return self.node("Expand", [value, self.constant(dims)], max(value[1], len(dims)), value[2])
        if choice == 3 and value[2] in "lib" and value[1]:
            return self.node("NonZero", [value], 2, "l")
        if choice == 4 and value[1] == 1:
            at = self.constant([[self.random.choice([0, -1])]])
            return self.node("ScatterND", [value, at, self.constant([self.number()], value[2])], 1, value[2]) if self.opset >= 11 else None
        return None

    def consumers(self):
        """Nodes whose dimensions or elements depend on the last value."""
        value = self.result
        if value[2] != "l" or value[1] != 1:
            return []
        x = self.inputs[0]
        choice = self.random.randrange(6)
        if choice == 0:
            return [self.node("Reshape", [x, value], 0, "f")[0]]
        if choice == 1:
            return [self.node("ConstantOfShape", [value], 0, "f")[0]]
        if choice == 2:
            return [self.node("Expand", [x, value], 0, "f")[0]]
        if choice == 3:
            return [self.node("Slice", [x, self.constant([0]), self.node("Slice", [value, self.constant([0]), self.constant([1])], 1, "l")], 0,
                              "f")[0]]
        return []

    # Models

    def infos(self):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for (name, _, _), dims in zip(self.inputs, self.dims)]

    def model(self):
        return make_model(self.nodes, self.infos(), self.outputs, self.weights, self.opset)

    def feeds(self, seed, sizes):
        """Inputs with a size of `sizes` for each name of a dimension."""
        drawn = random.Random(seed)
        named = {}
        for dims in self.dims:
            for dim in dims:
                if isinstance(dim, str):
                    named.setdefault(dim, drawn.choice(sizes))
        return {name: np.arange(np.prod([named.get(d, d) for d in dims], dtype=np.int64), dtype=np.float32).reshape([named.get(d, d) for d in dims])
                for (name, _, _), dims in zip(self.inputs, self.dims)}
