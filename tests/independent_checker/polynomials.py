"""Integer polynomials over sizes, indices, quotients, minima and maxima, with floor division.

An atom is a number in `ATOMS`; equal atoms have equal numbers. A monomial is a sorted tuple of atoms."""

import math
from collections import Counter
from functools import cache, reduce
from operator import and_
from typing import NamedTuple


class CheckError(Exception):
    """The rule, or its certificate, is not accepted."""


def require_that(condition, message: str):
    if not condition:
        raise CheckError(message)


class Poly:
    """A polynomial with integer coefficients, or rational ones in the step `order`; immutable."""
    __slots__ = ("terms", "hash")

    def __init__(self, terms: dict[tuple, int]):
        self.terms = terms if all(terms.values()) else {m: c for m, c in terms.items() if c}
        self.hash = None

    @staticmethod
    def of(value) -> "Poly":
        return value if isinstance(value, Poly) else Poly({(): value})

    @staticmethod
    def terms_of(value) -> dict:
        return value.terms if isinstance(value, Poly) else {(): value} if value else {}

    def __eq__(self, other):
        return self.terms == Poly.terms_of(other)

    def __hash__(self):
        if self.hash is None:
            self.hash = hash(frozenset(self.terms.items()))
        return self.hash

    def plus(self, other, sign: int) -> "Poly":
        result = dict(self.terms)
        for m, c in Poly.terms_of(other).items():
            result[m] = result.get(m, 0) + sign * c
        return Poly(result)

    def __add__(self, other):
        return self.plus(other, 1)

    def __sub__(self, other):
        return self.plus(other, -1)

    def __mul__(self, other):
        result = {}
        for m, c in self.terms.items():
            for n, d in Poly.terms_of(other).items():
                both = tuple(sorted(m + n))
                result[both] = result.get(both, 0) + c * d
        return Poly(result)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self * -1

    @property
    def constant(self):
        """The number that the polynomial is, or None."""
        return self.terms.get((), 0) if not self.terms or list(self.terms) == [()] else None

    @property
    def single_atom(self):
        if len(self.terms) != 1:
            return None
        (m, c), = self.terms.items()
        return m[0] if len(m) == 1 and c == 1 else None

    def linear_in(self, a: int) -> tuple["Poly", "Poly"]:
        """p and r with self = p·a + r, where r contains all of self that is not linear in the atom."""
        slope = {quotient_of(m, (a,)): c for m, c in self.terms.items() if m.count(a) == 1}
        return Poly(slope), Poly({m: c for m, c in self.terms.items() if m.count(a) != 1})

    def content(self):
        """The gcd of the coefficients, and the greatest monomial that divides all terms."""
        common = reduce(and_, map(Counter, self.terms)) if self.terms else Counter()
        return math.gcd(*self.terms.values()), tuple(common.elements())

    def ordered(self) -> list:
        """The monomials with their coefficients, by degree; sizes by name, before all others."""
        return sorted(self.terms.items(), key=lambda term: rank(term[0]))

    def divided_by(self, number: int, monomial: tuple) -> "Poly":
        """The quotient by a common divisor of all terms."""
        return Poly({quotient_of(m, monomial): c // number for m, c in self.terms.items()})

    def __repr__(self):
        return " + ".join("*".join([str(c)] + [text_of(a) for a in m]) for m, c in sorted(self.terms.items())) or "0"


class Atom(NamedTuple):
    """kind: size, output, bound (name: its name or number); div, min, max (of left and right); whole and real unknowns of `order`."""
    kind: str
    name: object = None
    left: Poly = None
    right: Poly = None


ATOMS: list[Atom] = []
NUMBERS: dict[tuple, int] = {}


def atom(*fields) -> int:
    number = NUMBERS.setdefault(fields, len(ATOMS))
    if number == len(ATOMS):
        ATOMS.append(Atom(*fields))
    return number


def variable(a: int) -> Poly:
    return Poly({(a,): 1})


def size(name: str) -> Poly:
    return variable(atom("size", name))


def output_index(number: int) -> Poly:
    return variable(atom("output", number))


def bound_index(number: int) -> int:
    return atom("bound", number)


def text_of(a: int) -> str:
    it = ATOMS[a]
    sign = {"size": "", "output": "@", "bound": "#"}
    return f"{sign[it.kind]}{it.name}" if it.kind in sign else f"{it.kind}({it.left}, {it.right})"


def quotient_of(m: tuple, by: tuple):
    """m / by for monomials; None if it is none."""
    return tuple((Counter(m) - Counter(by)).elements()) if Counter(by) <= Counter(m) else None


@cache
def atoms_of(a: int) -> frozenset:
    """The atom and those inside of it."""
    it = ATOMS[a]
    return frozenset((a,)) if it.left is None else atoms_in(it.left) | atoms_in(it.right) | {a}


def atoms_in(poly: Poly) -> frozenset:
    """All atoms of the polynomial, also those inside of others."""
    return frozenset().union(*(atoms_of(a) for m in poly.terms for a in m))


def order_of(a: int) -> tuple:
    """Sizes by name, before all other atoms."""
    return ATOMS[a].kind != "size", ATOMS[a].name if ATOMS[a].kind == "size" else a


@cache
def in_order(m: tuple) -> tuple:
    return tuple(sorted(m, key=order_of))


@cache
def rank(m: tuple) -> tuple:
    """The order of monomials: by degree, then by their atoms."""
    return len(m), [order_of(a) for a in in_order(m)]


@cache
def is_nonnegative(poly: Poly) -> bool:
    """A sufficient test for all sizes of at least 1: with 1 + s for each size s, no coefficient is negative."""
    atoms = {a for m in poly.terms for a in m}
    if sum(poly.terms.values()) < 0 or any(ATOMS[a].kind != "size" for a in atoms):  # the sum is the value where all are 1
        return False
    return all(c >= 0 for c in Arithmetic().substitute(poly, {a: variable(a) + 1 for a in atoms}).terms.values())


class Arithmetic:
    """Operations on polynomials. Floor division is simplified as for a divisor of at least 1. `divisors` records what was divided
    by; a proof must show that each of them is at least 1."""

    def __init__(self):
        self.divisors: set[Poly] = set()

    def operate(self, op: str, a: Poly, b: Poly) -> Poly:
        """An operation of definitions, rules and certificates; / is exact, which a definition ensures."""
        if op in ("div", "//", "/"):
            return self.quotient(a, b)
        if op in ("mod", "%"):
            return a - b * self.quotient(a, b)
        if op not in ("min", "max"):
            return a * b if op == "*" else a.plus(b, 1 if op == "+" else -1)
        return a if a == b else variable(atom(op, None, *sorted((a, b), key=lambda p: sorted(p.terms.items()))))

    def quotient(self, n: Poly, d: Poly) -> Poly:
        """floor(n / d). With n = d·e + r it is e + floor(r / d). For 0 ≤ r < d that is e, for −d ≤ r < 0 e − 1."""
        require_that(d != 0, "floor division by zero")
        self.divisors.add(d)
        if d == 1 or n == 0:
            return n
        (cn, mn), (cd, md) = n.content(), d.content()
        number = math.gcd(cn, cd)
        monomial = tuple(a for a in (Counter(mn) & Counter(md)).elements() if ATOMS[a].kind == "size")
        if number > 1 or monomial:
            return self.quotient(n.divided_by(number, monomial), d.divided_by(number, monomial))
        e, r = self.long_division(n, d)
        if is_nonnegative(r) and is_nonnegative(d - 1 - r):
            return e
        if is_nonnegative(-r - 1) and is_nonnegative(d + r):
            return e - 1
        if e != 0:
            return e + self.quotient(r, d)
        kind, _, left, right = ATOMS[r.single_atom] if r.single_atom is not None else Atom("")
        # floor(floor(x / a) / d) = floor(x / (a · d)) for d ≥ 1, whatever the sign of a is.
        if kind == "div" and is_nonnegative(d - 1):
            return self.quotient(left, right * d)
        return variable(atom("div", None, r, d))

    @staticmethod
    def long_division(n: Poly, d: Poly) -> tuple[Poly, Poly]:
        """e and r with n = d·e + r, term by term from the greatest one."""
        leading = max(d.terms, key=rank)
        by, e, r = d.terms[leading], Poly({}), Poly({})
        while n.terms:
            m = max(n.terms, key=rank)
            rest, c = quotient_of(m, leading), n.terms[m]
            if rest is not None and (by > 0 or c % by == 0) and c // by:
                part = Poly({rest: c // by})
                e, n = e + part, n - d * part
            if m in n.terms:
                kept = Poly({m: n.terms[m]})
                r, n = r + kept, n - kept
        return e, r

    def substitute(self, poly: Poly, images: dict[int, Poly]) -> Poly:
        """Replaces atoms by polynomials, simultaneously and at any depth."""
        if not images or atoms_in(poly).isdisjoint(images):
            return poly
        result = Poly({})
        for m, c in poly.terms.items():
            product = Poly.of(c)
            for a in m:
                product = product * self.image(a, images)
            result = result + product
        return result

    def image(self, a: int, images: dict[int, Poly]) -> Poly:
        if a in images:
            return images[a]
        it = ATOMS[a]
        if it.left is None:
            return variable(a)
        left, right = self.substitute(it.left, images), self.substitute(it.right, images)
        return variable(a) if (left, right) == (it.left, it.right) else self.operate(it.kind, left, right)
