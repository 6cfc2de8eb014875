"""Runs the built binary: RULEMILL names it (CMake sets it); default build/release/rulemill."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = pathlib.Path(os.environ.get("RULEMILL", ROOT / "build" / "release" / "rulemill"))
LONG_RULES = ROOT / "tests" / "prove" / "quantization.rules"  # about ten seconds of proofs
MPIRUN = shutil.which("mpirun")
QUICKSTART = ROOT / "data" / "profiles" / "quickstart.toml"


def rulemill(*arguments, ranks=0, timeout=300, binary=None, env=None):
    """Runs `rulemill ARGUMENTS`, under mpirun if ranks > 0. Returns the finished process, with text."""
    command = [str(binary or BINARY), *map(str, arguments)]
    if ranks:
        command = [MPIRUN, "--allow-run-as-root", "--oversubscribe", "--quiet", "-n", str(ranks), *command]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False,
                          env={**os.environ, **(env or {})})


class Case(unittest.TestCase):
    """A test case with a scratch folder."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rulemill-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def assert_fails(self, process, code, *parts):
        """Checks the exit code, and that stderr has one line (besides the launcher's) with all parts."""
        self.assertEqual(process.returncode, code, process.stdout + process.stderr)
        lines = [line for line in process.stderr.splitlines() if line.startswith("rulemill: ")]
        self.assertEqual(len(lines), 1, process.stderr)
        for part in parts:
            self.assertIn(part, lines[0])

    def assert_works(self, process):
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)

    def wait_until_busy(self, process, seconds=0.3):
        """Waits until a running process has used so much processor time: more than for loading its input."""
        stat, deadline = pathlib.Path(f"/proc/{process.pid}/stat"), time.monotonic() + 60
        used = 0.0
        while used < seconds and time.monotonic() < deadline:
            self.assertIsNone(process.poll(), "the process has ended already")
            used = sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")
            time.sleep(0.01)
        self.assertGreaterEqual(used, seconds)

    def json(self, *arguments, code=0, **settings):
        """Runs the command, which exits with this code; returns its --json report."""
        path = self.folder / "report.json"
        process = rulemill(*arguments, "--json", path, **settings)
        self.assertEqual(process.returncode, code, process.stdout + process.stderr)
        return json.loads(path.read_text(encoding="utf-8"))


class QuickstartCase(Case):
    """A test case whose tests share the rules of the quick start's profile."""

    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="rulemill-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.rules = cls.shared / "rules"
        process = rulemill("discover", "--profile", QUICKSTART, "--out", cls.rules, "--progress", "off")
        if process.returncode != 0:
            raise AssertionError(process.stdout + process.stderr)


class FusionRulesCase(Case):
    """A test case whose tests share the rules of `sources`: by default those about nodes that runtimes fuse."""

    sources = (ROOT / "tests" / "optimize" / "equal" / "fusions.rules",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        shared = tempfile.TemporaryDirectory(prefix="rulemill-test-")
        cls.addClassCleanup(shared.cleanup)
        cls.rules = shared.name + "/rules"
        process = rulemill("rules", "import", *cls.sources, "--out", cls.rules)
        if process.returncode != 0:
            raise AssertionError(process.stdout + process.stderr)


def needs_mpi(test):
    return unittest.skipUnless(MPIRUN, "SKIPPED: mpirun is not on PATH")(test)
