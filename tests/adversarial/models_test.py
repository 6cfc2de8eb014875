#!/usr/bin/env python3
"""Random models in every float type: `rulemill optimize` ends without an error, and its results compute what the models compute.
models_test.py [--rules DATABASE] [--count N] [--seed S] [--keep FOLDER] [--show SEED]; --show prints the model of a seed."""

import argparse
import collections
import concurrent.futures
import json
import multiprocessing
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from binary import ROOT, rulemill

try:
    import onnx

    import model_oracle
    import models
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

TIMEOUT = 120  # seconds for one model, on a busy machine
PLANTED_EVERY = 1  # results with a changed weight, which the oracle must tell from the model
# Every result that the cost model calls cheaper is written. Searches and verifiers are used in turns.
OPTIONS = ("--no-benchmark", "--min-gain", "0")
VARIANTS = ((), ("--verifier", "definitions"), ("--search", "backtrack", "--alpha", "2", "--budget", "30", "--verifier", "definitions"),
            ("--verifier", "definitions"))


class Campaign:
    def __init__(self, rules, folder, keep):
        self.rules, self.folder, self.keep = rules, folder, keep
        self.counts, self.failures = collections.Counter(), []
        self.model, self.result, self.report = (folder / name for name in ("model.onnx", "result.onnx", "report.json"))

    def fail(self, seed, why):
        self.failures.append(seed)
        print(f"seed {seed}: {why}\n  tests/adversarial/models_test.py --show {seed}", flush=True)
        if self.keep:
            for file in (self.model, self.result):
                if file.exists():
                    (self.keep / f"{seed}-{file.name}").write_bytes(file.read_bytes())

    def check(self, seed):
        model, data_type = models.generate(seed)
        onnx.save(model, self.model)
        for file in (self.result, self.report):
            file.unlink(missing_ok=True)
        self.counts["models"] += 1
        self.counts[f"{data_type} models"] += 1
        options = [*OPTIONS, *VARIANTS[seed % len(VARIANTS)], "--rules", self.rules]
        try:
            process = rulemill("optimize", self.model, "--out", self.result, "--json", self.report, *options, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return self.fail(seed, f"more than {TIMEOUT} s")
        if process.returncode != 0:
            return self.fail(seed, f"exit code {process.returncode}: {process.stderr.strip()}")
        report = json.loads(self.report.read_text(encoding="utf-8"))
        if report["warning"]:
            self.counts["rejected results"] += 1
            if self.keep:
                print(f"seed {seed}, {data_type}: {report['warning']}", flush=True)
        if not report["changed"]:
            if self.result.read_bytes() != self.model.read_bytes():
                self.fail(seed, "an unchanged model is not copied")
            return None
        self.counts["changed"] += 1
        self.counts[f"{data_type} changed"] += 1
        for fired in report["fired"]:
            self.counts["rules fired"] += fired["times"]
        fault = self.compare(model, onnx.load(self.result), seed)
        if fault:
            self.fail(seed, fault)
        return None

    def compare(self, model, result, seed):
        """Returns how the result differs, empty if it does not."""
        answer = in_process(compare_models, model, result, seed)
        if answer is None:
            if in_process(compare_models, model, model, seed) is not None:
                return "onnxruntime crashes on the result"
            self.counts["models that crash onnxruntime"] += 1
            return ""
        self.counts.update(answer[0])
        changed = planted_fault(result) if seed % PLANTED_EVERY == 0 else None
        if changed is not None:
            self.counts["planted faults"] += 1
            self.counts["planted faults found"] += bool(in_process(compare_models, model, changed, seed)[1])
        return answer[1]


def planted_fault(result):
    """Returns the result with one of its weights changed; None if it has none."""
    changed = onnx.ModelProto()
    changed.CopyFrom(result)
    for tensor in changed.graph.initializer:
        values = onnx.numpy_helper.to_array(tensor)
        if tensor.data_type in model_oracle.ROUNDOFF and values.any():
            tensor.CopyFrom(onnx.numpy_helper.from_array((values * 1.5).astype(values.dtype), tensor.name))
            return changed
    return None


def in_process(action, *arguments):
    """Returns the result of a function that runs in a process of its own; None if it crashes."""
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        try:
            return pool.submit(action, *arguments).result()
        except concurrent.futures.process.BrokenProcessPool:
            return None


def compare_models(model, result, seed):
    """Returns counts of what was compared, and how the result differs."""
    warnings.simplefilter("ignore")  # of NumPy, about empty tensors
    checked = lambda proto: model_oracle.attempt(onnx.checker.check_model, proto, True)[1]
    if not checked(model) and checked(result):
        return {}, f"the result is invalid: {checked(result)}"
    counts = collections.Counter()
    try:
        model_oracle.Oracle(model, counts).compare(result, seed)
    except model_oracle.Different as error:
        return counts, str(error)
    return counts, ""


def imported_rules(folder):
    """Proves the shipped text of the default rules, which is faster than discovering them."""
    process = rulemill("rules", "import", ROOT / "data" / "rules" / "models.rules", "--out", folder / "rules")
    if process.returncode != 0:
        raise SystemExit(process.stdout + process.stderr)
    return folder / "rules"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no model after so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the models of faults; prints rejected results, too")
    parser.add_argument("--show", type=int)
    arguments = parser.parse_args()
    if arguments.show is not None:
        print(onnx.printer.to_text(models.generate(arguments.show)[0]))
        arguments.seed, arguments.count = arguments.show, 1
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rulemill-models-") as scratch:
        folder = pathlib.Path(scratch)
        campaign = Campaign(arguments.rules or imported_rules(folder), folder, arguments.keep)
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            if time.monotonic() - start > arguments.seconds:
                break
            campaign.check(seed)
    counts, seconds = campaign.counts, time.monotonic() - start
    print(f"random models from seed {arguments.seed}: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) +
          f"; {len(campaign.failures)} faults {campaign.failures}; {seconds:.0f} s")
    enough = counts["changed"] >= counts["models"] // 5 and 0 < counts["planted faults"] <= 2 * counts["planted faults found"]
    enough = enough or arguments.show is not None
    if not enough:
        print("too few models change or planted faults are found for a meaningful test")
    return 1 if campaign.failures or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
