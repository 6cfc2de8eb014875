#!/usr/bin/env python3
"""`optimize` without --rules: the rules of data/profiles/models are found once and cached, per set of definitions.

The rules are made in the folder in which scripts/pack.sh looks for them, so that the tests of packages need not make them again."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import time
import unittest

from binary import BINARY, ROOT, Case, rulemill

MODEL = ROOT / "data" / "models" / "acnet_block.onnx"
LORA = ROOT / "data" / "models" / "lora_layer.onnx"
TEXT = ROOT / "data" / "rules" / "models.rules"


class DefaultRules(Case):
    @classmethod
    def setUpClass(cls):
        cls.cache = BINARY.parent / "package_cache"
        shutil.rmtree(cls.cache, ignore_errors=True)
        cls.environment = {"RULEMILL_CACHE": str(cls.cache)}
        with concurrent.futures.ThreadPoolExecutor() as executor:
            cls.first, cls.second = executor.map(lambda _: rulemill("rules", "default", env=cls.environment, timeout=800), range(2))

    def cached_files(self):
        return {path.name: path.stat().st_mtime_ns for path in (self.cache / "rules").iterdir()}

    def test_the_cache_contains_one_database_and_nothing_else(self):
        self.assert_works(self.first)
        self.assertEqual(list(self.cached_files()), [pathlib.Path(self.first.stdout.strip()).name])

    def test_a_concurrent_run_waits_for_the_rules(self):
        self.assert_works(self.second)
        self.assertEqual(self.second.stdout, self.first.stdout)

    def test_the_shipped_text_has_the_rules_that_are_found(self):
        text = self.folder / "models.rules"
        self.assert_works(rulemill("rules", "export", self.first.stdout.strip(), "--tier", "core", "--canonical", text))
        self.assertEqual(text.read_text(encoding="utf-8"), TEXT.read_text(encoding="utf-8"),
                         "run scripts/write_rules.sh and review the difference")

    def test_cached_default_rules_are_used(self):
        before = self.cached_files()
        report = self.json("optimize", MODEL, "--no-benchmark", env=self.environment)
        self.assertTrue(report["changed"])
        self.assertEqual([pathlib.Path(report["rules"]).name], list(before))
        self.assertEqual(self.cached_files(), before)
        report = self.json("optimize", LORA, "--no-benchmark", "--out", self.folder / "lora.onnx", "--proof", self.folder / "lora.proof",
                           env=self.environment)
        self.assertTrue(report["changed"])
        self.assertGreater(report["proof"]["bytes"], 0)

    def test_other_definitions_have_their_own_rules_and_other_comments_do_not(self):
        definitions, cache = self.folder / "operators", self.folder / "cache"
        shutil.copytree(ROOT / "data" / "operators", definitions)
        file = definitions / "elementwise.op"
        text = file.read_text(encoding="utf-8")
        file.write_text(text + "\n# A comment.\n", encoding="utf-8")
        shutil.copytree(self.cache, cache)

        def databases():
            """Returns the databases that are in the cache or being made there, whose folder ends in .making."""
            return {path.stem for path in (cache / "rules").glob("models-*")}

        known = databases()
        process = rulemill("rules", "default", "--definitions", definitions, env={"RULEMILL_CACHE": str(cache)})
        self.assert_works(process)
        self.assertIn(pathlib.Path(process.stdout.strip()).stem, known)
        self.assertEqual(databases(), known)
        file.write_text(text.replace("function relu(t) = max(t, 0)\n", "function relu(t) = max(t, 0) + 0\n"), encoding="utf-8")
        process = subprocess.Popen([BINARY, "rules", "default", "--definitions", definitions], stdout=subprocess.DEVNULL,
                                   env={**os.environ, "RULEMILL_CACHE": str(cache)})
        # It is enough to see that it begins to make them.
        deadline = time.monotonic() + 60
        while databases() == known and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process.terminate()
        process.wait()
        self.assertEqual(len(databases() - known), 1)


if __name__ == "__main__":
    unittest.main()
