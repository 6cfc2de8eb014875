#!/usr/bin/env python3
"""What `rulemill equal` shows of pairs of models, and what its proofs show of edited ones:

    bench/equal_pairs.py FOLDER [--edits 1000] [--seed 1] [--models MODEL.onnx...]

FOLDER has NAME.a.onnx and NAME.b.onnx; a model of --models and the result of `rulemill optimize` are a pair, too. Prints a row for each
pair: verdict, seconds, bytes of the proof, seconds to check it. Then one edit after another is made in a second model whose proof was
accepted: a number of an attribute or of a constant, an operator, an operand; its digest in the proof is changed, too, so that nothing but the
steps can tell. Exit code 1 if `check` accepts a model whose outputs differ from the first one's in onnxruntime. RULEMILL names the binary."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys

import numpy
import onnx
import onnxruntime
import xxhash

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ.get("RULEMILL", str(ROOT / "build" / "release" / "rulemill"))
OTHERS = [{"Add", "Sub", "Mul", "Div", "Max", "Min"}, {"Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Exp", "Erf", "Sqrt", "Identity"},
          {"ReduceSum", "ReduceMean", "ReduceMax"}, {"MaxPool", "AveragePool"}]
TYPES = {1: numpy.float32, 7: numpy.int64, 6: numpy.int32, 9: numpy.bool_}


def run(*arguments, timeout=120):
    """Returns exit code, what was printed, and seconds of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.run(["timeout", str(timeout), BINARY, *map(str, arguments)], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process.returncode, process.stdout + process.stderr, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(name, folder):
    """Prints the row of a pair. Returns its seconds, and whether it has a proof that is accepted."""
    before, after, proof, report = (folder / f"{name}.{ending}" for ending in ("a.onnx", "b.onnx", "proof", "json"))
    proof.unlink(missing_ok=True)
    code, printed, seconds = run("equal", before, after, "--time-limit", 60, "--proof", proof, "--json", report)
    if code not in (0, 1):
        print(f"| {name} | {printed.strip().splitlines()[-1]} | | | |", flush=True)
        return None, False
    found = json.loads(report.read_text(encoding="utf-8"))
    verdict = found["verdict"] + (", but for rounding of constants" if "rounded_constants" in found else "")
    checked = run("check", before, after, "--proof", proof) if proof.exists() else None
    sizes = f"{proof.stat().st_size} | {checked[2]:.2f}" if checked and checked[0] == 0 else "|"
    print(f"| {name} | {verdict} | {seconds:.1f} | {sizes} |", flush=True)
    return seconds, checked is not None and checked[0] == 0


def optimized(path, folder):
    """Writes a model and its result as a pair. Returns its name; None if nothing was found."""
    after = folder / f"{path.stem}.b.onnx"
    (folder / f"{path.stem}.a.onnx").write_bytes(path.read_bytes())
    return path.stem if run("optimize", path, "--no-benchmark", "--out", after)[0] == 0 and after.exists() else None


def edit(model, draw):
    """Makes one edit in place. Returns what it was, or None."""
    graph = model.graph
    node = draw.choice(graph.node)
    kind = draw.choice(["attribute", "constant", "operator", "operand"])
    if kind == "attribute" and node.attribute:
        attribute = draw.choice(node.attribute)
        if attribute.type == onnx.AttributeProto.INT:
            attribute.i += draw.choice([-1, 1])
        elif attribute.type == onnx.AttributeProto.FLOAT:
            attribute.f = attribute.f * 1.5 + 0.25
        elif attribute.type == onnx.AttributeProto.INTS and attribute.ints:
            values = list(attribute.ints)
            values[draw.randrange(len(values))] += draw.choice([-1, 1])
            attribute.ints[:] = draw.choice([values, draw.sample(list(attribute.ints), len(values))])
        else:
            return None
        return f"{node.op_type} {attribute.name}"
    if kind == "constant" and graph.initializer:
        tensor = draw.choice(graph.initializer)
        values = onnx.numpy_helper.to_array(tensor).copy()
        if values.size == 0 or values.dtype not in (numpy.float32, numpy.int64):
            return None
        place = draw.randrange(values.size)
        values.flat[place] += draw.choice([-1, 1]) if values.dtype == numpy.int64 else draw.choice([1e-3, 0.1]) * (1 + abs(values.flat[place]))
        tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
        return f"an element of {tensor.name}"
    others = [each - {node.op_type} for each in OTHERS if node.op_type in each]
    if kind == "operator" and others:
        before, node.op_type = node.op_type, draw.choice(sorted(others[0]))
        return f"{before} becomes {node.op_type}"
    if kind == "operand" and node.input:
        known = [each.name for each in graph.input] + [each.name for each in graph.initializer]
        for each in graph.node:
            if each is node:
                break
            known += each.output
        place, other = draw.randrange(len(node.input)), draw.choice(known)
        if other == node.input[place]:
            return None
        node.input[place] = other
        return f"{node.op_type} reads {other}"
    return None


def outputs_of(content, inputs):
    """The outputs of a model; None if onnxruntime does not run it."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"]).run(None, inputs)
    except Exception:  # noqa: BLE001 (whatever it raises)
        return None


class Runtime:
    """onnxruntime in a process of its own, which an edited model may end."""

    def __init__(self):
        self.pool, self.crashes = None, 0

    def outputs_of(self, content, inputs):
        self.pool = self.pool or concurrent.futures.ProcessPoolExecutor(1)
        try:
            return self.pool.submit(outputs_of, content, inputs).result()
        except concurrent.futures.process.BrokenProcessPool:
            self.pool, self.crashes = None, self.crashes + 1
            return None


def inputs_of(model, seed):
    """Random inputs; open sizes are 3."""
    draw = numpy.random.default_rng(seed)
    stored = {each.name for each in model.graph.initializer}
    tensors = {}
    for each in model.graph.input:
        if each.name not in stored:
            shape = [dim.dim_value or 3 for dim in each.type.tensor_type.shape.dim]
            tensors[each.name] = draw.uniform(-1, 1, shape).astype(TYPES.get(each.type.tensor_type.elem_type, numpy.float32))
    return tensors


def differs(first, second):
    return len(first) != len(second) or any(
        a.shape != b.shape or a.dtype != b.dtype or
        not numpy.allclose(a, b, rtol=1e-4, atol=1e-5 * max(1, numpy.nanmax(numpy.abs(a), initial=0)), equal_nan=True)
        for a, b in zip(first, second))


def digest(path):
    return b"xxh3-128:" + xxhash.xxh3_128(path.read_bytes()).hexdigest().encode()


def attack(names, folder, count, seed):
    """Edits second models. Returns how many edits changed outputs, and prints those of them that `check` accepted."""
    draw = random.Random(seed)
    runtime = Runtime()
    changed = tried = accepted = 0
    while changed < count and tried < 20 * count:
        tried += 1
        name = draw.choice(names)
        before, after, proof = folder / f"{name}.a.onnx", folder / f"{name}.b.onnx", folder / f"{name}.proof"
        model = onnx.load(after)
        what = edit(model, draw)
        inputs = inputs_of(model, tried)
        found, expected = what and runtime.outputs_of(model.SerializeToString(), inputs), runtime.outputs_of(before.read_bytes(), inputs)
        if found is None or expected is None or not differs(expected, found):
            continue
        changed += 1
        edited, forged = folder / "edited.onnx", folder / "edited.proof"
        edited.write_bytes(model.SerializeToString())
        content = proof.read_bytes().replace(digest(after), digest(edited))
        if content == proof.read_bytes():
            raise SystemExit(f"{proof}: expected the digest of {after}")
        forged.write_bytes(content)
        if run("check", before, edited, "--proof", forged)[0] == 0:
            accepted += 1
            print(f"accepted: {name}: {what}", flush=True)
            edited.rename(folder / f"accepted_{accepted}.onnx")
    print(f"\n{changed} edits that change outputs, in {len(names)} pairs: check accepts {accepted}; models that ended onnxruntime: {runtime.crashes}")
    return accepted


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--edits", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", type=pathlib.Path, nargs="*", default=[])
    options = parser.parse_args()
    if not list(options.folder.glob("*.a.onnx")) and not options.models:
        parser.error(f"{options.folder}: expected a folder with NAME.a.onnx and NAME.b.onnx")
    onnxruntime.set_default_logger_severity(4)
    results = [optimized(path, options.folder) for path in options.models]
    names = sorted({path.name[:-7] for path in options.folder.glob("*.a.onnx")} - {path.stem for path in options.models})
    print("| pair | verdict | s | bytes of the proof | s to check |\n|---|---|---|---|---|")
    rows = {name: compare(name, options.folder) for name in [*names, *filter(None, results)]}
    seconds = [each for each, _ in rows.values() if each is not None]
    print(f"\nseconds: median {statistics.median(seconds):.1f}, largest {max(seconds):.1f}")
    proved = [name for name, (_, is_proved) in rows.items() if is_proved]
    return 1 if options.edits and attack(proved, options.folder, options.edits, options.seed) else 0


if __name__ == "__main__":
    sys.exit(main())
