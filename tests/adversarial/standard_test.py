#!/usr/bin/env python3
"""What rulemill computes of ONNX's nodes is what the standard says: one-node models of all operators, in all versions and at all kinds of values,
programs that compute sizes, and onnx's own cases, beside onnxruntime and onnx's reference implementation. By default as few nodes as have every
kind of value of every attribute and input.
standard_test.py [--budget N] [--programs N] [--seed S] [--only OPERATOR...] [--table FILE]; --table writes what was compared."""

import argparse
import collections
import json
import pathlib
import re
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from binary import ROOT

try:
    import numpy as np
    import onnx
    from onnx.backend.test.loader import load_node_model_tests

    import operator_cases
    import standard
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

MIN_PUBLISHED = 695  # of onnx's cases that definitions cover
# Names in the code that are operators but whose nodes it only copies or finds.
NOT_COMPUTED = set("Bernoulli Constant GRU If LSTM Loop Multinomial RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike Scan TopK".split())


def few_cases(seed):
    """The first cases of each operator that have a version, an element type or a kind of value that those before do not."""
    seen = collections.defaultdict(set)
    for case in operator_cases.all_cases(seed, budget=0):
        aspects = {("since", case.schema.since), ("type", case.element), ("outputs", case.outputs), ("scale", case.given["scale"])}
        aspects |= {(*each, each[0] in case.schema.attributes) for each in case.kinds()}
        if not aspects <= seen[case.key]:
            seen[case.key] |= aspects
            yield case


def is_evaluated(case):
    """Definitions speak of real numbers and of sizes from 1."""
    return case.given["scale"] != "special" and all(0 not in each for each in case.data if isinstance(each, tuple))


def named_operators():
    """The operators that the code or a mapping names, because it computes them."""
    found = set()
    for source in sorted((ROOT / "optimize" / "onnx").rglob("*.cc")):
        found |= set(re.findall(r'"([A-Z][A-Za-z0-9]+)"', source.read_text(encoding="utf-8")))
    for source in sorted((ROOT / "data" / "operators").glob("*.op")):
        for name, rest in re.findall(r"^ *onnx (\w+)(.*)$", source.read_text(encoding="utf-8"), re.MULTILINE):
            found.add(f"com.microsoft.{name}" if "com.microsoft" in rest else name)
    return (found & set(operator_cases.schemas())) - NOT_COMPUTED


def published_cases():
    """The cases of the onnx package with tensors only."""
    np.random.seed(0)
    is_tensor = lambda value: isinstance(value, (np.ndarray, np.generic, onnx.TensorProto))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [case for case in load_node_model_tests() if all(map(is_tensor, [*case.data_sets[0][0], *case.data_sets[0][1]]))]
    return [standard.Published(case, f"p{k}_") for k, case in enumerate(found) if any(not each.domain for each in case.model.opset_import)]


def compare(comparison, arguments):
    drawn = list(operator_cases.all_cases(arguments.seed, arguments.budget,
                                          arguments.only) if arguments.budget or arguments.only else few_cases(arguments.seed))
    run = [case for case in drawn if case.opset >= operator_cases.FIRST_OPSET]
    items = [standard.Constants(case, f"c{k}_") for k, case in enumerate(run)]
    items += [standard.Open(case, f"n{k}_") for k, case in enumerate(run) if case.data]
    items += [standard.Sizes(seed, f"s{seed}_") for seed in range(arguments.seed, arguments.seed + arguments.programs)]
    published = [] if arguments.only else published_cases()
    comparison.clean_up(items + [item for item in published if item.opset >= operator_cases.FIRST_OPSET])
    comparison.define([standard.Constants(case, "") for case in drawn if is_evaluated(case)] + published)
    return len(drawn)


def uncompared(comparison):
    """Operators that the code or a mapping names and that no case compared."""
    compared = {name for (name, _), counts in comparison.table.items() if set(counts) & {"folded", "defined", "changed, the same bits"}}
    return named_operators() - compared


def write_table(comparison, path):
    lines = []
    for (name, since), counts in sorted(comparison.table.items()):
        kinds = collections.defaultdict(list)
        for attribute, kind in sorted(comparison.kinds[name, since]):
            kinds[attribute].append(kind)
        lines.append(json.dumps({"operator": name, "since": since, **dict(sorted(counts.items())), "kinds": kinds}))
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=0, help="random cases of each version of an operator, beside all values in turns")
    parser.add_argument("--programs", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="operators")
    parser.add_argument("--table", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rulemill-standard-") as folder:
        comparison = standard.Comparison(pathlib.Path(folder))
        count = compare(comparison, arguments)
    if arguments.table:
        write_table(comparison, arguments.table)
    totals = sum(comparison.table.values(), collections.Counter())
    print(f"{count} nodes, {arguments.programs} programs: {dict(sorted(totals.items()))}; {sum(comparison.faults.values())} faults")
    for group, number in sorted(comparison.faults.items(), key=str):
        print(f"  {number} times {' '.join(map(str, group))}")
    missing = set() if arguments.only else uncompared(comparison)
    if missing:
        print("named and not compared: " + " ".join(sorted(missing)))
    published = comparison.table["onnx's cases", 0]["defined"]
    if not arguments.only and published < MIN_PUBLISHED:
        print(f"definitions cover {published} of onnx's cases, expected at least {MIN_PUBLISHED}")
    return 1 if comparison.faults or missing or (not arguments.only and published < MIN_PUBLISHED) else 0


if __name__ == "__main__":
    sys.exit(main())
