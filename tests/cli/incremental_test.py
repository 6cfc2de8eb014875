#!/usr/bin/env python3
"""A run on changed inputs: it reports the changes, reuses proofs that do not depend on them, and its database is byte-identical to
that of a run from scratch."""

import json
import pathlib
import re
import shutil
import unittest

from binary import ROOT, Case, rulemill

SMALL = pathlib.Path(__file__).with_name("small.toml")
OPERATORS = ROOT / "data" / "operators"
RESULTS = ["candidates.rules", "outcomes.json", "rules.rmdb"]
EVERY_STAGE = 2 * 5  # a line and a row of the table for each
RELU = '[[operators]]\noperator = "relu"\n'


def statements(out):
    """Returns the candidates without their numbers."""
    text = (out / "candidates.rules").read_text(encoding="utf-8")
    return {re.sub(r"^rule \w+", "", rule) for rule in re.split(r"(?m)^(?=rule )", text)[1:]}


def results(out):
    return {name: (out / name).read_bytes() for name in RESULTS}


def table(out):
    return {path.name: path.read_bytes() for path in (out / "shards").iterdir()}


class Incremental(Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"
        self.text = SMALL.read_text(encoding="utf-8")
        self.number = 0

    def words(self, text, out, *options):
        self.number += 1
        profile = self.folder / f"profile-{self.number}.toml"
        profile.write_text(text, encoding="utf-8")
        return ["discover", "--profile", profile, "--out", out, "--progress", "off", *options]

    def discover(self, text, *options, out=None):
        process = rulemill(*self.words(text, out or self.out, *options))
        self.assert_works(process)
        return process.stdout

    def proofs(self, text, *options, out):
        """Returns the number of proofs from the definitions in a run."""
        return self.json(*self.words(text, out, *options))["task_statistics"]["prove"]["proofs"]

    def assert_follows(self, before, after, words):
        """Runs twice (text and options each) and checks the reported changes, identical results and fewer proofs."""
        self.discover(before[0], *before[1])
        scratch = self.folder / f"scratch-{self.number}"
        all_proofs = self.proofs(after[0], *after[1], out=scratch)
        copy = self.folder / f"copy-{self.number}"
        shutil.copytree(self.out, copy)
        said = self.discover(after[0], *after[1])
        self.assertIn("changed since the last run: ", said)
        self.assertRegex(said, words)
        self.assertEqual(results(self.out), results(scratch))
        self.assertEqual(table(self.out), table(scratch))
        self.assertFalse((self.out / "previous").exists())
        report = self.json(*self.words(after[0], copy, *after[1]))
        asked = report["task_statistics"]["prove"]["proofs"] if "prove" in report.get("task_statistics", {}) else 0
        self.assertLess(asked, all_proofs)
        self.assertEqual(report["rows_reused"] > 0, "--max-ops" not in after[1])
        print(f"{words}: {asked} of {all_proofs} proofs", flush=True)
        self.assertEqual(self.discover(after[0], *after[1]).count("already done"), EVERY_STAGE)

    def test_an_added_operator(self):
        self.assertIn(RELU, self.text)
        self.assert_follows((self.text.replace(RELU, ""), []), (self.text, []), r"run: definition of relu is new; operator relu\(\) is new\n")

    def test_candidates_without_the_added_operator_and_their_proofs_do_not_change(self):
        more = self.text + '[[operators]]\noperator = "sub"\n'
        self.discover(self.text)
        before = statements(self.out)
        proofs = self.proofs(more, out=self.out)
        after = statements(self.out)
        self.assertEqual([rule for rule in before - after if "sub(" not in rule], [])
        self.assertEqual([rule for rule in after - before if "sub(" not in rule], [])
        print(f"{len(after - before)} of {len(after)} candidates are new, {proofs} proofs")
        self.assertLessEqual(proofs, len(after - before))

    def test_undamaged_rows_of_the_previous_run_are_reused_on_any_number_of_ranks(self):
        self.discover(self.text.replace(RELU, ""))
        scratch = self.folder / "scratch"
        self.discover(self.text, out=scratch)
        damaged, ranks = self.folder / "damaged", self.folder / "ranks"
        shutil.copytree(self.out, damaged)
        shutil.copytree(self.out, ranks)
        report = self.json(*self.words(self.text, self.out))
        new = sum("relu(" in rule for rule in statements(scratch))
        self.assertGreater(new, 0)
        self.assertGreater(report["rows_reused"], 0)
        self.assertLess(report["rows_reused"], report["levels"][-1]["orbits"])
        shard = damaged / "shards" / "terms-00000.h5"
        content = bytearray(shard.read_bytes())
        content[len(content) // 2] ^= 1
        shard.write_bytes(content)
        process = rulemill(*self.words(self.text, damaged))
        self.assert_works(process)
        self.assertIn("reevaluating its terms", process.stderr)
        self.assert_works(rulemill(*self.words(self.text, ranks), ranks=2))
        for out in (self.out, damaged, ranks):
            self.assertEqual(results(out), results(scratch))
            self.assertEqual(table(out), table(scratch))

    def test_an_archived_table_is_removed_when_its_successor_is_finished(self):
        self.discover(self.text)
        shutil.copytree(self.out / "shards", self.out / "previous" / "shards")
        self.discover(self.text)
        self.assertFalse((self.out / "previous").exists())

    def test_a_removed_operator(self):
        self.assert_follows((self.text, []), (self.text.replace(RELU, ""), []), r"run: definition of relu was removed; operator relu\(\) was removed\n")

    def test_an_added_level(self):
        self.assert_follows((self.text, []), (self.text, ["--max-ops", "3"]), r"run: max_ops: 2 → 3\n")

    def test_after_a_first_run_that_failed_nothing_is_called_changed(self):
        process = rulemill(*self.words(self.text, self.out, "--max-ops", "1", "--memory", "1MB"))
        self.assert_fails(process, 1, "--memory")
        self.assertNotIn("changed", self.discover(self.text))

    def test_a_changed_definition(self):
        definitions = self.folder / "definitions"
        shutil.copytree(OPERATORS, definitions)
        options = ["--definitions", definitions]
        self.discover(self.text, *options)
        file = next(path for path in definitions.glob("*.op") if re.search(r"(?m)^operator relu\(", path.read_text()))
        text = file.read_text()
        another_name = lambda match: re.sub(r"\bx\b", "argument", match.group())
        file.write_text(re.sub(r"(?m)^operator relu\(.*\n(?:[ \t]+.*\n)*", another_name, text))
        self.assertNotEqual(file.read_text(), text)
        said = self.discover(self.text, *options)
        self.assertIn("changed since the last run: definition of relu has changed\n", said)
        scratch = self.folder / "scratch"
        self.discover(self.text, *options, out=scratch)
        self.assertEqual(results(self.out), results(scratch))

    def test_an_unused_definition_leaves_the_bytes_of_a_run_from_scratch(self):
        definitions = self.folder / "definitions"
        shutil.copytree(OPERATORS, definitions)
        options = ["--definitions", definitions]
        self.discover(self.text, *options)
        (definitions / "unused.op").write_text("function unused_cube(t) = t * t * t\n\noperator unused_cube(x[d...])\n  y[i... < d...] = unused_cube(x[i...])\n")
        self.assertEqual(self.discover(self.text, *options).count("already done"), EVERY_STAGE)
        scratch = self.folder / "scratch"
        self.discover(self.text, *options, out=scratch)
        self.assertEqual(results(self.out), results(scratch))

    def test_comments_and_order_in_files_do_not_matter(self):
        definitions = self.folder / "definitions"
        shutil.copytree(OPERATORS, definitions)
        options = ["--definitions", definitions]
        self.discover(self.text, *options)
        for file in definitions.glob("*.op"):
            file.write_text("# a word\n" + re.sub(r"(?m)^  onnx \w+\n", "  # no mapping\n", file.read_text()) + "\n\n")
        said = self.discover("# another word\n" + self.text.replace("max_ops", "\nmax_ops"), *options)
        self.assertEqual(said.count("already done"), EVERY_STAGE, said)

    def test_other_changes_are_rejected_and_nothing_is_lost(self):
        self.discover(self.text)
        before = {path: path.read_bytes() for path in self.out.rglob("*") if path.is_file() and "events" not in path.parts}
        for text, options, words in ((self.text, ["--max-ops", "1"], "max_ops: 2 → 1"), (self.text, ["--seed", "8"], "seed: 7 → 8"),
                                     (self.text.replace("[3, 4]", "[3, 5]"), [], "variable w1: [3, 4], role any → [3, 5], role any"),
                                     (self.text.replace('"x1", ', ""), [], "variable x1 was removed"),
                                     (self.text, ["--extend-all-terms"], "--extend-all-terms: no → yes"),
                                     (self.text.replace('"small"', '"other"'), [], "profile: small → other")):
            with self.subTest(words):
                self.assert_fails(rulemill(*self.words(text, self.out, *options)), 3, "was made from other inputs: ", words, "--fresh")
                self.assertEqual({path: path.read_bytes() for path in before}, before)
        self.assertEqual(self.discover(self.text).count("already done"), EVERY_STAGE)
        said = self.discover(self.text, "--seed", "8", "--fresh")
        self.assertNotIn("already done", said)
        scratch = self.folder / "scratch"
        self.discover(self.text, "--seed", "8", out=scratch)
        self.assertEqual(results(self.out), results(scratch))

    def test_a_folder_of_another_version_is_rejected_in_one_line_and_nothing_is_lost(self):
        self.discover(self.text)
        manifest = self.out / "manifest.json"
        older = {**json.loads(manifest.read_text()), "version": 1}
        del older["checksum"]  # the first version had none
        manifest.write_text(json.dumps(older))
        before = {path: path.read_bytes() for path in self.out.rglob("*") if path.is_file() and "events" not in path.parts}
        process = rulemill(*self.words(self.text, self.out))
        self.assert_fails(process, 3, f"{manifest}: has version 1; expected 2")
        self.assertEqual(len(process.stderr.strip().splitlines()), 1)
        self.assertEqual({path: path.read_bytes() for path in before}, before)

    def test_a_damaged_cache_is_not_used(self):
        more = self.text + '[[operators]]\noperator = "sub"\n'
        self.discover(self.text)
        scratch = self.folder / "scratch"
        self.discover(more, out=scratch)
        for name in ("answers.cache", "generalizations.cache"):
            store = (self.out / name).read_bytes()
            for at in (3, 30, len(store) // 2, len(store) - 5):
                with self.subTest(name, at=at):
                    out = self.folder / f"damaged-{name}-{at}"
                    shutil.copytree(self.out, out)
                    damaged = bytearray(store)
                    damaged[at] ^= 4
                    (out / name).write_bytes(damaged)
                    process = rulemill(*self.words(more, out))
                    self.assert_works(process)
                    self.assertIn(name, process.stderr)
                    self.assertEqual(results(out), results(scratch))


if __name__ == "__main__":
    unittest.main()
