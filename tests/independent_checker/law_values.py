"""Tests of laws at numbers of all magnitudes. Where a function is undefined, it has the value 0."""

import math
import random

from functions import OPERATIONS, Function, evaluated
from laws import VARIABLES, Law

POINTS = 200
NUMBERS = [s * m * 2.0 ** e for s in (1, -1) for m in (1, 1.25, 1.5, 1.75) for e in (-30, -12, -3, -1, 0, 1, 2, 4, 9, 30)] + [0.0]


def formula_value(f: tuple, arguments: list) -> float:
    """Raises ValueError or ZeroDivisionError where the formula is undefined, OverflowError if the value is not known."""
    return evaluated(f, arguments, float, lambda op, *operands: float(OPERATIONS[op].value(*operands)))


def value(e: tuple, point: list, functions: dict[str, Function], strictly=False) -> float:
    """Of an expression of a law."""
    if e[0] in ("argument", "number"):
        return formula_value(e, point)
    parts = [value(part, point, functions) for part in e[2 if e[0] == "apply" else 1:]]
    if e[0] != "apply":
        return sum(parts) if e[0] == "+" else math.prod(parts)
    try:
        return formula_value(functions[e[1]].formula, parts)
    except (ValueError, ZeroDivisionError):
        if strictly:
            raise
        return 0.0


def holds_at(law: Law, point: list, functions: dict) -> bool:
    def holds(kind, e):
        found = value(e, point, functions, kind == "defined")
        return kind == "defined" or (found > 0 if kind == "positive" else abs(found) < 1e-9)
    try:
        if not all(holds(*condition) for condition in law.conditions):
            return True
        left, right = (value(side, point, functions) for side in (law.left, law.right))
    except (OverflowError, ValueError, ZeroDivisionError):
        return True
    return math.isclose(left, right, rel_tol=1e-6, abs_tol=1e-6 * max(map(abs, point)))


def counterexample(law: Law, functions: dict):
    """A point at which a law is false; None if none is found."""
    numbers, c = random.Random(1), VARIABLES.index("c")
    for _ in range(POINTS):
        point = numbers.choices(NUMBERS, k=5)
        point[4] = 1 / point[c] if point[c] else 0.0  # laws with two scales want inverse ones
        if not holds_at(law, point, functions):
            return point
    return None
