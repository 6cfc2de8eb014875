"""Scalar functions: formulas over the reals, their signs, monotonicity and exact values.

A formula is ("argument", i), ("number", Fraction) or (operation, formula, ...)."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product


def below(limit: float, f):
    """The function where a float is near its value, which is neither too small nor too near to 1."""
    def value(t):
        if abs(t) > limit:
            raise OverflowError
        return f(t)
    return value


EXACT = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b, "max": max, "min": min,
         "less": lambda a, b: a < b, "equal": lambda a, b: a == b, "gate": lambda a, b: b if a else 0 * b, "abs": abs,
         "floor": math.floor}
OPERATIONS = EXACT | {"power": math.pow, "exp": below(700, math.exp), "log": math.log, "sqrt": math.sqrt, "tanh": below(5, math.tanh),
                      "erf": below(5, math.erf), "sin": math.sin, "cos": math.cos, "asin": math.asin, "acos": math.acos,
                      "atan": math.atan}
BINARY = ("+", "-", "*", "/", "max", "min", "less", "equal", "gate", "power")
PARTIAL = ("/", "power", "sqrt", "log", "asin", "acos")
ALL_SIGNS = frozenset((-1, 0, 1))


class Natural(frozenset):
    """The signs of a value that is a whole number of at least 0."""


class Rounded(Fraction):
    """A number of more than 15 digits, whose exact value is not used."""


def exact_number(text: str) -> Fraction:
    return Fraction(text) if len(text) <= 16 else Rounded(text)


@dataclass
class Function:
    """`laws`: the texts of those of the forms in `laws.FORMS`. `declared`: (name, text, equation) of the others. `representative`: the
    name of the first function with the same formula."""
    name: str
    arity: int
    formula: tuple
    laws: set = field(default_factory=set)
    declared: list = field(default_factory=list)
    representative: str = ""

    @property
    def parity(self) -> int:
        return 1 if "f(-t)=f(t)" in self.laws else -1 if "f(-t)=-f(t)" in self.laws else 0

    @cached_property
    def is_total(self) -> bool:
        return formula_signs(self.formula, [ALL_SIGNS] * self.arity)[1]

    def monotonicity(self) -> list[int]:
        """For each argument: 1 if the function does not decrease with it, -1 if it does not increase, 0 if this is not known."""
        found = [{1} if "max(f(s),f(t))=f(max(s,t))" in self.laws else monotonicity(self.formula, i) for i in range(self.arity)]
        return [max(directions, default=0) for directions in found]


def subtrees(e):
    """The tree and all trees in it."""
    if isinstance(e, tuple):
        yield e
    for part in e.values() if isinstance(e, dict) else e if isinstance(e, (tuple, list)) else ():
        yield from subtrees(part)


def arguments_of(f: tuple) -> set:
    return {part[1] for part in subtrees(f) if part[0] == "argument"}


def domain_arguments(f: tuple) -> set:
    """The arguments that are part of an operand of a partial operation."""
    if f[0] in ("argument", "number"):
        return set()
    own = arguments_of(f if f[0] == "power" else f[-1]) if f[0] in PARTIAL else set()
    return own.union(*map(domain_arguments, f[1:]))


def sign(value) -> int:
    return (value > 0) - (value < 0)


def add_signs(a: frozenset, b: frozenset) -> frozenset:
    return frozenset().union(*(ALL_SIGNS if x * y < 0 else {x or y} for x, y in product(a, b)))


def multiply_signs(a: frozenset, b: frozenset) -> frozenset:
    return frozenset(x * y for x, y in product(a, b))


def formula_signs(f: tuple, arguments: list[frozenset]) -> tuple[frozenset, bool]:
    """The signs that values can have, and whether the formula is defined for all arguments of these signs."""
    if f[0] == "argument":
        return arguments[f[1]], True
    if f[0] == "number":
        return frozenset((sign(f[1]),)), True
    parts = [formula_signs(part, arguments) for part in f[1:]]
    signs, defined = operation_signs(f[0], parts[0][0], parts[-1][0])
    return frozenset(signs), defined and all(part[1] for part in parts)


def operation_signs(op: str, a: frozenset, b: frozenset) -> tuple:
    """`a` and `b` are the signs of the operands; equal for an operation of one."""
    if op in ("+", "-"):
        return add_signs(a, b if op == "+" else frozenset(-x for x in b)), True
    if op in ("max", "min"):
        return {(max if op == "max" else min)(x, y) for x, y in product(a, b)}, True
    if op == "power":
        return {1} | (a if a <= {0, 1} else ALL_SIGNS), a == {1} or isinstance(b, Natural)
    signs = {"*": lambda: multiply_signs(a, b), "/": lambda: multiply_signs(a, b - {0}), "sqrt": lambda: b - {-1},
             "less": lambda: {0, 1}, "equal": lambda: {0, 1}, "gate": lambda: b | {0}, "exp": lambda: {1}, "tanh": lambda: b,
             "erf": lambda: b, "atan": lambda: b, "asin": lambda: b, "abs": lambda: map(abs, b),
             "floor": lambda: b | ({0} if 1 in b else set()), "acos": lambda: {0, 1}}.get(op, lambda: ALL_SIGNS)()
    defined = {"/": 0 not in b, "sqrt": -1 not in b, "log": b == {1}, "asin": b == {0}, "acos": b == {0}}.get(op, True)
    return signs, defined


def monotonicity(f: tuple, argument: int, is_part=False) -> set:
    """1 if the formula does not decrease with the argument, and -1 if it does not increase; both if it does not change. An
    undefined value is 0."""
    if argument not in arguments_of(f):
        return {1, -1}
    if f == ("argument", argument) or (f == ("sqrt", ("argument", argument)) and not is_part):
        return {1}
    parts = [monotonicity(part, argument, True) for part in f[1:]]
    signs = [formula_signs(part, [ALL_SIGNS] * 8)[0] for part in f[1:]]
    (a, b), (of_a, of_b) = (parts[0], parts[-1]), (signs[0], signs[-1])
    opposite = [{-x for x in part} for part in (a, b)]
    if f[0] == "/" and of_b == {1}:
        return monotonic_product(a, of_a, opposite[1], of_b)
    known = {"+": a & b, "max": a & b, "min": a & b, "-": a & opposite[1], "less": opposite[0] & b, "exp": b, "floor": b, "tanh": b,
             "erf": b, "atan": b, "*": monotonic_product(a, of_a, b, of_b), "sqrt": b if -1 not in of_b else set(),
             "log": b if of_b == {1} else set()}
    return known.get(f[0], set())


def monotonic_product(a: set, of_a: frozenset, b: set, of_b: frozenset) -> set:
    """Of a constant that does not change its sign and any value, or of two values of at least 0."""
    if len(a) == 2:
        a, of_a, b, of_b = b, of_b, a, of_a
    if len(b) == 2 and not {-1, 1} <= of_b:
        return {-x for x in a} if -1 in of_b else a
    return a & b if -1 not in of_a | of_b else set()


KNOWN_VALUES = {("exp", 0): 1, ("log", 1): 0, ("sqrt", 0): 0, ("sqrt", 1): 1, ("tanh", 0): 0, ("erf", 0): 0,
                ("sin", 0): 0, ("cos", 0): 1, ("asin", 0): 0, ("atan", 0): 0}


def exact_value(f: tuple, arguments: list[Fraction]):
    """The exact value at numbers; None if it is not known, or if the formula is undefined there."""
    if f[0] in ("argument", "number"):
        return arguments[f[1]] if f[0] == "argument" else None if isinstance(f[1], Rounded) else f[1]
    parts = [exact_value(part, arguments) for part in f[1:]]
    a, b = parts[0], parts[-1]
    if f[0] in ("*", "/", "gate") and (a == 0 or (f[0] != "/" and b == 0)):
        return Fraction(0) if formula_signs(f, [frozenset((sign(x),)) for x in arguments])[1] else None
    if None in parts or (f[0] == "/" and b == 0):
        return None
    if (f[0], b) in KNOWN_VALUES:
        return Fraction(KNOWN_VALUES[f[0], b])
    return Fraction(EXACT[f[0]](*parts)) if f[0] in EXACT else None
