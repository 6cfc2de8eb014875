#!/usr/bin/env python3
"""Pairs of small models (equal/pairs.cases) have the verdict that stands beside them, in both orders."""

import concurrent.futures
import json
import unittest

from binary import ROOT, Case, rulemill

try:
    import onnx
except ImportError:
    onnx = None

CASES = ROOT / "tests" / "optimize" / "equal" / "pairs.cases"
RULES = ROOT / "tests" / "optimize" / "equal" / "fusions.rules"
OPSETS = '<ir_version: 8, opset_import: ["" : 18]> agraph '


def cases():
    """Returns (name, verdict, first model, second model) of each case."""
    for text in CASES.read_text(encoding="utf-8").split("\n= ")[1:]:
        title, _, models = text.partition("\n")
        name, _, verdict = title.rpartition(": ")
        before, _, after = models.partition("\n~\n")
        yield name, verdict, before.strip(), after.strip()


@unittest.skipIf(onnx is None, "SKIPPED: onnx is not installed (scripts/install-debian.sh)")
class Pairs(Case):
    def setUp(self):
        super().setUp()
        self.assert_works(rulemill("rules", "import", RULES, "--out", self.folder / "rules"))

    def verdict(self, number, texts):
        paths = [self.folder / f"{number}_{side}.onnx" for side in ("before", "after")]
        for path, text in zip(paths, texts):
            onnx.save(onnx.parser.parse_model(text if text.startswith("<") else OPSETS + text), path)
        report = self.folder / f"{number}.json"
        process = rulemill("equal", *paths, "--rules", self.folder / "rules", "--json", report)
        return json.loads(report.read_text(encoding="utf-8"))["verdict"] if report.exists() else process.stderr

    def test_each_pair_has_its_verdict_in_both_orders(self):
        pairs = [(name, verdict, texts) for name, verdict, *models in cases() for texts in (models, models[::-1])]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = pool.map(lambda job: self.verdict(job[0], job[1][2]), enumerate(pairs))
            expected = {"not equal": ("different", "not shown"), "not different": ("equal", "not shown")}
            wrong = [f"{name}\n{texts[0]}\n{actual}" for (name, verdict, texts), actual in zip(pairs, found)
                     if actual not in expected.get(verdict, (verdict,))]
        self.assertEqual(wrong, [], "\n\n".join(wrong))


if __name__ == "__main__":
    unittest.main()
