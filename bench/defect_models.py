"""Random small models at the borders of what compilers match: ranks 0 to 5, dimensions of 1, negative axes, every element type,
constants as initializers or nodes, empty lists of axes, operands with more dimensions than a value."""

import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.float16): TensorProto.FLOAT16,
         np.dtype(np.int32): TensorProto.INT32, np.dtype(np.int64): TensorProto.INT64, np.dtype(np.bool_): TensorProto.BOOL,
         np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8}
NUMPY = {element: dtype for dtype, element in TYPES.items()}
UNARY = "Relu Neg Abs Sigmoid Tanh Erf Softplus LeakyRelu Elu HardSigmoid HardSwish Identity Sign Floor Ceil Round Cos Dropout Exp Mish Selu Celu".split()
BINARY = "Add Sub Mul Div Min Max".split()
REDUCTIONS = "Sum Mean Max Min Prod L1 L2 SumSquare LogSumExp".split()
OPSETS = (13, 14, 16, 17, 18, 19, 20, 21, 22)


class Chain:
    """A model under construction: each node is evaluated as it is added, and left out if onnx.reference cannot."""

    def __init__(self, seed):
        self.rng, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.dtype = np.dtype(self.rng.choice([np.float32] * 6 + [np.float64, np.float16, np.int32, np.int64]))
        self.opset = self.rng.choice(OPSETS)
        self.values, self.nodes, self.weights, self.inputs, self.used = {}, [], [], [], set()

    def draw(self, shape, dtype):
        if dtype.kind in "iu":
            return self.numbers.integers(-4 if dtype.kind == "i" else 0, 5, shape).astype(dtype)
        if dtype.kind == "b":
            return self.numbers.integers(0, 2, shape).astype(bool)
        return np.asarray(self.numbers.standard_normal(shape)).astype(dtype)

    def fresh(self, prefix):
        return f"{prefix}{len(self.values)}"

    def input(self, shape):
        name = self.fresh("x")
        self.values[name] = self.draw(shape, self.dtype)
        self.inputs.append(name)
        return name

    def constant(self, array, dtype=None):
        array = np.asarray(array)
        array = array.astype(dtype or (self.dtype if array.dtype.kind == "f" else array.dtype))
        name = self.fresh("w")
        self.values[name] = array
        tensor = numpy_helper.from_array(array, name)
        if self.rng.random() < 0.7:
            self.weights.append(tensor)
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def add(self, op_type, inputs, outputs=1, **attributes):
        """Appends a node; returns its outputs. Raises what onnx.reference raises."""
        base = len(self.values)
        names = [f"v{base + i}" for i in range(outputs)]
        node = helper.make_node(op_type, inputs, names, **{key: value for key, value in attributes.items() if value is not None})
        given = [name for name in dict.fromkeys(inputs) if name]
        infos = [helper.make_tensor_value_info(name, TYPES[self.values[name].dtype], self.values[name].shape) for name in given]
        graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info(name) for name in names])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        with np.errstate(all="ignore"):
            results = [np.asarray(each) for each in ReferenceEvaluator(model).run(None, {name: self.values[name] for name in given})]
        for info, result in zip(inferred.graph.output, results):
            if TYPES[result.dtype] != info.type.tensor_type.elem_type or result.size > 4096 or not np.isfinite(result.astype(float)).all() or \
                    np.abs(result.astype(float)).max(initial=0) > 1e4:
                raise ValueError("unwanted result")
        self.nodes.append(node)
        self.used.update(given)
        self.values.update(zip(names, results))
        return names if outputs > 1 else names[0]

    def pick(self):
        names = [name for name in self.values if name[0] != "w"]
        unused = [name for name in names if name not in self.used]
        return self.rng.choice((unused or names)[-3:] if self.rng.random() < 0.8 else names)

    def axis(self, rank):
        return self.rng.randrange(-rank, rank) if rank else 0

    def operand(self, shape, special=0.4):
        """A constant that broadcasts with the shape, or beyond it."""
        dims = [d if self.rng.random() < 0.6 else 1 for d in shape][self.rng.randrange(len(shape) + 1):]
        if self.rng.random() < 0.15:
            dims = [1] * (len(shape) - len(dims)) + dims
            dims = [self.rng.choice([1, 1, 2])] + dims
        if self.rng.random() < special:
            return self.constant(np.full(dims, self.rng.choice([0.0, 1.0, -1.0, 2.0, 0.5])))
        values = self.numbers.standard_normal(dims) * (1 if self.dtype.kind == "f" else 3)
        return self.constant(values)

    def model(self):
        unused = [name for node in self.nodes if node.op_type != "Constant" for name in node.output if name not in self.used]
        extra = [name for node in self.nodes if node.op_type != "Constant" for name in node.output if name in self.used and self.rng.random() < 0.08]
        info = lambda name: helper.make_tensor_value_info(name, TYPES[self.values[name].dtype], self.values[name].shape)
        graph = helper.make_graph(self.nodes, "random", [info(name) for name in self.inputs], [info(name) for name in unused + extra], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8 if self.opset < 21 else 10)


def elementwise(c, x):
    shape = c.values[x].shape
    if c.rng.random() < 0.4:
        return c.add(c.rng.choice(UNARY), [x])
    other = c.operand(shape)
    if c.rng.random() < 0.25:
        other = c.rng.choice([name for name in c.values if c.values[name].dtype == c.values[x].dtype])
    return c.add(c.rng.choice(BINARY), [x, other] if c.rng.random() < 0.6 else [other, x])


def layout(c, x):
    value, rng = c.values[x], c.rng
    rank, axis = value.ndim, c.axis(value.ndim)
    size = value.shape[axis] if rank else 1
    factors = [d for d in range(1, value.size + 1) if value.size % d == 0] or [0]
    shape = rng.choice([[-1], [0] * max(rank - 1, 0) + [-1], [rng.choice(factors), -1], [1, *value.shape], [*value.shape, 1], [-1, 1],
                        [rng.choice(factors), 1, -1], list(value.shape[::-1])])
    axes = sorted(rng.sample(range(-rank - 1, rank + 1), 1))
    start, end, step = rng.randrange(-size - 1, size + 2), rng.randrange(-size - 2, size + 3), rng.choice([1, 1, 1, -1, 2, -2])
    pads = [rng.choice([0, 0, 1, 2, -1]) for _ in range(2 * rank)]
    at = rng.randrange(size + 1) if size else 0
    if rng.random() < 0.3:
        start, end, step = rng.choice([(0, 2 ** 63 - 1, 1), (-1, -2 ** 63, -1), (0, 2 ** 31 - 1, 1), (0, -1, 1), (size, 0, -1)])
    ones = [i for i, d in enumerate(value.shape) if d == 1]
    choices = {
        "Transpose": lambda: c.add("Transpose", [x], perm=rng.choice([None, rng.sample(range(rank), rank)])),
        "Reshape": lambda: c.add("Reshape", [x, c.ints(*shape)], allowzero=rng.choice([None, 0])),
        "Flatten": lambda: c.add("Flatten", [x], axis=rng.randrange(-rank, rank + 1)),
        "Unsqueeze": lambda: c.add("Unsqueeze", [x, c.ints(*axes)]),
        "Squeeze": lambda: c.add("Squeeze", [x] if rng.random() < 0.4 or not ones else [x, c.ints(rng.choice(ones) - rng.choice([0, rank]))]),
        "Slice": lambda: c.add("Slice", [x, c.ints(start), c.ints(end), c.ints(axis), c.ints(step)][:rng.choice([5, 5, 4])]),
        "Pad": lambda: c.add("Pad", [x, c.ints(*pads)] + ([c.constant(np.array(rng.choice([0.0, 1.0])))] if rng.random() < 0.5 else []),
                             mode=rng.choice([None, "constant", "edge", "reflect"])),
        "Gather": lambda: c.add("Gather", [x, c.constant(np.array(rng.choice([at - size, [at - size], [[0, -1]], -1]), rng.choice([np.int64, np.int32])))],
                                axis=axis),
        "Concat": lambda: c.add("Concat", [x, x, c.operand(value.shape)][:rng.choice([1, 2, 3])], axis=axis),
        "Split": lambda: c.add("Split", [x, c.ints(at, size - at)], outputs=2, axis=axis)[rng.randrange(2)],
        "Expand": lambda: c.add("Expand", [x, c.ints(*[d if d > 1 else rng.choice([1, 2]) for d in ([1] * rng.randrange(2) + list(value.shape))])]),
        "Tile": lambda: c.add("Tile", [x, c.ints(*[rng.choice([1, 1, 2]) for _ in range(rank)])]),
        "DepthToSpace": lambda: c.add("DepthToSpace", [x], blocksize=rng.choice([1, 2]), mode=rng.choice(["DCR", "CRD"])),
        "SpaceToDepth": lambda: c.add("SpaceToDepth", [x], blocksize=rng.choice([1, 2])),
        "Trilu": lambda: c.add("Trilu", [x, c.constant(np.array(rng.randrange(-2, 3)))], upper=rng.randrange(2)),
        "CumSum": lambda: c.add("CumSum", [x, c.constant(np.array(axis))], exclusive=rng.randrange(2), reverse=rng.randrange(2)),
        "TopK": lambda: c.add("TopK", [x, c.ints(max(1, at))], outputs=2, axis=axis, largest=rng.randrange(2))[0],
        "Shape": lambda: c.add("Cast", [c.add("Shape", [x], start=rng.choice([None, -1]), end=rng.choice([None, -1]))], to=TYPES[c.dtype]),
        "Cast": lambda: c.add("Cast", [c.add("Cast", [x], to=rng.choice(list(NUMPY)))], to=TYPES[c.dtype]),
        "GatherElements": lambda: c.add("GatherElements", [x, c.constant(c.numbers.integers(-size, size, value.shape))], axis=axis),
        "Einsum": lambda: c.add("Einsum", [x, x], equation=rng.choice(["ij,kj->ik", "ij,ij->i", "ij,ik->kj", "ii,jk->k", "bij,bkj->bik", "ij,ij->", "ij,ij->ji"])),
    }
    return choices[rng.choice(list(choices))]()


def reduce(c, x):
    rank, rng = c.values[x].ndim, c.rng
    kind = rng.choice(["Reduce", "Reduce", "ArgMax", "ArgMin", "Softmax", "LogSoftmax"])
    if kind.startswith("Arg"):
        y = c.add(kind, [x], axis=c.axis(rank), keepdims=rng.randrange(2), select_last_index=rng.randrange(2))
        return c.add("Cast", [y], to=TYPES[c.dtype])
    if kind != "Reduce":
        return c.add(kind, [x], axis=rng.choice([None, c.axis(rank)]))
    axes = [i - rng.choice([0, rank]) for i in rng.sample(range(rank), rng.randrange(rank + 1))]
    op_type, keepdims, noop = "Reduce" + rng.choice(REDUCTIONS), rng.choice([None, 0, 1]), rng.choice([None, 0, 1])
    if c.opset >= (13 if op_type == "ReduceSum" else 18):
        return c.add(op_type, [x] + ([c.ints(*axes)] if axes or rng.random() < 0.5 else []), keepdims=keepdims, noop_with_empty_axes=noop)
    return c.add(op_type, [x], keepdims=keepdims, axes=axes or None)


def product(c, x):
    value, rng = c.values[x], c.rng
    weight = lambda *dims: c.constant(c.numbers.standard_normal(dims))
    if value.ndim == 2 and rng.random() < 0.5:
        left, right, n = rng.randrange(2), rng.randrange(2), rng.choice([1, 2, 3])
        m, k = value.shape[::-1] if left else value.shape
        bias = [] if rng.random() < 0.3 else [weight(*rng.choice([[], [1], [n], [1, n], [m, 1], [m, n]]))]
        return c.add("Gemm", [x, weight(*([n, k] if right else [k, n])), *bias], transA=left, transB=right, alpha=rng.choice([None, 0.5, 2.0, 0.0]),
                     beta=rng.choice([None, 0.5, 0.0]))
    if rng.random() < 0.7:
        k, batch = value.shape[-1], rng.choice([[], [], [1], [2, 1], list(value.shape[:-2])])
        y = c.add("MatMul", [x, weight(*rng.choice([[k], [*batch, k, rng.choice([1, 2, 3])]]))])
    else:
        k, batch = value.shape[-2], rng.choice([[], [], [1], [2, 1], list(value.shape[:-2])])
        y = c.add("MatMul", [weight(*rng.choice([[k], [*batch, rng.choice([1, 2, 3]), k]])), x])
    return c.add(rng.choice(["Add", "Add", "Mul", "Div"]), [y, c.operand(c.values[y].shape, 0.1)]) if rng.random() < 0.6 else y


def image(c, x):
    value, rng = c.values[x], c.rng
    n = value.ndim - 2
    channels = value.shape[1]
    weight = lambda *dims: c.constant(c.numbers.standard_normal(dims))
    kernel = [rng.choice([1, 2, 3]) for _ in range(n)]
    pads = rng.choice([None, None, [rng.choice([0, 1]) for _ in range(2 * n)]])
    auto = None if pads else rng.choice([None, None, "SAME_UPPER", "SAME_LOWER", "VALID"])
    common = {"pads": pads, "auto_pad": auto, "strides": rng.choice([None, [rng.choice([1, 2]) for _ in range(n)]]),
              "dilations": rng.choice([None, None, None, [rng.choice([1, 2]) for _ in range(n)]])}
    pool = {**common, "kernel_shape": kernel, "ceil_mode": rng.choice([None, None, 1])}
    if c.opset < 19:
        pool_average = {key: item for key, item in pool.items() if key != "dilations"}
    else:
        pool_average = pool
    per_channel = lambda: weight(channels)
    positive = lambda: c.constant(np.abs(c.numbers.standard_normal(channels)) + 0.3)
    group = rng.choice([1, channels])
    filters = channels * rng.choice([1, 2]) if group > 1 else rng.choice([1, 2, 3])
    bias = lambda count: [weight(count)] if rng.random() < 0.5 else []
    choices = {
        "Conv": lambda: c.add("Conv", [x, weight(filters, channels // group, *kernel), *bias(filters)], group=group, **common),
        "ConvTranspose": lambda: c.add("ConvTranspose", [x, weight(channels, filters // group, *kernel), *bias(filters)], group=group, **common),
        "MaxPool": lambda: c.add("MaxPool", [x], **pool),
        "AveragePool": lambda: c.add("AveragePool", [x], count_include_pad=rng.choice([None, 1]), **pool_average),
        "BatchNormalization": lambda: c.add("BatchNormalization", [x, per_channel(), per_channel(), per_channel(), positive()]),
        "InstanceNormalization": lambda: c.add("InstanceNormalization", [x, per_channel(), per_channel()]),
        "Global": lambda: c.add(rng.choice(["GlobalAveragePool", "GlobalMaxPool"]), [x]),
        "PRelu": lambda: c.add("PRelu", [x, c.operand(value.shape)]),
        "Pad": lambda: c.add("Pad", [x, c.ints(*([0, 0] + [1] * n) * 2)]),
    }
    return choices[rng.choice(["Conv", "Conv", "Conv", *choices])]()


def idiom(c, x):
    """What compilers fuse, sometimes with another axis, exponent or shape than they expect."""
    value, rng = c.values[x], c.rng
    rank = value.ndim
    number = lambda v, dims=(): c.constant(np.full(rng.choice([dims, dims, (1,)]), v))
    scalar = lambda v: c.constant(np.array(v))
    choice = rng.randrange(9)
    if choice == 0:
        e = c.add("Add", [c.add("Erf", [c.add("Div", [x, number(2 ** 0.5)])]), number(1.0)])
        return c.add("Mul", [c.add("Mul", [x, e]), number(0.5)])
    if choice == 1:
        axes = rng.choice([[-1], [c.axis(rank)], [rank - 1]])
        mean = lambda v: c.add("ReduceMean", [v, c.ints(*axes)]) if c.opset >= 18 else c.add("ReduceMean", [v], axes=axes)
        d = c.add("Sub", [x, mean(x)])
        root = c.add("Sqrt", [c.add("Add", [mean(c.add("Pow", [d, number(2.0)])), number(1e-3)])])
        shape = rng.choice([value.shape[-1:], value.shape, value.shape[1:], value.shape[-1:] if rank < 2 else (value.shape[-2], 1), ()])
        return c.add("Add", [c.add("Mul", [c.add("Div", [d, root]), c.constant(c.numbers.standard_normal(shape))]),
                             c.constant(c.numbers.standard_normal(rng.choice([shape, value.shape[-1:]])))])
    if choice == 2:
        return c.add("Clip", [c.add("Relu", [x]), scalar(rng.choice([0.0, -1.0, 1.0])), scalar(rng.choice([6.0, 2.0, -1.0]))][:rng.choice([2, 3, 3])])
    if choice == 3:
        return c.add("Clip", [c.add("Clip", [x, scalar(-1.0), scalar(2.0)]), scalar(rng.choice([0.0, 3.0])), scalar(rng.choice([1.0, 4.0]))])
    if choice == 4:
        test = c.add(rng.choice(["Less", "Greater", "Equal"]), [x, c.operand(value.shape)])
        return c.add("Where", [c.add("Not", [test]) if rng.random() < 0.6 else test, x, c.operand(value.shape)])
    if choice == 5:
        return c.add("Mul", [x, c.add("Sigmoid", [c.add("Mul", [x, number(1.702)]) if rng.random() < 0.5 else x])])
    if choice == 6:
        return c.add("Mul", [c.add("Div", [number(1.0, rng.choice([(), (1,) * rank, (2,)])), c.add("Exp", [x])]), c.operand(value.shape)])
    if choice == 7:
        return c.add("Pow", [x, c.constant(np.full(rng.choice([(), (1,), (1,) * (rank + 1)]), rng.choice([0.0, 1.0, 2.0, 3.0])))])
    scale = scalar(0.05)
    zero = [c.constant(np.array(3), np.uint8)] if rng.random() < 0.7 else []
    return c.add("DequantizeLinear", [c.add("QuantizeLinear", [x, scale, *zero]), scale, *zero])


def generate(seed):
    c = Chain(seed)
    is_image = c.rng.random() < 0.35 and c.dtype.kind == "f"
    sizes = [1, 1, 2, 3, 4] if not is_image else [4, 5, 6]
    rank = c.rng.choice([3, 4, 4, 5]) if is_image else c.rng.choice([0, 1, 2, 2, 3, 3, 4, 5])
    c.input([c.rng.choice([1, 2]), c.rng.choice([1, 2, 4])] + [c.rng.choice(sizes) for _ in range(rank - 2)] if rank > 1 else [3] * rank)
    wanted, attempts = c.rng.randrange(2, 7), 0
    while wanted and attempts < 60:
        attempts += 1
        state = len(c.nodes), len(c.weights), dict(c.values), set(c.used)
        try:
            c.rng.choice([elementwise, elementwise, layout, layout, layout, reduce, product, idiom] + [image] * (5 * is_image))(c, c.pick())
            wanted -= 1
        except Exception:  # of onnx: not a node of the standard, or one that onnx.reference lacks
            del c.nodes[state[0]:], c.weights[state[1]:]
            c.values, c.used = state[2], state[3]
    model = c.model()
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception:
        model.graph.ClearField("node")
    return model if any(node.op_type != "Constant" for node in model.graph.node) else generate(seed + 1000003)
