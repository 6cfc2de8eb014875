#!/usr/bin/env python3
"""Runs docs/new_operator.md: two operators that are defined only in a text file get properties and rules."""

import re
import unittest

from binary import ROOT, Case, rulemill

DEMO = ROOT / "data" / "demos" / "gated"
NEW = ("gated", "masked_softmax")


class NewOperator(Case):
    def test_no_source_names_the_new_operators(self):
        for folder in ("algebra", "runtime", "enumerate", "fingerprint", "dedup", "egraph", "prove", "optimize", "cli"):
            for path in (ROOT / folder).rglob("*"):
                if path.suffix in (".cc", ".h", ".cu"):
                    for name in NEW:
                        self.assertNotIn(f'"{name}"', path.read_text(encoding="utf-8"), path)

    def test_an_included_folder_is_read_first_and_once(self):
        process = rulemill("operators", "list", "--definitions", DEMO)
        self.assert_works(process)
        for name in (*NEW, "matmul", "softmax"):
            self.assertRegex(process.stdout, rf"(?m)^{name} ")
        folder = self.folder / "mine"
        folder.mkdir()
        (folder / "mine.op").write_text('include "nowhere"\noperator same(x[d...])\n  y[i... < d...] = x[i...]\n')
        self.assert_fails(rulemill("operators", "list", "--definitions", folder), 3, "mine.op:1:9: there is no folder")
        (folder / "mine.op").write_text("include nowhere\n")
        self.assert_fails(rulemill("operators", "list", "--definitions", folder), 3, "mine.op:1:9: expected a folder of definitions in quotes")

    def test_an_operator_is_shown_as_its_file_defines_it(self):
        folder = self.folder / "mine"
        folder.mkdir()
        (folder / "mine.op").write_text(
            f'include "{ROOT / "data" / "operators"}"\n\n# Of another operator.\noperator first(x[n])\n  y[i < n] = x[i]\n\n'
            "# The part of x that passes.\n# A second line.\noperator gate(x[d...], y[d...] of bool, bound[];\n"
            "    step: int = 1, act in {none, tanh})  # a comment\n"
            "  z[i... < d...] = act(larger(x[i...], bound[])) * y[i...]  # here, too\n"
            '  onnx Gate(x, y, bound) {domain = "my.domain",\n    step = step default 1}\n\n# Of the function.\nfunction unused(t) = t\n'
            "operator whole(x[n], b[])\n  is gate(first(x), below_one(x), b)\n"
            "operator below_one(x[n])\n  y[i < n] of bool = below(x[i], 1)\nfunction below(a, b) = less(a, b)\n", encoding="utf-8")
        shown = self.json("operators", "show", "gate", "--definitions", folder)
        self.assertEqual(shown["signature"], "gate(x[d...], y[d...] of bool, bound[]; step: int = 1, act in {none, tanh})")
        self.assertEqual(shown["definition"].splitlines()[0], "# The part of x that passes.")
        self.assertEqual(shown["definition"].splitlines()[-1], "    step = step default 1}")
        self.assertEqual([(each["text"], each["type"]) for each in shown["inputs"]], [("x[d...]", "real"), ("y[d...]", "bool"), ("bound[]", "real")])
        self.assertEqual([(each["text"], each["type"]) for each in shown["outputs"]], [("z[i... < d...]", "real")])
        self.assertEqual([each["text"] for each in shown["parameters"]], ["step: int = 1", "act in {none, tanh}"])
        self.assertEqual(shown["onnx"], ['Gate(x, y, bound) {domain = "my.domain", step = step default 1}'])
        self.assertEqual({each["name"]: each["definition"].splitlines()[0] for each in shown["functions"]}["larger"], "function larger(s, t) = max(s, t)")
        self.assertEqual({each["name"] for each in shown["functions"]}, {"larger", "tanh"})
        self.assertRegex(shown["place"], r"mine/mine\.op:9:10$")
        whole = self.json("operators", "show", "whole", "--definitions", folder)
        self.assertEqual((whole["parts"], whole["outputs"], whole["onnx"]), (["gate", "first", "below_one"], [], []))
        text = rulemill("operators", "show", "gate", "--definitions", folder).stdout
        self.assertTrue(text.startswith(shown["signature"] + "\n\n" + shown["definition"] + "\nfunction "), text)
        self.assertRegex(text, r"(?m)^inputs +x\[d\.\.\.\]  real$")
        listed = rulemill("operators", "list", "--definitions", folder).stdout
        self.assertRegex(listed, r"(?m)^gate +x\[d\.\.\.\], y\[d\.\.\.\] of bool, bound\[\] +step: int = 1, act in \{none, tanh\} *$")
        self.assert_fails(rulemill("operators", "show", "gatee", "--definitions", folder), 2, "unknown operator 'gatee'; did you mean 'gate'")

    def test_properties_are_proved_and_a_false_one_is_refuted(self):
        process = rulemill("operators", "check", "--definitions", DEMO, DEMO / "gated.properties")
        self.assert_fails(process, 1, "1 of 8 properties are not proved")
        verdicts = dict(re.findall(r"(?m)^(\w+) +(proved|refuted)\b", process.stdout))
        self.assertEqual(verdicts.pop("masked_columns"), "refuted")
        self.assertEqual(set(verdicts.values()), {"proved"})
        self.assertEqual(len(verdicts), 7)
        self.assertRegex(process.stdout, r"# masked_columns is false here:\n\w+ = np\.array\(")
        properties = self.json("operators", "check", "--definitions", DEMO, DEMO / "gated.properties", code=1)["properties"]
        found = {each["name"]: each["counterexample"] for each in properties if "counterexample" in each}
        self.assertEqual(list(found), ["masked_columns"])
        self.assertNotEqual(found["masked_columns"]["source"], found["masked_columns"]["target"])

    def test_rules_are_found_proved_and_checked(self):
        out = self.folder / "out"
        self.assert_works(rulemill("discover", "--definitions", DEMO, "--profile", DEMO / "profile.toml", "--out", out, "--progress", "off"))
        for name, least in zip(NEW, (5, 1)):
            rules = self.json("rules", "list", out, "--definitions", DEMO, "--uses", name)["rules"]
            self.assertGreaterEqual(len(rules), least, name)
        shown = re.search(r"rules show gated (\S+)", (ROOT / "README.md").read_text(encoding="utf-8")).group(1)
        self.assertIn("gated", self.json("rules", "show", out, shown, "--definitions", DEMO)["text"])
        texts = " ".join(rule["text"] for rule in self.json("rules", "list", out, "--definitions", DEMO)["rules"])
        self.assertRegex(texts, r"mul\(x1, sigmoid\(x2\)\)\s+=> gated\(x1, x2\)")
        self.assert_works(rulemill("check", out, "--definitions", DEMO))
        self.assert_fails(rulemill("check", out), 3, "its rules use operator 'gated', which the definitions do not have")


if __name__ == "__main__":
    unittest.main()
