#!/usr/bin/env python3
"""Candidates are benchmarked against the model; the fastest is written if it is faster by more than the noise."""

import pathlib
import shutil
import unittest

from binary import ROOT, QuickstartCase, rulemill

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

MODEL = ROOT / "data" / "models" / "acnet_block.onnx"


class Benchmark(QuickstartCase):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out.onnx"

    def command(self, body):
        """Returns a benchmark command: `body` is shell code, the model's path is $1."""
        path = self.folder / "benchmark.sh"
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def report(self, body, *more):
        return self.json("optimize", MODEL, "--rules", self.rules, "--out", self.out, "--benchmark-command", self.command(body), *more)

    def assert_unchanged(self, report):
        self.assertFalse(report["changed"])
        self.assertEqual(report["fired"], [])
        self.assertEqual(self.out.read_bytes(), MODEL.read_bytes())

    def test_a_faster_candidate_is_written_and_the_report_has_the_times(self):
        report = self.report("case $1 in */candidate*) echo 4;; *) echo 5;; esac")
        self.assertTrue(report["changed"])
        self.assertNotEqual(self.out.read_bytes(), MODEL.read_bytes())
        timed = report["timing"]["candidates"][0]
        self.assertAlmostEqual(timed["ratio"], 1.25)
        self.assertTrue(timed["faster"])
        self.assertEqual(report["timing"]["milliseconds"], 5)

    def test_a_slower_or_equally_fast_candidate_is_not_written(self):
        for time in ("6", "5", "4.96"):
            with self.subTest(time):
                report = self.report(f"case $1 in */candidate*) echo {time};; *) echo 5;; esac")
                self.assert_unchanged(report)
                self.assertFalse(report["timing"]["candidates"][0]["faster"])
                self.assertEqual(report["warning"], "")

    def test_a_speedup_within_the_noise_of_the_model_does_not_count(self):
        # The model takes 5 and 6 in turns, the candidate 5.3: it wins every other round.
        count = 'n=$(cat "$0.n" 2>/dev/null || echo 0); echo $((n + 1)) > "$0.n"; [ $((n % 2)) = 0 ] && echo 5 || echo 6'
        body = f"case $1 in */candidate*) echo 5.3;; *) {count};; esac"
        report = self.report(body)
        self.assert_unchanged(report)
        self.assertIn("not significantly faster", report["timing"]["candidates"][0]["reason"])
        self.assertEqual(report["timing"]["max_false_gain_rate"], 0.01)

    def test_a_slow_command_is_run_for_one_candidate_and_in_as_few_rounds_as_decide(self):
        # One run takes half of the time of the benchmark.
        log = self.folder / "runs"
        body = f'echo "$1" >> {log}; sleep 0.05; case $1 in */candidate*) echo 900;; *) echo 1000;; esac'
        report = self.report(body, "--benchmark-seconds", "0.1")
        self.assertTrue(report["changed"])
        self.assertEqual(report["timing"]["rounds"], 10)
        self.assertEqual(log.read_text().count("/candidate"), 10)
        for each in report["timing"]["candidates"][1:]:
            self.assertIn("not timed, because one run of the model takes", each["reason"])
        log.unlink()
        report = self.report(body.replace("900", "1100"), "--benchmark-seconds", "0.1")
        self.assert_unchanged(report)
        self.assertEqual(log.read_text().count("/candidate"), 2, "the second lost round is the last one")

    def test_a_command_that_fails_hangs_or_prints_nonsense_is_an_error(self):
        before = MODEL.read_bytes()
        for body, part in [("exit 3", "exit code 3"), ("sleep 100", "time limit of 500 ms"), ("kill -9 $$", "exit code 137"),
                           ("echo fast", "printed 'fast '"), ("true", "printed ''"), ("echo -1", "printed '-1 '"),
                           ("echo 1 2", "printed '1 2 '"), ("echo nan", "printed 'nan '"), ("head -c 100000 /dev/zero", "printed")]:
            with self.subTest(body):
                limit = ("--benchmark-timeout", "0.5") if body == "sleep 100" else ()
                process = rulemill("optimize", MODEL, "--rules", self.rules, "--out", self.out, "--benchmark-command", self.command(body), *limit)
                self.assert_fails(process, 2, "--benchmark-command", "benchmark.sh", part)
                self.assertFalse(self.out.exists())
        process = rulemill("optimize", MODEL, "--rules", self.rules, "--out", self.out, "--benchmark-command", self.folder / "absent")
        self.assert_fails(process, 2, "--benchmark-command", "exit code 127")
        self.assert_fails(rulemill("optimize", MODEL, "--rules", self.rules, "--benchmark-command", " "), 2, "--benchmark-command")
        self.assertEqual(MODEL.read_bytes(), before)

    def test_a_command_that_fails_on_candidates_only_gives_a_warning_and_a_copy_of_the_model(self):
        report = self.report("case $1 in */candidate*) exit 9;; *) echo 5;; esac")
        self.assert_unchanged(report)
        self.assertIn("exit code 9", report["warning"])
        process = rulemill("optimize", MODEL, "--rules", self.rules, "--out", self.out, "--strict", "--benchmark-command",
                           self.command("case $1 in */candidate*) exit 9;; *) echo 5;; esac"))
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertIn("exit code 9", process.stderr)

    def test_without_a_benchmark_the_cost_model_decides(self):
        report = self.json("optimize", MODEL, "--rules", self.rules, "--out", self.out, "--no-benchmark")
        self.assertTrue(report["changed"])
        self.assertEqual(report["timing"]["skipped_reason"], "--no-benchmark")
        process = rulemill("optimize", MODEL, "--rules", self.rules, "--no-benchmark", "--benchmark-command", "true")
        self.assert_fails(process, 2, "--no-benchmark")

    def helper(self, body):
        """Returns an environment with a fake Python: `body` replaces the benchmark helper, other helpers fail."""
        path = self.folder / "python3"
        path.write_text(f"#!/bin/sh\ncase $1 in *benchmark.py) {body};; *) exec {shutil.which('false')};; esac\n", encoding="utf-8")
        path.chmod(0o755)
        return {"RULEMILL_PYTHON": str(path)}

    def test_without_onnxruntime_the_cost_model_decides_and_the_report_has_the_reason(self):
        report = self.json("optimize", MODEL, "--rules", self.rules, "--out", self.out, env={"RULEMILL_PYTHON": ""})
        self.assertTrue(report["changed"])
        report = self.json("optimize", MODEL, "--rules", self.rules, "--out", self.out, env=self.helper("exit 3"))
        self.assertTrue(report["changed"])
        self.assertIn("exit code 3", report["timing"]["skipped_reason"])

    def test_a_helper_that_crashes_on_the_models_leads_to_a_copy_of_the_model(self):
        hello = """printf '\\\\024\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0{"name":"a runtime"}'"""
        report = self.json("optimize", MODEL, "--rules", self.rules, "--out", self.out,
                           env=self.helper(hello.replace("\\\\", "\\") + "; kill -11 $$"))
        self.assert_unchanged(report)
        self.assertIn("could not be timed", report["warning"])

    @unittest.skipIf(onnxruntime is None, "SKIPPED: onnxruntime is not installed (scripts/install-debian.sh)")
    def test_onnxruntime_times_models_in_turns(self):
        report = self.json("optimize", MODEL, "--rules", self.rules, "--out", self.out, "--benchmark-seconds", "1",
                           "--benchmark-threads", "2")
        timing = report["timing"]
        self.assertRegex(timing["runner"], r"^onnxruntime \d.*, 2 threads$")
        self.assertEqual(timing["rounds"], max(each["rounds"] for each in timing["candidates"]))
        self.assertGreater(timing["candidates"][0]["ratio"], 0)
        self.assertEqual(report["changed"], any(each["faster"] for each in timing["candidates"]))

    @unittest.skipIf(onnxruntime is None, "SKIPPED: onnxruntime is not installed (scripts/install-debian.sh)")
    def test_onnxruntime_measures_each_node_once_and_stores_the_times(self):
        table = self.folder / "costs.h5"
        command = ["optimize", MODEL, "--rules", self.rules, "--no-benchmark", "--cost-table", table, "--cost"]
        first = self.json(*command, "onnxruntime")
        self.assertRegex(first["cost_source"], r"^onnxruntime \d.*, [1-9]\d* of them measured now$")
        kept = table.read_bytes()
        self.assertIn(b"then relu", kept)
        self.assertIn(b"conv2d", kept)
        again = self.json(*command, "onnxruntime")
        self.assertRegex(again["cost_source"], r", 0 of them measured now$")
        self.assertEqual(again["cost_seconds"], first["cost_seconds"])
        self.assertEqual(self.json(*command, "table")["cost_seconds"], first["cost_seconds"])
        table.write_bytes(kept[:-100])
        self.assert_fails(rulemill(*command, "table"), 3, "costs.h5")

    def test_unavailable_costs_are_an_error(self):
        command = ["optimize", MODEL, "--rules", self.rules, "--cost"]
        self.assert_fails(rulemill(*command, "table"), 2, "--cost", "--cost-table FILE")
        self.assert_fails(rulemill(*command, "guess"), 2, "--cost")
        if not pathlib.Path("/dev/nvidia0").exists():
            self.assert_fails(rulemill(*command, "cuda"), 3, "GPU")
        self.assert_fails(rulemill(*command, "table", "--cost-table", self.folder / "absent"), 3, "absent")
        self.assert_fails(rulemill(*command, "onnxruntime", env={"RULEMILL_PYTHON": ""}), 2, "--cost", "no Python")
        self.assert_fails(rulemill(*command, "onnxruntime", env=self.helper("exit 3")), 2, "--cost", "cannot import")


if __name__ == "__main__":
    unittest.main(verbosity=2)
