"""Evaluates functions of StableHLO operations with NumPy, from their definitions in the StableHLO specification."""

import itertools
import re

import numpy
from iree.compiler import ir

NUMPY = {"f64": numpy.float64, "f32": numpy.float32, "f16": numpy.float16, "i1": numpy.bool_, "i32": numpy.int32}
UNARY = {
    "negate": numpy.negative, "exponential": numpy.exp, "log": numpy.log, "sqrt": numpy.sqrt, "tanh": numpy.tanh, "abs": numpy.abs,
    "sign": numpy.sign, "floor": numpy.floor, "ceil": numpy.ceil, "round_nearest_even": numpy.rint, "sine": numpy.sin,
    "cosine": numpy.cos, "tan": numpy.tan, "exponential_minus_one": numpy.expm1, "log_plus_one": numpy.log1p,
    "rsqrt": lambda x: 1 / numpy.sqrt(x), "logistic": lambda x: 1 / (1 + numpy.exp(-x)), "not": numpy.logical_not,
}
BINARY = {
    "add": numpy.add, "subtract": numpy.subtract, "multiply": numpy.multiply, "divide": numpy.divide, "power": numpy.power,
    "maximum": numpy.maximum, "minimum": numpy.minimum, "remainder": numpy.fmod, "and": numpy.logical_and, "or": numpy.logical_or,
    "xor": numpy.logical_xor,
}
COMPARE = {"LT": numpy.less, "LE": numpy.less_equal, "GT": numpy.greater, "GE": numpy.greater_equal, "EQ": numpy.equal,
           "NE": numpy.not_equal}


def dimensions(attribute, name):
    """A list of a dot's dimension numbers."""
    found = re.search(name + r" = \[([0-9, ]*)\]", str(attribute))
    return [int(each) for each in found.group(1).split(",")] if found else []


def dot(x, y, numbers):
    batches, contracted = ([dimensions(numbers, f"{side}_{kind}_dimensions") for side in ("lhs", "rhs")]
                           for kind in ("batching", "contracting"))
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    axes = [[None] * x.ndim, [None] * y.ndim]
    for pairs in (batches, contracted):
        for left, right in zip(*pairs):
            axes[0][left] = axes[1][right] = next(letters)
    free = []
    for side in axes:
        for axis, letter in enumerate(side):
            if letter is None:
                side[axis] = next(letters)
                free.append(side[axis])
    result = [axes[0][axis] for axis in batches[0]] + free
    return numpy.einsum("".join(axes[0]) + "," + "".join(axes[1]) + "->" + "".join(result), x, y)


def pad(x, value, low, high, interior):
    """Pads; negative amounts cut off."""
    dilated = numpy.full([size + max(size - 1, 0) * gap for size, gap in zip(x.shape, interior)], value, x.dtype)
    dilated[tuple(slice(None, None, gap + 1) for gap in interior)] = x
    shape = [size + a + b for size, a, b in zip(dilated.shape, low, high)]
    result = numpy.full(shape, value, x.dtype)
    for index in numpy.ndindex(*dilated.shape):
        place = tuple(i + a for i, a in zip(index, low))
        if all(0 <= p < n for p, n in zip(place, shape)):
            result[place] = dilated[index]
    return result


def convolution(x, k, attributes, rank):
    numbers = re.sub(r"\s", "", str(attributes["dimension_numbers"]))
    axes = ",".join(map(str, range(rank)))
    assert numbers == f"#stablehlo.conv<[b,f,{axes}]x[o,i,{axes}]->[b,f,{axes}]>", numbers
    strides, left, right = (list(attributes[name]) if name in attributes else [1] * rank
                            for name in ("window_strides", "lhs_dilation", "rhs_dilation"))
    padding = numpy.array(attributes["padding"]).reshape(rank, 2) if "padding" in attributes else numpy.zeros((rank, 2), int)
    groups = ir.IntegerAttr(attributes["feature_group_count"]).value
    none = [0, 0]
    x = pad(x, 0, none + list(padding[:, 0]), none + list(padding[:, 1]), none + [n - 1 for n in left])
    k = pad(k, 0, none * 1 + [0] * rank, none + [0] * rank, none + [n - 1 for n in right])
    shape = [(a - b) // s + 1 for a, b, s in zip(x.shape[2:], k.shape[2:], strides)]
    result = numpy.zeros([x.shape[0], k.shape[0], *shape], x.dtype)
    channels, filters = x.shape[1] // groups, k.shape[0] // groups
    for group, place in itertools.product(range(groups), numpy.ndindex(*shape)):
        window = x[(slice(None), slice(group * channels, (group + 1) * channels),
                    *(slice(p * s, p * s + n) for p, s, n in zip(place, strides, k.shape[2:])))]
        kernels = k[group * filters:(group + 1) * filters]
        values = window.reshape(len(window), -1) @ kernels.reshape(len(kernels), -1).T
        result[(slice(None), slice(group * filters, (group + 1) * filters), *place)] = values
    return result


def value_of(operation, given):
    """The value of an operation's result."""
    name, attributes = operation.name.removeprefix("stablehlo."), operation.attributes
    shape, element = operation.results[0].type.shape, NUMPY[str(operation.results[0].type.element_type)]
    if name in UNARY:
        return UNARY[name](*given)
    if name in BINARY:
        return BINARY[name](*given)
    if name == "constant":
        return numpy.full(shape, float(re.search(r"<([^>]*)>", str(attributes["value"])).group(1)), element)
    if name == "compare":
        return COMPARE[re.search(r"direction (\w+)", str(attributes["comparison_direction"])).group(1)](*given)
    if name == "select":
        return numpy.where(*given)
    if name == "clamp":
        return numpy.minimum(numpy.maximum(given[1], given[0]), given[2])
    if name == "convert":
        return given[0].astype(element)
    if name == "transpose":
        return given[0].transpose(list(attributes["permutation"]))
    if name == "reshape":
        return given[0].reshape(shape)
    if name == "reverse":
        return numpy.flip(given[0], list(attributes["dimensions"]))
    if name == "concatenate":
        return numpy.concatenate(given, ir.IntegerAttr(attributes["dimension"]).value)
    if name == "slice":
        return given[0][tuple(map(slice, attributes["start_indices"], attributes["limit_indices"], attributes["strides"]))]
    if name == "pad":
        return pad(*given, *(list(attributes[each]) for each in ("edge_padding_low", "edge_padding_high", "interior_padding")))
    if name == "broadcast_in_dim":
        axes = list(attributes["broadcast_dimensions"])
        return numpy.broadcast_to(given[0].reshape([given[0].shape[axes.index(d)] if d in axes else 1 for d in range(len(shape))]), shape)
    if name == "dot_general":
        return dot(*given, attributes["dot_dimension_numbers"])
    assert name == "convolution", name
    return convolution(*given, attributes, len(shape) - 2)


def run(module, inputs):
    """The result of a module's only function, and the names of its operations."""
    block = module.body.operations[0].regions[0].blocks[0]
    values, names = dict(zip(block.arguments, inputs)), []
    for operation in block.operations:
        if operation.operation.name == "func.return":
            return [values[each] for each in operation.operands], names
        result = value_of(operation.operation, [values[each] for each in operation.operands])
        expected = operation.results[0].type
        assert list(result.shape) == expected.shape, f"{operation} has the shape {result.shape}"
        values[operation.results[0]] = result.astype(NUMPY[str(expected.element_type)])
        names.append(operation.operation.name.removeprefix("stablehlo."))
    raise AssertionError("no return")


def random_inputs(module, seed=1):
    """Inputs of a module's only function: positive numbers, so that logarithms and roots are defined, and truth values."""
    random = numpy.random.default_rng(seed)
    types = [each.type for each in module.body.operations[0].regions[0].blocks[0].arguments]
    return [random.random(each.shape) < 0.5 if str(each.element_type) == "i1" else
            random.uniform(0.25, 2, each.shape).astype(NUMPY[str(each.element_type)]) for each in types]
