#!/usr/bin/env python3
"""`rulemill.torch`: verdicts on pairs of functions of PyTorch, what is claimed, and what is refused."""

import math
import subprocess
import sys
import unittest

from binary import ROOT, Case
from binary import rulemill as run
from package_case import numpy, rulemill

try:
    import torch
    from torch import nn
    from torch.nn import functional as F

    import rulemill.torch
except (ImportError, rulemill.Error):
    torch = None

RULES = ROOT / "tests" / "optimize" / "equal" / "fusions.rules"

if torch:
    torch.manual_seed(0)
    W, V, B = torch.randn(6, 8), torch.randn(6, 8), torch.randn(6)
    KERNEL, MEAN, VARIANCE = torch.randn(4, 3, 3, 3), torch.randn(4), torch.rand(4) + 0.5

    class Scaled(nn.Module):
        """A layer whose buffer is a factor."""

        def __init__(self, factor):
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(8, 6), nn.ReLU())
            self.register_buffer("factor", torch.tensor(factor))
            with torch.no_grad():
                self.inner[0].weight.copy_(W)
                self.inner[0].bias.copy_(B)

        def forward(self, x):
            return self.inner(x) * self.factor

    def scaled_in_the_weights(x):
        return F.relu(F.linear(x, W * 2, B * 2))

    def add_in_place(x):
        x += 1
        return x

    def normalized_later(x):
        s = (VARIANCE + 1e-3).rsqrt()
        return F.conv2d(x, KERNEL * s.view(-1, 1, 1, 1), -MEAN * s, padding=1)

    SAMPLE, TOTAL = (lambda: torch.randn(3, 8)), {"calls": 0}
    CALLS = nn.BatchNorm1d(8)

    def counted(x):
        TOTAL["calls"] += 1
        return x * TOTAL["calls"]

    def captures(x):
        return CALLS(x)

    # Verdict, before, after, shapes, and a part of the claim or of the place.
    PROVED = [
        ("equal", lambda x, w, v: x @ w + x @ v, lambda x, w, v: x @ (w + v), {"x": "m k", "w": "k n", "v": "k n"}, "m >= 1, k >= 1, n >= 1"),
        ("different", lambda x, w, v: x @ w + x @ v, lambda x, w, v: x @ (w - v), {"x": "m k", "w": "k n", "v": "k n"}, "aten.add.Tensor"),
        ("equal", lambda q, k, v: (q @ k.mT) @ v, lambda q, k, v: q @ (k.mT @ v), {"q": "b m d", "k": "b n d", "v": "b n d"}, "n >= 2"),
        ("equal", lambda x: (x * 2, x + x), lambda x: (x + x, 2 * x), {"x": "m"}, "x [m]"),
        ("equal", lambda x, y: x + y, lambda x, y: x + y.expand(x.shape), {"x": "m n", "y": "1 n"}, "y [1, n]"),
        ("equal", lambda x: x.view(2, -1).sum(), lambda x: x.sum(), {"x": "2 n"}, "x [2, n]"),
        ("equal", lambda x: x * 2 if x.shape[0] == 1 else x, lambda x: x, {"x": "m n"}, "m >= 2"),
        ("equal", lambda x: x if x.shape[0] >= 2 else x * 2, lambda x: x, {"x": "m n"}, "m >= 2"),
        ("different", lambda x: x, lambda x: (x + 0).T, {"x": "m m"}, ""),
        ("different", lambda x: (x, x + 1), lambda x: (x, x + 2), {"x": "m n"}, "aten.add.Tensor"),
        ("different", lambda x, y: (x, y), lambda x, y: (y, x), {"x": "m", "y": "m"}, ""),
        ("different", lambda x: x.sum(0), lambda x: x[0], {"x": "m n"}, "aten.sum"),
        ("different", lambda x: x.sum(0) / x.shape[0], lambda x: x.sum(0) / 5, {"x": "m n"}, ""),
        ("different", lambda x: F.layer_norm(x, (8,), eps=1e-5), lambda x: F.layer_norm(x, (8,), eps=1e-6), {"x": "m 8"}, "layer_norm"),
        ("different", lambda x: x, lambda x: x[None], {"x": "m"}, ""),
        ("different", lambda x: x[:50].sum(), lambda x: x.sum(), {"x": "m"}, "found by running both functions"),
    ] if torch else []

    # Verdict, before, after, arguments, open sizes.
    COMPARED = [
        ("equal", Scaled(2.0), scaled_in_the_weights, lambda: (SAMPLE(),), ({0: "n"},)),
        ("different", Scaled(2.0), Scaled(2.5), lambda: (SAMPLE(),), ({0: "n"},)),
        ("equal", lambda x: F.batch_norm(F.conv2d(x, KERNEL, padding=1), MEAN, VARIANCE, eps=1e-3), normalized_later,
         lambda: (torch.randn(2, 3, 5, 5),), None),
        ("equal", lambda d: {"y": d["a"] + d["b"]}, lambda d: {"y": d["b"] + d["a"]}, lambda: ({"a": SAMPLE(), "b": SAMPLE()},), None),
        ("different", lambda d: {"y": d["a"] - d["b"]}, lambda d: {"y": d["b"] - d["a"]}, lambda: ({"a": SAMPLE(), "b": SAMPLE()},), None),
        ("different", lambda x, y: x + y, lambda x, y: 2 * x, lambda: (lambda t: (t, t))(SAMPLE()), None),
        ("equal", lambda x, n: x * n, lambda x, n: x * 3, lambda: (SAMPLE(), 3), None),
        ("different", lambda x, n: x * n, lambda x, n: x * 3, lambda: (SAMPLE(), 4), None),
        ("different", lambda i: i // 2 * 2, lambda i: i, lambda: (torch.arange(5),), None),
        ("equal", nn.Dropout().eval() if torch else None, lambda x: x, lambda: (SAMPLE(),), None),
        ("different", lambda x: x @ x + 1, lambda x: x @ x + 2, lambda: (torch.randn(90, 90),), None),
        ("equal", lambda x: x * 2 if x.shape[0] > 5 else x, lambda x: x * 2, lambda: (torch.randn(8, 2),), ({0: torch.export.Dim("n", min=6)},)),
        ("not different", lambda x: x[:4], lambda x: x, lambda: (torch.randn(3, 2),), ({0: torch.export.Dim("n", max=4)},)),
        ("not different", lambda x: x.mean(0), lambda x: x.sum(0) / x.shape[0], lambda: (SAMPLE(),), ({0: "n"},)),
    ] if torch else []

    # A part of the message, and the call that is refused.
    REFUSED = [
        ("!= 9", lambda: prove(lambda x: x * 2 if x.shape[0] == 9 else x, lambda x: x, x="m n")),
        ("specialized it to be a constant", lambda: prove(lambda x: x / math.sqrt(x.shape[0]), lambda x: x, x="m n")),
        ("specialized it to be a constant", lambda: prove(lambda x: x * len(x), lambda x: x, x="m n")),
        ("% 2) == 0", lambda: equal(lambda x: x.view(2, -1), lambda x: x, torch.randn(6, 4), ({0: "m", 1: "n"},))),
        ("fails on the arguments", lambda: prove(lambda x, y: x + y, lambda x, y: y + x, x="m", y="n")),
        ("before: the exported model", lambda: prove(lambda x: x.squeeze(0), lambda x: x, x="m n")),
        ("the exported model has another result", lambda: prove(counted, lambda x: x, x="m")),
        ("different orders: x, w and w, x", lambda: prove(lambda x, w: x @ w, lambda w, x: x @ w, x="m k", w="k n")),
        ("expected the shapes of x, w, found those of x", lambda: prove(lambda x, w: x @ w, lambda x, w: x @ w, x="m k")),
        ("'m k-1'", lambda: prove(lambda x: x, lambda x: x, x="m k-1")),
        ("the same in 32 bits", lambda: prove(lambda x: x * 0.1, lambda x: x * 0.10000000149011612, x="n", dtype=torch.float64)),
        ("the same in 32 bits", lambda: prove(lambda x: F.leaky_relu(x, 0.1) - F.leaky_relu(x, 0.10000000149011612),
                                              lambda x: x - x, x="n", dtype=torch.float64)),
        ("changes x in place", lambda: equal(add_in_place, lambda x: x + 1, SAMPLE())),
        ("changes running_mean in place", lambda: equal(nn.BatchNorm1d(8), nn.BatchNorm1d(8), SAMPLE())),
        ("captures in place", lambda: equal(captures, lambda x: x, SAMPLE())),
        ("random numbers", lambda: equal(nn.Dropout(), lambda x: x, SAMPLE())),
        ("random numbers", lambda: equal(lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5), lambda x: x, torch.randn(1, 2, 3, 4))),
        ("data-dependent", lambda: equal(lambda x: x if x.sum() > 0 else -x, lambda x: x, SAMPLE())),
        ("different structures", lambda: equal(lambda x: {"y": x}, lambda x: {"z": x}, SAMPLE())),
        ("different constants", lambda: equal(lambda x: (x, 3), lambda x: (x, 4), SAMPLE())),
        ("different types", lambda: equal(lambda x: x, lambda x: x.double(), SAMPLE())),
        ("other parts than tensors", lambda: prove(lambda x: (x, x.shape[0]), lambda x: (x, 5), x="m n")),
        ("no tensor", lambda: equal(lambda x: 3, lambda x: 3, SAMPLE())),
        ("found ndarray", lambda: equal(lambda x: x, lambda x: x, (numpy.zeros(3),))),
        ("complex64", lambda: equal(lambda x: x, lambda x: x, torch.zeros(3, dtype=torch.complex64))),
        ("with a name", lambda: equal(lambda x: x, lambda x: x, SAMPLE(), ({0: torch.export.Dim.AUTO},))),
        ("expected the structure of the arguments", lambda: equal(lambda x: x, lambda x: x, SAMPLE(), ({0: "n"}, None))),
        ("before: expected a function", lambda: equal(3, lambda x: x, SAMPLE())),
    ] if torch else []

    prove, equal = rulemill.torch.prove, rulemill.torch.equal


class WithoutTorch(unittest.TestCase):
    def test_the_package_does_not_import_torch_and_its_absence_is_one_error(self):
        script = "import sys, rulemill; assert 'torch' not in sys.modules; sys.modules['torch'] = None; import rulemill.torch"
        process = subprocess.run([sys.executable, "-c", script], cwd=ROOT / "python", capture_output=True, text=True, check=False)
        self.assertIn("rulemill.errors.Error: rulemill.torch needs torch, onnx, onnxscript and onnxruntime", process.stderr)


@unittest.skipIf(torch is None, "SKIPPED: torch, onnxscript or onnxruntime is not installed")
class Functions(Case):

    def setUp(self):
        super().setUp()
        self.rules = self.folder / "rules"
        self.assert_works(run("rules", "import", RULES, "--out", self.rules))

    def assert_verdict(self, expected, found, text=""):
        allowed = ("equal", "not shown") if expected == "not different" else (expected,)
        self.assertIn(found.status, allowed, str(found))
        self.assertIn(text, str(found))
        if found.status == "different":
            shown = found.counterexample
            self.assertTrue(shown.confirmed or "eps" in found.place, str(found))
            self.assertEqual(len(shown.before), len(shown.after))

    def test_verdicts_for_all_sizes(self):
        for number, (expected, before, after, shapes, text) in enumerate(PROVED):
            with self.subTest(number):
                self.assert_verdict(expected, prove(before, after, rules=self.rules, **shapes), text)

    def test_verdicts_on_arguments(self):
        for number, (expected, before, after, args, sizes) in enumerate(COMPARED):
            with self.subTest(number):
                self.assert_verdict(expected, equal(before, after, args(), sizes, rules=self.rules))

    def test_other_types(self):
        for dtype in (torch.float64, torch.float16, torch.bfloat16):
            self.assert_verdict("equal", prove(lambda x: x + x, lambda x: 2 * x, x="n", dtype=dtype, rules=self.rules))
        self.assert_verdict("equal", prove(lambda i, j: ~(i & j), lambda i, j: ~i | ~j, i="n", j="n", dtype=torch.bool, rules=self.rules))
        self.assert_verdict("different", prove(lambda w, i: w[i], lambda w, i: w[i] * 2, w="7 n", i="m", dtype={"i": torch.int64}, rules=self.rules))

    def test_what_would_be_left_out_or_fixed_is_refused(self):
        for text, call in REFUSED:
            with self.subTest(text), self.assertRaises(rulemill.Error) as caught:
                call()
            self.assertNotIn("\n", caught.exception.message)
            self.assertIn(text, caught.exception.message)

    def test_modules_and_captured_tensors_are_not_changed(self):
        module = nn.BatchNorm1d(8)
        for function in (module, lambda x: module(x)):
            with self.assertRaises(rulemill.InputError):
                equal(function, lambda x: x, SAMPLE())
            self.assertEqual((module.training, int(module.num_batches_tracked), float(module.running_mean.abs().max())), (True, 0, 0.0))

    def test_a_counterexample_has_the_arguments_as_they_were_given(self):
        found = equal(lambda d, n, y: d["x"] - n * y, lambda d, n, y: n * y - d["x"], ({"x": SAMPLE()}, 2), kwargs={"y": SAMPLE()}, rules=self.rules)
        (given, number), keywords = found.counterexample.args, found.counterexample.kwargs
        self.assertEqual((found.status, number, sorted(keywords)), ("different", 2, ["y"]))
        torch.testing.assert_close(given["x"] - number * keywords["y"], found.counterexample.before[0])
        self.assertIn("torch_test.py", found.place)


if __name__ == "__main__":
    unittest.main()
