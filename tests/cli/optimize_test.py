#!/usr/bin/env python3
"""`rulemill optimize`: the rules of a profile make a shipped model smaller, and onnxruntime agrees."""

import shutil
import unittest

from binary import ROOT, QuickstartCase, rulemill

try:
    import numpy
    import onnx
    import onnxruntime
except ImportError:
    onnxruntime = None

MODEL = ROOT / "data" / "models" / "acnet_block.onnx"
TOLERANCE = 1e-4  # relative to the largest value of an output: float32 sums in another order


def needs_onnxruntime(test):
    return unittest.skipUnless(onnxruntime, "SKIPPED: onnx and onnxruntime are not installed (scripts/install-debian.sh)")(test)


class Optimize(QuickstartCase):
    def test_the_rules_of_the_quick_start_are_listed_and_shown(self):
        rules = self.json("rules", "list", self.rules)["rules"]
        self.assertGreater(len(rules), 5)
        self.assertTrue(all(rule["proof"] in ("definitions", "derivation") for rule in rules))
        self.assertTrue(all(rule["tier"] in ("core", "derived") for rule in rules))
        shown = self.json("rules", "show", self.rules, rules[0]["id"])
        self.assertEqual(shown["text"], rules[0]["text"])
        derived = next(rule for rule in rules if rule["proof"] == "derivation")
        certificate = self.json("rules", "show", self.rules, derived["id"])["certificate"]
        self.assertRegex(certificate, r"; use r\d+g?[@:]")  # names the core rules that imply it
        self.assert_fails(rulemill("rules", "show", self.rules, "no_such_rule"), 2, "no_such_rule")

    def test_branches_of_a_block_become_one_convolution(self):
        out = self.folder / "faster.onnx"
        report = self.json("optimize", MODEL, "--rules", self.rules, "--out", out, "--no-benchmark")
        self.assertTrue(report["changed"])
        self.assertTrue(out.is_file())
        self.assertTrue(report["fired"])

    @needs_onnxruntime
    def test_onnxruntime_computes_the_same_from_fewer_nodes(self):
        out = self.folder / "faster.onnx"
        self.assert_works(rulemill("optimize", MODEL, "--rules", self.rules, "--out", out, "--no-benchmark"))
        before, after = onnx.load(MODEL), onnx.load(out)
        onnx.checker.check_model(after, full_check=True)
        self.assertLess(len(after.graph.node), len(before.graph.node))
        count = lambda model: sum(node.op_type == "Conv" for node in model.graph.node)
        self.assertLess(count(after), count(before))
        self.assertEqual(before.opset_import, after.opset_import)
        added = {entry.key for entry in after.metadata_props} - {entry.key for entry in before.metadata_props}
        self.assertEqual(added, {"rulemill.version", "rulemill.input_digest", "rulemill.rules"})
        self.assertRegex(next(entry.value for entry in after.metadata_props if entry.key == "rulemill.rules"), r"^r\d+( reversed)? x \d+")
        self.assertEqual(before.graph.input, after.graph.input)
        self.assertEqual(before.graph.output, after.graph.output)
        sessions = [onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]) for path in (MODEL, out)]
        for seed in range(3):
            generator = numpy.random.default_rng(seed)
            inputs = {value.name: generator.standard_normal([d if isinstance(d, int) else 2 for d in value.shape])
                      .astype(numpy.float32) for value in sessions[0].get_inputs()}
            for x, y in zip(*(session.run(None, inputs) for session in sessions)):
                self.assertLess(float(numpy.abs(x - y).max()), TOLERANCE * float(numpy.abs(x).max()))

    def test_the_result_is_deterministic(self):
        for name in ("a.onnx", "b.onnx"):
            self.assert_works(rulemill("optimize", MODEL, "--rules", self.rules, "--out", self.folder / name, "--no-benchmark"))
        self.assertEqual((self.folder / "a.onnx").read_bytes(), (self.folder / "b.onnx").read_bytes())

    def test_foreign_and_truncated_models_are_rejected_and_nothing_is_written(self):
        out = self.folder / "out.onnx"
        model = self.folder / "model.onnx"
        for content in (b"", b"something else" * 50, MODEL.read_bytes()[:2000]):
            model.write_bytes(content)
            self.assert_fails(rulemill("optimize", model, "--rules", self.rules, "--out", out, "--no-benchmark"), 3, "model.onnx")
        self.assert_fails(rulemill("optimize", self.folder / "absent.onnx", "--rules", self.rules, "--out", out, "--no-benchmark"), 3, "absent.onnx")
        self.assertFalse(out.exists())

    def test_a_damaged_database_is_rejected(self):
        database = self.folder / "rules.rmdb"
        whole = (self.rules / "rules.rmdb").read_bytes()
        for content in (whole[: len(whole) // 2], whole[:100] + bytes([whole[100] ^ 4]) + whole[101:]):
            database.write_bytes(content)
            self.assert_fails(rulemill("rules", "list", database), 3, "rules.rmdb")
            self.assert_fails(rulemill("optimize", MODEL, "--rules", database), 3, "rules.rmdb")

    def test_rules_of_other_definitions_are_rejected(self):
        operators = self.folder / "operators"
        shutil.copytree(ROOT / "data" / "operators", operators)
        file = operators / "convolution.op"
        file.write_text(file.read_text(encoding="utf-8").replace("(r - 1) // 2 if pad = same", "r // 2 if pad = same", 1), encoding="utf-8")
        self.assert_fails(rulemill("rules", "list", self.rules, "--definitions", operators), 3, "rules.rmdb", "conv2d")

    def test_wrong_options_are_named(self):
        for options in (["--device", "abacus"], ["--alpha", "0.5"], ["--budget", "-1"], ["--tolerance", "2"]):
            self.assert_fails(rulemill("optimize", MODEL, "--rules", self.rules, *options), 2, options[0])
        for runtime in ("any", "openvino"):
            process = rulemill("optimize", MODEL, "--rules", self.rules, "--provider", "cuda", "--runtime", runtime)
            self.assert_fails(process, 2, "--provider", "cuda needs --runtime onnxruntime")
        self.assert_fails(rulemill("optimize", MODEL, "--rules", self.rules, "--effort", "0"), 2, "--effort")
        self.assert_fails(rulemill("optimize", MODEL, "--rules", self.rules, "--input-shape", "x=3"), 2, "x=3")
        for mode in (["--only-clean"], ["--rules", self.rules, "--no-benchmark"]):
            process = rulemill("optimize", MODEL, *mode, "--input-shape", "imagee:1x2")
            self.assert_fails(process, 2, "--input-shape: unknown input of the model 'imagee'; did you mean 'image'?")
        process = rulemill("optimize", MODEL, "--rules", self.rules, "--search", "fast")
        self.assert_fails(process, 2, "--search", "unknown search 'fast'; known are saturate, backtrack")

    @needs_onnxruntime
    def test_info_counts_nodes_that_compute_no_floats_too(self):
        helper, path = onnx.helper, self.folder / "flat.onnx"
        graph = helper.make_graph([helper.make_node("Size", ["x"], ["n"]), helper.make_node("Unsqueeze", ["n", "zero"], ["s"]),
                                   helper.make_node("Reshape", ["x", "s"], ["y"])], "flat",
                                  [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 2])],
                                  [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["m"])],
                                  [helper.make_tensor("zero", onnx.TensorProto.INT64, [1], [0])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        self.assertIn("flat.onnx: opset 17, 3 nodes", rulemill("info", path).stdout)
        self.assert_fails(rulemill("info", self.folder / "absent.onnx"), 3, "rulemill: ",
                          f"{self.folder}/absent.onnx: cannot be read: No such file or directory")

    def test_an_unwritable_path_for_the_result_is_reported(self):
        for option in ("--out", "--report", "--json"):
            process = rulemill("optimize", MODEL, "--only-clean", option, self.folder / "new" / "folder" / "out.onnx")
            self.assert_fails(process, 3, "out.onnx: the folder ", "new/folder does not exist")
            self.assertEqual(list(self.folder.iterdir()), [])
        copy = self.folder / "model.onnx"
        shutil.copy(MODEL, copy)
        soft, hard = self.folder / "soft.onnx", self.folder / "hard.onnx"
        soft.symlink_to(copy)
        hard.hardlink_to(copy)
        for out in (copy, soft, hard, self.folder / "absent" / ".." / "model.onnx"):
            self.assert_fails(rulemill("optimize", copy, "--rules", self.rules, "--out", out), 2, "--out", "is a file of MODEL, an input")
        self.assertEqual(copy.read_bytes(), MODEL.read_bytes())


if __name__ == "__main__":
    unittest.main(verbosity=2)
