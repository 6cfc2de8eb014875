"""The meaning of definitions: types and elements of terms at concrete sizes, in exact fractions. Elements are computed
one at a time and on demand, so that sizes may be large. A function whose formula consists of arithmetic, comparisons and
floor is evaluated exactly. Any other is uninterpreted: an arbitrary function that satisfies its laws and has the domain
and the sign of its formula. A proof may use nothing else. Or it is evaluated with 60 digits, for counterexamples."""

import decimal
import hashlib
import itertools
import math
from fractions import Fraction

DECIMALS = decimal.Context(prec=60)
PRIME = 1000003


class IllTyped(Exception):
    """The term has no type at these sizes."""


class Undefined(Exception):
    """The element is undefined: a division by zero."""


class TooLarge(Exception):
    """More steps than the caller allows."""


class Undecided(TooLarge):
    """60 digits do not decide it, or the function has no such evaluation."""


def sign_of_difference(a, b):
    """Returns -1, 0 or 1. Raises Undecided if rounding to 60 digits may decide it."""
    difference = Fraction(a) - Fraction(b)
    if difference and abs(difference) < Fraction(1, 10**40) * (1 + abs(a)):
        raise Undecided()
    return (difference > 0) - (difference < 0)


def floor(a):
    sign_of_difference(a, round(a))
    return math.floor(a)


EXACT = {"max": max, "min": min, "abs": abs, "floor": floor, "less": lambda a, b: int(sign_of_difference(a, b) < 0),
         "equal": lambda a, b: int(sign_of_difference(a, b) == 0),
         "gate": lambda a, b: b if sign_of_difference(a, 0) else 0}


def tanh(t):
    twice = DECIMALS.exp(2 * t)
    return DECIMALS.divide(twice - 1, twice + 1)


IN_DECIMALS = {"exp": DECIMALS.exp, "log": DECIMALS.ln, "sqrt": DECIMALS.sqrt, "tanh": tanh}


def exact(value):
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def pseudorandom(*key):
    """Returns a number from 0 to 2^64 - 1 that depends on the key only."""
    return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=8).digest(), "little")


class Interpretation:
    """Operators and functions, with arbitrary values of the uninterpreted functions."""

    def __init__(self, operators, functions, seed=0, in_decimals=False):
        self.operators, self.functions, self.seed, self.in_decimals = operators, functions, seed, in_decimals
        self.images = {}  # by idempotent function: its values so far
        self.steps_left = 0
        self.compiled = {}

    def count_steps(self, count=1):
        self.steps_left -= count
        if self.steps_left < 0:
            raise TooLarge()

    def apply(self, name, arguments):
        function = self.functions.get(name)
        if function is None:
            raise SyntaxError(f"unknown function {name!r}")
        if self.in_decimals or self.is_exact(function.value):
            return self.apply_exactly(function.value, dict(zip(function.arguments, arguments)))
        return self.apply_uninterpreted(function, arguments)

    def is_exact(self, value):
        if value[0] == "apply":
            return value[1] in EXACT and all(self.is_exact(v) for v in value[2])
        return all(self.is_exact(v) for v in value[1:] if isinstance(v, tuple))

    def apply_exactly(self, value, arguments):
        kind = value[0]
        if kind == "num":
            return exact(Fraction(value[1]))
        if kind == "name":
            return arguments[value[1]]
        if kind == "apply":
            operands = [self.apply_exactly(v, arguments) for v in value[2]]
            return EXACT[value[1]](*operands) if value[1] in EXACT else self.apply_in_decimals(value[1], *operands)
        operands = [self.apply_exactly(v, arguments) for v in value[1:]]
        return arithmetic(kind, *operands)

    @staticmethod
    def apply_in_decimals(name, a, b=None):
        """Returns a function's value to 60 digits, or exactly if it is whole."""
        a = Fraction(a)
        if name == "power" and b is not None and b == int(b):
            if a == 0 and b < 0:
                raise Undefined()
            return exact(a ** int(b))
        if name not in IN_DECIMALS or abs(a) > 10**4:
            raise Undecided()
        if name == "sqrt" and a < 0 or name == "log" and a <= 0:
            raise Undefined()
        value = IN_DECIMALS[name](DECIMALS.divide(decimal.Decimal(a.numerator), decimal.Decimal(a.denominator)))
        return exact(Fraction(value))

    @staticmethod
    def sign(function, arguments):
        """Returns the sign of the formula's value in floats. Raises Undefined outside the formula's domain."""
        try:
            return -1 if evaluate_in_floats(function.value, dict(zip(function.arguments, arguments))) < 0 else 1
        except (ValueError, ZeroDivisionError) as error:
            raise Undefined() from error
        except OverflowError:  # of floats only; the real value exists
            return 1

    def apply_uninterpreted(self, function, arguments):
        if {"odd", "even"} & function.laws and arguments[0] < 0:
            return (-1 if "odd" in function.laws else 1) * self.apply_uninterpreted(function, [-arguments[0]])
        sign = self.sign(function, arguments)
        if "zero" in function.laws and arguments == [0]:
            return 0
        images = self.images.setdefault(function.name, {})
        if "idempotent" in function.laws and arguments[0] in images:
            return arguments[0]
        if "commutative" in function.laws:
            arguments = sorted(arguments)
        value = Fraction(sign * (1 + pseudorandom(self.seed, function.name, arguments) % 1000001), PRIME)
        images[value] = True
        return value


IN_FLOATS = {**EXACT, "exp": math.exp, "log": math.log, "sqrt": math.sqrt, "tanh": math.tanh, "erf": math.erf, "sin": math.sin,
             "cos": math.cos, "asin": math.asin, "acos": math.acos, "atan": math.atan, "power": math.pow,
             "floor": math.floor, "less": lambda a, b: a < b, "equal": lambda a, b: a == b,
             "gate": lambda a, b: b if a else 0.0}


def evaluate_in_floats(value, arguments):
    """Returns a formula's value in floats, which shows the domain and the sign."""
    kind = value[0]
    if kind == "num":
        return float(value[1])
    if kind == "name":
        return float(arguments[value[1]])
    if kind == "apply":
        return IN_FLOATS[value[1]](*(evaluate_in_floats(v, arguments) for v in value[2]))
    operands = [evaluate_in_floats(v, arguments) for v in value[1:]]
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


def index_arithmetic(kind, a, b=None):
    """Arithmetic of indices and sizes, which are integers."""
    if kind in ("//", "%", "/"):
        if b <= 0:
            raise IllTyped(f"the divisor {b} is not positive")
        if kind == "/" and a % b != 0:
            raise IllTyped(f"{b} does not divide {a}")
        return a % b if kind == "%" else a // b
    return arithmetic(kind, a, b)


class Compiler:
    """Translates expressions to Python functions of the indices in scope and of an environment `e`, which has the
    sizes, packs (tuples), parameters and tensors. The methods *_code return Python source. An unknown name is an enum
    value."""

    def __init__(self, interpretation, known=()):
        self.interpretation, self.known = interpretation, set(known)
        self.globals = {"div": lambda a, b: index_arithmetic("//", a, b),
                        "mod": lambda a, b: index_arithmetic("%", a, b),
                        "exact_div": lambda a, b: index_arithmetic("/", a, b),
                        "quotient": lambda a, b: arithmetic("/", a, b), "apply": self.apply, "count": self.count,
                        "points": self.points, "unpermute": self.unpermute, "with_item": self.with_item,
                        "min": min, "max": max, "sum": sum, "Fraction": Fraction, "tuple": tuple}

    def compile(self, code_of, expression, scope=()):
        """Returns the expression as a function of e and the indices in `scope`; code_of is one of *_code."""
        indices = "".join(f", {self.local(name)}" for name in scope)
        return eval(f"lambda e{indices}: {code_of(expression, scope)}", self.globals)

    @staticmethod
    def local(name):
        """Returns the Python variable of an index. The prefix avoids Python's keywords."""
        return "i_" + name

    def index_code(self, value, scope=()):
        kind = value[0]
        if kind == "num":
            return str(value[1])
        if kind == "name":
            return self.name_code(value[1], scope)
        if kind == "element":
            return f"{self.name_code(value[1], scope)}[{self.index_code(value[2], scope)}]"
        if kind == "if":
            condition = self.conditions_code(value[1], scope)
            return f"({self.index_code(value[2], scope)} if {condition} else {self.index_code(value[3], scope)})"
        if kind == "call":
            return f"{value[1]}({', '.join(self.index_code(v, scope) for v in value[2])})"
        operands = [self.index_code(v, scope) for v in value[1:]]
        if kind == "neg":
            return f"(-{operands[0]})"
        if kind in ("+", "-", "*"):
            return f"({operands[0]} {kind} {operands[1]})"
        return f"{ {'//': 'div', '%': 'mod', '/': 'exact_div'}[kind]}({operands[0]}, {operands[1]})"

    def name_code(self, name, scope):
        return self.local(name) if name in scope else f'e["{name}"]' if name in self.known else f'"{name}"'

    def conditions_code(self, conditions, scope=()):
        signs = {"=": "=="}
        parts = [f"{self.index_code(a, scope)} {signs.get(r, r)} {self.index_code(b, scope)}" for r, a, b in conditions]
        return f"({' and '.join(parts)})" if parts else "True"

    def scalar_code(self, value, scope=()):
        kind = value[0]
        if kind == "num":
            return value[1] if str(value[1]).isdigit() else f'Fraction("{value[1]}")'
        if kind == "read":
            return f"""e["tensor {value[1]}"].at(({''.join(self.position_code(p, scope) + ', ' for p in value[2])}))"""
        if kind == "if":
            condition = self.conditions_code(value[1], scope)
            return f"({self.scalar_code(value[2], scope)} if {condition} else {self.scalar_code(value[3], scope)})"
        if kind in ("sum", "max"):
            return self.reduction_code(kind, value[1], value[2], value[3], scope)
        if kind == "apply":
            return f'apply(e, "{value[1]}", {", ".join(self.scalar_code(v, scope) for v in value[2])})'
        if kind == "/":
            return f"quotient({self.scalar_code(value[1], scope)}, {self.index_code(value[2], scope)})"
        operands = [self.scalar_code(v, scope) for v in value[1:]]
        return f"(-{operands[0]})" if kind == "neg" else f"({operands[0]} {kind} {operands[1]})"

    def position_code(self, item, scope):
        if item[0] == "one":
            return self.index_code(item[1], scope)
        if item[0] == "placed":
            return f"*unpermute({self.name_code(item[1], scope)}, {self.name_code(item[2], scope)})"
        return "*" + self.pack_code(item, scope)

    def pack_code(self, item, scope=()):
        """A pack of dimensions or indices: whole, permuted, or with another item at one axis."""
        pack = self.name_code(item[1], scope)
        if item[0] == "whole":
            return pack
        if item[0] == "permuted":
            return f"tuple({pack}[k] for k in {self.name_code(item[2], scope)})"
        return f"with_item({pack}, {self.index_code(item[2], scope)}, {self.index_code(item[3], scope)})"

    def reduction_code(self, kind, binders, conditions, body, scope):
        loops = ""
        for shape, name, bound in binders:
            is_pack = shape == "pack"
            points = f"points({self.pack_code(bound, scope)})" if is_pack else f"count({self.index_code(bound, scope)})"
            loops += f" for {self.local(name)} in {points}"
            scope = (*scope, name)
        if conditions:
            loops += f" if {self.conditions_code(conditions, scope)}"
        values = f"({self.scalar_code(body, scope)}{loops})"
        return f"sum{values}" if kind == "sum" else f"max({values}, default=0)"

    def compile_bound(self, item):
        """Returns the bounds of an output's index or pack as a function of e."""
        if item[0] == "pack":
            return self.compile(self.pack_code, item[2])
        bound = self.compile(self.index_code, item[2])
        return lambda e: (bound(e),)

    # Functions that compiled code calls.
    def apply(self, e, name, *arguments):
        name = e.get(name, name)
        return arguments[0] if name == "none" else self.interpretation.apply(name, list(arguments))

    def count(self, bound):
        self.interpretation.count_steps(max(bound, 0))
        return range(bound)

    def points(self, dims):
        return itertools.product(*(self.count(dim) for dim in dims))

    @staticmethod
    def unpermute(indices, perm):
        return tuple(indices[perm.index(k)] for k in range(len(indices)))

    @staticmethod
    def with_item(pack, axis, value):
        return pack[:axis] + (value,) + pack[axis + 1:]


class LazyTensor:
    """A shape, and elements that are computed on demand and cached. Elements outside of the shape are zero."""

    def __init__(self, shape, element):
        self.shape, self.element, self.cache = shape, element, {}

    def at(self, index):
        value = self.cache.get(index)
        if value is None:
            if len(index) != len(self.shape):
                raise IllTyped(f"{len(index)} indices into {len(self.shape)} dimensions")
            inside = all(0 <= i < n for i, n in zip(index, self.shape))
            value = self.cache[index] = self.element(index) if inside else 0
        return value


def random_tensor(name, shape, seed, width):
    """Returns a tensor of integers from -width to width. A small width gives many zeros."""
    return LazyTensor(shape, lambda index: pseudorandom(seed, name, index) % (2 * width + 1) - width)


def bind_sizes(op, shapes, parameters):
    """Returns the sizes and packs that the inputs' shapes determine, and the parameters with their defaults."""
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
    for name, (kind, domain) in op.parameters.items():
        if name not in parameters and kind not in ("choice", "int", "spread"):
            raise IllTyped(f"{op.name}: {name} is missing")
        value = parameters.get(name, domain[0] if kind == "choice" else domain)
        if kind == "choice" and value not in domain or kind == "axis" and not 0 <= value < rank or value is None:
            raise IllTyped(f"{op.name}: {name} is {value}")
        if kind in ("size", "sizes") and min(value if kind == "sizes" else (value,), default=1) < 1:
            raise IllTyped(f"{op.name}: {name} is {value}")
        env[name] = value
    env["rank"] = rank
    return env


class CompiledOperator:
    """An operator's conditions, lets and tensors as functions of the environment."""

    def __init__(self, op, compiler):
        self.where = []
        for condition, guards in op.where:
            if condition[0] == "packs":
                _, left, right, axis = condition
                test = self.packs_agree(left, right, compiler.compile(compiler.index_code, axis))
            else:
                test = compiler.compile(compiler.conditions_code, [condition])
            self.where.append((compiler.compile(compiler.conditions_code, guards), test))
        self.lets = [(name, compiler.compile(compiler.index_code, value)) for name, value in op.lets]
        self.tensors = []
        for tensor in op.tensors + op.outputs:
            scope = tuple(name for _, name, _ in tensor.items)
            bounds = [(item[0], compiler.compile_bound(item)) for item in tensor.items]
            self.tensors.append((tensor, bounds, compiler.compile(compiler.scalar_code, tensor.value, scope)))

    @staticmethod
    def packs_agree(left, right, axis):
        def agree(env):
            a, b, excepted = env[left], env[right], axis(env)
            return len(a) == len(b) and all(x == y or k == excepted for k, (x, y) in enumerate(zip(a, b)))
        return agree


# An item of a spread: the input has the whole dimension, one element of it, or no such dimension.
WHOLE, ONE, ABSENT = 0, 1, 2


def broadcast_inputs(op, tensors, parameters):
    """Returns the inputs, broadcast to their common shape. A spread has an item per dimension; default: all whole."""
    rank = max(len(parameters.get(spread, ())) for spread in op.spreads.values())
    spreads = [parameters.get(op.spreads.get(name)) or (WHOLE,) * rank for name, _ in op.inputs]
    sizes = []  # by input and dimension; None where absent
    for (name, dims), tensor, spread in zip(op.inputs, tensors, spreads):
        remaining = iter(tensor.shape)
        sizes.append([None if item == ABSENT else next(remaining, None) for item in spread])
        if len(dims) != 1 or len(tensor.shape) != len(spread) - spread.count(ABSENT):
            raise IllTyped(f"{op.name}: {name} has shape {list(tensor.shape)} and spread {list(spread)}")
        if any(item == ONE and size != 1 for item, size in zip(spread, sizes[-1])):
            raise IllTyped(f"{op.name}: {name} has more than one element where it is broadcast")
    whole = [[size[k] for size, spread in zip(sizes, spreads) if spread[k] == WHOLE] for k in range(rank)]
    if not all(whole):
        raise IllTyped(f"{op.name}: no input has dimension {whole.index([])}")
    shape = tuple(candidates[0] for candidates in whole)
    return [broadcast(tensor, spread, shape) if any(spread) else tensor for tensor, spread in zip(tensors, spreads)]


def broadcast(tensor, spread, shape):
    def element(index):
        return tensor.at(tuple(0 if item == ONE else i for i, item in zip(index, spread) if item != ABSENT))
    return LazyTensor(shape, element)


def names_of(op):
    names = {dim for _, dims in op.inputs for kind, dim in dims if kind != "num"}
    return names | set(op.parameters) | {name for name, _ in op.lets} | {"rank"}


def apply_operator(interpretation, name, inputs, parameters):
    """Returns the outputs of an operator by name."""
    op = interpretation.operators.get(name)
    if op is None:
        raise SyntaxError(f"unknown operator {name!r}")
    if any(parameters.get(parameter) for parameter in op.spreads.values()):
        inputs = broadcast_inputs(op, inputs, parameters)
    env = bind_sizes(op, [t.shape for t in inputs], parameters)
    if name not in interpretation.compiled:
        interpretation.compiled[name] = CompiledOperator(op, Compiler(interpretation, names_of(op)))
    compiled = interpretation.compiled[name]
    for key, value in compiled.lets:
        env[key] = value(env)
    for guard, holds in compiled.where:
        if guard(env) and not holds(env):
            raise IllTyped(f"{name}: its condition does not hold")
    if op.composite:
        tensors = {input_name: t for (input_name, _), t in zip(op.inputs, inputs)}
        return {"y": TermEvaluator(interpretation, tensors, env).evaluate(op.composite)}
    for (input_name, _), tensor in zip(op.inputs, inputs):
        env["tensor " + input_name] = tensor
    outputs = {}
    for tensor, bounds, value in compiled.tensors:
        result = define_tensor(interpretation, bounds, value, env)
        if tensor in op.outputs:
            outputs[tensor.name] = result
        else:
            env["tensor " + tensor.name] = result
    return outputs


def define_tensor(interpretation, bounds, value, env):
    shape, items = [], []
    for kind, bound in bounds:
        dims = bound(env)
        items.append((kind, len(shape), len(shape) + len(dims)))
        shape += dims
    if any(dim < 1 for dim in shape):
        raise IllTyped(f"a dimension of {shape} is not positive")
    has_packs = any(kind == "pack" for kind, _, _ in items)

    def element(index):
        interpretation.count_steps()
        if not has_packs:
            return value(env, *index)
        return value(env, *(index[begin:end] if kind == "pack" else index[begin] for kind, begin, end in items))
    return LazyTensor(tuple(shape), element)


class TermEvaluator:
    """Evaluates terms over named tensors at the given sizes. Equal nodes are evaluated once."""

    def __init__(self, interpretation, tensors, sizes):
        self.interpretation, self.tensors, self.sizes, self.outputs = interpretation, tensors, sizes, {}
        self.compiler = Compiler(interpretation, sizes)

    def evaluate(self, term):
        if term[0] == "variable":
            return self.tensors[term[1]]
        _, name, arguments, parameters, output = term
        key = repr(term[:4])
        if key not in self.outputs:
            inputs = [self.evaluate(argument) for argument in arguments]
            values = {k: self.parameter(v) for k, v in parameters.items()}
            self.outputs[key] = apply_operator(self.interpretation, name, inputs, values)
        outputs = self.outputs[key]
        return outputs[output] if output else next(iter(outputs.values()))

    def parameter(self, value):
        if value[0] == "list":
            return tuple(self.parameter(v) for v in value[1])
        return self.compiler.compile(self.compiler.index_code, value)(self.sizes)
