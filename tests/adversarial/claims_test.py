#!/usr/bin/env python3
"""Random laws of functions, operators declared commutative, and outputs declared bool or int: no accepted
declaration may be false. claims_test.py [--count N] [--seed S] [--show SEED]; --show prints the case of a seed."""

import argparse
import sys
from fractions import Fraction

import differential
from claims import FUNCTIONS, LAWS, Formulas, Undecided, Undefined, evaluate, formula_text, holds

SIZES = (1, 2, 3)


def law_case(formulas):
    law, tree = formulas.law()
    arguments = "s, t" if law in ("commutative", "scaling of two") else "t"
    definitions = f"function f({arguments}) = {formula_text(tree)}\n  law {LAWS[law].format(f='f')}\n"
    points = formulas.sample_points(tree)

    def find_counterexample():
        for s in points:
            for t in points:
                for c in (Fraction(1, 3), Fraction(2)):
                    try:
                        if not holds(law, tree, (s, t, c)):
                            return f"{law} at s = {s}, t = {t}, c = {c}"
                    except (Undecided, OverflowError):
                        pass
        return None
    return definitions, find_counterexample


class Tensor:
    """The output of an operator over tensors a and b of n elements."""

    def __init__(self, tree, n, a, b):
        self.tree, self.n, self.a, self.b = tree, n, a, b

    def at(self, i, tree=None):
        tree = self.tree if tree is None else tree
        if isinstance(tree, str):
            tensor = self.a if tree[0] == "a" else self.b
            return tensor[{"i": i, "0": 0, "n - 1 - i": self.n - 1 - i}[tree[2:-1]]]
        if isinstance(tree, Fraction):
            return tree
        if tree[0] == "case":
            return self.at(i, tree[2] if (i == 0 if tree[1] == "i = 0" else 2 * i < self.n) else tree[3])
        operands = [self.at(i, t) for t in tree[1:]]
        names = [f"x{k}" for k in range(len(operands))]
        return evaluate((tree[0], *names), dict(zip(names, operands)))

    def values(self):
        """Returns all elements, or None if one is undefined."""
        try:
            return [self.at(i) for i in range(self.n)]
        except Undefined:
            return None


def random_values(formulas, n, kind):
    numbers = {"bool": (0, 1), "int": (-3, -1, 0, 0, 1, 2), "": (-2, -1, 0, 0, 1, 2, Fraction(1, 2))}[kind]
    return [Fraction(formulas.pick(*numbers)) for _ in range(n)]


LEAVES = [f"{t}[{i}]" for t in "ab" for i in ("i", "i", "0", "n - 1 - i")]


def commutative_case(formulas):
    tree = formulas.symmetric(LEAVES, lambda: formulas.operator(LEAVES, formulas.pick(0, 1, 2)), "a[", "b[")
    tree = with_declared_functions(tree)
    if formulas.chance(0.4):
        leaf = formulas.pick(*LEAVES)
        cancelled = ("-", ("recip", leaf), ("recip", leaf))
        tree = formulas.pick(("+", tree, cancelled), ("-", tree, leaf), ("larger", tree, leaf))
    definitions = FUNCTIONS + f"operator g(a[n], b[n])\n  commutative\n  y[i < n] = {formula_text(tree)}\n"

    def find_counterexample():
        for n in SIZES:
            for _ in range(15):
                a, b = random_values(formulas, n, ""), random_values(formulas, n, "")
                try:
                    first, second = Tensor(tree, n, a, b).values(), Tensor(tree, n, b, a).values()
                except (Undecided, OverflowError):
                    continue
                if first != second and not any(isinstance(v, float) for v in (first or []) + (second or [])):
                    return f"a = {[str(v) for v in a]}, b = {[str(v) for v in b]}: {first} and {second}"
        return None
    return definitions, find_counterexample


def with_declared_functions(tree):
    """Returns the formula with functions that the definitions declare, as operators need."""
    if not isinstance(tree, tuple):
        return tree
    names = {"max": "larger", "min": "larger", "equal": "equal_to", "less": "less_than"}
    return (names.get(tree[0], tree[0]),) + tuple(t if k == 0 and tree[0] == "case" else with_declared_functions(t)
                                                  for k, t in enumerate(tree[1:]))


def scalar_kind_case(formulas):
    kinds = [formulas.pick("bool", "bool", "int", "") for _ in "ab"]
    declared = formulas.pick("bool", "int")
    tree = formulas.operator(LEAVES, formulas.pick(1, 2, 2, 3))
    if declared == "bool" and formulas.chance(0.6):  # a Boolean formula
        a, b = (formulas.pick(("less_than", x, y), ("equal_to", x, y), ("-", Fraction(1), ("equal_to", x, y)), x)
                for x, y in [(formulas.pick(*LEAVES), formulas.pick(*LEAVES)) for _ in "ab"])
        tree = formulas.pick(("-", ("+", a, b), ("*", a, b)), ("*", a, b), ("+", a, b), ("gated", a, b),
                             ("larger", a, b), ("+", ("gated", a, b), ("*", ("-", Fraction(1), a), b)), ("-", Fraction(1), a))
    of = [f" of {kind}" if kind else "" for kind in kinds]
    definitions = FUNCTIONS + (f"operator g(a[n]{of[0]}, b[n]{of[1]})\n"
                               f"  y[i < n] of {declared} = {formula_text(tree)}\n")

    def find_counterexample():
        for n in SIZES:
            for _ in range(20):
                a, b = (random_values(formulas, n, kind) for kind in kinds)
                try:
                    values = Tensor(tree, n, a, b).values() or []
                except (Undecided, OverflowError):
                    continue
                for v in values:
                    if isinstance(v, Fraction) and (v not in (0, 1) if declared == "bool" else v.denominator != 1):
                        return f"{v} is not of {declared}: a = {[str(v) for v in a]}, b = {[str(v) for v in b]}"
        return None
    return definitions, find_counterexample


def check_case(results, prover, seed, show=False):
    formulas = Formulas(seed)
    make_case = formulas.pick(law_case, law_case, law_case, commutative_case, scalar_kind_case)
    definitions, find_counterexample = make_case(formulas)
    case = f"tests/adversarial/claims_test.py --show {seed}"
    verdict = prover.query(f"seed {seed}", definitions)[0]
    results.counts["generated"] += 1
    word = "assumed" if verdict.get("assumed") else verdict["verdict"]
    results.counts[word] += 1
    if show:
        print(definitions, verdict)
    if word in ("crashed", "timeout"):
        results.add_failure(f"prover: {word}", case, definitions)
    if word not in ("accepted", "assumed"):
        return
    counterexample = find_counterexample()
    if counterexample and word == "assumed":
        results.counts["assumed and false"] += 1
        print(f"assumed and false: seed {seed}: {counterexample}")
    elif counterexample:
        results.add_failure("FALSE DECLARATION ACCEPTED", case, definitions, counterexample)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int)
    arguments = parser.parse_args()
    results, prover = differential.Results(), differential.Prover()
    show = arguments.show is not None
    for seed in [arguments.show] if show else range(arguments.seed, arguments.seed + arguments.count):
        check_case(results, prover, seed, show)
    prover.close()
    print(results.summary("random declarations"))
    enough = show or results.counts["accepted"] >= arguments.count // 10
    if not enough:
        print("too few of them are accepted for a meaningful test")
    return 1 if results.failures or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
