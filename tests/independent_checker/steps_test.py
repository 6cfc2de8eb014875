#!/usr/bin/env python3
"""The independent checker accepts and refuses the same steps as the kernel, in the examples of each inference rule."""

import pathlib
import re
import shutil
import tempfile
import unittest

from certificates import Certificate
from checker import Checker
from definitions import Library
from kernel import Context, Kernel
from obligations import unconfirmed
from polynomials import Arithmetic, CheckError
from rules import Rule, RuleReader
from statement import Statement

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "tests/check/kernel"
KNOWN = (CheckError, ArithmeticError, LookupError, ValueError, TypeError, AttributeError)
# How rulemill reads rules: a rank is that many sizes, a commutative operator has its arguments in order, and equations are added
# under which a target is well-typed.
READ = ((r":2\b", "[d, e]"), (r"=> relu\(add\(y, x\)\)", "=> relu(add(x, y))"), (r", to=k\)$", ", to=n)"))
CONDITION = re.compile(r" condition of (source|target)\n")


def read_examples():
    """(inference rule, rule, steps, result)"""
    name, rule, steps = "", "", ""
    for line in (EXAMPLES / "kernel_steps.examples").read_text().splitlines():
        name = line[3:] if line.startswith("== ") else name
        if line.startswith("rule "):
            rule = line
            for pattern, read in READ:
                rule = re.sub(pattern, read, rule)
        steps += line + "\n" if line.startswith(" ") else ""
        if line.startswith("=> "):
            yield name, rule, steps, line[3:]
            steps = ""


@unittest.skipUnless(shutil.which("cvc5"), "no cvc5")
class StepsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "data/operators", folder, dirs_exist_ok=True)
            shutil.copy(EXAMPLES / "kernel_steps.op", pathlib.Path(folder, "zz.op"))
            cls.checker = Checker(Library(pathlib.Path(folder)), {})

    def read(self, rule: str) -> Rule:
        return RuleReader(rule.strip(), self.checker.library, Arithmetic(), self.checker.ranks).read()

    def use(self, premise: str, values: str) -> str:
        """The line of an instance of a rule at terms for its variables and values of its sizes."""
        rule = self.checker.premises["p"] = self.read(premise)
        terms, *sizes = values.split(";")
        pairs = zip(rule.variables, re.split(r", (?![^(]*\))", terms))
        return f"p: {', '.join(f'{v.name} := {term}' for v, term in pairs)}; {', '.join(sizes)}"

    def obligations(self, name: str, rule: str, text: str) -> list:
        checker, library = self.checker, self.checker.library
        statement = Statement(self.read(rule), library)
        condition = CONDITION.match(text)
        text = CONDITION.sub("", text).removeprefix(" as stated\n")
        kind = "derivation" if name == "use" else "definitions"
        uses = f"; use {self.use(*text.splitlines())}\n" if name == "use" else ""
        output = "" if name in ("proof", "use") else "output\n"
        steps = "" if name == "use" else text
        certificate = Certificate(f"; rulemill certificate 6, by {kind}\n{uses}typing\n{output}{steps}", library.functions)
        certificate.read_proof(statement.arithmetic)
        if name == "use":
            return checker.by_derivation(statement, certificate)
        if name == "proof":
            return checker.domains(statement, certificate) + checker.by_definitions(statement, certificate)
        terms, facts = statement.differences[0], statement.facts
        kernel = Kernel(statement, statement.conditions_in_values)
        context = Context(facts + statement.index_ranges(0))
        if condition:
            sides = statement.definedness_conditions
            own, other = sides if condition[1] == "source" else sides[::-1]
            kernel, stated = Kernel(statement, other[0]), own[0][0]
            terms, context = kernel.undefinedness(stated, facts)
        kernel.run(terms, context, certificate.outputs[0])
        return kernel.obligations

    def test_the_same_steps_are_refused(self):
        for name, rule, steps, result in read_examples():
            with self.subTest(name=name, rule=rule, steps=steps, result=result):
                try:
                    refused = [answer for _, answer in unconfirmed(self.obligations(name, rule, steps), 5000)]
                except KNOWN as error:
                    refused = [error]
                self.assertEqual(bool(refused), result.startswith(("refused", "not implied")), refused)


if __name__ == "__main__":
    unittest.main()
