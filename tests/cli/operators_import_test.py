#!/usr/bin/env python3
"""`operators import`: definitions of operators from ONNX models and their functions, which compute what these do, and what is refused."""

import json
import sys
import textwrap
import unittest

from binary import ROOT, Case, rulemill

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError:
    onnx = None

FLOAT, INT = 1, 7
# By name: shapes of the inputs, nodes (operator, inputs, outputs, attributes), constants, the definition, and the model as terms of rules.
MODELS = {
    "gated": ({"x": "m n", "y": "m n"}, [("Sigmoid", ["y"], ["s"], {}), ("Mul", ["x", "s"], ["z"], {})], {},
              "operator gated(x[m, n], y[m, n])\n  z[i < m, j < n] = x[i, j] * sigmoid(y[i, j])\n", "mul(x, sigmoid(y))"),
    "order": ({"y": "m n", "x": "m n"}, [("Tanh", ["y"], ["t"], {}), ("Sub", ["x", "t"], ["z"], {})], {},
              "operator order(y[m, n], x[m, n])\n  z[i < m, j < n] = x[i, j] - tanh(y[i, j])\n", "sub(x, tanh(y))"),
    "scores": ({"q": "b m d", "k": "b n d"}, [("Transpose", ["k"], ["t"], {"perm": [0, 2, 1]}), ("MatMul", ["q", "t"], ["p"], {}),
                                              ("Mul", ["p", "c"], ["r"], {}), ("Softmax", ["r"], ["z"], {"axis": -1})], {"c": 0.125},
               "operator scores(q[b, m, d], k[b, n, d])\n"
               "  tensor scale[i < b, j < m, l < n] = (sum(p < d) q[i, j, p] * k[i, l, p]) * 0.125\n"
               "  tensor top[i < b, j < m] = max(p < n) scale[i, j, p]\n"
               "  tensor power[i < b, j < m, l < n] = exp(scale[i, j, l] - top[i, j])\n"
               "  y[i < b, j < m, l < n] = power[i, j, l] * recip(sum(p < n) power[i, j, p])\n",
               "softmax(mul(matmul(q, transpose(k; perm=[0, 2, 1])), half(); right=[2, 2, 2]))"),
    "mean_square": ({"x": "m n"}, [("Mul", ["x", "x"], ["s"], {}), ("ReduceMean", ["s", "a"], ["z"], {"keepdims": 0})], {"a": [-1]},
                    "operator mean_square(x[m, n])\n  y[i < m] = sum(p < n) x[i, p] * x[i, p] / n\n", None),
    "halves": ({"x": "m 6"}, [("Split", ["x"], ["a", "z"], {"axis": 1, "num_outputs": 2})], {},
               "operator halves(x[m, 6])\n  y[i < m, j < 3] = x[i, j + 3]\n", None),
    "convolution": ({"x": "n c h w", "k": "f c 3 3", "b": "f"}, [("Conv", ["x", "k", "b"], ["t"], {"pads": [1, 1, 1, 1]}), ("Relu", ["t"], ["z"], {})],
                    {}, None, None),
    "weighted": ({"x": "m 2"}, [("MatMul", ["x", "weight"], ["t"], {}), ("Add", ["t", "ones"], ["z"], {})],
                 {"weight": [[1, 2, 3], [4, 5, 7]], "ones": [1, 1, 1]},
                 "operator weighted(x[m, 2], weight[2, 3])\n  y[i < m, j < 3] = sum(p < 2) x[i, p] * weight[p, j] + 1\n", None),
    "normalized": ({"x": "m n", "g": "n"}, [("LayerNormalization", ["x", "g"], ["z"], {"epsilon": 0.25})], {}, None, None),
    "padded": ({"x": "m n"}, [("Tanh", ["x"], ["t"], {}), ("Cos", ["t"], ["u"], {}), ("Pad", ["u", "p"], ["z"], {})], {"p": [1, 0, 0, 2]}, None, None),
}
SIZES = ({"m": 1, "n": 1, "d": 1, "b": 1, "c": 1, "f": 1, "h": 1, "w": 1}, {"m": 3, "n": 5, "d": 2, "b": 1, "c": 3, "f": 2, "h": 4, "w": 3})


def dims(shape, sizes=None):
    return [int(word) if word.isdigit() else (sizes or {}).get(word, word) for word in shape.split()]


def model_of(shapes, nodes, constants, outputs=("z",), types=None, functions=(), domains=()):
    inputs = [helper.make_tensor_value_info(name, (types or {}).get(name, FLOAT), dims(shape)) for name, shape in shapes.items()]
    initializers = [numpy_helper.from_array(numpy.array(value, numpy.int64 if isinstance(value, list) and name in "ap" else numpy.float32), name)
                    for name, value in constants.items()]
    results = [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs]
    made = [helper.make_node(op, given, found, domain="own" if op in domains else "", name=f"the_{op}", **attributes)
            for op, given, found, attributes in nodes]
    graph = helper.make_graph(made, "graph", inputs, results, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("own", 1)], functions=functions)
    model.ir_version = 8
    return model


@unittest.skipUnless(onnx, "SKIPPED: onnx is not installed (scripts/install-debian.sh)")
class OperatorsImport(Case):
    def setUp(self):
        super().setUp()
        self.own = self.folder / "own"
        self.own.mkdir()
        (self.own / "included.op").write_text(f'include "{ROOT / "data" / "operators"}"\n', encoding="utf-8")

    def write(self, name, model):
        path = self.folder / f"{name}.onnx"
        onnx.save(model, path)
        return path

    def assert_computes(self, text, model, shapes):
        """The definition has the model's results at several sizes."""
        name = text.partition("operator ")[2].partition("(")[0]
        given = text.partition("(")[2].partition(")")[0]
        names = [each.split("[")[0] for each in given.split("], ")]
        stored = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
        for seed, sizes in enumerate(SIZES):
            random = numpy.random.default_rng(seed)
            arrays = {each: random.standard_normal(dims(shape, sizes)).astype(numpy.float32) for each, shape in shapes.items()}
            values = {each: arrays.get(each, stored.get(each)) for each in names}
            (self.folder / "values.json").write_text(json.dumps({each: {"shape": array.shape, "values": array.ravel().tolist()}
                                                                 for each, array in values.items()}), encoding="utf-8")
            found = self.json("operators", "eval", f"{name}({', '.join(names)})", "--values", self.folder / "values.json", "--definitions", self.own)
            expected = ReferenceEvaluator(model).run(None, arrays)[0]
            numpy.testing.assert_allclose(numpy.array(found["outputs"][0]["values"]).reshape(expected.shape), expected, rtol=1e-4, atol=1e-5)

    def test_a_model_becomes_a_definition_that_computes_the_same(self):
        for name, (shapes, nodes, constants, text, terms) in MODELS.items():
            with self.subTest(name):
                model = model_of(shapes, nodes, constants)
                path, out = self.write(name, model), self.own / f"{name}.op"
                report = self.json("operators", "import", path, "--out", out)
                self.assertEqual((report["name"], report["text"]), (name, out.read_text(encoding="utf-8")))
                self.assertEqual(report["text"].splitlines()[0], f"# What {name}.onnx computes.")
                self.assertEqual(rulemill("operators", "import", path).stdout, report["text"])
                if text:
                    self.assertEqual(report["text"].partition("operator")[1:], ("operator", text.partition("operator")[2]))
                self.assert_works(rulemill("operators", "check", out))
                self.assert_works(rulemill("operators", "check", "--definitions", self.own))
                self.assert_computes(report["text"], model, shapes)

    def test_rules_prove_that_it_is_what_is_written_out(self):
        text = ""
        for name, (shapes, nodes, constants, _, terms) in MODELS.items():
            if terms is None:
                continue
            self.assert_works(rulemill("operators", "import", self.write(name, model_of(shapes, nodes, {**constants, **({"c": 0.5} if constants else {})})),
                                       "--out", self.own / f"{name}.op"))
            given = ", ".join(f"{each}[{', '.join(map(str, dims(shape)))}]" for each, shape in shapes.items())
            text += f"rule {name}_is({given})\n  {name}({', '.join(shapes)}) => {terms}\n"
        (self.folder / "written.rules").write_text(text, encoding="utf-8")
        rules = self.json("rules", "import", self.folder / "written.rules", "--out", self.folder / "db", "--definitions", self.own)["rules"]
        self.assertEqual({rule["verdict"] for rule in rules}, {"proved"})
        self.assertEqual(len(rules), 3)

    def test_several_outputs_have_names(self):
        model = model_of({"x": "m n"}, [("ReduceSum", ["x", "a"], ["s"], {"keepdims": 0}), ("Relu", ["x"], ["r"], {})], {"a": [1]}, ("s", "r"))
        text = rulemill("operators", "import", self.write("two_parts", model)).stdout
        self.assertEqual(text.splitlines()[2:], ["  first[i < m] = sum(p < n) x[i, p]", "  second[i < m, j < n] = relu(x[i, j])"])

    def test_a_function_of_a_model_becomes_a_definition(self):
        body = [helper.make_node("Sigmoid", ["b"], ["s"]), helper.make_node("Mul", ["a", "s"], ["c"])]
        inner = [helper.make_node("Gate", ["p", "p"], ["q"], domain="own"), helper.make_node("Relu", ["q"], ["r"])]
        imports = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
        functions = [helper.make_function("own", "Gate", ["a", "b"], ["c"], body, imports),
                     helper.make_function("own", "Both", ["p"], ["r"], inner, imports),
                     helper.make_function("own", "Unused", ["p"], ["r"], inner, imports)]
        model = model_of({"x": "m n"}, [("Tanh", ["x"], ["t"], {}), ("Both", ["t"], ["u"], {}), ("Gate", ["u", "x"], ["z"], {})], {},
                         functions=functions, domains=("Gate", "Both"))
        path = self.write("calls", model)
        python = {"RULEMILL_PYTHON": sys.executable}
        process = rulemill("operators", "import", path, "--function", "own::Both", env=python)
        self.assertEqual(process.stdout, "# What function own::Both of calls.onnx computes.\noperator Both(p[m, n])\n"
                                         "  y[i < m, j < n] = relu(p[i, j] * sigmoid(p[i, j]))\n", process.stderr)
        process = rulemill("operators", "import", path, "--function", "own::Gate", "--name", "gate_of_two", env=python)
        self.assertIn("operator gate_of_two(a[m, n], b[m, n])\n  y[i < m, j < n] = a[i, j] * sigmoid(b[i, j])\n", process.stdout, process.stderr)
        for name, message in (("own::None", "has no function own::None; it has own::Both, own::Gate"), ("own::Unused", "does not call own::Unused")):
            self.assert_fails(rulemill("operators", "import", path, "--function", name, env=python), 3, path.name, message)

    def test_rules_of_an_imported_operator_are_discovered(self):
        shapes, nodes, constants, *_ = MODELS["gated"]
        path = self.write("gated", model_of(shapes, nodes, constants))
        self.assert_works(rulemill("operators", "import", path, "--out", self.own / "gated.op"))
        page = (ROOT / "docs" / "new_operator.md").read_text(encoding="utf-8")
        profile = textwrap.dedent(page.partition("gated.toml <<'END'\n")[2].partition("    END\n")[0])
        (self.folder / "gated.toml").write_text(profile, encoding="utf-8")
        self.assert_works(rulemill("discover", "--definitions", self.own, "--profile", self.folder / "gated.toml", "--out", self.folder / "run"))
        rules = self.json("rules", "list", self.folder / "run", "--definitions", self.own, "--uses", "gated")["rules"]
        self.assertIn("mul(x1, sigmoid(x2)) => gated(x1, x2)", " ".join(rules[0]["text"].split()))
        self.assertGreaterEqual(len(rules), 5)

    def test_what_cannot_be_defined_is_one_line_with_the_node_and_the_reason(self):
        def refused(code, model, *parts, name="refused", words=()):
            process = rulemill("operators", "import", self.write(name, model), *words)
            self.assert_fails(process, code, *parts)
            self.assertEqual(process.stdout, "")

        unknown = model_of({"x": "m"}, [("Relu", ["x"], ["t"], {}), ("Strange", ["t"], ["z"], {})], {}, domains=("Strange",))
        refused(3, unknown, "refused.onnx: node the_Strange (Strange) has no term: ")
        nonzero = model_of({"x": "m"}, [("NonZero", ["x"], ["i"], {}), ("Cast", ["i"], ["z"], {"to": TensorProto.FLOAT})], {})
        refused(3, nonzero, "node the_NonZero (NonZero) has no term: ")
        integers = model_of({"k": "m"}, [("Add", ["k", "k"], ["z"], {})], {}, types={"k": INT})
        integers.graph.output[0].type.tensor_type.elem_type = INT
        refused(3, integers, "node the_Add (Add) has no term: ")
        refused(3, model_of({"x": "m"}, [("Add", ["x", "c"], ["z"], {})], {"c": float("inf")}), "refused.onnx: the constant c is infinite")
        refused(3, model_of({"x": "2"}, [("Add", ["x", "c"], ["z"], {})], {"c": [0.0, float("-inf")]}), "refused.onnx: the constant c is infinite")
        relu = model_of({"x": "m"}, [("Relu", ["x"], ["z"], {})], {})
        refused(2, relu, "--name: relu is an operator of the definitions", name="relu")
        refused(2, relu, "--name: matmul is an operator of the definitions", words=("--name", "matmul"))
        (self.folder / "text.onnx").write_text("no model", encoding="utf-8")
        for options in ((), ("--function", "own::F")):
            self.assert_fails(rulemill("operators", "import", self.folder / "text.onnx", *options), 3, "text.onnx")
            self.assert_fails(rulemill("operators", "import", self.folder / "absent.onnx", *options), 3, "absent.onnx", "No such file")

    def test_numbers_that_the_language_does_not_have_are_inputs(self):
        model = model_of({"x": "m"}, [("Mul", ["x", "tiny"], ["z"], {})], {"tiny": 1.25e-30})
        report = self.json("operators", "import", self.write("scaled", model))
        self.assertEqual(report["inputs"], ["x", "tiny"])
        self.assertIn("# Constants of the model that are inputs here: tiny.\noperator scaled(x[m], tiny[])\n", report["text"])


if __name__ == "__main__":
    unittest.main()
