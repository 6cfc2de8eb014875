#!/usr/bin/env python3
"""Holds typed rules against the definitions at random sizes that satisfy what they ask for. By itself: all rules of a text
file, `rules.py DEFINITIONS... --rules FILE [--sizes N] [--seed N]`; exit 1 if one is wrong."""

import argparse
import itertools
import random
import sys
import time
from dataclasses import dataclass, field

import evaluate
from evaluate import IllTyped, TooLarge, Undefined
from parser import Rules, load_definitions

ELEMENTS = 24     # compared of one output
STEPS = 20000     # of the evaluator, for one choice of sizes; elements beyond them are left out
ATTEMPTS = 60     # at sizes, for each that is wanted


@dataclass
class Finding:
    """One choice of sizes at which a rule is wrong. kind: differs, definedness, target has no type."""
    kind: str
    sizes: dict
    detail: str

    def __str__(self):
        return f"{self.kind} at {self.sizes}: {self.detail}"


@dataclass
class Trial:
    compared: int = 0            # choices of sizes at which both sides were evaluated
    too_large: int = 0
    findings: list = field(default_factory=list)


def names_in(expression):
    if isinstance(expression, tuple) and expression:
        if expression[0] == "name":
            yield expression[1]
        else:
            yield from itertools.chain.from_iterable(names_in(e) for e in expression[1:])
    elif isinstance(expression, list):
        yield from itertools.chain.from_iterable(names_in(e) for e in expression)


def nodes_of(term):
    if term[0] == "node":
        yield term
        for argument in term[2]:
            yield from nodes_of(argument)


def size_names(rule, operators):
    """The sizes that the rule speaks of, in order."""
    found = {}
    for _, dims, _ in rule.variables:
        found.update(dict.fromkeys(names_in(dims)))
    for condition in rule.conditions:
        found.update(dict.fromkeys(names_in(condition)))
    for term in rule.source + rule.target:
        for node in nodes_of(term):
            kinds = operators[node[1]].parameters
            for name, value in node[3].items():
                if kinds[name][0] in ("size", "sizes"):
                    found.update(dict.fromkeys(names_in(list(value[1]) if value[0] == "list" else value)))
    return list(found)


def numbers_in(expression):
    if isinstance(expression, tuple) and expression[:1] == ("num",):
        if str(expression[1]).isdigit():
            yield int(expression[1])
    elif isinstance(expression, (tuple, list)):
        yield from itertools.chain.from_iterable(numbers_in(e) for e in expression)


def telling_numbers(rule, operators):
    """Numbers in the rule and in the definitions that it uses: sizes around them are worth a try."""
    found = set(numbers_in([dims for _, dims, _ in rule.variables] + rule.conditions))
    for term in rule.source + rule.target:
        for node in nodes_of(term):
            op = operators[node[1]]
            found.update(numbers_in(list(node[3].values()) + op.where + op.lets))
            for tensor in op.tensors + op.outputs:
                found.update(numbers_in([tensor.items, tensor.value]))
    return sorted(n for n in found if 1 < n < 10**7)


class Sizes:
    """Draws sizes: small ones, around the telling numbers, and now and then large ones."""

    def __init__(self, rule, operators, chance):
        self.names = size_names(rule, operators)
        self.rule, self.chance = rule, chance
        compiler = evaluate.Compiler(None, self.names)
        self.near = [n + d for n in telling_numbers(rule, operators) for d in (-1, 0, 1, 2, n - 1, n, n + 1)]
        self.conditions = compiler.function(compiler.all_of, rule.conditions)
        self.solved = [(side[1], compiler.function(compiler.index, other)) for relation, left, right in rule.conditions
                       if relation == "=" for side, other in ((left, right), (right, left)) if side[0] == "name"]
        self.shapes = [(name, [compiler.function(compiler.index, d) for d in dims]) for name, dims, _ in rule.variables]

    def one(self, style):
        if style < 0.45:
            return self.chance.randint(1, 4)
        if style < 0.75 or not self.near:
            return self.chance.randint(1, 12) if style < 0.95 else self.chance.choice((17, 64, 100, 257, 1000))
        return self.chance.choice(self.near) if self.chance.random() < 0.6 else self.chance.randint(1, 6)

    def draw(self):
        """Sizes and the variables' shapes, or nothing if these sizes are not the rule's."""
        style = self.chance.random()
        sizes = {name: max(1, self.one(style)) for name in self.names}
        try:
            for name, value in self.solved:
                sizes[name] = value(sizes)
            if any(value < 1 for value in sizes.values()) or not self.conditions(sizes):
                return None
            shapes = {name: tuple(dim(sizes) for dim in dims) for name, dims in self.shapes}
        except IllTyped:
            return None
        return None if any(dim < 1 for shape in shapes.values() for dim in shape) else (sizes, shapes)


def places(shape, chance):
    """Elements to compare: all of them, or the corners and some others."""
    count = 1
    for dim in shape:
        count *= dim
    if count <= ELEMENTS:
        return list(itertools.product(*(range(dim) for dim in shape)))
    corners = list(itertools.islice(itertools.product(*((0, dim - 1) for dim in shape)), ELEMENTS // 3))
    return corners + [tuple(chance.randrange(dim) for dim in shape) for _ in range(ELEMENTS - len(corners))]


def element(tensor, place):
    try:
        return evaluate.exact(tensor.at(place))
    except Undefined:
        return "undefined"


def compare(sources, targets, chance):
    """The first disagreement as (kind, detail), "too large" if the steps suffice for no element."""
    compared = 0
    for number, (source, target) in enumerate(zip(sources, targets)):
        if source.shape != target.shape:
            return "target has no type", f"output {number} is {list(source.shape)}, then {list(target.shape)}"
        for place in places(source.shape, chance):
            try:
                before, after = element(source, place), element(target, place)
            except TooLarge:
                return None if compared else "too large"
            compared += 1
            if before != after:
                kind = "definedness" if "undefined" in (before, after) else "differs"
                return kind, f"output {number} element {list(place)} of {list(source.shape)} is {before}, then {after}"
    return None


def judge(rule, operators, functions, wanted=30, seed=0, stop_at_first=True):
    """Compares the two sides at `wanted` choices of sizes."""
    chance = random.Random(f"{seed} {rule.name}")
    sizes = Sizes(rule, operators, chance)
    world, trial = evaluate.World(operators, functions, seed), Trial()
    for attempt in range(wanted * ATTEMPTS):
        if trial.compared >= wanted or (attempt > 400 and trial.compared == 0 and trial.too_large == 0):
            break
        if trial.too_large > wanted:
            break
        drawn = sizes.draw()
        if drawn is None:
            continue
        world.steps = STEPS
        width = chance.choice((1, 1, 5, 50))
        tensors = {n: evaluate.variable(n, s, f"{seed} {attempt}", width) for n, s in drawn[1].items()}
        terms = evaluate.Terms(world, tensors, drawn[0])
        try:
            sources = [terms.value(term) for term in rule.source]
        except IllTyped:
            continue
        try:
            wrong = compare(sources, [terms.value(term) for term in rule.target], chance)
        except IllTyped as error:
            wrong = ("target has no type", str(error))
        if wrong == "too large":
            trial.too_large += 1
            continue
        trial.compared += 1
        if wrong:
            trial.findings.append(Finding(wrong[0], drawn[0], wrong[1]))
            if stop_at_first:
                break
    return trial


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("definitions", nargs="+")
    arguments.add_argument("--rules", required=True)
    arguments.add_argument("--sizes", type=int, default=30)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    begin = time.time()
    operators, functions = load_definitions(*given.definitions)
    with open(given.rules, encoding="utf-8") as file:
        rules = Rules(file.read()).rules
    compared = wrong = short = 0
    for rule in rules:
        trial = judge(rule, operators, functions, given.sizes, given.seed)
        compared += trial.compared
        short += trial.compared < given.sizes and not trial.findings
        for finding in trial.findings:
            wrong += 1
            print(f"{rule.text}\n  {finding}")
    print(f"{len(rules)} rules, {compared} comparisons in {time.time() - begin:.1f} s: {wrong} wrong, "
          f"{short} at fewer than {given.sizes} sizes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
