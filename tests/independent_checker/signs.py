"""The signs that sums can have for all values of the variables, by formulas."""

from functions import ALL_SIGNS, Natural, add_signs, formula_signs, multiply_signs, sign
from polynomials import Arithmetic, Poly, is_nonnegative
from sums import Factor, Guard, map_polys


class SignAnalysis:
    """`needed`: what the signs depend on: if `points`, that sums have the point where all indices are 0; if `integers`, that
    integers are positive. Undefined values are 0, or they are left out."""

    def __init__(self, functions: dict, arithmetic: Arithmetic, points=False, integers=False, undefined_is_zero=True):
        self.functions, self.arithmetic, self.needed = functions, arithmetic, []
        self.points, self.integers, self.undefined_is_zero = points, integers, undefined_is_zero

    def of_sum(self, terms: tuple, given: tuple) -> frozenset:
        total = frozenset((0,))
        for p in terms:
            own = frozenset((sign(p.coefficient),))
            for factor in p.factors:
                signs = self.of_factor(factor, given + p.guards)
                if p.factors.count(factor) % 2 == 0:
                    signs = frozenset(map(abs, signs))
                own = multiply_signs(own, signs)
            if (p.bound and own >= {-1, 1}) or not self.has_point(p, given):
                own |= {0}
            total = add_signs(total, own)
        is_natural = all(not p.factors and not p.bound and p.coefficient >= 0 and p.coefficient.denominator == 1 for p in terms)
        return Natural(total) if is_natural else total

    def has_point(self, p, given: tuple) -> bool:
        if p.guards and self.points:
            origin = dict.fromkeys(p.bound, Poly.of(0))
            for goal in map_polys(p.guards, lambda poly: self.arithmetic.substitute(poly, origin)):
                self.needed.append(("a sum has a point", given, goal))
        return self.points or not p.guards

    def of_factor(self, factor: Factor, given: tuple) -> frozenset:
        if factor.kind == "apply":
            return self.application(factor, given)[0]
        if factor.kind == "max":
            return self.of_sum(factor.arguments[0], given + factor.guards) | {0}
        if factor.kind == "defined":
            return frozenset((0, 1))
        if factor.kind == "read":
            return ALL_SIGNS
        above = factor.index[0] - 1
        if self.integers:
            self.needed.append(("an integer is positive", given, Guard(False, above)))
        is_positive = self.integers or factor.kind == "inverse" or is_nonnegative(above)
        return frozenset((1,)) if is_positive else ALL_SIGNS

    def application(self, factor: Factor, given: tuple) -> tuple[frozenset, bool]:
        """The signs of a function's values, and whether it is defined for all arguments of these signs."""
        arguments = [self.of_sum(argument, given) for argument in factor.arguments]
        signs, defined = formula_signs(self.functions[factor.symbol].formula, arguments)
        return (signs | {0} if self.undefined_is_zero and not defined else signs), defined
