#!/usr/bin/env python3
"""Evaluates both sides of typed rules at random sizes that satisfy their conditions. As a program: all rules of a text
file, `rules.py DEFINITIONS... --rules FILE [--sizes N] [--seed N]`; exit 1 if one has a counterexample."""

import argparse
import itertools
import random
import sys
import time
from dataclasses import dataclass
from fractions import Fraction

import evaluate
from evaluate import IllTyped, TooLarge, Undefined
from parser import Rules, load_definitions

MAX_ELEMENTS = 24   # compared per output
MAX_STEPS = 20000   # of the evaluator, per choice of sizes; elements beyond it are skipped
MAX_ATTEMPTS = 60   # to draw sizes, per requested choice


@dataclass
class Counterexample:
    """A choice of sizes at which a rule is false. kind: "differs", "definedness", "shapes differ", "target has no type"."""
    kind: str
    sizes: dict
    detail: str

    def __str__(self):
        return f"{self.kind} at {self.sizes}: {self.detail}"


@dataclass
class Evaluation:
    """The evaluation of one rule."""
    compared: int = 0   # choices of sizes at which both sides were evaluated
    too_large: int = 0  # choices of sizes at which no element was within MAX_STEPS
    counterexample: Counterexample | None = None


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
    """Returns the names of the rule's sizes, in order of occurrence."""
    found = {}
    for _, dims, _ in rule.variables:
        found.update(dict.fromkeys(names_in(dims)))
    for condition in rule.conditions:
        found.update(dict.fromkeys(names_in(condition)))
    for term in rule.source + rule.target:
        for node in nodes_of(term):
            kinds = operators[node[1]].parameters
            for name, value in node[3].items():
                if kinds[name][0] in ("size", "sizes", "int"):
                    found.update(dict.fromkeys(names_in(list(value[1]) if value[0] == "list" else value)))
    return list(found)


def numbers_in(expression):
    if isinstance(expression, tuple) and expression[:1] == ("num",):
        if str(expression[1]).isdigit():
            yield int(expression[1])
    elif isinstance(expression, (tuple, list)):
        yield from itertools.chain.from_iterable(numbers_in(e) for e in expression)


def boundary_values(rule, operators):
    """Returns the numbers in the rule and in its definitions: false rules often fail at sizes near them."""
    found = set(numbers_in([dims for _, dims, _ in rule.variables] + rule.conditions))
    for term in rule.source + rule.target:
        for node in nodes_of(term):
            op = operators[node[1]]
            found.update(numbers_in(list(node[3].values()) + op.where + op.lets))
            for tensor in op.tensors + op.outputs:
                found.update(numbers_in([tensor.items, tensor.value]))
    return sorted(n for n in found if 1 < n < 10**7)


class SizeSampler:
    """Draws sizes of a rule: small ones, some near boundary values, a few large ones."""

    def __init__(self, rule, operators, rng):
        self.names = size_names(rule, operators)
        self.rng = rng
        compiler = evaluate.Compiler(None, self.names)
        self.near_boundary = [n + d for n in boundary_values(rule, operators) for d in (-1, 0, 1, 2, n - 1, n, n + 1)]
        self.conditions = compiler.compile(compiler.conditions_code, rule.conditions)
        self.equations = [(side[1], compiler.compile(compiler.index_code, other))
                          for relation, left, right in rule.conditions if relation == "="
                          for side, other in ((left, right), (right, left)) if side[0] == "name"]
        self.shapes = [(name, [compiler.compile(compiler.index_code, d) for d in dims])
                       for name, dims, _ in rule.variables]

    def draw_size(self, style):
        if style < 0.45:
            return self.rng.randint(1, 4)
        if style < 0.75 or not self.near_boundary:
            return self.rng.randint(1, 12) if style < 0.95 else self.rng.choice((17, 64, 100, 257, 1000))
        return self.rng.choice(self.near_boundary) if self.rng.random() < 0.6 else self.rng.randint(1, 6)

    def draw(self):
        """Returns sizes and the variables' shapes, or None if the drawn sizes violate the rule's conditions."""
        style = self.rng.random()
        sizes = {name: max(1, self.draw_size(style)) for name in self.names}
        try:
            for name, value in self.equations:
                sizes[name] = value(sizes)
            if any(value < 1 for value in sizes.values()) or not self.conditions(sizes):
                return None
            shapes = {name: tuple(dim(sizes) for dim in dims) for name, dims in self.shapes}
        except IllTyped:
            return None
        return None if any(dim < 1 for shape in shapes.values() for dim in shape) else (sizes, shapes)


def sample_indices(shape, rng):
    """Returns all indices of a small shape, else corners and random indices."""
    count = 1
    for dim in shape:
        count *= dim
    if count <= MAX_ELEMENTS:
        return list(itertools.product(*(range(dim) for dim in shape)))
    corners = list(itertools.islice(itertools.product(*((0, dim - 1) for dim in shape)), MAX_ELEMENTS // 3))
    return corners + [tuple(rng.randrange(dim) for dim in shape) for _ in range(MAX_ELEMENTS - len(corners))]


def element_at(tensor, index):
    try:
        return evaluate.exact(tensor.at(index))
    except Undefined:
        return "undefined"


def compare(sources, targets, rng):
    """Returns the first difference as (kind, detail), "too large" if no element is within the steps, else None."""
    compared = 0
    for number, (source, target) in enumerate(zip(sources, targets)):
        if source.shape != target.shape:
            return "shapes differ", f"output {number}: source {list(source.shape)}, target {list(target.shape)}"
        for index in sample_indices(source.shape, rng):
            try:
                before, after = element_at(source, index), element_at(target, index)
                differ = before != after and ("undefined" in (before, after) or evaluate.sign_of_difference(before, after))
            except TooLarge:
                return None if compared else "too large"
            compared += 1
            if differ:
                kind = "definedness" if "undefined" in (before, after) else "differs"
                where = f"output {number} element {list(index)} of {list(source.shape)}"
                return kind, f"{where}: source {before}, target {after}"
    return None


def confirms(rule, counterexample, operators, functions):
    """Whether the sides differ at a counterexample's inputs (as the prover prints it), with 60 digits. None: not decided."""
    interpretation = evaluate.Interpretation(operators, functions, in_decimals=True)
    interpretation.steps_left = 10**6
    tensors = {}
    for tensor in counterexample["inputs"]:
        indices = itertools.product(*map(range, tensor["shape"]))
        values = dict(zip(indices, map(Fraction, tensor["values"])))
        tensors[tensor["name"]] = evaluate.LazyTensor(tuple(tensor["shape"]), values.__getitem__)
    values = []
    try:
        for side in (rule.source, rule.target):
            terms = evaluate.TermEvaluator(interpretation, tensors, counterexample["sizes"])
            output = [terms.evaluate(term) for term in side][counterexample["output"]]
            values.append(element_at(output, tuple(counterexample["position"])) if is_defined(terms) else "undefined")
        if "undefined" in values:
            return values[0] != values[1]
        return evaluate.sign_of_difference(*values) != 0
    except TooLarge:
        return None


def is_defined(terms):
    """Whether all elements of all tensors that were made are defined."""
    return all(element_at(tensor, index) != "undefined" for outputs in terms.outputs.values() for tensor in outputs.values()
               for index in itertools.product(*map(range, tensor.shape)))


def evaluate_rule(rule, operators, functions, sizes=30, seed=0, as_written=False):
    """Compares the two sides at `sizes` choices of sizes; stops at the first counterexample. The text of a rule as it is
    written says nothing of sizes at which its target has no type; functions are then evaluated with 60 digits."""
    rng = random.Random(f"{seed} {rule.name}")
    sampler = SizeSampler(rule, operators, rng)
    interpretation, evaluation = evaluate.Interpretation(operators, functions, seed, as_written), Evaluation()
    for attempt in range(sizes * MAX_ATTEMPTS):
        if evaluation.compared >= sizes or evaluation.too_large > sizes:
            break
        if attempt > 400 and evaluation.compared == 0 and evaluation.too_large == 0:
            break
        drawn = sampler.draw()
        if drawn is None:
            continue
        chosen, shapes = drawn
        interpretation.steps_left = MAX_STEPS
        width = rng.choice((1, 1, 5, 50))
        tensors = {n: evaluate.random_tensor(n, s, f"{seed} {attempt}", width) for n, s in shapes.items()}
        terms = evaluate.TermEvaluator(interpretation, tensors, chosen)
        target_terms = evaluate.TermEvaluator(interpretation, tensors, chosen) if as_written else terms
        try:
            sources = [terms.evaluate(term) for term in rule.source]
        except IllTyped:
            continue
        try:
            difference = compare(sources, [target_terms.evaluate(term) for term in rule.target], rng)
            if as_written and not (difference and difference[0] == "shapes differ"):
                defined = [is_defined(terms), is_defined(target_terms)]
                difference = ("definedness", f"{defined}") if defined[0] != defined[1] else difference if all(defined) else None
        except TooLarge:  # all elements of all tensors
            difference = None
        except IllTyped as error:
            if as_written:
                continue
            difference = ("target has no type", str(error))
        if difference == "too large":
            evaluation.too_large += 1
            continue
        evaluation.compared += 1
        if difference:
            kind, detail = difference
            evaluation.counterexample = Counterexample(kind, chosen, detail)
            break
    return evaluation


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("definitions", nargs="+")
    parser.add_argument("--rules", required=True)
    parser.add_argument("--sizes", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    begin = time.time()
    operators, functions = load_definitions(*arguments.definitions)
    with open(arguments.rules, encoding="utf-8") as file:
        rules = Rules(file.read()).rules
    compared = wrong = incomplete = 0
    for rule in rules:
        evaluation = evaluate_rule(rule, operators, functions, arguments.sizes, arguments.seed)
        compared += evaluation.compared
        if evaluation.counterexample:
            wrong += 1
            print(f"{rule.text}\n  {evaluation.counterexample}")
        else:
            incomplete += evaluation.compared < arguments.sizes
    print(f"{len(rules)} rules, {compared} comparisons in {time.time() - begin:.1f} s: {wrong} wrong, "
          f"{incomplete} at fewer than {arguments.sizes} sizes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
