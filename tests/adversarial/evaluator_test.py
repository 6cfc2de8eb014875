#!/usr/bin/env python3
"""Tests the evaluator: elements computed by hand, planted false rules that it must refute, planted true rules that it
must not refute, and every shipped rule as the prover types it."""

import sys
from fractions import Fraction

import differential
import evaluate
import rules
from parser import Definitions, Rules, load_definitions

OPERATORS = differential.ROOT / "data" / "operators"
PLANTED = differential.ROOT / "tests" / "adversarial" / "planted"
SHIPPED = ["tests/prove/proved.rules", "data/properties/linear_algebra.properties"]
# Syntax of operators that the evaluator does not support: packs in expressions, lists of numbers.
UNSUPPORTED = ("axes: ", "[d...]: int", "product(", " without axis", "insert axis", "// d...")


def elements(text, operator, inputs, parameters):
    """Returns the shape and the elements of an operator's first output; the text has further definitions."""
    definitions = Definitions(text)
    operators, functions = load_definitions(OPERATORS)
    operators.update(definitions.operators)
    functions.update(definitions.functions)
    interpretation = evaluate.Interpretation(operators, functions)
    interpretation.steps_left = 10**6
    tensors = [evaluate.LazyTensor(shape, lambda index, v=values, s=shape: v[flat(index, s)])
               for shape, values in inputs]
    output = next(iter(evaluate.apply_operator(interpretation, operator, tensors, parameters).values()))
    return output.shape, [output.at(index) for index in rules.sample_indices(output.shape, None)]


def flat(index, shape):
    offset = 0
    for i, n in zip(index, shape):
        offset = offset * n + i
    return offset


def hand_computed_cases():
    """Yields (name, found, expected)."""
    image, kernel = ((1, 1, 2, 3), [1, 2, 3, 4, 5, 6]), ((1, 1, 1, 2), [10, 1])
    yield "conv2d", elements("", "conv2d", [image, kernel], {"pad": "valid"}), ((1, 1, 2, 2), [12, 23, 45, 56])
    yield "same", elements("", "conv2d", [image, kernel], {}), ((1, 1, 2, 3), [12, 23, 30, 45, 56, 60])
    yield "pool", elements("", "max_pool", [image], {"kernel": 3, "stride": 2}), ((1, 1, 1, 2), [5, 6])
    yield "mean", elements("", "global_avg_pool", [image], {}), ((1, 1, 1, 1), [Fraction(7, 2)])
    matrix = ((2, 3), [1, 2, 3, 4, 5, 6])
    yield "transpose", elements("", "transpose", [matrix], {"perm": (1, 0)}), ((3, 2), [1, 4, 2, 5, 3, 6])
    yield "concat", elements("", "concat", [matrix, matrix], {"axis": 0}), ((4, 3), [1, 2, 3, 4, 5, 6] * 2)
    yield "matmul", elements("", "matmul", [((1, 2), [1, 2]), ((2, 1), [3, 4])], {}), ((1, 1), [11])
    row, column = ((3,), [10, 20, 30]), ((2, 1), [100, 200])
    yield ("broadcast of an absent dimension", elements("", "add", [matrix, row], {"right": (2, 0)}),
           ((2, 3), [11, 22, 33, 14, 25, 36]))
    yield ("broadcast of one element", elements("", "add", [matrix, column], {"right": (0, 1)}),
           ((2, 3), [101, 102, 103, 204, 205, 206]))
    yield ("broadcast of both inputs", elements("", "mul", [column, row], {"left": (0, 1), "right": (2, 0)}),
           ((2, 3), [1000, 2000, 3000, 2000, 4000, 6000]))
    floor = "operator f(x[n])\n  y[i < n] = x[(i - n) // 2 + 2] - x[(i - n) % 2]\n"
    yield "floor", elements(floor, "f", [((3,), [7, 8, 9])], {}), ((3,), [7 - 8, 8 - 7, 8 - 8])
    nested = "operator f(x[n])\n  y[i < n] = sum(p < i + 1, q < p) x[q] / 2 if n > 2 else 0\n"
    yield "dependent bound", elements(nested, "f", [((3,), [1, 2, 3])], {}), ((3,), [0, Fraction(1, 2), 2])
    empty = "operator f(x[n])\n  y[i < n] = max(p < n where p < i) x[p]\n"
    yield "empty range", elements(empty, "f", [((3,), [-1, -2, -3])], {}), ((3,), [0, -1, -1])


def wrongly_skipped():
    """Yields messages about shipped operators that the parser skips although they use no unsupported syntax."""
    for file in sorted(OPERATORS.glob("*.op")):
        text = file.read_text(encoding="utf-8")
        for name, reason in Definitions(text).skipped.items():
            paragraph = text.split(f"operator {name}(", 1)[1].split("\noperator ", 1)[0]
            if not any(syntax in paragraph for syntax in UNSUPPORTED):
                yield f"{name} is skipped: {reason}"


def main():
    failures = [f"{name}: found {found}, expected {expected}"
                for name, found, expected in hand_computed_cases() if found != expected]
    failures += list(wrongly_skipped())
    planted = load_definitions(PLANTED / "false.op")
    for file, is_false in (("false.rules", True), ("true.rules", False)):
        for rule in Rules((PLANTED / file).read_text(encoding="utf-8")).rules:
            evaluation = rules.evaluate_rule(rule, *planted, sizes=120)
            if bool(evaluation.counterexample) != is_false or evaluation.compared == 0:
                failures.append(f"{file}: {rule.name}: {evaluation}")
    results, prover = differential.Results(), differential.Prover(str(OPERATORS))
    shipped = load_definitions(OPERATORS)
    for file in SHIPPED:
        for verdict in prover.query(file, "", (differential.ROOT / file).read_text(encoding="utf-8")):
            differential.check_verdict(results, f"{file}: {verdict.get('rule')}", verdict, *shipped, sizes=8)
    prover.close()
    print(results.summary("shipped rules"))
    for failure in failures:
        print(failure)
    return 1 if failures or results.failures or results.counts["proved"] < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
