#!/usr/bin/env python3
"""Proofs in worker processes: distribution over ranks, killed workers, limits, and audits of a finished rule set."""

import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest

from binary import BINARY, ROOT, Case, needs_mpi, rulemill
from faults import has_word, is_running, processes_below

SMALL = pathlib.Path(__file__).with_name("small.toml")
REFERENCE = ROOT / "data" / "profiles" / "reference.toml"
RESULTS = ["outcomes.json", "rules.rmdb"]


def arguments(out, *options, command="discover", profile=REFERENCE):
    return [command, "--profile", profile, "--out", out, "--progress", "off", "--max-ops", "2", *options]


def results(out):
    return {name: (out / name).read_bytes() for name in RESULTS}


def running_below(pid, word):
    return [child for child in processes_below(pid) if has_word(child, word) and is_running(child)]


def workers(pid):
    return running_below(pid, b"proof-worker")


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.002)
    raise AssertionError("it did not happen in time")


class Workers(Case):
    def prepared(self, *names):
        """Returns folders with the same candidates, not yet proved."""
        for name in names:
            self.assert_works(rulemill(*arguments(self.folder / name, command="fingerprint")))
            self.assert_works(rulemill(*arguments(self.folder / name, command="join")))
        return [self.folder / name for name in names]

    def start(self, *words):
        return subprocess.Popen([str(BINARY), *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    @needs_mpi
    def test_every_rank_works_and_results_do_not_depend_on_their_number(self):
        one, two, four = self.prepared("1", "2", "4")
        self.assert_works(rulemill(*arguments(one)))
        for out, ranks in ((two, 2), (four, 4)):
            report = self.json(*arguments(out), ranks=ranks)
            for stage in ("prove", "prune", "generalize"):
                self.assertEqual(len(report["task_statistics"][stage]["ranks"]), ranks)
            self.assertTrue(all(rank["rules"] > 0 for rank in report["task_statistics"]["prove"]["ranks"]), report["task_statistics"]["prove"])
            self.assertEqual(results(one), results(out))

    def test_every_verdict_has_its_time_and_number_of_queries(self):
        (out,) = self.prepared("out")
        report = self.json(*arguments(out, command="prove"))
        timings = json.loads((out / "timings.json").read_text())
        self.assertEqual(len(timings), report["funnel"]["candidates"])
        self.assertTrue(all(entry["milliseconds"] > 0 for entry in timings))
        self.assertEqual(sum(entry["queries"] for entry in timings), report["queries"])
        self.assertGreater(report["task_statistics"]["prove"]["milliseconds_per_proof"], 0)
        self.assertNotIn("milliseconds", (out / "outcomes.json").read_text())

    def test_the_event_log_has_the_seconds_of_each_batch_and_predicts_more_ranks(self):
        (out,) = self.prepared("out")
        self.assert_works(rulemill(*arguments(out, "--threads", "1")))
        events = [json.loads(line) for line in (out / "events" / "rank-00000.jsonl").read_text().splitlines()]
        batches = [event for event in events if event["event"] == "tasks" and event["stage"] == "prove"]
        derived = [event for event in batches if event["what"] == "derivations"]
        self.assertGreaterEqual(sum(event["items"] for event in derived), len(json.loads((out / "timings.json").read_text())))
        self.assertTrue(all(0 < event["longest_seconds"] <= event["work_seconds"] for event in batches), batches)
        table = subprocess.run([sys.executable, ROOT / "bench" / "proof_scaling.py", out], capture_output=True, text=True, check=True).stdout
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
        self.assertEqual([row[0] for row in rows], ["prove", "prune", "generalize"], table)
        for row in rows:
            speedups = [float(cell.split(", ")[1]) for cell in row[6:]]
            self.assertEqual(speedups, sorted(speedups), table)
            self.assertGreaterEqual(speedups[0], 1, table)

    def test_a_killed_worker_costs_one_retry(self):
        killed, whole = self.prepared("killed", "whole")
        report = self.folder / "report.json"
        process = self.start(*arguments(killed), "--json", report)
        (worker,) = wait_for(lambda: workers(process.pid))
        wait_for(lambda: (killed / "verdicts.journal").exists() and (killed / "verdicts.journal").stat().st_size > 3000)
        os.kill(worker, signal.SIGKILL)
        errors = process.communicate(timeout=300)[1]
        self.assertEqual(process.returncode, 0, errors)
        statistics = json.loads(report.read_text())["task_statistics"]
        self.assertEqual(sum(rank["workers_restarted"] for stage in statistics.values() for rank in stage["ranks"]), 1)
        self.assert_works(rulemill(*arguments(whole)))
        self.assertEqual(results(killed), results(whole))

    def test_a_worker_is_reused_by_the_next_stage(self):
        (out,) = self.prepared("out")
        report, seen = self.folder / "report.json", set()
        process = self.start(*arguments(out, "--threads", "1"), "--json", report)
        while process.poll() is None:
            seen.update(workers(process.pid))
            time.sleep(0.002)
        self.assertEqual(process.returncode, 0, process.communicate()[1])
        statistics = json.loads(report.read_text())["task_statistics"]
        self.assertTrue(all(statistics[stage]["ranks"][0]["tasks"] > 0 for stage in ("prove", "prune", "generalize")), statistics)
        self.assertEqual(len(seen), 1)

    def test_a_worker_ends_with_its_run(self):
        (out,) = self.prepared("out")
        process = self.start(*arguments(out))
        (worker,) = wait_for(lambda: workers(process.pid))
        process.kill()
        process.communicate()
        wait_for(lambda: not is_running(worker), 10)

    def test_cvc5_ends_with_its_check(self):
        (out,) = self.prepared("out")
        self.assert_works(rulemill(*arguments(out)))
        solver = self.folder / "bin" / "cvc5"
        solver.parent.mkdir()
        solver.write_text("#!/bin/sh\nexec sleep 1000\n")
        solver.chmod(solver.stat().st_mode | stat.S_IXUSR)
        process = subprocess.Popen([str(BINARY), "check", str(out), "--cvc5"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env={**os.environ, "PATH": f"{solver.parent}:{os.environ['PATH']}"})
        (sleeper,) = wait_for(lambda: running_below(process.pid, b"1000"))
        process.kill()
        process.communicate()
        wait_for(lambda: not is_running(sleeper), 10)

    def test_workers_ignore_signals(self):
        (out,) = self.prepared("out")
        report = self.folder / "signals.json"
        process = self.start(*arguments(out), "--json", report)
        while process.poll() is None:
            for worker in workers(process.pid):
                for stop in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
                    try:
                        os.kill(worker, stop)
                    except ProcessLookupError:
                        pass
            time.sleep(0.0005)
        self.assertEqual(process.returncode, 0, process.communicate()[1])
        statistics = json.loads(report.read_text())["task_statistics"]
        self.assertEqual([rank["workers_restarted"] for stage in statistics.values() for rank in stage["ranks"]], [0, 0, 0])

    def test_the_memory_limit_of_workers_is_within_that_of_the_process(self):
        (out,) = self.prepared("out")
        without = ["setpriv", "--bounding-set", "-sys_resource"] if os.geteuid() == 0 else []
        if without and not shutil.which("setpriv"):
            self.skipTest("SKIPPED: setpriv is not here, and root may raise every limit")
        command = " ".join(["ulimit -v 3000000; exec", str(BINARY), *map(str, arguments(out, "--proof-memory", "100000"))])
        process = subprocess.run([*without, "bash", "-c", command], capture_output=True, text=True, check=False, timeout=300)
        self.assert_works(process)

    def test_a_proof_over_its_time_limit_is_unknown_and_the_run_continues(self):
        (out,) = self.prepared("out")
        limited = arguments(out, "--proof-timeout", "0.001")
        report = self.json(*limited)
        unknown = [outcome for outcome in json.loads((out / "outcomes.json").read_text()) if outcome["kind"] == 3]
        self.assertEqual(len(unknown), report["funnel"]["unknown"])
        for outcome in unknown:
            self.assertIn("time limit of ", outcome["detail"])
        self.assertGreater(report["funnel"]["core"], 0)
        self.assert_works(rulemill("check", out))
        self.assertGreaterEqual(report["cut_proofs"]["prove"], len(unknown))
        again = rulemill(*limited, "--strict")
        cut = "limits of time or memory cut proofs: "
        self.assert_fails(again, 1, "--strict: " + cut)
        for text in (again.stdout, rulemill("status", out).stdout):
            self.assertIn(cut, text.splitlines()[-1])

    def test_a_worker_that_cannot_start_within_its_memory_limit_is_reported(self):
        (out,) = self.prepared("out")
        self.assert_fails(rulemill(*arguments(out, "--proof-memory", "16")), 1, "worker process", "cannot start", "--proof-memory")

    def test_invalid_limits_are_usage_errors(self):
        for option, value in (("--proof-timeout", "0"), ("--proof-timeout", "soon"), ("--proof-memory", "-1")):
            self.assert_fails(rulemill(*arguments(self.folder / "out", option, value)), 2, option)


class Audits(Case):
    @needs_mpi
    def test_derived_rules_are_proved_from_the_definitions_and_the_core_is_minimal(self):
        out = self.folder / "out"
        report = self.json(*arguments(out, "--cross-check"))
        self.assertGreater(report["cross_check"]["rules"], 0)
        self.assertEqual(report["cross_check"]["proved"], report["cross_check"]["rules"])
        for ranks in (0, 2):
            audit = self.json("check", out, "--cross-check", "--core-minimality", ranks=ranks)
            self.assertEqual(audit["cross_check"]["proved"], report["funnel"]["derived rules with general forms"])
            minimality = audit["minimality"]
            self.assertEqual(minimality["core"], report["funnel"]["core with general forms"])
            self.assertEqual(minimality["independent"] + len(minimality["limit_reached"]), minimality["core"])
            self.assertEqual(minimality["derived_rules_not_implied"], [])

    @needs_mpi
    def test_sixty_four_ranks_give_the_results_of_one(self):
        one, many = self.folder / "one", self.folder / "many"
        for out, ranks in ((one, 0), (many, 64)):
            words = ["discover", "--profile", SMALL, "--out", out, "--progress", "off", "--threads", "1"]
            self.assert_works(rulemill(*words, ranks=ranks, timeout=600))
        self.assertEqual(results(many), results(one))
        self.assertEqual((many / "candidates.rules").read_bytes(), (one / "candidates.rules").read_bytes())


if __name__ == "__main__":
    unittest.main(verbosity=2)
