#!/usr/bin/env python3
"""Measures PyTorch and Inductor for the costs of training steps: `calibrate_torch.py data/runtimes/torch-x86_64.toml`.

Inductor fuses operators of elements and reductions into loops. So an operator costs its arithmetic in such a loop (a chain of eight of it
less a chain of none, by element), half of what a loop takes to read and write a tensor, and the reading of each further tensor. What no loop takes in is measured alone. One thread, least
processor time of runs, float32, on tensors that caches hold and that they do not (optimize/cost/calibration.h describes the file)."""

import os
import pathlib
import platform
import sys
import tempfile
import time

os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="rulemill-inductor-")

import torch  # noqa: E402

SHAPES = [(1, 64, 56, 56), (1, 64, 256, 256)]
CHAIN = 8
LOOPS = {"Add": lambda x: x + 1.5, "Mul": lambda x: x * 0.9, "Div": lambda x: 1.5 / x, "Max": lambda x: torch.clamp(x, min=0.5),
         "Exp": torch.exp, "Log": torch.log, "Sqrt": torch.sqrt, "Tanh": torch.tanh, "Erf": torch.erf, "Sigmoid": torch.sigmoid}
SAME = {"Add": ["Add", "Sub", "Sum", "Neg"], "Mul": ["Mul"], "Div": ["Div", "Reciprocal"],
        "Max": ["Max", "Min", "Relu", "Clip", "Abs", "Where", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"]}
FREE = ["Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Expand", "Slice", "Split", "Transpose"]


def nanoseconds(function, *tensors):
    """The least of at least 5 runs, because other processes only add to it."""
    times, end = [], time.monotonic() + 0.5
    function(*tensors)
    while len(times) < 5 or len(times) < 60 and time.monotonic() < end:
        begin = time.thread_time_ns()
        function(*tensors)
        times.append(time.thread_time_ns() - begin)
    return min(times)


def compiled(function, *tensors):
    torch._dynamo.reset()
    return nanoseconds(torch.compile(function, dynamic=False), *tensors)


def chain(function, x):
    for _ in range(CHAIN):
        x = function(x)
    return x


def rates(shape):
    """Nanoseconds per element by name; of a further tensor by "further"; and of a call on a small tensor."""
    x, y = torch.rand(shape) + 0.5, torch.rand(shape) + 0.5
    count = x.numel()
    alone = compiled(lambda x: x * 1.1, x)
    found = {name: max(0.0, (compiled(lambda x, each=each: chain(each, x * 1.1), x) - alone) / CHAIN / count) for name, each in LOOPS.items()}
    found["further"] = max(0.0, (compiled(lambda x, y: x * y, x, y) - alone) / count)
    found["pass"] = alone / count
    rows = x.reshape(-1, shape[1])
    found["ReduceSum"] = compiled(lambda x: x.sum(-1), rows) / count
    return found


def gflops():
    """Of a product of matrices, and of a 3x3 convolution of 64 channels with its gradients, on average."""
    a = torch.randn(512, 512)
    product = 2 * 512 ** 3 / nanoseconds(torch.mm, a, a)
    x, kernel = torch.randn(4, 64, 28, 28), torch.randn(64, 64, 3, 3)
    flops = 2 * x.numel() * 64 * 9
    forward = nanoseconds(lambda: torch.conv2d(x, kernel, padding=1))
    backward = nanoseconds(lambda: torch.ops.aten.convolution_backward(x, x, kernel, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False]))
    return product, 3 * flops / (forward + backward)


def main():
    torch.set_num_threads(1)
    small, large = map(rates, SHAPES)
    product, window = gflops()
    call = nanoseconds(torch.mm, *[torch.ones(1, 1)] * 2)
    pair = lambda name: f"[{small[name]:.3f}, {large[name]:.3f}]"
    # Arithmetic takes as long, whatever the caches hold. A loop is taken to have two operators.
    least = {own: min(small[own], large[own]) for own in LOOPS}
    lines = {name: f"[{least[own] + small['pass'] / 2:.3f}, {least[own] + large['pass'] / 2:.3f}]" for own in LOOPS for name in SAME.get(own, [own])}
    lines.update({name: pair("ReduceSum") for name in ("ReduceSum", "ReduceMean", "ReduceMax")})
    lines.update({name: "[0, 0]" for name in FREE})
    sizes = [torch.Size(shape).numel() for shape in SHAPES]
    text = f"""# Costs of operators in PyTorch's Inductor with one thread, measured by bench/calibrate_torch.py: arithmetic in a loop that takes in
# its neighbours. A call of a product on one element takes {call} ns; a loop that reads a tensor and writes one {pair("pass")} ns an element.
runtime = "torch {torch.__version__}"
processor = "{platform.machine()}"
node_nanoseconds = 1
product_gflops = {product:.0f}
window_gflops = {window:.0f}
elements = {sizes}
by_result = []

[nanoseconds_per_element]
""" + "".join(f"{name} = {lines[name]}\n" for name in sorted(lines)) + "\n# Added for each further input that is as large as the result.\n[nanoseconds_per_further_element]\n"
    text += "".join(f"{name} = {pair('further')}\n" for name in ("Add", "Div", "Max", "Min", "Mul", "Sub", "Sum"))
    pathlib.Path(sys.argv[1]).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
