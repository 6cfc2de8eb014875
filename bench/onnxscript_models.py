#!/usr/bin/env python3
"""Applies exported rules to models by onnxscript's rewriter, beside `rulemill optimize`: `onnxscript_models.py RULES.rmdb MODEL.onnx…
[--seconds 4] [--json FILE]`.

For each model: the nodes (without constants) of the model, of onnxscript's result and of rulemill's, how often a rule was applied,
the largest difference of outputs on random inputs, and the median ratio of the model's time in onnxruntime to that of each result, one
thread, in turns. Needs the packages onnxscript and onnxruntime. RULEMILL names the binary.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "models"))
from measure import BINARY, difference, feeds, in_turns, session  # noqa: E402

# In a process of its own, so that its memory is returned.
REWRITE = """
import collections, json, sys, time, onnx, exported
begin, applied = time.monotonic(), collections.Counter()
original = exported.Rule.rewrite
def rewrite(rule, op, **values):
    result = original(rule, op, **values)
    applied[type(rule).__name__] += result is not None
    return result
exported.Rule.rewrite = rewrite
model = onnx.load(sys.argv[1])
begin = time.monotonic()
onnx.save(exported.rewrite_model(model), sys.argv[2])
print(json.dumps({"seconds": time.monotonic() - begin, "applied": applied}))
"""


def nodes(path):
    graph = onnx.load(path, load_external_data=False).graph
    return sum(node.op_type not in ("Constant", "Identity") for node in graph.node)


def measure(model, rules, folder, seconds):
    rewritten, optimized = folder / "onnxscript.onnx", folder / "rulemill.onnx"
    process = subprocess.run([sys.executable, "-c", REWRITE, model, rewritten], capture_output=True, text=True, check=False, cwd=folder)
    if process.returncode != 0:
        sys.exit(f"{model}: {process.stderr}")
    result = {"model": model.stem, **json.loads(process.stdout)}
    begin = time.monotonic()
    process = subprocess.run([BINARY, "optimize", model, "--rules", rules, "--out", optimized, "--no-benchmark", "--progress", "off"],
                             capture_output=True, text=True, check=False)
    if process.returncode != 0:
        sys.exit(f"{model}: {process.stderr}")
    result["rulemill_seconds"] = time.monotonic() - begin
    forms = {"before": model, "onnxscript": rewritten, "rulemill": optimized}
    runners = {name: session(path) for name, path in forms.items()}
    fed = feeds(runners["before"], 0, {})
    reference = runners["before"].run(None, fed)
    times = in_turns(runners, fed, seconds)
    for name, path in forms.items():
        ratios = [before / after for before, after in zip(times["before"], times[name])]
        result[name] = {"nodes": nodes(path), "milliseconds": statistics.median(times[name]), "ratio": statistics.median(ratios),
                        "difference": difference(reference, runners[name].run(None, fed))}
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    results = []
    print("| model | nodes | onnxscript | rulemill | rules applied | s | s | difference | difference | times as fast | times as fast |")
    print("|---" * 11 + "|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        exported = pathlib.Path(folder) / "exported.py"
        subprocess.run([BINARY, "rules", "export", options.rules, exported, "--format", "onnxscript"], check=True, stdout=subprocess.DEVNULL)
        for model in options.models:
            each = measure(model.resolve(), options.rules.resolve(), pathlib.Path(folder), options.seconds)
            results.append(each)
            before, script, ours = each["before"], each["onnxscript"], each["rulemill"]
            print(f"| {each['model']} | {before['nodes']} | {script['nodes']} | {ours['nodes']} | {sum(each['applied'].values())} "
                  f"| {each['seconds']:.0f} | {each['rulemill_seconds']:.0f} | {script['difference']:.0e} | {ours['difference']:.0e} "
                  f"| {script['ratio']:.2f} | {ours['ratio']:.2f} |", flush=True)
            if options.json:
                options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
