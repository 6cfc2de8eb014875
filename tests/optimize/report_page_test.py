#!/usr/bin/env python3
"""The page that `optimize --report` writes: what was measured comes first, what the cost model estimates second."""

import unittest

from binary import ROOT, QuickstartCase, rulemill
from browser import Browser, needs_browser
from page_case import PageCase, data_of

MODEL = ROOT / "data" / "models" / "acnet_block.onnx"


class ReportPage(QuickstartCase, PageCase):
    def write(self, *options):
        page = self.folder / "page.html"
        self.report = self.json("optimize", MODEL, "--rules", self.rules, "--report", page, *options)
        return page

    def measured(self):
        """A page of a result that is 1.6 times as fast, by a command in place of a runtime."""
        command = self.folder / "times"
        command.write_text(f"#!/bin/sh\ncmp -s \"$1\" '{MODEL}' && echo 8 || echo 5\n")
        command.chmod(0o755)
        return self.write("--benchmark-command", command, "--out", self.folder / "out.onnx")

    def test_the_headline_is_measured_and_the_estimate_says_that_it_is_one(self):
        data = data_of(self.measured())
        self.assertEqual(data["headline"]["text"], "1.60 times as fast, measured")
        self.assertIn("8 → 5 ms", data["headline"]["detail"])
        cost = self.report["cost_seconds"]
        self.assertIn(f"{cost['before'] / cost['after']:.2f} times as fast", data["estimate"])
        self.assertRegex(data["estimate"], "^The cost model estimates .* An estimate, not a measurement.$")

    def test_a_result_that_was_not_timed_says_so_first(self):
        page = self.write("--no-benchmark")
        self.assert_self_contained(page)
        self.assertEqual(data_of(page)["headline"], {"text": "Optimized, not measured", "detail": "not timed: --no-benchmark"})
        kept = data_of(self.write("--no-benchmark", "--min-gain", "0.9"))["headline"]["text"]
        self.assertIn("the model is unchanged", kept)

    @needs_browser
    def test_it_looks_right_and_draws_the_changes(self):
        page = self.measured()
        self.assert_looks_right(page)
        with Browser() as browser:
            browser.open(page)
            self.assertEqual(browser.run("document.querySelectorAll('svg').length"), 2 * len(data_of(page)["changes"]))
            text = browser.run("document.body.textContent")
            self.assertLess(text.index("1.60 times as fast, measured"), text.index("The cost model estimates"))
            for words in ("What changed", "memory of this process", "by derivation", "Certificate", "1×32×", "equal on"):
                self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
