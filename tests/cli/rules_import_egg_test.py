#!/usr/bin/env python3
"""Rules in the forms of egg and egglog (`rules import FILE.egg`): patterns, types, conditions, what is unreadable, and programs that
`rules export --format egglog` wrote."""

import random
import re
import unittest

from binary import ROOT, Case, rulemill

TESTS = ROOT / "tests" / "cli"
# A rule of each form: what the database has of it.
FORMS = {
    "(rewrite (matmul ?a (matmul ?b ?c)) (matmul (matmul ?a ?b) ?c))":
        "a[d..., m, m2], b[d..., m2, k], c[d..., k, n] matmul(a, matmul(b, c)) => matmul(matmul(a, b), c)",
    "(birewrite (relu x) (relu (relu x)))": "x[d...] relu(x) => relu(relu(x))",
    "(birewrite ?x (concat (first (split ?x 1 ?n)) (second (split ?x 1 ?n)) 1))":
        "x[d, d2, e...] x => concat(split(x; axis=1, at=n).first, split(x; axis=1, at=n).second; axis=1) when n < d2",
    'rw!("twice"; "(scale (scale ?x ?s) ?t)" => "(scale ?x (mul ?s ?t))"),': "x[d...], s[], t[] scale(scale(x, s), t) => scale(x, mul(s, t))",
    "turn: (transpose (transpose ?x 1_0) (1 0)) => ?x": "x[d, d2] transpose(transpose(x; perm=[1,0]); perm=[1,0]) => x",
    '"in quotes": (neg (neg ?x)) <=> ?x': "x[d...] neg(neg(x)) => x",
    "(relu (concat 0 ?x ?y))=>(concat 0 (relu ?x) (relu ?y))":
        "x[d, f...], y[e, f...] relu(concat(x, y; axis=0)) => concat(relu(x), relu(y); axis=0)",
    "(rewrite (relu (conv2d ?x ?k :stride ?s)) (conv2d ?s same relu ?x ?k))":
        "x[n, g*q, h, w], k[q*q2, g, r, s2] relu(conv2d(x, k; stride=s)) => conv2d(x, k; act=relu, stride=s)",
    "(rewrite (matmul ?x ?y) (matmul ?x ?y) :when ((shape2 ?x m k) (= k (* 2 m))))": "x[m, 2*m], y[2*m, d2] matmul(x, y) => matmul(x, y)",
    "(rule ((= a (matmul x y)) (= b (matmul x z))) "
    "((let s (split (matmul x (concat y z 1)) 1)) (union a (first s)) (union b (second s))) :name \"merge\")":
        "x[m, k], y[k, n], z[k, n2] matmul(x, y), matmul(x, z) => split(matmul(x, concat(y, z; axis=1)); axis=1, at=n).first, "
        "split(matmul(x, concat(y, z; axis=1)); axis=1, at=n).second",
    "(rewrite (relu-2 ?x) (relu-2 (relu-2 ?x)))": "x[d, d2] relu(x) => relu(relu(x))",
    "(rewrite (avg_pool-4-pad.valid ?x 3 2) (avg_pool ?x 3 2 valid))":
        "x[n, c, h, w] avg_pool(x; kernel=3, pad=valid, stride=2) => avg_pool(x; kernel=3, pad=valid, stride=2)",
}
# Unreadable texts: position and message.
UNREADABLE = {
    "(rewrite (matmull ?a ?b) ?a)": ("1:10", "unknown operator 'matmull'; did you mean 'matmul'?"),
    "r: (relu (matmul ?a)) => ?a": ("1:10", "operator 'matmul' takes 2 tensors, found 1"),
    "(rewrite (relu ?x) (add ?x ?y))": ("1:1", "the target has the variable y, which the source lacks"),
    "(rewrite (relu ?x) (relu ?x 1))": ("1:29", "operator 'relu' has no parameter for 1"),
    "(rewrite (relu ?x) (transpose ?x 1 0 2 3))": ("1:36", "expected a word, found 0"),
    "(rewrite (conv2d ?x ?k)\n  (conv2d ?x ?k :pad other))": ("2:3", "operator 'conv2d': pad=other is not one of same, valid"),
    "(rewrite (relu ?x) (relu ?x :axis 1))": ("1:29", "operator 'relu' has no parameter 'axis'"),
    "(rewrite (relu ?x) (concat ?x ?x :axis m))": ("1:40", "expected a number, found m"),
    "(rewrite (relu ?x) (concat ?x ?x :axis 0 :axis 1))": ("1:48", "parameter 'axis' has two values"),
    "(rewrite (relu ?x) (scale ?x 2.0))": ("1:30", "expected a variable or a term, found 2.0"),
    "(rewrite (scale ?x (matmul ?a ?b)) ?x)": ("1:10", "inputs of rank (0, 2) do not fit"),
    "(rewrite (relu-2 (relu-3 ?x)) ?x)": ("1:10", "expected inputs of ranks 2, found 3"),
    "(rewrite (relu-2-axis.1 ?x) ?x)": ("1:10", "operator 'relu' has no parameter 'axis'"),
    "(rewrite (relu ?x) ?x :when ((is_positive ?x)))": ("1:30", "expected a condition on sizes"),
    "(rewrite (relu ?x) ?x :when ((= m (foo 2))))": ("1:35", "expected a size"),
    "(rewrite (relu ?x) ?x :when ((shape2 ?x m)))": ("1:30", "expected a tensor and 2 sizes after shape2"),
    "(rewrite (relu ?x) ?x :if 1)": ("1:23", "expected :when (FACT…)"),
    'rw!("r"; "(relu ?x)" => "?x" if is_positive("?x"))': ("1:30", "a condition in Rust cannot be read"),
    'rw!("r"; "(relu ?x) ?y" => "?x")': ("1:21", "expected the end of the pattern"),
    "(rule ((= a (relu a))) ((union a (relu a))))": ("1:19", "a occurs in its own pattern"),
    "(rewrite (relu ?x))": ("1:1", "expected two patterns after rewrite"),
    "(rewite (relu ?x) ?x)": ("1:1", "expected (rewrite …), (birewrite …)"),
    "r: (relu ?x) (relu ?x)": ("1:14", "expected => or <=> after the source"),
    "(rewrite (relu ?x) ?x": ("1:1", "this parenthesis is not closed"),
    'rw!("r; "(relu ?x)" => "?x")': ("1:10", "expected ; after the rule's name"),
    "(rewrite (first ?x) ?x)": ("1:10", "unknown operator 'first'"),
    "(" * 1200: ("1:1001", "nested too deeply: more than 1000 parentheses"),
    "(rewrite (relu \x01) ?x)": ("1:16", "expected an expression, found '?'"),
}
DAMAGE = ("(rewrite ", "(birewrite ", "(rule (", " :when (", " :name ", 'rw!("r"; ', "=>", "<=>", "(union ", "(let ", "(= ", "(shape2 ", "(matmul ",
          "(conv2d ", "(split ", "(first ", "(ones)", "(/ n 0)", "1_0", "(1 0)", "relu-2", "?x", '"', ";", ")", "(", "\x00", "ü", "-", "")
GOOD = "\n(rewrite (relu (relu ?x)) (relu ?x))\n"


class Egg(Case):
    def write(self, text, name="given.egg"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def import_text(self, text, code=0):
        return self.json("rules", "import", self.write(text), "--out", self.folder / "out.rmdb", code=code)["rules"]

    def test_each_form_is_read_in_its_most_general_type(self):
        for number, (text, expected) in enumerate(FORMS.items()):
            with self.subTest(text):
                rules = self.import_text(f"; {number}\n{text}\n")
                self.assertEqual([rule["verdict"] for rule in rules], ["proved"])
                found = re.sub(r"^rule \w+\(|\)(?=\n)", "", " ".join(rules[0]["rule"].split()).replace(") ", " ", 1))
                self.assertEqual(re.sub(r"\bat\d+", "at", found), expected)

    def test_names_are_those_of_the_file_or_of_the_line(self):
        text = 'a-b: (relu ?x) => (relu ?x)\n(rewrite (relu ?x) (relu ?x) :name "c")\nrw!("d.e"; "(relu ?x)" => "(relu ?x)")\n\n(relu ?x)=>(relu ?x)\n'
        self.assertEqual([rule["name"] for rule in self.import_text(text)], ["a_b", "c", "d_e", "line_5"])

    def test_a_rule_that_fits_in_several_ways_is_read_in_each(self):
        rules = self.import_text("sums: (add (concat ?a ?b 0) ?c) => (add ?c (concat ?a ?b 0))\nswapped: (matmul ?a ?b) => (matmul ?b ?a)", 1)
        self.assertEqual([(rule["name"], rule["verdict"]) for rule in rules],
                         [("sums", "proved"), *((f"swapped_{number}", "refuted") for number in (1, 2, 3))])
        definitions = self.folder / "definitions"
        definitions.mkdir()
        (definitions / "two.op").write_text("operator take(a[m], b[n])\n  y[i < m] = a[i]\n"
                                            "operator row(x[m, n])\n  y[i < m] = sum(j < n) x[i, j]\n"
                                            "operator each(x[d...])\n  y[i... < d...] = x[i...]\n", encoding="utf-8")
        report = self.json("rules", "import", self.write("r: (each (row ?x)) => (row ?x)\ns: (take ?x (each ?y)) => ?x"),
                           "--definitions", definitions, "--out", self.folder / "out.rmdb")
        self.assertEqual([rule["rule"].split("(")[1].split(")")[0] for rule in report["rules"]], ["x[m, n]", "x[m], y[d]"])

    def test_a_bad_rule_is_named_with_its_place_and_the_others_are_kept(self):
        for text, (position, message) in UNREADABLE.items():
            with self.subTest(text):
                path = self.write(text + GOOD)
                process = rulemill("rules", "import", path, "--out", self.folder / "out.rmdb")
                self.assert_fails(process, 3, f"{path}:{position}: rule ", " is unreadable: ", message)
                self.assertRegex(process.stdout, r"line_\d+ +proved")

    def test_damaged_rules_are_read_or_unreadable(self):
        """`rules diff` counts unreadable and ill-typed rules; a failure of the reader would be an error."""
        numbers = random.Random(1)
        lines = [text.replace("\n", " ") for text in [*FORMS, *UNREADABLE] if len(text) < 200]
        lines += (TESTS / "tensat.egg").read_text(encoding="utf-8").split("\n")[3:-1]
        damaged = []
        for line in numbers.choices(lines, k=400):
            for _ in range(numbers.randint(1, 3)):
                at = numbers.randrange(len(line) + 1)
                line = line[:at] + numbers.choice(DAMAGE) + line[at + numbers.randint(0, 6):]
            damaged.append(line)
        path = self.write("\n".join(damaged) + GOOD)
        report = self.json("rules", "diff", path, path)
        self.assertGreater(report["ill_typed"][0], 200)
        self.assertTrue(report["both"])

    def test_without_a_python_that_answers_there_is_one_line(self):
        for python, message in (("", "needs Python, and none was found"), ("/bin/true", "its helper process failed: exit code 0")):
            process = rulemill("rules", "import", self.write(GOOD), "--out", self.folder / "out.rmdb", env={"RULEMILL_PYTHON": python})
            self.assert_fails(process, 1, "format egg: " + message)

    def test_commands_without_rules_are_skipped(self):
        text = "(datatype Tensor (relu Tensor))\n(relation shape2 (Tensor i64 i64))\n(let $x (variable \"x\"))\n(shape2 $x 8 16)\n" \
               "(rule ((= e (relu t0)) (shape2 t0 s0 s1))\n  ((shape2 e s0 s1)))\n(run 5)\n(check (= $x $x))"
        self.assertEqual([rule["name"] for rule in self.import_text(text + GOOD)], ["line_9"])
        path = self.write(text)
        self.assert_fails(rulemill("rules", "import", path, "--out", self.folder / "out"), 3, f"{path}: has no rules; expected (rewrite …)")

    def test_many_inputs_are_read_if_their_ranks_depend_on_each_other(self):
        inputs = [f"?x{i}" for i in range(40)]
        terms = "".join(f"(add {x} " for x in inputs[:-1]) + inputs[-1] + ")" * 39
        loose = "".join(f"(copy_like {x} " for x in inputs[:-1]) + inputs[-1] + ")" * 39
        path = self.write(f"tied: {terms} => {terms}\nloose: {loose} => {loose}\n")
        process = rulemill("rules", "import", path, "--out", self.folder / "out.rmdb")
        self.assert_fails(process, 3, f"{path}:2:1: rule loose is unreadable: too many ranks of its inputs")
        self.assertRegex(process.stdout, r"tied +proved")

    def test_the_rules_of_tensat_are_proved(self):
        rules = self.json("rules", "import", TESTS / "tensat.egg", "--out", self.folder / "tensat.rmdb")["rules"]
        self.assertEqual({rule["verdict"] for rule in rules}, {"proved"})
        count = (TESTS / "tensat.egg").read_text().count("=>")
        self.assertEqual(len({re.sub(r"^(line_\d+).*", r"\1", rule["name"]) for rule in rules}), count)
        self.assert_works(rulemill("check", self.folder / "tensat.rmdb"))
        self.assert_works(rulemill("derive", "--from", self.folder / "tensat.rmdb", TESTS / "tensat.egg"))

    def test_an_exported_program_is_read_back(self):
        database, program, again = (self.folder / name for name in ("rules.rmdb", "rules.egg", "again.rmdb"))
        self.assert_works(rulemill("rules", "import", TESTS / "exported.rules", "--out", database))
        self.assert_works(rulemill("rules", "export", database, program, "--format", "egglog"))
        rules = self.json("rules", "import", program, "--out", again)["rules"]
        self.assertEqual({rule["verdict"] for rule in rules}, {"proved"})
        self.assertGreaterEqual(len(rules), program.read_text().count("(union "))
        self.assert_works(rulemill("derive", "--from", database, program))
        self.assert_works(rulemill("derive", "--from", again, TESTS / "exported.rules"))


if __name__ == "__main__":
    unittest.main()
