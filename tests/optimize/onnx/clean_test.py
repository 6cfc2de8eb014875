#!/usr/bin/env python3
"""`rulemill optimize --only-clean`: fewer nodes, the same bits, the same names, and the same file each time."""

import hashlib
import shutil
import sys
import unittest

from binary import ROOT, Case, rulemill

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError:
    print("SKIPPED: onnx and onnxruntime are not installed (scripts/install-debian.sh)")
    sys.exit(77)

import exported_models

# Nodes that remain: the largest number that is accepted.
EXPECTED_NODES = {"encoder": 112, "detector": 29, "static_detector": 26, "branches": 5, "padded": 18}
SIZES = (1, 2, 3, 7)  # of all dynamic dimensions


def count_nodes(graph):
    """Counts nodes, with those of subgraphs and without constants."""
    nodes = [node for node in graph.node if node.op_type != "Constant"]
    subgraphs = [attribute.g for node in nodes for attribute in node.attribute if attribute.HasField("g")]
    return len(nodes) + sum(map(count_nodes, subgraphs))


def session(path):
    """Without optimizations: weights are not packed either, because only constants are, and folding makes constants."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.disable_prepacking", "1")
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def feeds(infos, size):
    random, result = np.random.default_rng(size), {}
    for info in infos:
        shape = [dim if isinstance(dim, int) else size for dim in info.shape]
        draws = {"tensor(float)": lambda: random.standard_normal(shape).astype(np.float32),
                 "tensor(int64)": lambda: random.integers(0, 2, shape)}
        result[info.name] = draws[info.type]()
    return result


class Clean(Case):
    def clean(self, model, *options):
        """Returns the report and the path of the result."""
        out = model.with_suffix(".clean.onnx")
        return self.json("optimize", model, "--only-clean", "--out", out, *options), out

    def save(self, model, name="model"):
        path = self.folder / f"{name}.onnx"
        onnx.save(model, path)
        return path

    def assert_same_bits(self, before, after, sizes=SIZES):
        first, second = session(before), session(after)
        for size in sizes:
            inputs = feeds(first.get_inputs(), size)
            for info, x, y in zip(first.get_outputs(), first.run(None, inputs), second.run(None, inputs)):
                self.assertEqual((x.dtype, x.shape), (y.dtype, y.shape), info.name)
                self.assertEqual(x.tobytes(), y.tobytes(), f"{info.name} at size {size}")

    def test_exported_models_lose_their_redundant_nodes_and_no_bit(self):
        for name, make in exported_models.MODELS.items():
            with self.subTest(name):
                model = self.save(make(), name)
                report, out = self.clean(model)
                self.assertLessEqual(count_nodes(onnx.load(out).graph), EXPECTED_NODES[name])
                self.assertEqual(report["clean_up"]["nodes_after"], count_nodes(onnx.load(out).graph))
                self.assertTrue(report["changed"])
                onnx.checker.check_model(str(out), full_check=True)
                self.assert_same_bits(model, out)

    def test_constants_that_leave_the_range_of_their_type_stay_computations(self):
        for data_type, operator, a, b, is_folded in (
                ("float", "Mul", "1e30", "1e-30", True), ("float", "Mul", "1e30", "1e30", False), ("float", "Mul", "1e-30", "1e-14", False),
                ("float", "Mul", "1e-30", "1e-30", False), ("float", "Mul", "1e-30", "0", True), ("float", "Div", "1", "0", False),
                ("float", "Sub", "3e38", "-3e38", False), ("float", "Sub", "1e-38", "1e-38", True), ("float", "Div", "1", "inf", True),
                ("double", "Mul", "1e300", "1e300", False), ("double", "Mul", "1e-300", "1e-300", False), ("double", "Add", "1", "inf", True)):
            with self.subTest(f"{data_type} {operator} {a} {b}"):
                text = (f'<ir_version: 8, opset_import: ["" : 18]> g ({data_type}[n] x) => ({data_type}[n] y) '
                        f"<{data_type} a = {{{a}}}, {data_type} b = {{{b}}}> {{ c = {operator}(a, b) s = Add(x, c) y = Identity(s) }}")
                out = self.clean(self.save(onnx.parser.parse_model(text)))[1]
                self.assertEqual(operator in [node.op_type for node in onnx.load(out).graph.node[:-1]], not is_folded)

    def test_outputs_are_compared_before_the_result_is_written(self):
        model = self.save(exported_models.encoder(layers=1))
        comparison = self.clean(model)[0]["clean_up"]["comparison"]
        self.assertEqual((comparison["verdict"], comparison["inputs"]), ("equal", 3), comparison)
        self.assertRegex(comparison["verifier"], r"^onnxruntime \d")
        comparison = self.clean(model, "--verifier", "definitions")[0]["clean_up"]["comparison"]
        self.assertEqual((comparison["verdict"], comparison["verifier"]), ("not verified", ""))
        feeds_file = self.folder / "inputs.npz"
        np.savez(feeds_file, **feeds(session(model).get_inputs(), 5))
        self.assertEqual(self.clean(model, "--inputs", feeds_file)[0]["clean_up"]["comparison"]["given_inputs"], 1)

    def test_a_result_whose_bits_changed_is_not_written(self):
        liar = self.folder / "python3"  # answers as the helper process does
        liar.write_text(f"#!{sys.executable}\n"
                        "import json, struct, sys\n"
                        "for answer in ({'name': 'stand-in'}, {'verdict': 'different', 'reason': 'planted'}):\n"
                        "    text = json.dumps(answer).encode()\n"
                        "    sys.stdout.buffer.write(struct.pack('<Q', len(text)) + text)\n"
                        "sys.stdout.flush()\n"
                        "sys.stdin.buffer.read()\n")
        liar.chmod(0o755)
        model, out = self.save(exported_models.detector()), self.folder / "out.onnx"
        process = rulemill("optimize", model, "--only-clean", "--out", out, env={"RULEMILL_PYTHON": str(liar)})
        self.assert_fails(process, 1, str(model), "stand-in", "planted", "nothing was written")
        self.assertFalse(out.exists())

    def test_a_dynamic_model_works_at_empty_sizes_where_the_original_does(self):
        model = self.save(exported_models.encoder(layers=1))
        _, out = self.clean(model)
        self.assert_same_bits(model, out, [0])

    def test_inputs_outputs_and_remaining_values_keep_their_names(self):
        before = exported_models.encoder(layers=1)
        after = onnx.load(self.clean(self.save(before))[1])
        self.assertEqual(before.graph.input, after.graph.input)
        self.assertEqual(before.graph.output, after.graph.output)
        self.assertEqual(before.opset_import, after.opset_import)
        names = {name for node in before.graph.node for name in node.output}
        weights = {tensor.name for tensor in before.graph.initializer}
        self.assertLessEqual({name for node in after.graph.node for name in node.output}, names)
        for tensor in after.graph.initializer:
            self.assertTrue(tensor.name in names | weights or tensor.name.endswith(("_shape", "_axes")), tensor.name)

    def test_five_runs_write_the_same_file(self):
        model = self.save(exported_models.detector())
        written = {hashlib.sha256(self.clean(model)[1].read_bytes()).hexdigest() for _ in range(5)}
        self.assertEqual(len(written), 1)

    def test_a_clean_model_is_copied(self):
        _, clean = self.clean(self.save(exported_models.encoder(layers=1)))
        report, out = self.clean(clean)
        self.assertFalse(report["changed"])
        self.assertEqual(out.read_bytes(), clean.read_bytes())

    def test_the_result_states_its_origin(self):
        model = self.save(exported_models.detector())
        metadata = {entry.key: entry.value for entry in onnx.load(self.clean(model)[1]).metadata_props}
        self.assertRegex(metadata["rulemill.version"], r"^\d+\.\d+\.\d+")
        self.assertRegex(metadata["rulemill.input_digest"], r"^xxh3-128:[0-9a-f]{32}$")
        self.assertEqual(metadata["rulemill.rules"], "")

    def test_without_faster_results_the_clean_model_is_written(self):
        model, rules = self.save(exported_models.detector()), self.folder / "none.rmdb"
        (self.folder / "none.rules").write_text("rule none(x:2)\n  relu(relu(x)) => relu(x)\n")
        self.assert_works(rulemill("rules", "import", self.folder / "none.rules", "--out", rules))
        out = self.folder / "out.onnx"
        report = self.json("optimize", model, "--rules", rules, "--out", out, "--no-benchmark", "--verifier", "definitions")
        self.assertEqual(report["fired"], [])
        self.assertEqual(out.read_bytes(), self.clean(model)[1].read_bytes())

    def test_external_data_stay_external(self):
        model = exported_models.encoder(layers=1)
        path = self.folder / "external.onnx"
        onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=100)
        _, out = self.clean(path)
        self.assertTrue((self.folder / (out.name + ".data")).exists())
        self.assert_same_bits(path, out)

    def test_rules_are_refused(self):
        model = self.save(exported_models.detector())
        self.assert_fails(rulemill("optimize", model, "--only-clean", "--rules", self.folder), 2, "--only-clean")

    def test_shipped_models_keep_their_bits(self):
        for path in sorted((ROOT / "data" / "models").glob("*.onnx")):
            with self.subTest(path.name):
                copy = self.folder / path.name
                shutil.copy(path, copy)
                _, out = self.clean(copy)
                self.assert_same_bits(copy, out, [2])


if __name__ == "__main__":
    unittest.main()
