#!/usr/bin/env python3
"""Mutants of true rules, given to the prover without its refuter: no proved mutant may be false.
mutants_test.py [--rules FILE...] [--count N] [--seed S] [--show SEED]"""

import argparse
import contextlib
import random
import re
import sys

import differential
import mutate
from parser import Rules, load_definitions
from printer import rule_text
from rules import nodes_of

SHIPPED = ["tests/prove/proved.rules", "tests/prove/conditional.rules", "data/properties/linear_algebra.properties"]
DEFINITIONS = differential.ROOT / "data" / "operators"


def mutant(rules, operators, seed):
    """Returns the mutant of a seed as text, or None if the mutation changes nothing."""
    rng = random.Random(seed)
    rule = rng.choice(rules)
    changed = mutate.Mutator(operators, seed).mutant(rule)
    return rule_text(changed) if changed and rule_text(changed) != rule_text(rule) else None


def read_rules(files, operators):
    """Returns the rules of which the evaluator reads the text and all operators."""
    rules = []
    for file in files:
        with open(file, encoding="utf-8") as text:
            for each in re.split(r"^(?=rule |property )", text.read(), flags=re.M)[1:]:
                with contextlib.suppress(SyntaxError):
                    rules += Rules(each).rules
    return [rule for rule in rules if all(node[1] in operators for term in rule.source + rule.target for node in nodes_of(term))]


def check_types(results, case, verdict, operators, functions, text, seed):
    differential.check_verdict(results, case, verdict, operators, functions, text, sizes=20, sizes_if_unproved=3, seed=seed)


def main(script="mutants_test.py", files=SHIPPED, check=check_types, **query):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", nargs="+", default=[str(differential.ROOT / file) for file in files])
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int)
    arguments = parser.parse_args()
    operators, functions = load_definitions(DEFINITIONS)
    rules = read_rules(arguments.rules, operators)
    results, prover = differential.Results(), differential.Prover(str(DEFINITIONS))
    show = arguments.show is not None
    for seed in [arguments.show] if show else range(arguments.seed, arguments.seed + arguments.count):
        text = mutant(rules, operators, seed)
        if text is None:
            results.counts["no mutant"] += 1
            continue
        results.counts["generated"] += 1
        case = f"tests/adversarial/{script} --rules {' '.join(arguments.rules)} --show {seed}"
        for verdict in prover.query(f"seed {seed}", "", text, **query):
            if show:
                print(text, verdict)
            check(results, case, verdict, operators, functions, text, seed)
    prover.close()
    print(results.summary(f"mutants of {len(rules)} rules from seed {arguments.seed}"))
    enough = show or results.counts["typed"] >= arguments.count // 4
    if not enough:
        print("too few of them are typed for a meaningful test")
    return 1 if results.failures or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
