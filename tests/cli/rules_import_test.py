#!/usr/bin/env python3
"""`rulemill rules import|export|diff` and `rulemill derive`."""

import json
import re
import signal
import subprocess
import time
import unittest

import taso_form
from binary import BINARY, LONG_RULES, ROOT, Case, FusionRulesCase, rulemill


class Import(Case):
    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def import_file(self, path, *options):
        return rulemill("rules", "import", path, "--out", self.folder / "out", *options)

    def taso(self, *groups):
        rules = [taso_form.rule(*sides) for group in groups for sides in group.values()]
        return self.write("rules.pb", taso_form.collection(*rules))


class TasoForm(Import):
    def test_well_known_rules_are_proved_and_checked(self):
        report = self.json("rules", "import", self.taso(taso_form.KNOWN), "--keep-narrowed", "--out", self.folder / "out")
        self.assertGreaterEqual(len(taso_form.KNOWN), 30)
        names = list(taso_form.KNOWN)
        by_groups = range(names.index("convolutions that share an input"), names.index("enlarged kernel"))  # false for several groups
        narrowed = {f"t{number + 1}" for number in by_groups}
        for entry in report["rules"]:
            self.assertEqual(entry["verdict"], "narrowed" if entry["name"] in narrowed else "proved", entry)
        self.assert_works(rulemill("check", self.folder / "out"))

    def test_a_condition_is_found_for_merging_into_a_grouped_convolution(self):
        grouped = {name: sides for name, sides in taso_form.KNOWN.items() if "grouped" in name}
        report = self.json("rules", "import", self.taso(grouped), "--out", self.folder / "out", code=1)
        for entry in report["rules"]:
            self.assertEqual(entry["verdict"], "narrowed", entry)
            self.assertRegex(entry["condition"], r"^\w+ = \w+$", entry)

    def test_a_false_rule_is_refuted_with_a_counterexample_and_not_written(self):
        report = self.json("rules", "import", self.taso(taso_form.FALSE), "--out", self.folder / "out", code=1)
        for entry in report["rules"]:
            self.assertEqual(entry["verdict"], "refuted", entry)
            self.assertRegex(entry["detail"], r"the source is .*, the target ")
        self.assertIn("0 core, 0 derived", rulemill("rules", "list", self.folder / "out").stdout)

    def test_ill_typed_rules_are_reported_and_the_others_are_written(self):
        path = self.taso({"true": taso_form.KNOWN["product associates"]}, taso_form.ILL_TYPED)
        process = self.import_file(path)
        self.assert_fails(process, 3, f"{path}: rule 2: ", "ill-typed")
        self.assertIn("1 core", process.stdout)
        self.assert_works(rulemill("check", self.folder / "out"))

    def test_each_malformed_input_is_reported_in_one_line(self):
        number, message = taso_form.number, taso_form.message
        tensor = lambda index: message(2, number(1, index) + number(2, 0))
        mapped = lambda a, b: message(3, number(1, a) + number(2, b) + number(3, 0) + number(4, 0))
        relu = lambda field, index: message(field, number(1, 8) + tensor(index))
        good = relu(1, -1) + relu(2, -1)
        cases = {
            "expected a graph without cycles": relu(1, 1) + relu(1, 0) + relu(2, -1) + mapped(0, 0),
            "source operator 0 takes an output of operator 7; expected one of 1, from 0": relu(1, 7) + relu(2, -1) + mapped(0, 0),
            "has type 99, which": message(1, number(1, 99) + tensor(-1)) + relu(2, -1) + mapped(0, 0),
            "mapped output 0 is output 0 of target operator 5; expected one of 1 operators": good + mapped(0, 5),
            "maps no output": good,
            "its target uses input 2, which its source does not have": relu(1, -1) + relu(2, -2) + mapped(0, 0),
            "has 2 inputs; 'relu' takes 1": message(1, number(1, 8) + tensor(-1) + tensor(-2)) + relu(2, -1) + mapped(0, 0),
            "has parameter 77, which": message(1, number(1, 8) + tensor(-1) + message(3, number(1, 77) + number(2, 1))) +
                                       relu(2, -1) + mapped(0, 0),
            "has no output 3; expected one of 1": good + message(3, number(1, 0) + number(2, 0) + number(3, 3) + number(4, 0)),
        }
        for expected, content in cases.items():
            path = self.write("bad.pb", message(1, content))
            self.assert_fails(self.import_file(path), 3, f"{path}: rule 1: rule t1 is unreadable: ", expected)

    def test_a_truncated_file_is_rejected(self):
        path = self.taso(taso_form.KNOWN)
        whole = path.read_bytes()
        self.assert_fails(self.import_file(self.write("cut.pb", whole[:-3])), 3, "cut.pb: is no collection of rules")


class TextForm(Import):
    def test_proved_rules_become_a_database_that_passes_check(self):
        rules = ROOT / "tests" / "prove" / "proved.rules"
        count = len(re.findall(r"^rule ", rules.read_text(), re.M))
        report = self.json("rules", "import", rules, "--out", self.folder / "out.rmdb")
        self.assertEqual(report["counts"]["proved"], count)
        self.assert_works(rulemill("check", self.folder / "out.rmdb"))

    def test_conditions_are_found_for_rules_that_need_them(self):
        report = self.json("rules", "import", ROOT / "tests" / "prove" / "conditional.rules", "--out", self.folder / "out", code=1)
        for entry in report["rules"]:
            self.assertEqual(entry["verdict"], "narrowed", entry)
            # Sizes that no text has stand in the shapes beside the condition.
            condition, _, shapes = entry["detail"].partition(" with ")
            self.assertEqual(condition, f"when {entry['condition']}")
            for size in re.findall(r"\b[a-z]\d*\b(?!\[)", condition):
                self.assertRegex(shapes, rf"\b{size}\b", entry)

    def test_a_counterexample_is_printed_as_lines_of_numpy(self):
        path = self.write("given.rules", "rule swapped(x[m, k], w[k, n])\n  matmul(x, w) => matmul(w, x)\n")
        process = rulemill("rules", "import", path, "--out", self.folder / "out", "--json", self.folder / "report.json")
        found = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))["rules"][0]["counterexample"]
        block = process.stdout.split("# swapped is false here:\n")[1].split("\n\n")[0].splitlines()
        for line, tensor in zip(block, found["inputs"], strict=False):
            name, values, shape = re.fullmatch(r"(\w+) = np\.array\((\[.*\])\)\.reshape\((.*)\)", line).groups()
            self.assertEqual((name, json.loads(values), json.loads(f"[{shape}]")), (tensor["name"], tensor["values"], tensor["shape"]))
        self.assertEqual(block[len(found["inputs"]):], [f"{name} = {value}" for name, value in found["sizes"].items()])

    def test_a_rule_whose_target_fixes_a_size_of_the_source_is_narrowed_and_written_only_if_asked(self):
        path = self.write("given.rules", "rule valid_is_same(x:4, k:4)\n  conv2d(x, k; pad=valid) => conv2d(x, k)\n"
                                         "rule ones_declared(x[n, c, h, w], k[f, c, 1, 1])\n  conv2d(x, k; pad=valid) => conv2d(x, k)\n")
        report = self.json("rules", "import", path, "--out", self.folder / "out", code=1)
        self.assertEqual([entry["verdict"] for entry in report["rules"]], ["narrowed", "proved"])
        self.assertEqual(report["rules"][0]["condition"], "k[2] = 1, k[3] = 1")
        self.assertEqual((report["counts"]["proved"], report["counts"]["narrowed"]), (1, 1))
        self.assertEqual([rule["id"] for rule in self.json("rules", "list", self.folder / "out")["rules"]], ["ones_declared"])
        report = self.json("rules", "import", path, "--out", self.folder / "all", "--keep-narrowed")
        self.assertEqual([entry["verdict"] for entry in report["rules"]], ["narrowed", "proved"])
        self.assertNotEqual(report["rules"][0]["tier"], "")
        self.assert_works(rulemill("check", self.folder / "all"))

    def test_a_reason_is_short(self):
        angle = "softmax(softmax(add(softmax(x), softmax(y))))"
        path = self.write("long.rules", f"rule long(x[m, n], y[m, n])\n  add(mul(sin({angle}), sin({angle})), mul(cos({angle}), "
                                        f"cos({angle}))) => ones(; d=[m, n])\n")
        report = self.json("rules", "import", path, "--out", self.folder / "out", code=1)
        self.assertEqual(report["rules"][0]["verdict"], "unknown")
        self.assertLess(len(report["rules"][0]["detail"]), 260)

    def test_rules_with_dependent_variables_do_not_subsume_others(self):
        report = self.json("rules", "import", ROOT / "tests" / "prove" / "dependent_shapes.rules", "--keep-narrowed", "--out", self.folder / "out")
        self.assertEqual({entry["name"]: entry["verdict"] for entry in report["rules"]},
                         {"relu_twice": "proved", "scaled_concat": "narrowed", "scaled_relu_concat": "narrowed"})
        self.assert_works(rulemill("check", self.folder / "out"))

    def test_the_report_is_always_written(self):
        report = self.folder / "report.json"
        path = self.write("some.rules", "rule a(a[2, 3], b[4, 5])\n  matmul(a, b) => matmul(a, b)\nrule b(x:2)\n  relu(relu(x)) => relu(x)\n")
        self.assert_fails(self.import_file(path, "--json", report), 3, "ill-typed")
        self.assertEqual([entry["verdict"] for entry in json.loads(report.read_text())["rules"]], ["ill-typed", "proved"])
        path = self.write("other.rules", "rule c(x:2, y:2)\n  add(x, y) => mul(x, y)\n")
        report.unlink()
        self.assert_fails(rulemill("derive", "--from", self.folder / "out", path, "--json", report), 1, "1 of 1 rules")
        self.assertEqual(json.loads(report.read_text())["counts"], {"not derived": 1})

    def test_a_bad_rule_is_reported_with_its_place_and_the_others_are_imported(self):
        bad = {
            "unknown_operator": ("rule unknown_operator(x:2)\n  frobnicate(x) => x\n", 2, 3, "unknown operator 'frobnicate'"),
            "no_target": ("rule no_target(x:2)\n  relu(x) =>\n", 3, 1, "'rule' is no variable of this rule"),
            "open_parenthesis": ("rule open_parenthesis(x:2)\n  relu(relu(x) => x\n", 2, 16, "expected ')'"),
            "misspelled_condition": ("rule misspelled_condition(x[n, m])\n  relu(x) => relu(x)\n  wehn n = m\n", 3, 3,
                                     "expected 'rule' or 'property', found 'wehn'"),
            "too_many_sizes": ("rule too_many_sizes(x[n])\n  repeat(x; how=[0,2], d=[n, m]) => x\n", 2, 3, "expected as many sizes as 'repeat' has for inputs of these ranks, 1, found 2"),
            "no_header": ("rule no_header relu(x) => x\n", 1, 16, "expected '('"),
            "line_3": ("relu(x) => x\n", 1, 1, "expected 'rule' or 'property', found 'relu'"),
        }
        for name, (text, line, column, problem) in bad.items():
            with self.subTest(rule=name):
                first = "" if name == "line_3" else "rule before(x:2)\n  relu(relu(x)) => relu(x)\n"
                path = self.write("bad.rules", "\n" * (2 if not first else 0) + first + text + "rule behind(x:2)\n  neg(neg(x)) => x\n")
                report = self.folder / "report.json"
                self.assert_fails(self.import_file(path, "--json", report), 3, f"{path}:{line + 2}:{column}: rule {name} is unreadable: ", problem)
                verdicts = {entry["name"]: entry["verdict"] for entry in json.loads(report.read_text())["rules"]}
                self.assertEqual(verdicts, {**({"before": "proved"} if first else {}), name: "unreadable", "behind": "proved"})
                listed = self.json("rules", "list", self.folder / "out")["rules"]
                self.assertEqual({rule["id"] for rule in listed}, set(verdicts) - {name})

    def test_what_is_printed_of_a_rule_is_read_again_with_its_verdict_and_is_the_same_rule_if_it_is_proved(self):
        options = ("--definitions", ROOT / "data" / "compilers" / "operators")
        files = sorted({*(ROOT / "tests" / "prove").glob("*.rules"), *(ROOT / "data" / "compilers").glob("*.rules")} -
                       {ROOT / "tests" / "prove" / f"{name}.rules" for name in ("hard", "faults", "textbook")})
        once = self.verdicts(*files, *options)
        printed = self.write("printed.rules", "".join(f"rule {name}{text[text.index('('):]}" for name, (_, text) in once.items() if text))
        again = self.verdicts(printed, *options)
        self.assertGreater(len(again), 1000)
        for name, (verdict, text) in again.items():
            self.assertEqual(verdict, "proved" if once[name][0] == "narrowed" else once[name][0], name)
            if once[name][0] == "proved":
                self.assertEqual(text.partition("(")[2], once[name][1].partition("(")[2], name)

    def verdicts(self, *words):
        """Verdict and text by rule."""
        report = self.folder / "report.json"
        self.import_file(words[0], *words[1:], "--json", report)
        return {entry["name"]: (entry["verdict"], entry["rule"]) for entry in json.loads(report.read_text())["rules"]}

    def test_a_rule_that_cannot_be_proved_again_ends_no_import(self):
        path = self.write("two.rules", "rule good(x[m])\n  relu(relu(x)) => relu(x)\n"
                          "rule bad(x[s + (m - 1) * p + u - 1 + r - 1, k])\n"
                          "  xla_slice(reverse(x; axis=0); start=[s - 1, t - 1], stride=[p, q], limit=[f, s - 1 + (m - 1) * p + u])\n"
                          "  => reverse(xla_slice(x; start=[u + r - 2, t - 1], stride=[p, q], limit=[u + r - 1 + (m - 1) * p, f]); axis=0)\n")
        found = self.verdicts(path, "--definitions", ROOT / "data" / "compilers" / "operators")
        self.assertEqual({name: verdict for name, (verdict, _) in found.items()}, {"good": "proved", "bad": "narrowed"})

    def test_a_database_is_read_whose_operators_have_symbolic_parameters_beside_a_pack_of_sizes(self):
        definitions = self.folder / "definitions"
        definitions.mkdir()
        (definitions / "cut.op").write_text(
            f'include "{ROOT / "data" / "operators"}"\n'
            "operator cut(x[d...]; start[d...]: int = 0, size...: sizes)\n  where start... + size... <= d...\n"
            "  y[i... < size...] = x[i... + start...]\n", encoding="utf-8")
        path = self.write("cut.rules", "rule cut_twice(x[n, m])\n"
                                       "  cut(cut(x; start=[s, t], size=[k, l]); start=[0, u], size=[k, o]) => cut(x; start=[s, t + u], size=[k, o])\n"
                                       "rule cut_fill(v[])\n  cut(fill(v; d=[n]); start=[s], size=[k]) => fill(v; d=[k])\n")
        options = ("--definitions", definitions)
        report = self.json("rules", "import", path, "--out", self.folder / "out", *options)
        self.assertEqual({entry["name"]: entry["verdict"] for entry in report["rules"]}, {"cut_twice": "proved", "cut_fill": "proved"})
        self.assert_works(rulemill("check", self.folder / "out", *options))
        text = self.folder / "again.rules"
        self.assert_works(rulemill("rules", "export", self.folder / "out", text, *options))
        report = self.json("rules", "diff", self.folder / "out", text, *options)
        self.assertEqual((len(report["both"]), report["only_a"], report["only_b"]), (2, [], []))

    def test_a_variable_on_one_side_only_is_not_a_syntax_error(self):
        path = self.write("lone.rules", "rule r(x:2, y:2)\n  relu(x) => relu(y)\n")
        report = self.json("rules", "import", path, "--out", self.folder / "out", code=1)
        self.assertEqual(report["rules"][0]["verdict"], "refuted")

    def test_each_error_is_reported_in_one_line_with_its_place(self):
        cases = {
            "rule r(x:2)\n  frobnicate(x) => x": (":2:3: ", "unknown operator 'frobnicate'"),
            "rule r(x:2)\n  relu(x, x) => x": (":2:3: ", "operator 'relu' takes 1 arguments, found 2"),
            "rule r(x:4, k:4)\n  relu(x) => relu(conv2d(x, k; stride=0))": (":2:19: ", "this cannot be made of 'conv2d'", "divisor"),
            "rule r(x:2)\n  relu(x) => relu(z)": (":2:19: ", "'z' is no variable of this rule"),
            "rule r(a[2, 3], b[4, 5])\n  matmul(a, b) => matmul(a, b)": (":1:1: ", "ill-typed", "expected"),
            "rule r(x:2)\n  let s = relu(s)\n  s => relu(x)": (":2:16: ", "'s' is used in its own definition"),
            "rule r(x:2)\n  let s = relu(t)\n  let t = relu(x)\n  s => relu(x)": (":2:16: ", "'t' is used before line 3 defines it"),
            "rule r(x:2)\n  let s = split(x; axis=0)\n  s.third => x": (":3:5: ", "no output 'third'; expected one of first, second"),
            "rule r(x:2)\n  relu(x), x => relu(x)": (":2:17: ", "the source has 2 outputs, the target 1"),
            "rule r(x:2)\n  relu(x; axis=1) => x": (":2:11: ", "operator 'relu' has no parameter 'axis'"),
            "rule r(x:2)\n  relu(x) => relu(x)\nrule r(x:2)\n  relu(x) => relu(x)": (":3:1: ", "the rule of line 1 is called 'r', too"),
            "# nothing\n": (": ", "has no rules"),
        }
        for text, (place, *parts) in cases.items():
            path = self.write("bad.rules", text)
            self.assert_fails(self.import_file(path), 3, f"{path}{place}", *parts)


class Compared(Import, FusionRulesCase):
    """Databases written in both forms, read again, compared, and used for derivations."""

    sources = (ROOT / "tests" / "prove" / "proved.rules",)

    def test_a_database_exported_as_text_has_the_same_rules(self):
        text = self.folder / "known.rules"
        self.assert_works(rulemill("rules", "export", self.rules, "--format", "text", text))
        report = self.json("rules", "diff", self.rules, text)
        self.assertEqual((report["only_a"], report["only_b"]), ([], []))
        self.assertGreater(len(report["both"]), 40)
        again = self.json("rules", "import", text, "--out", self.folder / "again")
        self.assertEqual({entry["verdict"] for entry in again["rules"]}, {"proved"})

    def test_every_rule_of_three_operators_is_read_again_from_its_text(self):
        out, text = self.folder / "discovered", self.folder / "discovered.rules"
        profile = ROOT / "data" / "profiles" / "reference.toml"
        self.assert_works(rulemill("discover", "--profile", profile, "--max-ops", "3", "--out", out, "--progress", "off"))
        self.assert_works(rulemill("rules", "export", out, text))
        report = self.json("rules", "diff", out, text)
        self.assertEqual((report["only_a"], report["only_b"], report["ill_typed"]), ([], [], [0, 0]))
        self.assertGreater(len(report["both"]), 1000)
        cores = self.folder / "core.rules"
        self.assert_works(rulemill("rules", "export", out, cores, "--tier", "core"))
        again = self.json("rules", "import", cores, "--out", self.folder / "again")
        self.assertEqual({entry["verdict"] for entry in again["rules"]}, {"proved"})

    def test_rules_expressible_in_tasos_form_survive_a_roundtrip_and_the_rest_is_counted(self):
        path = self.folder / "known.pb"
        written = self.json("rules", "export", self.rules, "--format", "taso", path)
        self.assertGreater(written["written"], 20)
        reasons = {entry["reason"] for entry in written["skipped"]}
        self.assertIn("its condition or its shapes cannot be expressed", reasons)
        self.assertIn("an output is an input itself", reasons)
        again = self.json("rules", "import", path, "--out", self.folder / "again")
        self.assertEqual({entry["verdict"] for entry in again["rules"]}, {"proved"})
        report = self.json("rules", "diff", self.rules, path)
        self.assertEqual(len({pair[0] for pair in report["both"]}), written["written"])

    def test_rules_are_compared_up_to_renaming_and_orientation(self):
        a = self.write("a.rules", "rule one(x:2, y:2, z:2)\n  matmul(matmul(x, y), z) => matmul(x, matmul(y, z))\n"
                                  "rule two(x:2)\n  relu(relu(x)) => relu(x)\n")
        b = self.write("b.rules", "rule other(p:2, q:2, r:2)\n  matmul(p, matmul(q, r)) => matmul(matmul(p, q), r)\n"
                                  "rule three(x:4)\n  relu(relu(x)) => relu(x)\n")
        report = self.json("rules", "diff", a, b)
        self.assertEqual((report["both"], report["only_a"], report["only_b"]), ([["one", "other"]], ["two"], ["three"]))

    def test_consequences_are_derived_and_other_rules_are_not(self):
        axioms = ROOT / "tests" / "egraph" / "axioms.rules"
        process = rulemill("derive", "--from", axioms, ROOT / "tests" / "egraph" / "consequences.rules")
        self.assert_works(process)
        self.assertRegex(process.stdout, r"derived +\d+ rule instances?")
        other = self.write("other.rules", "rule other(x:2, y:2)\n  mul(x, y) => mul(mul(x, y), ones(; d=[?, ?]))\n"
                                          "rule false(x:2, y:2)\n  matmul(x, y) => matmul(matmul(x, y), y)\n")
        process = rulemill("derive", "--from", axioms, other)
        self.assert_fails(process, 1, "could not be derived from")
        self.assertRegex(process.stdout, r"not derived +saturated")

    def test_grouped_convolutions_in_a_row_are_derived_under_equations_of_products(self):
        """Filters of the first are channels of the second: q3·g2 = q·q2, in sizes of both (of three: two such equations)."""
        given = self.write("given.rules", """
rule out_of_the_image(x:4, k:4, s:0)
  scale(conv2d(x, k), s) => conv2d(scale(x, s), k)
rule into_the_kernel(x:4, k:4, s:0)
  scale(conv2d(x, k), s) => conv2d(x, scale(k, s))
rule sum_of_images(x:4, y:4, k:4)
  add(conv2d(x, k), conv2d(y, k)) => conv2d(add(x, y), k)
""")
        in_a_row = self.write("in_a_row.rules", """
rule from_one_to_the_other(x:4, k:4, l:4, s:0)
  conv2d(conv2d(x, scale(k, s)), l) => conv2d(conv2d(x, k), scale(l, s))
rule sum_before_two(x:4, y:4, k:4, l:4)
  add(conv2d(conv2d(x, k), l), conv2d(conv2d(y, k), l)) => conv2d(conv2d(add(x, y), k), l)
rule three_in_a_row(x:4, k:4, l:4, m:4, s:0)
  conv2d(conv2d(conv2d(x, scale(k, s)), l), m) => conv2d(conv2d(conv2d(x, k), l), scale(m, s))
""")
        process = rulemill("derive", "--from", given, in_a_row)
        self.assert_works(process)
        self.assertIn("3 rules: 3 derived", process.stdout)
        both = self.write("both.rules", given.read_text() + in_a_row.read_text())
        report = self.json("rules", "import", both, "--out", self.folder / "both.rmdb")
        self.assertEqual({rule["name"]: rule["tier"] for rule in report["rules"] if rule["tier"] == "derived"},
                         dict.fromkeys(("from_one_to_the_other", "sum_before_two", "three_in_a_row"), "derived"))
        self.assert_works(rulemill("check", self.folder / "both.rmdb"))
        self.assert_works(rulemill("rules", "export", self.folder / "both.rmdb", self.folder / "out.rules"))
        equations = re.findall(r"rule (\w+)[^\n]*\n[^\n]*\n[^\n]*\n  when ([^\n]*)", (self.folder / "out.rules").read_text())
        counts = {name: condition.count("=") for name, condition in equations}
        self.assertEqual((counts["from_one_to_the_other"], counts["three_in_a_row"]), (1, 2))

    def test_a_parameter_that_needs_a_value_cannot_be_symbolic(self):
        definitions = self.folder / "definitions"
        definitions.mkdir()
        (definitions / "chosen.op").write_text("operator chosen(x[m]; way: int = 1, how in {plain, turned})\n"
                                               "  let step = 1 if way = 1 else 0\n  y[i < m] = x[i * step]\n", encoding="utf-8")
        for parameter, part in (("way=s", "this cannot be made of 'chosen': "), ("how=s", "how=s is not one of plain, turned")):
            path = self.write("given.rules", f"rule r(x[m])\n  chosen(x; {parameter}) => x\n")
            self.assert_fails(self.import_file(path, "--definitions", definitions), 3, part, "given.rules:2:3")
        path = self.write("given.rules", "rule r(x[m])\n  chosen(x; way=s) => x\n")
        self.assert_fails(self.import_file(path, "--definitions", definitions), 3,
                          "chosen.op:2:16: 'way' is symbolic here, but the definition depends on its value")

    def test_a_database_derives_its_own_rules_in_any_form(self):
        self.assert_works(rulemill("derive", "--from", self.rules, self.rules))
        path = self.taso({"one": taso_form.KNOWN["product associates"]}, taso_form.ILL_TYPED)
        process = rulemill("derive", "--from", self.rules, path)
        self.assert_fails(process, 3, "rules.pb: rule 2", "ill-typed")
        self.assertRegex(process.stdout, r"t1 +derived +equals matmul_associates")
        self.assertRegex(process.stdout, r"t2 +ill-typed")


class ExitCodes(Import):
    """`rules import` and `operators check` agree on what is not proved."""

    CASES = {  # statement: verdict, exit code
        "(x[m, n])\n  relu(relu(x)) => relu(x)": ("proved", 0),
        "(x[m, n])\n  relu(x) => x": ("refuted", 1),
        "(x:4, k:4)\n  conv2d(x, k; pad=valid) => conv2d(x, k)": ("narrowed", 1),
        "(x[m, n])\n  add(mul(sin(x), sin(x)), mul(cos(x), cos(x))) => ones(; d=[m, n])": ("unknown", 1),
        "(a[2, 3], b[4, 5])\n  matmul(a, b) => matmul(a, b)": ("ill-typed", 3),
    }

    def test_a_statement_has_the_same_verdict_and_exit_code(self):
        for statement, (verdict, code) in self.CASES.items():
            with self.subTest(verdict):
                rules = self.write("given.rules", f"rule one{statement}\n")
                properties = self.write("given.properties", f"property one{statement}\n")
                for words, key in ((["rules", "import", rules, "--out", self.folder / "out"], "rules"),
                                   (["operators", "check", properties], "properties")):
                    self.assertEqual(self.json(*words, code=code)[key][0]["verdict"], verdict, words)

    def test_what_a_text_does_not_state_is_the_condition_of_a_narrowed_rule_in_every_report(self):
        text = (ROOT / "tests" / "prove" / "narrowed.rules").read_text(encoding="utf-8")
        stated = {name: (verdict, detail or "") for verdict, detail, name in re.findall(r"^# (\w+)(?:: (.*))?\nrule (\w+)", text, re.M)}
        rules, properties = self.write("given.rules", text), self.write("given.properties", text)
        for words, key in ((["rules", "import", rules, "--out", self.folder / "out"], "rules"),
                           (["operators", "check", properties], "properties")):
            entries = self.json(*words, code=1)[key]
            self.assertEqual({entry["name"]: (entry["verdict"], entry["detail"]) for entry in entries}, stated)
        for entry in self.json("derive", "--from", self.folder / "out", rules, code=1)["rules"]:
            if stated[entry["name"]][0] == "narrowed" and entry["result"] != "not derived":
                self.assertEqual((entry["result"], entry["detail"]), stated[entry["name"]])

    def test_narrowed_rules_that_are_kept_are_no_failure(self):
        rules = self.write("given.rules", "rule one(x:4, k:4)\n  conv2d(x, k; pad=valid) => conv2d(x, k)\n")
        self.assert_works(self.import_file(rules, "--keep-narrowed"))
        self.assert_fails(self.import_file(rules), 1, "1 of 1 rules are not proved")


class Stopping(Import):
    """Interrupting commands with long proofs."""

    def test_a_signal_ends_a_command_within_seconds_with_exit_code_4(self):
        properties = self.write("long.properties", re.sub("^rule ", "property ", LONG_RULES.read_text(encoding="utf-8"), flags=re.MULTILINE))
        commands = [["rules", "import", LONG_RULES, "--out", self.folder / "out"], ["operators", "check", properties]]
        for words in commands:
            for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
                process = subprocess.Popen([str(BINARY), *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                self.wait_until_busy(process)
                begin = time.monotonic()
                process.send_signal(number)
                errors = process.communicate(timeout=60)[1]
                self.assertEqual(process.returncode, 4, errors)
                self.assertLess(time.monotonic() - begin, 10)


if __name__ == "__main__":
    unittest.main()
