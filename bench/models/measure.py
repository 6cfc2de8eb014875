#!/usr/bin/env python3
"""Measures `rulemill optimize` on models: `measure.py FOLDER OUT.json [NAME…] [--list FILE] [--by-hand FOLDER] … [-- OPTION…]`.

Optimizes each FOLDER/NAME.onnx (see export.py) with the options after `--`. Then the model, the result, the form written by
hand (by_hand.py) and the results of other optimizers (peers.py) run in onnxruntime in turns (turns.py), with one thread, and times
are processor time of the thread. With `--threads 2` the models and results that `--keep` kept run with two threads, and times are
the clock's, which needs a machine without other load. Ratios are medians over rounds of the model's time divided by the form's in
the same round, with quartiles. A result that is slower than the model is timed again. With `--proofs`, `optimize` also writes a proof,
which `check` follows. Prints a table (table.py) and writes each row to the JSON at once. A model with a row in the JSON is skipped, so that the same command continues an interrupted run.
RULEMILL names the binary.
"""

import argparse
import concurrent.futures
import contextlib
import filecmp
import importlib.metadata
import json
import math
import multiprocessing
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

import peers
import table
import turns
import wheels

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("RULEMILL", str(ROOT / "build" / "release" / "rulemill"))


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


def equal_parameters(path):
    """Names the weights whose elements are all equal, such as a bias of zeros: optimizers remove what a trained model needs."""
    found = []
    for tensor in onnx.load(path).graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and math.prod(tensor.dims) > 8:
            values = onnx.numpy_helper.to_array(tensor)
            if (values == values.flat[0]).all():
                found.append(tensor.name)
    return found


def difference(before, after):
    """Returns the maximum difference, relative to the largest absolute value of each output."""
    maximum = 0.0
    for a, b in zip(before, after):
        scale = max(float(np.abs(a).max()), 1e-30)
        maximum = max(maximum, float(np.abs(a.astype(np.float64) - b).max()) / scale)
    return maximum


def optimize(model, out, options, limit=1800):
    """Runs rulemill; returns its report, the elapsed seconds and the processor's. The report lies beside the result."""
    report = out.with_suffix(".json")
    environment = {"RULEMILL_PYTHON": sys.executable, **os.environ}
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.run([BINARY, "optimize", str(model), "--out", str(out), "--json", str(report), *options], timeout=limit,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode != 0:
        raise RuntimeError(process.stderr.strip() or f"rulemill ended with {process.returncode}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(report.read_text()), time.perf_counter() - start, processor


def float64_errors(report):
    """Returns the maximum errors of model and result against float64, by onnxruntime if it has them, else by the definitions."""
    verifiers = [each for each in report["verification"]["verifiers"] if each["reference"]]
    return [verifiers[-1]["error_before"], verifiers[-1]["error_after"]] if verifiers else None


def facts_of(report):
    """Returns what tables of trained models have of a report."""
    if "cost_seconds" not in report:
        return {}
    nodes = report["onnx_nodes"]["before"]
    costs, verifiers = report["cost_seconds"], report["verification"]["verifiers"]
    return {"nodes": nodes, "gain": costs["before"] / costs["after"] if costs["after"] else 1,
            "found_gain": costs["before"] / costs["cheapest_found"] if costs["cheapest_found"] else 1,
            "opaque": {each["op_type"]: [each["nodes"], each["reason"]] for each in report.get("opaque", [])},
            "verified": {each["verifier"].split()[0]: each["reason"] or each["verdict"] for each in verifiers},
            "skipped": report["verification"]["onnxruntime_skipped_reason"], "cleaned": report["clean_up"]["comparison"]}


def covered(model, report):
    """Returns the shares of the model's float nodes and of their arithmetic that definitions cover."""
    subprocess.run([BINARY, "info", model, "--json", report], stdout=subprocess.DEVNULL, check=True)
    found = json.loads(report.read_text())
    return [found["covered"][key] / found["all"][key] if found["all"][key] else 0 for key in ("nodes", "flops")]


def followed(model, out, proof):
    """Returns what `check` says of a proof, and its seconds of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.run([BINARY, "check", model, out, "--proof", proof], text=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = "" if process.returncode == 0 else (process.stderr.strip().splitlines() or ["failed"])[-1]
    return {"refused": said, "check_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def optimized(model, folder, options):
    """Returns the result in `folder` and the facts of the command, which are kept for the next call."""
    out, facts = folder / "rulemill.onnx", folder / "facts.json"
    if facts.exists() and out.exists():
        return out, json.loads(facts.read_text())
    load = os.getloadavg()[0]
    report, seconds, processor = optimize(model, out, options)
    if report.get("proof", {}).get("bytes"):
        report["proof"].update(followed(model, out, folder / "rulemill.proof"))
    found = {"changed": report["changed"], "seconds": seconds, "processor_seconds": processor, "peak_bytes": report["peak_bytes"],
             "search_seconds": report["search"]["seconds"], "exhausted": report["search"]["exhausted"], "load": load,
             "warning": report["warning"], "float64": float64_errors(report),
             "fired": {each["rule"]: each["times"] for each in report["fired"]},
             "rules": {each["rule"]: each["text"] for each in report["fired"]}, "proof": report.get("proof"), **facts_of(report),
             "covered": covered(model, folder / "info.json") if "onnx_nodes" in report else None}
    if filecmp.cmp(model, out, shallow=False):  # saves the space of a copy
        out.unlink()
        out.symlink_to(model.resolve())
    write(facts, found)
    return out, found


def by_peers(model, folder, settings):
    """Returns the results of other optimizers, and why some have none."""
    forms, failures = {}, {}
    for peer in peers.OPTIMIZERS:
        if peer == "transformers" and not settings:
            continue
        path = folder / f"{peer}.onnx"
        try:
            if not path.exists():
                new = path.with_suffix(".new.onnx")  # an interrupted call leaves no half of a file
                peers.run(peer, model, new, settings if peer == "transformers" else ())
                new.replace(path)
            turns.session(path)
            forms[peer] = path
        except Exception as error:
            failures[peer] = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    return forms, failures


def timed(forms, fed, given, seconds):
    """Returns sessions and times. Equal sessions differ by up to 2%, so that half of the rounds run with new ones, made in reverse."""
    times, before = {form: [] for form in forms}, os.getloadavg()[0]
    for order in (list(forms), list(forms)[::-1]):
        runners = {}  # frees the sessions before
        runners.update((form, turns.session(forms[form], given.threads)) for form in order)
        clock = time.thread_time if given.threads == 1 else time.perf_counter
        found = turns.in_turns({form: runners[form] for form in forms}, fed, seconds / 2, clock)
        for form in forms:
            times[form] += found[form]
    return runners, {"rounds": len(times["model"]), "load": [before, os.getloadavg()[0]], "forms": turns.compared(times)}


def measure(name, given, folder, settings=()):
    """Returns what was measured of a model; `folder` is for the results of all optimizers."""
    model = given.folder / f"{stem(name)}.onnx"
    options = given.options + (["--proof", str(folder / "rulemill.proof")] if given.proofs else [])
    runner = turns.session(model)
    fed = None
    if wheels.is_name(name):
        fed = wheels.inputs(settings, runner)
        np.savez(folder / "inputs.npz", **fed)
        options += ["--inputs", str(folder / "inputs.npz")]
    out, result = optimized(model, folder, options)
    forms = {"model": model, "rulemill": out}
    by_hand = given.by_hand / f"{stem(name)}.onnx" if given.by_hand else None
    if by_hand and by_hand.exists():
        forms["by hand"] = by_hand
    failures = {}
    if not given.alone:
        made, failures = by_peers(model, folder, settings)
        forms.update(made)
    fed = fed or turns.feeds(runner, 0, turns.input_shapes(given.like / f"{stem(name)}.onnx") if given.like else {})
    runners, found = timed(forms, fed, given, given.seconds)
    if found["forms"]["rulemill"]["ratio"] < table.SLOWER:
        found["again"] = timed({"model": model, "rulemill": out}, fed, given, given.seconds)[1]
    if given.threads != 1:
        return {f"threads_{given.threads}": found}
    reference = runner.run(None, fed)
    for form, path in forms.items():
        found["forms"][form]["nodes"] = len(onnx.load(path, load_external_data=False).graph.node)
        found["forms"][form]["difference"] = difference(reference, runners[form].run(None, fed))
        if form not in peers.OPTIMIZERS:
            found["forms"][form]["multiply_adds"] = multiply_adds(path, fed)
            found["forms"][form]["products"] = turns.share_of_products(path, fed)
    again = optimize(out, folder / "again.onnx", given.options)[0]["changed"] if given.again else None
    return {**result, "again": again, "rounds": found["rounds"], "load": [result["load"], *found["load"]], "forms": found["forms"],
            "repeated": found.get("again"), "failures": failures, "seconds_of_turns": given.seconds,
            "equal_parameters": equal_parameters(model)}


def make(tool, name, folder):
    """Writes FOLDER/NAME.onnx by export.py or by_hand.py, unless it is there; a failed or interrupted call leaves no file."""
    path = folder / f"{stem(name)}.onnx"
    if path.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    if wheels.is_name(name):
        wheels.make(name, path)
        return
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        process = subprocess.run([sys.executable, str(ROOT / "bench/models" / tool), temporary, name], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        new = pathlib.Path(temporary) / path.name
        if process.returncode != 0 or not new.exists():
            lines = process.stdout.strip().splitlines()
            raise RuntimeError("; ".join([line for line in lines if "not exported" in line] or lines[-1:])[:300])
        new.replace(path)


def row_of(name, given, facts):
    """Measures a model in the calling process; files of other optimizers are deleted afterwards."""
    not_made = {}
    if given.list:
        make("export.py", name, given.folder)
        if given.by_hand and facts.get("by hand"):
            try:
                make("by_hand.py", name, given.by_hand)
            except RuntimeError as error:
                not_made["by hand"] = str(error)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep / stem(name) if given.keep else pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            found = measure(name, given, folder, facts.get("settings", ()))
            return {**found, "failures": {**found["failures"], **not_made}} if "failures" in found else found
        finally:
            for peer in peers.OPTIMIZERS:
                if not given.keep_peers:
                    (folder / f"{peer}.onnx").unlink(missing_ok=True)


def apart(name, given, facts):
    """Measures a model in a new process, so that an error or a signal is a row with a reason."""
    try:
        with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            return process.submit(row_of, name, given, facts).result()
    except Exception as error:
        return {"failure": (str(error).strip() or type(error).__name__)[:300]}


def write(path, content):
    """Replaces the file at once, so that an interrupted run leaves the previous one."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(json.dumps(content, indent=1) + "\n")
    temporary.replace(path)


def stem(name):
    """The name of a model's files, as in export.py."""
    return wheels.stem(name) if wheels.is_name(name) else name.removeprefix("timm:").partition("@")[0]


def listed(path, by_hand):
    """Returns the facts of each model of a list such as popular.txt, by name. `by_hand`: whether forms by hand are measured."""
    result = {}
    command = [sys.executable, str(ROOT / "bench/models/by_hand.py"), "--list"]
    known = subprocess.run(command, text=True, check=True, stdout=subprocess.PIPE).stdout.split() if by_hand else []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, *columns = re.split(r"\s{2,}", line.strip())
        if len(columns) not in (2, 3) or columns[1] not in ("inference", "training"):
            sys.exit(f"{path}:{number}: expected NAME, KIND, inference or training, and settings, separated by two spaces")
        result[name] = {"kind": columns[0], "form": columns[1], "settings": columns[2].split() if len(columns) == 3 else [],
                        "by hand": name in known or name.startswith("timm:") and columns[1] == "training"}
    return result


def versions():
    found = {}
    for package in ("onnx", "onnxslim", "onnxsim", "onnxscript", "onnxoptimizer", "torch", "timm", "transformers"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def is_done(row, given):
    if "failure" in row:
        return not given.retry
    return given.threads == 1 or f"threads_{given.threads}" in row


def measure_all(models, given):
    """Measures the models that the JSON does not have yet, and writes each row at once."""
    content = json.loads(given.json.read_text()) if given.json.exists() else {}
    content.update({"onnxruntime": onnxruntime.__version__, "versions": versions(), "date": time.strftime("%Y-%m-%d")})
    rows = {row["model"]: row for row in content.get("results", [])}
    for name, facts in models.items():
        if name in rows and is_done(rows[name], given) or given.threads != 1 and "forms" not in rows.get(name, {}):
            continue
        if given.keep and shutil.disk_usage(given.folder).free < given.free * 1e9:
            sys.exit(f"{given.folder}: less than {given.free:g} GB are free; make space and repeat the command, which continues")
        found = apart(name, given, facts)
        if given.threads == 1 or "failure" not in found:
            rows[name] = {"model": name, "kind": facts.get("kind"), "form": facts.get("form"),
                          **(rows.get(name, {}) if given.threads != 1 else {}), **found}
        content["results"] = list(rows.values())
        write(given.json, content)
        print(table.line(table.cells({**rows[name], **found})), flush=True)
    return content


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--by-hand", type=pathlib.Path)
    parser.add_argument("--like", type=pathlib.Path, help="folder of the same models with static shapes")
    parser.add_argument("--list", type=pathlib.Path, help="models, such as popular.txt; those that FOLDER lacks are exported")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for rulemill's results, which the next call uses")
    parser.add_argument("--keep-peers", action="store_true", help="keep the results of other optimizers there, too")
    parser.add_argument("--free", type=float, default=4, help="with --keep: end when fewer GB are free")
    parser.add_argument("--threads", type=int, default=1, help="more than 1: time of the clock, added to the rows of the JSON")
    parser.add_argument("--alone", action="store_true", help="skip other optimizers")
    parser.add_argument("--proofs", action="store_true", help="write proofs that the results equal the models, and follow them")
    parser.add_argument("--again", action="store_true", help="optimize each result again")
    parser.add_argument("--retry", action="store_true", help="measure the models that failed before")
    parser.add_argument("--seconds", type=float, default=10, help="duration of running the forms of one model in turns")
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_intermixed_args(arguments[:cut])
    given.options = arguments[cut + 1:]
    if not shutil.which(BINARY):  # otherwise each model would have a row that says so
        sys.exit(f"{BINARY}: no such program; build it (scripts/build.sh release rulemill) or set RULEMILL")
    if given.list:
        models = listed(given.list, given.by_hand)
        if unknown := [name for name in given.names if name not in models]:
            sys.exit(f"{given.list}: no such model: {', '.join(unknown)}")
        models = {name: models[name] for name in given.names or models}
    else:
        models = {name: {} for name in given.names or sorted(path.stem for path in given.folder.glob("*.onnx"))}
    table.print_head()
    table.summarize(measure_all(models, given)["results"])


if __name__ == "__main__":
    main()
