#!/usr/bin/env python3
"""`rulemill.onnxscript`: rules of one's own, right and wrong, and those of the installed package."""

import contextlib
import inspect
import io
import json
import pathlib
import sys
import tempfile
import unittest

from package_case import numpy, onnx, rulemill

try:
    import onnxruntime
    from onnxscript.rewriter import RewriteRule, RewriteRuleClassBase

    import rulemill.onnxscript as sources
except (ImportError, rulemill.Error):
    RewriteRule = None


def compared(pattern, replacement, check=None, **options):
    return sources.compare([RewriteRule(pattern, replacement, check)], trials=8000, models=3, **options)


@unittest.skipIf(RewriteRule is None, "needs onnxscript and onnxruntime")
class Onnxscript(unittest.TestCase):
    def test_a_right_rule_is_equal_for_all_sizes(self):
        found = compared(lambda op, x, y: op.Neg(op.Sub(x, y)), lambda op, x, y: op.Sub(y, x))
        self.assertIn("equal for all sizes", [each.status for each in found.models], found)
        self.assertNotIn(found.status, sources.WRONG, found)
        claimed = next(each for each in found.models if each.status == "equal for all sizes")
        self.assertTrue(claimed.open)
        self.assertEqual(claimed.fixed, [])

    def test_the_same_seed_gives_the_same_models(self):
        rule = lambda: compared(lambda op, x, y: op.Neg(op.Sub(x, y)), lambda op, x, y: op.Sub(y, x), seed=3)
        first, again = ([(each.before, each.status) for each in rule().models] for _ in range(2))
        self.assertTrue(first)
        self.assertEqual(first, again)

    def test_a_replacement_that_drops_the_axes_is_different(self):
        with tempfile.TemporaryDirectory() as folder:
            found = compared(lambda op, x, axes: op.Exp(op.ReduceMean(x, axes, keepdims=1)), lambda op, x, axes: op.Exp(op.ReduceMean(x, keepdims=1)),
                           out=pathlib.Path(folder))
            self.assertEqual(found.status, "different", found)
            place = next(pathlib.Path(folder).iterdir())
            feeds = dict(numpy.load(place / "inputs.npz"))
            before, after = (onnxruntime.InferenceSession(place / f"{side}.onnx").run(None, feeds)[0] for side in ("before", "after"))
            self.assertFalse(before.shape == after.shape and numpy.allclose(before, after))

    def test_a_rule_that_is_wrong_only_at_other_sizes_is_different(self):
        found = compared(lambda op, x: op.Relu(op.Transpose(x, perm=[1, 0])), lambda op, x: op.Relu(op.Reshape(x, op.Constant(value_ints=[-1, 2]))),
                       lambda context, x: x.shape[0] == 2 or not isinstance(x.shape[0], int))
        self.assertEqual(found.status, "different", found)

    def test_a_check_keeps_its_meaning(self):
        """The mean of floats over the last of two axes is the quotient by its size, which the check requires to be 3."""
        rule = (lambda op, x: op.Mul(op.ReduceMean(x, [1], keepdims=0), 3.0), lambda op, x: op.ReduceSum(x, op.Constant(value_ints=[1]), keepdims=0))
        found = compared(*rule, lambda context, x: len(x.shape) == 2 and x.shape[-1] == 3 and x.dtype.is_floating_point())
        self.assertLessEqual({each.status for each in found.models}, {"equal for some sizes", "equal at these sizes"}, found)
        self.assertTrue(found.models and all(3 in each.fixed for each in found.models), found)

    def test_a_rule_that_raises_fails(self):
        self.assertEqual(compared(lambda op, x: op.Relu(op.Neg(x)), lambda op, x: [][0]).status, "fails")

    def test_a_rule_without_a_model_says_why(self):
        found = compared(lambda op, x: op.Relu(op.Neg(x)), lambda op, x: x, lambda context, x: False)
        self.assertIsNone(found.status)
        self.assertIn("refused", found.why)
        self.assertIn("no operator", compared(lambda op, x: op.Nothing(x, _domain="a.domain"), lambda op, x: x).why)

    def test_every_class_of_rules_is_found(self):
        found = sources.rules()
        seen = {type(getattr(form._replacement_pattern._function, "__self__", None)) for rule in found for form in rule.forms}
        seen |= {base for each in seen for base in each.__mro__}
        classes = [RewriteRuleClassBase]
        for each in classes:
            classes += each.__subclasses__()
        self.assertEqual([each for each in classes if each not in seen and not inspect.isabstract(each) and each.__module__.startswith("onnxscript.")], [])
        self.assertEqual(len({rule.name for rule in found}), len(found))
        modules = {pathlib.Path(sys.modules[module].__file__) for rule in found for form in rule.forms for module in [sources._place(form)[1]]}
        package = pathlib.Path(sys.modules["onnxscript.rewriter"].__file__).parent
        written = {path for path in package.rglob("*.py") if "RewriteRule(" in (text := path.read_text(encoding="utf-8")) or ".rule(" in text}
        self.assertEqual({path.name for path in written - modules if not path.match("*/models/*") and not path.name.endswith("_test.py")}, {"_rewrite_rule.py"})

    def test_the_command_judges_the_installed_rules(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as printed:
            report = pathlib.Path(folder) / "report.json"
            code = sources.main(["--only", "TransposeTranspose", "--trials", "4000", "--models", "2", "--json", str(report)])
            found = json.loads(report.read_text(encoding="utf-8"))
        self.assertEqual((code, [rule["status"] in sources.STATUSES[:3] for rule in found["rules"]]), (0, [True]), printed.getvalue())
        self.assertEqual(found["onnx"], onnx.__version__)
        self.assertIn(f"onnxscript {found['onnxscript']}", printed.getvalue())

    def test_wrong_arguments_are_errors_of_one_line(self):
        for arguments, expected in ((["no_such_package"], "No module named 'no_such_package'"), (["--only", "["], "expected a regular expression"),
                                    (["--only", "NoSuchRule"], "rules has such a name"),
                                    (["json"], "they have no rules"), (["--models", "0"], "expected a number of at least 1, found '0'"),
                                    (["--json", "no/such/folder.json"], "expected a file in a folder that exists")):
            with self.subTest(arguments), contextlib.redirect_stderr(io.StringIO()) as printed, self.assertRaises(SystemExit) as ended:
                sources.main(arguments)
            self.assertEqual(ended.exception.code, 2)
            self.assertIn(expected, printed.getvalue().splitlines()[-1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
