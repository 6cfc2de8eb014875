#!/usr/bin/env python3
"""What the compiler makes of the kernels that evaluate fingerprints: registers, spills, stack, shared memory, and how many warps of a
multiprocessor that lets run. Needs nvcc, no GPU.

    bench/gpu_kernels.py [--nvcc nvcc] [--arguments 2]

`--arguments`: of the operators; their pointers are in shared memory. Prints a table for docs/scaling.md."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = "execute/cuda_card.cu"
# Of a multiprocessor: registers, shared memory that blocks can have (1,024 bytes a block are the system's), warps, blocks.
MACHINES = {"80": (65536, 164 * 1024, 64, 32), "90": (65536, 228 * 1024, 64, 32)}
WARP, SYSTEM_SHARED, REGISTERS_AT_A_TIME = 32, 1024, 8


def constant(name):
    text = (ROOT / "execute/orbit_view.h").read_text(encoding="utf-8") + (ROOT / "execute/wave.h").read_text(encoding="utf-8")
    return int(re.search(rf"{name} = (\d+)", text).group(1))


def shared_bytes(arguments):
    """As SharedLayout says."""
    return 4 * (2 + constant("most_inputs")) + 8 * arguments * constant("threads_a_block") + 8 * constant("most_staged_pairs")


def report(nvcc):
    codes = [word for arch in MACHINES for word in ("-gencode", f"arch=compute_{arch},code=sm_{arch}")]
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([nvcc, "-std=c++20", "-DRULEMILL_HAVE_CUDA", *codes, "-Xptxas", "-v", "-I.", "-c", SOURCE, "-o", f"{folder}/card.o"],
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
    """Of one multiprocessor that can run: registers are given to warps, shared memory to blocks."""
    all_registers, all_shared, most_warps, most_blocks = MACHINES[arch]
    block_warps = constant("threads_a_block") // WARP
    rounded = -(-registers // REGISTERS_AT_A_TIME) * REGISTERS_AT_A_TIME
    blocks = min(all_registers // (rounded * WARP) // block_warps, all_shared // (shared + SYSTEM_SHARED), most_warps // block_warps, most_blocks)
    return blocks, blocks * block_warps, most_warps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--arguments", type=int, default=2)
    words = parser.parse_args()
    shared = shared_bytes(words.arguments)
    print("| kernel | for | registers | stack, spill stores, loads (bytes) | shared memory a block | blocks, warps of a multiprocessor | occupancy |")
    print("|---|---|---|---|---|---|---|")
    for (kernel, arch), (stack, stores, loads, registers) in sorted(report(words.nvcc).items()):
        blocks, running, most = warps(registers, shared, arch)
        print(f"| {kernel} | sm_{arch} | {registers} | {stack}, {stores}, {loads} | {shared:,} | {blocks}, {running} of {most} | {running / most:.0%} |")


if __name__ == "__main__":
    main()
