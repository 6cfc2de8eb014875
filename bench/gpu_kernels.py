#!/usr/bin/env python3
"""Prints the resources of the fingerprint kernels: registers, spills, stack and shared memory, and the occupancy that results. Needs
nvcc, but no GPU.

    bench/gpu_kernels.py [--nvcc nvcc] [--arguments 2]

`--arguments`: number of arguments of the operators, whose pointers are in shared memory. The table is part of docs/scaling.md."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = "execute/gpu/cuda_backend.cu"
# Per multiprocessor: registers, shared memory (of which the system uses 1,024 bytes per block), warps, blocks.
MACHINES = {"80": (65536, 164 * 1024, 64, 32), "90": (65536, 228 * 1024, 64, 32)}
WARP, SYSTEM_SHARED, REGISTER_GRANULARITY = 32, 1024, 8


def constant(name):
    text = (ROOT / "execute/gpu/orbit_view.h").read_text(encoding="utf-8") + (ROOT / "execute/program/program_view.h").read_text(encoding="utf-8")
    return int(re.search(rf"{name} = (\d+)", text).group(1))


def shared_bytes(arguments):
    """As computed by SharedMemoryLayout::of()."""
    return 4 * (2 + constant("max_inputs")) + 8 * arguments * constant("threads_per_block") + 8 * constant("max_staged_pairs")


def report(nvcc):
    codes = [word for arch in MACHINES for word in ("-gencode", f"arch=compute_{arch},code=sm_{arch}")]
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([nvcc, "-std=c++20", "-DRULEMILL_HAVE_CUDA", *codes, "-Xptxas", "-v", "-I.", "-c", SOURCE, "-o", f"{folder}/backend.o"],
                              cwd=ROOT, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        sys.exit(made.stderr)
    kernel = arch = None
    figures = {}
    for line in made.stderr.splitlines():
        if entry := re.search(r"Compiling entry function '(\S+)' for 'sm_(\d+)'", line):
            kernel, arch = re.search(r"\d(run_\w+?)E", entry.group(1)).group(1), entry.group(2)
        if stack := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            figures[kernel, arch] = [int(number) for number in stack.groups()]
        if used := re.search(r"Used (\d+) registers", line):
            figures[kernel, arch].append(int(used.group(1)))
    return figures


def warps(registers, shared, arch):
    """Returns the resident blocks and warps of a multiprocessor, and its maximum of warps."""
    all_registers, all_shared, max_warps, max_blocks = MACHINES[arch]
    block_warps = constant("threads_per_block") // WARP
    rounded = -(-registers // REGISTER_GRANULARITY) * REGISTER_GRANULARITY
    blocks = min(all_registers // (rounded * WARP) // block_warps, all_shared // (shared + SYSTEM_SHARED), max_warps // block_warps, max_blocks)
    return blocks, blocks * block_warps, max_warps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--arguments", type=int, default=2)
    options = parser.parse_args()
    shared = shared_bytes(options.arguments)
    print("| kernel | architecture | registers | stack, spill stores, loads (bytes) | shared memory per block | blocks, warps per multiprocessor | occupancy |")
    print("|---|---|---|---|---|---|---|")
    for (kernel, arch), (stack, stores, loads, registers) in sorted(report(options.nvcc).items()):
        blocks, running, maximum = warps(registers, shared, arch)
        print(f"| {kernel} | sm_{arch} | {registers} | {stack}, {stores}, {loads} | {shared:,} | {blocks}, {running} of {maximum} | {running / maximum:.0%} |")


if __name__ == "__main__":
    main()
