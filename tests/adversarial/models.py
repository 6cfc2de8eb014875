"""Blocks of random models (model_builder.py): structures on which rules fire, and what stands between them. Each block takes values of the
builder's pool and adds its results to it; it returns false if no value fits."""

import numpy as np
from model_builder import FLOATS, Builder, Value
from onnx import helper, numpy_helper

UNARY = ("Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Exp", "Erf", "Softplus", "LeakyRelu", "Elu", "HardSigmoid", "Softsign",
         "Identity", "Sin", "Cos", "Atan", "Selu")
PARTIAL = ("Log", "Sqrt", "Reciprocal")  # undefined or infinite at some numbers
STEPS = ("Floor", "Ceil", "Round", "Sign")
BINARY = ("Add", "Add", "Sub", "Mul", "Mul", "Min", "Max", "Div")



def pick_image(b):
    """Returns a value with batch, a known number of channels, and two more dimensions; None if there is none."""
    x = b.pick(rank=4)
    return x if x is not None and isinstance(x.dims[1], int) and 0 not in x.dims[1:] else None


def window(d, kernel, pad, stride):
    """The size behind a window of a dimension."""
    change = 2 * pad - kernel
    if isinstance(d, int):
        return (d + change) // stride + 1
    return d if (change, stride) == (-1, 1) else f"({d}{change:+d})//{stride}+1"


def has_room(x, kernel, pad):
    return all(not isinstance(d, int) or d == 0 or d + 2 * pad >= kernel for d in x.dims[2:])


def conv(b, x, channels, kernel, pad, stride=1, group=1, bias=None):
    weight = b.weight([channels, x.dims[1] // group, kernel, kernel])
    arguments = [x, weight] + ([b.weight([channels])] if (b.rng.random() < 0.5 if bias is None else bias) else [])
    dims = [x.dims[0], channels, *(window(d, kernel, pad, stride) for d in x.dims[2:])]
    return b.node("Conv", arguments, dims, kernel_shape=[kernel] * 2, pads=[pad] * 4, strides=[stride] * 2, group=group)


def batch_norm(b, x):
    c = x.dims[1]
    parts = [b.weight([c]), b.weight([c]), b.weight([c]), b.weight([c], positive=True)]
    return b.node("BatchNormalization", [x, *parts], x.dims, epsilon=b.rng.choice([1e-5, 1e-3, 0.0]))


def image_conv(b):
    x = pick_image(b)
    if x is None:
        return False
    kernel = b.rng.choice([1, 1, 3, 3, 2, 5])
    pad = b.rng.choice([0, kernel // 2])
    if not has_room(x, kernel, pad):
        pad = kernel // 2 + 1
    channels = x.dims[1]
    group = b.rng.choice([1, 1, channels])
    y = conv(b, x, channels if group > 1 else b.size(), kernel, pad, b.rng.choice([1, 1, 2]), group)
    b.pool.append(batch_norm(b, y) if b.rng.random() < 0.4 else y)
    return True


def image_branches(b):
    """Parallel convolutions, norms and the identity, summed or joined."""
    x = pick_image(b)
    if x is None:
        return False
    channels, stride = b.rng.choice([x.dims[1], b.size()]), b.rng.choice([1, 1, 2])
    is_depthwise = b.rng.random() < 0.25
    if is_depthwise:
        channels = x.dims[1]
    branches = []
    for _ in range(b.rng.randrange(2, 4)):
        kernel = b.rng.choice([1, 3, 5])
        y = x
        if stride != 1 or channels != x.dims[1] or b.rng.random() < 0.75:
            y = conv(b, x, channels, kernel, kernel // 2, stride, channels if is_depthwise else 1)
        if b.rng.random() < 0.5:
            y = batch_norm(b, y)
        branches.append(y)
    dims = list(branches[0].dims)
    if b.rng.random() < 0.25:
        dims[1] *= len(branches)
        b.pool.append(b.node("Concat", branches, dims, axis=1))
    else:
        total = branches[0]
        for each in branches[1:]:
            total = b.node("Add", b.rng.sample([total, each], 2), dims)
        b.pool.append(total)
    return True


def image_norm(b):
    x = pick_image(b)
    if x is None:
        return False
    c = x.dims[1]
    choice = b.rng.randrange(4)
    if choice == 0:
        y = batch_norm(b, x)
    elif choice == 1:
        y = b.node(b.rng.choice(["Mul", "Add", "Sub", "Div"]), [x, b.weight([c, 1, 1], positive=True)], x.dims)
    elif choice == 2:
        y = b.node("InstanceNormalization", [x, b.weight([c]), b.weight([c])], x.dims, epsilon=1e-3)
    else:
        y = b.node("PRelu", [x, b.weight([c, 1, 1])], x.dims)
    b.pool.append(y)
    return True


def image_pool(b):
    x = pick_image(b)
    if x is None:
        return False
    choice, n, c = b.rng.randrange(6), *x.dims[:2]
    if choice == 0:
        y = b.node(b.rng.choice(["GlobalAveragePool", "GlobalMaxPool"]), [x], [n, c, 1, 1])
    elif choice == 1:
        y = b.reduce("ReduceMean", x, [2, 3], b.rng.random() < 0.5)
    elif choice == 2:
        dims = [n, c, *(2 * d if isinstance(d, int) else f"2*({d})" for d in x.dims[2:])]
        scales = b.constant([1, 1, 2, 2])
        b.weights[-1].CopyFrom(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), scales.name))
        y = b.node("Resize", [x, None, scales], dims, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    elif choice == 3:
        dims = [n, c, *(d + 2 if isinstance(d, int) else f"{d}+2" for d in x.dims[2:])]
        y = b.node("Pad", [x, b.ints(0, 0, 1, 1, 0, 0, 1, 1)], dims, mode="constant")
    else:
        kernel, stride = b.rng.choice([2, 3]), b.rng.choice([1, 2])
        pad = b.rng.choice([0, kernel // 2])
        if not has_room(x, kernel, pad):
            return False
        dims = [n, c, *(window(d, kernel, pad, stride) for d in x.dims[2:])]
        attributes = {"kernel_shape": [kernel] * 2, "pads": [pad] * 4, "strides": [stride] * 2}
        if choice == 4:
            attributes["count_include_pad"] = b.rng.randrange(2)
        y = b.node("AveragePool" if choice == 4 else "MaxPool", [x], dims, **attributes)
    b.pool.append(y)
    return True


def product(b):
    """One to three products in a row, with bias or scaling between them."""
    x = b.pick()
    if x is None or len(x.dims) not in (2, 3) or not isinstance(x.dims[-1], int):
        return False
    for _ in range(b.rng.randrange(1, 4)):
        width = b.size()
        dims = [*x.dims[:-1], width]
        if len(x.dims) == 2 and b.rng.random() < 0.3:
            turned = b.rng.randrange(2)
            arguments = [x, b.weight([width, x.dims[-1]] if turned else [x.dims[-1], width])]
            x = b.node("Gemm", arguments + ([b.weight([width])] if b.rng.random() < 0.6 else []), dims, transB=turned,
                       alpha=b.rng.choice([1.0, 1.0, 0.5]))
        else:
            x = b.node("MatMul", [x, b.weight([x.dims[-1], width])], dims)
        if b.rng.random() < 0.4:
            x = b.node(b.rng.choice(["Add", "Mul", "Sub"]), b.rng.sample([x, b.weight([width])], 2), dims)
        if b.rng.random() < 0.3:
            x = b.node(b.rng.choice(["Mul", "Div"]), [x, b.number()], dims)
    b.pool.append(x)
    return True


def shared_products(b):
    """Products with one input (as queries, keys and values), or an adapter beside its layer."""
    x = b.pick()
    if x is None or len(x.dims) not in (2, 3) or not isinstance(x.dims[-1], int):
        return False
    width, k = b.size(), x.dims[-1]
    dims = [*x.dims[:-1], width]
    left, right = (b.node("MatMul", [x, b.weight([k, width])], dims) for _ in range(2))
    if b.rng.random() < 0.4:
        rank = b.rng.choice([1, 2])
        low = b.node("MatMul", [x, b.weight([k, rank])], [*x.dims[:-1], rank])
        right = b.node("Mul", [b.node("MatMul", [low, b.weight([rank, width])], dims), b.number()], dims)
    choice = b.rng.randrange(3)
    if choice == 0:
        b.pool.append(b.node("Add", [left, right], dims))
    elif choice == 1:
        b.pool.append(b.node("Concat", [left, right], [*x.dims[:-1], 2 * width], axis=-1))
    else:
        b.pool += [left, right]
    return True


def attention(b):
    x = b.pick(rank=3)
    if x is None or not isinstance(x.dims[-1], int):
        return False
    n, s, k = x.dims
    heads, depth = b.rng.choice([1, 2]), b.rng.choice([1, 2, 3])
    width = heads * depth
    parts = []
    for _ in range(3):
        y = b.node("MatMul", [x, b.weight([k, width])], [n, s, width])
        if b.rng.random() < 0.5:
            y = b.node("Add", [y, b.weight([width])], y.dims)
        y = b.reshape(y, [0, 0, heads, depth], [n, s, heads, depth])
        parts.append(b.node("Transpose", [y], [n, heads, s, depth], perm=[0, 2, 1, 3]))
    q, key, v = parts
    turned = b.node("Transpose", [key], [n, heads, depth, s], perm=[0, 1, 3, 2])
    scale, where = b.constant(b.rng.choice([0.125, depth ** -0.5, 1.0])), b.rng.randrange(3)
    if where == 0:
        q = b.node("Mul", [q, scale], q.dims)
    scores = b.node("MatMul", [q, turned], [n, heads, s, s])
    if where == 1:
        scores = b.node(b.rng.choice(["Mul", "Div"]), [scores, scale], scores.dims)
    weights = b.node("Softmax", [scores], scores.dims, axis=-1)
    y = b.node("MatMul", [weights, v], [n, heads, s, depth])
    y = b.node("Transpose", [y], [n, s, heads, depth], perm=[0, 2, 1, 3])
    b.pool.append(b.reshape(y, [0, 0, width], [n, s, width]))
    return True


def row_norm(b):
    """A norm of rows: ONNX's, or composed of its parts, whole or in float32 between casts."""
    x = b.pick()
    if x is None or len(x.dims) < 2 or not isinstance(x.dims[-1], int) or x.dims[-1] == 0:
        return False
    width, last = x.dims[-1], len(x.dims) - 1
    rows = [*x.dims[:-1], 1]
    choice = b.rng.randrange(4)
    if choice == 0 and b.opset >= 17:
        b.pool.append(b.node("LayerNormalization", [x, b.weight([width]), b.weight([width])], x.dims, axis=-1, epsilon=1e-3))
        return True
    centered = x
    if choice == 1:
        centered = b.node("Sub", [x, b.reduce("ReduceMean", x, [last], True)], x.dims)
    square = b.node("Mul", [centered, centered], x.dims) if b.rng.random() < 0.5 else b.node("Pow", [centered, b.constant(2)], x.dims)
    mean = b.node("Add", [b.reduce("ReduceMean", square, [last], True), b.constant(1e-2)], rows)
    root = b.node("Sqrt", [mean], rows)
    y = b.node("Div", [centered, root], x.dims) if b.rng.random() < 0.6 else b.node(
        "Mul", [centered, b.node("Reciprocal", [root], rows)], x.dims)
    b.pool.append(b.node("Mul", [y, b.weight([width])], x.dims) if b.rng.random() < 0.7 else y)
    return True


def reductions(b):
    x = b.pick()
    if x is None or len(x.dims) < 2:
        return False
    axis = b.rng.randrange(len(x.dims))
    op_type = b.rng.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceSumSquare", "Softmax", "LogSoftmax"])
    if op_type in ("ReduceMax", "ReduceMin", "ReduceMean") and not (isinstance(x.dims[axis], int) and x.dims[axis]):
        return False
    if op_type.endswith("Softmax"):
        b.pool.append(b.node(op_type, [x], x.dims, axis=axis))
        return True
    keepdims = b.rng.random() < 0.5
    y = b.reduce(op_type, x, [axis], keepdims)
    b.pool.append(y)
    if keepdims and b.rng.random() < 0.5:
        b.pool.append(b.node(b.rng.choice(["Add", "Sub", "Mul"]), [x, y], x.dims))
    return True


def layout(b):
    """Transposes, reshapes, slices, splits and joins."""
    x = b.pick()
    if x is None or not x.dims:
        return False
    axis = b.rng.randrange(len(x.dims))
    d, choice = x.dims[axis], b.rng.randrange(7)
    if choice == 0:
        order = list(range(len(x.dims)))
        b.rng.shuffle(order)
        y = b.node("Transpose", [x], [x.dims[i] for i in order], perm=order)
        if b.rng.random() < 0.3:
            y = b.node("Transpose", [y], x.dims, perm=[order.index(i) for i in range(len(order))])
        b.pool.append(y)
    elif choice == 1 and isinstance(d, int) and d > 1:
        first, second = b.split(x, axis, b.rng.randrange(1, d))
        if b.rng.random() < 0.4:
            b.pool.append(b.node("Concat", [first, second], x.dims, axis=axis))
        else:
            b.pool += [first, second]
    elif choice == 2:
        other = next((each for each in reversed(b.pool) if each.kind == "float" and each.dims == x.dims), x)
        if not isinstance(d, int):
            return False
        b.pool.append(b.node("Concat", [x, other], [2 * e if i == axis else e for i, e in enumerate(x.dims)], axis=axis))
    elif choice == 3 and isinstance(d, int) and d > 1:
        low = b.rng.randrange(d)
        arguments = [x, b.ints(low), b.ints(d), b.ints(axis)]
        b.pool.append(b.node("Slice", arguments, [d - low if i == axis else e for i, e in enumerate(x.dims)]))
    elif choice == 4 and isinstance(d, int) and d > 0:
        at = b.constant(np.int64(b.rng.randrange(d)), "int")
        b.pool.append(b.node("Gather", [x, at], [e for i, e in enumerate(x.dims) if i != axis], axis=axis))
    elif choice == 5 and len(x.dims) < 4:
        b.pool.append(b.node("Unsqueeze", [x, b.ints(axis)], [*x.dims[:axis], 1, *x.dims[axis:]]))
    elif choice == 6 and len(x.dims) > 2 and all(isinstance(e, int) and e > 0 for e in x.dims[-2:]):
        merged = x.dims[-2] * x.dims[-1]
        b.pool.append(b.reshape(x, [0] * (len(x.dims) - 2) + [merged], [*x.dims[:-2], merged]))
    else:
        return False
    return True


def elementwise(b):
    """A few functions of a value, binary ones with a value, a weight or a number."""
    x = b.pick()
    if x is None:
        return False
    for _ in range(b.rng.randrange(1, 4)):
        choice = b.rng.random()
        if choice < 0.35:
            x = b.node(b.rng.choice(UNARY), [x], x.dims)
        elif choice < 0.43:
            x = b.node(b.rng.choice(PARTIAL), [b.node("Abs", [x], x.dims) if b.rng.random() < 0.7 else x], x.dims)
        elif choice < 0.46:
            x = b.node(b.rng.choice(STEPS), [x], x.dims)
        elif choice < 0.52:
            x = b.node("Pow", [x, b.constant(b.rng.choice([2, 3]))], x.dims)
        elif choice < 0.58:
            x = b.node("Clip", [x, b.constant(b.rng.choice([0, -1])), b.constant(b.rng.choice([6, 1]))], x.dims)
        else:
            op_type, other = b.rng.choice(BINARY), b.like(x)
            x = b.node(op_type, [x, other] if op_type == "Div" or b.rng.random() < 0.7 else [other, x], x.dims)
    b.pool.append(x)
    return True


def identity_in_disguise(b):
    """Terms that are equal to their argument, everywhere or almost: x * 1, 1 / (1 / x), x / y * y, and twins to be shared."""
    x = b.pick()
    if x is None:
        return False
    unary = lambda op_type, value: b.node(op_type, [value], x.dims)
    binary = lambda op_type, left, right: b.node(op_type, [left, right], x.dims)
    other = b.like(x)
    b.pool.append(b.rng.choice([
        lambda: binary("Mul", x, b.constant(1)), lambda: binary("Add", x, b.constant(0)), lambda: binary("Div", x, b.constant(1)),
        lambda: binary("Mul", b.constant(1), unary("Neg", x)), lambda: unary("Reciprocal", unary("Reciprocal", x)),
        lambda: binary("Mul", binary("Div", x, other), other), lambda: binary("Div", binary("Mul", x, other), other),
        lambda: binary("Sub", binary("Add", x, other), other), lambda: unary("Neg", unary("Neg", x)),
        lambda: unary("Exp", unary("Log", x)), lambda: unary("Log", unary("Exp", x)), lambda: unary("Sqrt", binary("Mul", x, x)),
        lambda: binary("Mul", unary("Sqrt", x), unary("Sqrt", x)), lambda: binary("Sub", x, x), lambda: binary("Mul", x, b.constant(0)),
        lambda: binary("Max", x, x), lambda: binary("Add", unary("Tanh", x), unary("Tanh", x)),
        lambda: binary("Add", binary("Mul", x, other), binary("Mul", x, b.number())),
        lambda: binary("Mul", binary("Mul", x, b.number()), b.number()), lambda: binary("Div", binary("Div", x, b.number()), b.number()),
    ])())
    return True


def conditions(b):
    """Comparisons, logic and selection; integers."""
    x = b.pick()
    if x is None:
        return False
    y = b.like(x)
    kind = b.rng.choice(["Less", "Greater", "LessOrEqual", "GreaterOrEqual"])
    test = b.node(kind, [x, y], x.dims, "bool")
    choice = b.rng.randrange(4)
    if choice == 0:
        test = b.node("Not", [test], x.dims, "bool")
    elif choice == 1:
        test = b.node(b.rng.choice(["And", "Or", "Xor"]), [test, b.node("Greater", [x, b.number()], x.dims, "bool")], x.dims, "bool")
    if choice == 3:
        b.pool.append(b.node("Cast", [test], x.dims, to=FLOATS[b.dtype]))
    elif choice == 2 and b.rng.random() < 0.5:
        b.pool.append(test)
    else:
        b.pool.append(b.node("Where", [test, x, y] if b.rng.random() < 0.5 else [test, x, b.number()], x.dims))
    return True


def integers(b):
    """An integer input or the position of a maximum, with arithmetic; looked up in a table."""
    x = b.pick()
    if x is not None and x.dims and isinstance(x.dims[-1], int) and x.dims[-1] > 0 and b.rng.random() < 0.4:
        i = b.node("ArgMax", [x], [*x.dims[:-1], 1], "int", axis=len(x.dims) - 1, keepdims=1)
    else:
        i = b.input([b.dim("K"), b.size()], "int")
    if b.rng.random() < 0.5:
        i = b.node(b.rng.choice(["Add", "Mul"]), [i, b.constant(np.int64(b.rng.randrange(3)), "int")], i.dims, "int")
    b.pool.append(i if b.rng.random() < 0.3 else b.node("Cast", [i], i.dims, to=FLOATS[b.dtype]))
    return True


def opaque(b):
    """Operators without a definition."""
    x = b.pick()
    if x is None or len(x.dims) < 2 or not isinstance(x.dims[-1], int) or x.dims[-1] == 0:
        return False
    choice = b.rng.randrange(4) if b.dtype != "bfloat16" else 3
    if choice == 0:
        count = b.rng.randrange(1, x.dims[-1] + 1)
        name = b.fresh("v")
        b.nodes.append(helper.make_node("TopK", [x.name, b.ints(count).name], [name, b.fresh("v")], axis=-1))
        b.used.add(x.name)
        b.pool.append(Value(name, [*x.dims[:-1], count]))
    elif choice == 1 and b.opset >= 14:
        b.pool.append(b.node("Trilu", [x], x.dims, upper=b.rng.randrange(2)))
    elif choice == 2:
        letters = "abcd"[:len(x.dims)]
        b.pool.append(b.node("Einsum", [x], x.dims[::-1], equation=f"{letters}->{letters[::-1]}"))
    else:
        shape = b.node("Shape", [x], [len(x.dims)], "int")
        b.pool.append(b.node("Reshape", [b.node("Neg", [x], x.dims), shape], x.dims))
    return True


IMAGE_BLOCKS = (image_conv, image_conv, image_branches, image_branches, image_norm, image_norm, image_pool, image_pool)
ROW_BLOCKS = (product, product, shared_products, shared_products, attention, row_norm)
SHARED_BLOCKS = (elementwise, elementwise, reductions, layout, layout, identity_in_disguise, identity_in_disguise, conditions, opaque)


def generate(seed):
    """Returns the model of a seed, and the name of its float type."""
    b = Builder(seed)
    is_image = b.rng.random() < 0.45
    if is_image:
        b.input([b.dim("N"), b.size(), b.dim("H"), b.dim("W")])
    else:
        for _ in range(b.rng.choice([1, 1, 2])):
            b.input([b.dim("N"), b.dim("S"), b.size()] if b.rng.random() < 0.6 else [b.dim("N"), b.size()])
    blocks = (IMAGE_BLOCKS if is_image else ROW_BLOCKS) + SHARED_BLOCKS + ((integers,) if b.rng.random() < 0.1 else ())
    wanted, attempts = b.rng.randrange(1, 7), 0
    while wanted > 0 and attempts < 40:
        attempts += 1
        wanted -= 1 if b.rng.choice(blocks)(b) else 0
    if not b.nodes:
        elementwise(b)
    return b.model(), b.dtype
