#!/usr/bin/env python3
"""`rulemill.tablegen`: patterns of MLIR projects in TableGen, right and wrong ones, and those that cannot be decided."""

import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from package_case import rulemill

import rulemill.tablegen as tablegen

TOOL = next((path for path in ("/usr/lib/llvm-16/bin/llvm-tblgen", shutil.which("llvm-tblgen-16")) if path and os.access(path, os.X_OK)), None)
HEADERS = "/usr/lib/llvm-16/include/mlir/IR/OpBase.td"

HELPERS = """
include "a/file/that/is/not/there.td"
class FloatValueEquals<string val> : Constraint<CPred<"FloatValueEquals($0, " # val # ")">>;
def HasOneUse : Constraint<CPred<"$0.hasOneUse()">>;
def IsNoneType : Constraint<CPred<"llvm::isa<NoneType>($0.getType())">>;
def IsSmall : Constraint<CPred<"isSmall($0)">>;
def MergePermutations : NativeCodeCall<"merge($0, $1)">;
"""
# Patterns with the status and a part of the reason.
PATTERNS = [
    ("def a : Pat<(TFL_MaximumOp $x, (Arith_ConstantOp $zero)), (TFL_ReluOp $x), [(FloatValueEquals<\"0\"> $zero)]>;", "proved", ""),
    ("def b : Pat<(TFL_MaximumOp $x, (Arith_ConstantOp $one)), (TFL_ReluOp $x), [(FloatValueEquals<\"1\"> $one)]>;", "refuted", "the source is"),
    ("def c : Pat<(TFL_SubOp $x, $y, TFL_AF_None), (TFL_SubOp $y, $x, TFL_AF_None)>;", "refuted", "the source is"),
    ("def d : Pat<(TFL_ReluOp (TFL_SubOp:$s $x, $y, TFL_AF_None)), (TFL_SubOp $x, $y, TFL_AF_Relu), [(HasOneUse $s)]>;", "proved", ""),
    ("def e : Pat<(TFL_ReluOp (TFL_SubOp $x, $y, TFL_AF_None)), (TFL_SubOp $x, $y, TFL_AF_Relu6)>;", "refuted", "the source is"),
    ("def f : Pat<(TFL_AddOp $x, (TFL_ZerosLikeOp $y), $act_fn), (replaceWithValue $x), [(IsNoneType $act_fn)]>;", "refuted", "the target"),
    ("def g : Pat<(TFL_AddOp $x, (TFL_ZerosLikeOp $y), TFL_AF_None), (replaceWithValue $x)>;", "proved", ""),
    ("def h : Pat<(TFL_AbsOp $x), (replaceWithValue $x), [(IsSmall $x)]>;", "conditional", "IsSmall x"),
    ("def i : Pat<(TFL_NegOp (TFL_NegOp $x)), (replaceWithValue $x), [(IsSmall $x)]>;", "proved", ""),
    ("def j : Pat<(StableHLO_TransposeOp (StableHLO_TransposeOp $x, $p), $q), (StableHLO_TransposeOp $x, (MergePermutations $p, $q))>;",
     "not expressible", "native code MergePermutations"),
    ("def k : Pat<(TFL_SpecialOp $x), (replaceWithValue $x)>;", "not expressible", "operator TFL_SpecialOp"),
    ("def l : Pat<(TFL_GeluOp $x, $approximate), (replaceWithValue $x)>;", "not expressible", "any attribute"),
    ("def m : Pat<(TFL_AbsOp (TFL_AbsOp:$inner $x)), (replaceWithValue $inner), [], [(MergePermutations $inner, $x)], (addBenefit 2)>;", "proved", ""),
    ("def n : Pat<(StableHLO_AndOp $x, (StableHLO_ConstantOp:$zero IntZero:$v)), (replaceWithValue $zero)>;", "proved", ""),
    ("def o : Pat<(StableHLO_OrOp $x, (StableHLO_ConstantOp:$zero IntZero:$v)), (replaceWithValue $zero)>;", "refuted", "the source is"),
    ("def p : Pat<(TFL_MulOp $x, (Arith_ConstantOp ConstantAttr<F32Attr, \"7.0f\">), TFL_AF_None), (replaceWithValue $x)>;", "not expressible",
     "the number 7.0f"),
    ("def q : Pat<(TFL_SquareOp $x), (replaceWithValue $y)>;", "not expressible", "$y, which the source does not bind"),
    ("foreach op = [TFL_FloorOp, TFL_CeilOp]<Op> in def \"r\" # op : Pat<(op (op $x)), (op $x)>;", "proved", ""),
]


@unittest.skipIf(TOOL is None or not os.path.exists(HEADERS), "SKIPPED: no llvm-tblgen 16 with the headers of MLIR (llvm-16, libmlir-16-dev)")
class Patterns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "helpers.td").write_text(HELPERS, encoding="utf-8")

    def run_command(self, text, *words):
        """The exit code, and what is printed."""
        (self.folder / "own.td").write_text(f'include "mlir/IR/OpBase.td"\n{text}\n', encoding="utf-8")
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                code = tablegen.main([str(self.folder / "helpers.td"), str(self.folder / "own.td"), "--tool", TOOL, *map(str, words)])
            except SystemExit as ended:
                code = ended.code
        return code, out.getvalue() + errors.getvalue()

    def test_each_pattern_has_its_verdict(self):
        file = self.folder / "found.json"
        code, text = self.run_command("\n".join(pattern for pattern, _, _ in PATTERNS), "--json", file)
        self.assertEqual(code, 1, text)
        found = {each["name"]: each for each in json.loads(file.read_text(encoding="utf-8"))}
        self.assertEqual(len(found), len(PATTERNS) + 1)
        for pattern, status, reason in PATTERNS:
            names = [re.search(r"def (\w+) ", pattern)[1]] if "foreach" not in pattern else ["rTFL_FloorOp", "rTFL_CeilOp"]
            for name in names:
                with self.subTest(name):
                    self.assertEqual(found[name]["status"], status, found[name])
                    self.assertIn(reason, found[name]["reason"])

    def test_patterns_without_a_false_one_exit_with_0(self):
        code, text = self.run_command(PATTERNS[0][0], "--only", "^a$")
        self.assertEqual((code, text), (0, "a: proved\n1 patterns: 1 proved\n"))

    def test_what_the_tool_does_not_read_is_an_error(self):
        code, text = self.run_command("def a : Pat<(TFL_AbsOp $x)")
        self.assertEqual((code, "llvm-tblgen does not read it" in text), (2, True), text)
        code, text = self.run_command(PATTERNS[0][0], "--tool", self.folder / "nothing")
        self.assertEqual((code, "expected llvm-tblgen" in text), (2, True), text)


if __name__ == "__main__":
    unittest.main()
