#!/usr/bin/env python3
"""Training steps in the backend "rulemill" of torch.compile: losses, gradients and side effects are those of eager functions."""

import contextlib
import copy
import unittest
from unittest import mock

from binary import Case
from package_case import rulemill

try:
    import onnxruntime  # noqa: F401 pylint: disable=unused-import
    import torch
    from torch import nn
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor.compile_fx import compile_fx as COMPILE
    from torch.nn import functional as F

    import rulemill.torch
    from rulemill import torch_joining, torch_operators, torch_rewriting, torch_training
except (ImportError, rulemill.Error):
    torch = None

FIRED = "rules fired"

if torch:
    def uncompiled(graph, inputs, config_patches):
        """What Inductor does around its compiler, which is slow."""
        def boxed(module, _):
            def call(arguments):
                given = list(arguments)
                arguments.clear()
                return module(*given)
            call._boxed_call = True
            return call
        settings = {"partition_fn": config_patches["custom_partitioner_fn"]} if "custom_partitioner_fn" in config_patches else {}
        table = torch._inductor.decomposition.select_decomp_table()
        return aot_autograd(fw_compiler=boxed, bw_compiler=boxed, decompositions=table, **settings)(graph, inputs)

    class LoRA(nn.Module):
        def __init__(self, size=32, rank=2):
            super().__init__()
            self.base, self.down, self.up = nn.Linear(size, size), nn.Linear(size, rank, bias=False), nn.Linear(rank, size, bias=False)
            self.base.requires_grad_(False)

        def forward(self, x):
            return self.base(x) + 2 * self.up(self.down(x))

    class Row(nn.Module):
        """A classifier that reads one row of the last layer."""

        def __init__(self, size=32, row=0):
            super().__init__()
            self.norm, self.inner, self.outer, self.head = nn.LayerNorm(size), nn.Linear(size, 64), nn.Linear(64, size), nn.Linear(size, 5)
            self.row = row

        def forward(self, x):
            return self.head((x + self.outer(F.gelu(self.inner(self.norm(x)))))[:, self.row])

    class Attention(nn.Module):
        def __init__(self, size=16, heads=2, is_row=False):
            super().__init__()
            self.q, self.k, self.v, self.heads, self.is_row = *(nn.Linear(size, size) for _ in range(3)), heads, is_row
            self.norm = nn.LayerNorm(size)

        def forward(self, x):
            q, k, v = (part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.q, self.k, self.v))
            y = self.norm(x + (torch.softmax(q @ k.mT * 0.5, -1) @ v).transpose(1, 2).flatten(2))
            return y[:, 0] if self.is_row else y

    class Mixer(nn.Module):
        def __init__(self, rows=6, size=8):
            super().__init__()
            self.a, self.b, self.c, self.d = nn.Linear(rows, 12), nn.Linear(12, rows), nn.Linear(size, 16), nn.Linear(16, size)

        def forward(self, x):
            x = x + self.b(F.gelu(self.a(x.mT))).mT
            return (x + self.d(F.gelu(self.c(x)))).mean(1)

    class Words(nn.Module):
        """Embedded words, rotated, normalized by their squares, and gated."""

        def __init__(self, size=16):
            super().__init__()
            self.words, self.gate, self.up = nn.Embedding(20, size), nn.Linear(size, size, bias=False), nn.Linear(size, size, bias=False)
            self.scale = nn.Parameter(torch.ones(size))
            self.register_buffer("cos", torch.linspace(0, 1, size).cos())

        def forward(self, ids):
            x = self.words(ids)
            a, b = x.chunk(2, -1)
            x = x * self.cos + torch.cat([-b, a], -1) * 0.5
            x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
            return (F.silu(self.gate(x)) * self.up(x)).mean(1)

    class LSTM(nn.Module):
        def __init__(self, size=8):
            super().__init__()
            self.x, self.h, self.size = nn.Linear(size, 4 * size), nn.Linear(size, 4 * size), size

        def forward(self, x):
            h = c = x.new_zeros(x.shape[0], self.size)
            for step in range(x.shape[1]):
                i, f, g, o = (self.x(x[:, step]) + self.h(h)).chunk(4, -1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
            return h

    class RepVGG(nn.Module):
        def __init__(self, channels=4):
            super().__init__()
            self.parts = nn.ModuleList(nn.Conv2d(channels, channels, size, padding=size // 2, bias=False) for size in (3, 1))
            self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(3))

        def forward(self, x):
            return F.relu(sum(norm(each) for norm, each in zip(self.norms, [*(part(x) for part in self.parts), x])))

    class Branches(nn.Module):
        """Convolutions of one image and a pool, side by side."""

        def __init__(self, channels=4):
            super().__init__()
            self.a, self.b = nn.Conv2d(channels, 3, 1), nn.Conv2d(channels, 2, 3, padding=1)

        def forward(self, x):
            return torch.cat([x, F.relu(self.a(x)), self.b(F.relu(x)), F.max_pool2d(x, 3, 1, 1)], 1)

    class Kernels(nn.Module):
        """Convolutions of one image, with their normalizations by frozen statistics or without."""

        def __init__(self, sizes=((3, 3), (1, 3), (3, 1)), has_norms=True, channels=4, **settings):
            super().__init__()
            self.parts = nn.ModuleList(nn.Conv2d(channels, channels, size, padding=[each // 2 for each in size], bias=False, **settings) for size in sizes)
            self.norms = nn.ModuleList(nn.BatchNorm2d(channels) if has_norms else nn.Identity() for _ in sizes).eval()

        def forward(self, x):
            return torch.tanh(sum(norm(part(x)) for norm, part in zip(self.norms, self.parts)))

    def convolution(*args, **settings):
        return lambda: nn.Sequential(nn.Conv2d(*args, **settings), nn.Tanh())

    class Counted(nn.Module):
        """Changes its buffer and its argument."""

        def __init__(self):
            super().__init__()
            self.lora = LoRA()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            y = self.lora(x * 3)
            x.mul_(self.calls)
            return y * self.calls

    def perceptron():
        return nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 5))

    def numbers(*shape):
        return lambda: torch.randn(shape, dtype=torch.float64)

    def words():
        return torch.randint(20, (3, 6))

    # What the backend says, a module, and its argument.
    MODULES = [
        ("", perceptron, numbers(7, 12)), (FIRED, LoRA, numbers(3, 4, 32)), (FIRED, Row, numbers(3, 9, 32)), (FIRED, lambda: Row(row=-2), numbers(3, 9, 32)),
        ("", Attention, numbers(2, 5, 16)), ("", lambda: Attention(is_row=True), numbers(2, 5, 16)), ("", Mixer, numbers(2, 6, 8)), ("", Words, words),
        (FIRED, LSTM, numbers(3, 2, 8)), ("", RepVGG, numbers(2, 4, 5, 5)), ("", Branches, numbers(2, 4, 5, 5)), (FIRED, Counted, numbers(3, 4, 32)),
        ("", lambda: nn.Sequential(nn.Linear(12, 16), nn.BatchNorm1d(16), nn.Linear(16, 3)), numbers(7, 12))]

    # Modules with convolutions, and the shape of their argument.
    CONVOLUTIONS = [
        (Kernels, (2, 4, 5, 7)), (lambda: Kernels([(3, 3), (1, 1)], False), (2, 4, 6, 5)), (lambda: Kernels([(5, 5), (3, 3), (1, 1)], False), (1, 4, 3, 3)),
        (lambda: Kernels([(3, 3), (3, 3), (1, 1)], False, groups=2), (2, 4, 5, 5)), (lambda: Kernels([(3, 3), (1, 1)], True, groups=4), (2, 4, 5, 4)),
        (lambda: Kernels([(3, 3), (1, 1)], True, stride=2), (2, 4, 7, 6)), (lambda: Kernels([(7, 7), (1, 7), (7, 1)], False), (1, 4, 9, 8)),
        (convolution(3, 4, 3, stride=2, padding=1), (2, 3, 6, 7)), (convolution(3, 4, 3, stride=3, padding=1), (2, 3, 8, 9)),
        (convolution(3, 4, (2, 3), stride=(2, 1), padding=(1, 0)), (2, 3, 7, 6)), (convolution(4, 8, 3, padding=2, dilation=2, groups=2), (2, 4, 7, 7)),
        (convolution(4, 4, 3, padding=4), (1, 4, 3, 3)), (convolution(4, 8, 3, groups=4, bias=False), (2, 4, 5, 5)), (convolution(3, 4, 1, stride=2), (2, 3, 5, 6)),
        (lambda: nn.Sequential(nn.Conv1d(3, 4, 3, padding=1), nn.Tanh(), nn.Conv1d(4, 2, 2, stride=2)), (2, 3, 9)), (convolution(3, 4, 8, stride=8), (2, 3, 16, 17)),
        (lambda: nn.Sequential(nn.Conv3d(2, 3, 3, padding=1, stride=2), nn.Tanh()), (1, 2, 5, 4, 6)),
        (lambda: nn.Sequential(nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), nn.Tanh()), (2, 3, 4, 5)),
        (lambda: nn.Sequential(nn.ConvTranspose2d(4, 4, 2, stride=2, groups=2, bias=False), nn.Tanh()), (2, 4, 3, 5)),
        (lambda: nn.Sequential(nn.Conv2d(3, 4, 3, padding=1).requires_grad_(False), nn.Conv2d(4, 4, 3, padding=1)), (2, 3, 5, 5))]


@unittest.skipIf(torch is None, "SKIPPED: torch, onnxscript or onnxruntime is not installed")
class Training(Case):
    def setUp(self):
        super().setUp()
        self.lines = []
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.inductor = stack.enter_context(mock.patch("torch._inductor.compile_fx.compile_fx", side_effect=uncompiled))

    def compiled(self, function, **options):
        torch._dynamo.reset()
        self.lines.clear()
        return torch.compile(function, backend="rulemill", options={"log": self.lines.append, **options})

    @staticmethod
    def made(make):
        torch.manual_seed(0)
        module = make().double()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
        return module

    @staticmethod
    def step(module, function, x):
        """A step's loss, gradients, buffers, and the argument after it."""
        module.zero_grad()
        x = x.clone()
        y = function(x)
        loss = F.cross_entropy(y, torch.arange(len(y)) % y.shape[1]) if y.dim() == 2 else F.mse_loss(y, torch.ones_like(y))
        loss.backward()
        return loss.detach(), [each.grad for each in module.parameters()], list(module.buffers()), x

    def assert_steps_are_equal(self, own, module, function, arguments, **options):
        """Of a module and its copy."""
        other = copy.deepcopy(module)
        compiled = self.compiled(own(other), **options)
        for x in arguments:
            mine, theirs = self.step(other, compiled, x), self.step(module, function(module), x)
            torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-9)
            with torch.no_grad():
                for each in (module, other):
                    for parameter in each.parameters():
                        parameter.add_(0.01 if parameter.grad is None else -0.1 * parameter.grad)

    def test_losses_gradients_and_buffers_are_those_of_the_module(self):
        for number, (text, make, argument) in enumerate(MODULES):
            with self.subTest(number):
                module = self.made(make)
                self.assert_steps_are_equal(lambda each: each, module, lambda each: each, [argument() for _ in range(3)])
                self.assertEqual(len(self.lines), 1)
                self.assertIn(text, self.lines[0])
                self.assertNotIn("left to Inductor", self.lines[0])

    def test_gradients_of_convolutions_are_read(self):
        for number, (make, shape) in enumerate(CONVOLUTIONS):
            with self.subTest(number):
                module, read = self.made(make), set()
                with mock.patch.object(torch_training._Parts, "unread", property(lambda parts: read.update(parts._left) or [])):  # pylint: disable=protected-access
                    self.assert_steps_are_equal(lambda each: each, module, lambda each: each, [torch.randn(shape, dtype=torch.float64) for _ in range(2)])
                self.assertNotIn("left to Inductor", self.lines[0])
                self.assertFalse([node for node in read if "convolution" in str(node.target)])

    def test_convolutions_of_one_image_merge_in_both_passes(self):
        module, calls = self.made(lambda: Kernels([(3, 3), (1, 1)], False, 32)), []
        def counted(graph, inputs, config_patches):
            partition = config_patches["custom_partitioner_fn"]
            def kept(*args, **settings):
                both = partition(*args, **settings)
                calls.extend(str(node.target) for each in both for node in each.graph.nodes)
                return both
            return uncompiled(graph, inputs, {"custom_partitioner_fn": kept})
        with mock.patch("torch._inductor.compile_fx.compile_fx", side_effect=counted):
            self.assert_steps_are_equal(lambda each: each, module, lambda each: each, [torch.randn(4, 32, 28, 28, dtype=torch.float64)])
        self.assertEqual([calls.count(f"aten.{name}.default") for name in ("convolution", "convolution_backward")], [1, 1], self.lines)

    def test_losses_are_read_with_the_module(self):
        def loss(module):
            return lambda x: F.cross_entropy(module(x), torch.arange(3) % 5).reshape(1, 1)
        self.assert_steps_are_equal(loss, self.made(Row), loss, [numbers(3, 9, 32)() for _ in range(2)])
        self.assertIn("gradient_of_weights", self.lines[0])

    def test_a_wrong_rewriting_is_refused(self):
        def wrong(_, a, b):
            return torch.matmul(a, b) * 1.001
        for is_checked in (True, False):
            module = self.made(Row)
            arguments = [numbers(3, 9, 32)()]
            with contextlib.ExitStack() as stack:
                stack.enter_context(mock.patch.dict(torch_operators.OPERATORS, {"MatMul": wrong}))
                if not is_checked:  # then this test sees it
                    stack.enter_context(mock.patch.object(torch_rewriting, "_compare"))
                    stack.enter_context(self.assertRaises(AssertionError))
                self.assert_steps_are_equal(lambda each: each, module, lambda each: each, arguments)
            self.assertIn("differs by more than rounding" if is_checked else FIRED, self.lines[0])

    def test_weights_change_at_each_step_without_compiling_again(self):
        for kind in (torch.optim.SGD, torch.optim.Adam):
            module = self.made(Row)
            other, x = copy.deepcopy(module), numbers(3, 9, 32)()
            optimizers = [kind(each.parameters(), lr=0.01) for each in (module, other)]
            compiled = self.compiled(other)
            for _ in range(20):
                losses = [self.step(each, function, x)[0] for each, function in ((module, module), (other, compiled))]
                torch.testing.assert_close(losses[1], losses[0], rtol=1e-9, atol=1e-9)
                for optimizer in optimizers:
                    optimizer.step()
            torch.testing.assert_close(list(other.parameters()), list(module.parameters()), rtol=1e-8, atol=1e-8)
            self.assertEqual(len(self.lines), 1)
            self.assertIn(FIRED, self.lines[0])

    def test_random_numbers_are_drawn_as_by_inductor_alone(self):
        module = self.made(lambda: nn.Sequential(LoRA(), nn.Dropout(0.5), LoRA()))
        x, found = numbers(3, 4, 32)(), []
        for backend in ("rulemill", lambda graph, inputs: uncompiled(graph, inputs, {})):
            torch._dynamo.reset()
            options = {"options": {"log": self.lines.append}} if backend == "rulemill" else {}
            compiled = torch.compile(module, backend=backend, **options)
            torch.manual_seed(1)
            found.append([*(self.step(module, compiled, x)[:2] for _ in range(2)), torch.get_rng_state()])
        torch.testing.assert_close(found[0], found[1], rtol=1e-9, atol=1e-9)
        self.assertIn(FIRED, self.lines[0])

    def test_what_saves_more_memory_for_the_backward_pass_is_left_to_inductor(self):
        with mock.patch.object(torch_training, "_MAX_SAVED", 0.1):
            self.assert_steps_are_equal(lambda each: each, self.made(LoRA), lambda each: each, [numbers(3, 4, 32)()])
        self.assertRegex(self.lines[0], "left to Inductor: it would save [0-9]+ bytes for the backward pass in place of [0-9]+")

    def test_a_changed_argument_is_not_read_by_the_backward_pass(self):
        class Changed(nn.Module):
            """The product of its buffers is needed for gradients, the buffers themselves only after a rewriting."""

            def __init__(self, decay):
                super().__init__()
                self.first, self.decay = nn.Linear(64, 64), decay
                self.register_buffer("a", torch.randn(64, 4) / 6)
                self.register_buffer("b", torch.randn(4, 64) / 6)

            def forward(self, x):
                y = self.first(x) @ (self.a @ self.b)
                if self.decay:
                    self.a.mul_(self.decay)
                return y
        for decay, line in ((0, FIRED), (0.5, "left to Inductor: the backward pass would read [a-z0-9_]+ after it is changed")):
            with self.subTest(decay):
                self.assert_steps_are_equal(lambda each: each, Changed(decay).double(), lambda each: each, [numbers(3, 64)()])
                self.assertRegex(self.lines[0], line)

    def test_what_is_not_rewritten_is_left_to_inductor_with_one_line(self):
        def again(module):
            return lambda x: torch.utils.checkpoint.checkpoint(module, x, use_reentrant=False)
        module = self.made(LoRA)
        self.assert_steps_are_equal(again, module, again, [numbers(3, 4, 32)()])
        self.assertIn("left to Inductor", self.lines[0])
        self.assert_steps_are_equal(lambda each: each, module, lambda each: each, [numbers(3, 4, 32)(), numbers(5, 4, 32)()])
        self.assertIn(FIRED, self.lines[0])
        self.assertEqual(self.lines[1:], ["rulemill: left to Inductor: it has open sizes"])
        self.assert_steps_are_equal(lambda each: each, module, lambda each: each, [numbers(3, 4, 32)()], time_limit=0.001)
        self.assertEqual(self.lines, ["rulemill: left to Inductor: optimize: stopped after 0.001 seconds"])
        self.compiled(lambda x: module(x).argmax())(numbers(3, 4, 32)())
        self.assertEqual(self.lines, ["rulemill: left to Inductor: no result has a gradient"])

    def test_results_of_the_forward_pass_are_not_computed_from_gradients(self):
        graph = torch.fx.Graph()
        x, tangents = graph.placeholder("primals_1"), graph.placeholder("tangents_1")
        both = [graph.call_function(torch.ops.aten.exp.default, (each,)) for each in (x, tangents)]
        graph.output(tuple(both))
        joint = torch.fx.GraphModule({}, graph)
        for is_swapped in (False, True):
            traced = torch.fx.Graph()
            given = [traced.placeholder(name) for name in "ab"]
            made = [traced.call_function(torch.ops.aten.exp.default, (each,)) for each in given]
            traced.output(tuple(made[::-1] if is_swapped else made))
            found = torch_rewriting.Rewriting(torch.fx.GraphModule({}, traced), (), "")
            joined = torch_joining.Joined(joint, set(), [x, tangents], both, found, 1)
            with mock.patch.object(torch_joining, "FakeTensorProp"), self.assertRaisesRegex(
                    torch_training.Refused, "from gradients") if is_swapped else contextlib.nullcontext(), self.values(graph):
                joined.module()

    @staticmethod
    @contextlib.contextmanager
    def values(graph):
        with torch._subclasses.fake_tensor.FakeTensorMode():
            for node in graph.nodes:
                node.meta["val"] = torch.empty(2)
        yield

    def test_inductor_compiles_the_new_graph(self):
        self.inductor.side_effect = COMPILE
        for make, argument in ((lambda: nn.Sequential(Row()), numbers(3, 9, 32)), (RepVGG, numbers(2, 4, 5, 5))):
            with torch._inductor.utils.fresh_cache():
                self.assert_steps_are_equal(lambda each: each, self.made(make), lambda each: each, [argument() for _ in range(2)])
            self.assertIn(FIRED, self.lines[0])


if __name__ == "__main__":
    unittest.main()
