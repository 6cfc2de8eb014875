#!/usr/bin/env python3
"""The prover's own verdicts on mutants of rules with comparisons, rounding, remainders, truth values and quantization, which
the evaluator decides exactly or with 60 digits: no proved mutant may be false as it is written, no narrowed one false with
its condition, and no refuted one may have equal sides at its counterexample.
verdicts_test.py [--rules FILE...] [--count N] [--seed S] [--show SEED]"""

import sys

import mutants_test
import rules
from parser import Rules

FILES = [f"tests/prove/{name}.rules" for name in ("quantization", "quantization_refuted", "laws", "laws_false", "partial",
                                                  "partial_refuted", "narrowed")]


def check_verdict(results, case, verdict, operators, functions, text, seed):
    kind = verdict["verdict"]
    results.counts[kind] += 1
    if kind in ("crashed", "timeout"):
        results.add_failure(f"prover: {kind}", case, verdict["detail"], text)
    if "typed" not in verdict:
        return
    results.counts["typed"] += 1
    typed = Rules(verdict["typed"]).rules[0]
    if kind == "refuted":
        confirmed = rules.confirms(typed, verdict["counterexample"], operators, functions)
        results.counts[{True: "confirmed", False: "not confirmed", None: "not decided"}[confirmed]] += 1
        if confirmed is False:
            results.add_failure("TRUE RULE REFUTED", case, text, verdict)
        return
    is_inferred = "?" in text or any(dims is None for _, dims, _ in Rules(text).rules[0].variables)
    stated = Rules(text).rules[0] if kind == "proved" and not is_inferred else typed
    found = rules.evaluate_rule(stated, operators, functions, 20, seed, as_written=True)
    results.counts["comparisons"] += found.compared
    if found.counterexample:
        results.add_failure("FALSE RULE PROVED", case, found.counterexample, text, verdict["typed"])


if __name__ == "__main__":
    sys.exit(mutants_test.main("verdicts_test.py", FILES, check_verdict, whole=True))
