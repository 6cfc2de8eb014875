"""Writes rule files in TASO's protobuf form byte by byte, as a reference for the reader and writer."""


def varint(value):
    value &= (1 << 64) - 1  # a negative int32 is sent as 64 bits
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def op(kind, *inputs, **parameters):
    """The single output of an operator; inputs are such outputs, `output(…)`, or the number of an input of the rule. Keys are k9=…"""
    return (kind, tuple(inputs), tuple(sorted((int(key[1:]), value) for key, value in parameters.items())))


def output(operator, which):
    return ("output", operator, which)


def conv(x, w, stride=1, pad=0, act=0):
    return op(3, x, w, k6=stride, k7=stride, k8=pad, k9=act)


def average_pool(x, kernel=3, stride=1):
    return op(7, x, k0=7, k4=kernel, k5=kernel, k6=stride, k7=stride, k8=0, k9=0)


def max_pool(x, kernel=3):
    return op(6, x, k4=kernel, k5=kernel, k6=1, k7=1, k8=0, k9=0)


def relu(x):
    return op(8, x)


def concat(axis, rank, *inputs):
    return op(12, *inputs, k1=len(inputs), k10=rank, k11=axis)


def split(axis, x, outputs=2):
    node = op(13, x, k2=outputs, k11=axis)
    return output(node, 0), output(node, 1)


def transpose(x, shuffle=0):
    return op(15, x, k10=2, k12=2, k13=shuffle)


def add(x, y):
    return op(16, x, y)


def mul(x, y):
    return op(17, x, y)


def matmul(x, y, act=0):
    return op(18, x, y, k9=act)


def scale(x, s):
    return op(19, x, s)


def enlarge(w, rows=3, cols=3):
    return op(20, w, k4=rows, k5=cols)


def identity():
    return op(22)


def identity_kernel():
    return op(23, k4=3, k5=3)


def ones():
    return op(24)


def pool_kernel():
    return op(25, k4=3, k5=3)


class Side:
    """The operators below the outputs, arguments first."""

    def __init__(self, roots):
        self.operators = []
        self.roots = [self.place(root) for root in roots]

    def place(self, term):
        if isinstance(term, int):
            return -term, 0
        if term[0] == "output":
            return self.place(term[1])[0], term[2]
        for argument in term[1]:
            self.place(argument)
        if term not in self.operators:
            self.operators.append(term)
        return self.operators.index(term), 0

    def encode(self, field):
        result = b""
        for kind, inputs, parameters in self.operators:
            content = number(1, kind)
            for argument in inputs:
                index, which = self.place(argument)
                content += message(2, number(1, index) + number(2, which))
            for key, value in parameters:
                content += message(3, number(1, key) + number(2, value))
            result += message(field, content)
        return result


def rule(source, target):
    """Encodes a rule; each side is an output or a list of outputs."""
    sides = [Side(side if isinstance(side, (list, tuple)) and side and not isinstance(side[0], (int, str)) else [side])
             for side in (source, target)]
    content = sides[0].encode(1) + sides[1].encode(2)
    for (from_op, from_output), (to_op, to_output) in zip(sides[0].roots, sides[1].roots):
        content += message(3, number(1, from_op) + number(2, to_op) + number(3, from_output) + number(4, to_output))
    return message(1, content)


def collection(*rules):
    return b"".join(rules)


# Well-known rules in the form of TASO's generator.
KNOWN = {
    "product associates": (matmul(matmul(1, 2), 3), matmul(1, matmul(2, 3))),
    "product distributes, right": (matmul(1, add(2, 3)), add(matmul(1, 2), matmul(1, 3))),
    "product distributes, left": (matmul(add(1, 2), 3), add(matmul(1, 3), matmul(2, 3))),
    "transposed product": (transpose(matmul(1, 2)), matmul(transpose(2), transpose(1))),
    "transposed twice": (transpose(transpose(1)), transpose(transpose(transpose(transpose(1))))),
    "product with relu": (relu(matmul(1, 2)), matmul(1, 2, act=2)),
    "scaled product": (scale(matmul(1, 2), 3), matmul(1, scale(2, 3))),
    "products that share an input": ([matmul(1, 2), matmul(1, 3)], list(split(1, matmul(1, concat(1, 2, 2, 3))))),
    "products that share weights": ([matmul(1, 3), matmul(2, 3)], list(split(0, matmul(concat(0, 2, 1, 2), 3)))),
    "sum of products": (add(matmul(1, 2), matmul(3, 4)), matmul(concat(1, 2, 1, 3), concat(0, 2, 2, 4))),
    "sum associates": (add(add(1, 2), 3), add(1, add(2, 3))),
    "product of elements associates": (mul(mul(1, 2), 3), mul(1, mul(2, 3))),
    "elements distribute": (mul(add(1, 2), 3), add(mul(1, 3), mul(2, 3))),
    "scale of sum": (scale(add(1, 2), 3), add(scale(1, 3), scale(2, 3))),
    "scale of elements": (scale(mul(1, 2), 3), mul(1, scale(2, 3))),
    "scales exchange": (scale(scale(1, 2), 3), scale(scale(1, 3), 2)),
    "relu twice": (relu(relu(1)), relu(relu(relu(1)))),
    "relu of concat": (relu(concat(1, 4, 1, 2)), concat(1, 4, relu(1), relu(2))),
    "sum of concats": (add(concat(0, 2, 1, 2), concat(0, 2, 3, 4)), concat(0, 2, add(1, 3), add(2, 4))),
    "concats exchange": (concat(0, 2, concat(1, 2, 1, 2), concat(1, 2, 3, 4)), concat(1, 2, concat(0, 2, 1, 3), concat(0, 2, 2, 4))),
    "concat of three": (concat(0, 2, 1, 2, 3), concat(0, 2, 1, concat(0, 2, 2, 3))),
    "split of concat": (list(split(1, concat(1, 4, relu(1), relu(2)))), [relu(1), relu(2)]),
    "convolution is linear in its input": (conv(add(1, 2), 3), add(conv(1, 3), conv(2, 3))),
    "convolution is linear in its kernel": (conv(1, add(2, 3)), add(conv(1, 2), conv(1, 3))),
    "scaled convolution": (scale(conv(1, 2), 3), conv(scale(1, 3), 2)),
    "convolution with relu": (relu(conv(1, 2)), conv(1, 2, act=2)),
    "convolution with stride, relu": (relu(conv(1, 2, stride=2)), conv(1, 2, stride=2, act=2)),
    "convolutions that share a kernel": ([conv(1, 3), conv(2, 3)], list(split(0, conv(concat(0, 4, 1, 2), 3)))),
    "convolutions that share an input": ([conv(1, 2), conv(1, 3)], list(split(1, conv(1, concat(0, 4, 2, 3))))),
    "the same with relu": ([conv(1, 2, act=2), conv(1, 3, act=2)], list(split(1, conv(1, concat(0, 4, 2, 3), act=2)))),
    "sum of convolutions": (add(conv(1, 2), conv(3, 4)), conv(concat(1, 4, 1, 3), concat(1, 4, 2, 4))),
    "two convolutions into a grouped one": (concat(1, 4, conv(1, 2), conv(3, 4)), conv(concat(1, 4, 1, 3), concat(0, 4, 2, 4))),
    "the same with relu, grouped": (concat(1, 4, conv(1, 2, act=2), conv(3, 4, act=2)), conv(concat(1, 4, 1, 3), concat(0, 4, 2, 4), act=2)),
    "grouped, two outputs": ([conv(1, 2), conv(3, 4)], list(split(1, conv(concat(1, 4, 1, 3), concat(0, 4, 2, 4))))),
    "enlarged kernel": (conv(1, 2), conv(1, enlarge(2))),
    "average pool as a convolution": (average_pool(1), conv(1, pool_kernel())),
    "average pool is linear": (average_pool(add(1, 2)), add(average_pool(1), average_pool(2))),
    "max pool of concat": (max_pool(concat(1, 4, 1, 2)), concat(1, 4, max_pool(1), max_pool(2))),
    "convolution by the identity": (conv(relu(1), identity_kernel()), relu(1)),
    "product with the identity": (matmul(relu(1), identity()), relu(1)),
    "times ones": (mul(relu(1), ones()), relu(1)),
}

FALSE = {
    "sum is its own inverse": (add(1, add(2, add(1, 2))), add(1, 2)),
    "relu through a sum": (relu(add(1, 2)), add(relu(1), relu(2))),
}

ILL_TYPED = {
    "kernels concatenated with the image": (concat(1, 4, conv(1, 2), conv(1, 3)), conv(1, concat(0, 4, concat(0, 4, 1, 2), 3))),
}
