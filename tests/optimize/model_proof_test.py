#!/usr/bin/env python3
"""Proofs that two models are equal are followed by `rulemill check`; none holds for a model that was changed afterwards."""

import argparse
import shutil
import subprocess
import sys
import unittest

from binary import ROOT, FusionRulesCase, rulemill
from database_form import CERTIFICATE, RULE, DatabaseFile, checksum, fields, message, set_value, value_of

try:
    import numpy
    import onnx
    from onnx import helper
    sys.path.insert(0, str(ROOT / "tests" / "optimize" / "equal"))
    import planted
    from model_pairs_test import OPSETS, cases
except ImportError:
    onnx = None

ARGUMENTS = argparse.Namespace(mutations=6, seed=1)
# Field numbers of optimize/equal/proof/model_proof.proto.
BEFORE, AFTER, STEP, RULES_OF_PROOF = 2, 3, 6, 7
STEP_RULE, STEP_SIZE, SIZE_VALUE = 3, 5, 2


def term(value):
    """A value that is written as before.NAME or after.NAME."""
    model, name = value.split(".")
    return message([[2, message([[1, name.encode()], [2, int(model == "after")]])]])


def step(partner, variables=(), constants=(), value="after.y", rule=b"r", output=False):
    return [[1, term(value)], [2, term(partner)], [STEP_RULE, rule],
            *([4, message([[1, variable.encode()], [2, term(each)]])] for variable, each in dict(variables).items()),
            *([STEP_SIZE, message([[1, name], [SIZE_VALUE, size]])] for name, size in ((b"m", b"2"), (b"n", b"3"))),
            *([6, term(each)] for each in constants), *([[7, 1]] if output else [])]


def stored(**values):
    """Constants of a model: a number, or six."""
    return "<" + ", ".join(f"float[2,3] {name} = {{{', '.join(repr(float(each)) for each in numpy.broadcast_to(value, 6))}}}"
                           for name, value in values.items()) + "> "


def lemma(rule=b"r", term_of=None, **fields_of_step):
    """A step without a value: an instance of the rule, or a constant and its term."""
    given = step(term_of or "before.x", rule=rule, **fields_of_step)[1:]
    return [field for field in given if term_of or field[0] != 2]


@unittest.skipIf(onnx is None, "SKIPPED: onnx is not installed (scripts/install-debian.sh)")
class ModelProof(FusionRulesCase):
    sources = (*FusionRulesCase.sources, ROOT / "tests" / "optimize" / "equal" / "normalizations.rules")

    def setUp(self):
        super().setUp()
        self.before, self.after = self.folder / "before.onnx", self.folder / "after.onnx"
        self.proof = self.folder / "models.proof"

    def prove(self, before, after):
        """Saves both models; returns the output of `equal`, and whether a proof was written."""
        for path, model in ((self.before, before), (self.after, after)):
            onnx.save(model, path)
        self.proof.unlink(missing_ok=True)
        process = rulemill("equal", self.before, self.after, "--rules", self.rules, "--proof", self.proof)
        return process.stdout + process.stderr, self.proof.exists()

    def check(self):
        return rulemill("check", self.before, self.after, "--proof", self.proof)

    def edit(self, change):
        """Changes the fields of the proof, with a right checksum."""
        proof = DatabaseFile(self.proof)
        change(proof.parts)
        proof.save(self.proof)

    def optimized(self, seed):
        """A model, its result and their proof."""
        before = planted.ModelMaker(numpy.random.default_rng(seed)).model()
        onnx.save(before, self.before)
        self.assert_works(rulemill("optimize", self.before, "--rules", self.rules, "--out", self.after, "--no-benchmark",
                                   "--min-gain", "0", "--verifier", "definitions", "--proof", self.proof))
        return onnx.load(self.after)

    def test_every_pair_that_is_shown_has_a_proof_or_a_reason(self):
        without = {}
        for name, verdict, *texts in cases():
            if verdict != "equal":
                continue
            models = [onnx.parser.parse_model(text if text.startswith("<") else OPSETS + text) for text in texts]
            output, is_written = self.prove(*models)
            if is_written:
                process = self.check()
                self.assertEqual(process.returncode, 0, name + process.stderr)
                self.assertIn("equal for all inputs", process.stdout)
            else:
                self.assertIn("no proof is written: ", output)
                without[name] = output[output.index("no proof is written: "):].splitlines()[0]
        self.assertLessEqual(len(without), 8, without)

    def test_a_proof_holds_for_no_model_that_was_changed_after_it_was_written(self):
        changed = 0
        for seed in range(ARGUMENTS.seed, ARGUMENTS.seed + ARGUMENTS.mutations):
            after = self.optimized(seed)
            self.assertTrue(self.proof.exists(), seed)
            self.assert_works(self.check())
            mutated = planted.mutate(after, numpy.random.default_rng(seed))
            if mutated is None:
                continue
            onnx.save(mutated[0], self.after)
            self.assert_fails(self.check(), 3, "is a proof about another model than ")
            digest = b"xxh3-128:" + checksum(self.after.read_bytes())
            self.edit(lambda parts, digest=digest: set_value(parts, AFTER, digest))
            self.assertEqual(self.check().returncode, 3, f"seed {seed}, {mutated[1]}")
            changed += 1
        self.assertGreater(changed, ARGUMENTS.mutations // 2)

    def edit_step(self, parts, field, change):
        """Changes a field of the first step that has it."""
        for part in parts:
            step = fields(part[1]) if part[0] == STEP else []
            for inner in step:
                if inner[0] == field:
                    inner[1] = change(inner[1])
                    part[1] = message(step)
                    return
        raise AssertionError(f"no step has field {field}")

    def test_a_proof_whose_constants_take_too_long_is_refused_at_once(self):
        def pair(size):
            weight, names = numpy.eye(size, dtype=numpy.float32) / 3, [f"p{i}" for i in range(10)]
            products = [helper.make_node("MatMul", [a, "w"], [b]) for a, b in zip(["w", *names], names)]
            stored = numpy.linalg.matrix_power(weight.astype(float), len(names) + 1).astype(numpy.float32)
            for nodes, name, value in ((products, "w", weight), ([], "p9", stored)):
                graph = helper.make_graph([*nodes, helper.make_node("MatMul", ["x", "p9"], ["y"])], "powers",
                                          [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", size])],
                                          [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
                                          [onnx.numpy_helper.from_array(value, name)])
                yield helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        output, is_written = self.prove(*pair(4))
        self.assertTrue(is_written, output)
        self.assert_works(self.check())
        self.assertRegex(rulemill("info", self.proof).stdout, r"proof that two models are equal: 1 steps, ")
        for path, model in zip((self.before, self.after), pair(1200)):
            onnx.save(model, path)
        digests = [b"xxh3-128:" + checksum(path.read_bytes()) for path in (self.before, self.after)]
        self.edit(lambda parts: [set_value(parts, field, digest) for field, digest in zip((BEFORE, AFTER), digests)])
        self.assert_fails(self.check(), 3, "step 1 computes constants of more than 10^10 multiply-adds")

    def test_steps_that_say_something_else_are_refused(self):
        def other_size(value):
            inner = fields(value)
            set_value(inner, SIZE_VALUE, b"7")
            return message(inner)
        edits = [("no rule", lambda parts: self.edit_step(parts, STEP_RULE, lambda _: b"")),
                 ("an unknown rule", lambda parts: self.edit_step(parts, STEP_RULE, lambda _: b"s99")),
                 ("another size", lambda parts: self.edit_step(parts, STEP_SIZE, other_size)),
                 ("no steps", lambda parts: parts.__setitem__(slice(None), [part for part in parts if part[0] != STEP])),
                 ("the models swapped", lambda parts: self.swap_models(parts))]
        for name, change in edits:
            with self.subTest(name):
                self.optimized(3)
                self.assert_works(self.check())
                self.edit(change)
                self.assertEqual(self.check().returncode, 3)

    def write_proof(self, models, steps, rule):
        """Saves both models, with inputs x and z, and a proof of these steps, by a rule r."""
        text, folder = self.folder / "forged.rules", self.folder / "forged"
        text.write_text(f"rule r{rule}\n", encoding="utf-8")
        self.assert_works(rulemill("rules", "import", text, "--out", folder))
        for path, model in zip((self.before, self.after), models):
            stored, _, nodes = model.partition("> ") if model.startswith("<") else ("", "", model)
            onnx.save(onnx.parser.parse_model(f"{OPSETS}(float[2,3] x, float[2,3] z) => (float[2,3] y) {stored + '>' if stored else ''} {{ {nodes} }}"), path)
        digests = [b"xxh3-128:" + checksum(path.read_bytes()) for path in (self.before, self.after)]
        content = message([[1, 2], [BEFORE, digests[0]], [AFTER, digests[1]], *([STEP, message(step)] for step in steps),
                           [RULES_OF_PROOF, (folder / "rules.rmdb").read_bytes()]])
        self.proof.write_bytes(content + message([[100, checksum(content)]]))

    def test_true_rules_show_nothing_that_is_no_instance_of_them(self):
        difference = "(x[m, n], y[m, n])\n  sub(add(x, y), y) => x"
        weights = "<float[2,3] w = {1,2,3,4,5,6}, float[2,3] v = {9,8,7,6,5,4}, float[2,3] b = {1e9, 1e9, 1e9, 1e9, 1e9, 1e9}>"
        cases = [("a true step", 0, difference, ("s = Add(x, z) y = Sub(s, z)", "y = Identity(x)"), {"x": "x", "y": "z"}, ()),
                 ("another variable", 3, difference, ("s = Add(x, z) y = Sub(s, z)", "y = Identity(x)"), {"x": "z", "y": "x"}, ()),
                 ("a positive value is no exponential", 3, "(x[m, n])\n  exp(x) => positive(x)",
                  ("y = Sigmoid(x)", "s = Sigmoid(x) y = Exp(s)"), {"x": "y"}, ()),
                 ("rounding hides every difference", 3, "(x[m, n], z[m, n], w[m, n], b[m, n])\n"
                  "  add(mul(x, sub(add(w, b), b)), mul(z, b)) => add(mul(x, w), mul(z, b))",
                  tuple(f"{weights} p = Mul(x, {name}) q = Mul(z, b) y = Add(p, q)" for name in "wv"),
                  {name: name for name in "xzwb"}, ("v",))]
        numbers = ("(x[m, n])\n  scale(div_scalar(x, mul(two(), two())), mul(two(), mul(two(), two()))) => scale(x, two())")
        for name, code, s, t, after in (("numbers of both models in one term", 0, 4, 8, 2), ("another divisor", 3, 5, 8, 2),
                                        ("another factor", 3, 4, 9, 2), ("another result", 3, 4, 8, 3), ("8 for 4", 3, 8, 8, 2),
                                        ("nearly 8", 3, 4, 8.00001, 2), ("both exchanged", 3, 8, 4, 2)):
            bodies = (f"<float s = {{{s}}}, float t = {{{t}}}> p = Div(x, s) y = Mul(p, t)", f"<float r = {{{after}}}> y = Mul(x, r)")
            cases.append((name, code, numbers, bodies, {"x": "x"}, ("s", "t", "r")))
        for name, code, rule, models, variables, constants in cases:
            with self.subTest(name):
                where = [f"{'before' if each in 'st' else 'after'}.{each}" for each in constants]
                self.write_proof(models, [step("before.y", {key: f"before.{each}" for key, each in variables.items()}, where, output=True)], rule)
                self.assertEqual(self.check().returncode, code, self.check().stderr)

    def test_errors_of_constants_do_not_add_up(self):
        factors = {"k": numpy.float32(1.5001), "h": numpy.float32(1 / 3)}
        product = numpy.float32(float(factors["k"]) * float(factors["h"]))
        below = numpy.nextafter(product, numpy.float32(0))
        before, agree = stored(**factors) + "t = Mul(k, h) d = Sub(t, t) y = Mul(x, d)", {"value": "after.v", "rule": b""}
        term = "sub(add(sub(add(w, b), b), b), b)"
        through = f"(x[m, n], w[m, n], b[m, n], v[m, n])\n  mul(x, mul(b, sub({term}, w))) => mul(x, mul(b, sub(v, v)))"
        same = "(x[m, n])\n  neg(neg(x)) => x"
        cases = [
            ("a computed constant and a stored one", 0, (before, stored(v=product) + "d = Sub(v, v) y = Mul(x, d)"),
             [step("before.t", **agree)], same),
            ("one computed constant and two stored ones", 3, (before, stored(v=product, w=below) + "d = Sub(v, w) y = Mul(x, d)"),
             [step("before.t", **agree), step("before.t", value="after.w", rule=b"")], same),
            ("two computed constants and one stored one in two forms", 3,
             (stored(**factors, l=product / 0.75, m=0.75) + "p = Mul(k, h) q = Mul(l, m) d = Sub(p, q) y = Mul(x, d)",
              stored(n=-product, s=product) + "j = Neg(n) d = Sub(j, s) y = Mul(x, d)"),
             [step("before.p", value="after.j", rule=b""), step("before.q", value="after.s", rule=b"")], same),
            ("through a constant of the other model and back", 3,
             (stored(w=1, u=1.0002, b=1000) + "d = Sub(u, w) e = Mul(b, d) y = Mul(x, e)",
              stored(v=1.0001, b=1000) + "d = Sub(v, v) e = Mul(b, d) y = Mul(x, e)"),
             [step("before.y", {"x": "before.x", "w": "before.w", "b": "before.b", "v": "after.v"}, ["after.v", "before.u"], output=True)], through),
        ]
        for name, code, models, steps, rule in cases:
            with self.subTest(name):
                self.write_proof(models, steps, rule)
                self.assertEqual(self.check().returncode, code, self.check().stderr)

    def test_the_proof_of_a_result_is_composed_from_what_the_search_did(self):
        rules = self.folder / "models"
        self.assert_works(rulemill("rules", "import", ROOT / "data" / "rules" / "models.rules", "--out", rules))
        for name in ("acnet_block", "lora_layer"):
            model = ROOT / "data" / "models" / f"{name}.onnx"
            self.assert_works(rulemill("optimize", model, "--rules", rules, "--out", self.after, "--no-benchmark", "--proof", self.proof))
            steps = [fields(part[1]) for part in DatabaseFile(self.proof).parts if part[0] == STEP]
            self.assertGreater(len(steps), 20)
            self.assertTrue(all(part[0] != 1 for each in steps for part in each), "a step with a value is of a sweep")
            self.assert_works(rulemill("check", model, self.after, "--proof", self.proof))
        whole, refused = self.proof.read_bytes(), 0
        for number in range(0, len(steps), 4):
            self.edit(lambda parts, left=number: parts.remove([part for part in parts if part[0] == STEP][left]))
            code = rulemill("check", model, self.after, "--proof", self.proof).returncode
            self.assertIn(code, (0, 3))
            refused += code == 3
            self.proof.write_bytes(whole)
        self.assertGreater(refused, 3)
        self.edit(lambda parts: parts.__setitem__(slice(None), [part for part in parts if part[0] != STEP]))
        self.assert_fails(rulemill("check", model, self.after, "--proof", self.proof), 3, "does not show that output")

    def assert_searched(self, text, declared=()):
        """Optimizes a model; the proof must have steps of the search, none of a sweep."""
        model = onnx.parser.parse_model(OPSETS + text)
        model.graph.value_info.extend(helper.make_tensor_value_info(name, data_type, dims) for name, data_type, dims in declared)
        onnx.save(model, self.before)
        self.assert_works(rulemill("optimize", self.before, "--rules", self.rules, "--out", self.after, "--no-benchmark", "--min-gain", "0",
                                   "--verifier", "definitions", "--proof", self.proof))
        steps = [fields(part[1]) for part in DatabaseFile(self.proof).parts if part[0] == STEP]
        self.assertTrue(steps and all(part[0] != 1 for each in steps for part in each), "a step with a value is of a sweep")
        self.assert_works(self.check())

    def test_sizes_of_instances_may_be_computed_from_open_ones(self):
        self.assert_searched("""(float[n, 3, h, w] x, float s, float t) => (float[n, 2, i, j] y) <float[2, 3, 1, 1] k = {1, 2, 3, 4, 5, 6}>
            { c = Conv<strides = [2, 2]>(x, k) d = Mul(c, s) y = Mul(d, t) }""")

    def test_names_of_sizes_that_the_clean_up_forgets_are_not_those_of_a_proof(self):
        self.assert_searched("""(float[n, 3] x, float s, float t) => (float[2, m] y)
            { z = Identity(x) i = NonZero(z) k = Cast<to = 1>(i) a = Mul(k, s) y = Mul(a, t) }""",
                             [(name, data_type, [2, "kept"]) for name, data_type in (("i", 7), ("k", 1))])

    def test_a_gain_that_needs_a_node_twice_costs_no_other_gain(self):
        """The shape of c is read where only c determines the size, so that c cannot be replaced; u can."""
        self.assert_searched("""(float[n, 3] x, float[m, 3] z, float s, float t) => (float[k, 6] y, float[p, q] u)
            <float[1, 6] w = {1, 2, 3, 4, 5, 6}, int64[1] six = {6}>
            { a = Mul(x, s) b = Mul(a, t) c = Concat<axis = 1>(b, z) f = Shape<end = 1>(c) g = Concat<axis = 0>(f, six) e = Expand(w, g)
              y = Add(c, e) i = NonZero(y) j = Cast<to = 1>(i) v = Mul(j, s) u = Mul(v, t) }""")

    def test_what_rules_show_without_steps_is_shown_by_the_clean_up(self):
        rules = self.folder / "spread"
        (self.folder / "spread.rules").write_text("rule spread(x[n, d], s[])\n  add_row(x, scale(ones(; d=[d]), s)) => add_scalar(x, s)\n", encoding="utf-8")
        self.assert_works(rulemill("rules", "import", self.folder / "spread.rules", "--out", rules))
        text = "(float[n, 3] x, float[3, 1] w) => (float[n, 1] y) <float{} b = {{2}}> {{ c = MatMul(x, w) y = Add(c, b) }}"
        for path, shape in ((self.before, "[1]"), (self.after, "")):
            onnx.save(onnx.parser.parse_model(OPSETS + text.format(shape)), path)
        self.assert_works(rulemill("equal", self.before, self.after, "--rules", rules, "--proof", self.proof))
        self.assert_works(self.check())

    def test_lemmas_show_nothing_that_is_no_instance_or_no_term(self):
        product = numpy.float32(float(numpy.float32(1.5001)) * float(numpy.float32(1 / 3)))
        below = numpy.nextafter(product, numpy.float32(0))
        distributes = "(x[m, n], y[m, n], z[m, n])\n  add(mul(x, y), mul(x, z)) => mul(x, add(y, z))"
        two = "p = Mul(x, z) q = Mul(x, x) y = Add(p, q)", "s = Add(z, x) y = Mul(x, s)"
        folded = (stored(k=1.5001, h=numpy.float32(1 / 3)) + "t = Mul(x, k) y = Mul(t, h)", stored(v=product) + "y = Mul(x, v)")
        turned = "(x[m, n], k[m, n], h[m, n])\n  mul(mul(x, k), h) => mul(x, mul(k, h))"
        of = {name: f"before.{name}" for name in "xkh"}
        matrix = "<float[3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float[3] b = {1, 2, 3}> "
        reading = "(x[m, n], w[n, n], b[n])\n  add_row(matmul(x, w), b) => product_and_row(x, w, b)"
        constant = [[2, message([[1, b"mul(v0, v1)"], [2, message([[1, b"k"]])], [2, message([[1, b"h"]])]])], [6, term("after.v")]]
        twice = (stored(k=1.5001, h=numpy.float32(1 / 3)) + "t = Mul(x, k) y = Mul(t, h)",
                 stored(v=product, w=below) + "d = Sub(w, v) f = Add(v, d) y = Mul(x, f)")
        cases = [("a true lemma", 0, two, [lemma(variables={"x": "before.x", "y": "before.z", "z": "before.x"})], distributes),
                 ("another variable", 3, two, [lemma(variables={"x": "before.z", "y": "before.z", "z": "before.x"})], distributes),
                 ("a value of the second model alone", 3, two, [lemma(variables={"x": "before.x", "y": "before.z", "z": "after.s"})], distributes),
                 ("a variable without a value", 3, two, [lemma(variables={"x": "before.x", "y": "before.z"})], distributes),
                 ("a folded constant", 0, folded, [lemma(variables=of), constant], turned),
                 ("no term for it", 3, folded, [lemma(variables=of)], turned),
                 ("a stored constant is no other one", 3, (folded[0], stored(v=below - 1e-3) + "y = Mul(x, v)"), [lemma(variables=of), constant], turned),
                 ("a term for two constants", 3, twice, [lemma(variables=of), constant, [constant[0], [6, term("after.w")]]], turned),
                 *((f"a number that is {value!r}", code, (f"<float s = {{{value!r}}}> y = Mul(x, s)", "<float s = {0.5}> y = Mul(x, s)"),
                    [[[2, message([[1, b"half()"]])], [6, term(f"{model}.s")]] for model in ("before", "after")], "(x[m, n])\n  neg(neg(x)) => x")
                   for value, code in ((0.5, 0), (0.50000006, 3))),
                 *((f"a number that is {' and '.join(terms)}", code, ("<float s = {1}> y = Mul(x, s)", "<float s = {1}> y = Mul(x, s)"),
                    [[[2, message([[1, text.encode()]])], [6, term("before.s")]] for text in terms], "(x[m, n])\n  neg(neg(x)) => x")
                   for terms, code in ((["one()", "mul(two(), half())"], 0), (["one()", "add(one(), part_of_count(; n=100000000))"], 3),
                                       (["add(one(), part_of_count(; n=100000000))"], 3))),
                 ("a stored constant and its neighbour in the other model", 3,
                  tuple(stored(w=weight, b=0.3) + "p = Mul(x, w) y = Add(p, b)" for weight in (0.1, 0.10000001)),
                  [lemma(variables={"x": "before.w", "y": "before.b"}),
                   [[2, message([[1, b"sub(add(v0, v1), v1)"], [2, message([[1, b"w"]])], [2, message([[1, b"b"]])]])], [6, term("after.w")]]],
                  "(x[m, n], y[m, n])\n  sub(add(x, y), y) => x"),
                 *((name, code, (matrix + "p = MatMul(x, w) y = Add(p, b)", weights + f"y = Gemm({rows}, w, b)"),
                    [lemma(variables={"x": f"before.{of_x}", "w": "before.w", "b": "before.b"})] * count, reading)
                   for name, code, weights, rows, of_x, count in (
                       ("what the second model is read as", 0, matrix, "x", "x", 1), ("no reading", 3, matrix, "x", "x", 0),
                       ("a reading of another value", 3, matrix, "x", "z", 1), ("a product of another value", 3, matrix, "z", "x", 1),
                       ("a product with another matrix", 3, matrix.replace("8", "7"), "x", "x", 1))),
                 *((f"a constant that is {value}", code, (stored(k=1, o=divisor) + "d = Div(k, o) s = Add(x, d) y = Sub(s, d)", "y = Identity(x)"),
                    [lemma(variables={"x": "before.x", "y": "before.d"})], "(x[m, n], y[m, n])\n  sub(add(x, y), y) => x")
                   for value, divisor, code in (("a number", 1, 0), ("infinite", 0, 3))),
                 ("a term over both models", 3, folded, [lemma(variables=of), [[2, message([[1, b"mul(v0, v1)"], [2, message([[1, b"k"]])], [2, message([[1, b"v"], [2, 1]])]])], constant[1]]], turned)]
        for name, code, models, steps, rule in cases:
            with self.subTest(name):
                self.write_proof(models, steps, rule)
                self.assertEqual(self.check().returncode, code, self.check().stderr)

    def test_a_result_may_keep_what_a_constant_of_it_is_computed_from(self):
        def constant(name, text, *names):
            return [[2, message([[1, text.encode()], *([2, message([[1, each.removeprefix("after.").encode()], [2, int("." in each)]])] for each in names)])],
                    [6, term(name)]]
        k, h = numpy.float32(1.5001), numpy.float32(1 / 3)
        v = numpy.float32(float(k) * float(h))
        up, down = (numpy.nextafter(v, numpy.float32(to)) for to in (1, 0))
        beside = up if float(k) * float(h) > v else down
        rule = "(x[m, n], k[m, n], h[m, n])\n  mul(mul(x, k), h) => mul(x, mul(k, h))"
        whole = "t = Mul(x, k) p = Mul(t, h) u = Mul(z, k) q = Mul(u, h) y = Add(p, q)"
        half = "t = Mul(x, k) p = Mul(t, h) q = Mul(z, v) y = Add(p, q)"
        of = [lemma(variables={"x": "before.z", "k": "before.k", "h": "before.h"})]
        of_x = [lemma(variables={"x": "before.x", "k": "before.k", "h": "before.h"})]
        is_product, before, after = constant("after.v", "mul(v0, v1)", "k", "h"), stored(k=k, h=h) + whole, stored(k=k, h=h, v=v) + half
        inner, huge = "e = Sub(p, q) y = Mul(e, b)", 1e30
        # Two factors with one product when this is rounded.
        near = numpy.nextafter(k, numpy.float32(2))
        self.assertEqual(numpy.float32(float(near) * float(h)), v)
        cases = [
            ("the nearest number", 0, before, after, [*of, is_product]),
            ("the next larger one", 3, before, stored(k=k, h=h, v=up) + half, [*of, is_product]),
            ("the next smaller one", 3, before, stored(k=k, h=h, v=down) + half, [*of, is_product]),
            ("the next one for one element", 3, before, stored(k=k, h=h, v=[v, v, v, v, beside, v]) + half, [*of, is_product]),
            ("within errors, but of the second model alone", 0, before, stored(v=beside) + "p = Mul(x, v) q = Mul(z, v) y = Add(p, q)", [*of, *of_x, is_product]),
            ("a number that the first model stores, too", 3, stored(k=k, h=h, v=v) + whole.replace("Add(p, q)", "Add(p, s) s = Mul(q, v)"),
             stored(k=k, h=h, v=v) + half.replace("Add(p, q)", "Add(p, s) s = Mul(q, v)"), [*of, is_product]),
            ("a difference that the first model computes", 3, stored(k=k, h=h, v=v, b=huge) + f"t = Mul(x, k) p = Mul(t, h) q = Mul(x, v) {inner}",
             stored(k=k, h=h, v=v, b=huge) + f"p = Mul(x, v) q = Mul(x, v) {inner}", [*of_x, is_product]),
            ("two numbers for one product", 3, before, stored(k=k, h=h, v=v, w=beside) + half.replace("Mul(t, h)", "Mul(x, w)"),
             [*of, *of_x, is_product, constant("after.w", "mul(v0, v1)", "k", "h")]),
            ("a product of what the second model alone stores", 3, before, stored(k=k, h=h, g=near, v=v) + half.replace("Mul(x, k)", "Mul(x, g)"),
             [*of, constant("after.v", "mul(v0, v1)", "after.g", "h")]),
            ("a factor that only the second model stores", 3, before, stored(g=near, h=h, v=v) + half.replace("Mul(x, k)", "Mul(x, g)"), [*of, is_product]),
            ("a neighbour read as what it is not rounded from", 3, before, stored(k=k, h=h, g=near, v=v) + half.replace("Mul(x, k)", "Mul(x, g)"),
             [*of, is_product, constant("after.g", "sub(add(v0, v1), v1)", "k", "h")]),
            ("one number for two products", 3, stored(k=k, g=near, h=h, b=huge) + f"t = Mul(x, k) p = Mul(t, h) u = Mul(x, g) q = Mul(u, h) {inner}",
             stored(k=k, g=near, h=h, v=v, b=huge) + f"p = Mul(x, v) q = Mul(x, v) {inner}",
             [*of_x, lemma(variables={"x": "before.x", "k": "before.g", "h": "before.h"}), is_product, constant("after.v", "mul(v0, v1)", "g", "h")]),
            ("no instance", 3, before, after, [is_product]),
            ("an instance of another value", 3, before, after, [*of_x, is_product]),
            ("no term for it", 3, before, after, of),
            ("a term over both models", 3, before, after, [*of, constant("after.v", "mul(v0, v1)", "k", "after.h"), constant("after.v", "add(sub(v0, v1), v1)", "after.v", "h")]),
            ("another term with this number", 3, before, after, [*of, constant("after.v", "add(mul(v0, v1), sub(v0, v0))", "k", "k")]),
            ("two terms that float64 does not tell apart", 3,
             stored(k=3, e=1e-20, b=1e20) + f"r = Reciprocal(k) s = Add(r, e) p = Mul(x, r) q = Mul(x, s) {inner}",
             stored(v=numpy.float32(1 / 3), b=1e20) + f"p = Mul(x, v) q = Mul(x, v) {inner}",
             [constant("after.v", "recip(v0)", "k"), constant("after.v", "add(recip(v0), v1)", "k", "e")]),
        ]
        cases = [(*case, rule) for case in cases]
        third, sums = numpy.float32(1 / 3), "(x[m, n])\n  add(x, scale(x, part_of_count(; n=3))) => scale(x, add(one(), part_of_count(; n=3)))"
        scaled, four = "<float h = {%r}> t = Mul(x, h) y = Add(x, t)" % float(third), numpy.float32(4 / 3)
        is_third, is_sum = constant("before.h", "part_of_count(; n=3)"), constant("after.v", "add(one(), part_of_count(; n=3))")
        for name, code, value, first, steps in (
                ("rounded from a term of operators", 0, four, scaled, [lemma(variables={"x": "before.x"}), is_third, is_sum]),
                ("next to a term of operators", 3, numpy.nextafter(four, numpy.float32(2)), scaled, [lemma(variables={"x": "before.x"}), is_third, is_sum]),
                ("a term of operators that the first model stores", 3, four,
                 scaled.replace("<", "<float v = {%r}, " % float(four)).replace("y =", "s = Mul(z, v) u =") + " y = Add(u, s)",
                 [lemma(variables={"x": "before.x"}), is_third, is_sum]),
                ("two terms of operators", 3, four, scaled, [lemma(variables={"x": "before.x"}), is_third, is_sum,
                                                             constant("after.v", "mul(one(), add(one(), part_of_count(; n=3)))")])):
            second = "u = Mul(x, v) s = Mul(z, v) y = Add(u, s)" if "Mul(z, v)" in first else "y = Mul(x, v)"
            cases.append((name, code, first, f"<float v = {{{float(value)!r}}}> {second}", steps, sums))
        for name, code, first, second, steps, rule in cases:
            with self.subTest(name):
                self.write_proof((first, second), steps, rule)
                self.assertEqual(self.check().returncode, code, self.check().stderr)

    def test_a_term_with_large_errors_hides_no_difference(self):
        rule = "(x[m, n], w[m, n], b[m, n])\n  mul(x, sub(add(w, b), b)) => mul(x, w)"
        near, mixed = numpy.float32(1.05), [1e6] + [1.05] * 5
        for name, code, w, v, b in (("the number itself", 0, near, near, 4096), ("another digit", 3, near, 1.0503, 4096),
                                    ("another sign beside a large element", 3, mixed, [1e6] + [-1.05] * 5, 4e7),
                                    ("what is lost here, too", 3, [1e12] + [1.05] * 5, [1e12] + [2] * 5, 1e16)):
            with self.subTest(name):
                models = [stored(**{each: value, "q": b}) + f"p = Mul(x, {each}) u = Mul(z, q) y = Add(p, u)" for each, value in (("w", w), ("v", v))]
                variables = {"x": "before.x", "w": "before.w", "b": "before.q"}
                self.write_proof(models, [step("before.p", variables, ["after.v"], value="after.p")], rule)
                self.assertEqual(self.check().returncode, code, self.check().stderr)

    def test_what_a_rule_drops_is_defined_wherever_the_first_model_is(self):
        rule = "(x[m, n], y[m, n])\n  sub(add(x, y), y) => x"
        whole, part = "d = {0} t = Add(x, d) y = Sub(t, d)", "y = Identity(x)"
        of = {"x": "before.x", "y": "before.d"}
        outputs = [step("before.y", {**of, "y": f"{model}.d"}, output=True) for model in ("before", "after")]
        wide = f"wherever {self.before} is defined"
        both = ("\nrule q(x[m, n], y[m, k])\n  split(concat(x, y; axis=1); axis=1, at=n).first, split(concat(x, y; axis=1); axis=1, at=n).second => x, y")
        for name, code, models, steps, claim in (
                ("an exponential that the first model computes", 0, (whole.format("Exp(z)"), part), outputs[:1], "for all inputs, as"),
                ("a logarithm that the first model computes", 0, (whole.format("Log(z)"), part), outputs[:1], wide),
                ("the same as a lemma", 0, (whole.format("Log(z)"), part), [lemma(variables=of)], wide),
                ("a logarithm that both compute", 0, (whole.format("Log(z)"), "d = Log(z) t = Add(x, d) y = Sub(t, d)"), outputs[:1], "wherever they are defined"),
                ("an exponential that the second model computes", 0, (part, whole.format("Exp(z)")), outputs[1:], "for all inputs, as"),
                ("a logarithm that the second model computes", 3, (part, whole.format("Log(z)")), outputs[1:], ""),
                *((f"two outputs of which one has the {function}", code,
                   (part, f"<int64[2] s = {{3, 3}}> d = {function.capitalize()}(x) c = Concat<axis = 1>(x, d) y, r = Split<axis = 1>(c, s)"),
                   [lemma(rule=b"q", variables={"x": "before.x"}) + [[4, message([[1, b"y"], [2, message(
                       [[1, f"{function}(v0)".encode()], [2, message([[1, b"x"]])]])]])], [STEP_SIZE, message([[1, b"k"], [SIZE_VALUE, b"3"]])]]], "for all inputs" if code == 0 else "")
                  for function, code in (("exp", 0), ("log", 3)))):
            with self.subTest(name):
                self.write_proof(models, steps, rule + both)
                process = self.check()
                self.assertEqual(process.returncode, code, process.stderr)
                self.assertIn(claim, process.stdout)

    def test_rules_with_terms_in_common_are_valid_in_any_order(self):
        sums, maxima = "()\n  add({}) => count(; n=b)", "()\n  relu(count(; n={0})) => count(; n={0})"
        of_both = ", ".join(counts := ["count(; n=5)", "count(; n=b - 5)"])
        for first, second in ((sums.format(of_both), maxima.format("b - 5")), (maxima.format("b - 5"), sums.format(of_both)),
                              (sums.format(", ".join(reversed(counts))), maxima.format("5"))):
            with self.subTest(first):
                self.write_proof(["y = Relu(x)"] * 2, [], f"{first}\nrule q{second}")
                self.assert_works(self.check())

    def swap_models(self, parts):
        before, after = value_of(parts, BEFORE), value_of(parts, AFTER)
        set_value(parts, BEFORE, after)
        set_value(parts, AFTER, before)

    def test_a_rule_whose_certificate_proves_another_one_is_refused(self):
        self.optimized(3)

        def swap_certificates(parts):
            rules = self.folder / "proof.rmdb"
            rules.write_bytes(value_of(parts, RULES_OF_PROOF))
            database = DatabaseFile(rules)
            database.edit(RULE, lambda rule: set_value(rule, CERTIFICATE, b"\x08\x01\x12\x05false"))
            database.save(rules)
            set_value(parts, RULES_OF_PROOF, rules.read_bytes())
        self.edit(swap_certificates)
        self.assert_fails(self.check(), 3, "is invalid")

    def test_damaged_files_and_wrong_operands_are_refused(self):
        self.optimized(3)
        whole = self.proof.read_bytes()
        for data in (b"", whole[:-1], whole[:len(whole) // 2], b"\0" * 100, whole[:40] + b"!" + whole[41:], self.before.read_bytes()):
            self.proof.write_bytes(data)
            self.assertEqual(self.check().returncode, 3)
        self.assert_fails(rulemill("check", self.before, self.after), 2, "--proof")
        self.assert_fails(rulemill("check", self.before, "--proof", self.proof), 2, "two models")

    @unittest.skipIf(shutil.which("cvc5") is None, "SKIPPED: cvc5 is not installed (scripts/install-debian.sh)")
    def test_the_independent_checker_accepts_the_rules_of_a_proof(self):
        self.optimized(3)
        rules = self.folder / "proof.rmdb"
        rules.write_bytes(value_of(fields(self.proof.read_bytes()), RULES_OF_PROOF))
        checked = subprocess.run([sys.executable, str(ROOT / "tests/independent_checker/checker.py"), str(rules)], cwd=ROOT,
                                 capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertIn(" 0 rejected", checked.stdout)


if __name__ == "__main__":
    PARSER = argparse.ArgumentParser()
    PARSER.add_argument("--mutations", type=int, default=ARGUMENTS.mutations)
    PARSER.add_argument("--seed", type=int, default=ARGUMENTS.seed)
    ARGUMENTS, rest = PARSER.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
