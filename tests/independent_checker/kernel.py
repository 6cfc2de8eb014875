"""The inference rules. A step replaces a sum by one of equal value where its context holds (check/kernel/kernel.h)."""

from collections import Counter
from fractions import Fraction
from math import gcd, lcm

from certificates import Definedness, Step
from functions import ALL_SIGNS, add_signs, multiply_signs, sign
from normal_form import (Factor, Guard, ONE, Product, all_atoms, canonical, map_guards, map_polys, negated,
                         without_redundant)
from order import cancels_in_every_order
from polynomials import ATOMS, CheckError, Poly, atoms_in, rank, text_of, variable
from statement import Obligation, Statement


def require_that(condition, message: str):
    if not condition:
        raise CheckError(message)


def at(items, position: int):
    require_that(position < len(items), f"there is no part {position}")
    return items[position]


def replaced(items: tuple, position: int, *new) -> tuple:
    return items[:position] + new + items[position + 1:]


def bound_atoms(poly: Poly) -> set:
    return {a for a in atoms_in(poly) if ATOMS[a].kind == "bound"}


def check_scope(p, scope: frozenset):
    """Each bound index of a product or factor is bound once, around its uses."""
    for a in p.bound:
        require_that(ATOMS[a].kind == "bound" and a not in scope, f"{text_of(a)} cannot be bound here")
    require_that(len(set(p.bound)) == len(p.bound), "an index is bound twice")
    scope = scope.union(p.bound)
    for poly in [g.poly for g in p.guards] + (list(p.index) if isinstance(p, Factor) else []):
        require_that(bound_atoms(poly) <= scope, "an index is not bound there")
    for part in p.factors if isinstance(p, Product) else [q for argument in p.arguments for q in argument]:
        check_scope(part, scope)


def single_factor(terms: tuple):
    """F of a sum that is 1 · F, or None."""
    is_single = len(terms) == 1 and terms[0][:3] == (ONE, (), ()) and len(terms[0].factors) == 1
    return terms[0].factors[0] if is_single else None


def multiplied(a: Product, b: Product) -> Product:
    """The product of both, whose bound indices are distinct."""
    return Product(a.coefficient * b.coefficient, a.guards + b.guards, a.bound + b.bound, a.factors + b.factors)


def as_sum(*factors) -> tuple:
    return (Product(factors=factors),)


class Kernel:
    def __init__(self, statement: Statement):
        self.statement, self.arithmetic, self.functions = statement, statement.arithmetic, statement.library.functions
        self.obligations: list[Obligation] = []

    def require(self, what, given, goal=None, lemmas=(), indicators=()):
        self.obligations.append(Obligation(what, tuple(given), goal, tuple(indicators), tuple(lemmas)))

    def function_of(self, factor: Factor):
        return self.functions[factor.symbol] if factor.kind == "apply" else None

    def applies_only(self, factor: Factor, word: str) -> bool:
        """Whether the factor's function is word(t) by its formula."""
        function = self.function_of(factor)
        return bool(function) and function.formula == (word, ("argument", 0))

    def is_reciprocal(self, factor: Factor) -> bool:
        function = self.function_of(factor)
        return bool(function) and function.formula == ("/", ("number", 1), ("argument", 0))

    def with_law(self, factor: Factor, law: str):
        function = self.function_of(factor)
        require_that(function and law in function.laws, f"the factor is no function with the law '{law}'")
        return function

    # Whole proofs

    def run(self, terms: tuple, given: tuple, scope: frozenset, steps: list[Step]) -> tuple:
        for step in steps:
            before = {id(p) for p in terms}
            terms = self.apply(terms, given, scope, step)
            for p in terms:
                if id(p) not in before:
                    check_scope(p, scope)
        return terms

    def check_vanishes(self, terms: tuple, given: tuple, scope: frozenset, steps: list[Step]):
        for p in terms:
            check_scope(p, scope)
        require_that(not self.run(terms, given, scope, steps), "the steps do not rewrite the sum to 0")

    def match(self, found, stated, given: tuple):
        """Requires that two sums, products or factors are equal. Those stated may have guards that follow from the others:
        the range of an index whose bound contains other indices ends at the largest value of that bound, too."""
        if isinstance(found, tuple) and not isinstance(found, (Product, Factor)):
            require_that(len(found) == len(stated), "the definitions have another number of products")
            for a, b in zip(found, stated):
                self.match(a, b, given)
            return
        head = slice(0, 3) if isinstance(found, Factor) else slice(0, 1)  # kind, symbol and index; coefficient
        require_that((found[head], found.bound) == (stated[head], stated.bound), "the definitions have another normal form")
        require_that(set(found.guards) <= set(stated.guards), "the definitions have other guards")
        given += found.guards
        for guard in set(stated.guards) - set(found.guards):
            self.require("the guards of the definition", given, guard, self.remainder_lemmas(guard, found.guards))
        if isinstance(found, Factor):
            require_that(len(found.arguments) == len(stated.arguments), "the definitions have another normal form")
            for a, b in zip(found.arguments, stated.arguments):
                self.match(a, b, given)
            return
        require_that(len(found.factors) == len(stated.factors), "the definitions have other factors")
        rest = list(stated.factors)
        for factor in found.factors:
            like = [f for f in rest if canonical(f) == canonical(factor)] or [f for f in rest if f.kind == factor.kind]
            require_that(like, "the definitions have other factors")
            rest.remove(like[0])
            self.match(factor, like[0], given)

    @staticmethod
    def remainder_lemmas(goal: Guard, guards: tuple) -> list:
        """s · (d − 1 − n mod d) ≥ 0 for the sizes s of the goal and the quotients floor(n / d) of the guards."""
        quotients = {a for g in guards for a in atoms_in(g.poly) if ATOMS[a].kind == "div"}
        return [(variable(s), ATOMS[a].right - 1 - ATOMS[a].left + ATOMS[a].right * variable(a))
                for s in atoms_in(goal.poly) if ATOMS[s].kind == "size" for a in quotients]

    # Steps

    def apply(self, terms: tuple, given: tuple, scope: frozenset, step: Step) -> tuple:
        if step.word in ("cancel", "collect_terms", "order"):
            return getattr(self, step.word)(terms, given, scope, step)
        if step.word in ("same", "root"):
            return getattr(self, step.word)(terms, given, scope, step)
        p = at(terms, at(step.positions, 0))
        if step.on_maximum:
            return self.on_maximum(terms, p, given, scope, step)
        method = getattr(self, step.word)
        if step.word in ("set", "map", "add_guard", "drop_guard", "new_index"):
            return replaced(terms, step.positions[0], method(p, given, scope, step))
        return method(terms, p, given, scope, step)

    def on_maximum(self, terms, p: Product, given, scope, step: Step) -> tuple:
        """Steps on ranges apply to max_{b: G} t as to Σ_b [G] F. Here 't' is kept as the factor without its range."""
        f = step.positions[1]
        require_that(at(p.factors, f).kind == "max", "the factor is not a maximum")
        changed = getattr(self, step.word)(p.factors[f], given + p.guards, scope.union(p.bound), step)
        return replaced(terms, step.positions[0], p._replace(factors=replaced(p.factors, f, changed)))

    def drop(self, terms, p, given, scope, step):
        self.require("a product vanishes", given + p.guards, None, step.lemmas)
        return replaced(terms, step.positions[0])

    def set(self, x, given, scope, step):
        (a, value), = step.images
        require_that(a not in atoms_in(value), "the value of an index contains the index")
        self.require("an index has one value", given + x.guards, Guard(True, variable(a) - value), step.lemmas)
        new = map_polys(x, lambda poly: self.arithmetic.substitute(poly, {a: value}))
        if a in x.bound:
            new = new._replace(bound=tuple(b for b in x.bound if b != a))
        else:
            new = new._replace(guards=new.guards + (Guard(True, variable(a) - value),))
        return new._replace(guards=without_redundant(new.guards))

    def map(self, x, given, scope, step):
        images, inverse = dict(step.images), dict(step.inverse)
        require_that(len(images) == len(step.images) and len(inverse) == len(step.inverse), "an index is mapped twice")
        require_that(set(images) == set(x.bound), "the map is not defined on exactly the bound indices")
        for one, other in ((images, inverse), (inverse, images)):
            for a, image in one.items():
                require_that(bound_atoms(image) <= scope.union(other), "an index is not bound there")
                require_that(self.arithmetic.substitute(image, other) == variable(a), "the maps are not inverse to each other")
        new = map_polys(x, lambda poly: self.arithmetic.substitute(poly, images))
        return new._replace(bound=tuple(inverse))

    def add_guard(self, x, given, scope, step):
        self.require("a guard holds", given + x.guards, step.guard, step.lemmas)
        return x._replace(guards=without_redundant(x.guards + (step.guard,)))

    def drop_guard(self, x, given, scope, step):
        dropped = at(x.guards, step.positions[-1])
        rest = replaced(x.guards, step.positions[-1])
        self.require("a guard is redundant", given + rest, dropped, step.lemmas)
        return x._replace(guards=rest)

    def new_index(self, x, given, scope, step):
        (a, value), = step.images
        require_that(bound_atoms(value) <= scope.union(x.bound), "an index is not bound there")
        in_use = a in scope or a in x.bound or a in atoms_in(value) or a in all_atoms(x)
        require_that(ATOMS[a].kind == "bound" and not in_use, "the index is in use")
        return x._replace(bound=x.bound + (a,), guards=x.guards + (Guard(True, variable(a) - value),))

    def project(self, x, given, scope, step):
        """max_{b, c: G, H} t = max_{c: G} t if G ⊢ H(b := p), for b in neither G nor t."""
        point = dict(step.images)
        require_that(len(point) == len(step.images) and set(point) <= set(x.bound), "an index is not bound there")
        kept = tuple(b for b in x.bound if b not in point)
        for value in point.values():
            require_that(bound_atoms(value) <= scope.union(kept), "an index is not bound there")
        require_that(all_atoms(x._replace(guards=())).isdisjoint(point), "the body depends on the index")
        rest = tuple(g for g in x.guards if atoms_in(g.poly).isdisjoint(point))
        self.require_point(given + rest, [g for g in x.guards if g not in rest], point, step)
        return x._replace(bound=kept, guards=rest)

    def require_point(self, given, guards, point: dict, step):
        for goal in map_guards(tuple(guards), lambda poly: self.arithmetic.substitute(poly, point)):
            self.require("a range has a point", given, goal, step.lemmas)

    def point_of(self, maximum: Factor, scope, step) -> dict:
        require_that(len(step.polys) == len(maximum.bound), "expected a value for each index of the maximum")
        require_that(all(bound_atoms(poly) <= scope for poly in step.polys), "an index is not bound there")
        return dict(zip(maximum.bound, step.polys))

    def split(self, terms, p, given, scope, step):
        outside = tuple(p._replace(guards=p.guards + (g,)) for g in step.guard.complement())
        return replaced(terms, step.positions[0], p._replace(guards=p.guards + (step.guard,))) + outside

    def factor_step(self, terms, p, step, *new) -> tuple:
        """Replaces factor F of product P."""
        return replaced(terms, step.positions[0], p._replace(factors=replaced(p.factors, step.positions[1], *new)))

    def index(self, terms, p, given, scope, step):
        factor, d = at(p.factors, step.positions[1]), step.positions[2]
        self.require("two indices are equal", given + p.guards, Guard(True, at(factor.index, d) - step.polys[0]), step.lemmas)
        return self.factor_step(terms, p, step, factor._replace(index=replaced(factor.index, d, step.polys[0])))

    def within(self, terms, p, given, scope, step):
        factor, a = at(p.factors, step.positions[1]), step.positions[2]
        inner = scope.union(p.bound, factor.bound)
        new = self.run(at(factor.arguments, a), given + p.guards + factor.guards, inner, step.block)
        return self.factor_step(terms, p, step, factor._replace(arguments=replaced(factor.arguments, a, new)))

    def same(self, terms, given, scope, step):
        p, f, a, q, g, b = step.positions
        product, other = at(terms, p), at(at(at(terms, q).factors, g).arguments, b)
        factor = at(product.factors, f)
        self.check_vanishes(at(factor.arguments, a) + negated(other), given + product.guards + factor.guards,
                            scope.union(product.bound, factor.bound), step.block)
        return self.factor_step(terms, product, step, factor._replace(arguments=replaced(factor.arguments, a, other)))

    def zero(self, terms, p, given, scope, step):
        factor = at(p.factors, step.positions[1])
        require_that(factor.arguments and not any(factor.arguments), "the arguments are not 0")
        if factor.kind != "max":
            self.with_law(factor, "zero")
        return replaced(terms, step.positions[0])

    def idempotent(self, terms, p, given, scope, step):
        factor = at(p.factors, step.positions[1])
        self.with_law(factor, "idempotent")
        inner = single_factor(factor.arguments[0])
        require_that(inner and (inner.kind, inner.symbol) == ("apply", factor.symbol), "the factor is not f(f(t))")
        return self.factor_step(terms, p, step, inner)

    def commute(self, terms, p, given, scope, step):
        factor = at(p.factors, step.positions[1])
        self.with_law(factor, "commutative")
        return self.factor_step(terms, p, step, factor._replace(arguments=factor.arguments[::-1]))

    def instantiate_max(self, terms, p, given, scope, step):
        """max_{b: H} (s + t) = max_{b: H} s + t for t without b and H not empty. Without b it is [H] (s + t)."""
        maximum = at(p.factors, step.positions[1])
        require_that(maximum.kind == "max", "the factor is not a maximum")
        point, inner = self.point_of(maximum, scope.union(p.bound), step), maximum.guards
        if not maximum.bound:
            p, inner = p._replace(guards=p.guards + maximum.guards), ()
        self.require_point(given + p.guards, inner, point, step)
        inside = tuple(t for t in maximum.arguments[0] if not all_atoms(t).isdisjoint(maximum.bound))
        require_that(not inside or len(inside) < len(maximum.arguments[0]), "every product depends on the indices")
        outer = replaced(p.factors, step.positions[1])
        moved = tuple(Product(p.coefficient * t.coefficient, without_redundant(p.guards + t.guards), p.bound + t.bound,
                              outer + t.factors) for t in maximum.arguments[0] if t not in inside)
        left = (p._replace(factors=outer + (maximum._replace(arguments=(inside,)),)),) if inside else ()
        return replaced(terms, step.positions[0]) + moved + left

    def cancel(self, terms, given, scope, step):
        chosen = self.products_of_equal_factors(terms, step)
        self.require("products cancel", given, None, step.lemmas, [(p.coefficient, p.guards) for p in chosen])
        return tuple(p for i, p in enumerate(terms) if i not in step.positions)

    def collect_terms(self, terms, given, scope, step):
        """Σ_i c_i [G_i] R = c [G_1] R for c = Σ_i c_i ≠ 0."""
        chosen = self.products_of_equal_factors(terms, step)
        total = sum(p.coefficient for p in chosen)
        require_that(total, "the products cancel")
        self.require("products are collected", given, None, step.lemmas,
                     [(p.coefficient, p.guards) for p in chosen] + [(-total, chosen[0].guards)])
        first, *others = step.positions
        return tuple(p._replace(coefficient=total) if i == first else p for i, p in enumerate(terms) if i not in others)

    @staticmethod
    def products_of_equal_factors(terms, step):
        chosen = [at(terms, p) for p in step.positions]
        require_that(chosen and len(set(step.positions)) == len(chosen), "expected distinct products")
        for p in chosen:
            same = set(p.bound) == set(chosen[0].bound) and \
                Counter(map(canonical, p.factors)) == Counter(map(canonical, chosen[0].factors))
            require_that(same, "the products have different factors")
        return chosen

    def order(self, terms, given, scope, step):
        chosen = [at(terms, p) for p in step.positions]
        require_that(chosen and len(set(step.positions)) == len(chosen), "expected distinct products")
        for p in chosen:
            require_that((set(p.bound), set(p.guards)) == (set(chosen[0].bound), set(chosen[0].guards)),
                         "the products have different guards or bound indices")
        bare = tuple(p._replace(guards=(), bound=()) for p in chosen)
        require_that(cancels_in_every_order(bare, self.functions), "the products do not cancel in every case")
        return tuple(p for i, p in enumerate(terms) if i not in step.positions)

    def count_range(self, terms, p, given, scope, step):
        """Σ_b [l ≤ b ≤ h] F = (h + 1 − l) · F for F without b."""
        (a, low), = step.images
        high, = step.polys
        ends = (Guard(False, variable(a) - low), Guard(False, high - variable(a)))
        require_that(a in p.bound and set(ends) <= set(p.guards), "the index has another range")
        rest = p._replace(guards=tuple(g for g in p.guards if g not in ends), bound=tuple(b for b in p.bound if b != a))
        require_that(a not in atoms_in(low) | atoms_in(high) | all_atoms(rest), "the product depends on the index")
        self.require("a range has a nonnegative size", given + rest.guards, Guard(False, high - low + 1), step.lemmas)
        new = rest._replace(factors=rest.factors + (Factor("integer", index=(high - low + 1,)),))
        return replaced(terms, step.positions[0], new)

    def expand(self, terms, p, given, scope, step):
        factor = at(p.factors, step.positions[1])
        require_that(factor.kind == "integer", "the factor is not an integer")
        rest, new = replaced(p.factors, step.positions[1]), []
        for m, c in sorted(factor.index[0].terms.items(), key=lambda term: rank(term[0])):
            new.append(p._replace(coefficient=p.coefficient * c,
                                  factors=rest + tuple(Factor("integer", index=(variable(a),)) for a in m)))
        return replaced(terms, step.positions[0]) + tuple(new)

    def cancel_reciprocal(self, terms, p, given, scope, step):
        f, g = step.positions[1:]
        a, b = at(p.factors, f), at(p.factors, g)
        require_that((a.kind, b.kind) == ("integer", "inverse") and a.index == b.index, "the factors are not p and 1/p")
        self.require("a factor is positive", given + p.guards, Guard(False, a.index[0] - 1), step.lemmas)
        rest = tuple(x for i, x in enumerate(p.factors) if i not in (f, g))
        return replaced(terms, step.positions[0], p._replace(factors=rest))

    def constant(self, terms, p, given, scope, step):
        factor = at(p.factors, step.positions[1])
        require_that(factor.kind == "apply", "the factor is not a function")
        require_that(all(t[1:] == ((), (), ()) for a in factor.arguments for t in a), "an argument is not a number")
        value = self.function_of(factor).value([sum((t.coefficient for t in a), Fraction(0)) for a in factor.arguments])
        require_that(value is not None, "the function has no exact value there")
        new = (p.times(value)._replace(factors=replaced(p.factors, step.positions[1])),) if value else ()
        return replaced(terms, step.positions[0], *new)

    def scale(self, terms, p, given, scope, step):
        """f(c · t) = c^d · f(t) for c > 0: the content of the coefficients, and the positive factors that all products have
        and that contain no bound index: p and 1/p for p ≥ 1, and values of an exponential function with f(0) = 1."""
        factor = at(p.factors, step.positions[1])
        degree = 1 if factor.kind == "max" else self.function_of(factor).degree if factor.kind == "apply" else 0
        arguments = [list(argument) for argument in factor.arguments]
        require_that((degree or self.is_comparison(factor)) and any(arguments), "the factor has no scaling law, or is f(0)")
        moved, first = [], next(a for a in arguments if a)[0].factors
        for candidate in first:
            places = [[next((i for i, f in enumerate(t.factors) if canonical(f) == canonical(candidate)), None)
                       for t in argument] for argument in arguments]
            bound = set(factor.bound).union(*(t.bound for argument in arguments for t in argument))
            if not self.is_positive(candidate) or not all_atoms(candidate).isdisjoint(bound) or \
                    any(None in row for row in places):
                continue
            if candidate.kind != "apply":
                self.require("a factor is positive", given + p.guards, Guard(False, candidate.index[0] - 1), step.lemmas)
            arguments = [[t._replace(factors=replaced(t.factors, i)) for t, i in zip(argument, row)]
                         for argument, row in zip(arguments, places)]
            moved.append(candidate if degree == 1 else self.reciprocal(candidate))
        coefficients = [t.coefficient for argument in arguments for t in argument]
        content = Fraction(gcd(*(c.numerator for c in coefficients)), lcm(*(c.denominator for c in coefficients)))
        require_that(moved or content != 1, "the arguments have no common positive factor")
        inner = factor._replace(arguments=tuple(tuple(t.times(1 / content) for t in argument) for argument in arguments))
        new = p.times(content ** degree)._replace(factors=replaced(p.factors, step.positions[1], inner) +
                                                  tuple(moved if degree else ()))
        return replaced(terms, step.positions[0], new)

    def is_positive(self, factor: Factor) -> bool:
        function = self.function_of(factor)
        return factor.kind in ("integer", "inverse") or \
            bool(function and "exponential" in function.laws and function.value([Fraction(0)]) == 1)

    @staticmethod
    def reciprocal(factor: Factor) -> Factor:
        if factor.kind == "apply":
            return factor._replace(arguments=(negated(factor.arguments[0]),))
        return factor._replace(kind="inverse" if factor.kind == "integer" else "integer")

    def split_exp(self, terms, p, given, scope, step):
        factor, q = at(p.factors, step.positions[1]), step.positions[2]
        self.with_law(factor, "exponential")
        argument = factor.arguments[0]
        rest, part = (factor._replace(arguments=(a,)) for a in (replaced(argument, q), (at(argument, q),)))
        return replaced(terms, step.positions[0],
                        p._replace(factors=replaced(p.factors, step.positions[1], rest) + (part,)))

    def merge_exp(self, terms, p, given, scope, step):
        f, g = step.positions[1:]
        a, b = at(p.factors, f), at(p.factors, g)
        self.with_law(a, "exponential")
        require_that(f != g and (b.kind, b.symbol) == ("apply", a.symbol), "the factors are of different functions")
        merged = replaced(p.factors, f, a._replace(arguments=(a.arguments[0] + b.arguments[0],)))
        return replaced(terms, step.positions[0], p._replace(factors=replaced(merged, g)))

    def monotone(self, terms, p, given, scope, step):
        """max f(t) = f(max t) for a nondecreasing f, over a range that is not empty unless f(0) = 0."""
        factor = at(p.factors, step.positions[1])
        if factor.kind == "apply":
            return self.factor_step(terms, p, step, self.monotone_of_two(factor))
        inner = single_factor(factor.arguments[0]) if factor.kind == "max" else None
        require_that(inner, "the factor is not a maximum of a function")
        if "zero" not in self.with_law(inner, "monotone").laws:
            self.require_point(given + p.guards, factor.guards, self.point_of(factor, scope.union(p.bound), step), step)
        held = as_sum(factor._replace(arguments=inner.arguments))
        return self.factor_step(terms, p, step, inner._replace(arguments=(held,)))

    def monotone_of_two(self, factor: Factor) -> Factor:
        """max(f(s), f(t)) = f(max(s, t)), and for min; one of them may be a number c = f(c)."""
        outer, inner = self.function_of(factor), [single_factor(argument) for argument in factor.arguments]
        parts = outer.formula[1:]
        require_that(outer.formula[0] in ("max", "min") and all(part[0] in ("argument", "number") for part in parts) and
                     all(inner) and len({(f.kind, f.symbol) for f in inner}) == 1, "the factor is no maximum of a function")
        function = self.with_law(inner[0], "monotone")
        for part in parts:
            require_that(part[0] != "number" or function.value([part[1]]) == part[1], "the function changes the number")
        held = factor._replace(arguments=tuple(f.arguments[0] for f in inner))
        return inner[0]._replace(arguments=(as_sum(held),))

    def flatten(self, terms, p, given, scope, step):
        factor = at(p.factors, step.positions[1])
        inner = single_factor(factor.arguments[0]) if factor.kind == "max" else None
        require_that(inner and inner.kind == "max", "the factor is not a maximum of a maximum")
        self.require_point(given + p.guards + factor.guards, inner.guards,
                           self.point_of(inner, scope.union(p.bound, factor.bound), step), step)
        return self.factor_step(terms, p, step, inner._replace(bound=factor.bound + inner.bound,
                                                               guards=factor.guards + inner.guards))

    def parity(self, terms, p, given, scope, step):
        factor = at(p.factors, step.positions[1])
        parity = self.function_of(factor).parity if factor.kind == "apply" else 0
        require_that(parity, "the function has no parity law")
        new = factor._replace(arguments=(negated(factor.arguments[0]),))
        return replaced(terms, step.positions[0], p.times(parity)._replace(factors=replaced(p.factors, step.positions[1], new)))

    def cancel_sum(self, terms, p, given, scope, step):
        """(Σ_b [G] R) · 1/S = 1 if the steps show Σ_b [G] R = S, for an S of total functions whose signs exclude 0."""
        quotient = at(p.factors, step.positions[1])
        require_that(self.is_reciprocal(quotient), "the factor is not 1/t")
        require_that(all_atoms(quotient).isdisjoint(p.bound), "the divisor depends on a bound index")
        require_that(self.is_total(quotient), "the divisor may be undefined")
        rest = p._replace(coefficient=ONE, factors=replaced(p.factors, step.positions[1]))
        self.check_vanishes((rest,) + negated(quotient.arguments[0]), given, scope, step.block)
        self.require_by_signs(quotient, True, given, step.lemmas)
        return replaced(terms, step.positions[0], Product(p.coefficient))

    def logarithm(self, terms, p, given, scope, step):
        """log(c · Π F) = log(c) + Σ log(F) for positive c and F, where log(exp(t)) = t and log(1/t) = −log(t)."""
        whole = at(p.factors, step.positions[1])
        require_that(self.applies_only(whole, "log") and len(whole.arguments[0]) == 1, "the factor is no logarithm of a product")
        inner, = whole.arguments[0]
        require_that(not inner.guards and not inner.bound, "the argument has guards or bound indices")

        def logarithm_of(value) -> tuple:
            part = whole._replace(arguments=(value,))
            require_that(self.is_total(part), "a factor may be undefined")
            self.require_by_signs(part, True, given + p.guards, step.lemmas)
            return as_sum(part)
        parts = logarithm_of((Product(inner.coefficient),)) if inner.coefficient != 1 else ()
        for factor in inner.factors:
            if self.applies_only(factor, "exp"):
                parts += factor.arguments[0]
            elif self.is_reciprocal(factor):
                parts += negated(logarithm_of(factor.arguments[0]))
            else:
                parts += logarithm_of(as_sum(factor))
        rest = p._replace(factors=replaced(p.factors, step.positions[1]))
        return replaced(terms, step.positions[0]) + tuple(multiplied(rest, part) for part in parts)

    def root(self, terms, given, scope, step):
        """√t = |s| if the steps show t = s²."""
        p, f, q, g = step.positions
        product, absolute = at(terms, p), at(at(terms, q).factors, g)
        require_that(self.applies_only(at(product.factors, f), "sqrt") and self.applies_only(absolute, "abs"),
                     "the factors are no square root and absolute value")
        inner, = absolute.arguments
        square = tuple(multiplied(a, b) for a in inner for b in inner)
        self.check_vanishes(product.factors[f].arguments[0] + negated(square), given + product.guards,
                            scope.union(product.bound), step.block)
        return self.factor_step(terms, product, step, absolute)

    def root_of_exp(self, terms, p, given, scope, step):
        """√exp(t) = exp(t/2)."""
        root = at(p.factors, step.positions[1])
        inner = single_factor(root.arguments[0]) if self.applies_only(root, "sqrt") else None
        require_that(inner and self.applies_only(inner, "exp"), "the factor is no square root of an exponential")
        half = tuple(t.times(Fraction(1, 2)) for t in inner.arguments[0])
        return self.factor_step(terms, p, step, inner._replace(arguments=(half,)))

    def log_scale(self, terms, p, given, scope, step):
        """log(Σ exp(u) · R) = u + log(Σ R) for a positive Σ R."""
        whole = at(p.factors, step.positions[1])
        require_that(self.applies_only(whole, "log") and whole.arguments[0], "the factor is no logarithm")
        power = at(whole.arguments[0][0].factors, step.positions[2])
        require_that(self.applies_only(power, "exp"), "the factor in the logarithm is no exponential")
        left = []
        for t in whole.arguments[0]:
            place = next((i for i, x in enumerate(t.factors) if canonical(x) == canonical(power)), None)
            require_that(place is not None and all_atoms(power).isdisjoint(t.bound), "the products do not have the factor")
            left.append(t._replace(factors=replaced(t.factors, place)))
        rest = whole._replace(arguments=(tuple(left),))
        require_that(self.is_total(rest), "a factor may be undefined")
        self.require_by_signs(rest, True, given + p.guards, step.lemmas)
        outer = p._replace(factors=replaced(p.factors, step.positions[1]))
        parts = tuple(multiplied(outer, t) for t in power.arguments[0])
        return replaced(terms, step.positions[0]) + parts + (outer._replace(factors=outer.factors + (rest,)),)

    def is_comparison(self, factor: Factor) -> bool:
        function = self.function_of(factor)
        return bool(function) and function.formula in [(word, ("argument", 0), ("argument", 1)) for word in ("less", "equal")]

    def shift(self, terms, p, given, scope, step):
        """s + r < t + r exactly where s < t, and the same for equality."""
        whole, (a, b) = at(p.factors, step.positions[1]), step.positions[2:]
        require_that(self.is_comparison(whole), "the factor is no comparison")
        s, t = whole.arguments
        require_that(at(s, a) == at(t, b), "the compared values have no such product in common")
        return self.factor_step(terms, p, step, whole._replace(arguments=(replaced(s, a), replaced(t, b))))

    def compare(self, terms, p, given, scope, step):
        """f(s) < f(t) exactly where s < t, and f(s) = f(t) where s = t, for strictly increasing f."""
        whole = at(p.factors, step.positions[1])
        require_that(self.is_comparison(whole), "the factor is no comparison")
        a, b = (single_factor(argument) for argument in whole.arguments)
        require_that(a and b and (a.kind, a.symbol) == (b.kind, b.symbol) and
                     any(self.applies_only(a, word) for word in ("exp", "tanh", "erf", "atan")),
                     "the compared values are not of one increasing function")
        return self.factor_step(terms, p, step, whole._replace(arguments=a.arguments + b.arguments))

    def divide_max(self, terms, p, given, scope, step):
        """max_{b: H} t = max(max_{b: H, g} t, max_{b: H, not g} t) if both ranges have points."""
        maximum = at(p.factors, step.positions[1])
        require_that(maximum.kind == "max" and not step.guard.equality, "the factor is no maximum that an inequality divides")
        count = len(maximum.bound)
        require_that(len(step.polys) == 2 * count, "expected two points")
        require_that(bound_atoms(step.guard.poly) <= scope.union(p.bound, maximum.bound), "an index is not bound there")
        parts = []
        for half, polys in zip([step.guard] + step.guard.complement(), (step.polys[:count], step.polys[count:])):
            part = maximum._replace(guards=maximum.guards + (half,))
            require_that(all(bound_atoms(poly) <= scope.union(p.bound) for poly in polys), "an index is not bound there")
            self.require_point(given + p.guards, part.guards, dict(zip(part.bound, polys)), step)
            parts.append(as_sum(part))
        return self.factor_step(terms, p, step, Factor("apply", self.named("max", 2), arguments=tuple(parts)))

    def named(self, word: str, arity: int) -> str:
        """The first function whose formula is this operation of its arguments; 1/t for a quotient."""
        wanted = (word,) + tuple(("argument", i) for i in range(arity))
        if word == "/":
            wanted = ("/", ("number", 1), ("argument", 0))
        found = next((name for name, function in self.functions.items() if function.formula == wanted), None)
        require_that(found is not None, f"no function is '{word}' alone")
        return found

    def unfold(self, terms, p, given, scope, step):
        """f(s, …) by its formula, where no part of the formula is undefined."""
        whole = at(p.factors, step.positions[1])
        function = self.function_of(whole)
        require_that(function, "the factor is not a function")
        if not function.is_total:
            require_that(self.is_total(whole), "an argument may be undefined")
            self.require_by_signs(whole, True, given + p.guards, step.lemmas)

        def times(a: tuple, b: tuple) -> tuple:
            return tuple(multiplied(s, t) for s in a for t in b)

        def value(f: tuple) -> tuple:
            if f[0] == "argument":
                return whole.arguments[f[1]]
            if f[0] == "number":
                return (Product(f[1]),) if f[1] else ()
            parts = tuple(value(part) for part in f[1:])
            if f[0] in ("+", "-"):
                return parts[0] + (parts[1] if f[0] == "+" else negated(parts[1]))
            if f[0] == "*":
                return times(*parts)
            name = self.named(f[0], len(parts))
            applied = as_sum(Factor("apply", name, arguments=parts[1:] if f[0] == "/" else parts))
            return times(parts[0], applied) if f[0] == "/" else applied
        rest = (p._replace(factors=replaced(p.factors, step.positions[1])),)
        return replaced(terms, step.positions[0]) + times(rest, value(function.formula))

    def is_total(self, application: Factor) -> bool:
        """Whether all functions in the arguments are defined everywhere."""
        inner = [f for argument in application.arguments for t in argument for f in t.factors]
        return all((f.kind != "apply" or self.function_of(f).is_total) and self.is_total(f) for f in inner)

    # Where sides are defined

    def require_by_signs(self, application: Factor, at_points: bool, given, lemmas):
        signs = [self.signs(argument, given, at_points, lemmas) for argument in application.arguments]
        require_that(self.function_of(application).signs(signs)[1], "the signs do not imply that it is defined")

    def signs(self, terms, given, at_points, lemmas) -> frozenset:
        """The signs that a sum can have. An empty sum is 0. `at_points`: sums have the point where all indices are 0, an
        obligation."""
        total = frozenset((0,))
        for p in terms:
            own = frozenset((sign(p.coefficient),))
            for factor in p.factors:
                of = self.factor_signs(factor, given + p.guards, at_points, lemmas)
                is_square = p.factors.count(factor) % 2 == 0
                own = multiply_signs(own, frozenset(abs(x) for x in of) if is_square else of)
            may_cancel = p.bound and {-1, 1} <= own
            if p.guards and at_points:
                origin = {a: Poly.of(0) for a in p.bound}
                for goal in map_guards(p.guards, lambda poly: self.arithmetic.substitute(poly, origin)):
                    self.require("a sum has a point", given, goal, lemmas)
            if may_cancel or (p.guards and not at_points):
                own |= {0}
            total = add_signs(total, own)
        return total

    def factor_signs(self, factor: Factor, given, at_points, lemmas) -> frozenset:
        if factor.kind == "inverse":
            return frozenset((1,))
        if factor.kind == "apply":
            arguments = [self.signs(argument, given, at_points, lemmas) for argument in factor.arguments]
            return self.function_of(factor).signs(arguments)[0]
        if factor.kind == "max":
            return self.signs(factor.arguments[0], given + factor.guards, at_points, lemmas) | {0}
        return ALL_SIGNS

    def check_domains(self, domains):
        statement = self.statement
        conditions = statement.definedness_conditions
        for side, proofs in enumerate(domains):
            wanted, own = conditions[side]
            require_that(len(proofs) == own, "expected a proof of each definedness condition")
            for condition, (stated, proof) in zip(wanted, proofs):
                facts = tuple(statement.facts)
                self.match(condition, stated, facts)
                self.check_defined(proof, condition, conditions[1 - side][0], facts + condition.guards)

    def check_defined(self, proof: Definedness, condition: Product, others: list, given: tuple):
        scope = frozenset(condition.bound)
        if proof.word in ("signs", "signs at points"):
            self.require_by_signs(condition.factors[0], proof.word != "signs", given, proof.lemmas)
        elif proof.word == "empty":
            self.require("a definedness condition is vacuous", given, None, proof.lemmas)
        elif proof.word == "split":
            require_that(bound_atoms(proof.guard.poly) <= scope, "an index is not bound there")
            for region, case in zip([proof.guard] + proof.guard.complement(), proof.cases):
                self.check_defined(case, condition, others, given + (region,))
        else:
            self.check_by_other(proof, condition, at(others, proof.number), given, scope)

    def check_by_other(self, proof: Definedness, condition: Product, other: Product, given: tuple, scope: frozenset):
        images = dict(proof.images)
        require_that(len(images) == len(proof.images) and set(images) == set(other.bound), "expected a value for each index")
        require_that(all(bound_atoms(image) <= scope for image in images.values()), "an index is not bound there")
        instance = map_polys(other, lambda poly: self.arithmetic.substitute(poly, images))
        for guard in instance.guards:
            self.require("the other side has the condition, too", given, guard, proof.lemmas)
        wanted, found = condition.factors[0], instance.factors[0]
        require_that(wanted.symbol == found.symbol and len(proof.arguments) == len(wanted.arguments),
                     "the conditions are on different functions")
        negate = proof.word == "opposite"
        require_that(not negate or self.function_of(wanted).parity, "the function has no parity law")
        for a, b, steps in zip(wanted.arguments, found.arguments, proof.arguments):
            self.check_vanishes(a + (b if negate else negated(b)), given, scope, steps)
