#!/usr/bin/env python3
"""`rulemill.optimize`, `load` and `discover`: results, rules as objects, errors and interruption."""

import contextlib
import io
import os
import pathlib
import signal
import threading
import types
import unittest
import unittest.mock

from binary import QUICKSTART, ROOT, QuickstartCase
from package_case import numpy, onnx, rulemill
from rulemill import tensors
from rulemill.progress import Bar

MODEL = ROOT / "data" / "models" / "acnet_block.onnx"
LONG = ROOT / "data" / "profiles" / "reference.toml"


class Optimization(QuickstartCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.result = rulemill.optimize(MODEL, rules=cls.rules, time=False)

    def test_a_result_has_the_model_its_rules_and_its_verifiers(self):
        result = self.result
        self.assertTrue(result.changed)
        self.assertIsNone(result.speedup)
        self.assertEqual(result.warning, "")
        self.assertIn("definitions", [each.verifier for each in result.verifiers if each.verdict == "equal"])
        self.assertTrue(result.fired)
        self.assertTrue(all(rule.certified and rule.times >= 1 and "=>" in rule.text for rule in result.fired))
        self.assertLess(result.raw["onnx_nodes"]["after"], result.raw["onnx_nodes"]["before"])
        self.assertRegex(result.report_html(), r"(?s)^<!doctype html>.*</html>\s*$")

    def test_the_files_of_a_result_are_removed_with_it(self):
        result = rulemill.optimize(MODEL, rules=self.rules, time=False)
        path = result.path
        result.save(self.folder / "saved.onnx")
        self.assertEqual((self.folder / "saved.onnx").read_bytes(), path.read_bytes())
        del result
        self.assertFalse(path.exists())

    def test_out_names_a_file_or_a_folder(self):
        for out, expected in ((self.folder / "a.onnx", "a.onnx"), (self.folder, MODEL.name)):
            result = rulemill.optimize(str(MODEL), rules=self.rules, time=False, out=out)
            self.assertEqual(result.path, self.folder / expected)
            del result
            self.assertEqual((self.folder / expected).read_bytes(), self.result.path.read_bytes())

    @unittest.skipIf(onnx is None, "SKIPPED: onnx is not installed (scripts/install-debian.sh)")
    def test_a_model_in_memory_gives_the_same(self):
        result = rulemill.optimize(onnx.load(MODEL), rules=self.rules, time=False)
        self.assertEqual(result.model, self.result.model)

    @unittest.skipIf(onnx is None, "SKIPPED: onnxruntime is not installed (scripts/install-debian.sh)")
    def test_a_timed_result_has_its_speedup(self):
        result = rulemill.optimize(MODEL, rules=[rulemill.load(self.rules)], benchmark_seconds=0.5)
        if result.changed:
            speedup = result.speedup
            self.assertGreater(speedup.median, 1)
            self.assertLessEqual(speedup.lower, speedup.median)
            self.assertGreaterEqual(speedup.upper, speedup.median)
            self.assertGreater(speedup.milliseconds_before, speedup.milliseconds_after)
        else:
            self.assertIsNone(result.speedup)

    def test_the_version_is_that_of_the_program(self):
        self.assertRegex(rulemill.__version__, r"^\d+\.\d+\.\d+$")

    def test_options_are_those_of_the_command(self):
        unchanged = rulemill.optimize(MODEL, rules=self.rules, time=False, min_gain=0.99, verifier="definitions")
        self.assertFalse(unchanged.changed)
        self.assertEqual(unchanged.raw["min_gain"], 0.99)
        with self.assertRaisesRegex(rulemill.UsageError, "unknown input of the model 'z'") as caught:
            rulemill.optimize(MODEL, rules=self.rules, time=False, input_shape={"z": (1, 2)})
        self.assertEqual(caught.exception.exit_code, 2)
        with self.assertRaisesRegex(rulemill.UsageError, "--no-such-option"):
            rulemill.optimize(MODEL, no_such_option=1)

    @unittest.skipIf(numpy is None, "SKIPPED: numpy is not installed (scripts/install-debian.sh)")
    def test_inputs_of_any_name_are_written(self):
        arrays = {"file": numpy.arange(6).reshape(2, 3), "a/b:0": numpy.float32(1.5)}
        tensors.write_npz(self.folder / "inputs.npz", arrays)
        with numpy.load(self.folder / "inputs.npz") as read:
            self.assertEqual(set(read), set(arrays))
            for name, array in arrays.items():
                numpy.testing.assert_array_equal(read[name], array, strict=True)

    @unittest.skipIf(numpy is None, "SKIPPED: numpy is not installed (scripts/install-debian.sh)")
    def test_models_are_verified_on_given_inputs(self):
        feeds = {"image": numpy.random.default_rng(1).random((1, 32, 28, 28), dtype=numpy.float32)}
        self.assertTrue(rulemill.optimize(MODEL, rules=self.rules, inputs=feeds, time=False).changed)
        with self.assertRaisesRegex(rulemill.InputError, r"^inputs0\.npz: the model has no input 'no_such_input', expected image$"):
            rulemill.optimize(MODEL, rules=self.rules, inputs={"no_such_input": feeds["image"]}, time=False)


class Databases(QuickstartCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.database = rulemill.load(cls.rules)

    def test_rules_are_objects(self):
        rule = self.database[0]
        self.assertIs(self.database[rule.id], rule)
        self.assertIn(rule.id, self.database)
        self.assertEqual(len(list(self.database)), len(self.database))
        self.assertIn("=>", rule.text)
        self.assertRegex(rule.certificate, r"\S")
        self.assertIn("core", {each.tier for each in self.database})
        self.assertGreater(len(rule.draw().splitlines()), 3)
        for each in self.database:
            variables = ", ".join(name + type_text for name, type_text in each.variables.items())
            self.assertTrue(each.text.startswith(f"rule {each.id}({variables})"), each.text)

    def test_one_rule_is_applied(self):
        fired = rulemill.optimize(MODEL, rules=self.rules, time=False).fired
        rule = self.database[fired[0].id]
        result = rule.apply(MODEL, time=False, min_gain=0)
        self.assertEqual({each.id for each in result.fired} - {rule.id}, set())

    def test_a_missing_database_is_an_error(self):
        with self.assertRaises(rulemill.Error) as caught:
            rulemill.load("/no/such.rmdb")
        self.assertEqual((caught.exception.exit_code, caught.exception.file), (3, "/no/such.rmdb"))


class Discovery(QuickstartCase):
    def test_the_database_is_that_of_the_command(self):
        lines = []
        database = rulemill.discover(QUICKSTART, self.folder / "out", progress=lines.append)
        self.assertEqual((self.folder / "out/rules.rmdb").read_bytes(), (self.rules / "rules.rmdb").read_bytes())
        self.assertGreater(len(database), 10)
        self.assertFalse([line for line in lines if line.startswith("rulemill: ")])

    def interrupted(self, send):
        """Calls discover, and `send(pid of the program)` as soon as it is busy."""
        program = {}

        def wait_and_send():
            own = pathlib.Path(f"/proc/self/task/{threading.main_thread().native_id}/children")
            while not own.read_text():
                pass
            program["pid"] = int(own.read_text().split()[0])
            self.wait_until_busy(types.SimpleNamespace(pid=program["pid"], poll=lambda: None))
            send(program["pid"])

        sender = threading.Thread(target=wait_and_send)
        sender.start()
        try:
            rulemill.discover(LONG, self.folder / "out")
        finally:
            sender.join()
            self.assertFalse(pathlib.Path(f"/proc/{program['pid']}").exists())

    def test_ctrl_c_ends_the_program_first(self):
        with self.assertRaises(KeyboardInterrupt):
            self.interrupted(lambda pid: os.kill(os.getpid(), signal.SIGINT))

    def test_a_program_that_is_stopped_from_outside_is_interrupted(self):
        with self.assertRaises(rulemill.Interrupted) as caught:
            self.interrupted(lambda pid: os.kill(pid, signal.SIGTERM))
        self.assertEqual(caught.exception.exit_code, 4)

    def test_a_killed_program_is_an_error(self):
        with self.assertRaisesRegex(rulemill.Error, "ended by signal 9"):
            self.interrupted(lambda pid: os.kill(pid, signal.SIGKILL))

    def test_errors_have_their_place_and_what_was_expected(self):
        profile = self.folder / "bad.toml"
        profile.write_text("name = 5\n", encoding="utf-8")
        calls = [(profile, lambda file: rulemill.discover(file, self.folder / "out"))]
        for missing in ("missing", "missing.x", "a missing.x", self.folder / "missing"):
            calls += [(missing, call) for call in (
                rulemill.load, lambda file: rulemill.discover(file, self.folder / "out"),
                lambda file: rulemill.optimize(file, time=False, rules=self.rules),
                lambda file: rulemill.optimize(MODEL, time=False, rules=file),
                lambda file: rulemill.optimize(MODEL, time=False, rules=self.rules, inputs=file),
                lambda file: rulemill.prove("rule r(x[m])\n  x => x", definitions=file))]
        for number, (file, call) in enumerate(calls):
            with self.subTest(f"{number}: {file}"), self.assertRaises(rulemill.InputError) as caught:
                call(file)
            self.assertEqual(caught.exception.file, str(file))

    def test_an_argument_of_another_type_is_a_type_error(self):
        for call in (lambda: rulemill.optimize(42), lambda: rulemill.optimize(None), lambda: rulemill.optimize(MODEL, rules=42),
                     lambda: rulemill.optimize(MODEL, inputs=42), lambda: rulemill.discover(42, self.folder), lambda: rulemill.load(42),
                     lambda: rulemill.prove(42)):
            self.assertRaises(TypeError, call)

    def test_progress_is_a_bar_of_tqdm_or_lines(self):
        shown = []
        bar = types.SimpleNamespace(total=None, n=0, set_description=lambda text: shown.append((text, bar.n, bar.total)), close=shown.clear)
        for module in (types.SimpleNamespace(tqdm=lambda **_: bar), None):
            with unittest.mock.patch.dict("sys.modules", {"tqdm": module, "tqdm.auto": module}), contextlib.redirect_stderr(io.StringIO()) as text:
                with Bar() as progress:
                    progress("prove  1,096 of 1,217 (90%), 22 s, 260 core")
                    progress("a.onnx: reading the rules, after 2 s")
                    self.assertEqual(shown, [("prove", 1096, 1217), ("a.onnx: reading the rules", 1096, 1217)] if module else [])
            self.assertEqual(text.getvalue().count("\n"), 0 if module else 2)
        self.assertEqual(shown, [])
        with contextlib.redirect_stderr(io.StringIO()):
            rulemill.optimize(MODEL, rules=self.rules, time=False, progress=True)


if __name__ == "__main__":
    unittest.main()
