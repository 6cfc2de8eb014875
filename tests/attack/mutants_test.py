#!/usr/bin/env python3
"""True rules made false, put to the prover without its refuter: none that is proved may be wrong.
mutants_test.py [--rules FILE...] [--count N] [--seed S] [--show SEED]"""

import argparse
import random
import sys

import court
import mutate
from parser import Rules, load_definitions
from writing import rule_text

SHIPPED = ["tests/prove/proved.rules", "tests/prove/conditional.rules", "data/properties/linear_algebra.properties"]
DEFINITIONS = court.ROOT / "data" / "operators"


def mutant(rules, operators, seed):
    """The mutant of one seed: its text, or nothing where the change makes none."""
    chance = random.Random(seed)
    rule = chance.choice(rules)
    changed = mutate.Mutator(operators, seed).mutant(rule)
    return rule_text(changed) if changed and rule_text(changed) != rule_text(rule) else None


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rules", nargs="+", default=[str(court.ROOT / file) for file in SHIPPED])
    arguments.add_argument("--count", type=int, default=400)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--show", type=int)
    given = arguments.parse_args()
    operators, functions = load_definitions(DEFINITIONS)
    rules = []
    for file in given.rules:
        with open(file, encoding="utf-8") as text:
            rules += Rules(text.read()).rules
    record, prover = court.Record(), court.Prover(str(DEFINITIONS))
    seeds = [given.show] if given.show is not None else range(given.seed, given.seed + given.count)
    for seed in seeds:
        text = mutant(rules, operators, seed)
        if text is None:
            record.counts["no mutant"] += 1
            continue
        record.counts["generated"] += 1
        for verdict in prover.ask(f"seed {seed}", "", text):
            if given.show is not None:
                print(text, verdict)
            case = f"tests/attack/mutants_test.py --rules {' '.join(given.rules)} --show {seed}"
            court.judge(record, case, verdict, operators, functions, text, sizes=20, glance=3, seed=seed)
    prover.close()
    print(record.summary(f"mutants of {len(rules)} rules from seed {given.seed}"))
    if given.show is None and record.counts["typed"] < given.count // 4:
        print("too few of them are typed for this to be a test")
        return 1
    return 1 if record.bad else 0


if __name__ == "__main__":
    sys.exit(main())
