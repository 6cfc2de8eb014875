#!/usr/bin/env python3
"""`rulemill discover`: results, resuming, ranks and injected faults."""

import json
import os
import pathlib
import resource
import signal
import subprocess
import time
import unittest

from binary import BINARY, ROOT, Case, needs_mpi, rulemill

SMALL = pathlib.Path(__file__).with_name("small.toml")
STAGES = ["fingerprint", "join", "prove", "prune", "generalize"]
REFERENCE = ROOT / "data" / "profiles" / "reference.toml"


def limited_run(words, limit, value):
    """Runs one process under a limit of the operating system."""
    return subprocess.run([str(BINARY), *map(str, words)], capture_output=True, text=True, check=False, timeout=300,
                          preexec_fn=lambda: resource.setrlimit(limit, (value, resource.getrlimit(limit)[1])))


def discover(out, *options, profile=SMALL, command="discover", **settings):
    return rulemill(command, "--profile", profile, "--out", out, "--progress", "off", *options, **settings)


def results(out):
    """Returns the bytes of every result by name; of the manifest only its list of files, because it also has times. Timings and events
    are times, and the order of cached answers is arbitrary."""
    files = {}
    for path in sorted(out.rglob("*")):
        name = str(path.relative_to(out))
        if path.is_file() and path.parent.name != "events" and path.name not in ("manifest.json", "manifest.copy.json", ".lock", "verdicts.journal", "timings.json", "answers.cache", "generalizations.cache"):
            files[name] = path.read_bytes()
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    files["listed"] = [(entry["name"], entry["checksum"]) for entry in manifest["files"] if "journal" not in entry["name"]]
    return files


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
    def test_one_two_and_four_ranks_give_the_same_bytes(self):
        self.assert_works(discover(self.folder / "1"))
        expected = results(self.folder / "1")
        for ranks in (2, 4):
            self.assert_works(discover(self.folder / str(ranks), ranks=ranks))
            self.assert_same(expected, results(self.folder / str(ranks)))

    def test_one_and_three_threads_give_the_same_bytes(self):
        self.assert_works(discover(self.folder / "1", "--threads", "1"))
        self.assert_works(discover(self.folder / "3", "--threads", "3"))
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


class BadInput(Case):
    def profile(self, text):
        path = self.folder / "own.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def test_max_ops_outside_of_1_to_8_is_a_usage_error(self):
        for count in ("0", "9", "many"):
            self.assert_fails(discover(self.folder / "out", "--max-ops", count), 2, "--max-ops")

    def test_errors_in_profiles_are_reported_with_their_place(self):
        good = SMALL.read_text(encoding="utf-8")
        faults = {
            "unknown operator": (good.replace('"matmul"', '"matmoul"'), "matmoul"),
            "unknown key": (good.replace("max_ops", "max_opts"), "max_opts"),
            "max-ops": (good.replace("max_ops = 2", "max_ops = 9"), "max_ops"),
            "no number": (good.replace("[2, 3]", '[2, "three"]'), "own.toml:"),
            "no TOML": (good + "[[operators\n", "own.toml:"),
            "unknown parameter": (good.replace("axis = [0, 1]", "axes = [0, 1]"), "axes"),
        }
        for fault, (text, part) in faults.items():
            with self.subTest(fault):
                self.assert_fails(discover(self.folder / "out", profile=self.profile(text)), 3, "own.toml:", part)
        self.assert_fails(discover(self.folder / "out", profile=self.folder / "absent.toml"), 3, "absent.toml")

    def test_a_variable_that_no_operator_accepts_is_named(self):
        text = ('name = "own"\n[[variables]]\nnames = ["x"]\nshape = [2, 3]\n[[variables]]\nnames = ["z"]\nshape = [3]\n'
                '[[operators]]\noperator = "transpose"\nparameters = { perm = [[1, 0]] }\nranks = [2]\n')
        self.assert_fails(discover(self.folder / "out", profile=self.profile(text)), 3, "own.toml:7:", "'z' of shape [3]")

    def test_an_unwritable_output_folder_is_reported_before_work_begins(self):
        self.assert_fails(discover("/proc/rulemill"), 3, "/proc/rulemill", "cannot create the folder")

    def test_a_damaged_shard_is_reported_and_recomputed(self):
        out = self.folder / "out"
        self.assert_works(discover(out, command="fingerprint"))
        shard = next(out.glob("shards/*.h5"))
        whole = shard.read_bytes()
        damages = {"as in manifest.json": whole[:-100], "is damaged": whole[:-100] + bytes(100),
                   "is not a rulemill table": os.urandom(len(whole))}
        for words, content in damages.items():
            shard.write_bytes(content)
            process = discover(out, command="join")
            self.assert_works(process)
            self.assertIn(words, process.stderr)
            self.assertEqual(shard.read_bytes(), whole)

    def test_a_pipe_instead_of_a_file_is_rejected_without_blocking(self):
        pipe = self.folder / "pipe.toml"
        os.mkfifo(pipe)
        self.assert_fails(rulemill("discover", "--profile", pipe, "--out", self.folder / "out", timeout=20), 3, "pipe.toml",
                          "it is not a regular file")
        definitions = self.folder / "definitions"
        definitions.mkdir()
        os.mkfifo(definitions / "own.op")
        self.assert_fails(rulemill("operators", "list", "--definitions", definitions, timeout=20), 3, "own.op",
                          "it is not a regular file")
        self.assert_fails(rulemill("info", pipe, timeout=20), 3, "pipe.toml")

    def test_a_profile_nested_too_deeply_is_invalid_input(self):
        for nested in ("x = " + "[" * 100_000, "x = " + "{a=" * 100_000, "x" + ".x" * 100_000 + " = 1"):
            self.assert_fails(discover(self.folder / "out", profile=self.profile(nested)), 3, "own.toml")

    def test_a_full_disk_is_reported_and_leaves_no_partial_file(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", str(disk)], capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("SKIPPED: mounting a small tmpfs is not permitted here")
        self.addCleanup(subprocess.run, ["umount", str(disk)], check=False)
        self.assert_fails(discover(disk, "--max-ops", "3"), 1, "cannot be written: No space left on device")
        self.assertEqual(list(disk.rglob("*.partial")), [])
        for shard in disk.glob("shards/*.h5"):
            self.assert_works(rulemill("info", shard))
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        self.assert_works(discover(disk, "--max-ops", "3"))

    def test_a_file_size_limit_is_reported_and_the_run_resumes_without_it(self):
        out = self.folder / "out"
        for size in (2_000, 12_000):
            limited = limited_run(["discover", "--profile", SMALL, "--out", out, "--progress", "off"], resource.RLIMIT_FSIZE, size)
            self.assert_fails(limited, 1, "cannot be written: File too large")
        self.assert_works(discover(out))
        self.assertEqual(list(out.rglob("*.partial")), [])

    def test_insufficient_memory_ends_with_one_line_and_more_memory_resumes(self):
        out = self.folder / "out"
        words = ["--profile", REFERENCE, "--max-ops", "3", "--threads", "1", "--out", out, "--progress", "off"]
        found = False
        for megabytes in range(60, 400, 4):  # how much the libraries take is the machine's affair
            small = limited_run(["fingerprint", *words], resource.RLIMIT_AS, megabytes << 20)
            if not out.exists():
                continue  # not even the libraries fit, or what they do before main
            self.assertNotIn("bad_alloc", small.stderr)
            if small.returncode == 0:
                break
            self.assert_fails(small, 1, "emory", "of address space allowed (ulimit -v)")
            found |= "fingerprint: out of memory (" in small.stderr and "run the same command again" in small.stderr
        self.assertTrue(found)
        self.assert_works(rulemill("fingerprint", *words))
        self.assert_fails(rulemill("join", *words, "--memory", "24MiB"), 1, "--memory 24.0 MiB", "the levels below the last")
        self.assert_works(limited_run(["join", *words, "--memory", "150MB"], resource.RLIMIT_AS, 500 << 20))

    def test_a_too_small_memory_limit_is_reported_with_a_sufficient_one(self):
        self.assert_fails(discover(self.folder / "out", "--max-ops", "3", "--memory", "20MiB", profile=REFERENCE), 1,
                          "--memory 20.0 MiB", "allow at least")


if __name__ == "__main__":
    unittest.main(verbosity=2)
