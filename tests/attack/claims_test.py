#!/usr/bin/env python3
"""Random laws of functions, operators that say that they commute, outputs that say that they are truths or integers: none
that counts as proved may be false. claims_test.py [--count N] [--seed S] [--show SEED]; a seed shows its case again."""

import argparse
import sys
from fractions import Fraction

import court
from claims import FUNCTIONS, LAWS, Formulas, Undefined, Unclear, holds, text, value

SIZES = (1, 2, 3)


def law_case(made):
    law, tree = made.law()
    arguments = "s, t" if law in ("commutative", "scaling of two") else "t"
    definitions = f"function f({arguments}) = {text(tree)}\n  law {LAWS[law].format(f='f')}\n"
    points = made.points(tree)

    def search():
        for s in points:
            for t in points:
                for c in (Fraction(1, 3), Fraction(2)):
                    try:
                        if not holds(law, tree, (s, t, c)):
                            return f"{law} at s = {s}, t = {t}, c = {c}"
                    except (Unclear, OverflowError):
                        pass
        return None
    return definitions, search


class Tensor:
    """What an operator over a and b computes, at a size and of values: an element, or Undefined."""

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
        return value((tree[0], *names), dict(zip(names, operands)))

    def values(self):
        try:
            return [self.at(i) for i in range(self.n)]
        except Undefined:
            return None


def random_values(made, n, kind):
    numbers = {"truths": (0, 1), "integers": (-3, -1, 0, 0, 1, 2), "": (-2, -1, 0, 0, 1, 2, Fraction(1, 2))}[kind]
    return [Fraction(made.pick(*numbers)) for _ in range(n)]


LEAVES = [f"{t}[{i}]" for t in "ab" for i in ("i", "i", "0", "n - 1 - i")]


def commuting_case(made):
    tree = made.symmetric(LEAVES, lambda: made.operator(LEAVES, made.pick(0, 1, 2)), "a[", "b[")
    tree = operator_of(tree)
    if made.chance(0.4):
        leaf = made.pick(*LEAVES)
        tree = made.pick(("+", tree, ("-", ("recip", leaf), ("recip", leaf))), ("-", tree, leaf), ("most", tree, leaf))
    definitions = FUNCTIONS + f"operator g(a[n], b[n])\n  commutative\n  y[i < n] = {text(tree)}\n"

    def search():
        for n in SIZES:
            for _ in range(15):
                a, b = random_values(made, n, ""), random_values(made, n, "")
                try:
                    one, other = Tensor(tree, n, a, b).values(), Tensor(tree, n, b, a).values()
                except (Unclear, OverflowError):
                    continue
                if one != other and not any(isinstance(v, float) for v in (one or []) + (other or [])):
                    return f"a = {[str(v) for v in a]}, b = {[str(v) for v in b]}: {one} and {other}"
        return None
    return definitions, search


def operator_of(tree):
    """A formula's steps by the functions that an operator may apply."""
    if not isinstance(tree, tuple):
        return tree
    names = {"max": "most", "min": "most", "equal": "as_much", "less": "below"}
    return (names.get(tree[0], tree[0]),) + tuple(t if k == 0 and tree[0] == "case" else operator_of(t)
                                                  for k, t in enumerate(tree[1:]))


def kinds_case(made):
    kinds = [made.pick("truths", "truths", "integers", "") for _ in "ab"]
    claimed = made.pick("truths", "integers")
    tree = made.operator(LEAVES, made.pick(1, 2, 2, 3))
    if claimed == "truths" and made.chance(0.6):  # what truths are made of
        a, b = (made.pick(("below", x, y), ("as_much", x, y), ("-", Fraction(1), ("as_much", x, y)), x)
                for x, y in [(made.pick(*LEAVES), made.pick(*LEAVES)) for _ in "ab"])
        tree = made.pick(("-", ("+", a, b), ("*", a, b)), ("*", a, b), ("+", a, b), ("either", a, b), ("most", a, b),
                         ("+", ("either", a, b), ("*", ("-", Fraction(1), a), b)), ("-", Fraction(1), a))
    of = [f" of {kind}" if kind else "" for kind in kinds]
    definitions = FUNCTIONS + f"operator g(a[n]{of[0]}, b[n]{of[1]})\n  y[i < n] of {claimed} = {text(tree)}\n"

    def search():
        for n in SIZES:
            for _ in range(20):
                a, b = (random_values(made, n, kind) for kind in kinds)
                try:
                    values = Tensor(tree, n, a, b).values() or []
                except (Unclear, OverflowError):
                    continue
                for v in values:
                    if isinstance(v, Fraction) and (v not in (0, 1) if claimed == "truths" else v.denominator != 1):
                        return f"{v} is none of {claimed}: a = {[str(v) for v in a]}, b = {[str(v) for v in b]}"
        return None
    return definitions, search


def judge(record, prover, seed, show=False):
    made = Formulas(seed)
    definitions, search = made.pick(law_case, law_case, law_case, commuting_case, kinds_case)(made)
    verdict = prover.ask(f"seed {seed}", definitions)[0]
    record.counts["generated"] += 1
    outcome = "assumed" if verdict.get("assumed") else verdict["verdict"]
    record.counts[outcome] += 1
    if show:
        print(definitions, verdict)
    if outcome in ("ended", "slow"):
        record.add(f"prover {outcome}", f"tests/attack/claims_test.py --show {seed}", definitions)
    if outcome not in ("accepted", "assumed"):
        return
    found = search()
    if found and outcome == "assumed":
        record.counts["assumed and false"] += 1
        print(f"assumed and false: seed {seed}: {found}")
    elif found:
        record.add("FALSE CLAIM BELIEVED", f"tests/attack/claims_test.py --show {seed}", definitions, found)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--show", type=int)
    given = arguments.parse_args()
    record, prover = court.Record(), court.Prover()
    shown = given.show is not None
    for seed in [given.show] if shown else range(given.seed, given.seed + given.count):
        judge(record, prover, seed, shown)
    prover.close()
    print(record.summary("random claims"))
    enough = shown or record.counts["accepted"] >= given.count // 10
    if not enough:
        print("too few of them are accepted for this to be a test")
    return 1 if record.bad or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
