#!/usr/bin/env python3
"""General forms of true rules and of mutants, specialized at random ranks and parameters: no proved specialization may
be false. general_test.py [--rules FILE...] [--specializations N] [--mutants N] [--seed S]"""

import argparse
import re
import sys

import differential
from mutants_test import DEFINITIONS, SHIPPED, mutant, read_rules
from parser import load_definitions


class GeneralFormTest:
    """Generalizes and specializes rules, and evaluates the specializations."""

    def __init__(self, operators, functions):
        self.operators, self.functions = operators, functions
        self.results, self.prover = differential.Results(), differential.Prover(str(DEFINITIONS))
        self.specializations = 0

    def check_rule(self, case, text, specializations, seed):
        for verdict in self.prover.query(case, "", text, specializations=specializations, seed=seed):
            if "general" not in verdict:
                if verdict["verdict"] in ("crashed", "timeout"):
                    differential.check_verdict(self.results, case, verdict, self.operators, self.functions)
                continue
            sides = verdict["typed"].split("\n", 1)[1]
            if unknown := set(re.findall(r"(\w+)\(", sides)) - set(self.operators):
                self.results.counts["not supported by the evaluator: " + ", ".join(sorted(unknown))] += 1
                continue
            self.specializations += 1
            differential.check_verdict(self.results, case, verdict, self.operators, self.functions, verdict["general"],
                                       sizes=4, seed=seed)


def rule_texts(files):
    """Yields the text of each rule. parser.py does not support general rules, so that they are not parsed here."""
    for file in files:
        with open(file, encoding="utf-8") as text:
            lines = []
            for line in text.read().splitlines() + ["rule end"]:
                if line.startswith(("rule ", "property ")):
                    if lines:
                        yield "\n".join(lines) + "\n"
                    lines = []
                if not line.startswith("#"):
                    lines.append(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", nargs="+", default=[str(differential.ROOT / file) for file in SHIPPED])
    parser.add_argument("--specializations", type=int, default=3, help="of each rule")
    parser.add_argument("--mutants", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    operators, functions = load_definitions(DEFINITIONS)
    true_rules = GeneralFormTest(operators, functions)
    for number, text in enumerate(rule_texts(arguments.rules)):
        true_rules.check_rule(f"rule {number}: {text}", text, arguments.specializations, arguments.seed + number)
    print(true_rules.results.summary(f"{true_rules.specializations} specializations of general rules"))
    if true_rules.specializations < 20:
        print("too few specializations for a meaningful test")
        return 1
    mutants = GeneralFormTest(operators, functions)
    if arguments.mutants > 0:
        rules = read_rules([differential.ROOT / file for file in SHIPPED], operators)
        for seed in range(arguments.seed, arguments.seed + arguments.mutants):
            text = mutant(rules, operators, seed)
            if text is not None:
                mutants.check_rule(f"mutant {seed}: {text}", text, 2, seed)
        print(mutants.results.summary(f"{mutants.specializations} specializations of {arguments.mutants} mutants"))
    for test in (true_rules, mutants):
        test.prover.close()
    return 1 if true_rules.results.failures or mutants.results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
