#!/usr/bin/env python3
"""MLIR patterns in PDL on StableHLO (`rules import FILE.pdl`): operations, types, what is unreadable, and patterns that
`rules export --format pdl` wrote."""

import unittest

from binary import ROOT, Case, rulemill

PATTERN = """pdl.pattern @given : benefit(1) {{
  {match}
  pdl.rewrite %root {{
    {rewrite}
  }}
}}
"""
TENSORS = "%t = pdl.type : tensor<2x3xf32>\n  %x = pdl.operand : %t\n  %y = pdl.operand : %t"
BROADCAST = ('%s = pdl.type : tensor<3xf32>\n  %b = pdl.operand : %s\n  %dims = pdl.attribute = array<i64: 1>\n'
             '  %rows = pdl.operation "stablehlo.broadcast_in_dim"(%b : !pdl.value) {"broadcast_dimensions" = %dims} '
             '-> (%t : !pdl.type)\n'
             '  %r = pdl.result 0 of %rows')


def operation(name, op, operands, attributes="", type_name="%t"):
    values = f"({', '.join(operands)} : {', '.join('!pdl.value' for _ in operands)})" if operands else ""
    result = f" -> ({type_name} : !pdl.type)" if type_name else ""
    return f'{name} = pdl.operation "stablehlo.{op}"{values}{attributes}{result}'


def replace(value="%x"):
    return f"pdl.replace %root with ({value} : !pdl.value)"


def binary(op, first="%x", second="%y", new=None, before=TENSORS):
    """FIRST op SECOND => new(%x, %y), or %x."""
    match = f"{before}\n  {operation('%root', op, [first, second])}"
    rewrite = replace() if new is None else f"{operation('%new', *new)}\n    %n = pdl.result 0 of %new\n    {replace('%n')}"
    return PATTERN.format(match=match, rewrite=rewrite)


TRANSPOSE = """
  %t = pdl.type : tensor<2x3xf32>
  %u = pdl.type : tensor<3x2xf32>
  %x = pdl.operand : %t
  %perm = pdl.attribute = array<i64: 1, 0>  // the order
  %0 = pdl.operation "stablehlo.transpose"(%x : !pdl.value) {"permutation" = %perm} -> (%u : !pdl.type)
  %1 = pdl.result 0 of %0
  %root = pdl.operation "stablehlo.transpose"(%1 : !pdl.value) {"permutation" = %perm} -> (%t : !pdl.type)"""
ZERO = ("%t = pdl.type : tensor<4xf64>\n  %x = pdl.operand : %t\n  %zero = pdl.attribute = dense<0.000000e+00> : tensor<4xf64>\n"
        '  %c = pdl.operation "stablehlo.constant" {"value" = %zero} -> (%t : !pdl.type)\n  %y = pdl.result 0 of %c')
# Patterns: their verdict, and what is read.
READ = {
    "a transposition twice": (PATTERN.format(match=TRANSPOSE, rewrite=replace()), "proved",
                              "x[2, 3] transpose(transpose(x; perm=[1,0]); perm=[1,0]) => x"),
    "an exchanged sum": (binary("add", new=("add", ["%y", "%x"])), "proved", "x[2, 3], y[2, 3] add(x, y) => add(x, y)"),
    "an exchanged difference": (binary("subtract", new=("subtract", ["%y", "%x"])), "refuted", ""),
    "a clamp below": (binary("maximum", before=ZERO, new=("maximum", ["%x", "%x"])), "refuted", ""),
    "a value per column": (binary("add", second="%r", before=TENSORS + "\n  " + BROADCAST, new=("add", ["%r", "%x"])), "proved",
                           "x[2, 3], b[3] add_row(x, b) => add_row(x, b)"),
    "truth values": (binary("and", second="%x", before=TENSORS.replace("f32", "i1")), "proved",
                     "x[2, 3] logical_and(truth_of_number(x), truth_of_number(x)) => truth_of_number(x)"),
}
# Patterns that are unreadable: the message.
UNREADABLE = {
    "a region": (binary("reduce"), "stablehlo.reduce: it is in no form of data/exports/stablehlo.toml"),
    "another dialect": (binary("add").replace("stablehlo.add", "arith.addf"),
                        "expected an operation of StableHLO, found 'arith.addf'"),
    "integers": (binary("add", before=TENSORS.replace("f32", "i32")), "expected elements of a float type or i1"),
    "two float types": (binary("add", before=TENSORS + "\n  %u = pdl.type : tensor<2x3xf64>"), "expected one float type"),
    "an open dimension": (binary("add", before=TENSORS.replace("2x3", "?x3")), "expected dimensions that are numbers"),
    "a native constraint": (binary("add", before=TENSORS + '\n  pdl.apply_native_constraint "small"(%x : !pdl.value)'),
                            "the native constraint 'small' is not known"),
    "a native rewrite": (binary("add").replace("{\n    pdl.replace %root with (%x : !pdl.value)\n  }", 'with "fold"'),
                         "a rewrite by a native function is not read"),
    "several results": (binary("add", before=TENSORS + '\n  %s = pdl.operation "stablehlo.sort"(%x, %y : !pdl.value, !pdl.value)\n'
                                                     "  %r = pdl.result 1 of %s"), "expected result 0"),
    "ranges": (binary("add", before=TENSORS + "\n  %r = pdl.operands"), "expected an operation of PDL that is read"),
    "an attribute of any value": (PATTERN.format(match=TRANSPOSE.replace(" = array<i64: 1, 0>", ""), rewrite=replace()),
                                  "its attribute permutation may have any value"),
    "another attribute": (PATTERN.format(match=TRANSPOSE.replace("array<i64: 1, 0>", "array<i64: 1, 1>"), rewrite=replace()),
                          "stablehlo.transpose: "),
    "a shape that the operation does not have": (PATTERN.format(match=TRANSPOSE.replace("3x2", "2x2"), rewrite=replace()),
                                                 "stablehlo.transpose: "),
    "any operation": (binary("add").replace('"stablehlo.add"', ""), "a pattern of any operation is no rule"),
    "an operation that is not used": (binary("add", before=TENSORS +
                                             '\n  %0 = pdl.operation "stablehlo.add"(%x, %y : !pdl.value, !pdl.value)'),
                                      "the root does not use this operation"),
    "a value that is not defined": (binary("add", second="%z"), "%z is not defined before"),
    "no rewrite": (binary("add").split("pdl.rewrite", maxsplit=1)[0] + "}", "expected pdl.rewrite at the end of the pattern"),
    "a number without an operator": (binary("maximum", before=ZERO.replace("0.000000e+00", "7.5")),
                                     "it is none of the numbers that are operators"),
}
# Texts that are no patterns: position and message.
NO_PDL = {
    "": ("", "has no rules; expected pdl.pattern"),
    "rule r(x:2) neg(neg(x)) => x": (":1:1", "expected a module of patterns"),
    "module {": (":1:9", "expected '}' at the end of the module"),
    "pdl.pattern @p : benefit(1) {": (":1:29", "this brace is not closed"),
    "pdl.pattern @p {}": (":1:16", "expected ':' after a pattern's name"),
    "module {\x01}": (":1:9", "found '?}'"),
}
GOOD = binary("add", new=("add", ["%y", "%x"])).replace("@given", "@good")


class Pdl(Case):
    def write(self, text, name="given.pdl"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def import_text(self, text, code=0):
        return self.json("rules", "import", self.write(text), "--out", self.folder / "out.rmdb", code=code)["rules"]

    def test_patterns_of_static_types_are_rules_of_these_sizes(self):
        for what, (text, verdict, expected) in READ.items():
            with self.subTest(what):
                rules = self.import_text(text, 1 if verdict == "refuted" else 0)
                self.assertEqual([(rule["name"], rule["verdict"]) for rule in rules], [("given", verdict)], rules[0]["detail"])
                found = " ".join(rules[0]["rule"].removeprefix("rule given(").split()).replace(") ", " ", 1)
                if expected:
                    self.assertEqual(found, expected)

    def test_a_pattern_without_types_is_read_at_each_rank(self):
        text = binary("add", new=("add", ["%y", "%x"], "", None)).replace(" : tensor<2x3xf32>", "")
        rules = self.import_text("module @rules {\n" + text + "}\n")
        self.assertEqual([rule["name"] for rule in rules], [f"given_{rank + 1}" for rank in range(5)])
        self.assertEqual({rule["verdict"] for rule in rules}, {"proved"})
        self.assertIn("x[d1, d2], y[d1, d2]", rules[2]["rule"])

    def test_a_bad_pattern_is_named_with_its_place_and_the_others_are_kept(self):
        for what, (text, message) in UNREADABLE.items():
            with self.subTest(what):
                path = self.write(text + GOOD)
                process = rulemill("rules", "import", path, "--out", self.folder / "out.rmdb")
                self.assert_fails(process, 3, f"{path}:", ": rule given is unreadable: ", message)
                self.assertRegex(process.stdout, r"good +proved")

    def test_a_text_without_patterns_is_one_error(self):
        for text, (position, message) in NO_PDL.items():
            with self.subTest(text):
                path = self.write(text)
                process = rulemill("rules", "import", path, "--out", self.folder / "out.rmdb")
                self.assert_fails(process, 3, f"{path}{position}: ", message)

    def test_exported_patterns_are_read_back(self):
        database, patterns, again = (self.folder / name for name in ("rules.rmdb", "rules.mlir", "again.rmdb"))
        given = (ROOT / "tests" / "cli" / name for name in ("exported.rules", "exported_pdl.rules"))
        self.assert_works(rulemill("rules", "import", *given, "--out", database))
        self.assert_works(rulemill("rules", "export", database, patterns, "--format", "pdl", "--all"))
        rules = self.json("rules", "import", patterns, "--out", again)["rules"]
        self.assertEqual({rule["verdict"] for rule in rules}, {"proved"})
        self.assertGreaterEqual(len(rules), patterns.read_text(encoding="utf-8").count("pdl.pattern @"))
        self.assert_works(rulemill("check", again))

    def test_a_damaged_specification_is_unreadable(self):
        database, patterns = (self.folder / name for name in ("rules.rmdb", "rules.mlir"))
        text = "rule scales(x[m, n], y[m, n], b[n])\n  add(mul_row(x, b), mul_row(y, b)) => mul_row(add(x, y), b)\n  when m < n\n"
        self.assert_works(rulemill("rules", "import", self.write(text, "a.rules"), "--out", database))
        self.assert_works(rulemill("rules", "export", database, patterns, "--format", "pdl", "--all"))
        exported = patterns.read_text(encoding="utf-8")
        for old, new, message in (('"real: n"', '"real: n,, m"', "rule scales is unreadable"),
                                  ('"real: n"', '"complex: n"', "expected a type"),
                                  ('"real: m, n", "real: m, n", "real: n"', '"real: m, n", "real: m, n", "real: m, n"',
                                   "operands of these ranks do not fit"),
                                  ('"real: m, n", "real: m, n", "real: n"', '"real: m, n", "real: m, n"',
                                   "expected as many types as arguments"),
                                  ('where = ["m < n"', 'where = ["m ~ n"', "expected a comparison of sizes"),
                                  ("where = ", "whither = ", "expected where"), ('variables = ["', 'variables = [["', "this bracket closes no bracket")):
            with self.subTest(new):
                self.assertTrue(old in exported, old)
                process = rulemill("rules", "import", self.write(exported.replace(old, new)), "--out", self.folder / "out.rmdb")
                self.assert_fails(process, 3, message)


if __name__ == "__main__":
    unittest.main()
