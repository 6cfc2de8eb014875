#!/usr/bin/env python3
"""`rulemill.torch.read`: exported programs as ONNX models that compute what PyTorch does, and calls that are refused. `operators check --torch`:
lines that are damaged are found."""

import pathlib
import re
import sys
import tempfile
import unittest

from binary import ROOT, Case
from binary import rulemill as run
from package_case import rulemill

try:
    import onnx
    import onnxruntime
    import torch
    from torch import nn
    from torch.export import Dim
    from torch.nn import functional as F

    import rulemill.torch
except (ImportError, rulemill.Error):
    torch = None

if torch:
    import torch._inductor.inductor_prims  # which registers some of `prims`

    torch.manual_seed(0)
    X, IMAGE, ROWS = torch.randn(3, 4), torch.randn(2, 3, 7, 9), {0: Dim("n")}
    INTS, TRUTH = torch.tensor([2, 0, 3, 1]), torch.tensor([True, False, True, False])

    class Function(nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, *tensors):
            return self.function(*tensors)

    READ = [
        (lambda x: x * 2 + x / 3 - 1, X),
        (lambda x, k: x * k + k / 2, X, INTS),  # PyTorch promotes whole numbers
        (lambda x, c: torch.where(c, x, -x) * c, X, TRUTH),
        (lambda x: torch.add(x, x, alpha=3) - torch.sub(1, x, alpha=0.5), X),
        (lambda x: x.softmax(-1) + x.log_softmax(0) + F.softplus(x) + F.gelu(x, approximate="tanh"), X),
        (lambda x: (x.sum(), x.mean(-1, keepdim=True), x.amax((0, 1)), x.max(1)[0], x.argmin(-2)), X),
        (lambda x: (x[:, 1:-1], x[-1], x[::2, None], x.T.reshape(2, -1), x.flip(1), x.repeat(2, 1)), X),
        (lambda x: (x.logsumexp(-1), x.logsumexp((0, 1), keepdim=True)), X),
        (lambda x: torch.split(x, [1, 2, 1], -1), X),
        (lambda x, w: torch.addmm(x, x, w, beta=0.5, alpha=2), X, torch.randn(4, 4)),
        (lambda x, c: torch.addmm(c, x, x.T.contiguous(), beta=2), X, torch.randn(3)),
        (lambda x: ((x > 0).float(), x != x.round(), x.fmod(0.7), torch.remainder(x, 0.7)), X),
        (lambda x: (x.double() * 0.5, (x * 8).to(torch.int64)), X),
        (nn.Conv2d(3, 6, (3, 2), stride=2, padding=(1, 0), dilation=(1, 2), groups=3), IMAGE),
        (nn.ConvTranspose2d(3, 2, 3, stride=2, padding=1, output_padding=1, bias=False), IMAGE),
        (nn.Sequential(nn.BatchNorm2d(3), nn.MaxPool2d(3, padding=1, ceil_mode=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2)), IMAGE),
        (nn.Sequential(nn.AvgPool2d(3, padding=1), nn.GroupNorm(3, 3)), IMAGE),
        (nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False), IMAGE),
        (nn.Sequential(nn.LayerNorm(4), nn.Hardswish(), nn.SELU()), X),
        (lambda q, k: F.scaled_dot_product_attention(q, k, k), torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4)),
        (lambda x: (x, x, x + 0), X),
        (lambda x: x.masked_fill(torch.arange(4) > torch.arange(3)[:, None], 0.5) + torch.full_like(x, 2) * torch.tensor([1, 2, 3, 4]), X),
        (lambda x: torch.arange(0, 1, 0.25) * x + torch.zeros_like(x), X),
        (lambda x: ((x > 0).any(), (x > 0).any(1), (x > 0).any(0, keepdim=True)), X),
        (nn.Sequential(nn.InstanceNorm2d(3), nn.InstanceNorm2d(3, affine=True), nn.Linear(9, 5)), IMAGE),
        (lambda x, w, v: (x @ w, x @ v, v @ v, F.linear(v, w.T)), IMAGE[0], torch.randn(9, 4), IMAGE[0, 0, 0]),
        (lambda x: (F.hardswish(x), F.hardsigmoid(x), F.mish(x), F.celu(x)), 4 * X),
        (lambda q, k, m: F.scaled_dot_product_attention(q, k, k, attn_mask=m), torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4), torch.randn(3, 5)),
        (lambda q, k: F.scaled_dot_product_attention(q, k, k, attn_mask=torch.ones(3, 5).tril().bool()), torch.randn(2, 3, 4), torch.randn(2, 5, 4)),
        (lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), torch.randn(2, 2, 3, 4)),
        (lambda x: (F.pad(x, (1, 2)), F.pad(x, (1, 0, 0, 2), value=0.5), F.pad(x[None], (0, 1)), F.pad(x[None], (2, 0, 1, 3))), X),
        (lambda x: (F.pad(x, (1, 2, 0, 3), value=-1), F.pad(x[None], (1, 0, 2, 1, 0, 3))), IMAGE),
        (lambda x: (*torch.var_mean(x, (2, 3), correction=0, keepdim=True), *torch.var_mean(x, (1, 2, 3), correction=0, keepdim=True),
                    *torch.var_mean(x, 3, correction=0, keepdim=True)), IMAGE),
        # Calls that Inductor's passes write.
        (lambda x: torch.ops.prims._low_memory_max_pool_with_offsets(x, [3, 2], [2, 2], [1, 0], [1, 1], False)[0], IMAGE),
        (lambda x: torch.ops.prims.inductor_force_stride_order(x * 2, [1, 3]), X),
        (lambda x: (torch.ops.prims.fma(x, x, x), torch.ops.prims.rev(x, [1])), X),
    ]
    DYNAMIC = [
        (lambda x: x.sum(0) / x.shape[0], X),
        (lambda x: x.reshape(-1) * x.shape[0], X),
        (lambda x: torch.cat([x, x])[1:], X),
        (lambda x: x[:, None].expand(-1, x.shape[0], -1).reshape(x.shape[0] * x.shape[0], 4), X),
    ]
    # Functions, and a part of the message.
    REFUSED = [
        (lambda x: x.unfold(1, 2, 1), X, r"aten\.unfold\.default .*no operator maps to aten\.unfold\.default"),
        (lambda k: k + 1, INTS, r"aten\.add\.Tensor"),
        (lambda x: x[:, 4:].sum(1), X, "dimension of size 0"),
        (lambda x: x * (1 + 2j), X, "complex64"),
        (lambda x: x.add_(1), X, "it changes .* in place"),
        (lambda x: F.avg_pool2d(x, 2, divisor_override=3), IMAGE, r"aten\.avg_pool2d\.default .*divisor_override"),
    ]


@unittest.skipIf(torch is None, "SKIPPED: torch, onnx, onnxscript or onnxruntime is not installed (CONTRIBUTING.md)")
class Programs(unittest.TestCase):
    def read(self, function, *tensors, shapes=None):
        module = function if isinstance(function, nn.Module) else Function(function)
        program = torch.export.export(module.eval(), tensors, dynamic_shapes=shapes, strict=False)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            rulemill.torch.read(program, path)
            model = onnx.load(str(path))
        onnx.checker.check_model(model)
        self.assertEqual({node.domain for node in model.graph.node}, {""})
        return module, model

    def compare(self, module, model, tensors):
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        found = session.run(None, {each.name: tensor.numpy() for each, tensor in zip(session.get_inputs(), tensors)})
        with torch.no_grad():
            expected = module(*tensors)
        expected = [expected] if isinstance(expected, torch.Tensor) else list(expected)
        self.assertEqual(len(found), len(expected))
        for mine, theirs in zip(map(torch.as_tensor, found), expected):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)

    def test_a_program_that_is_read_computes_what_it_did(self):
        for number, (function, *tensors) in enumerate(READ):
            with self.subTest(number=number):
                self.compare(*self.read(function, *tensors), tensors)

    def test_named_sizes_stay_open(self):
        for number, (function, *tensors) in enumerate(DYNAMIC):
            with self.subTest(number=number):
                module, model = self.read(Function(function), *tensors, shapes=(tuple(ROWS for _ in tensors),))
                for rows in (2, 3, 7):
                    self.compare(module, model, [torch.randn(rows, *tensor.shape[1:]) for tensor in tensors])

    def test_own_definitions_are_read(self):
        def length(x, y):
            return torch.hypot(x, y)

        def written_out(x, y):
            return (x * x + y * y).sqrt()

        with tempfile.TemporaryDirectory() as folder:
            own = f'include "{ROOT}/data/operators"\noperator length(x[d...], y[d...])\n  is sqrt(add(square(x), square(y)))\n  aten hypot.default\n'
            (pathlib.Path(folder) / "own.op").write_text(own, encoding="utf-8")
            program, path = torch.export.export(Function(length), (X, X + 1), strict=False), pathlib.Path(folder) / "model.onnx"
            with self.assertRaises(rulemill.torch.NotRead):
                rulemill.torch.read(program, path)
            rulemill.torch.read(program, path, folder)
            self.compare(length, onnx.load(str(path)), [X, X + 1])
            self.assertEqual(rulemill.torch.equal(length, written_out, (X, X + 1), definitions=folder).status, "equal")
            self.assertEqual(rulemill.torch.prove(length, written_out, x="m n", y="m n", definitions=folder).status, "equal")
            wrong = rulemill.torch.equal(length, lambda x, y: (x * x - y * y).abs().sqrt(), (X, X + 1), definitions=folder)
            self.assertEqual(wrong.status, "different")

    def test_a_call_without_a_definition_is_named(self):
        for function, tensor, message in REFUSED:
            with self.subTest(message), self.assertRaises(rulemill.torch.NotRead) as raised:
                self.read(function, tensor)
            self.assertRegex(raised.exception.message, message)

    def test_quotients_of_sizes_that_may_be_negative_are_named(self):
        shapes, tensor = ((ROWS, ), ), torch.randn(21)
        module, model = self.read(lambda x: x * (x.shape[0] // 2), tensor, shapes=shapes)
        self.compare(module, model, [torch.randn(5)])
        with self.assertRaises(rulemill.torch.NotRead) as raised:
            self.read(lambda x: x * ((x.shape[0] - 5) // 2), tensor, shapes=shapes)
        self.assertIn("quotients of sizes", raised.exception.message)


@unittest.skipIf(torch is None, "SKIPPED: torch, onnx, onnxscript or onnxruntime is not installed (CONTRIBUTING.md)")
class Check(Case):
    LINES = "operator twice(x[d...])\n  y[i... < d...] = 2 * x[i...]\n"

    def check(self, lines):
        definitions = self.folder / "definitions"
        definitions.mkdir(exist_ok=True)
        (definitions / "own.op").write_text(lines, encoding="utf-8")
        return run("operators", "check", "--torch", "--definitions", definitions, env={"RULEMILL_PYTHON": sys.executable})

    def test_each_line_of_some_definitions_agrees_and_a_damaged_one_does_not(self):
        texts = {name: (ROOT / "data" / "operators" / name).read_text(encoding="utf-8") for name in ("elementwise.op", "linear.op", "layout.op")}
        agreed = self.check("\n".join(texts.values()))
        self.assertEqual(agreed.returncode, 0, agreed.stdout + agreed.stderr)
        self.assertRegex(agreed.stdout, r"\d+ nodes agree, 0 mappings differ, 0 could not")
        for name, before, after in (("elementwise.op", "aten sub.Tensor(a, b, const 1.0)", "aten sub.Tensor(b, a, const 1.0)"),
                                    ("elementwise.op", "aten tanh.default", "aten sinh.default"),
                                    ("layout.op", "aten cat.default(a, b, ...)", "aten cat.default(b, a)")):
            with self.subTest(after):
                self.assertIn(before, texts[name])
                damaged = self.check("\n".join({**texts, name: texts[name].replace(before, after)}.values()))
                self.assertEqual(damaged.returncode, 1, damaged.stdout)
                self.assertIn(re.search(r"aten (\S+?)(\(|$)", after)[1], damaged.stdout)

    def test_a_name_that_torch_lacks_is_an_error_with_its_place(self):
        for line, message in (("aten twice.default", "PyTorch .* does not have operator twice.default"),
                              ("aten relu.default {slope = 1}", "PyTorch .* does not have attribute slope of operator relu"),
                              ("aten relu", "expected '.' after the operator of ATen, before its overload")):
            with self.subTest(line):
                self.assertRegex(self.check(self.LINES + f"  {line}\n").stderr, rf"own\.op:\d:\d+: {message}")


if __name__ == "__main__":
    unittest.main()
