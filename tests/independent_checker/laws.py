"""Laws: equations between expressions of variables, which hold for all real numbers that satisfy their conditions.

An expression is ("number", q), ("argument", i) of a variable, ("+", e, e), ("*", e, e), or ("apply", function, e, ...)."""

from fractions import Fraction
from typing import NamedTuple

from functions import Function, Rounded, exact_value, monotonicity

MINUS_ONE = "number", Fraction(-1)
S, T, C, D = (("argument", i) for i in (0, 1, 3, 4))


class Law(NamedTuple):
    """`conditions`: (kind, expression); positive, zero, or defined, of an application. `text`: of a declared equation, without blanks."""
    variables: int
    left: tuple
    right: tuple
    conditions: tuple = ()
    text: str = ""


class Laws:
    """The laws of all functions, by name: FUNCTION.LAW."""

    def __init__(self, functions: dict[str, Function]):
        self.functions, self.found = functions, {}
        for f in functions.values():
            self.by_form(f)
            self.by_formula(f)
            for declared in f.declared:
                self.by_declaration(f, *declared)

    def apply(self, name: str, *arguments) -> tuple:
        return "apply", self.functions[name].representative, *arguments

    def add(self, f: Function, name: str, *law):
        self.found.setdefault(f"{f.name}.{name}", Law(*law))

    def by_form(self, f: Function):
        def of(*arguments):
            return self.apply(f.name, *arguments)
        positive = (("positive", C),)
        if "zero" in f.laws:
            self.add(f, "zero", 0, of(("number", Fraction(0))), ("number", Fraction(0)))
        if "idempotent" in f.laws:
            self.add(f, "idempotent", 1, of(of(S)), of(S))
        if "commutative" in f.laws:
            self.add(f, "commutative", 2, of(S, T), of(T, S))
        if "exponential" in f.laws:
            self.add(f, "sum", 2, of(("+", S, T)), ("*", of(S), of(T)))
        if f.parity:
            self.add(f, "parity", 1, of(("*", MINUS_ONE, S)), ("*", ("number", Fraction(f.parity)), of(S)))
        if "homogeneous" in f.laws:
            arguments = (S, T)[:f.arity]
            self.add(f, "scale", 4, of(*(("*", C, a) for a in arguments)), ("*", C, of(*arguments)), positive)
        if "reciprocal" in f.laws:
            inverse = positive + (("zero", ("+", ("*", C, D), MINUS_ONE)),)
            self.add(f, "scale", 5, of(("*", C, S)), ("*", D, of(S)), inverse)
        direction = 1 if "monotone" in f.laws else max(monotonicity(f.formula, 0), default=0) if f.arity == 1 else 0
        if direction:
            self.monotone(f, of, direction)

    def monotone(self, f: Function, of, direction: int):
        for op, other in (("max", "min"), ("min", "max")):
            outside, inside = (operation(self.functions, name) for name in (op, op if direction > 0 else other))
            if outside and inside:
                self.add(f, op, 2, self.apply(outside, of(S), of(T)), of(self.apply(inside, S, T)))
        for e in self.functions.values() if direction > 0 else ():  # max(t, c) and min(t, c), where f(c) = c
            numbers = [part[1] for part in e.formula[1:] if part[0] == "number"] if e.formula[0] in ("max", "min") else []
            is_bound = e.arity == 1 and len(numbers) == 1 and ("argument", 0) in e.formula
            if is_bound and exact_value(f.formula, numbers) == numbers[0]:
                self.add(f, f"max_{e.name}", 1, self.apply(e.name, of(S)), of(self.apply(e.name, S)))

    def by_formula(self, f: Function):
        """f(s, …) = its formula, where that is defined; not of a single operation of the arguments, nor of c/t."""
        is_quotient = f.formula[0] == "/" and f.formula[1][0] == "number" and f.formula[2][0] in ("argument", "number")
        whole = self.apply(f.name, *(("argument", i) for i in range(f.arity)))
        right = self.expression(f.formula)
        if right and not is_quotient and length(f.formula) > f.arity + 1:
            self.add(f, "formula", f.arity, whole, right, (("defined", whole),))

    def by_declaration(self, f: Function, name: str, text: str, left, right, positive):
        sides = [self.expression(e) for e in (left, right, *positive)]
        if None not in sides:
            conditions = tuple(("positive", e) for e in sides[2:])
            self.add(f, name, 1 + max((i for e in sides for i in variables_in(e)), default=-1), *sides[:2], conditions,
                     f"{f.name}.{text}")

    def expression(self, f: tuple):
        """A formula as an expression; None if no function of the definitions is one of its operations, or a number is rounded."""
        if f[0] in ("argument", "number"):
            return None if isinstance(f[1], Rounded) else f
        parts = tuple(self.expression(part) for part in f[1:])
        name = None if f[0] in ("+", "-", "*") else operation(self.functions, f[0])
        if None in parts or (f[0] not in ("+", "-", "*") and not name):
            return None
        if f[0] in ("+", "-"):
            return "+", parts[0], parts[1] if f[0] == "+" else ("*", MINUS_ONE, parts[1])
        if f[0] == "*":
            return ("*", *parts)
        return ("*", parts[0], self.apply(name, parts[1])) if f[0] == "/" else self.apply(name, *parts)


def length(f: tuple) -> int:
    """The number of operations, arguments and numbers."""
    return 1 if f[0] in ("argument", "number") else 1 + sum(map(length, f[1:]))


def variables_in(e: tuple) -> set:
    if e[0] in ("argument", "number"):
        return {e[1]} if e[0] == "argument" else set()
    return set().union(*(variables_in(part) for part in e[1:] if isinstance(part, tuple)))


def operation(functions: dict[str, Function], op: str) -> str | None:
    """The first function whose formula is this operation of its arguments; 1/t for a quotient."""
    wanted = {(1, (op, ("number", Fraction(1)), ("argument", 0)))}
    if op != "/":
        wanted = {(2, (op, ("argument", 0), ("argument", 1))), (1, (op, ("argument", 0)))}
    return next((f.representative for f in functions.values() if (f.arity, f.formula) in wanted), None)
