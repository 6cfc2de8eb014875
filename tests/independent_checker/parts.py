"""Parts of sums, and the scopes of bound indices."""

from normal_form import Factor, ONE, Product
from polynomials import ATOMS, CheckError, Poly, atoms_in, is_nonnegative, quotient_of, text_of, variable


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


def check_bound(polys, scope):
    """Whether the bound indices of the polynomials are in scope."""
    for poly in polys:
        require_that(bound_atoms(poly) <= scope, "an index is not bound there")


def check_lemmas(lemmas, scope):
    check_bound([factor for lemma in lemmas for factor in lemma], scope)


def check_scope(p, scope: frozenset):
    """Each bound index of a product or factor is bound once, around its uses."""
    for a in p.bound:
        require_that(ATOMS[a].kind == "bound" and a not in scope, f"{text_of(a)} cannot be bound here")
    require_that(len(set(p.bound)) == len(p.bound), "an index is bound twice")
    scope = scope.union(p.bound)
    check_bound([g.poly for g in p.guards] + (list(p.index) if isinstance(p, Factor) else []), scope)
    for part in p.factors if isinstance(p, Product) else [q for argument in p.arguments for q in argument]:
        check_scope(part, scope)


def bounds(guard, index: int, unbounded: set) -> set:
    """1 if the guard is a lower bound of the index, and -1 if it is an upper one, that contains no other unbounded index."""
    slope = Poly({quotient_of(m, (index,)): c for m, c in guard.poly.terms.items() if index in m})
    signs = {s for s in (1, -1) if is_nonnegative(slope * s - 1)}
    is_usable = signs and atoms_in(guard.poly - slope * variable(index)).isdisjoint(unbounded)
    return ({1, -1} if guard.equality else signs) if is_usable else set()


def check_finite(x):
    """The ranges of a product or factor, at any depth, have finitely many points by their own guards."""
    unbounded = set(x.bound)
    while unbounded:
        bounded = {b for b in unbounded if len(set().union(*(bounds(g, b, unbounded) for g in x.guards))) == 2}
        require_that(bounded, "a range may be infinite by its own guards")
        unbounded -= bounded
    for part in x.factors if isinstance(x, Product) else [p for argument in x.arguments for p in argument]:
        check_finite(part)


def single_factor(terms: tuple):
    """F of a sum that is 1 · F, or None."""
    is_single = len(terms) == 1 and terms[0][:3] == (ONE, (), ()) and len(terms[0].factors) == 1
    return terms[0].factors[0] if is_single else None


def multiplied(a: Product, b: Product) -> Product:
    """The product of both, whose bound indices are distinct."""
    return Product(a.coefficient * b.coefficient, a.guards + b.guards, a.bound + b.bound, a.factors + b.factors)


def as_sum(*factors) -> tuple:
    return (Product(factors=factors),)
