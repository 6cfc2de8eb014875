#!/usr/bin/env python3
"""The command line: its output, and its failures on bad input."""

import re
import subprocess
import unittest

from binary import BINARY, ROOT, Case, needs_mpi, rulemill


class CommandLine(Case):
    def test_help_and_version_succeed(self):
        for option in ("--help", "--version"):
            process = rulemill(option)
            self.assert_works(process)
            self.assertIn("rulemill", process.stdout.lower())

    def test_usage_errors_print_one_line_and_exit_with_2(self):
        self.assert_fails(rulemill(), 2, "a command is required (see rulemill --help)")
        self.assert_fails(rulemill("frobnicate"), 2, "unknown command 'frobnicate'; none of the 20 known ones is close")
        self.assert_fails(rulemill("doctor", "--frob"), 2, "--frob")
        self.assert_fails(rulemill("doctor", "--log-level", "loud"), 2, "--log-level", "loud", "known are trace")
        self.assert_fails(rulemill("doctor", "--progress", "loud"), 2, "--progress", "loud", "known are auto")
        self.assert_fails(rulemill("info"), 2, "FILE is required (see rulemill info --help)")
        self.assert_fails(rulemill("info", "a", "b"), 2, "unexpected argument 'b'; expected rulemill info FILE")

    def test_misspelt_names_are_answered_by_close_ones(self):
        answers = {
            ("optimise", "m.onnx"): "unknown command 'optimise'; did you mean 'optimize'? (see rulemill --help)",
            ("rules", "lst", "--help"): "unknown command 'lst'; did you mean 'list'? (see rulemill rules --help)",
            ("optimize", "m.onnx", "--devize=cpu"): "unknown option '--devize'; did you mean '--device'?",
            ("optimize", "m.onnx", "--device", "h10"): "--device: unknown device 'h10'; did you mean 'h100'?",
            ("rules", "list", "x", "--tier", "cor"): "--tier: unknown tier 'cor'; did you mean 'core'?",
        }
        for words, answer in answers.items():
            self.assert_fails(rulemill(*words), 2, answer)
        path = self.folder / "one.rules"
        path.write_text("rule r(x[m, n])\n  transposee(x) => x\n")
        process = rulemill("rules", "import", path, "--out", self.folder)
        self.assertIn("unknown operator 'transposee'; did you mean 'transpose'", process.stderr)
        path.write_text("rule r(x[m, n])\n  frobnication(x) => x\n")
        process = rulemill("rules", "import", path, "--out", self.folder)
        self.assertRegex(process.stderr, r"unknown operator 'frobnication'; none of the \d+ known ones is close, see `rulemill operators")
        self.assertLess(len(process.stderr), 400)

    def test_invalid_numbers_are_usage_errors(self):
        wrong = {
            "--seed": ["-1", "nan", "12345678901234567890123", "0x10", "1e3", "7 ", ""],
            "--max-ops": ["-1", "2.5", "nan", "99999999999999999999999"],
            "--threads": ["-1", "4097", "inf"],
            "--memory": ["-1", "nan", "4XB", "12345678901234567890123", "20000000000000GB", "GB"],
            "--proof-memory": ["-1", "nan", "18446744073709551617"],
            "--proof-timeout": ["nan", "inf", "-1", "1e999", "1e-999", "0x1p3", "60s"],
        }
        for option, values in wrong.items():
            for value in values:
                with self.subTest(f"{option} {value}"):
                    self.assert_fails(rulemill("discover", "--profile", "p", "--out", "o", f"{option}={value}"), 2, option)

    def test_messages_quote_bad_input_shortened_and_without_control_characters(self):
        long = rulemill("doctor", "--log-level", "x" * 100_000)
        self.assert_fails(long, 2, "--log-level", "xxx")
        self.assertLess(len(long.stderr), 2000)
        strange = rulemill("rules", "list", "\x1b[31mred\a\u009b31m\r")
        self.assert_fails(strange, 3, "?[31mred?")
        self.assertNotRegex(strange.stderr.rstrip("\n"), "[\x00-\x1f\x7f-\x9f]")

    def test_a_full_standard_output_is_a_failure(self):
        for words in (["doctor"], ["--version"], ["operators", "list"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                process = subprocess.run([str(BINARY), *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(process.returncode, 1, words)
            self.assertIn("rulemill: standard output: cannot write to it", process.stderr)

    def test_doctor_lists_capabilities(self):
        report = self.json("doctor", "--out", self.folder)
        for fact in ("rulemill", "build", "cpu", "cores", "memory", "cuda", "mpi", "hdf5", "z3", "onnx", "protobuf", "cvc5",
                     "definitions", "output"):
            self.assertTrue(report[fact], fact)

    def test_an_unwritable_output_folder_is_reported(self):
        (self.folder / "file").write_text("no folder")
        self.assert_fails(rulemill("doctor", "--out", self.folder / "file" / "below"), 3, "file/below", "cannot create the folder")

    def test_an_unwritable_report_is_reported(self):
        self.assert_fails(rulemill("doctor", "--json", "/proc/report.json"), 3, "/proc: cannot write to the folder")
        (self.folder / "file").write_text("no folder")
        self.assert_fails(rulemill("doctor", "--json", self.folder / "file" / "report.json"), 3, "file")

    def test_foreign_and_truncated_tables_are_rejected(self):
        table = self.folder / "t.h5"
        table.write_bytes(b"something else" * 100)
        self.assert_fails(rulemill("info", table), 3, "t.h5", "is not a rulemill table")
        table.write_bytes(b"rulemill table 1\nbytes 4000\nxxh3 00\n".ljust(512, b"\0") + b"\x89HDF")
        self.assert_fails(rulemill("info", table), 3, "t.h5", "is truncated or damaged: 4 bytes")
        self.assert_fails(rulemill("info", self.folder / "absent"), 3, "absent", "No such file")

    @needs_mpi
    def test_a_failure_of_all_ranks_is_reported_once(self):
        self.assert_fails(rulemill("info", self.folder / "absent", ranks=3), 3, "absent")


class Definitions(Case):
    """`operators check` on definitions with one error each: reports the place and the expectation."""

    def check(self, text):
        path = self.folder / "own.op"
        path.write_text(text, encoding="utf-8")
        return rulemill("operators", "check", path)

    def test_the_shipped_definitions_are_well_formed(self):
        report = self.json("operators", "check")
        listed = self.json("operators", "list")["operators"]
        self.assertEqual(len(listed), report["operators"])
        texts = [path.read_text(encoding="utf-8") for path in (ROOT / "data" / "operators").glob("*.op")]
        self.assertEqual(report["operators"], sum(len(re.findall("^operator ", text, re.M)) for text in texts))

    def test_a_new_operator_needs_only_its_definition(self):
        self.assert_works(self.check("operator twice(x[d...])\n  y[i... < d...] = x[i...] + x[i...]\n"))

    def test_errors_are_reported_with_their_place(self):
        faults = {
            "unknown index": "operator bad(x[m, n])\n  y[i < m, j < n] = x[i, q]\n",
            "unbound size": "operator bad(x[m, n])\n  y[i < m, j < z] = x[i, j]\n",
            "no index expression": "operator bad(x[m], t[m])\n  y[i < m] = x[t[i]]\n",
            "division that may not divide": "operator bad(x[m])\n  y[i < m / 2] = x[i]\n",
            "unknown function": "operator bad(x[m])\n  y[i < m] = frob(x[i])\n",
            "torn": "operator bad(x[m, n])\n  y[i < m, j <",
        }
        for fault, text in faults.items():
            with self.subTest(fault):
                self.assert_fails(self.check(text), 3, "own.op:2:")

    def test_a_folder_without_definitions_is_rejected(self):
        self.assert_fails(rulemill("operators", "list", "--definitions", self.folder), 3, str(self.folder))
        self.assert_fails(rulemill("operators", "list", "--definitions", "/nowhere"), 3, "/nowhere", "is not a folder")


class Databases(Case):
    def test_foreign_and_truncated_databases_are_rejected(self):
        database = self.folder / "rules.rmdb"
        database.write_bytes(b"something else")
        self.assert_fails(rulemill("rules", "list", database), 3, "rules.rmdb")
        database.write_bytes(b"")
        self.assert_fails(rulemill("rules", "list", self.folder), 3, "rules.rmdb")
        self.assert_fails(rulemill("rules", "list", self.folder / "absent"), 3, "absent")


if __name__ == "__main__":
    unittest.main(verbosity=2)
