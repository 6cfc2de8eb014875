"""The inference rules that replace one factor: laws of functions and maxima, and signs."""

from fractions import Fraction
from math import gcd, lcm

from functions import ALL_SIGNS, Natural, add_signs, monotonicity, multiply_signs, sign
from normal_form import Factor, Guard, ONE, Product, all_atoms, canonical, map_guards, negated
from parts import as_sum, at, check_finite, multiplied, replaced, require_that, single_factor
from polynomials import Poly


class Laws:
    """The rules of a kernel on one factor. `self.statement`, `require`, `check_vanishes` and the points of maxima are the kernel's."""

    def function_of(self, factor: Factor):
        return self.functions[factor.symbol] if factor.kind == "apply" else None

    def applies_only(self, factor: Factor, word: str) -> bool:
        """Whether the factor's function is word(t) by its formula."""
        function = self.function_of(factor)
        return bool(function) and function.arity == 1 and function.formula == (word, ("argument", 0))

    def is_reciprocal(self, factor: Factor) -> bool:
        function = self.function_of(factor)
        return bool(function) and function.formula == ("/", ("number", 1), ("argument", 0))

    def with_law(self, factor: Factor, law: str):
        function = self.function_of(factor)
        require_that(function and law in function.laws, f"the factor is no function with the law '{law}'")
        return function

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
        """f(c · t) = c^d · f(t) for c > 0: the positive factors that all products have and that contain no bound index, which are
        values of an exponential function with f(0) = 1, and, if d is -1, 0 or 1, p and 1/p for p ≥ 1 and the content of the
        coefficients."""
        factor = at(p.factors, step.positions[1])
        degree = 1 if factor.kind == "max" else self.function_of(factor).degree if factor.kind == "apply" else None
        arguments = [list(argument) for argument in factor.arguments]
        require_that(degree is not None and any(arguments), "the factor has no scaling law, or is f(0)")
        is_unit = degree in (-1, 0, 1)
        moved, first = [], next(a for a in arguments if a)[0].factors
        for candidate in first:
            places = [[next((i for i, f in enumerate(t.factors) if canonical(f) == canonical(candidate)), None)
                       for t in argument] for argument in arguments]
            bound = set(factor.bound).union(*(t.bound for argument in arguments for t in argument))
            if not self.is_positive(candidate, is_unit) or not all_atoms(candidate).isdisjoint(bound) or \
                    any(None in row for row in places):
                continue
            check_finite(candidate)
            if candidate.kind != "apply":
                self.require("a factor is positive", given + p.guards, Guard(False, candidate.index[0] - 1), step.lemmas)
            arguments = [[t._replace(factors=replaced(t.factors, i)) for t, i in zip(argument, row)]
                         for argument, row in zip(arguments, places)]
            moved.append(self.power(candidate, degree))
        coefficients = [t.coefficient for argument in arguments for t in argument]
        content = Fraction(gcd(*(c.numerator for c in coefficients)), lcm(*(c.denominator for c in coefficients))) if is_unit else ONE
        require_that(moved or content != 1, "the arguments have no common positive factor")
        inner = factor._replace(arguments=tuple(tuple(t.times(1 / content) for t in argument) for argument in arguments))
        new = p.times(content ** degree)._replace(factors=replaced(p.factors, step.positions[1], inner) +
                                                  tuple(moved if degree else ()))
        return replaced(terms, step.positions[0], new)

    def is_positive(self, factor: Factor, is_unit: bool) -> bool:
        function = self.function_of(factor)
        return (is_unit and factor.kind in ("integer", "inverse")) or \
            bool(function and "exponential" in function.laws and function.value([Fraction(0)]) == 1)

    @staticmethod
    def power(factor: Factor, degree: Fraction) -> Factor:
        if factor.kind == "apply":
            return factor._replace(arguments=(tuple(t.times(degree) for t in factor.arguments[0]),))
        return factor if degree == 1 else factor._replace(kind="inverse" if factor.kind == "integer" else "integer")

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
        """max c · f(…, t, …) = c · f(…, s · max s · t, …) for the only argument t that has an index, and s = ±1 such that c · f does
        not decrease with s · t, over a range that is not empty unless f(0) = 0."""
        factor = at(p.factors, step.positions[1])
        if factor.kind == "apply":
            return self.factor_step(terms, p, step, self.monotone_of_two(factor))
        require_that(factor.kind == "max" and len(factor.arguments[0]) == 1, "the factor is not a maximum of a product")
        body, = factor.arguments[0]
        inner = single_factor((body._replace(coefficient=ONE),))
        function = self.function_of(inner) if inner else None
        require_that(function, "the factor is not a maximum of a function")
        varying = [i for i, argument in enumerate(inner.arguments)
                   if any(not all_atoms(t).isdisjoint(factor.bound) for t in argument)]
        require_that(len(varying) == 1, "an index is in no argument, or in several")
        directions = {1} if "monotone" in function.laws else monotonicity(function.formula, varying[0])
        require_that(directions, "the function is not monotone")
        if function.arity > 1 or "zero" not in function.laws:
            self.require_point(given + p.guards, factor.guards, self.point_of(factor, step), step)
        s = max(directions) * sign(body.coefficient)
        held = factor._replace(arguments=(tuple(t.times(s) for t in inner.arguments[varying[0]]),))
        new = inner._replace(arguments=replaced(inner.arguments, varying[0], (Product(Fraction(s), factors=(held,)),)))
        return replaced(terms, step.positions[0],
                        p.times(body.coefficient)._replace(factors=replaced(p.factors, step.positions[1], new)))

    def monotone_of_two(self, factor: Factor) -> Factor:
        """max(f(s), f(t)) = f(max(s, t)), and for min; one of them may be a number c = f(c)."""
        outer, inner = self.function_of(factor), [single_factor(argument) for argument in factor.arguments]
        parts = outer.formula[1:]
        require_that(outer.formula[0] in ("max", "min") and all(part[0] in ("argument", "number") for part in parts) and
                     all(inner) and len({(f.kind, f.symbol) for f in inner}) == 1, "the factor is no maximum of a function")
        function = self.function_of(inner[0])
        require_that(function and function.arity == 1 and ("monotone" in function.laws or 1 in monotonicity(function.formula, 0)),
                     "the function is not nondecreasing")
        for part in parts:
            require_that(part[0] != "number" or function.value([part[1]]) == part[1], "the function changes the number")
        held = factor._replace(arguments=tuple(f.arguments[0] for f in inner))
        return inner[0]._replace(arguments=(as_sum(held),))

    def flatten(self, terms, p, given, scope, step):
        factor = at(p.factors, step.positions[1])
        inner = single_factor(factor.arguments[0]) if factor.kind == "max" else None
        require_that(inner and inner.kind == "max", "the factor is not a maximum of a maximum")
        self.require_point(given + p.guards + factor.guards, inner.guards,
                           self.point_of(inner, step), step)
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
        check_finite(quotient)
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
        check_finite(absolute)
        square = tuple(multiplied(a, b) for a in inner for b in inner)
        self.check_vanishes(product.factors[f].arguments[0] + negated(square), given + product.guards,
                            scope.union(product.bound), step.block)
        return self.factor_step(terms, product, step, absolute)

    def root_of_exp(self, terms, p, given, scope, step):
        """√exp(t) = exp(t/2), and power(exp(t), s) = exp(t · s)."""
        root = at(p.factors, step.positions[1])
        function = self.function_of(root)
        is_power = bool(function) and function.formula == ("power", ("argument", 0), ("argument", 1))
        inner = single_factor(root.arguments[0]) if is_power or self.applies_only(root, "sqrt") else None
        require_that(inner and self.applies_only(inner, "exp"), "the factor is no square root or power of an exponential")
        exponent = root.arguments[1] if is_power else (Product(Fraction(1, 2)),)
        scaled = tuple(multiplied(t, s) for t in inner.arguments[0] for s in exponent)
        return self.factor_step(terms, p, step, inner._replace(arguments=(scaled,)))

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
        """s + r < t + r exactly where s < t, and the same for equality; max(s + r, t + r) = max(s, t) + r, and the same for min."""
        (f, a, b), (whole, s, t) = step.positions[1:], self.compared(p, step)
        require_that(at(s, a) == at(t, b), "the compared values have no such product in common")
        new = p._replace(factors=replaced(p.factors, f, whole._replace(arguments=(replaced(s, a), replaced(t, b)))))
        if self.is_comparison(whole):
            return replaced(terms, step.positions[0], new)
        return replaced(terms, step.positions[0]) + (new, multiplied(p._replace(factors=replaced(p.factors, f)), s[a]))

    def compared(self, p, step) -> tuple:
        whole = at(p.factors, step.positions[1])
        function = self.function_of(whole)
        is_maximum = function and function.formula in [(word, ("argument", 0), ("argument", 1)) for word in ("max", "min")]
        require_that(is_maximum or self.is_comparison(whole), "the factor is no comparison")
        return (whole,) + whole.arguments

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
        parts = []
        for half, polys in zip([step.guard] + step.guard.complement(), (step.polys[:count], step.polys[count:])):
            part = maximum._replace(guards=maximum.guards + (half,))
            self.require_point(given + p.guards, part.guards, dict(zip(part.bound, polys)), step)
            parts.append(as_sum(part))
        return self.factor_step(terms, p, step, Factor("apply", self.named("max", 2), arguments=tuple(parts)))

    def named(self, word: str, arity: int) -> str:
        """The first function whose formula is this operation of its arguments; 1/t for a quotient."""
        wanted = (word,) + tuple(("argument", i) for i in range(arity))
        if word == "/":
            wanted, arity = ("/", ("number", 1), ("argument", 0)), 1
        found = next((name for name, function in self.functions.items() if function.formula == wanted and function.arity == arity), None)
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

    # Signs

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
        is_natural = all(not p.factors and not p.bound and p.coefficient >= 0 and p.coefficient.denominator == 1 for p in terms)
        return Natural(total) if is_natural else total

    def factor_signs(self, factor: Factor, given, at_points, lemmas) -> frozenset:
        if factor.kind == "inverse":
            return frozenset((1,))
        if factor.kind == "apply":
            arguments = [self.signs(argument, given, at_points, lemmas) for argument in factor.arguments]
            return self.function_of(factor).signs(arguments)[0]
        if factor.kind == "max":
            return self.signs(factor.arguments[0], given + factor.guards, at_points, lemmas) | {0}
        return ALL_SIGNS
