#!/usr/bin/env python3
"""torch.compile with the backend "rulemill" beside Inductor alone (docs/python.md), one thread, processor time:

    bench/torch_backend.py [MODEL...] [--training] [--seconds 6]

Each line: seconds to compile by Inductor and by rulemill (no cache), how many times as fast the result is (median of runs in turns, with
quartiles) where weights are compared at each call and where they are frozen, the largest difference of an output as a part of the largest
element, and what the backend says. MODEL: one of BLOCKS, or of timm. With --training, one of STEPS: a step computes a loss and all gradients,
and the line has the largest difference of these, and the bytes that are saved for the backward pass."""

import argparse
import copy
import os
import pathlib
import re
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


class Frozen(nn.Module):
    """Branches with kernels of these sizes, and the image itself if asked for, each with its frozen normalization, in fine-tuning."""

    def __init__(self, channels, sizes, has_identity=False):
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv2d(channels, channels, size, padding=[each // 2 for each in size], bias=False) for size in sizes)
        self.normalizations = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(len(sizes) + has_identity)).eval().requires_grad_(False)
        for norm in self.normalizations:
            norm.running_mean.normal_(0, 0.1), norm.running_var.uniform_(0.5, 1.5)
        self.has_identity = has_identity

    def forward(self, x):
        branches = [*(convolution(x) for convolution in self.convolutions), *([x] if self.has_identity else [])]
        return F.relu(sum(norm(branch) for norm, branch in zip(self.normalizations, branches)))


def repvgg_frozen(channels):
    return Frozen(channels, [(3, 3), (1, 1)], True)


def mobileone_frozen(channels):
    return Frozen(channels, [(3, 3)] * 4 + [(1, 1)], True)


def acnet_frozen(channels):
    return Frozen(channels, [(3, 3), (1, 3), (3, 1)])


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


class Layer(nn.Module):
    """A layer of an encoder, normalized before or after its parts."""

    def __init__(self, size, heads=4, is_post=False):
        super().__init__()
        self.qkv, self.out, self.heads, self.is_post = nn.Linear(size, 3 * size), nn.Linear(size, size), heads, is_post
        self.norms, self.inner, self.outer = nn.ModuleList(nn.LayerNorm(size) for _ in range(2)), nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def attention(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.out((torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, -1) @ v).transpose(1, 2).flatten(2))

    def forward(self, x):
        for part, norm in zip((self.attention, lambda x: self.outer(F.gelu(self.inner(x)))), self.norms):
            x = norm(x + part(x)) if self.is_post else x + part(norm(x))
        return x


class Bert(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(1000, size), nn.Embedding(128, size), nn.LayerNorm(size)
        self.layers, self.head = nn.Sequential(*(Layer(size, is_post=True) for _ in range(2))), nn.Linear(size, 10)

    def forward(self, ids):
        return self.head(self.layers(self.norm(self.words(ids) + self.places.weight[:ids.shape[1]]))[:, 0])


class ViT(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.patch, self.first, self.places = nn.Conv2d(3, size, 8, 8), nn.Parameter(torch.zeros(1, 1, size)), nn.Parameter(torch.zeros(1, 65, size))
        self.layers, self.norm, self.head = nn.Sequential(*(Layer(size) for _ in range(2))), nn.LayerNorm(size), nn.Linear(size, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.layers(torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.places))[:, 0])


class Mixer(nn.Module):
    def __init__(self, size, rows=64):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2))
        self.rows = nn.Sequential(nn.Linear(rows, 2 * rows), nn.GELU(), nn.Linear(2 * rows, rows))
        self.columns, self.head = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size)), nn.Linear(size, 10)

    def forward(self, x):
        x = x + self.rows(self.norms[0](x).mT).mT
        return self.head((x + self.columns(self.norms[1](x))).mean(1))


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Llama(nn.Module):
    """A decoder of two layers, all of whose rows have a loss."""

    def __init__(self, size, rows=64, heads=4):
        super().__init__()
        self.words, self.heads, self.norm, self.head = nn.Embedding(500, size), heads, RMSNorm(size), nn.Linear(size, 500, bias=False)
        self.layers = nn.ModuleList(nn.ModuleDict({
            **{name: nn.Linear(size, size, bias=False) for name in "qkvo"}, "first": RMSNorm(size), "second": RMSNorm(size),
            **{name: nn.Linear(size, 2 * size, bias=False) for name in ("gate", "up")}, "down": nn.Linear(2 * size, size, bias=False)}) for _ in range(2))
        angles = torch.arange(rows)[:, None] * 0.1 ** torch.arange(size // heads // 2)[None]
        for name, buffer in (("cos", angles.cos().repeat(1, 2)), ("sin", angles.sin().repeat(1, 2)), ("mask", torch.full((rows, rows), -1e9).triu(1))):
            self.register_buffer(name, buffer)

    def rotated(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            h = layer["first"](x)
            q, k, v = (layer[name](h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for name in "qkv")
            a = torch.softmax(self.rotated(q) @ self.rotated(k).mT * q.shape[-1] ** -0.5 + self.mask, -1)
            x = x + layer["o"]((a @ v).transpose(1, 2).flatten(2))
            h = layer["second"](x)
            x = x + layer["down"](F.silu(layer["gate"](h)) * layer["up"](h))
        return self.head(self.norm(x)).flatten(0, 1)


class LSTM(nn.Module):
    """A cell, four times."""

    def __init__(self, size):
        super().__init__()
        self.x, self.h, self.head, self.size = nn.Linear(size, 4 * size), nn.Linear(size, 4 * size), nn.Linear(size, 10), size

    def forward(self, x):
        h = c = x.new_zeros(len(x), self.size)
        for step in range(x.shape[1]):
            i, f, g, o = (self.x(x[:, step]) + self.h(h)).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return self.head(h)


class ResNet(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.parts = nn.Sequential(*(part for _ in range(2) for part in (nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU())))

    def forward(self, x):
        return F.relu(x + self.parts[:-1](x))


class DenseNet(nn.Module):
    def __init__(self, channels, growth=16):
        super().__init__()
        sizes = [channels + place * growth for place in range(2)]
        self.parts = nn.ModuleList(nn.Sequential(nn.BatchNorm2d(size), nn.ReLU(), nn.Conv2d(size, growth, 3, padding=1, bias=False)) for size in sizes)

    def forward(self, x):
        for part in self.parts:
            x = torch.cat([x, part(x)], 1)
        return x


class Perceptron(nn.Sequential):
    def __init__(self, size):
        super().__init__(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, 2 * size), nn.ReLU(), nn.Linear(2 * size, 10))


class LoRA(Adapter):
    """Whose base is frozen."""

    def __init__(self, size):
        super().__init__(size)
        self.base.requires_grad_(False)


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

STEPS = {"perceptron": (Perceptron, 256, (64, 256)), "lora": (LoRA, 768, (4, 64, 768)), "last_row": (LastRow, 192, (8, 197, 192)),
         "attention": (Layer, 128, (4, 64, 128)), "bert": (Bert, 128, (4, 64)), "vit": (ViT, 128, (4, 3, 64, 64)), "mixer": (Mixer, 128, (4, 64, 128)),
         "llama": (Llama, 128, (4, 64)), "lstm": (LSTM, 128, (32, 4, 128)), "repvgg_block": (RepVGG, 32, (4, 32, 28, 28)),
         "resnet_block": (ResNet, 32, (4, 32, 28, 28)), "densenet_block": (DenseNet, 32, (4, 32, 28, 28)), "inception": (Inception, 32, (4, 32, 28, 28)),
         "repvgg_frozen": (repvgg_frozen, 32, (4, 32, 28, 28)), "mobileone_frozen": (mobileone_frozen, 32, (4, 32, 28, 28)),
         "acnet_frozen": (acnet_frozen, 32, (4, 32, 28, 28))}


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


def step_of(name):
    """A module, and a function of its argument that gives a loss: cross-entropy of classes, or mean squares."""
    kind, size, shape = STEPS[name]
    module = kind(size)
    x = torch.randint(500, shape) if name in ("bert", "llama") else torch.randn(shape)
    with torch.no_grad():
        like = copy.deepcopy(module)(x)
    y = torch.randint(like.shape[1], like.shape[:1]) if like.dim() == 2 else torch.randn_like(like)
    return module, (lambda x: F.cross_entropy(module(x), y) if y.dim() == 1 else F.mse_loss(module(x), y)), x


def gradients(module, function, x):
    for parameter in module.parameters():
        parameter.grad = None
    function(x).backward()
    return [parameter.grad for parameter in module.parameters() if parameter.grad is not None]


def measure_step(name, seconds):
    torch.manual_seed(0)
    module, loss, x = step_of(name)
    lines, functions, times, found = [], [], [], []
    for options in ({}, {"backend": "rulemill", "options": {"log": lines.append, "time_limit": 300}}):
        torch._dynamo.reset()
        begin = time.monotonic()
        functions.append(torch.compile(loss, **options))
        found.append(gradients(module, functions[-1], x))
        times.append(time.monotonic() - begin)
    difference = max(float((a - b).abs().max() / b.abs().max().clamp_min(1e-6)) for a, b in zip(found[1], found[0]))
    ratios, end = [], time.monotonic() + seconds
    while len(ratios) < 9 or time.monotonic() < end:
        before, after = (seconds_of(lambda x, each=each: gradients(module, each, x), x) for each in functions)
        ratios.append(before / after)
    lower, median, upper = statistics.quantiles(ratios[1:], n=4)
    saved = re.search("backward pass: ([0-9]+), before ([0-9]+)", lines[0])
    kilobytes = " | ".join(f"{int(each) / 1000:.0f}" for each in saved.groups()[::-1]) if saved else " | "
    ratio = f"{median:.2f} ({lower:.2f}–{upper:.2f})" if saved else f"unchanged ({median:.2f})"
    return f"| {name} | {times[0]:.0f}, {times[1]:.0f} | {ratio} | {kilobytes} | {difference:.0e} | {lines[0].partition('rulemill: ')[2]} |"


def seconds_of(function, x):
    begin = time.process_time()
    function(x)
    return time.process_time() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--training", action="store_true", help="steps of training, of STEPS")
    parser.add_argument("--seconds", type=float, default=6, help="of timing each model")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, load {os.getloadavg()[0]:.1f}")
    for name in arguments.models or (STEPS if arguments.training else [*BLOCKS, *TIMM]):
        with torch.set_grad_enabled(arguments.training):
            print((measure_step if arguments.training else measure)(name, arguments.seconds), flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
