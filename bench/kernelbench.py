#!/usr/bin/env python3
"""Compares what PyTorch's two exporters to ONNX make of the reference modules of KernelBench:

    bench/kernelbench.py KERNELBENCH/KernelBench --models FOLDER [--levels 1 2 3] [--only TEXT] [--json FILE]

KERNELBENCH is a clone of its repository. Each module has the numbers that its file states at module level, those above a limit divided by 2 until
they are not: the limit is the first of 8, 16, 32 and so on with which the module runs. Models are kept in FOLDER. Prints a line a module, and
counts by verdict and level; `equal` is given --time-limit seconds."""

import argparse
import ast
import collections
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import time
import warnings

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMITS = [8, 16, 32, 64, 128, 256, 1 << 30]
EXPORTERS = {"script": False, "dynamo": True}


class Smaller(ast.NodeTransformer):
    """Divides the numbers that a module's file assigns at module level until they are at most `limit`."""

    def __init__(self, limit):
        self.limit = limit

    def visit_FunctionDef(self, node):
        return node

    visit_ClassDef = visit_FunctionDef

    def visit_Assign(self, node):
        try:
            value = eval(compile(ast.Expression(node.value), "", "eval"), {"__builtins__": {}})  # noqa: S307
        except Exception:  # noqa: BLE001 (it names something else)
            return node
        node.value = ast.copy_location(ast.parse(repr(self.smaller(value)), mode="eval").body, node.value)
        return node

    def smaller(self, value):
        if isinstance(value, (tuple, list)):
            return type(value)(map(self.smaller, value))
        while type(value) is int and value > self.limit:
            value //= 2
        return value


def module_of(path, limit):
    """The module in inference mode, and its arguments."""
    tree = ast.fix_missing_locations(Smaller(limit).visit(ast.parse(path.read_text(encoding="utf-8"))))
    names = {"__name__": path.stem}
    torch.manual_seed(0)
    exec(compile(tree, str(path), "exec"), names)  # noqa: S102
    with torch.no_grad():
        model = names["Model"](*names["get_init_inputs"]()).eval()
        arguments = names["get_inputs"]()
        for tensor in (*model.parameters(), *model.buffers()):  # as trained ones: no biases at 0, no scales at 1
            if tensor.is_floating_point():
                tensor.add_(0.01 * torch.rand_like(tensor))
        result = model(*arguments)
    tensors = tensors_of([*arguments, *(result if isinstance(result, tuple) else (result,))])
    if any(0 in tensor.shape for tensor in tensors) or not any(tensor.numel() > 1 for tensor in tensors):
        raise ValueError("a size is 0")
    return Bound(model, arguments), tensors_of(arguments)


def smallest(path):
    """The limit of numbers with which the module runs first, the module, and its arguments. Raises ValueError if it runs with none."""
    why = ""
    for limit in LIMITS:
        try:
            return (limit, *module_of(path, limit))
        except Exception as error:  # noqa: BLE001 (whatever the module raises)
            why = f"{type(error).__name__}: {error}".split("\n")[0]
    raise ValueError(f"does not run: {why}")


class Bound(torch.nn.Module):
    """A module of the tensors among its arguments; the others are constants."""

    def __init__(self, module, arguments):
        super().__init__()
        self.module, self.arguments = module, [None if isinstance(each, torch.Tensor) else each for each in arguments]

    def forward(self, *tensors):
        given = iter(tensors)
        return self.module(*(next(given) if each is None else each for each in self.arguments))


def tensors_of(values):
    return [each for each in values if isinstance(each, torch.Tensor)]


def export(path, folder):
    """Exports the module by both exporters. Returns the limit of its numbers, or why it was not exported."""
    warnings.simplefilter("ignore")
    try:
        limit, model, arguments = smallest(path)
    except ValueError as error:
        return str(error)
    for exporter, dynamo in EXPORTERS.items():
        try:
            torch.onnx.export(model, tuple(arguments), folder / f"{path.stem}.{exporter}.onnx", dynamo=dynamo, verbose=False,
                              external_data=False, **({} if dynamo else {"opset_version": 17}))
        except Exception as error:  # noqa: BLE001
            return f"{exporter}: {type(error).__name__}: {str(error).strip()}".split("\n")[0][:120]
    return limit


def compare(path, folder, options):
    report = folder / f"{path.stem}.json"
    begin = time.monotonic()
    process = subprocess.run(
        ["timeout", "-s", "KILL", str(options.time_limit * 3), options.binary, "equal", folder / f"{path.stem}.script.onnx",
         folder / f"{path.stem}.dynamo.onnx", "--time-limit", str(options.time_limit), "--json", report], capture_output=True, text=True)
    seconds = time.monotonic() - begin
    if process.returncode not in (0, 1):
        return {"verdict": "failed", "why": process.stderr.strip().split("\n")[-1], "seconds": seconds}
    found = json.loads(report.read_text())
    verdict = found["verdict"] + (", but for rounding of constants" if "rounded_constants" in found else "")
    return {"verdict": verdict, "why": process.stdout.strip(), "seconds": seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", default="")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/rulemill")
    parser.add_argument("--time-limit", type=int, default=60)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if not (options.folder / "level1").is_dir():
        parser.error(f"{options.folder}: expected the folder with level1")
    results = []
    for level in options.levels:
        models = options.models / f"level{level}"
        models.mkdir(parents=True, exist_ok=True)
        for path in sorted(options.folder.glob(f"level{level}/*.py"), key=lambda each: int(each.stem.split("_")[0])):
            if options.only not in path.stem:
                continue
            if all((models / f"{path.stem}.{exporter}.onnx").is_file() for exporter in EXPORTERS):
                exported = 0
            else:
                with concurrent.futures.ProcessPoolExecutor(1) as process:  # exporters keep what they have made
                    try:
                        exported = process.submit(export, path, models).result()
                    except concurrent.futures.process.BrokenProcessPool:
                        exported = "the exporter ended early"
            found = {"verdict": "not exported", "why": exported, "seconds": 0} if isinstance(exported, str) else compare(path, models, options)
            results.append({"level": level, "module": path.stem, **found})
            print(level, path.stem, found["verdict"], f"{found['seconds']:.1f} s",
                  "" if found["verdict"] == "equal" else found["why"].replace("\n", "; ")[:300], sep="\t", flush=True)
    counts = collections.Counter((each["level"], each["verdict"]) for each in results)
    for (level, verdict), count in sorted(counts.items()):
        print(f"level {level}: {verdict}: {count}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
