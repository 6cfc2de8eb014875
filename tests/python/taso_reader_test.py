#!/usr/bin/env python3
"""The parts of the reader of TASO's protobuf (python/rulemill/exchange): its messages and its table; and random changes of files and
rules, each of which is read or rejected with its place."""

import random
import sys
import unittest

import taso_form
from binary import ROOT, Case, rulemill
from taso_form import message, number

sys.path.insert(0, str(ROOT / "python" / "rulemill"))

from exchange.taso_messages import MappedOutput, Operator, Rule, Tensor, decode, encode  # noqa: E402 pylint: disable=wrong-import-position,import-error

SIDES = [sides for group in (taso_form.KNOWN, taso_form.FALSE, taso_form.ILL_TYPED) for sides in group.values()]
RULES = [taso_form.rule(*sides) for sides in SIDES]
CORPUS = ROOT / "tests" / "corpus" / "taso"


class Messages(unittest.TestCase):
    def test_what_is_read_is_written_again_as_the_same_bytes(self):
        files = [taso_form.collection(*RULES), *(path.read_bytes() for path in CORPUS.iterdir())]
        for content in files:
            self.assertEqual(b"".join(map(encode, decode(content))), content)

    def test_numbers_have_32_bits_and_the_last_value_holds(self):
        for written, read in ((-3, -3), (7 | 1 << 32, 7), ((1 << 31), -(1 << 31))):
            content = message(1, message(1, number(1, 5) + number(1, written)) + message(3, b""))
            outputs = [MappedOutput(Tensor(0, 0), Tensor(0, 0))]
            self.assertEqual(decode(content), [Rule([Operator(read, [], {})], [], outputs)])

    def test_unknown_fields_and_those_of_other_wire_types_are_skipped(self):
        for extra in (number(9, 1), message(9, b"\xff"), number(2, 4), message(1, b"\xff"), b"\x09" + bytes(8), b"\x0d" + bytes(4)):
            self.assertEqual(decode(message(1, message(1, number(1, 8) + extra))), [Rule([Operator(8, [], {})], [], [])], extra)

    def test_bytes_that_are_no_messages_are_rejected(self):
        ends = {"cut": RULES[0][:-1], "long number": b"\x08" + b"\xff" * 10, "field 0": b"\x00\x00", "wire type": b"\x0f", "group": b"\x0b\x0c",
                "nested": message(1, message(1, b"\x08"))}
        for name, content in ends.items():
            with self.subTest(name), self.assertRaises(ValueError):
                decode(content)


class Table(Case):
    FAULTS = {
        "type = 8\noperator = \"relu\"\n[[operators]]\ntype = 8\noperator = \"tanh\"": (":4: ", "two entries have type 8"),
        "operator = \"relu\"": (":1: ", "has no type"),
        "type = -1\noperator = \"relu\"": (":1: ", "type is a number from 0 on"),
        "type = 8\noperator = \"rleu\"": (":1: ", "names no operator that the definitions have"),
        "type = 8\noperator = \"relu\"\nkey = 2": (":1: ", "unknown key 'key'"),
        "type = 8\noperator = \"relu\"\nranks = 2": (":1: ", "ranks is a list"),
        "type = 8\noperator = \"relu\"\nfixed = [[1]]": (":1: ", "each of fixed has 2 numbers"),
        "type = 8\noperator = \"relu\"\nafter = { key = 2 }": (":1: ", "after has a key and operators"),
        "type = 8\noperator = \"relu\"\nafter = { key = 2, operators = [\"rleu\"] }": (":1: ", "'rleu' is no operator that the definitions have"),
        "type = 8\noperator = \"relu\"\nparameters = { axis = { keys = [2] } }": (":1: ", "operator 'relu' has no parameter 'axis'"),
        "type = 8\noperator = \"concat\"\nparameters = { axis = { keys = [] } }": (":1: ", "a parameter has at least one key"),
        "type = 8\noperator = \"concat\"\nparameters = { axis = { keys = [2], words = [1] } }": (":1: ", "each of words is a word"),
        "type = ": (": ", "line 2"),
    }

    def test_each_fault_is_reported_with_the_place_of_its_entry(self):
        rules, table = self.folder / "rules.pb", self.folder / "table.toml"
        rules.write_bytes(taso_form.collection(*RULES))
        for text, (place, problem) in self.FAULTS.items():
            table.write_text(f"[[operators]]\n{text}\n", encoding="utf-8")
            process = rulemill("rules", "import", rules, "--taso-table", table, "--out", self.folder / "out")
            self.assert_fails(process, 3, f"{table}{place}", problem)
        table.write_text("", encoding="utf-8")
        self.assert_fails(rulemill("rules", "import", rules, "--taso-table", table, "--out", self.folder / "out"), 3, f"{table}: has no [[operators]]")

    def test_numbers_mean_what_the_table_says(self):
        rules, table = self.folder / "rules.pb", self.folder / "table.toml"
        rules.write_bytes(taso_form.rule(taso_form.op(70, taso_form.op(70, 1)), taso_form.op(70, 1)))
        table.write_text("[[operators]]\ntype = 70\noperator = \"abs\"\nranks = [3]\n", encoding="utf-8")
        report = self.json("rules", "import", rules, "--taso-table", table, "--out", self.folder / "out")
        self.assertEqual([(entry["name"], entry["verdict"]) for entry in report["rules"]], [("t1", "proved")])


class Faults(Case):
    RULES = (
        ((taso_form.conv(1, 2, pad=5), 1), "source operator 0 has the value 5 for parameter 8, which"),
        ((taso_form.conv(1, 2, act=9), 1), "source operator 0 has the value 9 for parameter 9, which"),
        ((taso_form.conv(1, 2, stride=0), 1), "source operator 0: "),
        ((taso_form.op(3, 1, 2, k6=1, k7=2, k8=0, k9=0), 1), "source operator 0 has two values for stride of 'conv2d': 1 and 2"),
        ((taso_form.op(3, 1, 2, k6=1, k7=1, k8=0), 1), "source operator 0 has no parameter 9"),
        ((taso_form.op(6, 1, k4=3, k5=3, k6=1, k7=1, k8=0, k9=1), 1), "source operator 0 has the value 1 for parameter 9; only 0 is supported"),
        ((taso_form.op(12, 1, 2, k1=3, k10=2, k11=0), 1), "source operator 0 has 2 inputs, and its parameter for their number is 3"),
        ((taso_form.op(12, 1, k1=1, k10=2, k11=0), 1), "source operator 0 has 1 inputs; 'concat' takes 2"),
        ((taso_form.concat(5, 2, 1, 2), 1), "source operator 0 takes no tensor of rank 4"),
        ((taso_form.split(1, 1, outputs=3)[0], 1), "source operator 0 has 3 outputs; 'split' has 2"),
        ((taso_form.op(15, 1, k10=2, k12=99, k13=0), 1), "source operator 0: its permutation does not fit 2 axes"),
        ((taso_form.op(18, 1, 2, k9=7), 1), "source operator 0 has the value 7 for parameter 9; "),
        ((taso_form.matmul(taso_form.relu(1), 2), taso_form.conv(taso_form.relu(1), 2)), "source operator 1 takes no tensor of rank 4"),
        ((taso_form.op(24, 1), 1), "source operator 0 has 1 inputs; 'ones' takes 0"),
    )

    def test_each_rule_that_cannot_be_read_has_its_reason(self):
        path = self.folder / "rules.pb"
        sides = [(source, taso_form.relu(target) if isinstance(target, int) else target) for (source, target), _ in self.RULES]
        path.write_bytes(taso_form.collection(*(taso_form.rule(*each) for each in sides)))
        report = self.json("rules", "import", path, "--out", self.folder / "out", code=3)
        for entry, (_, reason) in zip(report["rules"], self.RULES, strict=True):
            self.assertEqual((entry["verdict"], entry["detail"][:len(reason)]), ("unreadable", reason))


def changed(content, rng):
    data = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data))
        data[at:at + rng.randint(0, 2)] = rng.choice([b"", bytes([rng.randrange(256)]), data[at:at + 9], data[rng.randrange(len(data)):][:20]])
        data = data or bytearray(content)
    return bytes(data[:len(data) if rng.random() < 0.8 else rng.randrange(len(data))])


class Changed(Case):
    def assert_read_or_rejected(self, content):
        """The number of rules that are read; 0 if the file is rejected."""
        path, text = self.folder / "fuzzed.pb", self.folder / "other.rules"
        path.write_bytes(content)
        text.write_text("rule other(x:2)\n  relu(x) => relu(x)\n", encoding="utf-8")
        process = rulemill("rules", "diff", text, path, "--json", self.folder / "diff.json")
        self.assertIn(process.returncode, (0, 3), process.stderr)
        for line in process.stderr.splitlines():
            self.assertRegex(line, rf"^rulemill: {path}: ", content)
        return len(self.json("rules", "diff", text, path)["only_b"]) if process.returncode == 0 else 0

    def test_changed_bytes_are_messages_or_rejected(self):
        rng = random.Random(1)
        for _ in range(3000):
            try:
                self.assertIsInstance(decode(changed(taso_form.collection(*rng.sample(RULES, 3)), rng)), list)
            except ValueError:
                pass

    def test_changed_files_are_read_or_rejected(self):
        rng = random.Random(2)
        for _ in range(12):
            self.assert_read_or_rejected(changed(taso_form.collection(*RULES), rng))

    def test_changed_rules_are_read_or_rejected_one_by_one(self):
        rng = random.Random(3)
        rules = []
        while len(rules) < 600:
            content = changed(rng.choice(RULES), rng)
            try:
                rules += map(encode, decode(content))
            except ValueError:
                pass
        self.assertGreater(self.assert_read_or_rejected(b"".join(rules)), 50)


if __name__ == "__main__":
    unittest.main()
