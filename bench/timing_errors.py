#!/usr/bin/env python3
"""Measures how often `optimize` would take a change for faster that is none, and how often it sees a true gain.

    bench/timing_errors.py MODEL.onnx... [--comparisons 200] [--load 4] [--json FILE]

Each comparison tests a model against itself with the rounds of python/onnxruntime_helpers/benchmark.py and the sequential sign test of
optimize/verify, without a limit of time, beside `--load` processes that multiply matrices. The noise of all rounds is then drawn at
random, with the candidate's time divided by a true gain, to estimate how often a gain of that size is found."""

import argparse
import json
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python" / "onnxruntime_helpers"))

from benchmark import Benchmark

GAINS = [0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03, 1.05, 1.1]
SIMULATIONS = 20000
TURNS = 5
BUSY = "import numpy as np\na = np.ones((500, 500), np.float32)\nwhile True: a @ a"


def constant(pattern, file):
    return re.search(pattern, (ROOT / "optimize" / "verify" / file).read_text(encoding="utf-8")).group(1)


REQUIRED_ROUNDS = json.loads("[" + constant(r"required_rounds\{([\d, ]+)\}", "sequential_test.h") + "]")
MIN_SPEEDUP = float(constant(r"min_speedup = ([\d.]+)", "benchmark.h"))


def is_faster(next_speedup):
    """Runs the test of optimize/verify on rounds until it is decided."""
    speedups, losses = [], 0
    while losses < len(REQUIRED_ROUNDS) and len(speedups) < REQUIRED_ROUNDS[-1]:
        speedups.append(next_speedup())
        losses += speedups[-1] <= 1
        if losses < len(REQUIRED_ROUNDS) and len(speedups) >= REQUIRED_ROUNDS[losses] and statistics.median(speedups) >= MIN_SPEEDUP:
            return True
    return False


def compare_with_itself(path, count, generator):
    """Returns the number of comparisons that find a gain, and the logarithms of the speedups of all rounds."""
    benchmark = Benchmark({"model": str(path), "threads": 1, "shapes": {}})
    benchmark.add_candidate(str(path))
    noise = []

    def next_speedup():
        order = [0, 1]
        generator.shuffle(order)
        times = dict(zip(order, benchmark.time_round(order, TURNS, True)["milliseconds"]))
        noise.append(statistics.fmean(math.log(a / b) for a, b in zip(times[0], times[1])))
        return math.exp(noise[-1])

    return sum(is_faster(next_speedup) for _ in range(count)), noise


def rate_at(gain, noise, generator):
    """Returns how often a true gain is found. The noise is symmetric, as model and candidate run in random order."""
    draw = lambda: gain * math.exp(generator.choice((-1, 1)) * generator.choice(noise))
    return sum(is_faster(draw) for _ in range(SIMULATIONS)) / SIMULATIONS


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--comparisons", type=int, default=200, help="in all, divided among the models")
    parser.add_argument("--load", type=int, default=4, help="processes that keep the machine busy")
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    generator = random.Random(0)
    busy = [subprocess.Popen([sys.executable, "-c", BUSY], env={**os.environ, "OMP_NUM_THREADS": "1"}) for _ in range(given.load)]
    rows = []
    try:
        for path in given.models:
            count = given.comparisons // len(given.models)
            gains, noise = compare_with_itself(path, count, generator)
            found = {gain: rate_at(gain, noise, generator) for gain in GAINS}
            quartiles = [math.exp(each) for each in statistics.quantiles(noise, n=4)]
            rows.append({"model": path.stem, "comparisons": count, "false_gains": gains, "rounds": len(noise), "quartiles": quartiles,
                         "found": found, "load": os.getloadavg()[0]})
            print(f"{path.stem}: {gains} of {count} comparisons with itself find a gain; {len(noise)} rounds, quartiles {quartiles[0]:.3f} and "
                  f"{quartiles[2]:.3f}, load {rows[-1]['load']:.0f}; found at a true speedup of "
                  + ", ".join(f"{gain:g}: {rate:.1%}" for gain, rate in found.items()), flush=True)
    finally:
        for process in busy:
            process.kill()
    print(f"{sum(row['false_gains'] for row in rows)} false gains in {sum(row['comparisons'] for row in rows)} comparisons")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
