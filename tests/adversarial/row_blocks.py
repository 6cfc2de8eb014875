"""Blocks of random models with rows: products, norms and attention, as in transformers."""


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


def gates(b):
    """Parts of one product with activations of their own, as in recurrent cells and gated units."""
    x = b.pick()
    if x is None or len(x.dims) not in (2, 3) or not isinstance(x.dims[-1], int):
        return False
    width = b.size()
    y = b.node("MatMul", [x, b.weight([x.dims[-1], 2 * width])], [*x.dims[:-1], 2 * width])
    if b.rng.random() < 0.5:
        y = b.node("Add", [y, b.weight([2 * width])], y.dims)
    first, second = b.split(y, len(y.dims) - 1, width)
    choice = b.rng.randrange(3)
    if choice == 0:
        left, right = b.node("Sigmoid", [first], first.dims), b.node("Tanh", [second], second.dims)
    elif choice == 1:
        left, right = b.node("Sigmoid", [first], first.dims), b.node("Sigmoid", [second], second.dims)
    else:
        left, right = b.node("Mul", [first, b.node("Sigmoid", [first], first.dims)], first.dims), second
    b.pool.append(b.node("Mul", [left, right], first.dims))
    return True


def batched_product(b):
    """A product with a stack of weights, or of a value with its own transpose."""
    x = b.pick(rank=3)
    if x is None or not isinstance(x.dims[-1], int):
        return False
    n, s, k = x.dims
    if isinstance(n, int) and b.rng.random() < 0.5:
        width = b.size()
        b.pool.append(b.node("MatMul", [x, b.weight([n, k, width])], [n, s, width]))
    else:
        b.pool.append(b.node("MatMul", [x, b.node("Transpose", [x], [n, k, s], perm=[0, 2, 1])], [n, s, s]))
    return True


ROW_BLOCKS = (product, product, shared_products, shared_products, attention, row_norm, gates, batched_product)
