#!/usr/bin/env python3
"""Predicts the time of the last level's fingerprints on an H100, step by step, from a run with an emulated GPU:

    rulemill fingerprint --profile P --max-ops 4 --threads 1 --device emulated --out OUT --json report.json
    bench/fingerprint_model.py report.json [--cores 16] [--join SECONDS] [--grow OPERATORS NODES ROWS PRODUCTS BELOW JOIN]

Bytes are sizes of records times their counts, and must equal the bytes that the run counted. Times are bytes over bandwidth and
instructions over the issue rate of the GPU: a model, not a measurement. `--grow`: a larger level with this many nodes, rows and
multiply-adds, at the same cost per row and renaming; BELOW: processor seconds of the lower levels, which the CPU evaluates.
`--join`: processor seconds of the join. `--other report.json`: predicts the counts of that run from this one."""

import argparse
import json
import pathlib
import sys

# An H100 SXM: bytes per second of its memory and of PCIe 5 with pinned buffers; thread instructions per second, half of which may be
# multiplications; resident threads: limited by the registers of a block (bench/gpu_kernels.py).
MEMORY, BUS, ISSUED, MULTIPLIED = 3.35e12, 50e9, 132 * 128 * 1.755e9, 132 * 64 * 1.755e9
RUNNING = 132 * 7 * 128
NEAR = 132 * 128 * 1.755e9  # bytes per second of the L1 caches
LAUNCH = 5e-6
# Bytes of OrbitTile, TransientTerm, a word of a node, a word of a renaming list, OrbitMinimum.
TILE, TRANSIENT, WORD, RENAMING, MINIMUM = 64, 20, 4, 2, 40
# Per multiply-add at two points: instructions of the inner loop (nvcc -ptx: 70 for three, including one folding) and multiplications
# among them; instructions to generate and compare a renaming (assumed).
INSTRUCTIONS, MULTIPLICATIONS, INSTRUCTIONS_PER_RENAMING = 23, 6, 400
PAIR = 8


def check(counts, level):
    """Exits unless the bytes of the model equal those that the run counted."""
    uploaded = TILE * counts["tiles"] + TRANSIENT * counts["transient terms"] + WORD * counts["node words"] + RENAMING * counts["renaming words"]
    words = 3 * (counts["nodes"] + counts["transient terms"]) + 2 * counts["arguments"]
    for what, model, counted in (("uploaded bytes", uploaded, counts["uploaded bytes"]),
                                 ("downloaded bytes", MINIMUM * counts["minima"], counts["downloaded bytes"]),
                                 ("words of nodes", words, counts["node words"])):
        print(f"{what:20} model {model:>15,}   counted {counted:>15,}")
        if model != counted:
            sys.exit(f"{what}: the model differs from the program")
    # A node at the border of two shards is evaluated for both.
    for what, sent, there in (("nodes", counts["nodes"], level["orbits"]), ("minima", counts["minima"], level["rows"])):
        print(f"{what:20} sent  {sent:>15,}   there   {there:>15,}")
        if not there <= sent <= there * 1.001 + 1:
            sys.exit(f"{what}: some were not sent, or sent twice")


def grown(counts, level, larger):
    """Returns the counts of a larger level, with the same counts per node and row."""
    by_rows, by_nodes = larger["rows"] / level["rows"], larger["nodes"] / level["nodes"]
    per_node = {"renamings", "batches", "operands", "staged operands", "arena bytes", "resident bytes"}
    return {name: count * (by_nodes if name in per_node else by_rows) for name, count in counts.items()}


def steps(counts, level, host, cores):
    products = level["multiply_adds"] * (1 + counts["transient renamings"] / counts["renamings"])
    yield "values, renamings and programs to the GPU, once", counts["resident bytes"], counts["resident bytes"] / BUS
    yield "rows to the GPU", counts["uploaded bytes"], counts["uploaded bytes"] / BUS
    yield "minima from the GPU", counts["downloaded bytes"], counts["downloaded bytes"] / BUS
    yield "launches, two per batch", 0, 2 * counts["batches"] * LAUNCH
    yield "renamings: generated, compared, minimum taken", 0, counts["renamings"] * INSTRUCTIONS_PER_RENAMING / ISSUED
    yield "values of transient terms, written and read once", 2 * counts["arena bytes"], 2 * counts["arena bytes"] / MEMORY
    yield "multiply-adds", 0, products * max(INSTRUCTIONS / ISSUED, MULTIPLICATIONS / MULTIPLIED)
    yield "multiply-adds at 20% of peak issue rate", 0, 5 * products * max(INSTRUCTIONS / ISSUED, MULTIPLICATIONS / MULTIPLIED)
    operands = 2 * PAIR * products
    yield "operands, through L1 caches and shared memory", operands, operands / NEAR
    yield "operands, without caches", operands, operands / MEMORY
    yield f"host, {cores} cores", 0, host / cores


def show(title, counts, level, host, cores, below, join):
    print(f"\n{title}: {level['nodes']:,} nodes, {level['rows']:,} rows, {level['multiply_adds']:,} multiply-adds")
    print(f"| {'step':46} | {'MB':>8} | {'ms':>8} |\n|---|---|---|")
    seconds = {}
    for step, moved, time in steps(counts, level, host, cores):
        seconds[step] = time
        print(f"| {step:46} | {moved / 1e6:8,.1f} | {time * 1e3:8,.1f} |")
    print(f"| {f'lower levels, on the CPU, {cores} cores':46} | {'':8} | {below / cores * 1e3:8,.1f} |")
    copies = seconds["rows to the GPU"] + seconds["minima from the GPU"]
    gpu = seconds["multiply-adds at 20% of peak issue rate"] + seconds["renamings: generated, compared, minimum taken"]
    busy = max(copies, gpu, seconds[f"host, {cores} cores"])  # two streams per thread: the longest hides the others
    total = below / cores + seconds["values, renamings and programs to the GPU, once"] + busy
    print(f"| {'shards: the longest of copies, GPU, host':46} | {'':8} | {total * 1e3:8,.1f} |")
    if join:
        print(f"| {f'including the join, {cores} cores':46} | {'':8} | {(total + join / cores) * 1e3:8,.1f} |")


def last_level(path):
    report = json.loads(path.read_text(encoding="utf-8"))
    if "gpu" not in report:
        sys.exit(f"{path}: not of a run with --device emulated")
    return report, report["gpu"], report["levels"][-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=pathlib.Path, help="report of a run with one thread")
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--join", type=float, default=0)
    parser.add_argument("--grow", nargs=6, type=float, metavar=("OPERATORS", "NODES", "ROWS", "PRODUCTS", "BELOW", "JOIN"))
    parser.add_argument("--other", type=pathlib.Path)
    options = parser.parse_args()
    report, counts, level = last_level(options.report)
    check(counts, level)
    times = report["fingerprint_steps"]
    host = times["evaluate and write"] - counts["gpu microseconds"] * 1e-6
    below = times["expanded levels"] + times["canonical level"] + times["count"]
    print(f"\nrenamings per batch: {counts['renamings'] // counts['batches']:,}, {counts['renamings'] / counts['batches'] / RUNNING:.1f} times the resident threads; "
          f"operands in shared memory: {counts['staged operands'] / counts['operands']:.0%}; renamings that result in another's node: "
          f"{1 - level['nodes'] / counts['renamings']:.0%}")
    show(f"{level['operators']} operators", counts, level, host, options.cores, below, options.join)
    if options.grow:
        operators, nodes, rows, products, below, join = options.grow
        larger = {"nodes": int(nodes), "rows": int(rows), "multiply_adds": int(products)}
        show(f"{operators:.0f} operators", grown(counts, level, larger), larger, host * rows / level["rows"], options.cores, below, join)
    if options.other:
        _, theirs, other = last_level(options.other)
        predicted = grown(counts, level, other)
        print("\ncounts of the other run, predicted from this run by rows and nodes:")
        for name in ("uploaded bytes", "downloaded bytes", "arena bytes", "tiles", "transient renamings", "renamings"):
            print(f"{name:20} predicted {predicted[name]:>15,.0f}   counted {theirs[name]:>15,}   {predicted[name] / theirs[name]:.2f}")


if __name__ == "__main__":
    main()
