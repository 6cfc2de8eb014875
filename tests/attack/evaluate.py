"""What definitions mean: types and elements of terms at concrete sizes, in exact fractions. Elements are computed one at
a time and only where they are asked for, so that sizes may be large. Functions that + - * / max min abs say are exact;
any other is some function that obeys its laws, is defined and has the sign that its text says, and nothing else, since a
proof may use no more than these."""

import hashlib
import itertools
import math
from fractions import Fraction

EXACT = {"max": max, "min": min, "abs": abs}
PRIME = 1000003


class IllTyped(Exception):
    """The term has no type at these sizes."""


class Undefined(Exception):
    """The element has no value: something is divided by zero."""


class TooLarge(Exception):
    """More steps than the caller allows."""


def exact(value):
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def draw(*key):
    """A number that the key alone determines, from 0 to 2^64 - 1."""
    return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=8).digest(), "little")


class World:
    """Definitions, and the functions that are only known by their laws."""

    def __init__(self, operators, functions, seed=0):
        self.operators, self.functions, self.seed = operators, functions, seed
        self.images = {}
        self.steps = 0
        self.compiled = {}

    def spend(self, count=1):
        self.steps -= count
        if self.steps < 0:
            raise TooLarge()

    def call(self, name, arguments):
        function = self.functions.get(name)
        if function is None:
            raise SyntaxError(f"unknown function {name!r}")
        if self.is_exact(function.value):
            return self.real(function.value, dict(zip(function.arguments, arguments)))
        return self.opaque(function, arguments)

    def is_exact(self, value):
        if value[0] == "apply":
            return value[1] in EXACT and all(self.is_exact(v) for v in value[2])
        return all(self.is_exact(v) for v in value[1:] if isinstance(v, tuple))

    def real(self, value, arguments):
        kind = value[0]
        if kind == "num":
            return exact(Fraction(value[1]))
        if kind == "name":
            return arguments[value[1]]
        if kind == "apply":
            return EXACT[value[1]](*(self.real(v, arguments) for v in value[2]))
        operands = [self.real(v, arguments) for v in value[1:]]
        return arithmetic(kind, *operands)

    @staticmethod
    def sign(function, arguments):
        """Of the function's value over the reals, as far as floats tell. Raises Undefined where it has none."""
        try:
            return -1 if inexact(function.value, dict(zip(function.arguments, arguments))) < 0 else 1
        except (ValueError, ZeroDivisionError) as error:
            raise Undefined() from error
        except OverflowError:  # of a float, not of what is computed
            return 1

    def opaque(self, function, arguments):
        if {"odd", "even"} & function.laws and arguments[0] < 0:
            return (-1 if "odd" in function.laws else 1) * self.opaque(function, [-arguments[0]])
        sign = self.sign(function, arguments)
        if "zero" in function.laws and arguments == [0]:
            return 0
        images = self.images.setdefault(function.name, {})
        if "idempotent" in function.laws and arguments[0] in images:
            return arguments[0]
        if "commutative" in function.laws:
            arguments = sorted(arguments)
        value = Fraction(sign * (1 + draw(self.seed, function.name, arguments) % 1000001), PRIME)
        images[value] = True
        return value


INEXACT = {"exp": math.exp, "log": math.log, "sqrt": math.sqrt, "tanh": math.tanh, "erf": math.erf, "sin": math.sin,
           "cos": math.cos, "asin": math.asin, "acos": math.acos, "atan": math.atan, "power": math.pow, "floor": math.floor,
           "less": lambda a, b: float(a < b), "equal": lambda a, b: float(a == b), "gate": lambda a, b: b if a else 0.0}


def inexact(value, arguments):
    """What a function's text says, in floats: enough to know where it is defined."""
    kind = value[0]
    if kind == "num":
        return float(value[1])
    if kind == "name":
        return float(arguments[value[1]])
    if kind == "apply":
        return {**EXACT, **INEXACT}[value[1]](*(inexact(v, arguments) for v in value[2]))
    operands = [inexact(v, arguments) for v in value[1:]]
    return operands[0] / operands[1] if kind == "/" else arithmetic(kind, *operands)


def arithmetic(kind, a, b=None):
    if kind == "+":
        return a + b
    if kind == "-":
        return a - b
    if kind == "*":
        return a * b
    if kind == "neg":
        return -a
    if b == 0:
        raise Undefined()
    return exact(Fraction(a) / b)


def whole_number(kind, a, b=None):
    """The arithmetic of indices and sizes."""
    if kind in ("//", "%", "/"):
        if b <= 0:
            raise IllTyped(f"a divisor is {b}")
        if kind == "/" and a % b != 0:
            raise IllTyped(f"{b} does not divide {a}")
        return a % b if kind == "%" else a // b
    return arithmetic(kind, a, b)


class Compiler:
    """Expressions as Python functions of an environment `e`, which has the sizes, packs (tuples), parameters and tensors,
    and of the indices in scope. Names that nothing defines are words that a parameter may be."""

    def __init__(self, world, known=()):
        self.world, self.known = world, set(known)
        self.globals = {"div": lambda a, b: whole_number("//", a, b), "mod": lambda a, b: whole_number("%", a, b),
                        "share": lambda a, b: whole_number("/", a, b), "quotient": lambda a, b: arithmetic("/", a, b),
                        "call": self.call, "counted": self.counted, "packs": self.packs, "placed": self.placed,
                        "changed": self.changed, "min": min, "max": max, "sum": sum, "Fraction": Fraction, "tuple": tuple}

    def function(self, write, value, scope=()):
        """The expression as a function of e and of the indices `scope`."""
        indices = "".join(f", {self.local(name)}" for name in scope)
        return eval(f"lambda e{indices}: {write(value, scope)}", self.globals)

    @staticmethod
    def local(name):
        """An index as a Python variable, whatever it is called."""
        return "i_" + name

    def index(self, value, scope=()):
        kind = value[0]
        if kind == "num":
            return str(value[1])
        if kind == "name":
            return self.name(value[1], scope)
        if kind == "element":
            return f"{self.name(value[1], scope)}[{self.index(value[2], scope)}]"
        if kind == "if":
            return f"({self.index(value[2], scope)} if {self.all_of(value[1], scope)} else {self.index(value[3], scope)})"
        if kind == "call":
            return f"{value[1]}({', '.join(self.index(v, scope) for v in value[2])})"
        operands = [self.index(v, scope) for v in value[1:]]
        if kind == "neg":
            return f"(-{operands[0]})"
        if kind in ("+", "-", "*"):
            return f"({operands[0]} {kind} {operands[1]})"
        return f"{ {'//': 'div', '%': 'mod', '/': 'share'}[kind]}({operands[0]}, {operands[1]})"

    def name(self, name, scope):
        return self.local(name) if name in scope else f'e["{name}"]' if name in self.known else f'"{name}"'

    def all_of(self, conditions, scope=()):
        signs = {"=": "=="}
        parts = [f"{self.index(a, scope)} {signs.get(r, r)} {self.index(b, scope)}" for r, a, b in conditions]
        return f"({' and '.join(parts)})" if parts else "True"

    def scalar(self, value, scope=()):
        kind = value[0]
        if kind == "num":
            return value[1] if str(value[1]).isdigit() else f'Fraction("{value[1]}")'
        if kind == "read":
            return f"""e["tensor {value[1]}"].at(({''.join(self.position(p, scope) + ', ' for p in value[2])}))"""
        if kind == "if":
            return f"({self.scalar(value[2], scope)} if {self.all_of(value[1], scope)} else {self.scalar(value[3], scope)})"
        if kind in ("sum", "max"):
            return self.reduction(kind, value[1], value[2], value[3], scope)
        if kind == "apply":
            return f'call(e, "{value[1]}", {", ".join(self.scalar(v, scope) for v in value[2])})'
        if kind == "/":
            return f"quotient({self.scalar(value[1], scope)}, {self.index(value[2], scope)})"
        operands = [self.scalar(v, scope) for v in value[1:]]
        return f"(-{operands[0]})" if kind == "neg" else f"({operands[0]} {kind} {operands[1]})"

    def position(self, item, scope):
        if item[0] == "one":
            return self.index(item[1], scope)
        if item[0] == "placed":
            return f"*placed({self.name(item[1], scope)}, {self.name(item[2], scope)})"
        return "*" + self.dims(item, scope)

    def dims(self, item, scope=()):
        """A pack of dimensions or indices, as it is or changed at one axis or reordered."""
        pack = self.name(item[1], scope)
        if item[0] == "whole":
            return pack
        if item[0] == "permuted":
            return f"tuple({pack}[k] for k in {self.name(item[2], scope)})"
        return f"changed({pack}, {self.index(item[2], scope)}, {self.index(item[3], scope)})"

    def reduction(self, kind, binders, conditions, body, scope):
        loops = ""
        for shape, name, bound in binders:
            points = f"packs({self.dims(bound, scope)})" if shape == "pack" else f"counted({self.index(bound, scope)})"
            loops += f" for {self.local(name)} in {points}"
            scope = (*scope, name)
        if conditions:
            loops += f" if {self.all_of(conditions, scope)}"
        values = f"({self.scalar(body, scope)}{loops})"
        return f"sum{values}" if kind == "sum" else f"max({values}, default=0)"

    def bound(self, item):
        """The bounds of an output's index or pack, as a function of e."""
        if item[0] == "pack":
            return self.function(self.dims, item[2])
        bound = self.function(self.index, item[2])
        return lambda e: (bound(e),)

    # What the functions call.
    def call(self, e, name, *arguments):
        name = e.get(name, name)
        return arguments[0] if name == "none" else self.world.call(name, list(arguments))

    def counted(self, bound):
        self.world.spend(max(bound, 0))
        return range(bound)

    def packs(self, dims):
        return itertools.product(*(self.counted(dim) for dim in dims))

    @staticmethod
    def placed(indices, perm):
        return tuple(indices[perm.index(k)] for k in range(len(indices)))

    @staticmethod
    def changed(pack, axis, value):
        return pack[:axis] + (value,) + pack[axis + 1:]


class Values:
    """A tensor: its shape, and its elements as they are asked for; zero outside."""

    def __init__(self, shape, element):
        self.shape, self.element, self.known = shape, element, {}

    def at(self, index):
        value = self.known.get(index)
        if value is None:
            if len(index) != len(self.shape):
                raise IllTyped(f"{len(index)} indices into {len(self.shape)} dimensions")
            inside = all(0 <= i < n for i, n in zip(index, self.shape))
            value = self.known[index] = self.element(index) if inside else 0
        return value


def variable(name, shape, seed, width):
    """Whole numbers from -width to width, among them many zeros if the width is small."""
    return Values(shape, lambda index: draw(seed, name, index) % (2 * width + 1) - width)


def sizes_of(op, shapes, parameters):
    """The sizes and packs that the inputs' shapes bind, and the parameters with their defaults."""
    env = {}
    for (name, dims), shape in zip(op.inputs, shapes):
        packs = [d for d in dims if d[0] == "pack"]
        length = len(shape) - len(dims) + len(packs)
        if length < 0 or (not packs and len(shape) != len(dims)):
            raise IllTyped(f"{op.name}: {name} has {len(shape)} dimensions")
        at = 0
        for kind, dim in dims:
            value = shape[at:at + length] if kind == "pack" else shape[at]
            at += length if kind == "pack" else 1
            if (dim if kind == "num" else env.setdefault(dim, value)) != value:
                raise IllTyped(f"{op.name}: {dim} is {env.get(dim, dim)} and {value}")
    rank = len(shapes[0]) if shapes else 0
    for name, (kind, about) in op.parameters.items():
        if name not in parameters and kind not in ("choice", "int", "spread"):
            raise IllTyped(f"{op.name}: {name} is not given")
        value = parameters.get(name, about[0] if kind == "choice" else about)
        if kind == "choice" and value not in about or kind == "axis" and not 0 <= value < rank or value is None:
            raise IllTyped(f"{op.name}: {name} is {value}")
        if kind in ("size", "sizes") and min(value if kind == "sizes" else (value,), default=1) < 1:
            raise IllTyped(f"{op.name}: {name} is {value}")
        env[name] = value
    env["rank"] = rank
    return env


class Compiled:
    """An operator's conditions, lets and tensors as functions of its sizes."""

    def __init__(self, op, compiler):
        self.where = []
        for condition, guards in op.where:
            if condition[0] == "packs":
                _, left, right, axis = condition
                test = self.packs_agree(left, right, compiler.function(compiler.index, axis))
            else:
                test = compiler.function(compiler.all_of, [condition])
            self.where.append((compiler.function(compiler.all_of, guards), test))
        self.lets = [(name, compiler.function(compiler.index, value)) for name, value in op.lets]
        self.tensors = []
        for tensor in op.tensors + op.outputs:
            scope = tuple(name for _, name, _ in tensor.items)
            bounds = [(item[0], compiler.bound(item)) for item in tensor.items]
            self.tensors.append((tensor, bounds, compiler.function(compiler.scalar, tensor.value, scope)))

    @staticmethod
    def packs_agree(left, right, axis):
        def agree(env):
            a, b, besides = env[left], env[right], axis(env)
            return len(a) == len(b) and all(x == y or k == besides for k, (x, y) in enumerate(zip(a, b)))
        return agree


def spread_out(op, tensors, parameters):
    """The inputs, those that are repeated against others in the shape that all have together. A spread says of every dimension
    whether the input has it whole (0), as one element (1), or not at all (2); nothing given: all whole."""
    rank = max(len(parameters.get(spread, ())) for spread in op.spreads.values())
    spreads = [parameters.get(op.spreads.get(name)) or (0,) * rank for name, _ in op.inputs]
    sizes = []  # by input and dimension, where it has that
    for (name, dims), tensor, spread in zip(op.inputs, tensors, spreads):
        own = iter(tensor.shape)
        sizes.append([None if what == 2 else next(own, None) for what in spread])
        if len(dims) != 1 or len(tensor.shape) != len(spread) - spread.count(2):
            raise IllTyped(f"{op.name}: {name} is {list(tensor.shape)}, by {list(spread)}")
        if any(what == 1 and size != 1 for what, size in zip(spread, sizes[-1])):
            raise IllTyped(f"{op.name}: {name} has more than one element where it is repeated")
    whole = [[size[k] for size, spread in zip(sizes, spreads) if spread[k] == 0] for k in range(rank)]
    if not all(whole):
        raise IllTyped(f"{op.name}: no input has dimension {whole.index([])}")
    return [repeated(tensor, spread, tuple(each[0] for each in whole)) if any(spread) else tensor
            for tensor, spread in zip(tensors, spreads)]


def repeated(tensor, spread, shape):
    def element(index):
        return tensor.at(tuple(0 if what == 1 else i for i, what in zip(index, spread) if what != 2))
    return Values(shape, element)


def names_of(op):
    names = {dim for _, dims in op.inputs for kind, dim in dims if kind != "num"}
    return names | set(op.parameters) | {name for name, _ in op.lets} | {"rank"}


def apply_operator(world, name, inputs, parameters):
    """The outputs of an operator, by name."""
    op = world.operators.get(name)
    if op is None:
        raise SyntaxError(f"unknown operator {name!r}")
    if any(parameters.get(parameter) for parameter in op.spreads.values()):
        inputs = spread_out(op, inputs, parameters)
    env = sizes_of(op, [t.shape for t in inputs], parameters)
    if name not in world.compiled:
        world.compiled[name] = Compiled(op, Compiler(world, names_of(op)))
    compiled = world.compiled[name]
    for key, value in compiled.lets:
        env[key] = value(env)
    for guard, holds in compiled.where:
        if guard(env) and not holds(env):
            raise IllTyped(f"{name}: its condition does not hold")
    if op.composite:
        named = {input_name: t for (input_name, _), t in zip(op.inputs, inputs)}
        return {"y": Terms(world, named, env).value(op.composite)}
    for (input_name, _), tensor in zip(op.inputs, inputs):
        env["tensor " + input_name] = tensor
    outputs = {}
    for tensor, bounds, value in compiled.tensors:
        made = define(world, bounds, value, env)
        if tensor in op.outputs:
            outputs[tensor.name] = made
        else:
            env["tensor " + tensor.name] = made
    return outputs


def define(world, bounds, value, env):
    shape, places = [], []
    for kind, bound in bounds:
        dims = bound(env)
        places.append((kind, len(shape), len(shape) + len(dims)))
        shape += dims
    if any(dim < 1 for dim in shape):
        raise IllTyped(f"a dimension of {shape} is not positive")
    packed = any(kind == "pack" for kind, _, _ in places)

    def element(index):
        world.spend()
        if not packed:
            return value(env, *index)
        return value(env, *(index[begin:end] if kind == "pack" else index[begin] for kind, begin, end in places))
    return Values(tuple(shape), element)


class Terms:
    """Evaluates terms over tensors by name, at the given sizes; equal nodes are evaluated once."""

    def __init__(self, world, tensors, sizes):
        self.world, self.tensors, self.sizes, self.known = world, tensors, sizes, {}
        self.compiler = Compiler(world, sizes)

    def value(self, term):
        if term[0] == "variable":
            return self.tensors[term[1]]
        _, name, arguments, parameters, output = term
        key = repr(term[:4])
        if key not in self.known:
            inputs = [self.value(argument) for argument in arguments]
            values = {k: self.parameter(v) for k, v in parameters.items()}
            self.known[key] = apply_operator(self.world, name, inputs, values)
        outputs = self.known[key]
        return outputs[output] if output else next(iter(outputs.values()))

    def parameter(self, value):
        if value[0] == "list":
            return tuple(self.parameter(v) for v in value[1])
        return self.compiler.function(self.compiler.index, value)(self.sizes)
