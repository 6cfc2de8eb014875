"""Random ONNX models of structures on which rules fire: branches of convolutions, folded norms, chains of products, attention,
scalings, splits and joins, between elementwise functions, conditions on Boolean values and integers, and opaque operators. A block
takes values of the builder's pool and adds its results to it; it returns false if no value fits."""

import numpy as np
from image_blocks import IMAGE_BLOCKS
from model_builder import FLOATS, Builder, Value
from onnx import helper
from row_blocks import ROW_BLOCKS

UNARY = ("Relu", "Relu", "Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Exp", "Erf", "Softplus", "LeakyRelu", "Elu", "HardSigmoid", "Softsign",
         "Identity", "Sin", "Cos", "Atan", "Selu")
PARTIAL = ("Log", "Sqrt", "Reciprocal")  # undefined or infinite at some numbers
STEPS = ("Floor", "Ceil", "Round", "Sign")
BINARY = ("Add", "Add", "Sub", "Mul", "Mul", "Min", "Max", "Div")


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


def rare_layout(b):
    x = b.pick()
    if x is None or not x.dims:
        return False
    axis = b.rng.randrange(len(x.dims))
    d, choice = x.dims[axis], b.rng.randrange(6)
    if choice == 0 and isinstance(d, int):
        dims = [2 * e if i == axis else e for i, e in enumerate(x.dims)]
        y = b.node("Tile", [x, b.ints(*(2 if i == axis else 1 for i in range(len(x.dims))))], dims)
    elif choice == 1 and d == 1:
        dims = [3 if i == axis else e for i, e in enumerate(x.dims)]
        y = b.node("Expand", [x, b.ints(*(3 if i == axis else 1 for i in range(len(x.dims))))], dims)
    elif choice == 2 and d == 1:
        y = b.node("Squeeze", [x, b.ints(axis)], [e for i, e in enumerate(x.dims) if i != axis])
    elif choice == 3 and isinstance(d, int) and d > 0:
        chosen = [b.rng.randrange(d) for _ in range(b.rng.randrange(1, 4))]
        y = b.node("Gather", [x, b.ints(*chosen)], [len(chosen) if i == axis else e for i, e in enumerate(x.dims)], axis=axis)
    elif choice == 4 and b.dtype != "bfloat16":
        y = b.node("CumSum", [x, b.constant(np.int64(axis), "int")], x.dims, reverse=b.rng.randrange(2))
    else:
        others = [b.like(x), b.like(x)]
        y = b.node(b.rng.choice(["Sum", "Max", "Min", "Mean"]), [x, *others], x.dims)
    b.pool.append(y)
    return True


def choice_of_branch(b):
    """An If whose branches are parts of the model."""
    x = b.pick()
    if x is None or not x.dims or not isinstance(x.dims[-1], int) or b.rng.random() < 0.6:
        return False
    test = b.input([], "bool")
    k, branches = x.dims[-1], []
    for _ in range(2):
        nodes, weights = b.nodes, b.weights
        b.nodes, b.weights = [], []
        y = x
        for _ in range(b.rng.randrange(1, 3)):
            y = b.node("MatMul", [y, b.weight([k, k])], x.dims) if len(x.dims) > 1 and b.rng.random() < 0.6 else b.node("Mul", [y, b.number()], x.dims)
        out = helper.make_tensor_value_info(y.name, FLOATS[b.dtype], [None] * len(x.dims))
        branches.append(helper.make_graph(b.nodes, b.fresh("g"), [], [out], b.weights))
        b.nodes, b.weights = nodes, weights
    b.pool.append(b.node("If", [test], x.dims, then_branch=branches[0], else_branch=branches[1]))
    return True


SHARED_BLOCKS = (elementwise, elementwise, reductions, layout, layout, identity_in_disguise, identity_in_disguise, conditions, opaque,
                 rare_layout, choice_of_branch)


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
