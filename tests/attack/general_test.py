#!/usr/bin/env python3
"""Rules in general form at ranks and parameters drawn at random, held against the definitions: true rules, and true ones
made false. None that is said to hold may be wrong.
general_test.py [--rules FILE...] [--instances N] [--mutants N] [--seed S]"""

import argparse
import re
import sys

import court
from mutants_test import DEFINITIONS, SHIPPED, mutant
from parser import Rules, load_definitions
from writing import rule_text


class Attack:
    def __init__(self, operators, functions):
        self.operators, self.functions = operators, functions
        self.record, self.prover = court.Record(), court.Prover(str(DEFINITIONS))
        self.instances = 0

    def ask(self, case, text, instances, seed):
        for verdict in self.prover.ask(case, "", text, instances=instances, seed=seed):
            if "general" not in verdict:
                if verdict["verdict"] in ("ended", "slow"):
                    court.judge(self.record, case, verdict, self.operators, self.functions)
                continue
            if unknown := {name for name in re.findall(r"(\w+)\(", verdict["typed"].split("\n", 1)[1])} - set(self.operators):
                self.record.counts["not read by the evaluator: " + ", ".join(sorted(unknown))] += 1
                continue
            self.instances += 1
            court.judge(self.record, case, verdict, self.operators, self.functions, verdict["general"], sizes=4,
                        seed=seed)


def texts_of(files):
    """Of each rule its own text: one in general form is not read by the evaluator, its instances are."""
    for file in files:
        with open(file, encoding="utf-8") as text:
            begun = []
            for line in text.read().splitlines() + ["rule end"]:
                if line.startswith(("rule ", "property ")):
                    if begun:
                        yield "\n".join(begun) + "\n"
                    begun = []
                if not line.startswith("#"):
                    begun.append(line)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rules", nargs="+", default=[str(court.ROOT / file) for file in SHIPPED])
    arguments.add_argument("--instances", type=int, default=3, help="of each rule")
    arguments.add_argument("--mutants", type=int, default=150)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    operators, functions = load_definitions(DEFINITIONS)
    true = Attack(operators, functions)
    for number, text in enumerate(texts_of(given.rules)):
        true.ask(f"rule {number}: {text}", text, given.instances, given.seed + number)
    print(true.record.summary(f"{true.instances} instances of rules in general form"))
    if true.instances < 20:
        print("too few instances for this to be a test")
        return 1
    false = Attack(operators, functions)
    if given.mutants > 0:
        rules = []
        for file in SHIPPED:
            with open(court.ROOT / file, encoding="utf-8") as text:
                rules += Rules(text.read()).rules
        for seed in range(given.seed, given.seed + given.mutants):
            text = mutant(rules, operators, seed)
            if text is not None:
                false.ask(f"mutant {seed}: {text}", text, 2, seed)
        print(false.record.summary(f"{false.instances} instances of {given.mutants} mutants in general form"))
    for attack in (true, false):
        attack.prover.close()
    return 1 if true.record.bad or false.record.bad else 0


if __name__ == "__main__":
    sys.exit(main())
