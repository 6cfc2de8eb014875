#!/usr/bin/env python3
"""Measures `rulemill optimize` on models: `measure.py FOLDER OUT.json [NAME…] [--by-hand FOLDER] [--like FOLDER] [-- OPTION…]`.

Optimizes each FOLDER/NAME.onnx (see export.py) with the options after `--`. Then the model, the result, the form written by
hand (by_hand.py) and the results of other optimizers (onnxslim, onnxsim, onnxoptimizer, if installed) run in onnxruntime in
turns, with one thread. Each round begins with another form, so that none runs twice in a row with warm caches. Times are
processor time of the thread. Ratios are medians over rounds of the model's time divided by the form's time in the same round,
with quartiles. `again`: whether optimizing the result changes it once more. Prints a table and how often each rule fired, and
writes everything as JSON. RULEMILL names the binary.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("RULEMILL", str(ROOT / "build" / "release" / "rulemill"))
SLOWER = 0.99  # a ratio below this counts as slower


def multiply_adds(path, fed):
    """Returns the multiply-adds of convolutions and matrix products, with the shapes of a run of the model."""
    model = onnx.load(path)
    names = [name for node in model.graph.node if node.op_type in ("Conv", "MatMul", "Gemm") for name in node.output]
    inputs = {name for node in model.graph.node if node.op_type in ("MatMul", "Gemm") for name in node.input[:1]}
    constants = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
    known = {output.name for output in model.graph.output}
    for name in dict.fromkeys([*names, *inputs]):
        if name not in known and name not in constants:
            model.graph.output.add().name = name
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    runner = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = dict(zip([output.name for output in runner.get_outputs()], runner.run(None, fed)))
    shapes = {**constants, **{name: list(value.shape) for name, value in {**fed, **results}.items()}}
    total = 0
    for node in model.graph.node:
        if node.op_type == "Conv" and node.input[1] in shapes:
            total += math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[1]][1:])
        elif node.op_type in ("MatMul", "Gemm"):
            transposed = any(a.name == "transA" and a.i for a in node.attribute)
            total += math.prod(shapes[node.output[0]]) * shapes[node.input[0]][-2 if transposed else -1]
    return total


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def input_shapes(path):
    return {info.name: info.shape for info in session(path).get_inputs()}


def feeds(runner, seed, shapes):
    """Returns random inputs; dynamic dimensions have the sizes in `shapes`, by input."""
    generator = np.random.default_rng(seed)
    result = {}
    for info in runner.get_inputs():
        assumed = shapes.get(info.name, [1] + [128] * len(info.shape))
        shape = [d if isinstance(d, int) and d > 0 else assumed[axis] for axis, d in enumerate(info.shape)]
        if info.type == "tensor(float)":
            result[info.name] = generator.standard_normal(shape).astype(np.float32)
        else:
            result[info.name] = np.ones(shape, np.int64) if "mask" in info.name else generator.integers(0, 900, shape)
    return result


def difference(before, after):
    """Returns the maximum difference, relative to the largest absolute value of each output."""
    maximum = 0.0
    for a, b in zip(before, after):
        scale = max(float(np.abs(a).max()), 1e-30)
        maximum = max(maximum, float(np.abs(a.astype(np.float64) - b).max()) / scale)
    return maximum


def in_turns(runners, fed, seconds):
    """Runs the forms in turns; returns milliseconds by form and round."""
    times = {name: [] for name in runners}
    for runner in runners.values():
        runner.run(None, fed)
        runner.run(None, fed)
    start = time.perf_counter()
    turn = 0
    while turn < 11 or (time.perf_counter() - start < seconds and turn < 200):
        order = list(runners.items())
        first = turn % len(order)
        for name, runner in order[first:] + order[:first]:
            begin = time.thread_time()
            runner.run(None, fed)
            times[name].append((time.thread_time() - begin) * 1e3)
        turn += 1
    return times


def optimize(model, out, options):
    """Runs rulemill; returns its report and the elapsed seconds."""
    report = out.with_suffix(".json")
    start = time.perf_counter()
    process = subprocess.run([BINARY, "optimize", str(model), "--out", str(out), "--json", str(report), *options],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if process.returncode != 0:
        raise RuntimeError(process.stderr.strip())
    return json.loads(report.read_text()), time.perf_counter() - start


def peers(model, folder):
    """Yields the results of other optimizers by name, without those that fail or are not installed."""
    def slim(path):
        import onnxslim
        onnx.save(onnxslim.slim(onnx.load(model)), path)

    def sim(path):
        import onnxsim
        onnx.save(onnxsim.simplify(onnx.load(model))[0], path)

    def optimizer(path):
        import onnxoptimizer
        onnx.save(onnxoptimizer.optimize(onnx.load(model)), path)

    for name, make in (("onnxslim", slim), ("onnxsim", sim), ("onnxoptimizer", optimizer)):
        path = folder / f"{name}.onnx"
        try:
            make(path)
        except Exception:
            continue
        yield name, path


def float64_errors(report):
    """Returns the maximum errors of model and result against float64, by onnxruntime if it has them, else by the definitions."""
    verifiers = [each for each in report["verification"]["verifiers"] if each["reference"]]
    return [verifiers[-1]["error_before"], verifiers[-1]["error_after"]] if verifiers else None


def measure(name, given, folder):
    model, out = given.folder / f"{name}.onnx", folder / f"{name}.onnx"
    report, seconds = optimize(model, out, given.options)
    again = None if given.alone else optimize(out, folder / "again.onnx", given.options)[0]["changed"]
    forms = {"model": model, "rulemill": out}
    by_hand = given.by_hand / f"{name}.onnx" if given.by_hand else None
    if by_hand and by_hand.exists():
        forms["by hand"] = by_hand
    if not given.alone:
        forms.update(peers(model, folder))
    runners = {form: session(path) for form, path in forms.items()}
    fed = feeds(runners["model"], 0, input_shapes(given.like / f"{name}.onnx") if given.like else {})
    reference = runners["model"].run(None, fed)
    times = in_turns(runners, fed, given.seconds)
    result = {"model": name, "changed": report["changed"], "seconds": seconds, "peak_bytes": report["peak_bytes"],
              "search_seconds": report["search"]["seconds"], "exhausted": report["search"]["exhausted"],
              "warning": report["warning"], "float64": float64_errors(report), "again": again,
              "fired": {each["rule"]: each["times"] for each in report["fired"]},
              "rules": {each["rule"]: each["text"] for each in report["fired"]}, "forms": {}}
    for form, path in forms.items():
        ratios = [a / b for a, b in zip(times["model"], times[form])]
        low, middle, high = statistics.quantiles(ratios, n=4)
        result["forms"][form] = {"milliseconds": statistics.median(times[form]), "ratio": middle, "quartiles": [low, high],
                                 "multiply_adds": multiply_adds(path, fed), "nodes": len(onnx.load(path, load_external_data=False).graph.node),
                                 "difference": difference(reference, runners[form].run(None, fed))}
    return result


def row(result):
    forms = result["forms"]
    ours, model = forms["rulemill"], forms["model"]
    hand = f"{forms['by hand']['ratio']:.3f}" if "by hand" in forms else "-"
    others = " ".join(f"{forms[peer]['ratio']:.2f}" for peer in ("onnxslim", "onnxsim", "onnxoptimizer") if peer in forms) or "-"
    low, high = ours["quartiles"]
    errors = " to ".join(f"{error:.1e}" for error in result["float64"] or []) or "-"
    same = "" if result["changed"] else ", unchanged"
    again = {None: "-", True: "changed", False: "unchanged"}[result["again"]]
    return (f"| {result['model']} | {model['multiply_adds'] / 1e6:.0f} | {ours['multiply_adds'] / 1e6:.0f} | {model['nodes']} | {ours['nodes']} "
            f"| {ours['ratio']:.3f} ({low:.3f}–{high:.3f}{same}) | {hand} | {others} | {result['seconds']:.1f} | {result['peak_bytes'] / 1e6:.0f} "
            f"| {ours['difference']:.0e} | {errors} | {again} |")


HEAD = """| model | M multiply-adds | after | nodes | after | times as fast (quartiles) | by hand | onnxslim, onnxsim, onnxoptimizer | s | MB | difference | error against float64 | again |
|---|---|---|---|---|---|---|---|---|---|---|---|---|"""


def summarize(results):
    measured = [result for result in results if "forms" in result]
    if not measured:
        return
    ratios = {result["model"]: result["forms"]["rulemill"]["ratio"] for result in measured}
    changed = [result["model"] for result in measured if result["changed"]]
    slower = [model for model in changed if ratios[model] < SLOWER]  # an unchanged model differs by noise only
    print(f"\n{len(ratios)} models, {len(changed)} changed, geometric mean {statistics.geometric_mean(ratios.values()):.3f}, slower: {', '.join(slower) or 'none'}")
    fired, models = collections.Counter(), collections.Counter()
    for result in measured:
        fired.update(result["fired"])
        models.update(result["fired"].keys())
    print("\nrules that fired: times, models, rule")
    for rule, times in fired.most_common():
        print(f"{times:6} {models[rule]:4}  {rule}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--by-hand", type=pathlib.Path)
    parser.add_argument("--like", type=pathlib.Path, help="folder of the same models with static shapes, which are used for dynamic dimensions")
    parser.add_argument("--alone", action="store_true", help="skip other optimizers and optimizing the results again")
    parser.add_argument("--seconds", type=float, default=10, help="duration of running the forms of one model in turns")
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_args(arguments[:cut])
    given.options = arguments[cut + 1:]
    results = []
    print(HEAD, flush=True)
    for name in given.names or sorted(path.stem for path in given.folder.glob("*.onnx")):
        with tempfile.TemporaryDirectory() as folder:
            try:
                results.append(measure(name, given, pathlib.Path(folder)))
                print(row(results[-1]), flush=True)
            except Exception as error:
                results.append({"model": name, "failure": str(error)})
                print(f"| {name} | failed: {str(error)[:200]} |", flush=True)
        given.json.write_text(json.dumps({"onnxruntime": onnxruntime.__version__, "results": results}, indent=1) + "\n")
    summarize(results)


if __name__ == "__main__":
    main()
