#!/usr/bin/env python3
"""The backend "rulemill" of torch.compile: results, forms and side effects are those of eager functions, and what rules write is called
as onnxruntime computes it."""

import contextlib
import copy
import os
import unittest
from unittest import mock

from binary import Case
from binary import rulemill as run
from package_case import numpy, onnx, rulemill

try:
    import onnxruntime
    import torch
    from torch import nn
    from torch._inductor.compile_fx import compile_fx as COMPILE
    from torch.nn import functional as F

    import rulemill.torch
    from rulemill import torch_backend, torch_operators, torch_rewriting
except (ImportError, rulemill.Error):
    torch = None

RULES = """
rule sum_of_products(x[d..., m, k], w[k, n], v[k, n])
  add(linear(x, w), linear(x, v)) => linear(x, add(w, v))
rule sum_of_matrices(x:2, w:2, v:2)
  add(matmul(x, w), matmul(x, v)) => matmul(x, add(w, v))
rule sum_of_convolutions(x:4, k:4, l:4, b:1, c:1)
  add(add_channel(conv2d(x, k), b), add_channel(conv2d(x, l), c)) => add_channel(conv2d(x, add(k, l)), add(b, c))
"""

if torch:
    torch.manual_seed(0)
    random = numpy.random.default_rng(0)

    def R(*shape):
        return random.standard_normal(shape).astype(numpy.float32)

    def I(*values):  # noqa: E743
        return numpy.array(values, numpy.int64)

    def S(*values):
        return numpy.array(values, numpy.float32).reshape(() if len(values) == 1 else (len(values),))

    # Operator, inputs, attributes.
    NODES = [
        ("Add", (R(2, 3, 5), R(3, 1))), ("Add", (R(5), R())), ("Sub", (R(2, 1), R(1, 3))), ("Mul", (R(1), R(2, 3))),
        ("Div", (R(2, 3), R(3) + 3)), ("Div", (I(-7, 7, 5), I(2, -2, 3))), ("Abs", (R(3),)), ("And", (R(3) > 0, R(3) > 0)), ("Or", (R(3) > 0, R(3) > 0)), ("Not", (R(3) > 0,)), ("Log", (abs(R(3)),)),
        ("Equal", (I(1, 2), I(1, 3))), ("Greater", (R(3), R(1))), ("GreaterOrEqual", (R(3), R(1))), ("Less", (R(3), R(1))), ("LessOrEqual", (R(3), R(1))),
        ("Where", (R(3) > 0, R(2, 3), R(1))), ("GatherElements", (R(2, 3), I(0, -1, 1, 1).reshape(2, 2)), dict(axis=1)), ("CastLike", (R(3), R(2))),
        ("AveragePool", (R(1, 2, 7, 5),), dict(kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], count_include_pad=1)),
        ("AveragePool", (R(1, 2, 7, 5),), dict(kernel_shape=[3, 3], pads=[1] * 4)), ("AveragePool", (R(1, 2, 7),), dict(kernel_shape=[3], pads=[0, 2])),
        ("AveragePool", (R(1, 2, 5, 4, 6),), dict(kernel_shape=[2, 2, 2], strides=[2, 2, 3])),
        ("AveragePool", (R(1, 2, 7, 6),), dict(kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_UPPER")),
        ("AveragePool", (R(1, 2, 7, 6),), dict(kernel_shape=[3, 2], strides=[2, 3], auto_pad="SAME_LOWER")),
        ("BatchNormalization", (R(2, 3, 4), R(3), R(3), R(3), abs(R(3))), dict(epsilon=1e-3)),
        ("BatchNormalization", (R(2, 3, 4, 2), R(3), R(3), R(3), abs(R(3)))),
        ("Clip", (R(3, 4), S(-0.5), S(0.5))), ("Clip", (R(3, 4), None, S(0.5))), ("Clip", (R(3, 4), S(0))),
        ("Concat", (R(2, 3), R(2, 1), R(2, 4)), dict(axis=-1)), ("Concat", (R(2, 3),), dict(axis=0)),
        ("Conv", (R(1, 4, 7, 6), R(6, 2, 3, 2), R(6)), dict(group=2, strides=[2, 1], pads=[1, 0, 1, 0], dilations=[1, 2])),
        ("Conv", (R(2, 3, 7), R(5, 3, 3)), dict(pads=[2, 0])), ("Conv", (R(1, 2, 4, 5, 3), R(3, 2, 1, 2, 3)), dict(pads=[0, 1, 1, 0, 1, 1])),
        ("Conv", (R(1, 2, 7, 6), R(3, 2, 4, 3)), dict(auto_pad="SAME_UPPER", strides=[2, 3])),
        ("Conv", (R(1, 2, 7, 6), R(3, 2, 4, 2)), dict(auto_pad="SAME_LOWER")), ("Conv", (R(1, 2, 7, 6), R(3, 2, 4, 2)), dict(auto_pad="VALID")),
        ("ConvTranspose", (R(1, 4, 5, 3), R(4, 3, 3, 2), R(6)), dict(group=2, strides=[2, 3], pads=[1, 0, 1, 0], output_padding=[1, 1])),
        ("ConvTranspose", (R(1, 2, 5), R(2, 3, 4)), dict(strides=[3], pads=[2, 1], output_padding=[1], dilations=[2])),
        ("Erf", (R(3),)), ("Exp", (R(3),)), ("Expand", (R(3, 1), I(2, 1, 4))), ("Expand", (R(2, 3), I(1))),
        ("Flatten", (R(2, 3, 4),)), ("Flatten", (R(2, 3, 4),), dict(axis=0)), ("Flatten", (R(2, 3, 4),), dict(axis=-1)),
        ("Gather", (R(4, 5), I(-2).reshape(())), dict(axis=1)), ("Gather", (R(4, 5), I(-1))), ("Gather", (R(4, 5, 2), I(2).reshape(1, 1)), dict(axis=1)),
        ("Gather", (R(4, 5), I(3, -4, 0, 1).reshape(2, 2)), dict(axis=-1)), ("Gelu", (R(9),)), ("Gelu", (R(9),), dict(approximate="tanh")),
        ("Gemm", (R(3, 4), R(4, 2), R(2))), ("Gemm", (R(4, 3), R(2, 4), R(3, 1)), dict(transA=1, transB=1, alpha=0.5, beta=2.0)),
        ("Gemm", (R(3, 4), R(4, 2)), dict(alpha=0.5)), ("Gemm", (R(3, 4), R(4, 2), R())),
        ("GlobalAveragePool", (R(2, 3, 5, 4),)), ("GlobalAveragePool", (R(2, 3, 5),)), ("GlobalMaxPool", (R(2, 3, 5, 4),)),
        ("HardSigmoid", (R(30) * 4,)), ("HardSigmoid", (R(30) * 4,), dict(alpha=1 / 6, beta=0.4)), ("HardSwish", (R(30) * 4,)),
        ("LayerNormalization", (R(2, 3, 5), R(5), R(5))), ("LayerNormalization", (R(2, 3, 5), R(3, 5)), dict(axis=1, epsilon=1e-2)),
        ("LayerNormalization", (R(2, 3, 5), R(1), R(5)), dict(axis=-1)), ("RMSNormalization", (R(2, 3, 5), R(5))),
        ("RMSNormalization", (R(2, 3, 5), R(3, 5)), dict(axis=1, epsilon=1e-2)), ("MatMul", (R(2, 3), R(3, 5))),
        ("MatMul", (R(4, 1, 2, 3), R(6, 3, 5))), ("MatMul", (R(3), R(3, 5))), ("MatMul", (R(2, 3), R(3))),
        ("Max", (R(3), R(2, 3), R(1))), ("Max", (R(3),)), ("Min", (R(3), R(2, 1))), ("Sum", (R(3), R(2, 1), R(2, 3))),
        ("MaxPool", (R(1, 2, 7, 5),), dict(kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])),
        ("MaxPool", (R(1, 2, 7, 5) - 9,), dict(kernel_shape=[2, 2], pads=[1] * 4, dilations=[2, 1])),
        ("MaxPool", (R(1, 2, 7),), dict(kernel_shape=[3], strides=[2], auto_pad="SAME_UPPER")),
        ("MaxPool", (R(1, 2, 7, 4, 5),), dict(kernel_shape=[2, 2, 2])), ("MaxPool", (R(1, 2, 7, 7) - 9,), dict(kernel_shape=[3, 3], pads=[2] * 4)),
        ("Neg", (R(3),)), ("Pad", (R(2, 3, 4), I(0, 1, 0, 0, 2, 3), S(7))), ("Pad", (R(2, 3, 4), I(0, -1, 0, 0, 0, 3))),
        ("Pad", (R(2, 3, 4), I(1, 2), None, I(-1))), ("Pad", (R(2, 3, 4), I(1, 0, 2, 3), None, I(2, 0))),
        ("Pow", (abs(R(3)), S(2))), ("Pow", (R(3), S(3).reshape(1))), ("Pow", (abs(R(2, 3)), R(3))), ("Reciprocal", (R(3),)),
        ("ReduceMax", (R(2, 3, 4), I(-1, 0))), ("ReduceMax", (R(2, 3, 4),), dict(keepdims=0)), ("ReduceMean", (R(2, 3, 4), I(1)), dict(keepdims=0)),
        ("ReduceSum", (R(2, 3, 4), I(2))), ("ReduceSum", (R(2, 3, 4),), dict(noop_with_empty_axes=1)), ("ReduceSum", (R(2, 3, 4), I())),
        ("Relu", (R(9),)), ("Reshape", (R(2, 3, 4), I(0, -1))), ("Reshape", (R(2, 3, 4), I(4, 0, -1))), ("Reshape", (R(2, 3, 4), I(-1, 4)), dict(allowzero=1)),
        ("Resize", (R(1, 2, 3, 5), None, S(1, 1, 3, 2)), dict(coordinate_transformation_mode="asymmetric", nearest_mode="floor")),
        ("Resize", (R(1, 2, 3, 5), None, S(1, 1, 3, 2))), ("Resize", (R(1, 2, 3, 5), None, None, I(1, 2, 7, 4)), dict(mode="linear")),
        ("Resize", (R(1, 2, 3, 5), None, None, I(1, 2, 1, 9)), dict(mode="linear")), ("Resize", (R(1, 2, 3, 5), None, None, I(1, 2, 7, 5)), dict(mode="cubic")),
        ("Resize", (R(1, 2, 3, 5), None, S(1, 1, 2, 3)), dict(mode="cubic")), ("Sigmoid", (R(9),)), ("Softmax", (R(2, 3, 4),)),
        ("Softmax", (R(2, 3, 4),), dict(axis=0)), ("Split", (R(2, 5), I(2, 3)), dict(axis=1)), ("Split", (R(5, 2),), dict(num_outputs=2)),
        ("Split", (R(2, 6),), dict(axis=-1, num_outputs=2)), ("Sqrt", (abs(R(3)),)), ("Squeeze", (R(1, 3, 1), I(-1))), ("Squeeze", (R(1, 3, 1),)),
        ("Slice", (R(5, 7), I(-3, 1), I(9, -1), I(0, 1), I(1, 2))), ("Slice", (R(5, 7), I(1, -2), I(2**63 - 1, 100))),
        ("Slice", (R(5, 7, 3), I(0), I(-1), I(-2))), ("Tanh", (R(9),)), ("Transpose", (R(2, 3, 4),)), ("Transpose", (R(2, 3, 4),), dict(perm=[1, 0, 2])),
        ("Unsqueeze", (R(3), I(0, -1))), ("Unsqueeze", (R(3, 2), I(3, 1)))]

    class Both(nn.Module):
        """Two products of one matrix, which a rule makes one."""

        def __init__(self):
            super().__init__()
            self.w, self.v = nn.Parameter(torch.randn(32, 24)), nn.Parameter(torch.randn(32, 24))
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            return x @ self.w + x @ self.v

    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.norm = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)

        def forward(self, x):
            return self.norm(self.first(x) + self.second(x))

    both, branches = Both(), Branches().eval()

    def changed(x, change):
        change(x)
        return both(x)

    def counted(x):
        both.calls += 1
        return both(x) * both.calls

    def under(context, function):
        with context:
            return function()

    def matrix():
        return torch.randn(16, 32)

    def image():
        return torch.randn(2, 8, 9, 7)

    # What the backend says, a function, and its arguments; FIRED: a rule fired.
    FIRED, IN_PLACE = "rules fired: sum_of", "in place"
    FUNCTIONS = [
        (FIRED, both), (FIRED, branches, image), (FIRED, branches, lambda: image().to(memory_format=torch.channels_last)),
        (FIRED, branches, lambda: image().transpose(2, 3)), (FIRED, branches, lambda: torch.randn(4, 8, 9, 7)[::2]),
        (FIRED, both, lambda: torch.randn(32, 16).t()), (FIRED, both, lambda: torch.randn(3, 5, 32)), (FIRED, copy.deepcopy(both).double(), lambda: matrix().double()),
        (IN_PLACE, copy.deepcopy(branches).train(), image), (IN_PLACE, counted), (IN_PLACE, lambda x: changed(x, lambda x: x.add_(1))),
        (IN_PLACE, lambda x: changed(x, lambda x: x[0].mul_(2))), (FIRED, lambda x: both(x).relu_()), (FIRED, lambda x: (x.t(), both(x))),
        (FIRED, lambda x: (lambda y: (y, y.view(-1), y[0]))(both(x))), (FIRED, lambda x: (lambda y: (y, y))(both(x))),
        (FIRED, lambda x: (both(x), torch.ones(3), 3, None)), (FIRED, lambda x: (x, both(x), x.detach())), (FIRED, lambda x: {"a": both(x), "b": [x * 2]}),
        (FIRED, lambda x: (lambda y: (y > 0, y.argmax(-1), y.long()))(both(x))), ("", lambda x: torch.where(both(x) > 0, both(x), 0.0)),
        ("random numbers", lambda x: both(x) + torch.rand(24)), ("random numbers", lambda x: F.dropout(both(x), 0.5, True)),
        (FIRED, lambda x: F.dropout(both(x), 0.5, False)), ("autocast", lambda x: under(torch.autocast("cpu", torch.bfloat16), lambda: both(x))),
        ("gradients", lambda x: under(torch.enable_grad(), lambda: both(x)) * 2), ("", lambda x: torch.view_as_complex(both(x).view(16, 12, 2))),
        ("", lambda x: torch.fft.fft(both(x))), ("is empty", both, lambda: torch.randn(0, 32)), ("", lambda x: both(x[:0])),
        ("", lambda x: (both(x).sum(), both(x).mean())), (FIRED, lambda x: (both(x).t(), both(x)[:, ::2])), (FIRED, lambda x: both(x)[0].expand(2, -1)),
        ("", lambda x: (both(x) / 0, both(x) * float("inf"))), (FIRED, lambda x: torch.topk(both(x), 2)), (FIRED, lambda x: torch.split(both(x), 7, -1)),
        (FIRED, lambda x: (lambda y: (y.copy_(y + 1), y + 0))(both(x))), ("", lambda x: (x * 100).to(torch.uint8) + (x * 100).to(torch.int8)),
        ("", lambda x: (lambda i: (i // 3, i % 3, i * i))((x * 10).to(torch.int32))), ("", lambda x: (x > 0) & (x < 1) | ~(x > 0)),
        (FIRED, lambda x: torch.as_strided(both(x), (3, 3), (1, 2))), (FIRED, lambda x: (both(x).t().contiguous(), both(x) + 0)),
        (FIRED, lambda x, y: both(x) + both(y), matrix, matrix), (IN_PLACE, lambda x, y: changed(x, lambda _: y.add_(1)), matrix, matrix),
        ("", lambda x: both(x) if x.sum() > 1000 else both(x) * 2)]


@unittest.skipIf(torch is None, "SKIPPED: torch, onnxscript or onnxruntime is not installed")
class Rows(unittest.TestCase):
    def test_each_operator_is_called_as_onnxruntime_computes_it(self):
        self.assertEqual({node[0] for node in NODES}, {name for name in torch_operators.OPERATORS if not name.startswith("rulemill.torch.")})  # of training
        for operator, arrays, *rest in NODES:
            names = [f"x{place}" if array is not None else "" for place, array in enumerate(arrays)]
            node = onnx.helper.make_node(operator, names, ["y", "z"][:2 if operator == "Split" else 1], **dict(*rest))
            with self.subTest(str(node)):
                kind = onnx.helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
                stored = [onnx.numpy_helper.from_array(array, name) for name, array in zip(names, arrays) if name]
                outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output]
                graph = onnx.helper.make_graph([node], "g", [onnx.helper.make_tensor_value_info("x0", kind, arrays[0].shape)], outputs, stored[1:])
                opset = 23 if operator == "RMSNormalization" else 20
                model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)
                expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x0": arrays[0]})
                attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
                attributes = {name: value.decode() if isinstance(value, bytes) else value for name, value in attributes.items()}
                numbers = [None if array is None or place == 0 else array.reshape(-1).tolist() for place, array in enumerate(arrays)]
                tensors = [None if array is None else torch.from_numpy(array.copy()) for array in arrays]
                found = torch_operators.call(torch_operators.OnnxNode(operator, attributes, len(node.output), numbers), tensors)
                for theirs, mine in zip(expected, found):
                    torch.testing.assert_close(mine, torch.from_numpy(theirs), rtol=1e-5, atol=1e-5)


@unittest.skipIf(torch is None, "SKIPPED: torch, onnxscript or onnxruntime is not installed")
class Backend(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "sums.rules").write_text(RULES, encoding="utf-8")
        self.assert_works(run("rules", "import", self.folder / "sums.rules", "--out", self.folder / "sums"))
        self.lines = []
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        stack.enter_context(mock.patch.dict(os.environ, {"RULEMILL_CACHE": str(self.folder / "cache")}))
        self.inductor = stack.enter_context(mock.patch("torch._inductor.compile_fx.compile_fx", side_effect=lambda graph, inputs, **_: graph.forward))
        stack.enter_context(torch.no_grad())
        torch_backend._KEPT.clear()

    def compiled(self, function, **options):
        torch._dynamo.reset()
        self.lines.clear()
        return torch.compile(function, backend="rulemill", options={"rules": self.folder / "sums", "log": self.lines.append, **options})

    @staticmethod
    def forms(results, inputs):
        """Types, strides, and which earlier tensor has a tensor's memory."""
        tensors = [leaf for leaf in torch.utils._pytree.tree_leaves((inputs, results)) if isinstance(leaf, torch.Tensor)]
        memory = [tensor.untyped_storage().data_ptr() for tensor in tensors]
        return [(tensor.shape, tensor.dtype, tensor.stride(), tensor.storage_offset(), tensor.requires_grad, tensor.numel() and memory.index(place))
                for tensor, place in zip(tensors, memory)]

    def test_results_forms_and_side_effects_are_those_of_the_function(self):
        for number, (text, function, *arguments) in enumerate(FUNCTIONS):
            with self.subTest(number):
                own, module = self.compiled(function), isinstance(function, nn.Module)
                state = copy.deepcopy(function.state_dict() if module else both.state_dict())
                for seed in range(2):
                    torch.manual_seed(seed)
                    given = [make() for make in arguments or [matrix]]
                    first, second = copy.deepcopy(given), copy.deepcopy(given)
                    after = own(*second)
                    changed_state = copy.deepcopy(function.state_dict() if module else both.state_dict())
                    (function if module else both).load_state_dict(state)
                    torch.manual_seed(seed)
                    [make() for make in arguments or [matrix]]
                    before = function(*first)
                    self.assertEqual(self.forms(before, first), self.forms(after, second))
                    torch.testing.assert_close([after, second], [before, first], rtol=1e-4, atol=1e-4, equal_nan=True)
                    torch.testing.assert_close(changed_state, (function if module else both).state_dict(), rtol=1e-4, atol=1e-4)
                    (function if module else both).load_state_dict(state)
                self.assertIn(text, self.lines[0])

    def test_changed_weights_are_seen(self):
        module, x = copy.deepcopy(both), matrix()
        own = self.compiled(module)
        for change in (lambda: None, lambda: module.w.mul_(2), lambda: module.load_state_dict(both.state_dict()), lambda: setattr(module.v, "data", torch.ones(32, 24)),
                       lambda: setattr(module, "w", nn.Parameter(torch.ones(32, 24))), lambda: module.w.zero_()):
            change()
            torch.testing.assert_close(own(x), module(x), rtol=1e-4, atol=1e-4)
        self.assertIn("rules fired: sum_of_matrices (1)", self.lines[0])
        self.assertIn("rulemill: left to Inductor: weights change often", self.lines)

    def test_changes_that_no_version_tells_of_are_seen_unless_weights_are_frozen(self):
        for is_frozen, change in ((False, lambda: module.w.data[0, 0].add_(1)), (False, lambda: optimizer.step()), (True, lambda: module.w.data.add_(1))):
            module, x = copy.deepcopy(both), matrix()
            optimizer = torch.optim.AdamW(module.parameters(), fused=True)
            module.w.grad = torch.ones(32, 24)
            own = self.compiled(module, frozen=is_frozen)
            before = own(x)
            change()
            torch.testing.assert_close(own(x), before if is_frozen else module(x), rtol=1e-4, atol=1e-4)

    def test_results_are_kept_in_memory_and_on_disk(self):
        x, kept = matrix(), self.folder / "cache" / "torch"
        expected = self.compiled(both)(x)
        self.assertEqual(len(list(kept.iterdir())), 1)
        for forget in (lambda: None, torch_backend._KEPT.clear):
            forget()
            with mock.patch.object(torch_rewriting, "rewrite", side_effect=AssertionError):
                torch.testing.assert_close(self.compiled(both)(x), expected)
            self.assertIn(FIRED, self.lines[0])
        next(kept.iterdir()).write_bytes(b"damaged")
        torch_backend._KEPT.clear()
        torch.testing.assert_close(self.compiled(both)(x), expected)

    def test_what_is_not_rewritten_is_left_to_inductor_with_one_line(self):
        own = self.compiled(both)
        own(matrix()), own(torch.randn(5, 32))
        self.assertEqual(self.lines[1:], ["rulemill: left to Inductor: it has open sizes"])
        self.compiled(both, time_limit=0.001)(torch.randn(7, 32))
        self.assertEqual(self.lines, ["rulemill: left to Inductor: optimize: stopped after 0.001 seconds"])
        self.compiled(lambda x: torch.cond(x.sum() > 0, lambda x: both(x), lambda x: both(x) * 2, (x,)))(matrix())
        self.assertIn("tensors of its own", self.lines[0])
    def test_options_that_are_not_the_backends_are_inductors(self):
        self.compiled(both, max_autotune=True)(matrix())
        self.assertEqual(self.inductor.call_args.kwargs["config_patches"], {"max_autotune": True})

    def test_inductor_compiles_the_new_graph(self):
        self.inductor.side_effect = COMPILE
        own = self.compiled(both)
        for _ in range(2):
            x = matrix()
            torch.testing.assert_close(own(x), both(x), rtol=1e-4, atol=1e-4)
        self.assertIn(FIRED, self.lines[0])


if __name__ == "__main__":
    unittest.main()
