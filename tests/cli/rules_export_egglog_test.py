#!/usr/bin/env python3
"""`rulemill rules export --format egglog`: the program, run by egglog, shows the same equalities as `rulemill derive`."""

import importlib.util
import re
import unittest

from binary import ROOT, Case, rulemill

HAS_EGGLOG = importlib.util.find_spec("egglog") is not None
if HAS_EGGLOG:
    from egglog.bindings import EGraph

RULES = ROOT / "tests" / "cli" / "exported.rules"
GOALS = ROOT / "tests" / "cli" / "exported_goals.rules"
ROUNDS, MAX_TUPLES = 5, 3000


def run(program):
    """The verdict of each goal: equal, or not shown within the limits."""
    parts = re.split(r"^; goal (.*)$", program, flags=re.M)
    graph = EGraph()
    execute = lambda text: graph.run_program(*graph.parse_program(text))  # noqa: E731
    execute(parts[0])
    verdicts = {}
    for name, block in zip(parts[1::2], parts[2::2]):
        outputs = len(re.findall(r"\.source\.\d+ ", block))
        execute("(push)" + block)
        check = "(check " + " ".join(f"(= ${name}.source.{k} ${name}.target.{k})" for k in range(outputs)) + ")"
        verdicts[name] = False
        for _ in range(ROUNDS):
            execute("(run 1)")
            try:
                execute(check)
                verdicts[name] = True
                break
            except Exception as error:  # pylint: disable=broad-except
                if "Check failed" not in str(error):
                    raise
            sizes = re.findall(r"\d+", re.sub(r"shape\d|-[\w.-]*", "", str(execute("(print-size)"))))
            if sum(map(int, sizes)) > MAX_TUPLES:
                break
        execute("(pop)")
    return verdicts


@unittest.skipUnless(HAS_EGGLOG, "SKIPPED: egglog is not installed")
class Egglog(Case):
    def test_egglog_and_derive_show_the_same_goals(self):
        database = self.folder / "rules.rmdb"
        self.assert_works(rulemill("rules", "import", RULES, "--out", database))
        report = self.json("rules", "export", database, self.folder / "rules.egg", "--format", "egglog",
                           "--goals", GOALS)
        self.assertEqual(report["written"], RULES.read_text().count("\nrule "))
        self.assertNotIn("skipped", report)
        found = run((self.folder / "rules.egg").read_text(encoding="utf-8"))
        derived = self.json("derive", "--from", database, GOALS, code=1)
        expected = {rule["name"]: rule["result"] == "derived" for rule in derived["rules"]}
        self.assertEqual(found, expected)
        self.assertEqual({name.startswith("not_") for name, verdict in found.items() if verdict}, {False})
        self.assertEqual({name.startswith("not_") for name, verdict in found.items() if not verdict}, {True})


if __name__ == "__main__":
    unittest.main()
