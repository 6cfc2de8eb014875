"""Times of models in onnxruntime: forms of one model in turns, and the share of its time that products take."""

import collections
import json
import os
import statistics
import tempfile
import time

import numpy as np
import onnxruntime

LEAST_ROUNDS = 6
PRODUCTS = ("Conv", "Gemm", "MatMul")  # also of fused operators, such as FusedConv


def session(path, threads=1, profile=None):
    """With one thread nothing waits in a loop; with more, threads wait so within a run, as by default, and never between runs."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0" if threads == 1 else "1")
    options.add_session_config_entry("session.force_spinning_stop", "0" if threads == 1 else "1")
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, profile
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def input_shapes(path):
    return {info.name: info.shape for info in session(path).get_inputs()}


def feeds(runner, seed, shapes):
    """Returns random inputs; dynamic dimensions have the sizes in `shapes`, by input."""
    generator = np.random.default_rng(seed)
    result = {}
    for info in runner.get_inputs():
        assumed = shapes.get(info.name, [1] + [128] * len(info.shape))
        shape = [d if isinstance(d, int) and d > 0 else assumed[axis] for axis, d in enumerate(info.shape)]
        if info.type == "tensor(float)":
            result[info.name] = generator.standard_normal(shape).astype(np.float32)
        else:
            result[info.name] = np.ones(shape, np.int64) if "mask" in info.name else generator.integers(0, 900, shape)
    return result


def in_turns(runners, fed, seconds, clock=time.thread_time):
    """Runs the forms in turns; returns milliseconds by form and round. Each round begins with another form."""
    times = {name: [] for name in runners}
    for runner in runners.values():
        runner.run(None, fed)
        runner.run(None, fed)
    start = time.perf_counter()
    turn = 0
    while turn < LEAST_ROUNDS or (time.perf_counter() - start < seconds and turn < 100):
        order = list(runners.items())
        first = turn % len(order)
        for name, runner in order[first:] + order[:first]:
            begin = clock()
            runner.run(None, fed)
            times[name].append((clock() - begin) * 1e3)
        turn += 1
    return times


def compared(times):
    """Returns milliseconds, and the model's time divided by the form's in the same round: median and quartiles, by form."""
    result = {}
    for form, own in times.items():
        low, middle, high = statistics.quantiles([a / b for a, b in zip(times["model"], own)], n=4)
        result[form] = {"milliseconds": statistics.median(own), "ratio": middle, "quartiles": [low, high]}
    return result


def share_of_products(path, fed, seconds=2):
    """Returns the share of time that convolutions and matrix products take, by the least time of each node in several runs."""
    with tempfile.TemporaryDirectory() as folder:
        runner = session(path, profile=os.path.join(folder, "profile"))
        start, runs = time.perf_counter(), 0
        while runs < 4 or (time.perf_counter() - start < seconds and runs < 20):
            runner.run(None, fed)
            runs += 1
        with open(runner.end_profiling()) as file:
            events = json.load(file)
    least = collections.defaultdict(lambda: float("inf"))
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            key = event["name"], event["args"]["op_name"]
            least[key] = min(least[key], event["dur"])
    total = sum(least.values())
    products = sum(each for (_, operator), each in least.items() if any(product in operator for product in PRODUCTS))
    return products / total if total else None
