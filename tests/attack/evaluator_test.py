#!/usr/bin/env python3
"""The evaluator itself: elements that were computed by hand, planted rules that are wrong and have to be found, rules that
are right and have to pass, and every shipped rule, as the prover types it."""

import sys
from fractions import Fraction

import court
import evaluate
import rules
from parser import Definitions, Rules, load_definitions

PLANTED = court.ROOT / "tests" / "attack" / "planted"
SHIPPED = ["tests/prove/proved.rules", "data/properties/linear_algebra.properties"]


def elements(text, operator, inputs, parameters):
    read = Definitions(text)
    operators, functions = load_definitions(court.ROOT / "data" / "operators")
    world = evaluate.World({**operators, **read.operators}, {**functions, **read.functions})
    world.steps = 10**6
    tensors = [evaluate.Values(shape, lambda index, v=values, s=shape: v[flat(index, s)]) for shape, values in inputs]
    output = next(iter(evaluate.apply_operator(world, operator, tensors, parameters).values()))
    return output.shape, [output.at(place) for place in rules.places(output.shape, None)]


def flat(index, shape):
    at = 0
    for i, n in zip(index, shape):
        at = at * n + i
    return at


def by_hand():
    """(what, found, expected)"""
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
    yield "spread, absent", elements("", "add", [matrix, row], {"right": (2, 0)}), ((2, 3), [11, 22, 33, 14, 25, 36])
    yield "spread, one", elements("", "add", [matrix, column], {"right": (0, 1)}), ((2, 3), [101, 102, 103, 204, 205, 206])
    both = {"left": (0, 1), "right": (2, 0)}
    yield "spread, both", elements("", "mul", [column, row], both), ((2, 3), [1000, 2000, 3000, 2000, 4000, 6000])
    floor = "operator f(x[n])\n  y[i < n] = x[(i - n) // 2 + 2] - x[(i - n) % 2]\n"
    yield "floor", elements(floor, "f", [((3,), [7, 8, 9])], {}), ((3,), [7 - 8, 8 - 7, 8 - 8])
    nested = "operator f(x[n])\n  y[i < n] = sum(p < i + 1, q < p) x[q] / 2 if n > 2 else 0\n"
    yield "dependent bound", elements(nested, "f", [((3,), [1, 2, 3])], {}), ((3,), [0, Fraction(1, 2), 2])
    empty = "operator f(x[n])\n  y[i < n] = max(p < n where p < i) x[p]\n"
    yield "no point", elements(empty, "f", [((3,), [-1, -2, -3])], {}), ((3,), [0, -1, -1])


def not_read():
    """Shipped operators that the evaluator leaves out: only such as have packs in expressions, or lists of numbers."""
    for file in sorted((court.ROOT / "data" / "operators").glob("*.op")):
        text = file.read_text(encoding="utf-8")
        for name, why in Definitions(text).unread.items():
            paragraph = text.split(f"operator {name}(", 1)[1].split("\noperator ", 1)[0]
            if not any(word in paragraph for word in ("axes: ", "[d...]: int", "product(", " without axis", "insert axis", "// d...")):
                yield f"{name} is not read: {why}"


def main():
    failures = [f"{what}: found {found}, expected {expected}" for what, found, expected in by_hand() if found != expected]
    failures += list(not_read())
    planted = load_definitions(PLANTED / "false.op")
    for file, wrong in (("false.rules", True), ("true.rules", False)):
        for rule in Rules((PLANTED / file).read_text(encoding="utf-8")).rules:
            trial = rules.judge(rule, *planted, wanted=120)
            if bool(trial.findings) != wrong or trial.compared == 0:
                failures.append(f"{file}: {rule.name}: {trial}")
    record, prover = court.Record(), court.Prover(str(court.ROOT / "data" / "operators"))
    shipped = load_definitions(court.ROOT / "data" / "operators")
    for file in SHIPPED:
        for verdict in prover.ask(file, "", (court.ROOT / file).read_text(encoding="utf-8")):
            court.judge(record, f"{file}: {verdict.get('rule')}", verdict, *shipped, sizes=8)
    prover.close()
    print(record.summary("shipped rules"))
    for failure in failures:
        print(failure)
    return 1 if failures or record.bad or record.counts["proved"] < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
