#!/usr/bin/env python3
"""bench/inductor_passes.py: the graphs that it takes from torch's compiler, and graphs that are damaged after a pass."""

import sys
import unittest

from binary import ROOT
from package_case import rulemill

try:
    sys.path.insert(0, str(ROOT / "bench"))
    import torch
    from torch import nn

    import inductor_passes as passes
except (ImportError, rulemill.Error):
    torch = None

if torch:
    torch.manual_seed(0)
    aten = torch.ops.aten

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)

        def forward(self, x):
            return torch.softmax(self.norm(self.conv(x)).relu() - 0.5, 1)

    # Calls of the graph after torch's decompositions, and what each becomes.
    EDITS = [
        (aten.sub.Tensor, lambda node: setattr(node, "args", node.args[::-1])),
        (aten.relu.default, lambda node: setattr(node, "target", aten.tanh.default)),
        (aten.sum.dim_IntList, lambda node: setattr(node, "args", (node.args[0], [2], True))),
        (aten.mul.Tensor, lambda node: setattr(node, "target", aten.add.Tensor)),
        (aten.div.Tensor, lambda node: setattr(node, "target", aten.mul.Tensor)),
        (aten.add.Tensor, lambda node: setattr(node, "args", (node.args[0], 0.1))),
        (aten.convolution.default, lambda node: setattr(node, "args", (*node.args[:2], None, *node.args[3:]))),
    ]


@unittest.skipIf(torch is None, "SKIPPED: torch, onnx, onnxscript or onnxruntime is not installed (CONTRIBUTING.md)")
class Passes(unittest.TestCase):
    def pairs(self, setting):
        tensor = torch.randn(2, 3, 6, 5)
        found = passes.chains(Layer().eval(), [tensor], passes.SETTINGS[setting])
        self.assertEqual(len(found), 1)
        return [(*pair, found[0][1]) for pair in found[0][0].pairs()]

    def changed(self, setting):
        results = passes.compared(self.pairs(setting), {})
        return {each["pass"]: each["status"] for each in results if each["status"] != "unchanged"}

    def test_each_change_is_named_and_equal(self):
        self.assertEqual(self.changed("default")["decompositions"], "equal")
        frozen = self.changed("frozen")
        self.assertLessEqual({"freezing.constant_fold", "freezing.pattern_matcher"}, set(frozen))
        self.assertEqual(set(frozen.values()), {"equal"}, frozen)

    def test_a_damaged_graph_is_not_equal(self):
        name, before, after, given = next(pair for pair in self.pairs("default") if pair[0] == "decompositions")
        for target, edit in EDITS:
            damaged = passes.copied(after)
            nodes = [node for node in damaged.graph.nodes if node.op == "call_function" and node.target == target]
            self.assertTrue(nodes, target)
            edit(nodes[-1])
            damaged.recompile()
            with self.subTest(str(target)):
                self.assertNotEqual(passes.calls(after), passes.calls(damaged))
                result = passes.compared([(name, before, damaged, given)], {})[0]
                self.assertEqual(result["status"], "different", result)

    def test_what_differs_in_float64_is_different(self):
        """A factor of each channel that torch 2.15 folds along the inputs of a transposed convolution."""
        made = []
        for dim in (0, 1):
            graph, shape = torch.fx.Graph(), [1] * 4
            shape[dim] = 4
            x, w, s = (graph.placeholder(name) for name in "xws")
            w = graph.call_function(aten.mul.Tensor, (w, graph.call_function(aten.reshape.default, (s, shape))))
            graph.output((graph.call_function(aten.convolution.default, (x, w, None, [1, 1], [0, 0], [1, 1], True, [0, 0], 1)), ))
            made.append(torch.fx.GraphModule({}, graph))
        given = [torch.randn(2, 4, 5, 5), torch.randn(4, 4, 3, 3), 1 + 0.003 * torch.rand(4)]
        self.assertGreater(passes.in_float64(*made, given), passes.APART)
        self.assertLess(passes.in_float64(made[0], passes.copied(made[0]), given), 1e-12)

    def test_graphs_of_the_same_calls_in_another_order_are_one(self):
        def graph(first, second):
            made = torch.fx.Graph()
            x = made.placeholder("x")
            values = {target: made.call_function(target, (x,)) for target in (first, second)}
            made.output((values[aten.exp.default], values[aten.relu.default]))
            return torch.fx.GraphModule({}, made)

        one, other = graph(aten.exp.default, aten.relu.default), graph(aten.relu.default, aten.exp.default)
        self.assertEqual(passes.calls(one), passes.calls(other))
        self.assertNotEqual(passes.calls(one), passes.calls(self.exchanged(one)))

    @staticmethod
    def exchanged(graph):
        copied = passes.copied(graph)
        output = copied.graph.output_node()
        output.args = (output.args[0][::-1],)
        return copied


if __name__ == "__main__":
    unittest.main()
