"""The step `order`: in each case of the signs that functions ask for, a sum is one polynomial in unknown real numbers.

The unknowns are atoms: whole ones, which are those of integers and floor(t), and real ones. A script for each case says that
it does not exist, if the certificate claims so, or that the sum is 0 there."""

from copy import copy
from fractions import Fraction
from math import prod

from functions import OPERATIONS, Rounded, evaluated, sign
from polynomials import ATOMS, Arithmetic, Poly, atom, in_order, quotient_of, require_that, variable
from signs import SignAnalysis
from sums import ONE, Factor, Product, canonical

MAX_EXPONENT = 8


class Undecided(Exception):
    """The sign of a polynomial decides the value."""


class NotEvaluated(Exception):
    """The formula has an operation, or a number, that is not evaluated."""


class CaseScripts:
    """`signs`: of polynomials in this case, with the leading coefficient 1. `names`: of the unknowns, in scripts."""

    def __init__(self, functions: dict, given: tuple, letters: str):
        self.functions, self.given, self.letters = functions, given, letters
        self.signs, self.names, self.facts, self.scripts = {}, {}, [], []

    def claim(self, conditions: list):
        """Adds the script that the conditions are contradictory."""
        known = [f"({'=' if guard.equality else '>='} {self.text(guard.poly)} 0.0)" for guard in self.given
                 if self.names.keys() >= set().union(*guard.poly.terms)]
        lines = [f"(declare-const {name} {'Real' if ATOMS[a].kind == 'real' else 'Int'})" for a, name in self.names.items()]
        self.scripts.append("\n".join(lines + [f"(assert {fact})" for fact in known + self.facts + conditions]))

    def divide(self, terms: tuple, conditions: list):
        """Claims that the sum is 0 in this case, or in all those into which the certificate divides it."""
        try:
            value = self.sum(terms)
            if value != 0:
                self.claim(conditions + [f"(not (= 0.0 {self.text(value)}))"])
            return
        except Undecided as undecided:
            poly, = undecided.args
        letter, self.letters = self.letters[:1], self.letters[1:]
        require_that(letter in ("s", "x"), "expected a case")
        if letter == "x":
            self.claim(conditions)
            return
        outside = self.names, self.facts
        for s, relation in ((1, ">"), (-1, "<"), (0, "=")):
            (self.names, self.facts), self.signs[poly] = map(copy, outside), s
            self.divide(terms, conditions + [f"({relation} {self.text(poly)} 0.0)"])
        del self.signs[poly]

    # Values

    def sum(self, terms: tuple) -> Poly:
        total = Poly({})
        for p in terms:
            value = Poly.of(p.coefficient)
            if p.guards or p.bound:
                value = value * self.unknown(p._replace(coefficient=ONE))
            else:
                for factor in p.factors:
                    value = value * self.factor(factor)
            total = total + value
        return total

    def factor(self, factor: Factor) -> Poly:
        if factor.kind == "integer":
            for m, _ in factor.index[0].ordered():
                for a in in_order(m):
                    self.name(a, lambda name, a=a: f"(>= {name} 1.0)" if ATOMS[a].kind == "size" else "true")
            return factor.index[0]
        if factor.kind != "apply":
            return self.unknown(Product(factors=(factor,)))
        arguments = [self.sum(argument) for argument in factor.arguments]
        try:
            return evaluated(self.functions[factor.symbol].formula, arguments, self.number, self.operate)
        except ZeroDivisionError:  # the function is undefined
            return Poly({})
        except NotEvaluated:
            return self.unknown(Product(factors=(factor,)))

    @staticmethod
    def number(value: Fraction) -> Poly:
        if isinstance(value, Rounded):
            raise NotEvaluated
        return Poly.of(value)

    def operate(self, op: str, *operands) -> Poly:
        a, b = operands[0], operands[-1]
        if op in ("+", "-", "*"):
            return OPERATIONS[op].value(a, b)
        if op in ("max", "min"):
            return a if self.sign(a - b) in (0, 1 if op == "max" else -1) else b
        if op in ("less", "equal"):
            return Poly.of(int(self.sign(a - b) == (-1 if op == "less" else 0)))
        if op == "gate":
            return b if self.sign(a) else Poly({})
        if op == "power" and b.constant in range(MAX_EXPONENT + 1):
            return prod([a] * int(b.constant), start=Poly.of(1))
        if op not in ("abs", "floor", "/"):
            raise NotEvaluated
        return b * self.sign(b) if op == "abs" else self.floor(b) if op == "floor" else self.quotient(a, b)

    def sign(self, poly: Poly) -> int:
        """The sign in this case of a polynomial, or of a multiple of it."""
        if poly.constant is not None:
            return sign(poly.constant)
        leading, monic = self.by_leading(poly)
        if monic not in self.signs:
            raise Undecided(monic)
        return self.signs[monic] * sign(leading)

    def by_leading(self, poly: Poly) -> tuple:
        """The leading coefficient, and the polynomial divided by it."""
        leading = poly.terms[max(poly.terms, key=self.named)]
        return leading, poly * Fraction(1, leading)

    def quotient(self, a: Poly, p: Poly) -> Poly:
        """q + r·1/p for a = q·p + r, where no product of r is a multiple of the last one of p; undefined where p is 0."""
        if not self.sign(p):
            raise ZeroDivisionError
        if p.constant is not None:
            return a * Fraction(1, p.constant)
        last, whole = max(p.terms, key=lambda m: (len(m), self.named(m))), Poly({})
        while multiples := [m for m in a.terms if quotient_of(m, last) is not None]:
            part = Poly({quotient_of(multiples[0], last): Fraction(a.terms[multiples[0]], p.terms[last])})
            whole, a = whole + part, a - part * p
        leading, monic = self.by_leading(p)
        reciprocal = self.name(atom("real", ("1/", monic)), lambda name: f"(=> (not (= 0.0 {self.text(monic)})) "
                                                                        f"(= 1.0 (* {name} {self.text(monic)})))")
        return whole + a * reciprocal * Fraction(1, leading)

    def floor(self, poly: Poly) -> Poly:
        """floor(m + t) = m + floor(t) for a whole m, and floor(t) ≤ t < floor(t) + 1."""
        whole = Poly({m: c.__floor__() for m, c in poly.terms.items() if all(ATOMS[a].kind != "real" for a in m)})
        rest = poly - whole
        if rest.constant is not None:
            return whole
        return whole + self.name(atom("whole", rest), lambda name: f"(and (<= {name} {self.text(rest)}) "
                                                                   f"(< {self.text(rest)} (+ 1.0 {name})))")

    # Unknowns

    def unknown(self, p: Product) -> Poly:
        """An unknown for a product that is not evaluated, the same one for equal products. One factor alone has its signs."""
        def fact(name):
            is_factor = not p.guards and not p.bound
            signs = SignAnalysis(self.functions, Arithmetic()).of_factor(p.factors[0], ()) if is_factor else (-1, 0, 1)
            return f"(or false {' '.join('({} {} 0.0)'.format('<=>'[s + 1], name) for s in sorted(signs))})"
        return self.name(atom("real", canonical(p)), fact)

    def name(self, a: int, fact) -> Poly:
        """The unknown. When it first occurs, it gets a name, and a fact about it is added."""
        if a not in self.names:
            self.names[a] = f"v{len(self.names)}"
            self.facts.append(fact(self.value(a)))
        return variable(a)

    def named(self, m: tuple) -> list:
        """The order of monomials in certificates."""
        return sorted(self.names[a] for a in m)

    def value(self, a: int) -> str:
        return self.names[a] if ATOMS[a].kind == "real" else f"(to_real {self.names[a]})"

    def text(self, poly: Poly) -> str:
        def number(c):
            return f"(/ {c.numerator}.0 {c.denominator}.0)" if c >= 0 else f"(- (/ {-c.numerator}.0 {c.denominator}.0))"
        parts = [f"(* 1.0 {number(c)} {' '.join(map(self.value, m))})" for m, c in poly.terms.items()]
        return f"(+ 0.0 0.0 {' '.join(parts)})"


def case_scripts(terms: tuple, functions: dict, given: tuple, letters: str) -> list:
    """The scripts that the sum, of products without guards and bound indices, is 0 in every case."""
    made = CaseScripts(functions, given, letters)
    made.divide(terms, [])
    require_that(not made.letters, "there are more cases than the sum has")
    return made.scripts
