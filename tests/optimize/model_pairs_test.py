#!/usr/bin/env python3
"""Pairs of small models have the verdict that stands beside them, in both orders: those of equal/pairs.cases, and functions that people
write in two ways (equal/refactorings.cases, as PyTorch exports them), with the default rules."""

import concurrent.futures
import json
import unittest

from binary import ROOT, Case, rulemill

try:
    import onnx
except ImportError:
    onnx = None

FOLDER = ROOT / "tests" / "optimize" / "equal"
OPSETS = '<ir_version: 8, opset_import: ["" : 18]> agraph '


def cases(file="pairs.cases"):
    """Returns (name, verdict, first model, second model) of each case."""
    for text in (FOLDER / file).read_text(encoding="utf-8").split("\n= ")[1:]:
        title, _, models = text.partition("\n")
        name, _, verdict = title.rpartition(": ")
        before, _, after = models.partition("\n~\n")
        yield name, verdict, before.strip(), after.strip()


@unittest.skipIf(onnx is None, "SKIPPED: onnx is not installed (scripts/install-debian.sh)")
class Pairs(Case):
    def verdict(self, number, texts, opset):
        paths = [self.folder / f"{number}_{side}.onnx" for side in ("before", "after")]
        for path, text in zip(paths, texts):
            onnx.save(onnx.parser.parse_model(text if text.startswith("<") else OPSETS.replace("18", str(opset)) + text), path)
        report = self.folder / f"{number}.json"
        process = rulemill("equal", *paths, "--rules", self.folder / "rules", "--json", report)
        if not report.exists():
            return process.stderr
        found = json.loads(report.read_text(encoding="utf-8"))
        return found["verdict"] + (", rounded" if "rounded_constants" in found else "")

    def check(self, file, rules, opset):
        self.assert_works(rulemill("rules", "import", rules, "--out", self.folder / "rules"))
        pairs = [(name, verdict, texts) for name, verdict, *models in cases(file) for texts in (models, models[::-1])]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = pool.map(lambda job: self.verdict(job[0], job[1][2], opset), enumerate(pairs))
            expected = {"not equal": ("different", "not shown"), "not different": ("equal", "not shown")}
            wrong = [f"{name}\n{texts[0]}\n{actual}" for (name, verdict, texts), actual in zip(pairs, found)
                     if actual not in expected.get(verdict, (verdict,))]
        self.assertEqual(wrong, [], "\n\n".join(wrong))

    def test_each_pair_has_its_verdict_in_both_orders(self):
        self.check("pairs.cases", FOLDER / "fusions.rules", 18)

    def test_refactored_functions_have_their_verdict_in_both_orders(self):
        self.check("refactorings.cases", ROOT / "data" / "rules" / "models.rules", 20)


if __name__ == "__main__":
    unittest.main()
