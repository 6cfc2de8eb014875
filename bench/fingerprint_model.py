#!/usr/bin/env python3
"""What the last level's fingerprints would take on an H100, step by step, from a run in which the CPU did what a GPU would:

    rulemill fingerprint --profile P --max-ops 4 --threads 1 --device emulated --out OUT --json report.json
    bench/fingerprint_model.py report.json [--cores 16] [--join SECONDS] [--grow OPERATORS NODES ROWS PRODUCTS BELOW JOIN]

Bytes are the records' sizes times their counts and must equal what the run counted: it fails otherwise. Times are bytes over bandwidth and
instructions over what the card issues: a model, nothing here was measured on a GPU. `--grow`: a larger level of so many nodes, rows and
multiply-adds, whose rows and names need what this run's did; BELOW: processor seconds of the levels below, which the CPU evaluates. `--join`:
processor seconds of the join. `--other report.json`: predicts that run's counts from this one's, and says how far off it is."""

import argparse
import json
import pathlib
import sys

# An H100 SXM: bytes a second of its memory, of PCIe 5 with pinned buffers; instructions of threads a second, 64 of 128 of them
# multiplications; names that run at a time: threads of as many blocks as registers leave room for (bench/gpu_kernels.py).
MEMORY, BUS, ISSUED, MULTIPLIED = 3.35e12, 50e9, 132 * 128 * 1.755e9, 132 * 64 * 1.755e9
RUNNING = 132 * 7 * 128
NEAR = 132 * 128 * 1.755e9  # bytes a second of first caches
LAUNCH = 5e-6
# Bytes of OrbitPiece, PassingPlace, a node's words and names' words, OrbitMinimum.
PIECE, PASSING, WORD, NAME, MINIMUM = 64, 20, 4, 2, 40
# Of one multiply-add at two points: instructions of the inner loop (nvcc -ptx: 70 for three, one folding), multiplications (those of addresses too) among
# them, and of a name's making and comparing (assumed).
INSTRUCTIONS, MULTIPLICATIONS, INSTRUCTIONS_A_NAME = 23, 6, 400
PAIR = 8


def check(counts, level):
    """The model's bytes are those that were counted."""
    uploaded = PIECE * counts["pieces"] + PASSING * counts["passing terms"] + WORD * counts["node words"] + NAME * counts["name words"]
    words = 3 * (counts["nodes"] + counts["passing terms"]) + 2 * counts["arguments"]
    for what, model, counted in (("uploaded bytes", uploaded, counts["uploaded bytes"]),
                                 ("downloaded bytes", MINIMUM * counts["minima"], counts["downloaded bytes"]),
                                 ("words of nodes", words, counts["node words"])):
        print(f"{what:20} model {model:>15,}   counted {counted:>15,}")
        if model != counted:
            sys.exit(f"{what}: the model is not the program's")
    # A node on the border of two shards is evaluated for both.
    for what, sent, there in (("nodes", counts["nodes"], level["orbits"]), ("minima", counts["minima"], level["rows"])):
        print(f"{what:20} sent  {sent:>15,}   there   {there:>15,}")
        if not there <= sent <= there * 1.001 + 1:
            sys.exit(f"{what}: not all were sent, or some twice")


def grown(counts, level, larger):
    """Counts of a level of so many nodes and rows, if each needs what this one's did."""
    by_rows, by_nodes = larger["rows"] / level["rows"], larger["nodes"] / level["nodes"]
    of_nodes = {"names", "batches", "operands", "staged operands", "arena bytes", "resident bytes"}
    return {name: count * (by_nodes if name in of_nodes else by_rows) for name, count in counts.items()}


def steps(counts, level, host, cores):
    products = level["products"] * (1 + counts["passing names"] / counts["names"])
    yield "values, names and programs to the device, once", counts["resident bytes"], counts["resident bytes"] / BUS
    yield "rows to the device", counts["uploaded bytes"], counts["uploaded bytes"] / BUS
    yield "minima back", counts["downloaded bytes"], counts["downloaded bytes"] / BUS
    yield "launches, two a batch", 0, 2 * counts["batches"] * LAUNCH
    yield "names made, compared, least taken", 0, counts["names"] * INSTRUCTIONS_A_NAME / ISSUED
    yield "passing terms' values, written and read once", 2 * counts["arena bytes"], 2 * counts["arena bytes"] / MEMORY
    yield "multiply-adds", 0, products * max(INSTRUCTIONS / ISSUED, MULTIPLICATIONS / MULTIPLIED)
    yield "the same at a fifth of what the card issues", 0, 5 * products * max(INSTRUCTIONS / ISSUED, MULTIPLICATIONS / MULTIPLIED)
    operands = 2 * PAIR * products
    yield "operands, through first caches and shared memory", operands, operands / NEAR
    yield "operands, if no cache held any of them", operands, operands / MEMORY
    yield f"the host's part, {cores} cores", 0, host / cores


def show(title, counts, level, host, cores, below, join):
    print(f"\n{title}: {level['nodes']:,} nodes, {level['rows']:,} rows, {level['products']:,} multiply-adds")
    print(f"| {'step':46} | {'MB':>8} | {'ms':>8} |\n|---|---|---|")
    taken = {}
    for step, moved, took in steps(counts, level, host, cores):
        taken[step] = took
        print(f"| {step:46} | {moved / 1e6:8,.1f} | {took * 1e3:8,.1f} |")
    print(f"| {f'levels below, on the CPU, {cores} cores':46} | {'':8} | {below / cores * 1e3:8,.1f} |")
    copies = taken["rows to the device"] + taken["minima back"]
    device = taken["the same at a fifth of what the card issues"] + taken["names made, compared, least taken"]
    busy = max(copies, device, taken[f"the host's part, {cores} cores"])  # two streams a thread: the longest hides the others
    total = below / cores + taken["values, names and programs to the device, once"] + busy
    print(f"| {'shards: the longest of copies, device, host':46} | {'':8} | {total * 1e3:8,.1f} |")
    if join:
        print(f"| {f'with the join, {cores} cores':46} | {'':8} | {(total + join / cores) * 1e3:8,.1f} |")


def last_level(path):
    report = json.loads(path.read_text(encoding="utf-8"))
    if "device" not in report:
        sys.exit(f"{path}: not of a run with --device emulated")
    return report, report["device"], report["levels"][-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=pathlib.Path, help="of one thread: its time is the host's")
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--join", type=float, default=0)
    parser.add_argument("--grow", nargs=6, type=float, metavar=("OPERATORS", "NODES", "ROWS", "PRODUCTS", "BELOW", "JOIN"))
    parser.add_argument("--other", type=pathlib.Path)
    words = parser.parse_args()
    report, counts, level = last_level(words.report)
    check(counts, level)
    times = report["fingerprint_steps"]
    host = times["evaluate and write"] - counts["device microseconds"] * 1e-6
    below = times["named levels"] + times["canonical level"] + times["count"]
    print(f"\nnames a batch: {counts['names'] // counts['batches']:,}, {counts['names'] / counts['batches'] / RUNNING:.1f} times what runs at a time; "
          f"operands in shared memory: {counts['staged operands'] / counts['operands']:.0%}; names that are another's node: "
          f"{1 - level['nodes'] / counts['names']:.0%}")
    show(f"{level['operators']} operators", counts, level, host, words.cores, below, words.join)
    if words.grow:
        operators, nodes, rows, products, below, join = words.grow
        larger = {"nodes": int(nodes), "rows": int(rows), "products": int(products)}
        show(f"{operators:.0f} operators", grown(counts, level, larger), larger, host * rows / level["rows"], words.cores, below, join)
    if words.other:
        _, theirs, other = last_level(words.other)
        predicted = grown(counts, level, other)
        print("\ncounts of the other run, predicted from this one's by rows and nodes:")
        for name in ("uploaded bytes", "downloaded bytes", "arena bytes", "pieces", "passing names", "names"):
            print(f"{name:20} predicted {predicted[name]:>15,.0f}   counted {theirs[name]:>15,}   {predicted[name] / theirs[name]:.2f}")


if __name__ == "__main__":
    main()
