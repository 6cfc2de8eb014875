"""Decides obligations: trivial ones here, the others by cvc5, with products of atoms as integers of their own."""

import subprocess
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from sums import Guard
from polynomials import ATOMS, Poly, is_nonnegative, variable


class Obligation(NamedTuple):
    """given ⊢ goal; without a goal, given ⊢ false; with `indicators`, given ⊢ Σ coefficient · [guards] = 0; or a script."""
    what: str
    given: tuple
    goal: Guard | None = None
    indicators: tuple = ()
    lemmas: tuple = ()
    script: str = ""


def of_indicators(what: str, given: tuple, indicators, lemmas) -> list[Obligation]:
    """Obligations that together say given ⊢ Σ coefficient · [guards] = 0. Terms with equal guards are added up, and so are a guard
    and the regions of its complement; guards of all terms are given."""
    terms = {}
    for coefficient, guards in indicators:
        add_term(terms, frozenset(guards), coefficient)
    while merge_regions(terms):
        pass
    if not terms:
        return []
    common = frozenset.intersection(*terms)
    left = sorted(((c, tuple(guards - common)) for guards, c in terms.items()), key=lambda term: len(term[1]))
    whole = Obligation(what, given + tuple(common), lemmas=tuple(lemmas))
    if left[0][1] or len(left) > 2 or sum(c for c, _ in left[:2]) != (0 if len(left) == 2 else left[0][0]):
        return [whole._replace(indicators=tuple(left))]
    return [whole._replace(goal=goal) for goal in left[-1][1]] or [whole]


def add_term(terms: dict, guards: frozenset, coefficient):
    terms[guards] = terms.get(guards, 0) + coefficient
    if not terms[guards]:
        del terms[guards]


def merge_regions(terms: dict) -> bool:
    """Adds up one guard and the regions of its complement, with other guards that are equal."""
    for guards, coefficient in terms.items():
        for guard in guards:
            rest = guards - {guard}
            regions = [rest | {region} for region in [guard] + guard.complement()]
            if all(terms.get(region) == coefficient for region in regions):
                for region in set(regions):
                    del terms[region]
                add_term(terms, rest, coefficient)
                return True
    return False


def halves(guard: Guard) -> tuple:
    """Polynomials that are at least 0 if and only if the guard holds."""
    return (guard.poly, -guard.poly) if guard.equality else (guard.poly,)


def follows(goal: Guard, given) -> bool:
    """Whether a given guard implies each half of the goal, up to a polynomial in sizes that is not negative."""
    known = [Poly.of(0)] + [half for guard in given for half in halves(guard)]
    return all(any(is_nonnegative(half - other) for other in known) for half in halves(goal))


def is_trivial(o: Obligation) -> bool:
    """True if a given guard implies the goal, or without a goal if one of them contradicts another one."""
    if o.script or o.indicators:
        return False
    return any(follows(goal, o.given) for goal in ([o.goal] if o.goal else [r for g in o.given for r in g.complement()]))


class Script:
    """An obligation in SMT-LIB: a solver must answer "unsat". Each monomial is an integer variable."""

    def __init__(self, o: Obligation):
        self.names, self.body = {}, []
        for guard in o.given:
            self.add(self.guard(guard))
        if o.goal:
            self.add(f"(not {self.guard(o.goal)})")
        if o.indicators:
            scale = lcm(*(Fraction(c).denominator for c, _ in o.indicators))
            parts = [f"(ite (and true true {' '.join(map(self.guard, guards))}) {self.number(int(c * scale))} 0)"
                     for c, guards in o.indicators]
            self.add(f"(not (= 0 (+ 0 0 {' '.join(parts)})))")
        for a, b in o.lemmas:
            self.add(f"(=> (and {self.at_least_0(a)} {self.at_least_0(b)}) {self.at_least_0(a * b)})")
        self.define()
        self.text = "\n".join([f"(declare-const {n} Int)" for n in self.names.values()] + self.body)

    def add(self, formula: str):
        self.body.append(f"(assert {formula})")

    @staticmethod
    def number(n: int) -> str:
        return str(n) if n >= 0 else f"(- {-n})"

    def poly(self, poly: Poly) -> str:
        parts = [f"(* {self.number(c)} {self.names.setdefault(m, f'v{len(self.names)}')})" if m else self.number(c)
                 for m, c in poly.terms.items()]
        return f"(+ 0 0 {' '.join(parts)})"

    def at_least_0(self, poly: Poly) -> str:
        return f"(>= {self.poly(poly)} 0)"

    def guard(self, guard: Guard) -> str:
        return f"({'=' if guard.equality else '>='} {self.poly(guard.poly)} 0)"

    def define(self):
        """The facts about sizes, quotients, minima and maxima that occur, and about those that these facts introduce."""
        done, monomials = set(), 0
        while monomials < len(self.names):
            m = list(self.names)[monomials]
            monomials += 1
            if all(ATOMS[a].kind == "size" for a in m):
                self.add(self.at_least_0(Poly({m: 1}) - 1))
            for a in set(m) - done:
                done.add(a)
                self.define_atom(a)

    def define_atom(self, a: int):
        it, value = ATOMS[a], variable(a)
        if it.kind == "size":
            self.poly(value)
        elif it.kind == "div":
            rest = it.left - it.right * value
            within = f"(and {self.at_least_0(rest)} {self.at_least_0(it.right - 1 - rest)})"
            self.add(f"(=> {self.at_least_0(it.right - 1)} {within})")
        elif it.kind in ("min", "max"):
            sign = 1 if it.kind == "min" else -1
            l, r = (sign * (side - value) for side in (it.left, it.right))
            self.add(f"(and {self.at_least_0(l)} {self.at_least_0(r)} (or {self.at_least_0(-l)} {self.at_least_0(-r)}))")


ANSWERS: dict[str, str] = {}  # by script


def unconfirmed(obligations: list[Obligation], milliseconds: int) -> list[tuple[int, str]]:
    """The numbers of the obligations that cvc5 does not confirm, each within a limit of time, and its answers."""
    scripts = [o.script or Script(o).text for o in obligations]
    for logic, is_real in (("QF_LIA", False), ("ALL", True)):
        new = [s for s, o in dict(zip(scripts, obligations)).items() if s not in ANSWERS and bool(o.script) == is_real]
        command = ["cvc5", "--lang=smt2", "--incremental", f"--tlimit-per={milliseconds}", "-"]
        text = f"(set-logic {logic})\n" + "".join(f"(push 1)\n{script}\n(check-sat)\n(pop 1)\n" for script in new)
        answers = subprocess.run(command, input=text, capture_output=True, text=True, check=False).stdout.split() if new else []
        ANSWERS.update(zip(new, answers + ["nothing"] * len(new)))
    return [(i, ANSWERS[script]) for i, script in enumerate(scripts) if ANSWERS[script] != "unsat"]
