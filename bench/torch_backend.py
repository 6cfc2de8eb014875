#!/usr/bin/env python3
"""torch.compile with the backend "rulemill" beside Inductor alone (docs/python.md), one thread, processor time:

    bench/torch_backend.py [MODEL...] [--seconds 6]

Each line: seconds to compile by Inductor and by rulemill (no cache), how many times as fast the result is (median of runs in turns, with
quartiles) where weights are compared at each call and where they are frozen, the largest difference of an output as a part of the largest
element, and what the backend says. MODEL: one of BLOCKS, or of timm."""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time
from unittest import mock

os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="rulemill-inductor-")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import rulemill.torch  # noqa: E402

TIMM = ("mobileone_s0 repvgg_a0 ghostnetv3_100 mvitv2_tiny crossvit_9_240 convnext_atto resnet18 vit_tiny_patch16_224 fastvit_t8 repvit_m0_9 "
        "mobilenetv3_small_100 efficientnet_b0 densenet121 swin_tiny_patch4_window7_224").split()


class RepVGG(nn.Module):
    """A block in training form: 3x3 and 1x1 convolution and identity, each with its normalization."""

    def __init__(self, channels):
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv2d(channels, channels, size, padding=size // 2, bias=False) for size in (3, 1))
        self.normalizations = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(3))

    def forward(self, x):
        branches = [*(convolution(x) for convolution in self.convolutions), x]
        return F.relu(sum(norm(branch) for norm, branch in zip(self.normalizations, branches)))


class Adapter(nn.Module):
    """A linear layer with an adapter of low rank that is not merged."""

    def __init__(self, size, rank=16):
        super().__init__()
        self.base, self.down, self.up = nn.Linear(size, size), nn.Linear(size, rank, bias=False), nn.Linear(rank, size, bias=False)

    def forward(self, x):
        return self.base(x) + 2 * self.up(self.down(x))


class LastRow(nn.Module):
    """The last layer of a transformer is computed for all rows, and a classifier reads one."""

    def __init__(self, size):
        super().__init__()
        self.norm, self.inner, self.outer, self.head = nn.LayerNorm(size), nn.Linear(size, 4 * size), nn.Linear(4 * size, size), nn.Linear(size, 10)

    def forward(self, x):
        return self.head((x + self.outer(F.gelu(self.inner(self.norm(x)))))[:, 0])


class Attention(nn.Module):
    """Three projections of one input."""

    def __init__(self, size, heads=8):
        super().__init__()
        self.parts, self.heads = nn.ModuleList(nn.Linear(size, size) for _ in range(3)), heads

    def forward(self, x):
        split = [part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.parts]
        return F.scaled_dot_product_attention(*split).transpose(1, 2).flatten(2)


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, channels // 4, 1), nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.up(F.relu(self.down(x.mean((2, 3), keepdim=True)))))


class Inception(nn.Module):
    """Two 1x1 convolutions of one input, concatenated."""

    def __init__(self, channels):
        super().__init__()
        self.first, self.second = nn.Conv2d(channels, 32, 1), nn.Conv2d(channels, 48, 1)

    def forward(self, x):
        return torch.cat([F.relu(self.first(x)), F.relu(self.second(x))], 1)


BLOCKS = {"repvgg_block": (RepVGG, 64, (1, 64, 56, 56)), "adapter": (Adapter, 768, (1, 128, 768)), "last_row": (LastRow, 192, (1, 197, 192)),
          "qkv": (Attention, 512, (1, 128, 512)), "squeeze_excite": (SqueezeExcite, 64, (1, 64, 56, 56)), "inception": (Inception, 64, (1, 64, 56, 56))}


def made(name):
    """A module in inference mode with random weights, also where they are initialized to zeros and ones, and its input."""
    if name in BLOCKS:
        kind, size, shape = BLOCKS[name]
        module = kind(size)
    else:
        import timm
        module = timm.create_model(name, pretrained=False)
        shape = (1, *module.default_cfg["input_size"])
    for part in module.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.running_mean.normal_(0, 0.1), part.running_var.uniform_(0.5, 1.5)
    for parameter in module.parameters():
        if parameter.dim() == 1:
            parameter.data.add_(torch.randn_like(parameter) * 0.1)
    return module.eval(), torch.randn(shape)


def compiled(module, x, **options):
    torch._dynamo.reset()
    begin = time.monotonic()
    function = torch.compile(module, **options)
    result = function(x)
    return function, result, time.monotonic() - begin


def measure(name, seconds):
    torch.manual_seed(0)
    module, x = made(name)
    lines = []
    plain, before, plain_seconds = compiled(module, x)
    with mock.patch.object(rulemill.torch.torch_backend, "_read", return_value=None):
        own, after, own_seconds = compiled(module, x, backend="rulemill", options={"log": lines.append, "time_limit": 600})
    difference = float((before - after).abs().max() / before.abs().max())
    if "rules fired" not in lines[0]:
        return f"| {name} | {plain_seconds:.1f} | {own_seconds:.1f} | unchanged | | | {lines[0]} |"
    ratios, end = [], time.monotonic() + seconds
    while len(ratios) < 5 or time.monotonic() < end:
        before = seconds_of(plain, x)
        compared = seconds_of(own, x)
        with mock.patch.object(rulemill.torch.torch_backend._Graph, "_same_weights", return_value=True):
            ratios.append((before / compared, before / seconds_of(own, x)))
    texts = ["{1:.2f} ({0:.2f}–{2:.2f})".format(*statistics.quantiles(each[1:], n=4)) for each in zip(*ratios)]
    return f"| {name} | {plain_seconds:.1f} | {own_seconds:.1f} | {' | '.join(texts)} | {difference:.0e} | {lines[0]} |"


def seconds_of(function, x):
    begin = time.process_time()
    function(x)
    return time.process_time() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=[*BLOCKS, *TIMM])
    parser.add_argument("--seconds", type=float, default=6, help="of timing each model")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, load {os.getloadavg()[0]:.1f}")
    for name in arguments.models:
        with torch.no_grad():
            print(measure(name, arguments.seconds), flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
