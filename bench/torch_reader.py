#!/usr/bin/env python3
"""Reads the reference modules of KernelBench by the definitions (rulemill.torch_program), and compares them with what torch.onnx.export writes:

    bench/torch_reader.py KERNELBENCH/KernelBench [--levels 1 2 3] [--only TEXT] [--seconds 60, or 0 to compare nothing] [--rules FILE]
        [--models FOLDER] [--out FILE]

KERNELBENCH is a clone of its repository. Modules are made small as bench/kernelbench.py makes them; models are kept in FOLDER. Prints a line a
module with the processor time of `equal`, then counts by level and the reasons of modules that are not read. `equal` has so many seconds, and each
process 90 s of processor time. The environment variable RULEMILL names another program than that of the build."""

import argparse
import collections
import contextlib
import json
import multiprocessing
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile

import torch
from kernelbench import ROOT, smallest

sys.path.insert(0, str(ROOT / "python"))
from rulemill import program as binary  # noqa: E402
from rulemill import torch_hooks, torch_program  # noqa: E402

#: Seconds of processor time of each process.
LIMIT = 90


def read(path, folder, compares):
    """Writes the module's model, and that of torch's exporter if it is read. Returns the reason if it is not read."""
    try:
        _, model, arguments = smallest(path)
    except ValueError as error:
        return str(error)
    try:
        program = torch.export.export(model, tuple(arguments), strict=False)
    except Exception as error:  # noqa: BLE001
        return f"torch.export: {error}".split("\n")[0]
    try:
        torch_program.read(program, folder / "read.onnx")
    except torch_program.NotRead as error:
        return error.message
    if compares:
        written = exported(program).model_proto
        (folder / "exported.onnx").write_bytes(written.SerializeToString())
    return ""


def exported(program):
    with torch_hooks.registry_made_once():
        return torch.onnx.export(program, dynamo=True, optimize=False, verbose=False)


def compare(folder, options):
    """The verdict of `equal`, why it is not "equal", and seconds."""
    report, words = folder / "report.json", ["--time-limit", str(options.seconds), *(["--rules", options.rules] if options.rules else [])]
    command = [binary.path(), "equal", folder / "read.onnx", folder / "exported.onnx", "--json", report, *words]
    report.unlink(missing_ok=True)
    begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    process = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin
    if process.returncode not in (0, 1) or not report.exists():
        why = f"more than {LIMIT} s" if process.returncode < 0 else process.stderr.strip().splitlines()[-1][:200]
        return "failed", why, seconds
    verdict = json.loads(report.read_text())["verdict"]
    return verdict, "" if verdict == "equal" else process.stdout.strip().replace("\n", "; ")[:300], seconds


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))


def read_in_process(path, folder, compares, results):
    limit()
    results.put(read(path, folder, compares))


def one(path, folder, options):
    """What became of a module: the verdict, why, and the seconds of `equal`."""
    results = multiprocessing.SimpleQueue()
    process = multiprocessing.Process(target=read_in_process, args=(path, folder, options.seconds > 0, results))  # exporters keep what they made
    process.start()
    process.join()
    if results.empty():
        return "not read", f"it ended early, or after {LIMIT} s", 0.0
    why = results.get()
    if why:
        return "not read", why, 0.0
    return compare(folder, options) if options.seconds else ("read", "", 0.0)


def warm_up():
    """Has the exporters load what they need before processes are forked."""
    torch.set_num_threads(1)
    program = torch.export.export(torch.nn.ReLU(), (torch.ones(2, 3),), strict=False)
    with tempfile.TemporaryDirectory() as name:
        torch_program.read(program, pathlib.Path(name) / "read.onnx")
    exported(program)


def brief(why):
    return re.sub(r" \(\w+\)", "", why).split(", expected")[0][:110]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rules")
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    warm_up()
    lines, counts, reasons, times = [], collections.Counter(), collections.Counter(), collections.defaultdict(list)
    for level in options.levels:
        for path in sorted(options.folder.glob(f"level{level}/*.py"), key=lambda each: int(each.stem.split("_")[0])):
            if options.only not in path.stem:
                continue
            with contextlib.nullcontext(options.models) if options.models else tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name) / f"{level}.{path.stem}"
                folder.mkdir(parents=True, exist_ok=True)
                verdict, why, seconds = one(path, folder, options)
            counts[level, verdict] += 1
            reasons[brief(why)] += verdict == "not read"
            times[level].append(seconds)
            lines.append(f"{level}\t{path.stem}\t{verdict}\t{seconds:.1f} s\t{why}")
            print(lines[-1], flush=True)
    for (level, verdict), count in sorted(counts.items()):
        lines.append(f"# level {level}: {verdict}: {count}")
    lines += [f"# level {level}: processor seconds of equal: median {statistics.median(each):.1f}, all {sum(each):.0f}" for level, each in times.items() if each]
    lines += [f"# {count} not read: {why}" for why, count in reasons.most_common() if count]
    print("\n".join(line for line in lines if line.startswith("#")))
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
