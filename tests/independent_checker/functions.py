"""Scalar functions: formulas over the reals, their signs, monotonicity and exact values.

A formula is ("argument", i), ("number", Fraction) or (operation, formula, ...)."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Callable, NamedTuple

ALL_SIGNS = frozenset((-1, 0, 1))


class Natural(frozenset):
    """The signs of a value that is a whole number of at least 0."""


class Rounded(Fraction):
    """A number of more than 15 digits, whose exact value is not used."""


def exact_number(text: str) -> Fraction:
    return Fraction(text) if len(text) <= 16 else Rounded(text)


def sign(value) -> int:
    return (value > 0) - (value < 0)


def opposite(signs) -> frozenset:
    return frozenset(-s for s in signs)


def add_signs(a: frozenset, b: frozenset) -> frozenset:
    return frozenset().union(*(ALL_SIGNS if x * y < 0 else {x or y} for x, y in product(a, b)))


def multiply_signs(a: frozenset, b: frozenset) -> frozenset:
    return frozenset(x * y for x, y in product(a, b))


def of_pairs(choose) -> Callable:
    return lambda a, b: frozenset(choose(x, y) for x, y in product(a, b))


def below(limit: float, f):
    """The function where a float is near its value, which is neither too small nor too near to 1."""
    def value(t):
        if abs(t) > limit:
            raise OverflowError
        return f(t)
    return value


class Operation(NamedTuple):
    """`value`: exact, if `is_exact`, or a float; raises an error where it is undefined. `signs`: of the value, by those of the operands;
    one operand counts as both. `domain`: whether it is defined for all operands of these signs. `direction`: 1 if it does not decrease
    with its last operand. `known`: exact values."""
    arity: int
    value: Callable
    signs: Callable = lambda a, b: ALL_SIGNS
    domain: Callable | None = None
    direction: int = 0
    is_exact: bool = False
    known: dict = {}


OPERATIONS = {
    "+": Operation(2, lambda a, b: a + b, add_signs, is_exact=True),
    "-": Operation(2, lambda a, b: a - b, lambda a, b: add_signs(a, opposite(b)), is_exact=True),
    "*": Operation(2, lambda a, b: a * b, multiply_signs, is_exact=True),
    "/": Operation(2, lambda a, b: a / b, lambda a, b: multiply_signs(a, b - {0}), lambda a, b: 0 not in b, is_exact=True),
    "max": Operation(2, max, of_pairs(max), is_exact=True),
    "min": Operation(2, min, of_pairs(min), is_exact=True),
    "less": Operation(2, lambda a, b: a < b, lambda a, b: {0, 1}, is_exact=True),
    "equal": Operation(2, lambda a, b: a == b, lambda a, b: {0, 1}, is_exact=True),
    "gate": Operation(2, lambda a, b: b if a else 0 * b, lambda a, b: b | {0}, is_exact=True),
    "abs": Operation(1, abs, lambda a, b: map(abs, b), is_exact=True),
    "floor": Operation(1, math.floor, lambda a, b: b | ({0} if 1 in b else set()), direction=1, is_exact=True),
    "power": Operation(2, math.pow, lambda a, b: {1} | (a if a <= {0, 1} else ALL_SIGNS),
                       lambda a, b: a == {1} or isinstance(b, Natural)),
    "exp": Operation(1, below(700, math.exp), lambda a, b: {1}, direction=1, known={0: 1}),
    "log": Operation(1, math.log, domain=lambda a, b: b == {1}, direction=1, known={1: 0}),
    "sqrt": Operation(1, math.sqrt, lambda a, b: b - {-1}, lambda a, b: -1 not in b, direction=1, known={0: 0, 1: 1}),
    "tanh": Operation(1, below(5, math.tanh), lambda a, b: b, direction=1, known={0: 0}),
    "erf": Operation(1, below(5, math.erf), lambda a, b: b, direction=1, known={0: 0}),
    "sin": Operation(1, math.sin, known={0: 0}),
    "cos": Operation(1, math.cos, known={0: 1}),
    "asin": Operation(1, math.asin, lambda a, b: b, lambda a, b: b == {0}, known={0: 0}),
    "acos": Operation(1, math.acos, lambda a, b: {0, 1}, lambda a, b: b == {0}),
    "atan": Operation(1, math.atan, lambda a, b: b, direction=1, known={0: 0})}


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


def evaluated(f: tuple, arguments: list, number: Callable, operate: Callable):
    """The formula's value in another domain, by values of numbers and operations there."""
    if f[0] in ("argument", "number"):
        return arguments[f[1]] if f[0] == "argument" else number(f[1])
    return operate(f[0], *(evaluated(part, arguments, number, operate) for part in f[1:]))


def arguments_of(f: tuple) -> set:
    return {part[1] for part in subtrees(f) if part[0] == "argument"}


def domain_arguments(f: tuple) -> set:
    """The arguments that are part of an operand of a partial operation."""
    partial = [part for part in subtrees(f) if part[0] in OPERATIONS and OPERATIONS[part[0]].domain]
    return set().union(*(arguments_of(part if part[0] == "power" else part[-1]) for part in partial))


def formula_signs(f: tuple, arguments: list[frozenset]) -> tuple[frozenset, bool]:
    """The signs that values can have, and whether the formula is defined for all arguments of these signs."""
    def operate(op, *operands):
        (a, _), (b, _) = operands[0], operands[-1]
        is_defined = OPERATIONS[op].domain is None or OPERATIONS[op].domain(a, b)
        return frozenset(OPERATIONS[op].signs(a, b)), is_defined and all(defined for _, defined in operands)
    return evaluated(f, [(signs, True) for signs in arguments], lambda number: (frozenset((sign(number),)), True), operate)


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
    if f[0] == "*" or f[0] == "/" and of_b == {1}:
        return monotonic_product(a, of_a, b if f[0] == "*" else opposite(b), of_b)
    if f[0] in ("+", "-", "max", "min", "less"):
        return (opposite(a) if f[0] == "less" else a) & (opposite(b) if f[0] == "-" else b)
    domain = OPERATIONS[f[0]].domain
    return b if OPERATIONS[f[0]].direction and (domain is None or domain(of_a, of_b)) else set()


def monotonic_product(a: set, of_a: frozenset, b: set, of_b: frozenset) -> set:
    """Of a constant that does not change its sign and any value, or of two values of at least 0."""
    if len(a) == 2:
        a, of_a, b, of_b = b, of_b, a, of_a
    if len(b) == 2 and not {-1, 1} <= of_b:
        return opposite(a) if -1 in of_b else a
    return a & b if -1 not in of_a | of_b else set()


def exact_value(f: tuple, arguments: list[Fraction]):
    """The exact value at numbers; None if it is not known, or if the formula is undefined there."""
    if f[0] in ("argument", "number"):
        return arguments[f[1]] if f[0] == "argument" else None if isinstance(f[1], Rounded) else f[1]
    operation, parts = OPERATIONS[f[0]], [exact_value(part, arguments) for part in f[1:]]
    a, b = parts[0], parts[-1]
    if f[0] in ("*", "/", "gate") and (a == 0 or (f[0] != "/" and b == 0)):
        return Fraction(0) if formula_signs(f, [frozenset((sign(x),)) for x in arguments])[1] else None
    if None in parts or (f[0] == "/" and b == 0):
        return None
    value = operation.value(*parts) if operation.is_exact else operation.known.get(b)
    return None if value is None else Fraction(value)
