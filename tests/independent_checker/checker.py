"""Checks the certificates of a rule database."""

import argparse
import pathlib
import sys
import time
from collections import Counter

from certificates import Certificate
from definitions import Library
from derivations import Derivation, refined
from kernel import Context, Kernel
from obligations import Obligation, unconfirmed
from polynomials import Arithmetic, CheckError, require_that
from records import Database, Record, read_record
from rules import Rule, RuleReader
from specialization import PackExpansion, specialize
from statement import Statement, rank_reader
from sums import Guard


def laws_in(proofs: list) -> set[str]:
    """The laws that lists of steps use."""
    names = {step.name for steps in proofs for step in steps if step.word == "law"}
    return names.union(*(laws_in([step.block]) for steps in proofs for step in steps if step.block))


class Checker:
    """Checks the rules of a database, one by one. `premises` are the rules that derivations may use."""

    def __init__(self, library: Library, digests: dict[str, str]):
        self.library, self.digests = library, digests
        self.ranks, self.premises = rank_reader(library), {}

    def read(self, data: bytes) -> Record:
        record = read_record(data, self.library, Arithmetic(), self.ranks)
        if record.kind == 1:
            self.premises[record.id] = record.rule
        return record

    def statement(self, rule: Rule) -> Statement:
        return Statement(rule, self.library)

    def obligations_of(self, record: Record) -> list[Obligation]:
        """The obligations that a certificate leaves. Raises CheckError where it does not fit its rule."""
        rule, certificate = record.rule, Certificate(record.certificate, self.library.functions)
        require_that(certificate.kind == {1: "definitions", 2: "derivation"}.get(record.kind), "another kind of certificate")
        stated = RuleReader(certificate.statement, self.library, Arithmetic(), self.ranks).read()
        require_that(stated == rule, "the certificate states another rule")
        digests = [(name, self.digests.get(name)) for name in sorted({node.operator for node in rule.nodes()})]
        require_that(certificate.definitions == digests, "the certificate names other definitions")
        self.check_packs(rule)
        statement = self.statement(rule)
        kernel = Kernel(statement)
        kernel.require_guards("the condition is not stated", tuple(statement.stated), statement.source_types, ())
        rule = rule if record.kind == 1 else refined(rule, Arithmetic())
        if rule is not record.rule:
            statement = self.statement(rule)
        certificate.read_proof(statement.arithmetic)
        used = laws_in([*certificate.outputs, *certificate.domains[0], *certificate.domains[1]])
        assumed = {law.text for name, law in self.library.laws.items() if law.text and name in used}
        require_that({law.replace(" ", "") for law in certificate.laws if ":" in law} == assumed, "it assumes other laws")
        check_proof = self.by_definitions if record.kind == 1 else self.by_derivation
        return kernel.obligations + self.domains(statement, certificate) + check_proof(statement, certificate)

    def check_packs(self, rule: Rule):
        """Whether each operator only passes the dimension packs through."""
        for pack in rule.packs:
            for rank in (2, 3):
                PackExpansion(rule, pack, rank, self.library).run()

    def domains(self, statement: Statement, certificate: Certificate) -> list[Obligation]:
        found, conditions = [], statement.definedness_conditions
        for side, proofs in enumerate(certificate.domains):
            wanted, own = conditions[side]
            if statement.rule.widens and side == 0:  # says something only where the source is defined
                own = 0
            require_that(len(proofs) == own, "expected a proof of each definedness condition")
            kernel = Kernel(statement, conditions[1 - side][0])
            for condition, steps in zip(wanted, proofs):
                kernel.check_vanishes(*kernel.undefinedness(condition, statement.facts), steps)
            found += kernel.obligations
        return found

    def by_derivation(self, statement: Statement, certificate: Certificate) -> list[Obligation]:
        require_that(not statement.rule.widens, "a rule that widens is no equation")
        require_that(not certificate.outputs, "a derivation has no steps")
        kernel = Kernel(statement)
        Derivation(kernel, certificate, self.premise, self.ranks)
        return kernel.obligations

    def premise(self, name: str) -> Rule:
        if name not in self.premises:
            general, _, values = name.partition("@")
            require_that(general in self.premises and values, f"there is no rule {name} proved from the definitions")
            self.premises[name] = specialize(self.premises[general], values, self.library, self.ranks)
        require_that(not self.premises[name].widens, "a rule that widens is no equation")
        return self.premises[name]

    def by_definitions(self, statement: Statement, certificate: Certificate) -> list[Obligation]:
        facts, differences = statement.facts, statement.differences
        kernel = Kernel(statement, statement.conditions_in_values)
        require_that(len(certificate.outputs) == len(differences), "the proof has another number of outputs")
        for o, (difference, steps) in enumerate(zip(differences, certificate.outputs)):
            kernel.check_vanishes(difference, Context(facts + statement.index_ranges(o)), steps)
        kernel.require_guards("both sides have one shape", facts, statement.target_types, certificate.lemmas)
        divisors = [Guard(False, divisor - 1) for divisor in statement.arithmetic.divisors]
        kernel.require_guards("a divisor is positive", facts, divisors, certificate.lemmas)
        return kernel.obligations


def check(checker: Checker, records: list[Record], milliseconds: int) -> tuple[dict[str, str], Counter]:
    """The reasons why rules are rejected, by id, and counts."""
    findings, open_obligations, counts, ids = {}, [], Counter(), Counter(record.id for record in records)
    for record in records:
        if ids[record.id] > 1:
            findings[record.id] = "two rules have this name"
        try:
            for obligation in checker.obligations_of(record):
                counts["obligations"] += 1
                open_obligations.append((record.id, obligation))
            counts["by definitions" if record.kind == 1 else "by derivation"] += 1
        except (CheckError, ArithmeticError, LookupError, ValueError, TypeError, AttributeError) as error:
            findings[record.id] = str(error) if isinstance(error, CheckError) else f"malformed: {error!r}"
    for number, answer in unconfirmed([o for _, o in open_obligations], milliseconds):
        rule, obligation = open_obligations[number]
        findings.setdefault(rule, f"not confirmed by cvc5, which answers '{answer}': {obligation.what}")
    return findings, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database", type=pathlib.Path)
    parser.add_argument("--definitions", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "data/operators")
    parser.add_argument("--timeout", type=int, default=10000, help="of an obligation, in milliseconds; default: 10000")
    options = parser.parse_args()
    begin = time.process_time()
    try:
        database = Database(options.database.read_bytes())
        checker = Checker(Library(options.definitions), database.digests)
        records = [checker.read(rule) for rule in database.rules]
    except (CheckError, OSError) as error:
        sys.exit(f"{options.database}: {error}")
    findings, counts = check(checker, records, options.timeout)
    for rule, reason in findings.items():
        print(f"{rule}: {reason}")
    print(f"{len(records)} certificates, {len(findings)} rejected: {counts['by definitions']} by definitions, "
          f"{counts['by derivation']} by derivation; {counts['obligations']} obligations; "
          f"{time.process_time() - begin:.1f} s")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
