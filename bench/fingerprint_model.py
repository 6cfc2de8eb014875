#!/usr/bin/env python3
"""What fingerprints of a run would take on a GPU, step by step, from the counts of its report: bytes over bandwidth, multiply-adds over
throughput, and what stays with the host. A model: nothing here was measured on a GPU.

    rulemill fingerprint --profile P --max-ops 4 --threads 1 --out OUT --json report.json
    bench/fingerprint_model.py report.json [--host-share 0.23] [--cores 16]

`--host-share` is the part of one thread's time that is not the evaluator's (`perf report`: not execute::)."""

import argparse
import json
import pathlib

# An H100 SXM: bytes a second of its memory and of PCIe 5 with pinned buffers, 32-bit integer operations a second.
MEMORY, BUS, OPERATIONS = 3.35e12, 50e9, 132 * 64 * 1.755e9
NODE, PRINT, PAIR = 88, 16, 8       # sizeof(WaveNode), sizeof(Fingerprint), sizeof(Pair)
POINTS, STEPS_A_PRODUCT = 2, 6      # lanes of the field; a wide multiply-add, and its share of reducing


def lines(level, host_seconds, cores):
    up, down = NODE * level["nodes"], PRINT * level["terms"]
    reads = 2 * PAIR * level["products"]
    yield "nodes to the device", up, up / BUS
    yield "fingerprints back, all renamings", down, down / BUS
    yield "if one minimum a row came back", PRINT * level["rows"], PRINT * level["rows"] / BUS
    yield "if rows went up and were renamed there", NODE * level["orbits"], NODE * level["orbits"] / BUS
    yield "multiply-adds", 0, POINTS * STEPS_A_PRODUCT * level["products"] / OPERATIONS
    yield "operands, if no cache held any", reads, reads / MEMORY
    yield f"the host's part, {cores} cores", 0, host_seconds / cores


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=pathlib.Path, help="of one thread: its time is the host's")
    parser.add_argument("--host-share", type=float, default=0.23)
    parser.add_argument("--cores", type=int, default=16)
    words = parser.parse_args()
    report = json.loads(words.report.read_text(encoding="utf-8"))
    level = report["levels"][-1]
    seconds = next(stage["seconds"] for stage in report["stages"] if stage["name"] == "fingerprint")
    print(f"last level: {level['nodes']:,} nodes of {level['orbits']:,} orbits, {level['products']:,} multiply-adds\n")
    print(f"{'step':40} {'MB':>10} {'ms':>9}")
    for step, moved, took in lines(level, words.host_share * seconds, words.cores):
        print(f"{step:40} {moved / 1e6:10,.0f} {took * 1e3:9,.1f}")


if __name__ == "__main__":
    main()
