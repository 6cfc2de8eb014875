#!/usr/bin/env python3
"""Reads the reference modules of KernelBench by the definitions (rulemill.torch_program), and compares them with what torch.onnx.export writes:

    bench/torch_reader.py KERNELBENCH/KernelBench [--levels 1 2 3] [--only TEXT] [--seconds 60, or 0 to compare nothing] [--out FILE]

KERNELBENCH is a clone of its repository. Modules are made small as bench/kernelbench.py makes them. Prints a line a module, then the share that is
read by level, the reasons of the others, and how many of those that are read `equal` shows to be equal in so many seconds."""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import torch
from kernelbench import LIMITS, ROOT, module_of

sys.path.insert(0, str(ROOT / "python"))
from rulemill import torch_program  # noqa: E402


def read(path, folder, compares):
    """Writes the module's model, and that of torch's exporter if it is read. Returns the reason if it is not read."""
    why = ""
    for limit in LIMITS:
        try:
            model, arguments = module_of(path, limit)
            break
        except Exception as error:  # noqa: BLE001 (whatever the module raises)
            why = f"does not run: {error}".split("\n")[0]
    else:
        return why
    try:
        program = torch.export.export(model, tuple(arguments), strict=False)
    except Exception as error:  # noqa: BLE001
        return f"torch.export: {error}".split("\n")[0]
    try:
        torch_program.read(program, folder / "read.onnx")
    except torch_program.NotRead as error:
        return error.message
    if compares:
        written = torch.onnx.export(program, dynamo=True, optimize=False, verbose=False).model_proto
        (folder / "exported.onnx").write_bytes(written.SerializeToString())
    return ""


def compare(folder, seconds):
    binary, report = ROOT / "build/release/rulemill", folder / "report.json"
    command = ["timeout", "-s", "KILL", str(seconds), binary, "equal", folder / "read.onnx", folder / "exported.onnx", "--json", report]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode not in (0, 1) or not report.exists():
        return "too long" if process.returncode in (-9, 137) else f"failed: {process.stderr.strip().splitlines()[-1][:200]}"
    return json.loads(report.read_text())["verdict"]


def one(path, seconds):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        why = read(path, folder, seconds > 0)
        return why, "" if why else compare(folder, seconds) if seconds else "read"


def warm_up():
    """Has the exporters load what they need before processes are forked."""
    torch.set_num_threads(1)
    program = torch.export.export(torch.nn.ReLU(), (torch.ones(2, 3),), strict=False)
    with tempfile.TemporaryDirectory() as name:
        torch_program.read(program, pathlib.Path(name) / "read.onnx")
    torch.onnx.export(program, dynamo=True, optimize=False, verbose=False)


def brief(why):
    return re.sub(r" \(\w+\)", "", why).split(", expected")[0][:110]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    warm_up()
    lines, reasons, counts, verdicts = [], collections.Counter(), collections.Counter(), collections.Counter()
    for level in options.levels:
        for path in sorted(options.folder.glob(f"level{level}/*.py"), key=lambda each: int(each.stem.split("_")[0])):
            if options.only not in path.stem:
                continue
            with concurrent.futures.ProcessPoolExecutor(1) as process:  # exporters keep what they have made
                try:
                    why, verdict = process.submit(one, path, options.seconds).result()
                except concurrent.futures.process.BrokenProcessPool:
                    why, verdict = "the process ended early", ""
            counts[level, not why] += 1
            reasons[brief(why)] += bool(why)
            verdicts[verdict] += not why
            lines.append(f"{level}\t{path.stem}\t{verdict or 'not read'}\t{why}")
            print(lines[-1], flush=True)
    for level in options.levels:
        lines.append(f"# level {level}: {counts[level, True]} of {counts[level, True] + counts[level, False]} modules read")
    lines += [f"# {count} not read: {why}" for why, count in reasons.most_common() if count]
    lines.append("# equal to torch.onnx.export's model: " + ", ".join(f"{verdict} {count}" for verdict, count in verdicts.most_common() if count))
    print("\n".join(line for line in lines if line.startswith("#")))
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
