"""Sums, products, factors and guards (docs/kernel.md, "Objects"). A sum is a tuple of products.

A bound index runs over all integers; ranges, and zero outside of a tensor, are guards."""

from collections import Counter
from fractions import Fraction
from typing import NamedTuple

from polynomials import ATOMS, Arithmetic, Poly, atoms_in, bound_index, is_nonnegative, require_that, text_of, variable

ONE = Fraction(1)


class Guard(NamedTuple):
    """poly = 0, or poly ≥ 0."""
    equality: bool
    poly: Poly

    def complement(self) -> list["Guard"]:
        """The disjoint regions where it does not hold."""
        return [Guard(False, self.poly * s - 1) for s in ((1, -1) if self.equality else (-1,))]

    @property
    def always(self) -> bool:
        constant = self.poly.constant
        return constant is not None and (constant == 0 if self.equality else constant >= 0)


class Factor(NamedTuple):
    """read: variable[index]. inverse: 1 / index[0]. integer: index[0]. apply: function(arguments), 0 where it is undefined.
    defined: 1 where function(arguments) is defined, else 0. max: the maximum of arguments[0] over the values of `bound` where
    `guards` hold; 0 if there are none."""
    kind: str
    symbol: str = ""
    index: tuple = ()
    arguments: tuple = ()
    bound: tuple = ()
    guards: tuple = ()

    @property
    def parts(self) -> list:
        return [p for argument in self.arguments for p in argument]


class Product(NamedTuple):
    """coefficient · Σ over `bound` [guards] · Π factors"""
    coefficient: Fraction = ONE
    guards: tuple = ()
    bound: tuple = ()
    factors: tuple = ()

    @property
    def parts(self) -> tuple:
        return self.factors

    def times(self, number) -> "Product":
        return self._replace(coefficient=self.coefficient * number)


def relation_guards(left: Poly, relation: str, right: Poly) -> list[Guard]:
    return {"=": [Guard(True, right - left)], "<": [Guard(False, right - left - 1)], "<=": [Guard(False, right - left)],
            "!=": []}[relation]


def index_ranges(indices, extents) -> tuple[Guard, ...]:
    """That each index is below its extent, and not below 0."""
    return tuple(g for i, extent in zip(indices, extents) for g in (Guard(False, i), Guard(False, extent - 1 - i)))


def without_redundant(guards) -> tuple:
    return tuple(dict.fromkeys(g for g in guards if not g.always))


def number(value) -> tuple:
    return (Product(Fraction(value)),) if value else ()


def as_sum(*factors, coefficient=1) -> tuple:
    return (Product(Fraction(coefficient), factors=factors),)


def negated(terms: tuple) -> tuple:
    return tuple(p.times(-1) for p in terms)


def multiply(a: tuple, b: tuple) -> tuple:
    """The sum of the products of each two, whose bound indices are distinct."""
    require_that(all(set(x.bound).isdisjoint(y.bound) for x in a for y in b), "an index is bound twice")
    return tuple(Product(x.coefficient * y.coefficient, x.guards + y.guards, x.bound + y.bound, x.factors + y.factors)
                 for x in a for y in b)


def at(items, position: int):
    require_that(position < len(items), f"there is no part {position}")
    return items[position]


def replaced(items: tuple, position: int, *new) -> tuple:
    return items[:position] + new + items[position + 1:]


def single_factor(terms: tuple):
    """F of a sum that is 1 · F, or None."""
    is_single = len(terms) == 1 and terms[0][:3] == (ONE, (), ()) and len(terms[0].factors) == 1
    return terms[0].factors[0] if is_single else None


# Of sums, products, factors and guards

def map_polys(x, f):
    """x with f applied to each polynomial, at any depth."""
    if isinstance(x, Poly):
        return f(x)
    if not isinstance(x, tuple):
        return x
    parts = [map_polys(part, f) for part in x]
    return x._make(parts) if hasattr(x, "_make") else tuple(parts)


def all_atoms(x) -> frozenset:
    """All atoms that occur, at any depth; not those that are only bound."""
    if isinstance(x, Poly):
        return atoms_in(x)
    return frozenset().union(*map(all_atoms, x)) if isinstance(x, tuple) else frozenset()


def enter(x, scope: frozenset) -> frozenset:
    """The scope inside of a product or factor, each of whose indices is bound once."""
    for a in x.bound:
        require_that(ATOMS[a].kind == "bound", f"{text_of(a)} cannot be bound")
    require_that(len(set(x.bound)) == len(x.bound) and scope.isdisjoint(x.bound), "an index is bound twice")
    return scope.union(x.bound)


def check_scope(x, scope: frozenset):
    """Requires that each bound index occurs only where it is bound."""
    if isinstance(x, Poly):
        for a in atoms_in(x) - scope:
            require_that(ATOMS[a].kind != "bound", f"{text_of(a)} is not bound there")
    elif isinstance(x, (tuple, list)):
        scope = enter(x, scope) if isinstance(x, (Product, Factor)) else scope
        for part in x:
            check_scope(part, scope)


def is_bounded(x) -> bool:
    """Whether the ranges of a product or factor have finitely many points: each index has a lower and an upper bound among the
    guards, which contain no other indices of the range but bounded ones."""
    unbounded, before = set(x.bound), None
    while unbounded and unbounded != before:
        before = set(unbounded)
        for b in before:
            signs = set()
            for guard in x.guards:
                slope, rest = guard.poly.linear_in(b)
                if unbounded.isdisjoint(atoms_in(rest)):
                    signs |= {s for s in (1, -1) if is_nonnegative(slope * s - 1) or guard.equality and is_nonnegative(slope * -s - 1)}
            unbounded -= {b} if len(signs) == 2 else set()
    return not unbounded and all(map(is_bounded, x.parts))


def check_bounded(terms: tuple):
    require_that(all(map(is_bounded, terms)), "a given sum has a range that may be infinite")


RENAMING = Arithmetic()


def multiset(items) -> frozenset:
    return frozenset(Counter(items).items())


def canonical(x, names=None, level: int = 0):
    """A form of a product or factor that does not depend on the order of products, factors and guards. Bound indices become
    levels, counted from the outside."""
    names = dict(names or {})
    bound = tuple(bound_index(f".{level + i}") for i in range(len(x.bound)))
    names.update(zip(x.bound, map(variable, bound)))
    level += len(bound)

    def rename(poly):
        return RENAMING.substitute(poly, names)
    guards = multiset(map_polys(x.guards, rename))
    if isinstance(x, Product):
        return x.coefficient, bound, guards, multiset(canonical(f, names, level) for f in x.factors)
    arguments = tuple(canonical_sum(a, names, level) for a in x.arguments)
    return x.kind, x.symbol, tuple(map(rename, x.index)), arguments, bound, guards


def canonical_sum(terms: tuple, names=None, level: int = 0):
    return multiset(canonical(p, names, level) for p in terms)
