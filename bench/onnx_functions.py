#!/usr/bin/env python3
"""What of ONNX's operators with a function body becomes a definition: `onnx_functions.py [--cases N] [--out FILE.md]`.

The test cases of the onnx package have each such operator twice: as a node, and expanded to its function body. `rulemill operators
import` is tried on both, for the first N cases of each operator (default: 4); integers of rank 0 or 1, such as axes, are constants.
The table has the operators, and why not. RULEMILL names the binary."""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile
import warnings

import onnx
from onnx import defs, numpy_helper
from onnx.backend.test.case.node import collect_testcases

HERE = pathlib.Path(__file__).resolve().parent
BINARY = os.environ.get("RULEMILL", str(HERE.parent / "build" / "release" / "rulemill"))


def constant_integers(case):
    """The case's model with its integer inputs as initializers."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    arrays = dict(zip([each.name for each in model.graph.input], case.data_sets[0][0]))
    for given in list(model.graph.input):
        array = arrays.get(given.name)
        if given.type.tensor_type.elem_type == onnx.TensorProto.INT64 and getattr(array, "ndim", 2) < 2:
            model.graph.initializer.append(numpy_helper.from_array(array, given.name))
            model.graph.input.remove(given)
    return model


def attempt(model, folder, name):
    """The definition of a model, and why there is none."""
    path = folder / f"{name}.onnx"
    onnx.save(model, path)
    process = subprocess.run([BINARY, "operators", "import", path, "--name", "imported", "--progress", "off"], capture_output=True,
                             text=True, timeout=600, check=False)
    message = process.stderr.strip().splitlines()[-1] if process.stderr.strip() else ""
    return (process.stdout, "") if process.returncode == 0 else ("", message.removeprefix(f"rulemill: {path}: "))


def chosen_cases(limit):
    """{operator: [(case as a node, case as its body)]} of the newest version of each operator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = {case.name: case for case in collect_testcases(None)}
    found = collections.defaultdict(list)
    for name, case in cases.items():
        form = re.compile(f"{re.escape(name)}_expanded(_ver\\d+)?")
        body = next((cases[each] for each in cases if form.fullmatch(each)), None)
        if body and len(case.model.graph.node) == 1 and len(found[case.model.graph.node[0].op_type]) < limit:
            found[case.model.graph.node[0].op_type].append((case, body))
    return found


def why(message):
    """The reason without names of this case."""
    message = re.sub(r"^node \S* ?\((\w*)\) has no term: ", r"\1: ", message)
    return re.sub(r"the constant \S+", "a constant", message)[:110]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=4)
    parser.add_argument("--out", type=pathlib.Path)
    given = parser.parse_args()
    functions = sorted(schema.name for schema in defs.get_all_schemas() if schema.domain == ""
                       and (schema.has_function or schema.has_context_dependent_function))
    cases = chosen_cases(given.cases)
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(scratch)
        jobs = {(case.name, part): pool.submit(attempt, constant_integers(each), folder, each.name)
                for pairs in cases.values() for case, body in pairs for part, each in (("node", case), ("body", body))}
        results = {key: job.result() for key, job in jobs.items()}
    rows, counts = [], collections.Counter()
    for name in functions:
        pairs = cases.get(name, [])
        known = [case.name for case, _ in pairs if results[case.name, "node"][0]]
        made = [case.name for case, _ in pairs if case.name not in known and results[case.name, "body"][0]]
        reasons = [why(results[case.name, "body"][1]) for case, _ in pairs if case.name not in known + made]
        kind = "no case" if not pairs else "defined" if len(known) == len(pairs) else "becomes a definition" if made else "not"
        counts[kind] += 1
        if kind in ("becomes a definition", "not"):
            rows.append((name, len(pairs), len(known), len(made), "; ".join(dict.fromkeys(reasons))))
    lines = [f"onnx {onnx.__version__}, {len(functions)} operators with a function body, at most {given.cases} cases of each.", "",
             f"All cases are read as nodes, by the definitions that there are: {counts['defined']} operators. Of the others, "
             f"{counts['becomes a definition']} become a definition in at least one case, proved to be their body; {counts['not']} do not; "
             f"{counts['no case']} have no case with one node.", "",
             "| operator | cases | read as a node | body becomes a definition | why others do not |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    text = "\n".join(lines) + "\n"
    print(text)
    if given.out:
        given.out.write_text(f"# Function bodies of ONNX's operators as definitions\n\n`bench/onnx_functions.py`. {text}", encoding="utf-8")


if __name__ == "__main__":
    main()
