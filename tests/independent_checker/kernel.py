"""The rules of inference (docs/kernel.md). A step replaces a sum by one of equal value where its context holds."""

from typing import NamedTuple

from certificates import Step
from factors import FactorSteps
from obligations import Obligation, is_trivial, of_indicators
from order import case_scripts
from polynomials import Poly, require_that, variable
from statement import Statement
from sums import (Factor, Guard, Product, all_atoms, at, canonical, check_bounded, check_scope, enter, map_polys, multiset, negated,
                  replaced, without_redundant)


class Context(NamedTuple):
    """Where a sum occurs: the guards that hold there, and the bound indices around it."""
    given: tuple
    scope: frozenset = frozenset()

    def within(self, *ranges) -> "Context":
        """Inside of products and maxima."""
        given, scope = self
        for x in ranges:
            given, scope = given + x.guards, scope.union(x.bound)
        return Context(given, scope)


class Kernel(FactorSteps):
    """`conditions`: the definedness conditions that hold, which a step `given` names; None where it may not be used."""

    def __init__(self, statement: Statement, conditions: list | None = None):
        self.statement, self.arithmetic, self.library = statement, statement.arithmetic, statement.library
        self.functions, self.conditions, self.stated = self.library.functions, conditions, None
        self.obligations: list[Obligation] = []

    def require(self, *obligations: Obligation):
        self.obligations += [o for o in obligations if not is_trivial(o)]

    def require_guards(self, what: str, given: tuple, goals, lemmas):
        self.require(*(Obligation(what, given, goal, lemmas=tuple(lemmas)) for goal in goals))

    def run(self, terms: tuple, context: Context, steps: list[Step]) -> tuple:
        for step in steps:
            terms = self.apply(terms, context, step)
        return terms

    def check_vanishes(self, terms: tuple, context: Context, steps: list[Step]):
        check_scope(terms, context.scope)
        require_that(not self.run(terms, context, steps), "the steps do not rewrite the sum to 0")

    def apply(self, terms: tuple, context: Context, step: Step) -> tuple:
        require_that(step.positions, "expected a position")
        rule, position = getattr(self, step.word), step.positions[0]
        if step.on_maximum:
            new = (self.on_maximum(at(terms, position), context.within(at(terms, position)), step),)
        elif step.word in ("indicators", "replace", "order"):
            return rule(terms, context, step)
        elif step.word in ("reindex", "count"):
            new = (rule(at(terms, position), context, step),)
        else:
            new = self.factor_step(rule, at(terms, position), context, step)
        check_scope(new, context.scope)
        return replaced(terms, position, *new) if len(new) == 1 else replaced(terms, position) + new

    # Sums

    @staticmethod
    def chosen(terms, step) -> list[Product]:
        require_that(len(set(step.positions)) == len(step.positions), "expected distinct products")
        return [at(terms, p) for p in step.positions]

    def changed_guards(self, guards: tuple, without: tuple, added: tuple, scope) -> tuple:
        check_scope([g.poly for g in added], scope)
        require_that(list(without) == sorted(set(without)) and all(g < len(guards) for g in without), "there is no such guard")
        return tuple(g for i, g in enumerate(guards) if i not in without) + added

    def indicators(self, terms, context, step) -> tuple:
        """Σ_i c_i·Σ_b [G_i] R = Σ_j c'_j·Σ_b [G'_j] R if Σ_i c_i·[G_i] = Σ_j c'_j·[G'_j]. The c'_j have one sign: so each new
        range is part of the old ones, and as finite as these."""
        members = self.chosen(terms, step)
        first, results = members[0], []
        factors = multiset(map(canonical, first.factors))
        for p in members[1:]:
            require_that(set(p.bound) == set(first.bound) and multiset(map(canonical, p.factors)) == factors,
                         "the products have different factors")
        for coefficient, without, added in step.results:
            guards = self.changed_guards(first.guards, without, added, context.within(first).scope)
            results.append(first._replace(coefficient=coefficient or first.coefficient, guards=guards))
        require_that(all(p.coefficient * results[0].coefficient > 0 for p in results), "the new products have different signs")
        sum_ = [(p.coefficient, p.guards) for p in members] + [(-p.coefficient, p.guards) for p in results]
        self.require(*of_indicators("products have equal values", context.given, sum_, step.lemmas))
        gone = set(step.positions[1:] if results else step.positions)
        kept = [results[0] if results and i == step.positions[0] else p for i, p in enumerate(terms) if i not in gone]
        return tuple(kept + results[1:])

    def replace(self, terms, context, step) -> tuple:
        """Argument s of a factor becomes t, given or another argument, if steps rewrite s − t to 0."""
        require_that(len(step.positions) == (3 if step.sums else 6) and len(step.sums) < 2, "another number of positions")
        p, f, a = step.positions[:3]
        product = at(terms, p)
        factor = at(product.factors, f)
        if step.sums:
            new = step.sums[0]
        else:
            q, g, b = step.positions[3:]
            new = at(at(at(terms, q).factors, g).arguments, b)
        inside = context.within(product, factor)
        check_scope(new, inside.scope)
        check_bounded(new)  # an argument of another product, too: its ranges may be finite by the guards of that one only
        self.check_vanishes(at(factor.arguments, a) + negated(new), inside, step.block)
        factor = factor._replace(arguments=replaced(factor.arguments, a, new))
        product = product._replace(factors=replaced(product.factors, f, factor))
        check_scope(product, context.scope)
        return replaced(terms, p, product)

    def order(self, terms, context, step) -> tuple:
        members = self.chosen(terms, step)
        for p in members:
            require_that((set(p.bound), set(p.guards)) == (set(members[0].bound), set(members[0].guards)),
                         "the products have different guards or bound indices")
        bare = tuple(p._replace(guards=(), bound=()) for p in members)
        scripts = case_scripts(bare, self.functions, context.within(members[0]).given, step.cases)
        self.require(*(Obligation("products cancel in every case", (), script=script) for script in scripts))
        return tuple(p for i, p in enumerate(terms) if i not in step.positions)

    # Ranges of products and maxima

    def on_maximum(self, p: Product, inside: Context, step: Step) -> Product:
        maximum = at(p.factors, step.positions[1])
        require_that(maximum.kind == "max", "the factor is not a maximum")
        if step.word == "reindex":
            new = self.reindex(maximum, inside, step)
        else:
            require_that(len(step.results) == 1 and step.results[0][0] in (None, 1), "expected one range")
            _, without, added = step.results[0]
            guards = self.changed_guards(maximum.guards, without, added, inside.within(maximum).scope)
            sum_ = [(1, maximum.guards), (-1, guards)]
            self.require(*of_indicators("products have equal values", inside.given, sum_, step.lemmas))
            new = maximum._replace(guards=guards)
        return p._replace(factors=replaced(p.factors, step.positions[1], new))

    def reindex(self, x, outside: Context, step: Step):
        """φ maps a new range to the old one, and ψ back; an atom that is not bound here has the value φ(u) at both points."""
        images, inverse = dict(step.images), dict(step.inverse)
        require_that((len(images), len(inverse)) == (len(step.images), len(step.inverse)), "an index has two values")
        inside = outside.within(x)
        bound = tuple(b for b in x.bound if b not in images) + tuple(inverse)
        check_scope(images.values(), enter(Product(bound=bound), outside.scope))
        check_scope(inverse.values(), inside.scope)

        def old(poly: Poly) -> Poly:
            return self.arithmetic.substitute(poly, images)

        def new(poly: Poly) -> Poly:
            return self.arithmetic.substitute(poly, inverse)
        body = all_atoms(x.arguments[0]) if isinstance(x, Factor) else None
        equations, is_onto = [], True
        for a, value in images.items():
            if a not in x.bound:
                check_scope([variable(a)], inside.scope)
                others = {b: image for b, image in images.items() if b != a}
                equations.append(Guard(True, self.arithmetic.substitute(variable(a), others) - value))
            elif body is not None and a not in body:
                is_onto = False
                continue
            self.require_guards("an index has its value", inside.given, [Guard(True, variable(a) - new(value))], step.lemmas)
        equations += [Guard(True, variable(u) - old(value)) for u, value in inverse.items()]
        changed = map_polys(x, old)
        changed = changed._replace(bound=bound, guards=without_redundant(changed.guards + tuple(equations)))
        if not is_onto:
            self.require_guards("a point of the new range", inside.given, map_polys(changed.guards, new), step.lemmas)
        return changed

    def count(self, p: Product, context: Context, step: Step) -> Product:
        """Σ_b [l ≤ b ≤ h] R = (h + 1 − l)·R for R without b."""
        (a, low), (high,) = step.images[0], step.polys
        ends = Guard(False, variable(a) - low), Guard(False, high - variable(a))
        require_that(a in p.bound and set(ends) <= set(p.guards), "the index has another range")
        rest = p._replace(guards=tuple(g for g in p.guards if g not in ends), bound=tuple(b for b in p.bound if b != a))
        inside = context.within(rest)
        check_scope([low, high], inside.scope)
        self.require_guards("a range has a nonnegative size", inside.given, [Guard(False, high - low + 1)], step.lemmas)
        check_bounded((rest,))  # also where there is no such b
        return rest._replace(factors=rest.factors + (Factor("integer", index=(high - low + 1,)),))

    # Where sides are defined

    def undefinedness(self, condition: Product, facts: tuple) -> tuple[tuple, Context]:
        """1 − the condition, which steps rewrite to 0, and its context."""
        self.stated = canonical(condition.factors[0])
        return (Product(), Product(factors=condition.factors).times(-1)), Context(facts).within(condition)
