#!/usr/bin/env python3
"""The outputs of all commands: none is an input or another output; links are followed; devices, pipes and - are written to."""

import itertools
import json
import os
import re
import shutil
import stat
import subprocess
import threading
import unittest

from binary import BINARY, ROOT, QuickstartCase, rulemill

# Every command. Names in braces are options or arguments with files: INPUTS and OUTPUTS.
FORMS = """
check {db} {other_model} --proof {text} --definitions {own} --json {json}
ci {text} --rules {db} --junit {file} --sarif {page} --taso-table {taso} --definitions {own} --json {json}
derive --from {db} {text} --taso-table {taso} --definitions {own} --json {json}
doctor --out {folder} --definitions {own} --json {json}
gpu plan {model} --layout-table {costs} --definitions {own} --json {json}
gpu time {model} --layout-table {table} --definitions {own} --json {json}
info {model} --roundtrip {new_model} --definitions {own} --json {json}
operators list --definitions {own} --json {json}
operators show NAME --definitions {own} --json {json}
operators check {properties} --definitions {own} --json {json}
operators eval TERMS --values {text} --definitions {own} --json {json}
operators import {model} --name NAME --function NAME --out {file} --definitions {own} --json {json}
discover --profile {profile} --definitions {own} --out {new_run} --json {json}
fingerprint --profile {profile} --definitions {own} --out {new_run} --json {json}
join --profile {profile} --definitions {own} --out {new_run} --json {json}
prove --profile {profile} --definitions {own} --out {new_run} --json {json}
prune --profile {profile} --definitions {own} --out {new_run} --json {json}
generalize --profile {profile} --definitions {own} --out {new_run} --json {json}
status {run} --html {page} --json {json}
optimize {model} --rules {db} --inputs {text} --out {new_model} --discover --keep-rules {new_db} --report {page} --cost-table {table} --proof {file} --definitions {own} --json {json}
equal {model} {other_model} --rules {db} --proof {file} --definitions {own} --json {json}
variants {model} --rules {db} --out {folder} --definitions {own} --json {json}
rules list {run} --definitions {own} --json {json}
rules show {run} r1 --definitions {own} --json {json}
rules import {text} --out {new_db} --taso-table {taso} --definitions {own} --json {json}
rules export {db} {file} --taso-table {taso} --goals {text} --definitions {own} --json {json}
rules diff {db} {text} --taso-table {taso} --definitions {own} --json {json}
rules gallery {run} --out {page} --definitions {own} --json {json}
rules generalize {run} --out {new_db} --definitions {own} --json {json}
completion SHELL
man --out {folder}
rules default --out {folder} --definitions {own} --json {json}
""".strip().splitlines()
OUTPUTS = ("json", "page", "file", "table", "new_model", "new_db", "new_run")
OTHER_OPTIONS = {  # with a text that names no file
    "--log-level", "--progress", "--device", "--architecture", "--search", "--cost", "--benchmark-command", "--verifier",
    "--explain", "--input-shape", "--tier", "--uses", "--sort", "--candidates", "--format", "--memory", "--require-stage", "--name", "--function", "ID", "NAME", "TERMS",
    "SHELL", "WORD", "COMMAND", "--allow"}
REFUSED = re.compile(r"^rulemill: (\S+): is a file of .*; choose another file$", re.M)


def words_of(form, values):
    return [str(values[word[1:-1]]) if word.startswith("{") else word for word in form.split()]


class Outputs(QuickstartCase):
    def setUp(self):
        super().setUp()
        own = self.folder / "own"
        own.mkdir()
        (own / "own.op").write_text(f'include "{self.folder / "included"}"\n')
        (self.folder / "included").mkdir()
        (self.folder / "included" / "more.op").write_text(f'include "{ROOT / "data" / "operators"}"\n')
        run = self.folder / "run"
        shutil.copytree(self.rules, run)
        self.values = {"own": own, "run": run, "folder": self.folder, "json": self.folder / "report.json",
                       "page": self.folder / "page.html", "file": self.folder / "some.rules", "table": self.folder / "times.h5",
                       "new_model": self.folder / "new.onnx", "new_db": self.folder / "new.rmdb", "new_run": self.folder / "new_run"}
        sources = {"db": run / "rules.rmdb", "model": ROOT / "data" / "models" / "acnet_block.onnx",
                   "other_model": ROOT / "data" / "models" / "lora_layer.onnx",
                   "profile": ROOT / "tests" / "cli" / "small.toml", "taso": ROOT / "data" / "imports" / "taso.toml",
                   "text": ROOT / "tests" / "egraph" / "axioms.rules", "costs": ROOT / "tests" / "cli" / "small.toml",
                   "properties": ROOT / "data" / "properties" / "linear_algebra.properties"}
        for name, source in sources.items():
            self.values[name] = self.folder / f"{name}{source.suffix}"
            shutil.copy(source, self.values[name])
        # Files of an input that is a folder, and those that ship with the program.
        self.files = {"own": [own / "own.op", self.folder / "included" / "more.op"],
                      "run": [run / "rules.rmdb", *(path for path in run.rglob("*") if path.is_file())],
                      "model": [self.values["model"], self.folder / "model.onnx.data"]}
        self.files["model"][1].write_bytes(b"weights")

    def contents(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def assert_refused(self, words):
        process = rulemill(*words)
        self.assertEqual(process.returncode, 2, (words, process.stdout + process.stderr))
        self.assertRegex(process.stderr, REFUSED, words)

    def test_no_command_overwrites_an_input_or_another_output(self):
        before = self.contents()
        combinations = 0
        for form in FORMS:
            names = re.findall(r"\{(\w+)\}", form)
            for output, other in itertools.product(names, names):
                if output not in OUTPUTS or output == other or other in ("folder", "new_run"):
                    continue
                files = self.files.get(other, [self.values[other]])
                for file in files[:2]:
                    if output in ("new_db", "new_run") and file.suffix != ".rmdb":
                        continue  # a folder
                    self.assert_refused(words_of(form, {**self.values, output: file}))
                    combinations += 1
        self.assertGreater(combinations, 100)
        self.assertEqual(self.contents(), before)

    def test_a_file_of_a_run_is_an_output_before_it_exists(self):
        words = ["discover", "--profile", self.values["profile"], "--out", self.folder / "new", "--json"]
        for path in [path.relative_to(self.values["run"]) for path in self.files["run"]] + ["shards/any.h5", "verdicts.journal"]:
            self.assert_refused([*words, self.folder / "new" / path])
        self.assertFalse((self.folder / "new").exists())

    def test_files_are_compared_by_identity(self):
        db, words = self.values["db"], ["rules", "export", self.values["db"]]
        soft, hard, folder = self.folder / "soft", self.folder / "hard", self.folder / "link"
        soft.symlink_to(db)
        hard.hardlink_to(db)
        folder.symlink_to(self.folder)
        before = db.read_bytes()
        for name in (soft, hard, folder / db.name, self.folder / "own" / ".." / db.name):
            self.assert_refused([*words, name])
        self.assert_refused([*words, self.folder / "new", "--json", folder / "new"])
        for place in (ROOT / "data" / "operators").glob("*.op"):
            self.assert_refused(["operators", "list", "--json", place])
        self.assertEqual(db.read_bytes(), before)

    def test_a_report_inside_a_run_is_no_file_of_the_run(self):
        for _ in range(2):
            self.assert_works(rulemill("status", self.values["run"], "--html", self.values["run"] / "status.html"))

    def test_the_file_that_standard_output_goes_to_is_no_output(self):
        with open(self.folder / "log", "w", encoding="utf-8") as log:
            process = subprocess.run([str(BINARY), "doctor", "--json", self.folder / "log"], stdout=log, stderr=subprocess.PIPE, text=True,
                                     check=False)
        self.assertEqual(process.returncode, 2, process.stderr)
        self.assertIn("--json: is the file that standard output goes to", process.stderr)

    def test_this_test_knows_every_command_and_every_option_with_a_file(self):
        def commands(words):
            text = rulemill(*words, "--help").stdout
            below = re.search(r"^Commands:\n((?:  .*\n?)+)", text, re.M)
            if not below:
                yield words, text
                return
            for name in re.findall(r"^  ([a-z]+) ", below.group(1), re.M):
                yield from commands([*words, name])

        known = {}
        for form in FORMS:
            known[re.match("[a-z ]*[a-z]", form.split(" --")[0].split(" r1")[0])[0]] = form
        found = dict((" ".join(words), text) for words, text in commands([]))
        self.assertEqual(set(found), set(known))
        for command, text in found.items():
            with self.subTest(command):
                operands = re.findall(r"^  ([A-Z]+)", text.partition("\nOperands:\n")[2].partition("\n\n")[0], re.M)
                with_files = re.findall(r"^  (\S+) (?:PATH|FOLDER)\b", text, re.M) + [o for o in operands if o not in OTHER_OPTIONS]
                self.assertEqual(len(with_files), known[command].count("{"), with_files)
                texts = set(re.findall(r"^  (\S+) TEXT\b", text, re.M))
                self.assertLessEqual(texts, OTHER_OPTIONS, "register an option that names a file in Options::files, and list it here")


class Streams(QuickstartCase):
    def read_pipe(self, words, place):
        """Runs the command, which writes to a pipe; returns what it writes."""
        os.mkfifo(place)
        received = []
        reader = threading.Thread(target=lambda: received.append(place.read_bytes()), daemon=True)
        reader.start()
        self.assert_works(rulemill(*words, place, timeout=60))
        reader.join(timeout=60)
        self.assertTrue(stat.S_ISFIFO(place.stat().st_mode))
        return received[0]

    def test_links_are_followed(self):
        target, link = self.folder / "target", self.folder / "link"
        link.symlink_to("target")
        for words in (["doctor", "--json"], ["rules", "export", self.rules], ["rules", "gallery", self.rules, "--out"],
                      ["status", self.rules, "--html"]):
            self.assert_works(rulemill(*words, link))
            self.assertTrue(link.is_symlink() and not target.is_symlink())
            self.assertGreater(target.stat().st_size, 0)
            target.unlink()

    def test_devices_and_pipes_are_written_to(self):
        self.assertIn("rulemill", json.loads(self.read_pipe(["doctor", "--json"], self.folder / "pipe")))
        text = self.read_pipe(["rules", "export", self.rules], self.folder / "rules")
        self.assertIn(b"\nrule ", text)
        if os.geteuid() == 0:
            device = self.folder / "null"
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
            self.assert_works(rulemill("doctor", "--json", device))
            self.assertTrue(stat.S_ISCHR(device.stat().st_mode))

    def test_standard_output_has_the_output_alone(self):
        for place in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            process = rulemill("doctor", "--json", place)
            self.assert_works(process)
            self.assertIn("rulemill", json.loads(process.stdout))
            self.assertIn("definitions ", process.stderr)
        with open(self.folder / "file", "w", encoding="utf-8") as file:
            subprocess.run([str(BINARY), "doctor", "--json", "/dev/stdout"], stdout=file, stderr=subprocess.DEVNULL, check=True)
        self.assertIn("rulemill", json.loads((self.folder / "file").read_text(encoding="utf-8")))

    def test_models_databases_text_and_pages_go_to_standard_output(self):
        model = ROOT / "data" / "models" / "acnet_block.onnx"
        optimize = ["optimize", model, "--rules", self.rules, "--no-benchmark"]
        for words in ([*optimize, "--out"], ["rules", "export", self.rules], ["rules", "gallery", self.rules, "--out"],
                      ["rules", "import", ROOT / "tests" / "egraph" / "axioms.rules", "--out"]):
            self.assert_works(rulemill(*words, self.folder / "file.rmdb"))
            process = subprocess.run([str(BINARY), *map(str, words), "-"], capture_output=True, check=True)
            self.assertEqual(process.stdout, (self.folder / "file.rmdb").read_bytes(), words)
        self.assertFalse(os.path.exists("-"))
        self.assert_fails(rulemill(*optimize, "--out", "-", "--json", "-"), 2, "another output; choose another file")
        with open("/dev/full", "w", encoding="utf-8") as full:
            process = subprocess.run([str(BINARY), "doctor", "--json", "-"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(process.returncode, 1)
        self.assertIn("rulemill: standard output: cannot be written: No space left on device", process.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
