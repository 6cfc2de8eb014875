"""Rules on one factor: integers, laws of functions, maxima, and where functions are defined."""

from fractions import Fraction

from certificates import Step
from functions import exact_value, sign
from polynomials import in_order, require_that, variable
from signs import SignAnalysis
from sums import (ONE, Factor, Guard, Product, all_atoms, as_sum, at, canonical, canonical_sum, check_bounded, check_scope, map_polys,
                  multiply, negated, number, replaced, single_factor, without_redundant)


class FactorSteps:
    """Rules F ⇝ F'·s and F ⇝ s return the new factor, or None, and the sum s. `inside` is the context of the factors."""

    def factor_step(self, rule, p: Product, context, step: Step) -> tuple:
        require_that(len(step.positions) > 1, "expected a factor")
        f = step.positions[1]
        factor, inside = at(p.factors, f), context.within(p)
        if step.word in ("reciprocal", "law", "take_out"):
            return rule(p, context, step)
        new, terms = rule(factor, inside, step)
        return multiply((p._replace(factors=replaced(p.factors, f, *(new,) if new else ())),), terms)

    def require_point(self, x, point: list, inside, step: Step):
        """Requires that the guards of a factor or product hold at a point in scope."""
        require_that(len(point) == len(x.bound), "expected a point with a value for each index")
        check_scope(point, inside.scope)
        images = dict(zip(x.bound, point))
        goals = map_polys(x.guards, lambda poly: self.arithmetic.substitute(poly, images))
        self.require_guards("a range has a point", inside.given, goals, step.lemmas)

    # Integers, numbers and arguments

    def equal(self, factor, inside, step):
        require_that(len(step.polys) == 1, "expected a polynomial")
        old, new = at(factor.index, step.positions[2]), step.polys[0]
        check_scope(new, inside.scope)
        self.require_guards("two indices are equal", inside.given, [Guard(True, old - new)], step.lemmas)
        return factor._replace(index=replaced(factor.index, step.positions[2], new)), number(1)

    def within(self, factor, inside, step):
        argument = self.run(at(factor.arguments, step.positions[2]), inside.within(factor), step.block)
        return factor._replace(arguments=replaced(factor.arguments, step.positions[2], argument)), number(1)

    def expand(self, factor, inside, step):
        require_that(factor.kind == "integer", "the factor is not an integer")
        return None, tuple(Product(Fraction(c), factors=tuple(Factor("integer", index=(variable(a),)) for a in in_order(m)))
                           for m, c in factor.index[0].ordered())

    def reciprocal(self, p, context, step):
        f, g = step.positions[1:]
        kinds, (integer, inverse) = ("integer", "inverse"), (at(p.factors, f), at(p.factors, g))
        require_that((integer.kind, inverse.kind) == kinds and integer.index == inverse.index, "the factors are not p and 1/p")
        goal = Guard(False, integer.index[0] - 1)
        self.require_guards("a factor is positive", context.within(p).given, [goal], step.lemmas)
        return (p._replace(factors=tuple(x for i, x in enumerate(p.factors) if i not in (f, g))),)

    def value(self, factor):
        """The exact value of a function of numbers; None if it has none."""
        if any(p.guards or p.bound or p.factors for p in factor.parts):
            return None
        numbers = [sum((p.coefficient for p in argument), Fraction(0)) for argument in factor.arguments]
        return exact_value(self.functions[factor.symbol].formula, numbers)

    def constant(self, factor, inside, step):
        value = self.value(factor) if factor.kind == "apply" else None
        require_that(value is not None, "the function has no exact value there")
        return None, number(value)

    # Laws

    def instance(self, e: tuple, values: list, folds: bool) -> tuple:
        """An expression with a sum for each variable, multiplied out. Functions of numbers have their values, if it `folds`."""
        if e[0] == "number":
            return number(e[1])
        if e[0] == "argument":
            return at(values, e[1])
        if e[0] == "apply":
            factor = Factor("apply", e[1], arguments=tuple(self.instance(part, values, True) for part in e[2:]))
            value = self.value(factor) if folds else None
            return as_sum(factor) if value is None else number(value)
        a, b = (self.instance(part, values, folds) for part in e[1:])
        return a + b if e[0] == "+" else multiply(a, b)

    def law(self, p: Product, context, step: Step) -> tuple:
        """R·l(σ) = R·r(σ) where the conditions hold."""
        law = self.library.law(step.name)
        require_that(len(step.sums) == law.variables, "expected a value for each variable of the law")
        sides = (law.right, law.left) if step.reverse else (law.left, law.right)
        left = self.instance(sides[0], step.sums, False)
        require_that(len(left) == 1 and left[0].coefficient, "this side of the law is not one product")
        left, = left
        positions = set(step.positions[1:])
        require_that(all(f < len(p.factors) for f in positions), "there is no such factor")
        require_that(set(left.bound) <= set(p.bound) and set(left.guards) <= set(p.guards), "the law has another range")
        rest = Product(p.coefficient / left.coefficient, tuple(g for g in p.guards if g not in left.guards),
                       tuple(b for b in p.bound if b not in left.bound),
                       tuple(x for f, x in enumerate(p.factors) if f not in positions))
        check_scope(rest, context.scope)
        inside = context.within(rest)
        for value in step.sums:
            check_scope(value, inside.scope)
            check_bounded(value)
        if left.bound or left.guards:
            check_bounded((rest,))
        whole, = multiply((rest,), (left,))
        require_that(sorted(whole.bound) == sorted(p.bound) and canonical(whole) == canonical(p._replace(bound=whole.bound)),
                     "the factors are not an instance of the law")
        for kind, e in law.conditions:
            value = self.instance(e, step.sums, kind != "defined")
            check_scope(value, inside.scope)
            if kind == "positive":
                self.require_by_signs(value, {1}, inside, step)
            elif kind == "zero":
                self.check_vanishes(value, inside, step.block or [])
            else:
                application = single_factor(value)
                require_that(application and application.kind == "apply", "a condition of a law is not about a function")
                self.check_vanishes((Product(),) + as_sum(application._replace(kind="defined"), coefficient=-1), inside, step.block or [])
        right = self.instance(sides[1], step.sums, True)
        result = multiply((rest,), right)
        if len(positions) == 1 and len(right) == 1 and len(right[0].factors) == 1:  # in the place of the old one
            f, factors = min(positions), result[0].factors
            result = (result[0]._replace(factors=factors[:f] + factors[-1:] + factors[f:-1]),)
        return result

    # Maxima

    def take_out(self, p, context, step):
        """max_{b: H} (s + t) = max_{b: H} s + t for t without b and H with a point. Without b it is [H] (s + t)."""
        f = step.positions[1]
        maximum, rest = at(p.factors, f), p._replace(factors=replaced(p.factors, f))
        require_that(maximum.kind == "max", "the factor is not a maximum")
        body = maximum.arguments[0]
        if not maximum.bound:
            rest = rest._replace(guards=rest.guards + maximum.guards)
        elif body:
            self.require_point(maximum, step.polys, context.within(p), step)
        stays = tuple(t for t in body if not all_atoms(t).isdisjoint(maximum.bound))
        moved = multiply((rest,), tuple(t for t in body if t not in stays))
        require_that(moved or not stays, "every product depends on the indices")
        moved = tuple(t._replace(guards=without_redundant(t.guards)) for t in moved)
        return moved + (multiply((rest,), as_sum(maximum._replace(arguments=(stays,)))) if stays else ())

    def scale(self, maximum, inside, step):
        """max_{b: H} q·t = q·max_{b: H} t for q ≥ 0 without b."""
        require_that(maximum.kind == "max" and len(step.sums) == 2, "the factor is not a maximum, or a value is missing")
        q, t = step.sums
        check_scope(q, inside.scope)
        check_scope(t, inside.within(maximum).scope)
        check_bounded(q + t)
        require_that(canonical_sum(multiply(q, t)) == canonical_sum(maximum.arguments[0]), "the maximum is of another product")
        self.require_by_signs(q, {0, 1}, inside, step)
        return maximum._replace(arguments=(t,)), q

    def monotone(self, maximum, inside, step):
        """max_{b: H} c·f(…, t, …) = c·f(…, σ·max_{b: H} σ·t, …) if c·f does not decrease with σ·t."""
        body = maximum.arguments[0] if maximum.kind == "max" else ()
        inner = single_factor((body[0]._replace(coefficient=ONE),)) if len(body) == 1 else None
        require_that(inner and inner.kind == "apply", "the factor is no maximum of a function")
        coefficient, a = body[0].coefficient, step.positions[2]
        direction = at(self.functions[inner.symbol].monotonicity(), a) * sign(coefficient)
        require_that(direction, "the function is not monotone there")
        outer = inner._replace(arguments=replaced(inner.arguments, a, ()))
        require_that(all_atoms(outer).isdisjoint(maximum.bound), "another argument depends on the indices")
        if len(inner.arguments) > 1 or self.value(outer) != 0:
            self.require_point(maximum, step.polys, inside, step)
        held = maximum._replace(arguments=(tuple(t.times(direction) for t in inner.arguments[a]),))
        return outer._replace(arguments=replaced(outer.arguments, a, as_sum(held, coefficient=direction))), number(coefficient)

    def flatten(self, factor, inside, step):
        """max_{b: G} max_{c: H} t = max_{b,c: G,H} t if H has a point where G holds."""
        inner = single_factor(factor.arguments[0]) if factor.kind == "max" else None
        require_that(inner and inner.kind == "max", "the factor is not a maximum of a maximum")
        self.require_point(inner, step.polys, inside.within(factor), step)
        return inner._replace(bound=factor.bound + inner.bound, guards=factor.guards + inner.guards), number(1)

    def divide_max(self, maximum, inside, step):
        """max_{b: H} t = max(max_{b: H, g} t, max_{b: H, h} t) for the complement h of g, if both ranges have points."""
        name = self.library.operation("max")
        require_that(name is not None, "no function of the definitions is the maximum of two numbers")
        require_that(maximum.kind == "max" and step.guard and not step.guard.equality, "no maximum that an inequality divides")
        check_scope(step.guard, inside.within(maximum).scope)
        count = len(maximum.bound)
        require_that(len(step.polys) == 2 * count, "expected two points")
        halves = [maximum._replace(guards=maximum.guards + (g,)) for g in [step.guard] + step.guard.complement()]
        for half, point in zip(halves, (step.polys[:count], step.polys[count:])):
            self.require_point(half, point, inside, step)
        return Factor("apply", name, arguments=tuple(map(as_sum, halves))), number(1)

    # Definedness, and signs

    def signs(self, factor, inside, step):
        """Undefined values of inner functions are left out in the condition as it is stated, since they have their own conditions."""
        require_that(factor.kind == "defined", "the factor does not say where a function is defined")
        self.require_defined(factor, inside, step, canonical(factor) != self.stated)
        return None, number(1)

    def given(self, factor, inside, step):
        """Condition C of those that hold says that the function is defined, at a point where its guards hold."""
        require_that(factor.kind == "defined", "the factor does not say where a function is defined")
        require_that(self.conditions is not None, "there is no condition that is given")
        other = at(self.conditions, step.positions[2])
        self.require_point(other, step.polys, inside, step)
        images = dict(zip(other.bound, step.polys))
        known = map_polys(other.factors[0], lambda poly: self.arithmetic.substitute(poly, images))
        check_scope(known, inside.scope)
        if step.reverse:
            require_that(self.functions[known.symbol].parity, "the function has no parity law")
            known = known._replace(arguments=(negated(known.arguments[0]),))
        require_that(canonical(known) == canonical(factor), "the condition is another one")
        return None, number(1)

    def require_signs(self, shown, what: str, step, undefined_is_zero=True):
        """Requires what the signs need that show it: nothing, or that sums have points, or that integers are positive, too."""
        for points, integers in (False, False), (True, False), (True, True):
            signs = SignAnalysis(self.functions, self.arithmetic, points, integers, undefined_is_zero)
            if shown(signs):
                for needed, given, goal in signs.needed:
                    self.require_guards(needed, given, [goal], step.lemmas)
                return
        require_that(False, f"signs do not show that it is {what}")

    def require_by_signs(self, terms: tuple, wanted: set, inside, step):
        self.require_signs(lambda signs: signs.of_sum(terms, inside.given) <= wanted, "positive", step)

    def require_defined(self, application: Factor, inside, step, undefined_is_zero: bool):
        self.require_signs(lambda signs: signs.application(application, inside.given)[1], "defined", step, undefined_is_zero)
