#!/usr/bin/env python3
"""Measures how much time `rulemill optimize --cost cuda` removes from models on this machine's GPU, next to published results:

    bench/gpu_models.py [--rulemill BINARY] [--rules DATABASE] [--rounds N] [--json FILE] MODEL.onnx...

`rulemill gpu time` runs each model and its result in turns, with the same executor and cold caches; times are medians over the
rounds. Exits with 3 if there is no GPU, and with 1 if a model could not be measured."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent
PACKED = HERE / "bin" / "rulemill"
BUILT = HERE / "build" / "cuda" / "rulemill"

# Percent of time removed: equality saturation guided by tree search, and TENSAT, on a P100 (arXiv 2410.05534).
PUBLISHED = {
    "bert": (34, 22), "inception_v3": (19, 18), "nasnet": (23, 18), "nasrnn": (19, 10), "resnext50": (29, 27),
    "squeezenet": (33, 30), "vgg19": (15, 13), "resnet50": (0.8, 0.3), "mobilenetv2": (1.0, -0.7),
}


class Failure(Exception):
    """The last error message of rulemill and its exit code."""

    def __init__(self, process):
        super().__init__((process.stderr.strip().splitlines() or ["no message"])[-1])
        self.code = process.returncode


def report(binary, *arguments):
    """Runs the command; returns its --json report."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.json"
        command = [str(binary), *map(str, arguments), "--json", str(path)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode != 0:
            raise Failure(process)
        return json.loads(path.read_text(encoding="utf-8"))


def measure(binary, rules, model, rounds, folder):
    faster = folder / f"{model.stem}.faster.onnx"
    made = report(binary, "optimize", model, "--cost", "cuda", "--out", faster,
                  *(["--rules", rules] if rules else []))
    times = {model: [], faster: []}
    for number in range(rounds):
        for path in (model, faster) if number % 2 == 0 else (faster, model):
            timed = report(binary, "gpu", "time", path)
            times[path].append(timed["seconds"])
    before, after = statistics.median(times[model]), statistics.median(times[faster])
    return {"model": model.stem, "before": before, "after": after, "percent": 100 * (1 - after / before),
            "device": timed["device"], "versions": timed["versions"], "changed": made["changed"]}


def published(name):
    return next((figures for known, figures in PUBLISHED.items() if name.startswith(known)), ("-", "-"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL.onnx")
    parser.add_argument("--rulemill", type=pathlib.Path, default=PACKED if PACKED.exists() else BUILT)
    parser.add_argument("--rules", type=pathlib.Path, help="default: the default rules")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    try:
        here = report(options.rulemill, "gpu", "time", options.models[0])
    except Failure as failure:
        print(failure, file=sys.stderr)
        return failure.code
    print(f"{here['device']}; {here['versions']}; float32, the model's batch size, cold caches\n")
    print(f"{'model':24} {'before ms':>10} {'after ms':>10} {'removed %':>10} {'guided %':>9} {'TENSAT %':>9}")
    rows, failed = [], False
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            try:
                row = measure(options.rulemill.absolute(), options.rules, model, options.rounds, pathlib.Path(folder))
            except Failure as failure:
                print(f"{model.stem:24} {failure}", flush=True)
                failed = True
                continue
            rows.append(row)
            guided, tensat = published(model.stem)
            print(f"{model.stem:24} {row['before'] * 1e3:10.3f} {row['after'] * 1e3:10.3f} {row['percent']:10.1f} "
                  f"{guided:>9} {tensat:>9}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
