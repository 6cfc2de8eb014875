#!/usr/bin/env python3
"""`rulemill discover`: bad input, and limits of the machine."""

import os
import resource
import subprocess
import unittest

from binary import Case, rulemill
from discover_runs import REFERENCE, SMALL, discover, limited_run


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
        self.assert_fails(rulemill("prove", *words, "--memory", "24MiB"), 1, "--memory 24.0 MiB", "takes the first rank about")

    def test_general_forms_are_added_only_if_the_memory_suffices_and_more_memory_resumes(self):
        out = self.folder / "out"
        self.assert_works(discover(out, "--generalize", "none"))
        small = rulemill("discover", "--profile", SMALL, "--out", out, "--progress", "off", "--memory", "24MiB")
        self.assert_fails(small, 1, "--memory 24.0 MiB", "adding the general forms of these rules takes the first rank about 50")
        self.assert_works(discover(out, "--memory", "60MiB"))

    def test_a_too_small_memory_limit_is_reported_with_a_sufficient_one(self):
        self.assert_fails(discover(self.folder / "out", "--max-ops", "3", "--memory", "20MiB", profile=REFERENCE), 1,
                          "--memory 20.0 MiB", "allow at least")
        # Nothing was computed, so that the folder is free for any profile.
        self.assert_works(discover(self.folder / "out", profile=SMALL))
        self.assert_fails(discover(self.folder / "out", "--max-ops", "1", profile=REFERENCE), 3, "was made from other inputs")


if __name__ == "__main__":
    unittest.main(verbosity=2)
