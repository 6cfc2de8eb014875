"""Scalar functions: formulas over the reals, declared laws, signs, exact values.

A formula is ("argument", i), ("number", Fraction) or (operation, formula, ...)."""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

ARITY = {"+": 2, "-": 2, "*": 2, "/": 2, "max": 2, "min": 2, "less": 2, "equal": 2, "gate": 2, "power": 2, "exp": 1,
         "log": 1, "sqrt": 1, "tanh": 1, "erf": 1, "abs": 1, "floor": 1, "sin": 1, "cos": 1, "asin": 1, "acos": 1,
         "atan": 1}
COMPARISONS = ("less", "equal", "gate")
PARTIAL = ("/", "power", "sqrt", "log", "asin", "acos")
RECIPROCAL = ("/", ("number", Fraction(1)), ("argument", 0))
ALL_SIGNS = frozenset((-1, 0, 1))


class Natural(frozenset):
    """The signs of a value that is a whole number of at least 0."""


@dataclass
class Function:
    """`laws`: zero, idempotent, commutative, exponential, homogeneous, reciprocal, monotone, odd, even."""
    name: str
    arity: int
    formula: tuple
    laws: set = field(default_factory=set)

    @property
    def degree(self):
        """The d for which f(c · t) = c^d · f(t) for c > 0, where all arguments are scaled; None if it is not known."""
        found = degree(self.formula)
        return 1 if "homogeneous" in self.laws else -1 if "reciprocal" in self.laws else None if found == ZERO else found

    @property
    def parity(self) -> int:
        return 1 if "even" in self.laws else -1 if "odd" in self.laws else 0

    @property
    def is_total(self) -> bool:
        return self.signs([ALL_SIGNS] * self.arity)[1]

    @property
    def is_piecewise(self) -> bool:
        return is_piecewise(self.formula)

    @property
    def is_by_cases(self) -> bool:
        """Whether all its operations are piecewise, floor, powers or quotients, and it is not 1/t."""
        return self.formula != RECIPROCAL and operations(self.formula) <= set(ARITHMETIC) | {"floor", "power"}

    @property
    def domain_arguments(self) -> set:
        """The arguments that are part of an operand of a partial operation."""
        return domain_arguments(self.formula)

    def signs(self, arguments: list[frozenset]) -> tuple[frozenset, bool]:
        """The signs that values can have, and whether it is defined for all arguments of these signs."""
        return formula_signs(self.formula, arguments)

    def value(self, arguments: list[Fraction]):
        """The exact value at numbers; None if it is not known, or if the function is undefined there."""
        return exact_value(self.formula, arguments)


ARITHMETIC = ("+", "-", "*", "/", "max", "min", "abs", *COMPARISONS)


def operations(f: tuple) -> set:
    return set() if f[0] in ("argument", "number") else {f[0]}.union(*map(operations, f[1:]))


def is_piecewise(f: tuple) -> bool:
    if f[0] in ("argument", "number"):
        return True
    if f[0] == "/" and (f[2][0] != "number" or f[2][1] == 0):
        return False
    return f[0] in ARITHMETIC and all(is_piecewise(part) for part in f[1:])


def arguments_of(f: tuple) -> set:
    return {f[1]} if f[0] == "argument" else set() if f[0] == "number" else set().union(*map(arguments_of, f[1:]))


def domain_arguments(f: tuple) -> set:
    if f[0] in ("argument", "number"):
        return set()
    own = arguments_of(f if f[0] == "power" else f[-1]) if f[0] in PARTIAL else set()
    return own.union(*map(domain_arguments, f[1:]))


def sign(number) -> int:
    return (number > 0) - (number < 0)


def add_signs(a: frozenset, b: frozenset) -> frozenset:
    result = set()
    for x, y in product(a, b):
        result |= ALL_SIGNS if x * y < 0 else {x or y}
    return frozenset(result)


def multiply_signs(a: frozenset, b: frozenset) -> frozenset:
    return frozenset(x * y for x, y in product(a, b))


def formula_signs(f: tuple, arguments: list[frozenset]) -> tuple[frozenset, bool]:
    if f[0] == "argument":
        return arguments[f[1]], True
    if f[0] == "number":
        return frozenset((sign(f[1]),)), True
    parts = [formula_signs(part, arguments) for part in f[1:]]
    a, b = parts[0][0], parts[-1][0]
    signs, defined = operation_signs(f[0], a, b)
    return signs, defined and all(part[1] for part in parts)


ZERO = "any degree"  # that of a formula that is always 0


def degree(f: tuple):
    if f[0] == "argument":
        return Fraction(1)
    if f[0] == "number":
        return Fraction(0) if f[1] else ZERO
    a, b = degree(f[1]), degree(f[-1])
    if None in (a, b):
        return None
    if f[0] in ("+", "-", "max", "min"):
        return b if a == ZERO else a if b in (ZERO, a) else None
    if f[0] in ("less", "equal"):
        return Fraction(0) if ZERO in (a, b) or a == b else None
    if f[0] in ("*", "gate") and ZERO in (a, b) or a == ZERO:
        return ZERO
    if f[0] in ("*", "/") and b != ZERO:
        return a + b if f[0] == "*" else a - b
    if f[0] in ("abs", "gate"):
        return b
    if f[0] == "sqrt":
        return b / 2
    return Fraction(0) if not {a, b} - {ZERO, 0} else None


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


def operation_signs(op: str, a: frozenset, b: frozenset) -> tuple[frozenset, bool]:
    """`a` and `b` are the signs of the operands; equal for an operation of one."""
    only_zero = b == {0}
    if op in ("+", "-"):
        return add_signs(a, b if op == "+" else frozenset(-x for x in b)), True
    if op == "*":
        return multiply_signs(a, b), True
    if op == "/":
        return multiply_signs(a, b - {0}) or ALL_SIGNS, 0 not in b
    if op in ("max", "min"):
        return frozenset({"max": max, "min": min}[op](x, y) for x, y in product(a, b)), True
    if op == "power":
        return (frozenset((1,)), True) if a == {1} else (ALL_SIGNS, isinstance(b, Natural))
    if op == "sqrt":
        return frozenset(x for x in b if x >= 0) or ALL_SIGNS, -1 not in b
    if op == "log":
        return ALL_SIGNS, b == {1}
    if op == "asin":
        return b, only_zero
    table = {"less": {0, 1}, "equal": {0, 1}, "gate": b | {0}, "exp": {1}, "tanh": b, "erf": b, "atan": b,
             "abs": {abs(x) for x in b}, "floor": b | ({0} if 1 in b else set()), "sin": ALL_SIGNS, "cos": ALL_SIGNS,
             "acos": {0, 1}}
    return frozenset(table[op]), op != "acos" or only_zero


KNOWN_VALUES = {("exp", 0): 1, ("log", 1): 0, ("sqrt", 0): 0, ("sqrt", 1): 1, ("tanh", 0): 0, ("erf", 0): 0,
                ("sin", 0): 0, ("cos", 0): 1, ("asin", 0): 0, ("atan", 0): 0, ("acos", 1): 0}


def exact_value(f: tuple, arguments: list[Fraction]):
    if f[0] == "argument":
        return arguments[f[1]]
    if f[0] == "number":
        return f[1]
    parts = [exact_value(part, arguments) for part in f[1:]]
    a, b = parts[0], parts[-1]
    if f[0] in ("*", "/") and (a == 0 or (f[0] == "*" and b == 0)):
        return Fraction(0) if formula_signs(f, [frozenset((sign(x),)) for x in arguments])[1] else None
    if None in parts:
        return None
    if f[0] == "/":
        return a / b if b else None
    if (f[0], b) in KNOWN_VALUES:
        return Fraction(KNOWN_VALUES[f[0], b])
    operations = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "max": lambda: max(a, b),
                  "min": lambda: min(a, b), "abs": lambda: abs(b), "floor": lambda: Fraction(b.__floor__()),
                  "less": lambda: Fraction(a < b), "equal": lambda: Fraction(a == b), "gate": lambda: b if a else 0 * b}
    return operations[f[0]]() if f[0] in operations else None
