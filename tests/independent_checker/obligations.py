"""Decides obligations: trivial ones here, the others by cvc5, with products of atoms as integers of their own."""

import subprocess
from collections import Counter
from fractions import Fraction
from math import lcm

from normal_form import Guard
from polynomials import ATOMS, Poly, is_nonnegative, variable
from statement import Obligation


def split(poly: Poly):
    constant = poly.terms.get((), 0)
    return frozenset(item for item in poly.terms.items() if item[0]), constant


def is_trivial(o: Obligation) -> bool:
    """True if equal indicators cancel, a bound follows from one given bound of the same terms, or two of these
    contradict each other."""
    if o.indicators:
        sums = Counter()
        for coefficient, guards in o.indicators:
            sums[frozenset(guards)] += coefficient
        return not any(sums.values())
    if o.goal and (o.goal.always or (not o.goal.equality and is_nonnegative(o.goal.poly))):
        return True
    bounds = {}  # terms ≥ -constant, the strongest
    for guard in o.given:
        for poly in (guard.poly, -guard.poly) if guard.equality else (guard.poly,):
            key, constant = split(poly)
            bounds[key] = min(constant, bounds.get(key, constant))
    if bounds.get(frozenset(), 0) < 0:
        return True
    if o.goal:
        goals = (o.goal.poly, -o.goal.poly) if o.goal.equality else (o.goal.poly,)
        return all(bounds.get(key, constant + 1) <= constant for key, constant in map(split, goals))
    return any(c + bounds.get(frozenset((m, -n) for m, n in key), -c) < 0 for key, c in bounds.items())


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
        self.text = "\n".join(["(push 1)"] + [f"(declare-const {n} Int)" for n in self.names.values()] + self.body +
                              ["(check-sat)", "(pop 1)", ""])

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
    scripts = [Script(o).text for o in obligations]
    new = [script for script in dict.fromkeys(scripts) if script not in ANSWERS]
    command = ["cvc5", "--lang=smt2", "--incremental", f"--tlimit-per={milliseconds}", "-"]
    text = "(set-logic QF_LIA)\n" + "".join(new)
    answers = subprocess.run(command, input=text, capture_output=True, text=True, check=False).stdout.split() if new else []
    ANSWERS.update(zip(new, answers + ["nothing"] * len(new)))
    return [(i, ANSWERS[script]) for i, script in enumerate(scripts) if ANSWERS[script] != "unsat"]
