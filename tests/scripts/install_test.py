#!/usr/bin/env python3
"""cmake --install: the installed program finds its data, and another CMake project uses the installed libraries."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("RULEMILL", ROOT / "build/release/rulemill")).resolve().parent

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(consumer CXX C)
find_package(rulemill REQUIRED)
add_executable(consumer consumer.cc)
target_link_libraries(consumer PRIVATE rulemill::algebra)
"""
CONSUMER = """#include <cstdio>
#include "algebra/library/library.h"
int main(int, char** arguments) {
  const auto library = rulemill::algebra::Library::load(arguments[1]);
  std::printf("%zu operators\\n", library.operator_names().size());
}
"""


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise AssertionError(f"{command[0]} failed: {result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result.stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_the_installed_program_finds_its_definitions(self):
        environment = {key: value for key, value in os.environ.items() if key != "RULEMILL_DATA"}
        listed = run(self.prefix / "bin" / "rulemill", "operators", "list", cwd=self.folder, env=environment)
        self.assertIn("matmul", listed)

    def test_the_installed_program_writes_for_other_programs(self):
        (self.folder / "a.rules").write_text("rule twice(x[m, n])\n  neg(neg(x)) => x\n", encoding="utf-8")
        environment = {key: value for key, value in os.environ.items() if key != "RULEMILL_DATA"}
        for words in (("import", "a.rules", "--out", "a.rmdb"), ("export", "a.rmdb", "a.py", "--format", "onnxscript")):
            run(self.prefix / "bin" / "rulemill", "rules", *words, cwd=self.folder, env=environment)
        self.assertIn("class twice", (self.folder / "a.py").read_text(encoding="utf-8"))

    def test_manual_pages_and_completion_scripts_are_installed(self):
        for name in ("man/man1/rulemill.1", "man/man1/rulemill-rules-list.1", "bash-completion/completions/rulemill",
                     "zsh/site-functions/_rulemill", "fish/vendor_completions.d/rulemill.fish"):
            self.assertIn("rulemill", (self.prefix / "share" / name).read_text(encoding="utf-8"))

    def test_another_project_uses_the_installed_libraries(self):
        source = self.folder / "consumer"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(PROJECT)
        (source / "consumer.cc").write_text(CONSUMER)
        run("cmake", "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", source / "build")
        counted = run(source / "build" / "consumer", self.prefix / "share" / "rulemill" / "operators")
        self.assertRegex(counted, r"^[1-9][0-9]+ operators$")


if __name__ == "__main__":
    unittest.main()
