#!/usr/bin/env python3
"""A decoder that takes and returns keys and values keeps them where they were, and no longer repeats them for the heads of a group."""

import unittest

import numpy as np
import onnx
from binary import ROOT, Case, rulemill
from onnx import TensorProto, helper, numpy_helper

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

PROFILE = ROOT / "data" / "profiles" / "models" / "grouped_heads.toml"
BATCH, HEADS, GROUP, WIDTH, ROWS = 2, 2, 3, 4, 16  # two heads of keys and values, each for three heads of queries


def decoder(tokens):
    """Attention of new tokens to themselves and to all earlier ones, without a mask."""
    nodes, numbers, random = [], {}, np.random.default_rng(0)

    def add(operator, inputs, output, **attributes):
        for name in inputs:
            if isinstance(name, tuple):
                numbers[str(name)] = np.array(name, np.int64)
        nodes.append(helper.make_node(operator, [str(name) for name in inputs], [output], **attributes))
        return output

    def heads(name, count):
        numbers[f"weight.{name}"] = random.standard_normal((ROWS, count * WIDTH)).astype(np.float32)
        rows = add("MatMul", ["x", f"weight.{name}"], f"{name}.rows")
        parts = add("Reshape", [rows, (BATCH, tokens, count, WIDTH)], f"{name}.parts")
        return add("Transpose", [parts], f"{name}.heads", perm=[0, 2, 1, 3])

    def repeated(name):
        present = add("Concat", [f"past.{name}", heads(name, HEADS)], f"present.{name}", axis=2)
        sizes = add("Shape", [present], f"{name}.sizes", start=2)
        shape = add("Concat", [(BATCH, HEADS, GROUP), sizes], f"{name}.shape", axis=0)
        groups = add("Expand", [add("Unsqueeze", [present, (2,)], f"{name}.group"), shape], f"{name}.groups")
        return add("Reshape", [groups, (BATCH, HEADS * GROUP, -1, WIDTH)], f"{name}.repeated")

    keys = add("Transpose", [repeated("key")], "keys", perm=[0, 1, 3, 2])
    scores = add("MatMul", [heads("query", HEADS * GROUP), keys], "scores")
    add("MatMul", [add("Softmax", [scores], "shares", axis=-1), repeated("value")], "y")
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    caches = lambda which, length: [value(f"{which}.{name}", [BATCH, HEADS, length, WIDTH]) for name in ("key", "value")]
    graph = helper.make_graph(nodes, "decoder", [value("x", [BATCH, tokens, ROWS]), *caches("past", "past")],
                              [value("y", [BATCH, HEADS * GROUP, tokens, WIDTH]), *caches("present", "total")],
                              [numpy_helper.from_array(array, name) for name, array in numbers.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Decoder(Case):
    def optimized(self, model):
        rules, path, out = (self.folder / name for name in ("rules", "model.onnx", "out.onnx"))
        self.assert_works(rulemill("discover", "--profile", PROFILE, "--out", rules))
        onnx.save(model, path)
        self.assert_works(rulemill("optimize", path, "--rules", rules, "--out", out, "--no-benchmark", "--min-gain", "0"))
        return onnx.load(out)

    def test_keys_and_values_are_not_repeated_whatever_the_number_of_new_and_of_earlier_tokens(self):
        for tokens in (1, 5):
            with self.subTest(tokens):
                model = decoder(tokens)
                result = self.optimized(model)
                self.assertEqual(result.graph.input, model.graph.input)
                self.assertEqual(result.graph.output, model.graph.output)
                self.assertNotIn("Expand", [node.op_type for node in result.graph.node])
                if onnxruntime is None:
                    self.skipTest("SKIPPED: onnxruntime is not installed (scripts/install-debian.sh)")
                self.compare(model, result, tokens)

    def compare(self, model, result, tokens):
        before, after = (onnxruntime.InferenceSession(each.SerializeToString(), providers=["CPUExecutionProvider"])
                         for each in (model, result))
        for past in (0, 1, 17, 200):
            random = np.random.default_rng(past)
            feeds = {name: random.standard_normal(shape).astype(np.float32)
                     for name, shape in (("x", (BATCH, tokens, ROWS)), *((f"past.{name}", (BATCH, HEADS, past, WIDTH)) for name in ("key", "value")))}
            for a, b in zip(before.run(None, feeds), after.run(None, feeds)):
                np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
