"""Laws: equations between expressions of variables, which hold for all real numbers that satisfy their conditions.

An expression is ("number", q), ("argument", i) of a variable, ("+", e, e), ("*", e, e), or ("apply", function, e, ...)."""

import math
import random
from fractions import Fraction
from typing import NamedTuple

from functions import OPERATIONS, Function, Rounded, evaluated, exact_value, subtrees
from polynomials import require_that
from syntax import Grammar

MINUS_ONE = "number", Fraction(-1)
VARIABLES = ["s", "t", "r", "c", "d"]
FORMS = {  # by the text that declares it for a function of t, or of s and t: the law's name, and its equation, where d is 1/c
    "f(0)=0": ("zero", "f(0) = 0"),
    "f(f(t))=f(t)": ("idempotent", "f(f(s)) = f(s)"),
    "f(s,t)=f(t,s)": ("commutative", "f(s, t) = f(t, s)"),
    "f(s+t)=f(s)*f(t)": ("sum", "f(s + t) = f(s) * f(t)"),
    "f(-t)=-f(t)": ("parity", "f(-s) = -f(s)"),
    "f(-t)=f(t)": ("parity", "f(-s) = f(s)"),
    "f(c*t)=c*f(t)": ("scale", "f(c * s) = c * f(s) when c > 0"),
    "f(c*s,c*t)=c*f(s,t)": ("scale", "f(c * s, c * t) = c * f(s, t) when c > 0"),
    "f(c*t)=f(t)/c": ("scale", "f(c * s) = d * f(s) when c > 0, c * d - 1 = 0"),
    "max(f(s),f(t))=f(max(s,t))": ("max", "max(f(s), f(t)) = f(max(s, t))")}


POINTS = 200  # at which a law is tested
NUMBERS = [s * m * 2.0 ** e for s in (1, -1) for m in (1, 1.25, 1.5, 1.75) for e in (-30, -12, -3, -1, 0, 1, 2, 4, 9, 30)] + [0.0]


class Law(NamedTuple):
    """`conditions`: (kind, expression); positive, zero, or defined, of an application. `text`: of a declared equation, without blanks."""
    variables: int
    left: tuple
    right: tuple
    conditions: tuple = ()
    text: str = ""


class EquationReader(Grammar):
    def equation(self):
        """left '=' right ['when' condition {',' condition}]"""
        left, _, right = self.sum(), self.expect("="), self.sum()
        return left, right, self.chain(",", self.law_condition) if self.accept("when") else []

    def law_condition(self):
        """a '>' 0, a '=' 0, or a 'defined', as (kind, a)"""
        a, relation = self.sum(), self.next()
        kind = {">": "positive", "=": "zero", "defined": "defined"}.get(relation)
        require_that(kind == "defined" or kind and self.next() == "0", "expected a condition '> 0', '= 0' or 'defined'")
        return kind, a


class Laws:
    """The laws of all functions, by name: FUNCTION.LAW."""

    def __init__(self, functions: dict[str, Function]):
        self.functions, self.found = functions, {}
        for f in functions.values():
            for text in f.laws:
                self.add(f, *FORMS[text])
            self.monotone(f)
            self.by_formula(f)
            for name, text, equation in f.declared:
                self.add(f, name, equation, f"{f.name}.{text}")

    def add(self, f: Function, name: str, equation, text="", **functions: str):
        """Adds a law, if its operations are functions of the definitions."""
        left, right, conditions = EquationReader(equation).equation() if isinstance(equation, str) else equation
        sides = [self.expression(e, {"f": f.representative, **functions}) for e in (left, right)]
        made = [(kind, self.expression(e, {})) for kind, e in conditions]
        if None not in sides + [e for _, e in made]:
            used = {part[1] for part in subtrees(sides + made) if part[0] == "argument"}
            self.found.setdefault(f"{f.name}.{name}", Law(1 + max(used, default=-1), *sides, tuple(made), text))

    def monotone(self, f: Function):
        direction = f.monotonicity()[0] if f.arity == 1 else 0
        if direction:
            self.add(f, "max", f"max(f(s), f(t)) = f({'max' if direction > 0 else 'min'}(s, t))")
            self.add(f, "min", f"min(f(s), f(t)) = f({'min' if direction > 0 else 'max'}(s, t))")
        for e in self.functions.values() if direction > 0 else ():  # max(t, c) and min(t, c), where f(c) = c
            numbers = [part[1] for part in e.formula[1:] if part[0] == "number"] if e.formula[0] in ("max", "min") else []
            is_bound = e.arity == 1 and len(numbers) == 1 and ("argument", 0) in e.formula
            if is_bound and exact_value(f.formula, numbers) == numbers[0]:
                self.add(f, f"max_{e.name}", "e(f(s)) = f(e(s))", e=e.representative)

    def by_formula(self, f: Function):
        """f(s, …) = its formula, where that is defined; not of a single operation of the arguments, nor of c/t."""
        is_quotient = f.formula[0] == "/" and f.formula[1][0] == "number" and f.formula[2][0] in ("argument", "number")
        whole = "apply", f.representative, *(("argument", i) for i in range(f.arity))
        right = self.expression(f.formula, {})
        if right and not is_quotient and len(list(subtrees(f.formula))) > f.arity + 1:
            self.found.setdefault(f"{f.name}.formula", Law(f.arity, whole, right, (("defined", whole),)))

    def expression(self, e: tuple, names: dict):
        """A formula, or a tree, as an expression; None if no function is one of its operations, or a number is rounded."""
        if e[0] == "name":
            require_that(e[1] in VARIABLES, f"'{e[1]}' is no variable of a law")
            return "argument", VARIABLES.index(e[1])
        if e[0] in ("argument", "number"):
            return None if isinstance(e[1], Rounded) else e
        op, parts = (e[1], e[2]) if e[0] == "call" else (e[0], e[1:])
        parts = [self.expression(part, names) for part in parts]
        name = names.get(op) or operation(self.functions, op)
        if None in parts or (op not in ("+", "-", "*") and not name):
            return None
        if op in ("+", "-"):
            return "+", parts[0], parts[1] if op == "+" else ("*", MINUS_ONE, parts[1])
        if op == "/" and parts[0] == ("number", 1):
            return "apply", name, parts[1]
        if op in ("*", "/"):
            return "*", parts[0], parts[1] if op == "*" else ("apply", name, parts[1])
        require_that(len(parts) == self.functions[name].arity, f"'{op}' has another number of arguments")
        return "apply", name, *parts


def operation(functions: dict[str, Function], op: str) -> str | None:
    """The first function whose formula is this operation of its arguments; 1/t for a quotient."""
    wanted = {(1, (op, ("number", Fraction(1)), ("argument", 0)))}
    if op != "/":
        wanted = {(2, (op, ("argument", 0), ("argument", 1))), (1, (op, ("argument", 0)))}
    return next((f.representative for f in functions.values() if (f.arity, f.formula) in wanted), None)


# Laws are tested at numbers of all magnitudes. Where a function is undefined, it has the value 0.

def formula_value(f: tuple, arguments: list) -> float:
    """Raises ValueError or ZeroDivisionError where the formula is undefined, OverflowError if the value is not known."""
    return evaluated(f, arguments, float, lambda op, *operands: float(OPERATIONS[op].value(*operands)))


def value_of(e: tuple, point: list, functions: dict[str, Function], strictly=False) -> float:
    """Of an expression of a law."""
    if e[0] in ("argument", "number"):
        return formula_value(e, point)
    parts = [value_of(part, point, functions) for part in e[2 if e[0] == "apply" else 1:]]
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
        found = value_of(e, point, functions, kind == "defined")
        return kind == "defined" or (found > 0 if kind == "positive" else abs(found) < 1e-9)
    try:
        if not all(holds(*condition) for condition in law.conditions):
            return True
        left, right = (value_of(side, point, functions) for side in (law.left, law.right))
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
