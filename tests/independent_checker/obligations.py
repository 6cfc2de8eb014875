"""Decides obligations: trivial ones here, the others by cvc5, with products of atoms as integers of their own."""

import subprocess
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from polynomials import ATOMS, Poly, is_nonnegative, variable
from sums import Guard


class Obligation(NamedTuple):
    """given ⊢ goal; without a goal, given ⊢ false; with `indicators`, given ⊢ Σ coefficient · [guards] = 0; or a script."""
    what: str
    given: tuple
    goal: Guard | None = None
    indicators: tuple = ()
    lemmas: tuple = ()
    script: str = ""


def of_indicators(what: str, given: tuple, indicators, lemmas) -> list[Obligation]:
    """Obligations that together say given ⊢ Σ coefficient · [guards] = 0. Terms with equal guards are added up, and guards of all
    terms are given. Often c − c · [guards] is left, or c."""
    total = {}
    for coefficient, guards in indicators:
        total[frozenset(guards)] = total.get(frozenset(guards), 0) + coefficient
    total = {guards: c for guards, c in total.items() if c}
    if not total:
        return []
    common = frozenset.intersection(*total)
    terms = sorted(((c, tuple(guards - common)) for guards, c in total.items()), key=lambda term: len(term[1]))
    whole = Obligation(what, given + tuple(common), lemmas=tuple(lemmas))
    if len(terms) == 1:
        return [whole]
    if len(terms) == 2 and not terms[0][1] and terms[0][0] == -terms[1][0]:
        return [whole._replace(goal=goal) for goal in terms[1][1]]
    return [whole._replace(indicators=tuple(terms))]


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


def smt(number) -> str:
    return str(number) if number >= 0 else f"(- {-number})"


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
            parts = [f"(ite (and true true {' '.join(map(self.guard, guards))}) {smt(int(c * scale))} 0)" for c, guards in o.indicators]
            self.add(f"(not (= 0 (+ 0 0 {' '.join(parts)})))")
        for a, b in o.lemmas:
            self.add(f"(=> {self.at_least_0(a, b)} {self.at_least_0(a * b)})")
        self.define()
        self.text = "\n".join([f"(declare-const {n} Int)" for n in self.names.values()] + self.body)

    def add(self, formula: str):
        self.body.append(f"(assert {formula})")

    def poly(self, poly: Poly) -> str:
        parts = [f"(* {smt(c)} {self.names.setdefault(m, f'v{len(self.names)}')})" if m else smt(c) for m, c in poly.terms.items()]
        return f"(+ 0 0 {' '.join(parts)})"

    def at_least_0(self, *polys: Poly) -> str:
        return f"(and true {' '.join(f'(>= {self.poly(poly)} 0)' for poly in polys)})"

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
        kind, _, left, right = ATOMS[a]
        if kind == "size":
            self.poly(variable(a))
        elif kind == "div":
            rest = left - right * variable(a)
            self.add(f"(=> {self.at_least_0(right - 1)} {self.at_least_0(rest, right - 1 - rest)})")
        elif kind in ("min", "max"):
            l, r = ((side - variable(a)) * (1 if kind == "min" else -1) for side in (left, right))
            self.add(f"(and {self.at_least_0(l, r)} (or {self.at_least_0(-l)} {self.at_least_0(-r)}))")


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
