#!/usr/bin/env python3
"""optimize --inputs: models are compared and timed on the values that the user gives, besides random ones."""

import io
import unittest
import zipfile

import numpy as np
import onnx
from binary import ROOT, Case, rulemill
from onnx import TensorProto, helper, numpy_helper

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

# The mapping is wrong: Clip differs from the definition beyond 5000, where no random input is.
BOUNDED = """
operator add(a[d...], b[d...])
  y[i... < d...] = a[i...] + b[i...]
  commutative
  onnx Add
operator negated(x[d...])
  y[i... < d...] = -x[i...]
  onnx Neg
operator bounded(x[d...])
  y[i... < d...] = x[i...] * 1
  onnx Clip(x, none, const 5000.0) since 11
"""
RULES = """rule merged(x:2, z:2)
  add(bounded(x), bounded(z)) => bounded(add(x, z))
rule negation(x:2, z:2)
  add(negated(x), negated(z)) => negated(add(x, z))
"""


def array(shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)


class GivenInputs(Case):
    def setUp(self):
        super().setUp()
        self.definitions, self.rules = self.folder / "definitions", self.folder / "rules"
        self.definitions.mkdir()
        (self.definitions / "bounded.op").write_text(BOUNDED, encoding="utf-8")
        (self.folder / "rules.txt").write_text(RULES, encoding="utf-8")
        self.assert_works(rulemill("rules", "import", self.folder / "rules.txt", "--definitions", self.definitions, "--out", self.rules,
                                   "--progress", "off"))
        self.model = self.save_model("Neg")

    def save_model(self, operator, constants=()):
        """Returns a model whose sum of two nodes the rules merge."""
        more = [name for name, _ in constants]
        nodes = [helper.make_node(operator, ["x", *more], ["a"]), helper.make_node(operator, ["z", *more], ["b"]),
                 helper.make_node("Add", ["a", "b"], ["y"])]
        value = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
        weights = [numpy_helper.from_array(np.float32(number), name) for name, number in constants if name]
        graph = helper.make_graph(nodes, "sum", [value("x", ["n", 64]), value("z", ["n", 64])], [value("y", ["n", 64])], weights)
        path = self.folder / f"{operator}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path

    def archive(self, name="inputs.npz", save=np.savez, **arrays):
        save(self.folder / name, **arrays)
        return self.folder / name

    def data_set(self, name, **arrays):
        folder = self.folder / name
        folder.mkdir(parents=True)
        for number, (tensor, values) in enumerate(arrays.items()):
            (folder / f"input_{number}.pb").write_bytes(numpy_helper.from_array(values, tensor).SerializeToString())
        return folder

    def command(self, *more, model=None):
        return ["optimize", model or self.model, "--rules", self.rules, "--definitions", self.definitions, "--no-benchmark", *more]

    def verifiers(self, *more, **settings):
        return self.json(*self.command(*more), **settings)["verification"]["verifiers"]

    def assert_given(self, count, *more):
        """Checks that each verifier compares so many given inputs, and random ones."""
        for verifiers in (self.verifiers(*more), self.verifiers(*more, "--verifier", "definitions")):
            for each in verifiers:
                self.assertEqual([each["verdict"], each["given_inputs"]], ["equal", count], each)
                self.assertGreater(each["inputs"], 0)

    def test_models_are_compared_on_archives(self):
        x, z = array((5, 64)), array((5, 64), 1)
        self.assert_given(1, "--inputs", self.archive(x=x, z=z))
        self.assert_given(1, "--inputs", self.archive("packed.npz", np.savez_compressed, x=x, z=z))

    def test_models_are_compared_on_folders_of_test_data(self):
        x, z = array((5, 64)), array((5, 64), 1)
        self.assert_given(1, "--inputs", self.data_set("one", x=x, z=z))
        self.assert_given(1, "--inputs", self.data_set("by_position", p=x, q=z))
        self.data_set("several/test_data_set_0", x=x, z=z)
        self.data_set("several/test_data_set_1", z=array((7, 64)), x=array((7, 64)))
        self.assert_given(3, "--inputs", self.folder / "several", "--inputs", self.archive(x=x, z=z))

    def test_an_input_with_a_default_may_be_given(self):
        model = onnx.load(self.model)
        model.graph.initializer.append(numpy_helper.from_array(array((5, 64), 1), "z"))
        onnx.save(model, self.model)
        self.assert_given(1, "--inputs", self.archive(x=array((5, 64))))
        self.assert_given(1, "--inputs", self.archive(x=array((5, 64)), z=array((5, 64), 2)))
        self.assertEqual(rulemill(*self.command("--inputs", self.archive(z=array((5, 64))))).returncode, 3)

    def test_a_question_mark_is_the_name_of_no_dimension(self):
        model = onnx.load(self.model)
        for info in (*model.graph.input, *model.graph.output):
            for size in info.type.tensor_type.shape.dim:
                size.dim_param = "?"
        onnx.save(model, self.model)
        self.assert_works(rulemill(*self.command("--inputs", self.archive(x=array((5, 64)), z=array((5, 64), 1)))))

    def test_dynamic_dimensions_have_the_sizes_of_the_first_set(self):
        report = self.json(*self.command("--inputs", self.archive(x=array((6, 64)), z=array((6, 64)))))
        self.assertEqual([[each["name"], each["value"], each["assumed"]] for each in report["sizes"]], [["n", 6, False]])

    def test_a_result_that_differs_on_given_inputs_only_is_rejected(self):
        model = self.save_model("Clip", [("", None), ("high", 5000)])
        self.assertTrue(self.json(*self.command(model=model))["changed"], "random inputs do not show the difference")
        x, z = np.full((3, 64), 1e4, np.float32), np.full((3, 64), -3e3, np.float32)
        ordinary = self.archive(x=array((3, 64)), z=array((3, 64)))
        report = self.json(*self.command("--inputs", ordinary, "--inputs", self.archive("large.npz", x=x, z=z), model=model))
        self.assertFalse(report["changed"])
        self.assertIn("given input 1", report["warning"])

    @unittest.skipIf(onnxruntime is None, "SKIPPED: onnxruntime is not installed (scripts/install-debian.sh)")
    def test_models_are_timed_on_given_inputs(self):
        sets = ["--inputs", self.archive(x=array((6, 64)), z=array((6, 64))), "--inputs", self.data_set("more", x=array((3, 64)), z=array((3, 64)))]
        command = [each for each in self.command(*sets, "--benchmark-seconds", "0.5") if each != "--no-benchmark"]
        self.assertEqual(self.json(*command)["timing"]["shapes"], "x 6x64, z 6x64; x 3x64, z 3x64")

    def test_files_that_do_not_fit_the_model_are_bad_input(self):
        x, z = array((5, 64)), array((5, 64))
        cases = [(dict(x=x), "it has no values of z, expected x, z"), (dict(x=x, z=z, w=z), "the model has no input 'w', expected x, z"),
                 (dict(x=x.astype(np.float64), z=z), "input x: expected FLOAT, found DOUBLE"),
                 (dict(x=x[:, :32], z=z), "input x: expected shape [n, 64], found [5, 32]"),
                 (dict(x=x[0], z=z), "input x: expected shape [n, 64], found [64]"),
                 (dict(x=x, z=array((4, 64))), "input z: dimension n is 4 here and 5 in another input"),
                 (dict(x=x, z=np.array(["text"])), "expected little-endian numbers or Booleans, found the type <U4"),
                 (dict(x=x, z=z.astype(">f4")), "found the type >f4")]
        for arrays, message in cases:
            with self.subTest(message):
                self.assert_fails(rulemill(*self.command("--inputs", self.archive(**arrays))), 3, "inputs.npz", message)
        folder = self.data_set("folder", x=x, z=z, third=z)
        self.assert_fails(rulemill(*self.command("--inputs", folder)), 3, "input_2.pb", "no input of this number")

    def test_unreadable_files_are_bad_input(self):
        good = self.archive(x=array((5, 64)), z=array((5, 64))).read_bytes()
        packed = self.archive("packed.npz", np.savez_compressed, x=array((5, 64)), z=array((5, 64))).read_bytes()
        text = io.BytesIO()
        with zipfile.ZipFile(text, "w") as file:
            file.writestr("readme.txt", "no array")
        damaged = bytearray(packed)
        damaged[200] ^= 1
        for content, message in [(b"", "too short"), (b"no archive" * 10, "no directory"), (good[:-200], "not a NumPy archive"),
                                 (bytes(damaged), "is damaged"), (text.getvalue(), "readme.txt in it is not an array")]:
            with self.subTest(message):
                bad = self.folder / "bad.npz"
                bad.write_bytes(content)
                self.assert_fails(rulemill(*self.command("--inputs", bad)), 3, "bad.npz", message)
        self.assert_fails(rulemill(*self.command("--inputs", self.folder / "absent.npz")), 3, "absent.npz", "No such file")
        empty = self.folder / "empty"
        empty.mkdir()
        self.assert_fails(rulemill(*self.command("--inputs", empty)), 3, "empty", "expected input_0.pb")
        (empty / "input_0.pb").write_bytes(b"\xff\xff\xff")
        self.assert_fails(rulemill(*self.command("--inputs", empty)), 3, "input_0.pb", "not a serialized ONNX tensor")

    def test_the_shape_of_one_input_sets_the_named_dimensions_of_all(self):
        report = self.json(*self.command("--input-shape", "x:7x64"))
        self.assertEqual([[each["name"], each["value"], each["assumed"]] for each in report["sizes"]], [["n", 7, False]])
        for each in report["verification"]["verifiers"]:
            self.assertEqual(each["verdict"], "equal", each)
        process = rulemill(*self.command("--input-shape", "x:7x64", "--input-shape", "z:5x64"))
        self.assert_fails(process, 2, "--input-shape: input 'z' is [n, 64], of other sizes than given for another input")

    def test_sizes_that_no_input_has_are_not_listed(self):
        model = onnx.load(self.model)
        model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "rows_of_y"
        onnx.save(model, self.model)
        self.assertEqual([each["name"] for each in self.json(*self.command())["sizes"]], ["n"])

    def test_shapes_and_inputs_exclude_each_other(self):
        archive = self.archive(x=array((5, 64)), z=array((5, 64)))
        self.assert_fails(rulemill(*self.command("--inputs", archive, "--input-shape", "x:5x64")), 2, "--input-shape", "--inputs")


if __name__ == "__main__":
    unittest.main(verbosity=2)
