#!/usr/bin/env python3
"""The commands on the pages of the documentation's path run as written and print what the pages show.

A block ```sh has commands; a command whose comment says `exit code N` must end with it. A block ```text right after it
is an excerpt of the output: `…` stands for any text.
"""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from binary import BINARY, ROOT

PAGES = ("start", "ci", "idioms", "certificates", "trust", "comparison")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
HEREDOC = re.compile(r"<<'(\w+)'")
# Needs a build of minutes; tests/python/wheel_test.py installs the wheel and uses it.
NOT_RUN = "pip install"


def commands_of(block):
    """Splits a block into commands: a line with its heredoc, or with its continuation lines."""
    lines = iter(block.splitlines())
    for line in lines:
        command = [line]
        if (mark := HEREDOC.search(line)) is not None:
            command += iter(lambda: next(lines), mark.group(1))
            command.append(mark.group(1))
        while command[-1].endswith("\\"):
            command.append(next(lines))
        yield "\n".join(command)


def missing_line(excerpt, output):
    """Returns the first line of the excerpt that does not follow in the output; None if all do."""
    squeezed = [" ".join(line.split()) for line in output.splitlines()]
    for line in filter(None, (" ".join(line.split()) for line in excerpt.splitlines())):
        if line == "…":
            continue
        pattern = re.compile(".*".join(map(re.escape, line.split("…"))) + "$")
        place = next((i for i, printed in enumerate(squeezed) if pattern.match(printed)), None)
        if place is None:
            return line
        squeezed = squeezed[place + 1:]
    return None


class Documentation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A folder that looks like the repository, and data files whose default rules take a second. Nothing is timed."""
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="rulemill-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        profiles = cls.shared / "small" / "data" / "profiles" / "models"
        profiles.mkdir(parents=True)
        shutil.copy(ROOT / "data" / "profiles" / "quickstart.toml", profiles)
        for folder in ("data/operators", "data/runtimes", "pages", "python"):
            (cls.shared / "small" / folder).symlink_to(ROOT / folder)
        (cls.shared / "bin").mkdir()
        (cls.shared / "bin" / "rulemill").symlink_to(BINARY)
        python = cls.shared / "bin" / "python3"
        python.write_text(f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n")
        python.chmod(0o755)
        cls.environment = {**os.environ, "RULEMILL_DATA": str(cls.shared / "small" / "data"), "RULEMILL": str(BINARY),
                           "RULEMILL_PYTHON": "", "RULEMILL_CACHE": str(cls.shared / "cache"), "PYTHONPATH": str(ROOT / "python"),
                           "PATH": f"{cls.shared / 'bin'}:{os.environ['PATH']}"}

    def run_page(self, name):
        folder = self.shared / name
        folder.mkdir()
        for entry in ROOT.iterdir():
            if entry.name not in (".git", "build"):
                (folder / entry.name).symlink_to(entry)
        environment = {**self.environment, **({"RULEMILL_PYTHON": sys.executable} if name == "ci" else {})}
        text, output, count = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"), "", 0
        for kind, block in BLOCK.findall(text):
            if kind == "text":
                self.assertIsNone(missing_line(block, output), f"{name}.md shows a line that is not printed; printed is\n{output}")
            if kind != "sh":
                continue
            output = ""
            for command in commands_of(block):
                if command.startswith(NOT_RUN):
                    continue
                process = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, timeout=300,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
                output += process.stdout
                expected = re.search(r"# .*exit code (\d+)", command)
                self.assertEqual(process.returncode, int(expected.group(1)) if expected else 0, f"{command}\n{process.stdout}")
                count += 1
        return count

    def test_commands_and_excerpts_are_parsed(self):
        self.assertEqual(list(commands_of("a\ncat > b <<'END'\nc\nEND\nd \\\n  e")), ["a", "cat > b <<'END'\nc\nEND", "d \\\n  e"])
        self.assertIsNone(missing_line("one … three\n…\nfour", "zero\none  two three\nfour\n"))
        self.assertEqual(missing_line("four\none", "one\nfour\n"), "one")


def add_test(page):
    @unittest.skipIf(page == "start" and importlib.util.find_spec("numpy") is None, "SKIPPED: numpy is not installed (scripts/install-debian.sh)")
    @unittest.skipIf(page == "certificates" and not shutil.which("cvc5"), "SKIPPED: cvc5 is not on PATH (scripts/install-debian.sh)")
    def test(self):
        self.assertGreater(self.run_page(page), 0)
    setattr(Documentation, f"test_the_commands_of_{page}_run_as_written", test)


for each in PAGES:
    add_test(each)

if __name__ == "__main__":
    unittest.main(verbosity=2)
