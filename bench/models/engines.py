#!/usr/bin/env python3
"""Runs models in other engines beside rulemill: `engines.py FOLDER OUT.json NAME…`.

Exports each model (export.py: weights like trained ones) to FOLDER, unless it is there, and runs these forms of it in turns, with one
thread; times are processor time of the process, and ratios those of the same round (turns.py). `torch.compile` has weights as
constants (freezing). onnxruntime.transformers needs the type, heads and width of popular.txt. `rulemill` is `optimize` with its
defaults, in onnxruntime and in OpenVINO. A model with a row in the JSON is skipped. Prints a table.
`engines.py --table OUT.json` prints it again.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

import onnxruntime

import measure
import peers
import turns
from table import effect, factor

sys.path.append(str(measure.ROOT / "python" / "onnxruntime_helpers"))
BASE = "onnxruntime"
FORMS = (BASE, "onnxruntime.transformers", "rulemill", "OpenVINO", "rulemill, OpenVINO", "torch", "torch.compile")
SECONDS, MAX_DIFFERENCE = 40, 1e-3


class Torch:
    """A module with the method of an onnxruntime session that turns.py uses."""

    def __init__(self, model, compiled):
        import torch

        self.torch = torch
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)  # as turns.session
        self.model = torch.compile(model, options={"freezing": True}) if compiled else model

    def run(self, _, feeds):
        with self.torch.no_grad():
            result = self.model(*(self.torch.from_numpy(value) for value in feeds.values()))
        return [(result if isinstance(result, self.torch.Tensor) else result[0]).numpy()]


def torch_model(name):
    import torch

    import export
    from builders import randomize

    torch.manual_seed(0)
    model = export.model_of(name)()[0].eval()
    with torch.no_grad():
        randomize(model)
    return model


def runners_of(name, folder, settings):
    """Returns the forms of a model that could be made, seconds to make each, and why others could not."""
    from runtimes import OpenvinoSession

    path, folder = folder / f"{name}.onnx", folder / name
    folder.mkdir(exist_ok=True)
    fused, out = folder / "transformers.onnx", folder / "rulemill.onnx"

    def with_transformers():
        if not settings:
            raise RuntimeError("knows no such model")
        peers.run("transformers", path, fused, settings)
        return turns.session(fused)

    def with_rulemill():
        if not out.exists():
            measure.optimize(path, out, [])
        return turns.session(out)

    makers = {BASE: lambda: turns.session(path), "onnxruntime.transformers": with_transformers, "rulemill": with_rulemill,
              "OpenVINO": lambda: OpenvinoSession(str(path), 1), "rulemill, OpenVINO": lambda: OpenvinoSession(str(out), 1),
              "torch": lambda: Torch(torch_model(name), False), "torch.compile": lambda: Torch(torch_model(name), True)}
    runners, seconds, failures, fed = {}, {}, {}, None
    for form in FORMS:
        start = time.perf_counter()
        try:
            runner = makers[form]()
            fed = fed or turns.feeds(runner, 0, {})
            result = runner.run(None, fed)
            reference = result if form == BASE else reference
            difference = measure.difference(reference[:1], result[:1])
            if not difference < MAX_DIFFERENCE:
                raise RuntimeError(f"differs by {difference:.2g}")
            runners[form], seconds[form] = runner, time.perf_counter() - start
        except Exception as error:  # one engine that cannot run a model must not end the others
            failures[form] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            print(f"{name}: {form}: {failures[form]}", file=sys.stderr, flush=True)
    return runners, fed, seconds, failures


def row_of(name, folder, settings):
    measure.make("export.py", name, folder)
    runners, fed, seconds, failures = runners_of(name, folder, settings)
    load = os.getloadavg()[0]
    times = turns.in_turns(runners, fed, SECONDS, time.process_time)
    forms = turns.compared({"model": times[BASE], **times})
    forms.pop("model")
    report = json.loads((folder / name / "rulemill.json").read_text())
    return {"model": name, "changed": report["changed"], "fired": len(report["fired"]), "rounds": len(times[BASE]), "load": [load, os.getloadavg()[0]], "forms": forms, "seconds_to_make": seconds,
            "failures": failures}


def table_of(content):
    lines = ["| model | ms in onnxruntime | " + " | ".join(FORMS[1:]) + " |", "|---" * (len(FORMS) + 1) + "|"]
    for row in content["results"]:
        cells = [factor(row["forms"].get(form)) for form in FORMS[1:]]
        note = "" if effect(row) == "rules" else f", {effect(row)}"
        lines.append(f"| {row['model']}{note} | {row['forms'][BASE]['milliseconds']:.1f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--table":
        return print(table_of(json.loads(pathlib.Path(sys.argv[2]).read_text())))
    if len(sys.argv) < 4:
        sys.exit("usage: engines.py FOLDER OUT.json NAME…")
    folder, out = map(pathlib.Path, sys.argv[1:3])
    known = measure.listed(measure.ROOT / "bench" / "models" / "popular.txt", False)
    content = json.loads(out.read_text()) if out.exists() else {"results": []}
    import openvino

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=measure.ROOT, text=True, stdout=subprocess.PIPE).stdout.strip()
    content.update({"date": time.strftime("%Y-%m-%d"), "commit": commit,
                    "versions": {**measure.versions(), "onnxruntime": onnxruntime.__version__, "openvino": openvino.__version__.partition("-")[0]}})
    for name in sys.argv[3:]:
        if name not in [row["model"] for row in content["results"]]:
            content["results"].append(row_of(name, folder, known[name]["settings"]))
            measure.write(out, content)
    return print(table_of(content))


if __name__ == "__main__":
    main()
