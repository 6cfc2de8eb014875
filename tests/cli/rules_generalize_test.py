#!/usr/bin/env python3
"""`rulemill rules generalize`: rules for any rank and parameter, and their use by `check` and `optimize`."""

import unittest

from binary import Case, rulemill

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    onnx = None

RULES = """
rule sums_2(x:2, y:2, z:2)
  add(add(x, y), z) => add(x, add(y, z))
rule branches(x:4, k:4, l:4)
  add(conv2d(x, k), conv2d(x, l)) => conv2d(x, add(k, l))
rule identity(x[n, c, h, w])
  conv2d(x, identity_kernel(; kernel=3, c=c)) => x
"""


class Generalize(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "given.rules").write_text(RULES, encoding="utf-8")
        self.rules, self.general = self.folder / "rules.rmdb", self.folder / "general.rmdb"
        self.assert_works(rulemill("rules", "import", self.folder / "given.rules", "--out", self.rules))

    def generalize(self, *more):
        return self.json("rules", "generalize", self.rules, "--out", self.general, *more)

    def test_rules_of_one_rank_and_stride_are_generalized_and_all_certificates_pass(self):
        report = self.generalize()
        self.assertEqual((report["rules_considered"], report["any_rank"], report["any_parameter"]), (3, 1, 2))
        self.assertEqual(report["by_parameter"], {"kernel": 1, "stride": 1})
        rules = " ".join(rule["rule"] for rule in report["rules"])
        for part in ("conv2d(x, add(k, l); stride=stride)", "identity_kernel(; kernel=kernel, c=c)"):
            self.assertIn(part, rules)
        checked = self.json("check", self.general)
        self.assertEqual((checked["proved_from_definitions"], checked["findings"]), (3, []))
        # The text is complete: reading it again gives the same rules.
        self.assert_works(rulemill("rules", "export", self.general, self.folder / "general.rules"))
        text = (self.folder / "general.rules").read_text(encoding="utf-8")
        self.assertIn("[d...]", text)
        again = self.json("rules", "import", self.folder / "general.rules", "--out", self.folder / "again.rmdb")
        self.assertEqual(again["counts"]["proved"], 3)
        (self.folder / "claim.rules").write_text(
            "rule claim(x[m..., k], w[k, n])\n  relu(relu(matmul(x, w))) => relu(matmul(x, w))\n", encoding="utf-8")
        claim = self.json("rules", "import", self.folder / "claim.rules", "--out", self.folder / "claim.rmdb", code=1)
        self.assertEqual(claim["rules"][0]["verdict"], "unknown")
        self.assertIn("more than pass m... through", claim["rules"][0]["detail"])

    def test_original_rules_are_derived_from_their_general_forms(self):
        with (self.folder / "given.rules").open("a", encoding="utf-8") as given:
            given.write("rule sums_4(x:4, y:4, z:4)\n  add(add(x, y), z) => add(x, add(y, z))\n"
                        "rule swapped(x:4, y:4, z:4)\n  add(add(x, y), z) => add(add(x, z), y)\n")
        self.assert_works(rulemill("rules", "import", self.folder / "given.rules", "--out", self.rules))
        before = self.json("rules", "list", self.rules)["rules"]
        report = self.generalize("--keep-originals", "--include-derived")
        listed = self.json("rules", "list", self.general, "--sort", "gain", "--all")["rules"]
        folded = self.json("rules", "list", self.general)
        names = [rule["id"] for rule in folded["rules"]]
        self.assertIn("sums_2g", names)
        self.assertNotIn("sums_4", names)
        self.assertEqual(len(names) + folded["folded"] + folded["hidden"], len(listed))
        self.assertEqual(sum(rule["special_cases"] for rule in folded["rules"]), folded["folded"])
        self.assertRegex(rulemill("rules", "list", self.general).stdout, r"\+\d+ special cases?\n")
        self.assertEqual([rule["id"] for rule in listed if "cost" not in rule], [])
        tiers = {rule["id"]: rule["tier"] for rule in listed}
        core = [name for name, tier in tiers.items() if tier == "core"]
        self.assertEqual((len(core), report["core"], report["derived"]), (3, 3, len(tiers) - 3))
        self.assertTrue(all(name.endswith("g") for name in core), core)
        self.assertLessEqual({rule["id"] for rule in before}, set(tiers))
        checked = self.json("check", "--core-minimality", self.general)
        self.assertEqual((checked["findings"], checked["minimality"]["implied"]), ([], []))
        self.assertGreater(checked["minimality"]["specializations"], 2)
        shown = rulemill("rules", "show", self.general, "sums_4", "--certificate").stdout
        self.assertRegex(shown, r"; use sums_2g@\w+=4: ")

    def test_enum_parameters_are_generalized_where_each_value_is_proved(self):
        """Sums of convolutions hold for any padding, concatenations of filters for any activation; the size stays only with padding."""
        (self.folder / "given.rules").write_text(RULES + """
rule joined(x[n, c, h, w], k[f, c, r, s], l[e, c, r, s])
  concat(conv2d(x, k), conv2d(x, l); axis=1) => conv2d(x, concat(k, l; axis=0))
""", encoding="utf-8")
        self.assert_works(rulemill("rules", "import", self.folder / "given.rules", "--out", self.rules))
        without = self.generalize()
        report = self.generalize("--enum-values")
        self.assertEqual((without["any_enum_value"], report["any_enum_value"]), (0, 2))
        added = {rule["id"] for rule in report["rules"]} - {rule["id"] for rule in without["rules"]}
        self.assertEqual(added, {"branches_valid", "joined_valid", "joined_relu"})
        checked = self.json("check", "--core-minimality", self.general)
        self.assertEqual((checked["findings"], checked["minimality"]["implied"]), ([], []))

    def test_a_file_that_is_not_a_database_is_rejected(self):
        (self.folder / "broken.rmdb").write_bytes(b"no database")
        self.assert_fails(rulemill("rules", "generalize", self.folder / "broken.rmdb", "--out", self.general), 3, "broken.rmdb",
                          "is not a rule database")
        self.assertFalse(self.general.exists())

    @unittest.skipIf(onnx is None, "SKIPPED: the onnx package is not installed")
    def test_a_rule_found_at_stride_1_merges_branches_of_stride_3(self):
        chance = numpy.random.default_rng(1)
        weights = [numpy_helper.from_array(chance.standard_normal((4, 3, 3, 3)).astype(numpy.float32), name) for name in "kl"]
        nodes = [helper.make_node("Conv", ["x", name], [f"y{name}"], kernel_shape=[3, 3], strides=[3, 3], pads=[1, 1, 1, 1])
                 for name in "kl"] + [helper.make_node("Add", ["yk", "yl"], ["y"])]
        graph = helper.make_graph(nodes, "branches",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 31, 31])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 11, 11])], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        onnx.save(model, self.folder / "branches.onnx")

        def optimized(rules):
            return self.json("optimize", self.folder / "branches.onnx", "--rules", rules, "--out", self.folder / "out.onnx",
                             "--no-benchmark")

        self.assertFalse(optimized(self.rules)["changed"])
        self.generalize("--keep-originals")
        report = optimized(self.general)
        self.assertTrue(report["changed"])
        self.assertIn("@stride=3", report["fired"][0]["rule"])
        self.assertEqual([node.op_type for node in onnx.load(self.folder / "out.onnx").graph.node], ["Conv"])


if __name__ == "__main__":
    unittest.main()
