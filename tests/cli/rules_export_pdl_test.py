#!/usr/bin/env python3
"""`rulemill rules export --format pdl`: the patterns, applied by MLIR's rewriter to modules on StableHLO."""

import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from binary import ROOT, Case, rulemill

HAS_MLIR = importlib.util.find_spec("iree") is not None and importlib.util.find_spec("iree.compiler") is not None
if HAS_MLIR:
    import numpy
    import stablehlo_values
    from iree.compiler import ir, rewrite
    from pdl_patterns import Example, examples, only, patterns, pdl

RULES = [ROOT / "tests" / "cli" / name for name in ("exported.rules", "exported_pdl.rules")]
FORMS = ROOT / "tests" / "cli" / "stablehlo_forms.txt"
REGION = "its operation has a region, which PDL cannot match"
# The rules of the files that have no form, with a part of the reason.
SKIPPED = {"sums_pools": "no StableHLO form", "merges": "several outputs", "enlarges_sum": "no StableHLO form"}
MATMULS = """
func.func @main(%x: tensor<{m}x3x{f}>, %a: tensor<3x4x{f}>, %b: tensor<3x4x{f}>) -> tensor<{m}x4x{f}> {{
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0]{precision} : (tensor<{m}x3x{f}>, tensor<3x4x{f}>) -> tensor<{m}x4x{f}>
  %1 = stablehlo.dot_general %x, %b, contracting_dims = [1] x [0] : (tensor<{m}x3x{f}>, tensor<3x4x{f}>) -> tensor<{m}x4x{f}>
  %2 = stablehlo.add %{first}, %{second} {attributes} : tensor<{m}x4x{f}>
  return %2 : tensor<{m}x4x{f}>
}}"""


def matmuls(m=2, f="f32", precision="", first=0, second=1, attributes=""):
    return MATMULS.format(**locals())


@unittest.skipUnless(HAS_MLIR, "SKIPPED: iree-base-compiler is not installed")
class Pdl(Case):
    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="rulemill-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.database, cls.file = cls.shared / "rules.rmdb", cls.shared / "rules.mlir"
        for command in (("import", *RULES, "--out", cls.database),
                        ("export", cls.database, cls.file, "--format", "pdl", "--all")):
            process = rulemill("rules", *command)
            if process.returncode != 0:
                raise AssertionError(process.stdout + process.stderr)

    def setUp(self):
        super().setUp()
        self.context = ir.Context()
        self.context.__enter__()
        self.addCleanup(self.context.__exit__, None, None, None)
        location = ir.Location.unknown()
        location.__enter__()
        self.addCleanup(location.__exit__, None, None, None)
        self.rules = ir.Module.parse(self.file.read_text(encoding="utf-8"))

    def rewrite(self, rules, text):
        """Applies the rules, compares the values, and returns the operations of before and after."""
        module = ir.Module.parse(text)
        inputs = stablehlo_values.random_inputs(module)
        before, names_before = stablehlo_values.run(module, inputs)
        pdl.apply(rules, module)
        self.assertTrue(module.operation.verify())
        after, names_after = stablehlo_values.run(module, inputs)
        self.assert_equal(after, before)
        return names_before, names_after

    def assert_equal(self, found, expected):
        for a, b in zip(found, expected, strict=True):
            numpy.testing.assert_allclose(a, b, rtol=1e-9 if b.dtype == numpy.float64 else 1e-4, atol=1e-9, equal_nan=True)

    def pattern_of(self, name):
        return only(patterns(self.rules)[name])

    def assert_kept(self, rules, text):
        before, after = self.rewrite(rules, text)
        self.assertEqual(before, after)

    def assert_examples(self, rules, step, of_each_rule):
        """Every `step`-th pattern, and the first one of each rule, changes the module of its left-hand side without changing its
        values. Returns the number of examples."""
        count = 0
        chosen = [(name, pattern) for i, (name, pattern) in enumerate(patterns(rules).items())
                  if i % step == 0 or of_each_rule and "_form" not in name]
        for name, pattern in chosen:
            tried = list(examples(pattern))
            for example in tried:
                with self.subTest(name, text=example.text()):
                    module = ir.Module.parse(example.text())
                    inputs, before = stablehlo_values.random_inputs(module), str(module)
                    expected = stablehlo_values.run(module, inputs)[0]
                    rewrite.walk_and_apply_patterns(module.operation, pdl.pattern_set(only(pattern)))
                    self.assertNotEqual(str(module), before)
                    self.assertTrue(module.operation.verify())
                    self.assert_equal(stablehlo_values.run(module, inputs)[0], expected)
                    count += 1
            self.assertTrue(tried, name)
        return count

    def test_every_rule_applies_to_an_example_and_keeps_its_value(self):
        report = self.json("rules", "export", self.database, self.folder / "again.mlir", "--format", "pdl", "--all")
        skipped = {each["rule"].removesuffix("_reversed"): each["reason"] for each in report.get("skipped", [])}
        for name, reason in SKIPPED.items():
            self.assertIn(reason, skipped[name])
        names = {line.split()[1].split("(")[0] for file in RULES for line in file.read_text().split("\n") if line.startswith("rule ")}
        written = {name.removesuffix("_reversed") for name in report["rules"]}
        self.assertEqual(written, names - set(SKIPPED) - {"equal_differences"})
        self.assertEqual((self.folder / "again.mlir").read_bytes(), self.file.read_bytes())
        self.assertGreater(self.assert_examples(self.rules, step=5, of_each_rule=True), 80)

    def test_default_rules_apply_to_their_examples(self):
        database = rulemill("rules", "default").stdout.strip()
        path = self.folder / "default.mlir"
        self.assertGreater(self.json("rules", "export", database, path, "--format", "pdl")["written"], 500)
        rules = ir.Module.parse(path.read_text(encoding="utf-8"))
        self.assertGreater(self.assert_examples(rules, step=61, of_each_rule=False), 100)
        self.assertEqual(self.rewrite(rules, matmuls())[1], ["add", "dot_general"])

    def test_the_forms_have_the_values_of_the_definitions(self):
        """The left-hand side of -(-t) => t, or of "not not t => t", evaluated as StableHLO, is the value of t."""
        lines = [line for line in FORMS.read_text(encoding="utf-8").split("\n") if line and not line.startswith("#")]
        definitions = ("--definitions", ROOT / "data" / "compilers" / "operators")
        text = ""
        for i, line in enumerate(lines):
            variables, term = line.split(": ", 1)
            outer = "opposite" if re.match("less|greater|at_|equal_to|not_equal|logical|one_of", term) else "neg"
            text += f"rule form_{i}({variables}) {outer}({outer}({term})) => {term}\n"
        rules, database, path = (self.folder / name for name in ("forms.rules", "forms.rmdb", "forms.mlir"))
        rules.write_text(text, encoding="utf-8")
        self.assert_works(rulemill("rules", "import", rules, "--out", database, *definitions))
        report = self.json("rules", "export", database, path, "--format", "pdl", *definitions)
        self.assertEqual(report["written"], len(lines), report.get("skipped"))
        exported = ir.Module.parse(path.read_text(encoding="utf-8"))
        found = patterns(exported)
        arrays, terms, values = {}, [], []
        for i, line in enumerate(lines):
            variables, term = line.split(": ", 1)
            module = ir.Module.parse(next(examples(found[f"form_{i}"])).text())
            inputs, names = stablehlo_values.random_inputs(module), re.findall(r"(\w)\[", variables)
            for name, value in zip(names, inputs, strict=True):
                arrays[f"{name}{i}"] = {"shape": value.shape, "values": value.astype(float).ravel().tolist()}
            terms.append(re.sub(rf"\b({'|'.join(names)})\b(?!=)", rf"\g<1>{i}", term))
            values.append(stablehlo_values.run(module, inputs)[0][0])
        file = self.folder / "values.json"
        file.write_text(json.dumps(arrays), encoding="utf-8")
        outputs = self.json("operators", "eval", ", ".join(terms), "--values", file, *definitions)["outputs"]
        for line, value, output in zip(lines, values, outputs, strict=True):
            with self.subTest(line):
                self.assertEqual(list(value.shape), output["shape"])
                numpy.testing.assert_allclose(value.astype(float).ravel(), numpy.array(output["values"], float), rtol=1e-12, atol=1e-12)

    def test_products_are_merged_in_either_order(self):
        for first, second in ((0, 1), (1, 0)):
            for element, precision in (("f32", ""), ("f64", ", precision = [DEFAULT, DEFAULT]")):
                found = self.rewrite(self.one_way(), matmuls(f=element, first=first, second=second, precision=precision))
                self.assertEqual(found[1], ["add", "dot_general"])

    def one_way(self):
        """The patterns named distributes…: the sum of products becomes a product of a sum."""
        module = ir.Module.create()
        for name, pattern in patterns(self.rules).items():
            if name.startswith("distributes") and "_reversed" not in name and "shared" not in name:
                module.body.append(pattern.operation.clone())
        return module

    def test_nothing_else_is_matched(self):
        rules = self.one_way()
        self.assert_kept(rules, matmuls(f="i32"))
        self.assert_kept(rules, matmuls(precision=", precision = [HIGHEST, HIGHEST]"))
        self.assert_kept(rules, matmuls(attributes='{mark = "unknown"}'))
        self.assert_kept(rules, matmuls().replace("stablehlo.add", "stablehlo.subtract"))
        self.assert_kept(rules, matmuls().replace("dot_general %x, %b", "dot_general %0, %c").replace(
            "(%x", "(%c: tensor<4x4xf32>, %x").replace("(tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>\n  %2",
                                                      "(tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>\n  %2"))
        module = ir.Module.parse(matmuls(m="?"))
        before = str(module)
        pdl.apply(rules, module)
        self.assertEqual(str(module), before)

    def test_a_condition_on_sizes_is_checked(self):
        pattern = patterns(self.rules)["needs_width"]
        alternative = next(iter(pattern.regions[0].blocks[0].operations[0].operation.attributes["value"]))
        wide, high = (Example(pattern, alternative, {"m": m, "n": n}).text() for m, n in ((2, 3), (3, 3)))
        self.assertEqual(self.rewrite(only(pattern), wide)[1].count("concatenate"), 1)
        self.assert_kept(only(pattern), high)

    def test_attributes_of_sizes_are_checked(self):
        pattern = patterns(self.rules)["slices_of_sum"]
        example = next(examples(pattern)).text()
        self.rewrite(only(pattern), example)
        text = """
        func.func @main(%x: tensor<2x5xf64>, %y: tensor<2x5xf64>) -> tensor<2x3xf64> {
          %0 = stablehlo.slice %x [0:2, START] : (tensor<2x5xf64>) -> tensor<2x3xf64>
          %1 = stablehlo.slice %y [0:2, START] : (tensor<2x5xf64>) -> tensor<2x3xf64>
          %2 = stablehlo.add %0, %1 : tensor<2x3xf64>
          return %2 : tensor<2x3xf64>
        }"""
        self.assertEqual(self.rewrite(only(pattern), text.replace("START", "2:5"))[1], ["add", "slice"])
        self.assert_kept(only(pattern), text.replace("START", "1:4"))
        self.assert_kept(only(pattern), text.replace("START", "0:5:2"))

    def test_convolutions_with_other_defaults_are_kept(self):
        pattern = patterns(self.rules)["strides_twice"]
        text = """
        func.func @main(%x: tensor<1x2x7x7xf64>, %k: tensor<4x2x3x3xf64>, %l: tensor<4x2x3x3xf64>) -> tensor<1x4x3x3xf64> {
          %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2]OTHER}
            {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x7x7xf64>, tensor<4x2x3x3xf64>) -> tensor<1x4x3x3xf64>
          %1 = stablehlo.convolution(%x, %l) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2]OTHER}
            {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x7x7xf64>, tensor<4x2x3x3xf64>) -> tensor<1x4x3x3xf64>
          %2 = stablehlo.add %0, %1 : tensor<1x4x3x3xf64>
          return %2 : tensor<1x4x3x3xf64>
        }"""
        same = ", pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]"
        for other in ("", same):
            self.assertEqual(self.rewrite(only(pattern), text.replace("OTHER", other))[1], ["add", "convolution"])
        module = ir.Module.parse(text.replace("OTHER", same.replace("false, false", "false, true")))
        before = str(module)
        pdl.apply(only(pattern), module)
        self.assertEqual(str(module), before)

    def test_the_program_rewrites_a_file(self):
        database, rules, module = (self.folder / name for name in ("rules.rmdb", "rules.mlir", "module.mlir"))
        module.write_text(matmuls(), encoding="utf-8")
        (self.folder / "a.rules").write_text("rule d(x[m, k], a[k, n], b[k, n])\n  add(matmul(x, a), matmul(x, b)) => "
                                             "matmul(x, add(a, b))\n", encoding="utf-8")
        self.assert_works(rulemill("rules", "import", self.folder / "a.rules", "--out", database))
        self.assert_works(rulemill("rules", "export", database, rules, "--format", "pdl"))

        def run(*paths):
            return subprocess.run([sys.executable, ROOT / "data" / "exports" / "pdl.py", *paths], capture_output=True, text=True, check=False)

        found = run(rules, module)
        self.assertEqual((found.returncode, found.stdout.count("dot_general")), (0, 1), found.stderr)
        module.write_text("func.func @main(", encoding="utf-8")
        for paths, code in (((rules, module), 3), ((rules, self.folder / "none.mlir"), 3), ((rules,), 2)):
            found = run(*paths)
            self.assertEqual((found.returncode, found.stdout, found.stderr.count("\n")), (code, "", 1), found.stderr)


class Table(Case):
    """The table of StableHLO forms, without MLIR."""

    def export(self, table=None):
        rules, database = self.folder / "a.rules", self.folder / "a.rmdb"
        rules.write_text("rule twice(x[m, n])\n  transpose(transpose(x; perm=[1,0]); perm=[1,0]) => x\n"
                         "rule sums(x[m, n], y[m, n])\n  add(reduce_sum(x; axes=[1]), reduce_sum(y; axes=[1])) => "
                         "reduce_sum(add(x, y); axes=[1])\n", encoding="utf-8")
        self.assert_works(rulemill("rules", "import", rules, "--out", database))
        environment = {}
        if table is not None:
            data = self.folder / "data"
            shutil.rmtree(data, ignore_errors=True)
            (data / "exports").mkdir(parents=True)
            for each in (ROOT / "data").iterdir():
                if each.name != "exports":
                    (data / each.name).symlink_to(each)
            (data / "exports" / "stablehlo.toml").write_text(table, encoding="utf-8")
            environment = {"RULEMILL_DATA": str(data)}
        return rulemill("rules", "export", database, self.folder / "a.mlir", "--format", "pdl", "--all", env=environment)

    def test_reasons_of_the_table_are_given(self):
        process = self.export()
        self.assert_works(process)
        self.assertIn("reduce_sum: " + REGION, process.stdout)
        self.assertIn("pdl.pattern @twice", (self.folder / "a.mlir").read_text(encoding="utf-8"))

    def test_without_a_python_that_answers_there_is_one_line(self):
        database, rules = self.folder / "a.rmdb", self.folder / "a.rules"
        rules.write_text("rule twice(x[m, n])\n  neg(neg(x)) => x\n", encoding="utf-8")
        self.assert_works(rulemill("rules", "import", rules, "--out", database))
        for python, message in (("", "needs Python, and none was found"), ("/bin/true", "its helper process failed: exit code 0")):
            process = rulemill("rules", "export", database, self.folder / "a.out", "--format", "egglog", env={"RULEMILL_PYTHON": python})
            self.assert_fails(process, 1, "format egglog: " + message)
            self.assertFalse((self.folder / "a.out").exists())

    def test_mistakes_in_the_table_are_one_line(self):
        for table, part in (("[[forms]]\noperations = { transpose = 3 }\n", "expected a text in quotes"),
                            ("[[forms]]\n", "expected operations"),
                            ("[[forms]]\noperations = { transpose = \"transpose\" }\nform = 1\n", "form"),
                            ("[[forms]]\noperations = { transpose = \"transpose\" }\nwhen = { axis = \"1\" }\n", "axis"),
                            ("[[forms]]\noperations = { transpose = \"transpose\" }\nattributes = { permutation = \"{perm + }\" }\n", "perm +"),
                            ("[[forms]]\noperations = { transpose = \"transpose\" }\nattributes = { permutation = \"{axes}\" }\n", "axes"),
                            ("[[without]]\noperators = [\"relu\"]\n", "expected a reason")):
            with self.subTest(table):
                self.assert_fails(self.export(table), 3, "stablehlo.toml:", part)

    def test_operators_of_the_table_exist(self):
        import tomllib

        report = self.json("operators", "list", "--definitions", ROOT / "data" / "compilers" / "operators")
        known = {each["name"] for each in report["operators"]}
        table = tomllib.loads((ROOT / "data" / "exports" / "stablehlo.toml").read_text(encoding="utf-8"))
        named = {name for form in table["forms"] for name in form["operations"]} | {
            name for each in table["without"] for name in each["operators"]}
        self.assertEqual(named - known, set())


if __name__ == "__main__":
    unittest.main()
