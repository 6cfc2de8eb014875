#!/usr/bin/env python3
"""`rulemill check` on databases that were tampered with: each is reported in one line, none passes."""

import contextlib
import os
import shutil
import signal
import threading
import unittest

import database_form as form
from binary import BINARY, ROOT, Case, QuickstartCase, needs_mpi, rulemill
from faults import has_word, processes_below

RULES = """
rule twice(x:2) relu(relu(x)) => relu(x)
rule associates(x:2, y:2, z:2) matmul(matmul(x, y), z) => matmul(x, matmul(y, z))
rule of_four(a:2, b:2, c:2, d:2) matmul(matmul(matmul(a, b), c), d) => matmul(a, matmul(b, matmul(c, d)))
rule merge(x[n, c, h, w], y[n, c, h, w], v[f, c, r, s], w[f, c, r, s])
  concat(conv2d(x, v), conv2d(y, w); axis=1) => conv2d(concat(x, y; axis=1), concat(v, w; axis=0))
"""


class Tampered(Case):
    def setUp(self):
        super().setUp()
        text = self.folder / "rules.rules"
        text.write_text(RULES)
        self.path = self.folder / "rules.rmdb"
        self.assert_works(rulemill("rules", "import", text, "--out", self.path))

    def check(self):
        return rulemill("check", self.path)

    def assert_caught(self, *parts):
        """One finding, named by its rule, and exit code 1."""
        process = self.check()
        self.assertEqual(process.returncode, 1, process.stdout + process.stderr)
        self.assertEqual(len([line for line in process.stderr.splitlines() if line.startswith("rulemill: ")]), 1)
        lines = [line for line in process.stdout.splitlines() if all(part in line for part in parts)]
        self.assertEqual(len(lines), 1, process.stdout)

    def tamper(self, rule, change):
        database = form.DatabaseFile(self.path)
        database.edit(form.RULE, change, lambda bytes_: form.value_of(form.fields(bytes_), 1) == rule.encode())
        database.save(self.path)

    def tamper_certificate(self, rule, change):
        def inner(parts):
            certificate = form.fields(form.value_of(parts, form.CERTIFICATE))
            text = form.value_of(certificate, form.CERTIFICATE_TEXT).decode()
            changed = change(text)
            self.assertNotEqual(text, changed)
            form.set_value(certificate, form.CERTIFICATE_TEXT, changed.encode())
            form.set_value(parts, form.CERTIFICATE, form.message(certificate))
        self.tamper(rule, inner)

    def test_an_untouched_database_passes_and_is_rewritten_byte_for_byte(self):
        before = self.path.read_bytes()
        form.DatabaseFile(self.path).save(self.path)
        self.assertEqual(before, self.path.read_bytes())
        self.assert_works(self.check())

    def test_the_limits_hold_for_a_small_database(self):
        """The certificate of one rule gets a step of thousands of cases, which no machine decides within a millisecond."""
        guards = " | ".join(f"=1 [{factor}*@0 - d = 0]" for factor in range(2, 14))
        self.tamper_certificate("twice", lambda text: text.replace("output\n", f"output\n indicators 0: {guards}\n"))
        process = rulemill("check", self.path, "--proof-timeout", "0.001")
        self.assertEqual(process.returncode, 1, process.stdout + process.stderr)
        self.assertIn("twice: not checked: time limit of 1 ms, twice\n", process.stdout)

    def test_a_changed_rule_is_found(self):
        def swap_sides(parts):
            for part in parts:
                part[0] = {form.SOURCE: form.TARGET, form.TARGET: form.SOURCE}.get(part[0], part[0])
        self.tamper("associates", swap_sides)
        self.assert_caught("associates: ", "its certificate states another rule")

    def test_an_added_condition_is_found(self):
        condition = form.message([[1, b"d"], [2, 3], [3, b"5"]])  # d <= 5
        self.tamper("twice", lambda parts: parts.insert(len(parts) - 3, [form.CONDITION, condition]))
        self.assert_caught("twice: ", "its certificate states another rule")

    def test_shapes_that_violate_typing_are_found(self):
        """The merge rule without the condition that its shapes hold: another number of filters for each input."""
        def loosen(parts):
            variables = [part for part in parts if part[0] == 3]
            shape = form.fields(variables[3][1])
            filters = next(part for part in shape if part[0] == 2)
            filters[1] = b"other*" + filters[1].split(b"*")[0]
            variables[3][1] = form.message(shape)
        self.tamper("merge", loosen)
        self.assert_caught("merge: types only when ", ", which it does not state")

    def test_a_changed_certificate_is_found(self):
        self.tamper_certificate("merge", lambda text: text.replace("output\n", "(assert true)(pop 1)(assert false)(push 1)\noutput\n", 1))
        self.assert_caught("merge: ", "expected a step, found '(assert true)(pop 1)")

    def test_a_truncated_certificate_is_found(self):
        self.tamper_certificate("merge", lambda text: text[:len(text) // 2])
        self.assert_caught("certificate of merge")

    def test_a_derivation_that_lacks_an_instance_is_found(self):
        lines = rulemill("rules", "show", self.path, "of_four", "--certificate").stdout
        self.assertIn("; use ", lines)
        self.tamper_certificate("of_four", lambda text: "\n".join(
            line for i, line in enumerate(text.split("\n")) if i != [l[:6] for l in text.split("\n")].index("; use ")))
        self.assert_caught("of_four: ")

    def test_a_wrong_digest_in_a_certificate_is_found(self):
        def flip(text):
            at = text.index("\n", text.index("; definition ")) - 1
            return text[:at] + ("1" if text[at] == "0" else "0") + text[at + 1:]
        self.tamper_certificate("twice", flip)
        self.assert_caught("twice: ", "its certificate is about other definitions than those of its operators")

    def test_a_wrong_digest_in_the_provenance_is_found(self):
        def change(parts):
            operator = form.fields(form.value_of(parts, form.OPERATOR_DIGEST))
            form.set_value(operator, 2, b"0" * 32)
            form.set_value(parts, form.OPERATOR_DIGEST, form.message(operator))
        database = form.DatabaseFile(self.path)
        database.edit(form.PROVENANCE, change)
        database.save(self.path)
        self.assert_fails(self.check(), 3, "is defined otherwise than when the rules were proved")

    def test_another_definition_of_an_operator_is_found(self):
        definitions = self.folder / "operators"
        definitions.mkdir()
        for path in (ROOT / "data" / "operators").glob("*.op"):
            text = path.read_text().replace("sum(p < k) a[i..., r, p] * b[i..., p, c]", "sum(p < k) b[i..., p, c] * a[i..., r, p] * 2")
            (definitions / path.name).write_text(text)
        self.assert_fails(rulemill("check", self.path, "--definitions", definitions), 3, "operator 'matmul' is defined otherwise")

    def test_changed_or_truncated_bytes_without_a_matching_checksum_are_found(self):
        whole = self.path.read_bytes()
        self.path.write_bytes(whole[:-7])
        self.assert_fails(self.check(), 3, "cut short")
        middle = len(whole) // 2
        self.path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:])
        self.assert_fails(self.check(), 3, "checksum does not match")


@contextlib.contextmanager
def on_cores(count):
    """Programs that are started use so many cores, and so many worker processes per rank."""
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_cores)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_cores)


class WithWorkers(QuickstartCase):
    """A database that is large enough for several worker processes."""

    def setUp(self):
        super().setUp()
        self.path = self.folder / "rules.rmdb"
        shutil.copy(self.rules / "rules.rmdb", self.path)

    def report(self, *options, code, **settings):
        """The JSON report without times."""
        report = self.json("check", self.path, *options, code=code, **settings)
        return {key: value for key, value in report.items() if not key.startswith("seconds")}

    def edit_rules(self, change, numbers):
        """Changes the rules of these numbers; returns their names."""
        database = form.DatabaseFile(self.path)
        rules = [part for part in database.parts if part[0] == form.RULE]
        self.assertGreaterEqual(len(rules), 32)
        names = []
        for number in numbers:
            inner = form.fields(rules[number][1])
            names.append(form.value_of(inner, 1).decode())
            change(inner)
            rules[number][1] = form.message(inner)
        database.save(self.path)
        return names

    def swap_sides_of(self, numbers):
        def change(parts):
            for part in parts:
                part[0] = {form.SOURCE: form.TARGET, form.TARGET: form.SOURCE}.get(part[0], part[0])
        return self.edit_rules(change, numbers)

    def test_the_report_is_the_same_on_any_number_of_workers(self):
        valid = self.report(code=0)
        self.assertEqual(valid["findings"], [])
        self.assertGreater(valid["derived"], 0)
        names = self.swap_sides_of([1, 2, 30])
        with on_cores(1):
            expected = self.report(code=1)
        self.assertEqual([finding["rule"] for finding in expected["findings"]], names)
        self.assertIn("its certificate states another rule", {finding["reason"] for finding in expected["findings"]})
        self.assertEqual(self.report(code=1), expected)

    @needs_mpi
    def test_the_report_is_the_same_on_two_ranks(self):
        self.swap_sides_of([0, 31])
        self.assertEqual(self.report(code=1, ranks=2), self.report(code=1))

    def test_a_rule_that_cannot_be_read_is_an_input_error(self):
        def change(parts):
            form.set_value(parts, 2, 77)
        [name] = self.edit_rules(change, [20])
        message = f"{self.path}: rule 21 ({name}): tier"
        for cores in 1, 2:
            with on_cores(cores):
                self.assert_fails(rulemill("check", self.path), 3, message, "has the unknown value 77")

    @needs_mpi
    def test_a_rule_that_cannot_be_read_ends_all_ranks(self):
        self.edit_rules(lambda parts: form.set_value(parts, 2, 77), [20])
        process = rulemill("check", self.path, ranks=2)
        self.assertEqual(process.returncode, 3, process.stdout + process.stderr)
        self.assertIn("has the unknown value 77", process.stderr)

    def test_a_rule_that_exceeds_the_time_limit_is_a_finding(self):
        report = self.report("--proof-timeout", "0.001", code=1)
        reasons = {finding["reason"] for finding in report["findings"]}
        self.assertEqual(reasons, {"not checked: time limit of 1 ms, twice"})
        self.assertLessEqual(report["proved_from_definitions"] + report["derived"] + len(report["findings"]),
                             len(form.DatabaseFile(self.path).parts))

    def test_the_rules_of_a_killed_worker_are_checked_again(self):
        expected = self.report(code=0)
        done, killed = threading.Event(), []

        def kill_one():
            while not done.is_set() and not killed:
                for pid in processes_below(os.getpid()):
                    if has_word(pid, b"proof-worker"):
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)
                        return
        thread = threading.Thread(target=kill_one)
        thread.start()
        try:
            self.assertEqual(self.report(code=0), expected)
        finally:
            done.set()
            thread.join()
        self.assertEqual(len(killed), 1)

    def test_workers_return_the_scripts_for_cvc5(self):
        solver = self.folder / "bin" / "cvc5"
        solver.parent.mkdir()
        solver.write_text("#!/bin/sh\nawk '/^\\(echo/ { print \"sat\"; print \"-- next --\" }' \"$4\"\n")
        solver.chmod(0o755)
        packed = BINARY.parent / "cvc5"
        if packed.exists():
            self.skipTest(f"SKIPPED: {packed} takes precedence over PATH")
        valid = self.report(code=0)
        path = {"PATH": f"{solver.parent}:{os.environ['PATH']}"}
        with on_cores(1):
            expected = self.report("--cvc5", code=1, env=path)
        reasons = [finding["reason"] for finding in expected["findings"]]
        self.assertEqual(len(reasons), valid["obligations"] + valid["derived"])
        for reason in reasons:
            self.assertTrue(reason.startswith("not confirmed by cvc5, which answers 'sat'"), reason)
        self.assertEqual(self.report("--cvc5", code=1, env=path), expected)


if __name__ == "__main__":
    unittest.main()
