#!/usr/bin/env python3
"""What `rulemill equal` shows of the results of optimizers: `bench/equal_models.py MODEL.onnx… [--json FILE] [--timeout 120]`.

Each model is optimized by onnxsim, onnxslim, onnxscript, onnxruntime (basic and extended level), `rulemill optimize --only-clean` and
`rulemill optimize`, and compared with its result. Prints a Markdown table: verdict and seconds of each. Optimizers that are not
installed are left out, and so are results with operators of domains other than com.microsoft, which have no definitions.
RULEMILL names the binary.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ.get("RULEMILL", str(ROOT / "build" / "release" / "rulemill"))

# In processes of their own, so that a crash or much memory of one does not end the others.
PROGRAMS = {
    "onnxsim": "import onnx, onnxsim; onnx.save(onnxsim.simplify(onnx.load(BEFORE))[0], AFTER)",
    "onnxslim": "import onnx, onnxslim; onnx.save(onnxslim.slim(onnx.load(BEFORE)), AFTER)",
    "onnxscript": "import onnx, onnxscript.optimizer; onnx.save(onnxscript.optimizer.optimize(onnx.load(BEFORE)), AFTER)",
    **{name: "import onnxruntime as o; s = o.SessionOptions(); s.optimized_model_filepath = AFTER; "
             f"s.graph_optimization_level = o.GraphOptimizationLevel.ORT_ENABLE_{level}; "
             "o.InferenceSession(BEFORE, s, providers=['CPUExecutionProvider'])"
       for name, level in (("onnxruntime", "BASIC"), ("onnxruntime, extended", "EXTENDED"))},
}
FOREIGN_DOMAINS = ("import onnx, sys; m = onnx.load(sys.argv[1], load_external_data=False); "
                   "print(', '.join(sorted({n.domain + '.' + n.op_type for n in m.graph.node if n.domain not in ('', 'ai.onnx', 'com.microsoft')})))")
CLEAN, OPTIMIZE = "rulemill, clean", "rulemill"


def command(optimizer, before, after, rules):
    if optimizer in PROGRAMS:
        return [sys.executable, "-c", f"BEFORE, AFTER = {str(before)!r}, {str(after)!r}; {PROGRAMS[optimizer]}"]
    options = ["--only-clean"] if optimizer == CLEAN else ["--no-benchmark", *rules]
    return [BINARY, "optimize", before, "--out", after, *options]


def available():
    installed = [name for name in PROGRAMS
                 if subprocess.run([sys.executable, "-c", f"import {name.split(',')[0]}"], capture_output=True, check=False).returncode == 0]
    return [*installed, CLEAN, OPTIMIZE]


def run(arguments, timeout):
    """Returns the exit code and what was printed; "timeout" if it took longer."""
    try:
        process = subprocess.run(arguments, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return "timeout", ""
    return process.returncode, process.stdout + process.stderr


def compare(before, after, timeout, rules):
    report = after.with_suffix(".json")
    code, printed = run([BINARY, "equal", before, after, *rules, "--json", report], timeout)
    if code == "timeout":
        return {"verdict": "timeout", "seconds": timeout}
    if code not in (0, 1) or not report.exists():
        return {"verdict": "error", "message": printed.strip().splitlines()[-1:], "seconds": 0}
    found = json.loads(report.read_text(encoding="utf-8"))
    report.unlink()
    return {key: found[key] for key in ("verdict", "seconds", "cleaned", "unmatched", "constants", "constant_difference", "evaluation",
                                        "onnxruntime_difference", "open", "refutation") if key in found}


def optimize(optimizer, before, after, rules):
    """Returns why there is no result that could be compared; nothing if there is one."""
    after.parent.mkdir(parents=True, exist_ok=True)
    if not after.exists():
        code, printed = run(command(optimizer, before, after, rules), 600)
        if code != 0 or not after.exists():
            return ["fails", *printed.strip().splitlines()[-1:]]
    foreign = run([sys.executable, "-c", FOREIGN_DOMAINS, after], 600)[1].strip()
    return ["other operators", foreign] if foreign else []


def summarize(optimizer, rows):
    runs = [row[optimizer] for row in rows.values() if "verdict" in row[optimizer]]
    counts = {verdict: sum(run["verdict"] == verdict for run in runs) for verdict in ("equal", "different")}
    seconds = statistics.median(run["seconds"] for run in runs) if runs else 0
    return f"{counts['equal']} of {len(runs)} equal, {counts['different']} different; median {seconds:.1f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--timeout", type=float, default=120, help="seconds of one comparison")
    parser.add_argument("--only", action="append", help="optimizer; may be repeated")
    parser.add_argument("--results", type=pathlib.Path, help="folder of optimized models, used again if they exist")
    parser.add_argument("--rules", type=pathlib.Path, help="rule database; default: the default rules")
    given = parser.parse_args()
    rules = ["--rules", given.rules] if given.rules else []
    optimizers = [name for name in available() if not given.only or name in given.only]
    print("| model | " + " | ".join(optimizers) + " |\n|---" + "|---" * len(optimizers) + "|", flush=True)
    rows = {}
    with tempfile.TemporaryDirectory() as temporary:
        for model in given.models:
            row = rows[model.stem] = {}
            for optimizer in optimizers:
                after = (given.results or pathlib.Path(temporary)) / optimizer / model.name
                missing = optimize(optimizer, model, after, rules)
                row[optimizer] = {"missing": missing} if missing else compare(model, after, given.timeout, rules)
                if not given.results:
                    after.unlink(missing_ok=True)
            cells = [f"{cell['verdict']}, {cell['seconds']:.1f} s" if "verdict" in cell else cell["missing"][0] for cell in row.values()]
            print(f"| {model.stem} | " + " | ".join(cells) + " |", flush=True)
            if given.json:
                given.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print("| all | " + " | ".join(summarize(name, rows) for name in optimizers) + " |")


if __name__ == "__main__":
    main()
