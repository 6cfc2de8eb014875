#!/usr/bin/env python3
"""`rulemill.torch.operators`: definitions of functions of PyTorch load, compute what these do, and are proved to be what is written out."""

import math
import re
import unittest

from binary import ROOT, Case
from package_case import numpy, rulemill

try:
    import torch
    from torch import nn
    from torch.nn import functional as F

    import rulemill.torch
except (ImportError, rulemill.Error):
    torch = None

if torch:
    torch.manual_seed(0)

    def gate(x, y):
        return x * torch.sigmoid(y)

    def swiglu(x, w, v):
        return F.silu(x @ w) * (x @ v)

    def mean_square_norm(x, g):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * g

    def layer_scale(x, f, g):
        return x + g * f

    def rotary_halves(x, c, s):
        a, b = x[..., :4], x[..., 4:]
        return torch.cat([a * c - b * s, a * s + b * c], -1)

    def hard_swish_parts(x):
        return x * torch.clamp(x + 3, 0, 6) / 6

    def hard_swish_node(x):
        return F.hardswish(x)

    def lora(x, w, b, a, u):
        return F.linear(x, w, b) + 0.5 * (x @ a) @ u

    def scores(q, k):
        return torch.softmax(q @ k.mT / math.sqrt(4), -1)

    class Layer(nn.Module):
        """A layer with weights of its own."""

        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 2)

        def forward(self, x):
            return torch.relu(self.inner(x))

    # Function, shapes, and the function as terms of rules.
    FUNCTIONS = [
        (gate, {"x": "m n", "y": "m n"}, "mul(x, sigmoid(y))"),
        (swiglu, {"x": "m k", "w": "k n", "v": "k n"}, "mul(mul(matmul(x, w), sigmoid(matmul(x, w))), matmul(x, v))"),
        (mean_square_norm, {"x": "m n", "g": "n"}, None),
        (layer_scale, {"x": "m n", "f": "m n", "g": "n"}, "add(x, mul(f, g; right=[2, 0]))"),
        (rotary_halves, {"x": "m 8", "c": "m 4", "s": "m 4"},
         "let h = split(x; axis=1, at=4)\n  {} => concat(sub(mul(h.first, c), mul(h.second, s)), add(mul(h.first, s), mul(h.second, c)); axis=1)"),
        (hard_swish_parts, {"x": "m n"}, "hard_swish(x)"),
        (hard_swish_node, {"x": "m n"}, "hard_swish(x)"),
        (lora, {"x": "m k", "w": "n k", "b": "n", "a": "k r", "u": "r n"},
         "add(add_row(matmul(x, transpose(w; perm=[1, 0])), b), matmul(scale(matmul(x, a), half()), u))"),
        (scores, {"q": "b m d", "k": "b n d"}, "softmax(scale(matmul(q, transpose(k; perm=[0, 2, 1])), half()))"),
    ]


@unittest.skipUnless(torch, "SKIPPED: torch, onnxscript or onnxruntime is not installed")
class Definitions(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "included.op").write_text(f'include "{ROOT / "data" / "operators"}"\n', encoding="utf-8")

    def assert_computes(self, function, text, shapes):
        name = text.partition("operator ")[2].partition("(")[0]
        least = 2 if "where 2 <=" in text else 1
        for size in (least, 3, 6):
            sizes = {word: size + number for number, word in enumerate(dict.fromkeys(" ".join(shapes.values()).split()))}
            sizes = {word: 1 if size == 1 else number for word, number in sizes.items()}
            tensors = [torch.randn([int(word) if word.isdigit() else sizes[word] for word in shape.split()], dtype=torch.float64)
                       for shape in shapes.values()]
            found = rulemill.evaluate(f"{name}({', '.join(shapes)})", dict(zip(shapes, (each.numpy() for each in tensors))), definitions=self.folder)
            numpy.testing.assert_allclose(found, function(*tensors).numpy(), rtol=1e-5, atol=1e-6)

    def test_definitions_load_and_compute_what_the_functions_do_and_are_proved(self):
        rules = []
        for function, shapes, terms in FUNCTIONS:
            with self.subTest(function.__name__):
                text = rulemill.torch.operators(function, out=self.folder / f"{function.__name__}.op", **shapes)
                self.assertEqual((self.folder / f"{function.__name__}.op").read_text(encoding="utf-8"), text)
                self.assert_computes(function, text, shapes)
                if terms:
                    given = ", ".join(f"{name}[{', '.join(shape.split())}]" for name, shape in shapes.items())
                    call = f"{function.__name__}({', '.join(shapes)})"
                    condition = re.search(r"(?m)^  where (.*)$", text)
                    rules.append(f"rule {function.__name__}_is({given})\n  {terms.format(call) if '=>' in terms else f'{call} => {terms}'}\n"
                                 + (f"  when {condition[1]}\n" if condition else ""))
        for rule in rules:
            with self.subTest(rule):
                proved = rulemill.prove(rule, definitions=self.folder)
                self.assertEqual(proved.status, "proved", proved.detail)
        wrong = rulemill.prove("rule wrong(x[m, n], y[m, n])\n  gate(x, y) => mul(y, sigmoid(x))", definitions=self.folder)
        self.assertEqual(wrong.status, "refuted")

    def test_weights_of_a_module_are_inputs(self):
        module = Layer()
        text = rulemill.torch.operators(module, x="m 3", out=self.folder / "layer.op")
        self.assertIn("operator layer(x[m, 3], inner_weight[2, 3], inner_bias[2])\n", text)
        x = torch.randn(4, 3)
        with torch.no_grad():
            values = {"x": x.numpy(), "w": module.inner.weight.numpy(), "b": module.inner.bias.numpy()}
            numpy.testing.assert_allclose(rulemill.evaluate("layer(x, w, b)", values, definitions=self.folder), module(x).numpy(), rtol=1e-5, atol=1e-6)

    def test_the_text_states_the_sizes_for_which_the_function_was_traced(self):
        text = rulemill.torch.operators(lambda x: x if x.shape[0] >= 2 else x * 2, name="not_of_one", x="m n")
        self.assertIn("operator not_of_one(x[m, n])\n  where 2 <= m\n  y[", text)

    def test_what_has_no_definition_is_an_error_with_the_operation(self):
        for function, shapes, dtype, message in [
                (lambda x: torch.topk(x, 2)[0], {"x": "m 8"}, torch.float32, r"f: node \S+ \(TopK\) has no term.*aten.topk"),
                (lambda x: x[x > 0], {"x": "m"}, torch.float32, r"f: (node \S+ \(NonZero\) has no term|torch cannot)"),
                (lambda i: i + 1, {"i": "m"}, torch.int64, r"f: node \S+ \(Add\) has no term.*aten.add"),
                (lambda x: x.masked_fill(x > 0, -math.inf), {"x": "m"}, torch.float32, "f.*infinite|f: node"),
                (lambda x, y: x * 2, {"x": "m", "y": "m"}, torch.float32, "f: its result does not depend on y")]:
            with self.subTest(message), self.assertRaisesRegex(rulemill.InputError, message) as caught:
                rulemill.torch.operators(function, name="f", dtype=dtype, **shapes)
            self.assertEqual(str(caught.exception).count("\n"), 0)
        for arguments, message in [({"name": "relu", "x": "m"}, "relu is an operator"), ({"x": "m"}, "the function has no name"),
                                   ({"name": "f", "z": "m"}, "expected the shapes of x"), ({"name": "f", "x": "m-n"}, "expected a shape")]:
            with self.subTest(message), self.assertRaisesRegex(rulemill.UsageError, message):
                rulemill.torch.operators(lambda x: x * 2, **arguments)
        with self.assertRaisesRegex(rulemill.UsageError, "expected a function"):
            rulemill.torch.operators(5, x="m")


if __name__ == "__main__":
    unittest.main()
