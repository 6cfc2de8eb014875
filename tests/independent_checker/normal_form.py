"""An element of a tensor: a sum (tuple) of products coefficient · Σ over `bound` [guards] · Π factors.

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


class Product(NamedTuple):
    coefficient: Fraction = ONE
    guards: tuple = ()
    bound: tuple = ()
    factors: tuple = ()

    def times(self, number) -> "Product":
        return self._replace(coefficient=self.coefficient * number)


def relation_guards(left: Poly, relation: str, right: Poly) -> list[Guard]:
    return {"=": [Guard(True, right - left)], "<": [Guard(False, right - left - 1)], "<=": [Guard(False, right - left)],
            "!=": []}[relation]


def index_range(index: Poly, extent: Poly) -> tuple[Guard, Guard]:
    return Guard(False, index), Guard(False, extent - 1 - index)


def without_redundant(guards) -> tuple:
    return tuple(dict.fromkeys(g for g in guards if not g.always))


def number(value) -> tuple:
    return (Product(Fraction(value)),) if value else ()


def as_sum(*factors) -> tuple:
    return (Product(factors=factors),)


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


def map_guards(guards: tuple, f) -> tuple:
    return tuple(Guard(g.equality, f(g.poly)) for g in guards)


def map_polys(x, f):
    """The factor or product with f applied to each polynomial, at any depth."""
    if isinstance(x, Product):
        return x._replace(guards=map_guards(x.guards, f), factors=tuple(map_polys(y, f) for y in x.factors))
    return x._replace(index=tuple(map(f, x.index)), guards=map_guards(x.guards, f),
                      arguments=tuple(tuple(map_polys(p, f) for p in a) for a in x.arguments))


def all_atoms(x) -> set:
    """All atoms that occur in a factor or product, at any depth; not those that are only bound."""
    found = set()
    map_polys(x, lambda poly: found.update(atoms_in(poly)) or poly)
    return found


# Scopes of bound indices

def check_bound(polys, scope):
    for poly in polys:
        for a in atoms_in(poly):
            require_that(ATOMS[a].kind != "bound" or a in scope, f"{text_of(a)} is not bound there")


def enter(x, scope: frozenset) -> frozenset:
    """The scope inside of a product or factor, each of whose indices is bound once."""
    for a in x.bound:
        require_that(ATOMS[a].kind == "bound", f"{text_of(a)} cannot be bound")
    require_that(len(set(x.bound)) == len(x.bound) and scope.isdisjoint(x.bound), "an index is bound twice")
    return scope.union(x.bound)


def check_scope(x, scope: frozenset):
    """Requires that each bound index of a product or factor occurs only where it is bound."""
    scope = enter(x, scope)
    check_bound([g.poly for g in x.guards], scope)
    if isinstance(x, Product):
        for factor in x.factors:
            check_scope(factor, scope)
    else:
        check_bound(x.index, scope)
        for argument in x.arguments:
            check_sum_scope(argument, scope)


def check_sum_scope(terms: tuple, scope: frozenset):
    for p in terms:
        check_scope(p, scope)


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
    parts = x.factors if isinstance(x, Product) else [p for argument in x.arguments for p in argument]
    return not unbounded and all(map(is_bounded, parts))


def check_bounded(terms: tuple):
    require_that(all(map(is_bounded, terms)), "a given sum has a range that may be infinite")


# Forms that do not depend on the order of products, factors and guards, nor on the names of bound indices

RENAMING = Arithmetic()


def multiset(items) -> frozenset:
    return frozenset(Counter(items).items())


def canonical(x, names=None, level: int = 0):
    """Of a product or factor. Its bound indices, and those inside of it, become levels, counted from the outside."""
    names = dict(names or {})
    bound = tuple(bound_index(f".{level + i}") for i in range(len(x.bound)))
    names.update(zip(x.bound, map(variable, bound)))
    level += len(bound)

    def rename(poly):
        return RENAMING.substitute(poly, names)
    guards = multiset(map_guards(x.guards, rename))
    if isinstance(x, Product):
        return x.coefficient, bound, guards, multiset(canonical(f, names, level) for f in x.factors)
    arguments = tuple(canonical_sum(a, names, level) for a in x.arguments)
    return x.kind, x.symbol, tuple(map(rename, x.index)), arguments, bound, guards


def canonical_sum(terms: tuple, names=None, level: int = 0):
    return multiset(canonical(p, names, level) for p in terms)
