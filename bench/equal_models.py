#!/usr/bin/env python3
"""What `rulemill equal` shows of the results of optimizers: `bench/equal_models.py MODEL.onnx… [--json FILE] [--timeout 120]`.

Each model is optimized by onnxsim, onnxslim, onnxscript, onnxruntime (basic and extended level), `rulemill optimize --only-clean` and
`rulemill optimize`, and compared with its result. Prints a Markdown table: verdict and seconds of each. Optimizers that are not
installed are left out, and so are results with operators of domains other than com.microsoft, which have no definitions.
`--proofs` instead proves each model equal to what `rulemill optimize` writes by rules, and follows the proof: a row of each model
with a rule that fired, and seconds of processor time; models with a row in the JSON are skipped. RULEMILL names the binary.
"""

import argparse
import json
import os
import pathlib
import resource
import signal
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


def timed(arguments, limit):
    """Returns the exit code, what was printed and the seconds of processor time; "timeout" if they exceed the limit."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.run(arguments, capture_output=True, text=True, check=False,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit))))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    is_killed = process.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return "timeout" if is_killed else process.returncode, process.stdout + process.stderr, seconds


def optimized(before, after, rules):
    """Returns the number of rule applications that led to the result; 0 if there is none."""
    report = after.with_suffix(".optimize.json")
    if not report.exists():
        after.parent.mkdir(parents=True, exist_ok=True)
        code, _ = run([BINARY, "optimize", before, "--out", after, "--no-benchmark", "--min-gain", "0", "--verify-inputs", "1", *rules,
                       "--json", report], 600)
        if code != 0:
            report.write_text("{}", encoding="utf-8")
    found = json.loads(report.read_text(encoding="utf-8"))
    return sum(rule["times"] for rule in found.get("fired", [])) if found.get("changed") else 0


def prove(before, after, timeout, rules):
    """Returns a row: the proof, or why there is none, and what following it takes."""
    report, proof = after.with_suffix(".json"), after.with_suffix(".proof")
    proof.unlink(missing_ok=True)
    report.unlink(missing_ok=True)
    row = {"model_bytes": before.stat().st_size, "load": os.getloadavg()[0], "rules": optimized(before, after, rules)}
    if not row["rules"]:
        return row
    code, _, row["seconds"] = timed([BINARY, "equal", before, after, *rules, "--proof", proof, "--json", report], timeout)
    if code == "timeout":
        return {**row, "gap": f"not within {timeout:g} s"}
    found = json.loads(report.read_text(encoding="utf-8"))
    row["gap"] = found.get("proof_gap", "") if found["verdict"] == "equal" else found["verdict"]
    if not proof.exists():
        return {**row, "open": found.get("open")}
    code, printed, row["check_seconds"] = timed([BINARY, "check", before, after, "--proof", proof, "--json", report], timeout)
    if code != 0:
        return {**row, "gap": f"refused by check: {code} {printed[-200:]}"}
    steps = json.loads(report.read_text(encoding="utf-8"))["models"]["steps"]
    return {**row, "proof_bytes": proof.stat().st_size, "steps": steps}


def table_of_proofs(given, rules):
    rows = json.loads(given.json.read_text(encoding="utf-8")) if given.json.exists() else {}
    for model in given.models:
        if model.stem not in rows:
            rows[model.stem] = prove(model, given.results / model.name, given.timeout, rules)
            given.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
            print(model.stem, rows[model.stem], file=sys.stderr, flush=True)
    rows = {name: row for name, row in rows.items() if row["rules"]}
    print("| model | KB | rules | proof, or why none | bytes | steps | seconds to make | to check |\n|---" + "|---" * 7 + "|")
    for name, row in sorted(rows.items()):
        cells = [row.get("gap") or "yes", row.get("proof_bytes", ""), row.get("steps", ""),
                 *(f"{row[key]:.2f}" if key in row else "" for key in ("seconds", "check_seconds"))]
        print(f"| {name} | {row['model_bytes'] / 1e3:.0f} | {row['rules']} | " + " | ".join(map(str, cells)) + " |")
    proved = [row for row in rows.values() if "proof_bytes" in row]
    print(f"\n{len(proved)} of {len(rows)} results by rules have a proof; {sum(r['proof_bytes'] < r['model_bytes'] for r in proved)} are smaller than "
          "the model")
    for key, what in (("proof_bytes", "bytes"), ("seconds", "seconds to make"), ("check_seconds", "seconds to check")):
        values = [row[key] for row in proved] or [0]
        print(f"{what}: median {statistics.median(values):.4g}, largest {max(values):.4g}")


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
    parser.add_argument("--proofs", action="store_true", help="proofs of own results; needs --json and --results")
    given = parser.parse_args()
    if missing := [str(model) for model in given.models if not model.is_file()]:
        parser.error(f"{', '.join(missing)}: expected models")
    if given.proofs and not (given.json and given.results):
        parser.error("--proofs needs --json and --results")
    rules = ["--rules", given.rules] if given.rules else []
    if given.proofs:
        return table_of_proofs(given, rules)
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
