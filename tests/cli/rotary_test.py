#!/usr/bin/env python3
"""`equal` shows that RotaryEmbedding, of ONNX and of onnxruntime, computes what the nodes compute that it stands for."""

import json
import unittest

from binary import FusionRulesCase, rulemill

try:
    import onnx
    from onnx import TensorProto, helper
except ImportError:
    onnx = None

HEADS, COLUMNS, ROWS, TABLE = [2, 5, 3, 4], [2, 3, 4], [2, 3, 2], [6, 2]
MS = "com.microsoft"


def rotary(*inputs, **attributes):
    return [("RotaryEmbedding", inputs, ["y"], attributes)]


def written_out(cosine, sine):
    """The first half times the cosine minus the second one times the sine, and the second half accordingly."""
    products = {"a": ("l", cosine), "b": ("h", sine), "d": ("h", cosine), "e": ("l", sine)}
    return [("Split", ["x"], ["l", "h"], {"axis": -1, "num_outputs": 2}),
            *(("Mul", factors, [name], {}) for name, factors in products.items()),
            ("Sub", ["a", "b"], ["p"], {}), ("Add", ["d", "e"], ["q"], {}), ("Concat", ["p", "q"], ["y"], {"axis": -1})]


OF_ROWS = {"c": ROWS, "s": ROWS}
UNSQUEEZED = [("Unsqueeze", ["c", "axis"], ["c4"], {}), ("Unsqueeze", ["s", "axis"], ["s4"], {})]
AT = {"c": TABLE, "s": TABLE, "k": [2, 3]}
# By name: the shapes of the inputs, and the nodes of both models.
EQUAL = {
    "heads": ({"x": HEADS, **OF_ROWS}, UNSQUEEZED + written_out("c4", "s4"), rotary("x", "c", "s")),
    "heads side by side": ({"x": COLUMNS, **OF_ROWS}, written_out("c", "s"), rotary("x", "c", "s", num_heads=1)),
    "positions": ({"x": HEADS, **AT}, rotary("x", "c", "s", "k"), rotary("x", "k", "c", "s", domain=MS)),
    "positions of neighbours": ({"x": HEADS, **AT},
                                rotary("x", "c", "s", "k", interleaved=1), rotary("x", "k", "c", "s", domain=MS, interleaved=1)),
    "positions, heads side by side": ({"x": COLUMNS, **AT},
                                      rotary("x", "c", "s", "k", num_heads=1), rotary("x", "k", "c", "s", domain=MS)),
}
DIFFERENT = {
    "neighbours": ({"x": HEADS, **OF_ROWS}, rotary("x", "c", "s"), rotary("x", "c", "s", interleaved=1)),
    "exchanged tables": ({"x": HEADS, **OF_ROWS}, rotary("x", "c", "s"), rotary("x", "s", "c")),
    "more heads": ({"x": [2, 3, 8], **OF_ROWS}, rotary("x", "c", "s", num_heads=2),
                   rotary("x", "c", "s", num_heads=2, interleaved=1)),
}


@unittest.skipUnless(onnx, "SKIPPED: onnx is not installed (scripts/install-debian.sh)")
class Rotary(FusionRulesCase):
    def verdict(self, shapes, *models):
        paths = []
        for number, nodes in enumerate(models):
            made = [helper.make_node(op, inputs, outputs, **attributes) for op, inputs, outputs, attributes in nodes]
            inputs = [helper.make_tensor_value_info(name, TensorProto.INT64 if name == "k" else TensorProto.FLOAT, shape)
                      for name, shape in shapes.items()]
            output = helper.make_tensor_value_info("y", TensorProto.FLOAT, shapes["x"])
            axis = helper.make_tensor("axis", TensorProto.INT64, [1], [1])
            graph = helper.make_graph(made, "g", inputs, [output], [axis] if any("axis" in each.input for each in made) else [])
            paths.append(self.folder / f"{number}.onnx")
            domains = [helper.make_opsetid("", 23), helper.make_opsetid(MS, 1)]
            onnx.save(helper.make_model(graph, opset_imports=domains, ir_version=10), paths[-1])
        report = self.folder / "report.json"
        result = rulemill("equal", *paths, "--rules", self.rules, "--json", report)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return json.loads(report.read_text(encoding="utf-8"))["verdict"]

    def test_it_computes_what_it_stands_for(self):
        for name, given in EQUAL.items():
            with self.subTest(name):
                self.assertEqual(self.verdict(*given), "equal")

    def test_its_attributes_and_inputs_matter(self):
        for name, given in DIFFERENT.items():
            with self.subTest(name):
                self.assertEqual(self.verdict(*given), "different")


if __name__ == "__main__":
    unittest.main()
