#!/usr/bin/env python3
"""The reports of a running and a finished run: the event log, `rulemill status`, the page."""

import json
import re
import signal
import subprocess
import time
import unittest

from binary import BINARY, ROOT, Case, needs_mpi, rulemill

SMALL = ROOT / "tests" / "cli" / "small.toml"
REFERENCE = ROOT / "data" / "profiles" / "reference.toml"
STAGES = ["fingerprint", "join", "prove", "prune", "generalize"]


class Status(Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"

    def discover(self, **settings):
        process = rulemill("discover", "--profile", SMALL, "--out", self.out, "--progress", "off", **settings)
        self.assert_works(process)

    def events(self, rank=0):
        return [json.loads(line) for line in (self.out / "events" / f"rank-{rank:05}.jsonl").read_text().splitlines()]

    def state(self):
        return self.json("status", self.out)

    def test_the_event_log_has_the_begin_and_end_of_every_stage(self):
        self.discover()
        events = self.events()
        self.assertEqual([event["event"] for event in events if event["event"] in ("begin", "end", "stopped")], ["begin", "end"])
        for what in ("stage", "stage end"):
            self.assertEqual([event["stage"] for event in events if event["event"] == what], STAGES)
        self.assertEqual([event["time"] for event in events], sorted(event["time"] for event in events))
        self.assertTrue(any(event["event"] == "progress" and event["done"] == event["total"] > 0 for event in events))

    @needs_mpi
    def test_each_rank_reports_bytes_sent_and_waiting_time(self):
        self.discover(ranks=2)
        rows = self.state()["ranks"]
        self.assertEqual({(row["stage"], row["rank"]) for row in rows}, {(stage, rank) for stage in STAGES for rank in (0, 1)})
        for row in rows:
            self.assertGreater(row["memory"], 1e6)
            self.assertLessEqual(row["waiting"], row["seconds"] + 0.1)
            self.assertEqual("busy_seconds" in row, row["stage"] in ("prove", "prune", "generalize"), row)
        # Sent to the other rank: 40 bytes per row, for about half of the rows.
        sent = sum(row["bytes_sent"] for row in rows if row["stage"] == "join")
        self.assertGreater(sent, 1000)

    def test_finished_runs_are_described(self):
        self.assert_works(rulemill("fingerprint", "--profile", SMALL, "--out", self.out))
        self.assertEqual([stage["state"] for stage in self.state()["stages"]], ["done"] + ["not started"] * (len(STAGES) - 1))
        self.assert_works(rulemill("status", self.out, "--require-stage", "fingerprint"))
        self.assert_fails(rulemill("status", self.out, "--require-stage", "prune"), 4, "stage prune is not finished")
        self.discover()
        state = self.state()
        self.assertEqual([stage["state"] for stage in state["stages"]], ["done"] * len(STAGES))
        self.assertTrue(state["state"].startswith("done at "), state["state"])
        self.assertFalse(state["running"])
        for stage in state["stages"]:
            self.assertGreater(stage["seconds"], 0)

    def test_running_interrupted_and_killed_runs_are_described(self):
        command = [str(BINARY), "discover", "--profile", str(REFERENCE), "--max-ops", "3", "--threads", "1", "--out", str(self.out)]
        for sign, word in ((signal.SIGTERM, "stopped at"), (signal.SIGKILL, "stopped responding")):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and not (self.out / "verdicts.journal").exists():
                time.sleep(0.02)
            time.sleep(0.3)
            state = self.state()
            self.assertTrue(state["running"], state)
            self.assertRegex(state["stages"][2]["state"], r"^running(, [\d,]+ of 1,\d+ \(\d+%\).*)?$")
            process.send_signal(sign)
            process.wait()
            state = self.state()
            self.assertFalse(state["running"])
            self.assertIn(word, state["state"])
            self.assertEqual(state["stages"][2]["state"], "unfinished")

    def test_the_page_contains_the_run_and_no_external_resources(self):
        self.discover()
        page = self.folder / "run.html"
        self.assert_works(rulemill("status", self.out, "--html", page))
        text = page.read_text(encoding="utf-8")
        data = json.loads(re.search(r"^const data = (.*);$", text, re.M).group(1))
        self.assertEqual([stage["name"] for stage in data["stages"]], STAGES)
        self.assertEqual(data["funnel"]["core"], json.loads((self.out / "funnel.json").read_text())["funnel"]["core"])
        self.assertEqual(len(data["ranks"]), len(STAGES))
        self.assertNotRegex(text, r'(src|href)="(?!#)')
        self.assertNotRegex(text, r"@import|url\(|fetch\(|import\(")
        self.assertEqual(set(re.findall(r"https?://[^\s\"']*", text)), {"http://www.w3.org/2000/svg"})

    def test_models_are_listed_including_those_without_a_report(self):
        (self.folder / "reports").mkdir()
        (self.folder / "models.txt").write_text("/m/one.onnx\n/m/two.onnx\n/m/three.onnx\n")
        report = {"cost_seconds": {"before": 0.002, "after": 0.001}, "onnx_nodes": {"before": 24, "after": 6}, "changed": True,
                  "initializer_bytes": {"before": 2000, "after": 1000}}
        (self.folder / "reports" / "one.json").write_text(json.dumps(report))
        (self.folder / "reports" / "two.json").write_text('{"error": "was stopped"}')
        process = rulemill("status", self.folder)
        self.assert_works(process)
        lines = process.stdout.splitlines()
        self.assertRegex(lines[2], r"^one +24 → 6 +2.00 ms → 1.00 ms +2.00 +2.0 KiB → 1000 B +improved$")
        self.assertRegex(lines[3], r"^two +incomplete report$")
        self.assertRegex(lines[4], r"^three +no report$")
        self.assertTrue(lines[6].startswith("1 of 3 models"))

    def test_incomplete_lines_are_skipped_and_folders_without_a_run_are_rejected(self):
        self.discover()
        log = self.out / "events" / "rank-00000.jsonl"
        log.write_bytes(b'{"event": 7, "time": "x"}\n[1]\n\xff\xfe\n' + log.read_bytes()[:-20])
        self.assertEqual([stage["state"] for stage in self.state()["stages"]], ["done"] * len(STAGES))
        self.assert_fails(rulemill("status", self.folder), 3, "contains no run")
        self.assert_fails(rulemill("status", self.folder / "absent"), 3, "absent")


if __name__ == "__main__":
    unittest.main()
