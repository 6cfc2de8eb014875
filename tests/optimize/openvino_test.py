#!/usr/bin/env python3
"""`optimize --runtime openvino`: OpenVINO times and compares the models."""

import os
import subprocess
import sys
import unittest

from binary import BINARY, ROOT, Case, rulemill

try:
    import numpy as np
    import onnx
    import openvino  # noqa: F401
    from onnx import helper
except ImportError:
    print("SKIPPED: openvino and onnx are not installed (scripts/install-python.sh)")
    sys.exit(77)

sys.path.insert(0, str(ROOT / "tests" / "python" / "onnxruntime_helpers"))
import verify_test

MODEL = ROOT / "data" / "models" / "acnet_block.onnx"


class Openvino(Case):
    def verdict(self, before, after):
        onnx.save(before, self.folder / "before.onnx")
        onnx.save(after, self.folder / "after.onnx")
        return verify_test.verify(self.folder / "before.onnx", self.folder / "after.onnx", runtime="openvino")

    def test_it_times_and_compares_models(self):
        rules = self.folder / "rules"
        self.assert_works(rulemill("discover", "--profile", ROOT / "data/profiles/quickstart.toml", "--out", rules))
        result = self.folder / "result.onnx"
        report = self.json("optimize", MODEL, "--rules", rules, "--runtime", "openvino", "--out", result)
        self.assertTrue(report["changed"])
        self.assertRegex(report["timing"]["runner"], r"^openvino \d+\.\d+\.\d+, 1 thread$")
        verifiers = [each["verifier"] for each in report["verification"]["verifiers"]]
        self.assertEqual([name.split(" ")[0] for name in verifiers], ["definitions", "openvino"])

    def test_results_are_held_against_onnxruntime_and_float64(self):
        weight = verify_test.drawn(32, 32)
        same = self.verdict(verify_test.product(weight), verify_test.product(weight))
        self.assertEqual([same["verdict"], same["inputs"]], ["equal", 3])
        self.assertRegex(same["runtime"], r"^openvino ")
        self.assertRegex(same["reference"], r"^a float64 copy in onnxruntime ")
        wrong = self.verdict(verify_test.product(weight), verify_test.product(weight * np.float32(1 + 2e-5)))
        self.assertEqual(wrong["verdict"], "different")
        self.assertRegex(wrong["reason"], "error .* of the largest value, where the original's own is ")
        self.assertEqual(self.verdict(verify_test.chain(), verify_test.chain())["verdict"], "equal")

    def test_dynamic_dimensions(self):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
        model = verify_test.model(nodes, {"w": verify_test.drawn(32, 16)}, ["batch", 32])
        self.assertEqual(self.verdict(model, model)["verdict"], "equal")

    def test_operators_that_it_lacks_are_reported(self):
        nodes = [helper.make_node("NoSuchOperator", ["x"], ["y"], domain="example")]
        graph = helper.make_graph(nodes, "unknown", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 8])],
                                  [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 8])])
        unknown = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("example", 1)], ir_version=8)
        answer = self.verdict(verify_test.product(verify_test.drawn(32, 32)), unknown)
        self.assertEqual(answer["verdict"], "not loaded")
        self.assertIn("NoSuchOperator", answer["reason"])

    def test_without_it_the_command_says_so_at_once(self):
        (self.folder / "openvino.py").write_text("raise ImportError('no module named openvino')\n")
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "RULEMILL_PYTHON": sys.executable}
        process = subprocess.run([BINARY, "optimize", MODEL, "--runtime", "openvino", "--out", self.folder / "none.onnx"], text=True,
                                 capture_output=True, env=environment)
        self.assertEqual((process.returncode, process.stderr),
                         (3, "rulemill: --runtime openvino: OpenVINO cannot be imported: no module named openvino\n"))
        self.assertFalse((self.folder / "none.onnx").exists())


if __name__ == "__main__":
    unittest.main()
