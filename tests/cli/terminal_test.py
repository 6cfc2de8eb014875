#!/usr/bin/env python3
"""What commands print on a terminal and elsewhere: colours, progress, --quiet, and standard output as a file."""

import json
import os
import pty
import subprocess
import unittest

from binary import BINARY, ROOT, Case, rulemill

RULES = """rule twice(x[m, n])
  relu(relu(x)) => relu(x)
rule wrong(x[m, n])
  relu(x) => x
"""


def on_terminal(*words, env=None):
    """Runs the command with stdout and stderr on a terminal; returns its exit code and what it shows."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **(env or {})}
    if env is None:
        environment.pop("NO_COLOR", None)
    with subprocess.Popen([str(BINARY), *map(str, words)], stdin=subprocess.DEVNULL, stdout=follower, stderr=follower,
                          env=environment) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                block = os.read(leader, 65536)
            except OSError:  # the last writer has closed the terminal
                break
            if not block:
                break
            shown += block
    os.close(leader)
    return process.returncode, shown.decode()


class Terminal(Case):
    def setUp(self):
        super().setUp()
        self.rules, self.database = self.folder / "a.rules", self.folder / "db.rmdb"
        self.rules.write_text(RULES)
        self.words = ("rules", "import", self.rules, "--out", self.database)
        self.optimize = ("optimize", ROOT / "data" / "models" / "lora_layer.onnx", "--rules", self.database, "--no-benchmark",
                         "--verifier", "definitions")

    def test_verdicts_and_errors_have_colours_on_a_terminal_only(self):
        code, shown = on_terminal(*self.words)
        self.assertEqual(code, 1)
        self.assertIn("\x1b[32mproved\x1b[0m", shown)
        self.assertIn("\x1b[31mrefuted\x1b[0m", shown)
        self.assertIn("\x1b[1;31mrulemill:\x1b[0m", shown)
        self.assertNotIn("\x1b", on_terminal(*self.words, env={"NO_COLOR": "1"})[1])
        elsewhere = rulemill(*self.words)
        self.assertNotIn("\x1b", elsewhere.stdout + elsewhere.stderr)

    def test_optimize_shows_its_steps_on_a_terminal(self):
        rulemill(*self.words)
        code, shown = on_terminal(*self.optimize)
        self.assertEqual(code, 0, shown)
        steps = ("reading the model", "reading the rules", "importing the model", "searching for cheaper graphs",
                 "verifying and timing the cheapest graphs", "checking the rules that fired")
        places = [shown.find(f"lora_layer.onnx: {step}, ") for step in steps]
        self.assertEqual(places, sorted(places))
        self.assertNotIn(-1, places)
        elsewhere = rulemill(*self.optimize)
        self.assertEqual(elsewhere.stderr, "")
        lines = rulemill(*self.optimize, "--progress", "plain").stderr.splitlines()
        self.assertEqual([line.split(": ")[1].split(", after")[0] for line in lines], list(steps))

    def test_quiet_commands_print_only_errors(self):
        process = rulemill(*self.words, "--quiet")
        self.assert_fails(process, 1, "1 of 2 rules are not proved")
        self.assertEqual(process.stdout, "")
        for words in (("operators", "list"), ("rules", "list", self.database), ("check", self.database), self.optimize):
            process = rulemill(*words, "-q")
            self.assertEqual((process.returncode, process.stdout, process.stderr), (0, "", ""), words)
        self.assertEqual(on_terminal(*self.optimize, "--quiet"), (0, ""))

    def test_outputs_to_standard_output_are_printed_by_quiet_commands_too(self):
        rulemill(*self.words)
        for quiet in ((), ("--quiet",)):
            process = rulemill("rules", "list", self.database, "--json", "-", *quiet)
            self.assertEqual([rule["id"] for rule in json.loads(process.stdout)["rules"]], ["twice"])
            self.assertIn("relu(relu(x))", rulemill("rules", "export", self.database, "-", *quiet).stdout)

    def test_an_unknown_file_is_an_input_error(self):
        for name, text in (("a.bin", "\x00\x01"), ("a.json", '{"format": "other"}'), ("a.html", "<p>"), ("a.jsonl", "{}\n")):
            (self.folder / name).write_text(text)
            self.assert_fails(rulemill("info", self.folder / name), 3, name)
        (self.folder / "empty").mkdir()
        self.assert_fails(rulemill("info", self.folder / "empty"), 3, "is a folder without files of rulemill")
        self.assert_fails(rulemill("info", self.rules, "--roundtrip", self.folder / "b.onnx"), 2, "--roundtrip", "needs a model")


if __name__ == "__main__":
    unittest.main(verbosity=2)
