#!/usr/bin/env python3
"""`rulemill discover`: results, resuming, ranks."""

import json
import signal
import subprocess
import time
import unittest

from binary import BINARY, Case, needs_mpi, rulemill
from discover_runs import REFERENCE, SMALL, STAGES, discover, results


class Results(Case):
    def assert_same(self, first, second):
        self.assertEqual(first["listed"], second["listed"])
        self.assertEqual(sorted(first), sorted(second))
        for name, content in first.items():
            self.assertEqual(content, second[name], name)

    def test_the_manifest_lists_the_files_of_a_small_profile(self):
        out = self.folder / "out"
        report = self.json("discover", "--profile", SMALL, "--out", out)
        self.assertGreater(report["funnel"]["candidates"], 0)
        self.assertEqual(report["levels"][0]["terms"], 4)
        self.assertGreater(report["peak_memory_bytes"], 1_000_000)
        listed = {entry["name"] for entry in json.loads((out / "manifest.json").read_text())["files"]}
        self.assertIn("candidates.rules", listed)
        for name in listed:
            self.assertTrue((out / name).is_file(), name)
        self.assertEqual(json.loads((out / "funnel.json").read_text())["funnel"], report["funnel"])
        self.assertEqual([p for p in out.rglob("*.partial")], [])
        shard = next(out.glob("shards/*.h5"))
        self.assert_works(rulemill("info", shard))

    def test_repeating_a_finished_run_changes_nothing(self):
        out = self.folder / "out"
        self.assert_works(discover(out))
        before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in out.rglob("*.h5")}
        first = results(out)
        report = self.json("discover", "--profile", SMALL, "--out", out)
        self.assertTrue(all(stage["already_done"] for stage in report["stages"]), report["stages"])
        self.assertEqual(before, {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in out.rglob("*.h5")})
        self.assert_same(first, results(out))

    def test_single_stages_give_the_results_of_discover(self):
        self.assert_works(discover(self.folder / "all"))
        for stage in STAGES:
            self.assert_works(discover(self.folder / "single", command=stage))
        all_files, single_files = results(self.folder / "all"), results(self.folder / "single")
        del all_files["funnel.json"], single_files["funnel.json"]
        self.assert_same(all_files, single_files)

    def test_general_forms_are_added_and_choosing_other_ones_repeats_only_their_stage(self):
        out = self.folder / "out"
        run = lambda tier: self.json("discover", "--profile", SMALL, "--out", out, "--generalize", tier)
        identifiers = lambda database: {rule["id"] for rule in self.json("rules", "list", database, "--all")["rules"]}
        funnel = run("core")["funnel"]
        core = (out / "rules.rmdb").read_bytes()
        general = identifiers(out) - identifiers(out / "pruned.rmdb")
        self.assertTrue(general and all(name.endswith("g") for name in general), general)
        self.assertLess(funnel["core with general forms"], funnel["core"] + len(general))
        none = run("none")
        self.assertEqual([stage["name"] for stage in none["stages"] if not stage["already_done"]], ["generalize"])
        self.assertEqual((out / "rules.rmdb").read_bytes(), (out / "pruned.rmdb").read_bytes())
        self.assertNotIn("general", none["funnel"])
        self.assertGreaterEqual(run("all")["funnel"]["at any rank"], funnel["at any rank"])
        self.assertEqual(run("core")["funnel"], funnel)
        self.assertEqual((out / "rules.rmdb").read_bytes(), core)
        again = self.folder / "again.rmdb"
        self.assert_works(rulemill("rules", "generalize", "--keep-originals", out, "--out", again))
        self.assertEqual(identifiers(again), identifiers(out))

    def folder_of_profiles(self, names):
        """Makes copies of the small profile, each without one operator."""
        profiles = self.folder / "profiles"
        profiles.mkdir(exist_ok=True)
        text = SMALL.read_text(encoding="utf-8")
        for name, without in names.items():
            kept = [part for part in text.split("[[operators]]") if f'operator = "{without}"' not in part]
            (profiles / f"{name}.toml").write_text("[[operators]]".join(kept).replace('"small"', f'"{name}"'), encoding="utf-8")
        return profiles

    def test_profiles_of_a_folder_are_proved_and_pruned_together(self):
        profiles = self.folder_of_profiles({"first": "relu", "second": "concat"})
        out = self.folder / "out"
        report = self.json("discover", "--profile", profiles, "--out", out)
        alone = [part["funnel"]["candidates"] if "funnel" in part else None for part in report["profiles"].values()]
        self.assertEqual(alone, [None, None])  # said once, of all
        merged = report["funnel"]["candidates of all profiles, deduplicated"]
        self.assertLess(merged, report["funnel"]["candidates"])
        self.assertGreater(report["funnel"]["core"], 0)
        self.assert_works(rulemill("check", out / "rules.rmdb", "--core-minimality"))
        # The rules of each profile can be derived.
        self.assert_works(discover(self.folder / "one", profile=profiles / "first.toml"))
        self.assert_works(rulemill("derive", "--from", out / "rules.rmdb", self.folder / "one" / "rules.rmdb"))
        first = results(out)
        again = self.json("discover", "--profile", profiles, "--out", out)
        self.assertTrue(all(stage["already_done"] for stage in again["stages"] if stage["name"] != "merge"), again["stages"])
        self.assert_same(first, results(out))

    def test_adding_a_profile_gives_the_results_of_a_run_from_scratch(self):
        profiles = self.folder_of_profiles({"first": "relu"})
        self.assert_works(discover(self.folder / "grown", profile=profiles))
        self.folder_of_profiles({"second": "concat"})
        self.assertIn("profile second", discover(self.folder / "grown", profile=profiles).stdout)
        self.assert_works(discover(self.folder / "fresh", profile=profiles))
        self.assert_same(results(self.folder / "fresh"), results(self.folder / "grown"))
        for stage in STAGES:
            self.assert_works(discover(self.folder / "single", profile=profiles, command=stage))
        self.assertEqual((self.folder / "single" / "rules.rmdb").read_bytes(), (self.folder / "fresh" / "rules.rmdb").read_bytes())

    def test_a_folder_without_profiles_is_rejected(self):
        self.assert_fails(discover(self.folder / "out", profile=self.folder), 3, "has no profile")

    @needs_mpi
    def test_a_folder_of_profiles_gives_the_same_bytes_on_two_ranks(self):
        profiles = self.folder_of_profiles({"first": "relu", "second": "concat"})
        for ranks in (0, 2):
            self.assert_works(discover(self.folder / f"on{ranks}", profile=profiles, ranks=ranks))
        self.assert_same(results(self.folder / "on0"), results(self.folder / "on2"))

    def test_a_stage_without_its_predecessor_is_rejected(self):
        for stage in STAGES[1:]:
            self.assert_fails(discover(self.folder / "empty", command=stage), 3, "is not finished")

    @needs_mpi
    def test_one_to_sixteen_ranks_give_the_same_bytes(self):
        self.assert_works(discover(self.folder / "1"))
        expected = results(self.folder / "1")
        for ranks in (2, 3, 5, 16):
            self.assert_works(discover(self.folder / str(ranks), ranks=ranks))
            self.assert_same(expected, results(self.folder / str(ranks)))

    def test_one_and_three_threads_give_the_same_bytes(self):
        self.assert_works(discover(self.folder / "1", "--threads", "1"))
        self.assert_works(discover(self.folder / "3", "--threads", "3", "--no-sync"))
        self.assert_same(results(self.folder / "1"), results(self.folder / "3"))

    def test_another_seed_changes_fingerprints_but_not_candidates(self):
        self.assert_works(discover(self.folder / "a"))
        self.assert_works(discover(self.folder / "b", "--seed", "12345"))
        a, b = results(self.folder / "a"), results(self.folder / "b")
        self.assertNotEqual(a["listed"], b["listed"])
        self.assertEqual(a["candidates.rules"], b["candidates.rules"])


class Resuming(Case):
    """Interrupted runs, on the reference profile, which runs long enough."""

    def start(self, out, *options, command="discover"):
        arguments = [command, "--profile", REFERENCE, "--out", out, "--progress", "off", *options]
        return subprocess.Popen([str(BINARY), *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def stop_when(self, process, condition, stop):
        """Sends the signal once the condition holds; returns stderr."""
        deadline = time.monotonic() + 300
        while not condition() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(stop)
        return process.communicate(timeout=300)[1]

    def assert_same_results(self, first, second):
        first, second = results(first), results(second)
        self.assertEqual(sorted(first), sorted(second))
        self.assertEqual([name for name in first if first[name] != second[name]], [])

    def test_fingerprinting_killed_repeatedly_resumes_to_the_same_shards(self):
        killed, whole = self.folder / "killed", self.folder / "whole"
        shards = killed / "shards"
        for _ in range(3):
            count = len(list(shards.glob("*.h5")))
            process = self.start(killed, command="fingerprint")
            self.stop_when(process, lambda: len(list(shards.glob("*.h5"))) > count, signal.SIGKILL)
        for out in (killed, whole):
            self.assert_works(discover(out, profile=REFERENCE, command="fingerprint"))
        self.assert_same_results(killed, whole)

    def test_killed_proofs_resume_to_the_same_rules(self):
        killed, whole = self.folder / "killed", self.folder / "whole"
        journal = killed / "verdicts.journal"
        size = lambda: journal.stat().st_size if journal.exists() else 0
        for _ in range(2):
            before = size()
            self.stop_when(self.start(killed, "--max-ops", "2"), lambda: size() > before + 1000, signal.SIGKILL)
        for out in (killed, whole):
            self.assert_works(discover(out, "--max-ops", "2", profile=REFERENCE))
        self.assert_same_results(killed, whole)

    def test_a_signal_interrupts_a_run_with_exit_code_4_and_it_resumes(self):
        for stop in (signal.SIGTERM, signal.SIGUSR1):
            out = self.folder / stop.name
            journal = out / "verdicts.journal"
            process = self.start(out, "--max-ops", "2")
            errors = self.stop_when(process, lambda: journal.exists() and journal.stat().st_size > 200, stop)
            self.assertEqual(process.returncode, 4, errors)
            self.assertIn("run the same command again to continue", errors)
            self.assertFalse((out / "rules.rmdb").exists())
            self.assert_works(discover(out, "--max-ops", "2", profile=REFERENCE))
            self.assertTrue((out / "rules.rmdb").exists())

    def interrupt_until_done(self, out, command, options, progress, stop):
        """Starts the stage repeatedly and interrupts it as soon as it has made progress; returns the number of interruptions."""
        for count in range(200):
            before = progress()
            process = self.start(out, *options, command=command)
            begin = None
            deadline = time.monotonic() + 300
            while process.poll() is None and time.monotonic() < deadline:
                if begin is None and progress() > before:
                    process.send_signal(stop)
                    begin = time.monotonic()
                time.sleep(0.002)
            errors = process.communicate()[1]
            if process.returncode == 0:
                return count
            self.assertEqual(process.returncode, 4, errors)
            self.assertIn(f"rulemill: {command}: stopped", errors)
            self.assertLess(time.monotonic() - begin, 10)
            self.assertGreater(progress(), before)
        raise AssertionError("it never came to an end")

    def test_a_join_interrupted_repeatedly_makes_progress_each_time(self):
        stopped, whole = self.folder / "stopped", self.folder / "whole"
        options = ["--max-ops", "3", "--checkpoint-rows", "8000"]
        for out in (stopped, whole):
            self.assert_works(discover(out, "--max-ops", "3", profile=REFERENCE, command="fingerprint"))
        self.assert_works(discover(whole, "--max-ops", "3", profile=REFERENCE, command="join"))
        pieces = lambda: len([path for path in stopped.glob("join.pieces/*") if path.suffix != ".partial"])
        count = self.interrupt_until_done(stopped, "join", options, pieces, signal.SIGTERM)
        self.assertGreater(count, 2)
        self.assertFalse((stopped / "join.pieces").exists())
        self.assertEqual((stopped / "candidates.rules").read_bytes(), (whole / "candidates.rules").read_bytes())
        self.assertEqual(self.figures(stopped, "join"), self.figures(whole, "join"))

    def figures(self, out, stage):
        figures = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["stages"][stage]["figures"]
        return {name: value for name, value in figures.items() if name != "seconds"}

    @needs_mpi
    def test_a_join_resumes_on_another_number_of_ranks(self):
        stopped, whole = self.folder / "stopped", self.folder / "whole"
        options = ["--max-ops", "3", "--checkpoint-rows", "8000"]
        self.assert_works(discover(whole, "--max-ops", "3", profile=REFERENCE))
        self.assert_works(discover(stopped, "--max-ops", "3", profile=REFERENCE, command="fingerprint"))
        process = self.start(stopped, *options, command="join")
        self.stop_when(process, lambda: len(list(stopped.glob("join.pieces/slice-*"))) > 3, signal.SIGTERM)
        self.assertEqual(process.returncode, 4)
        damaged = next(stopped.glob("join.pieces/slice-*[0-9]"))
        damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
        again = discover(stopped, *options, profile=REFERENCE, ranks=3)
        self.assert_works(again)
        self.assertIn(damaged.name, again.stderr)
        self.assert_same_results(stopped, whole)

    def test_a_prune_interrupted_repeatedly_makes_progress_each_time(self):
        stopped, whole = self.folder / "stopped", self.folder / "whole"
        self.assert_works(discover(whole, "--max-ops", "2", profile=REFERENCE))
        for stage in STAGES[:3]:
            self.assert_works(discover(stopped, "--max-ops", "2", profile=REFERENCE, command=stage))
        journal = stopped / "prune.journal"
        size = lambda: journal.stat().st_size if journal.exists() else 200
        count = self.interrupt_until_done(stopped, "prune", ["--max-ops", "2"], size, signal.SIGUSR1)
        self.assertGreater(count, 1)
        self.assertFalse(journal.exists())
        self.assertEqual((stopped / "pruned.rmdb").read_bytes(), (whole / "pruned.rmdb").read_bytes())

    def test_a_second_run_in_the_same_folder_is_rejected(self):
        out = self.folder / "out"
        process = self.start(out)
        try:
            deadline = time.monotonic() + 60
            while not (out / "manifest.json").exists() and time.monotonic() < deadline:
                time.sleep(0.002)
            self.assert_fails(discover(out, profile=REFERENCE), 1, "another run is writing to this folder")
        finally:
            process.kill()
            process.communicate()


if __name__ == "__main__":
    unittest.main(verbosity=2)
