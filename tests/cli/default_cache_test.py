#!/usr/bin/env python3
"""The cache of the default rules: a damaged one is made again, one that cannot be written is done without, none is trusted."""

import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import database_form as form
from binary import BINARY, ROOT, Case, rulemill
from terminal_test import on_terminal

try:
    import onnx
    from onnx import helper
except ImportError:
    onnx = None

MODEL = ROOT / "data" / "models" / "acnet_block.onnx"
NO_CACHE = {"RULEMILL_CACHE": "", "XDG_CACHE_HOME": "", "HOME": ""}


class DefaultCache(Case):
    @classmethod
    def setUpClass(cls):
        """A folder of data files with a profile of a second, and its rules."""
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="rulemill-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        profiles = cls.shared / "data" / "profiles" / "models"
        profiles.mkdir(parents=True)
        shutil.copy(ROOT / "tests" / "cli" / "small.toml", profiles)
        for folder in ("data/operators", "data/runtimes", "pages", "python"):
            (cls.shared / folder).symlink_to(ROOT / folder)
        cls.made = cls.shared / "cache"
        process = rulemill("rules", "default", env={"RULEMILL_DATA": str(cls.shared / "data"), "RULEMILL_CACHE": str(cls.made)})
        if process.returncode != 0:
            raise AssertionError(process.stdout + process.stderr)
        cls.name = pathlib.Path(process.stdout.strip()).name

    def setUp(self):
        super().setUp()
        (self.folder / "tmp").mkdir()
        self.cache = self.folder / "cache"
        shutil.copytree(self.made, self.cache)
        self.database = self.cache / "rules" / self.name
        self.whole = self.database.read_bytes()

    def run_with(self, *words, **environment):
        return rulemill(*words, env={"RULEMILL_DATA": str(self.shared / "data"), "RULEMILL_CACHE": str(self.cache),
                                     "TMPDIR": str(self.folder / "tmp"), **environment})

    def assert_warned(self, process, *parts):
        """It works, with one warning that has all parts, and leaves no temporary file."""
        self.assert_works(process)
        warnings = [line for line in process.stderr.splitlines() if "warning" in line]
        self.assertEqual(len(warnings), 1, process.stderr)
        for part in parts:
            self.assertIn(part, warnings[0])
        self.assertEqual(os.listdir(self.folder / "tmp"), [])

    def test_an_intact_database_is_used_without_a_word(self):
        process = self.run_with("optimize", MODEL, "--no-benchmark")
        self.assert_works(process)
        self.assertEqual(process.stderr, "")

    def own_definitions(self, text=""):
        """A folder that includes a copy of the installed definitions."""
        own, copy = self.folder / "own", self.folder / "copy"
        own.mkdir()
        shutil.copytree(ROOT / "data" / "operators", copy)
        (own / "own.op").write_text(f'include "{copy}"\n{text}', encoding="utf-8")
        return own, copy

    def test_a_stripped_program_uses_the_rules_of_its_build_and_another_program_does_not(self):
        for name, other in (("stripped", ()), ("other", ("--update-section", f".note.gnu.build-id={self.folder}/note"))):
            copy = self.folder / name
            (self.folder / "note").write_bytes(struct.pack("<3I", 4, 20, 3) + b"GNU\0" + bytes(20))
            subprocess.run(["objcopy", "--strip-all", *other, BINARY, copy], check=True)
            process = subprocess.run([copy, "rules", "default"], capture_output=True, text=True, check=False,
                                     env={**os.environ, "RULEMILL_DATA": str(self.shared / "data"), "RULEMILL_CACHE": str(self.cache)})
            self.assert_works(process)
            self.assertEqual(process.stdout.strip() == str(self.database), not other, process.stdout)

    def test_an_operator_or_mapping_that_the_profiles_do_not_use_needs_no_other_rules(self):
        own, copy = self.own_definitions("function cubed(t) = t * t * t\noperator cubed(x[d...])\n  y[i... < d...] = cubed(x[i...])\n")
        file = copy / "elementwise.op"
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("  onnx Sum(a, b, ...)\n", ""), encoding="utf-8")
        self.assertNotEqual(file.read_text(encoding="utf-8"), text)
        process = self.run_with("rules", "default", "--definitions", own)
        self.assert_works(process)
        self.assertEqual((process.stdout.strip(), process.stderr), (str(self.database), ""))
        remade = self.run_with("rules", "default", "--definitions", own, "--out", self.folder / "remade")
        self.assert_works(remade)
        self.assertEqual((self.folder / "remade" / self.name).read_bytes(), self.whole)

    def test_a_changed_definition_of_an_included_folder_needs_other_rules(self):
        own, copy = self.own_definitions()
        (copy / "elementwise.op").write_text((copy / "elementwise.op").read_text(encoding="utf-8").replace(
            "function relu(t) = max(t, 0)", "function relu(t) = max(t, 0) + 0"), encoding="utf-8")
        process = self.run_with("rules", "default", "--definitions", own)
        self.assert_works(process)
        self.assertNotEqual(process.stdout.strip(), str(self.database))
        line, = process.stderr.splitlines()
        self.assertRegex(line, "^rulemill: discovering the default rules, once: about 30 s .* kept in ")

    def test_definitions_without_the_operators_of_the_profiles_are_refused_with_a_hint(self):
        (self.folder / "lone.op").write_text("operator lone(x[d...])\n  y[i... < d...] = x[i...]\n", encoding="utf-8")
        self.assert_fails(self.run_with("rules", "default", "--definitions", self.folder), 3, "small.toml", "include them in --definitions")

    def test_making_the_rules_shows_progress_on_a_terminal(self):
        code, shown = on_terminal("rules", "default", env={"RULEMILL_DATA": str(self.shared / "data"), "RULEMILL_CACHE": str(self.folder / "new")})
        self.assertEqual(code, 0, shown)
        self.assertRegex(shown, "discovering the default rules, once(.|\n)*default rules: discovering, ")

    def test_a_damaged_database_is_made_again(self):
        middle = len(self.whole) // 2
        for content in (self.whole[:middle] + bytes([self.whole[middle] ^ 1]) + self.whole[middle + 1:], self.whole[:-1], b""):
            self.database.write_bytes(content)
            process = self.run_with("optimize", MODEL, "--no-benchmark")
            self.assert_warned(process, str(self.database), "damaged")
            self.assertEqual(self.database.read_bytes(), self.whole)
            self.assertEqual(os.listdir(self.database.parent), [self.name])

    def test_rules_are_made_by_the_next_command_if_one_that_makes_them_is_killed(self):
        environment = {**os.environ, "RULEMILL_DATA": str(self.shared / "data"), "RULEMILL_CACHE": str(self.folder / "new")}
        parent = subprocess.Popen([BINARY, "optimize", MODEL, "--no-benchmark", "--out", self.folder / "o.onnx"], env=environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not list(self.folder.glob("new/rules/*.making/.lock")) and time.monotonic() < deadline:
            time.sleep(0.001)
        child, = pathlib.Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGSTOP)  # it would not end by itself
        parent.kill()
        parent.wait()
        process = self.run_with("rules", "default", RULEMILL_CACHE=str(self.folder / "new"))
        self.assert_works(process)
        self.assertEqual(pathlib.Path(process.stdout.strip()).read_bytes(), self.whole)
        self.assertEqual(os.listdir(self.folder / "new" / "rules"), [self.name])

    def test_without_a_writable_cache_the_rules_are_made_for_one_run(self):
        for environment, place in (({"RULEMILL_CACHE": "/proc/x"}, "/proc/x"), ({**NO_CACHE, "HOME": "/proc/x"}, "/proc/x"),
                                   (NO_CACHE, "there is no cache folder")):
            process = self.run_with("optimize", MODEL, "--no-benchmark", **environment)
            self.assert_warned(process, place, "for this run only", "RULEMILL_CACHE")

    def test_a_path_of_rules_that_cannot_be_kept_is_not_printed(self):
        self.assert_fails(self.run_with("rules", "default", RULEMILL_CACHE="/proc/x"), 3, "/proc/x")
        self.assert_fails(self.run_with("rules", "default", **NO_CACHE), 1, "RULEMILL_CACHE")

    def test_bad_input_is_refused_before_rules_are_made(self):
        bad = self.folder / "bad.onnx"
        bad.write_text("not a model")
        empty = {"RULEMILL_CACHE": str(self.folder / "empty")}
        for words, place in ((["optimize", bad], str(bad)), (["optimize", MODEL, "--input-shape", "x:0"], "--input-shape"),
                             (["optimize", MODEL, "--inputs", bad], str(bad)),
                             (["optimize", MODEL, "--benchmark-command", "false"], "--benchmark-command"),
                             (["equal", bad, MODEL], str(bad)), (["equal", MODEL, bad], str(bad))):
            process = self.run_with(*words, **empty)
            self.assertIn(process.returncode, (2, 3), process.stderr)
            self.assertIn(place, process.stderr)
            self.assertEqual(len(process.stderr.splitlines()), 1, process.stderr)
            self.assertFalse((self.folder / "empty").exists(), process.stderr)

    @unittest.skipIf(onnx is None, "SKIPPED: the onnx package is not installed")
    def test_forged_rules_with_a_right_checksum_are_refused(self):
        model = self.folder / "model.onnx"
        values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [64, 64]) for name in ("x", "y")]
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
        graph = helper.make_graph(nodes, "twice", values[:1], values[1:])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), model)
        self.assert_works(self.run_with("optimize", model, "--no-benchmark", "--out", self.folder / "out.onnx"))
        self.assertEqual(len(onnx.load(self.folder / "out.onnx").graph.node), 1)
        database = form.DatabaseFile(self.database)
        for part in database.parts:
            if part[0] == form.RULE:
                part[1] = form.message([field for field in form.fields(part[1]) if field[0] != form.CERTIFICATE])
        database.save(self.database)
        process = self.run_with("optimize", model, "--no-benchmark", "--out", self.folder / "forged.onnx")
        self.assert_fails(process, 3, self.name, "has no certificate", "nothing was written")
        self.assertFalse((self.folder / "forged.onnx").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
