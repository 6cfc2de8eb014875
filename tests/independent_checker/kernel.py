"""The inference rules. A step replaces a sum by one of equal value where its context holds (check/kernel/kernel.h)."""

from collections import Counter

from certificates import Definedness, Step
from laws import Laws
from normal_form import Factor, Guard, Product, all_atoms, canonical, map_guards, map_polys, negated, without_redundant
from order import cancels_in_every_order
from parts import at, check_bound, check_finite, check_lemmas, check_scope, replaced, require_that, single_factor
from polynomials import ATOMS, atoms_in, rank, variable
from statement import Obligation, Statement


class Kernel(Laws):
    def __init__(self, statement: Statement):
        self.statement, self.arithmetic, self.functions = statement, statement.arithmetic, statement.library.functions
        self.obligations: list[Obligation] = []

    def require(self, what, given, goal=None, lemmas=(), indicators=()):
        self.obligations.append(Obligation(what, tuple(given), goal, tuple(indicators), tuple(lemmas)))

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

    def in_steps(self, terms) -> tuple:
        """The sum with quotients of one form, as different orders of divisions give different ones."""
        changed = (map_polys(p, self.arithmetic.in_steps) for p in terms)
        return tuple(p._replace(guards=without_redundant(p.guards)) for p in changed)

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

    @staticmethod
    def check_names(terms: tuple, scope: frozenset, step: Step):
        """Whether all that the step names is in scope. Points of a maximum are outside of it. What takes the place of an
        index, or counts its values, does not contain it."""
        p = at(terms, at(step.positions, 0))
        outside, inside = scope, scope.union(p.bound)
        if step.on_maximum or step.word in ("flatten", "divide_max"):
            outside, inside = inside, inside.union(at(p.factors, step.positions[1]).bound)
        removed = {a for a, _ in step.images if step.word in ("set", "count_range", "project")}
        renamed = outside.union(a for a, _ in step.inverse)
        images = [poly for _, poly in step.images]
        named = ([] if step.word == "map" else images) + [poly for _, poly in step.inverse] + [variable(a) for a in removed]
        named += [step.guard.poly] if step.guard else []
        check_bound(named + (step.polys if step.word != "divide_max" else []), inside)
        check_bound(images if step.word == "map" else [], renamed)
        check_bound(step.polys if step.word == "divide_max" else [], outside)
        require_that(all(atoms_in(poly).isdisjoint(removed) for poly in images + step.polys), "a value contains its index")
        check_lemmas(step.lemmas, inside.union(all_atoms(p)))

    def apply(self, terms: tuple, given: tuple, scope: frozenset, step: Step) -> tuple:
        self.check_names(terms, scope, step)
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
        in_use = a in scope or a in x.bound or a in atoms_in(value) or a in all_atoms(x)
        require_that(ATOMS[a].kind == "bound" and not in_use, "the index is in use")
        return x._replace(bound=x.bound + (a,), guards=x.guards + (Guard(True, variable(a) - value),))

    def project(self, x, given, scope, step):
        """max_{b, c: G, H} t = max_{c: G} t if G ⊢ H(b := p), for b in neither G nor t."""
        point = dict(step.images)
        require_that(len(point) == len(step.images) and set(point) <= set(x.bound), "an index is not bound there")
        kept = tuple(b for b in x.bound if b not in point)
        require_that(all_atoms(x._replace(guards=())).isdisjoint(point), "the body depends on the index")
        rest = tuple(g for g in x.guards if atoms_in(g.poly).isdisjoint(point))
        self.require_point(given + rest, [g for g in x.guards if g not in rest], point, step)
        return x._replace(bound=kept, guards=rest)

    def require_point(self, given, guards, point: dict, step):
        for goal in map_guards(tuple(guards), lambda poly: self.arithmetic.substitute(poly, point)):
            self.require("a range has a point", given, goal, step.lemmas)

    @staticmethod
    def point_of(maximum: Factor, step) -> dict:
        require_that(len(step.polys) == len(maximum.bound), "expected a value for each index of the maximum")
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
        for part in other:
            check_finite(part)
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
        point, inner = self.point_of(maximum, step), maximum.guards
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
        require_that(cancels_in_every_order(bare, self.functions, given + chosen[0].guards),
                     "the products do not cancel in every case")
        return tuple(p for i, p in enumerate(terms) if i not in step.positions)

    def count_range(self, terms, p, given, scope, step):
        """Σ_b [l ≤ b ≤ h] F = (h + 1 − l) · F for F without b."""
        (a, low), = step.images
        high, = step.polys
        ends = (Guard(False, variable(a) - low), Guard(False, high - variable(a)))
        require_that(a in p.bound and set(ends) <= set(p.guards), "the index has another range")
        rest = p._replace(guards=tuple(g for g in p.guards if g not in ends), bound=tuple(b for b in p.bound if b != a))
        require_that(a not in all_atoms(rest), "the product depends on the index")
        check_finite(rest)
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

    # Where sides are defined

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
        check_bound([image for _, image in proof.images] + ([proof.guard.poly] if proof.guard else []), scope)
        check_lemmas(proof.lemmas, scope.union(all_atoms(condition)))
        if proof.word in ("signs", "signs at points"):
            self.require_by_signs(condition.factors[0], proof.word != "signs", given, proof.lemmas)
        elif proof.word == "empty":
            self.require("a definedness condition is vacuous", given, None, proof.lemmas)
        elif proof.word == "split":
            for region, case in zip([proof.guard] + proof.guard.complement(), proof.cases):
                self.check_defined(case, condition, others, given + (region,))
        else:
            self.check_by_other(proof, condition, at(others, proof.number), given, scope)

    def check_by_other(self, proof: Definedness, condition: Product, other: Product, given: tuple, scope: frozenset):
        images = dict(proof.images)
        require_that(len(images) == len(proof.images) and set(images) == set(other.bound), "expected a value for each index")
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
