"""An element of a tensor: a sum (tuple) of products coefficient · Σ over `bound` [guards] · Π factors.

A bound index runs over all integers; ranges, and zero outside of a tensor, are guards."""

from fractions import Fraction
from typing import NamedTuple

from polynomials import Poly, atoms_in

ONE = Fraction(1)


class Guard(NamedTuple):
    """poly = 0, or poly ≥ 0."""
    equality: bool
    poly: Poly

    def complement(self) -> list["Guard"]:
        """The disjoint regions where it does not hold."""
        return [Guard(False, self.poly * s - 1) for s in ((1, -1) if self.equality else (-1,))] if self.equality \
            else [Guard(False, -self.poly - 1)]

    @property
    def always(self) -> bool:
        constant = self.poly.constant
        return constant is not None and (constant == 0 if self.equality else constant >= 0)


class Factor(NamedTuple):
    """read: variable[index]. inverse: 1 / index[0]. integer: index[0]. apply: function(arguments). max: the maximum of
    arguments[0] over the values of `bound` where `guards` hold; 0 if there are none."""
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


def negated(terms: tuple) -> tuple:
    return tuple(p.times(-1) for p in terms)


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


def canonical(factor: Factor):
    """Equal for factors that differ in the order of guards or of bound indices only."""
    arguments = tuple(tuple(canonical_product(p) for p in a) for a in factor.arguments)
    return factor._replace(guards=frozenset(factor.guards), arguments=arguments)


def canonical_product(p: Product):
    return p._replace(guards=frozenset(p.guards), factors=tuple(canonical(f) for f in p.factors))
