#!/usr/bin/env python3
"""Random pairs of operators put to the prover without its refuter: none that it calls equal may differ anywhere.
pairs_test.py [--count N] [--seed S] [--show SEED]; a seed that is printed shows its case again."""

import argparse
import sys

import court
import generate


def case_name(seed):
    return f"tests/attack/pairs_test.py --show {seed}"


def attack(first, count):
    record, prover = court.Record(), court.Prover()
    for seed in range(first, first + count):
        definitions, text = generate.case(seed)
        record.counts["generated"] += 1
        operators, functions = court.definitions_of(definitions)
        for verdict in prover.ask(f"seed {seed}", definitions, text):
            court.judge(record, case_name(seed), verdict, operators, functions, definitions, seed=seed)
    prover.close()
    return record


def show(seed):
    definitions, text = generate.case(seed)
    print(definitions + text)
    record, prover = court.Record(), court.Prover()
    for verdict in prover.ask(f"seed {seed}", definitions, text):
        print(verdict)
        court.judge(record, case_name(seed), verdict, *court.definitions_of(definitions), seed=seed)
    prover.close()
    print(record.summary(f"seed {seed}"))
    return bool(record.bad)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=400)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--show", type=int)
    given = arguments.parse_args()
    if given.show is not None:
        return show(given.show)
    record = attack(given.seed, given.count)
    print(record.summary(f"random pairs from seed {given.seed}"))
    enough = record.counts["proved"] >= given.count // 10 and record.counts["typed"] >= given.count // 3
    if not enough:
        print("too few of them are typed or proved for this to be a test")
    return 1 if record.bad or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
