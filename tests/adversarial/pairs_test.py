#!/usr/bin/env python3
"""Random pairs of operators, given to the prover without its refuter: no pair that it proves equal may differ.
pairs_test.py [--count N] [--seed S] [--show SEED]; --show prints the case of a seed."""

import argparse
import sys

import differential
import generate


def check_case(results, prover, seed, show=False):
    definitions, text = generate.generate_case(seed)
    operators, functions = differential.parse_definitions(definitions)
    if show:
        print(definitions + text)
    results.counts["generated"] += 1
    case = f"tests/adversarial/pairs_test.py --show {seed}"
    for verdict in prover.query(f"seed {seed}", definitions, text):
        if show:
            print(verdict)
        differential.check_verdict(results, case, verdict, operators, functions, definitions, seed=seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int)
    arguments = parser.parse_args()
    results, prover = differential.Results(), differential.Prover()
    show = arguments.show is not None
    for seed in [arguments.show] if show else range(arguments.seed, arguments.seed + arguments.count):
        check_case(results, prover, seed, show)
    prover.close()
    print(results.summary(f"random pairs from seed {arguments.show if show else arguments.seed}"))
    counts = results.counts
    enough = show or (counts["proved"] >= arguments.count // 10 and counts["typed"] >= arguments.count // 3)
    if not enough:
        print("too few of them are typed or proved for a meaningful test")
    return 1 if results.failures or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
