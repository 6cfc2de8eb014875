"""Damages certificates, and compares this checker's verdicts on them with those of `rulemill check`."""

import argparse
import ctypes
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict

from certificates import POSITIONS
from checker import Checker, check
from definitions import Library, Symbolic
from polynomials import ATOMS, Arithmetic, CheckError, Poly
from records import Database, fields, number, text
from rules import Output, Rule, RuleReader
from statement import Statement

TOKEN = re.compile(r"[A-Za-z_]\w*|\d+|[@#]\d+|>=|:=|\S")
TERM = re.compile(r"^[A-Za-z_]\w*$|^[@#]\d+$")
# Reasons that are about the form of a text, not about truth: rulemill accepts only the text that it would write itself, and no
# rule without sizes; both want the equations stated under which a source is well-typed, but derive them in different ways.
FORM = re.compile(r"malformed certificate|types only|does not type|the condition is not stated|equations contradict each other|"
                  r"no sizes (satisfy|were found)|is ill-typed: \w+\(.*\): dimension \d+ of argument \w+ is 0")
WORDS = [*POSITIONS, "indicators_max", "reindex_max", "law_where"]


class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def checksum(data: bytes) -> bytes:
    function = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    function.restype, function.argtypes = Hash, [ctypes.c_char_p, ctypes.c_size_t]
    value = function(data, len(data))
    return f"{value.high:016x}{value.low:016x}".encode()


# Protobuf messages

def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def encoded(message: dict) -> bytes:
    """The message of fields and their lists of values: numbers, texts, bytes or messages."""
    out = b""
    for key, values in sorted(message.items()):
        for value in values:
            if isinstance(value, int):
                out += varint(key << 3) + varint(value)
                continue
            data = value.encode() if isinstance(value, str) else encoded(value) if isinstance(value, dict) else value
            out += varint(key << 3 | 2) + varint(len(data)) + data
    return out


def write_database(original: dict, rules: list[bytes]) -> bytes:
    data = encoded({**{k: v for k, v in original.items() if k != 100}, 3: rules})
    return data + varint(100 << 3 | 2) + varint(32) + checksum(data)


def poly_text(poly: Poly) -> str:
    def factor(a):
        it = ATOMS[a]
        if it.kind in ("output", "bound"):
            raise CheckError("an index in a statement")
        return it.name if it.left is None else f"{it.kind}({poly_text(it.left)}, {poly_text(it.right)})"
    terms = [f"{'-' if c < 0 else '+'} " + "*".join([str(abs(c))] + list(map(factor, m))) for m, c in poly.terms.items()]
    return " ".join(terms).removeprefix("+ ") or "0"


def rule_message(rule: Rule) -> dict:
    """The fields of a rule's record that state it."""
    nodes = rule.nodes()

    def term(t):
        return {2: [nodes.index(t.node)], 3: [t.number]} if isinstance(t, Output) else {1: [rule.variables.index(t)]}

    def parameter(name, value):
        if isinstance(value, Symbolic):
            return {1: [name], 5: [value.least]}
        if isinstance(value, tuple):
            return {1: [name], 4: [{1: [bytes(value)]} if value else b""]}
        return {1: [name], 3: [value]} if isinstance(value, str) else {1: [name], 2: [value << 1]}
    return {3: [{1: [v.name], 2: list(map(poly_text, shape))} for v, shape in zip(rule.variables, rule.shapes)],
            4: [{1: [n.operator], 2: [parameter(*p) for p in n.parameters], 3: list(map(term, n.arguments)),
                 4: list(map(poly_text, n.sizes))} for n in nodes],
            5: list(map(term, rule.source)), 6: list(map(term, rule.target)),
            7: [{1: [poly_text(a)], 2: [("=", "!=", "<", "<=").index(relation)], 3: [poly_text(b)]}
                for a, relation, b in rule.conditions], 12: [ATOMS[pack].name for pack in rule.packs]}


# Damages

def change_token(rng: random.Random, line: str, names: list[str]) -> str:
    """Changes a number, a name, a sign or a relation of a line."""
    tokens = list(TOKEN.finditer(line))
    chosen = rng.choice([t for t in tokens if t.group() not in ("(", ")", "[", "]", ",", ";", ":")] or tokens)
    old = chosen.group()
    if old.isdigit():
        new = str(rng.choice([int(old) + 1, abs(int(old) - 1), rng.randrange(6)]))
    elif old in ("+", "-"):
        new = "-" if old == "+" else rng.choice(["+", ""]) if chosen.start() else ""
    elif old in (">=", "="):
        new = "=" if old == ">=" else ">="
    elif TERM.match(old) and names:
        new = rng.choice(names)
    else:
        new = rng.choice(["", "+", "1"])
    return line[:chosen.start()] + new + line[chosen.end():]


def damage_proof(rng: random.Random, certificate: str, names: list[str]) -> tuple[str, str]:
    """A kind of damage, and the damaged text."""
    lines = certificate.split("\n")[:-1]
    body = [i for i, line in enumerate(lines) if not line.startswith(";") or line.startswith("; use ")]
    body = [i for i in body if lines[i] != "typing"] or list(range(1, len(lines)))
    kinds = ["token"] * 6 + ["drop line", "repeat line", "exchange lines", "step", "guard", "other line"]
    i, kind = rng.choice(body), rng.choice(kinds)
    if kind == "token":
        prefix = "; use " if lines[i].startswith("; use ") else ";" if lines[i].startswith(";") else ""
        lines[i] = prefix + change_token(rng, lines[i].removeprefix(prefix), names)
    elif kind == "drop line":
        del lines[i]
    elif kind == "repeat line":
        lines.insert(rng.choice(body), lines[i])
    elif kind == "exchange lines":
        j = rng.choice(body)
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == "step":
        indent = len(lines[i]) - len(lines[i].lstrip(" "))
        lines[i] = " " * indent + re.sub(r"^[a-z_]+", rng.choice(WORDS), lines[i].lstrip(" "))
    elif kind == "guard":
        guards = list(re.finditer(r" \[[^\]]*= 0\]", lines[i]))
        if guards:
            chosen = rng.choice(guards)
            lines[i] = lines[i][:chosen.start()] + lines[i][chosen.end():]
    else:  # a definition, the format, or the statement in the certificate alone
        j = rng.randrange(len(lines))
        lines[j] = change_token(rng, lines[j], names) if lines[j] else lines[j]
    return kind, "\n".join(lines) + "\n"


def damage_statement(rng: random.Random, certificate: str, names: list[str]) -> str:
    """Changes the statement. The record is made to agree."""
    lines = certificate.split("\n")
    chosen = [i for i, line in enumerate(lines) if line.startswith(";   ")]
    i = rng.choice(chosen)
    lines[i] = ";   " + change_token(rng, lines[i][4:], names)
    return "\n".join(lines)


class CachingChecker(Checker):
    """Types and lowers each statement once."""

    def __init__(self, library: Library, digests: dict[str, str]):
        super().__init__(library, digests)
        self.statements, self.lifted = {}, set()

    def statement(self, rule: Rule) -> Statement:
        key = repr(rule)
        if key not in self.statements:
            made = super().statement(rule)
            made.differences, made.definedness_conditions
            self.statements[key] = made, set(made.arithmetic.divisors)
        made, divisors = self.statements[key]
        made.arithmetic.divisors = set(divisors)
        return made

    def check_packs(self, rule: Rule):
        if repr(rule) not in self.lifted:
            super().check_packs(rule)
            self.lifted.add(repr(rule))


class Campaign:
    def __init__(self, rulemill: list[str], definitions: pathlib.Path, folder: pathlib.Path, milliseconds: int):
        self.rulemill, self.definitions, self.folder, self.milliseconds = rulemill, definitions, folder, milliseconds
        self.counts, self.disagreements = Counter(), []
        self.seconds = Counter()

    def rulemill_findings(self, database: bytes) -> tuple[dict | None, str]:
        """The findings of `rulemill check` by rule; None and the message if the database cannot be loaded."""
        path, report = self.folder / "damaged.rmdb", self.folder / "report.json"
        path.write_bytes(database)
        report.unlink(missing_ok=True)
        begin = time.monotonic()
        done = subprocess.run([*self.rulemill, "check", str(path), "--definitions", str(self.definitions), "--json",
                               str(report), "--log-level", "error", "--progress", "off"],
                              capture_output=True, text=True, check=False)
        self.seconds["rulemill"] += time.monotonic() - begin
        if not report.exists() or "findings" not in json.loads(report.read_text() or "{}"):
            return None, done.stderr
        findings = defaultdict(str)
        for finding in json.loads(report.read_text())["findings"]:
            findings[finding["rule"]] += finding["reason"] + "; "
        return findings, ""

    def compare(self, original: dict, checker: Checker, premises: list[bytes], damaged: list[tuple[str, bytes]]):
        """`damaged`: kinds of damage and records. A record that rulemill cannot load is rejected by it."""
        rejected, rest = {}, list(damaged)
        while True:
            database = write_database(original, premises + [data for _, data in rest])
            theirs, message = self.rulemill_findings(database)
            if theirs is not None:
                break
            found = re.search(r"rule \d+ \((\w+)\)", message)
            if not found or found.group(1) not in {text(fields(data), 1) for _, data in rest}:
                raise RuntimeError(message)
            rejected[found.group(1)] = message.strip()
            rest = [(kind, data) for kind, data in rest if text(fields(data), 1) != found.group(1)]
        theirs.update(rejected)
        ours, records, begin = {}, [], time.monotonic()
        for _, data in damaged:
            id_ = text(fields(data), 1)
            try:
                records.append(checker.read(data))
            except (CheckError, ArithmeticError, LookupError, ValueError, TypeError, AttributeError) as error:
                ours[id_] = repr(error)
        findings, _ = check(checker, records, self.milliseconds)
        self.seconds["checker"] += time.monotonic() - begin
        ours.update(findings)
        for kind, data in damaged:
            id_ = text(fields(data), 1)
            verdict = ("rejected" if id_ in ours else "accepted", "rejected" if id_ in theirs else "accepted")
            reasons = [reason for reason in (ours.get(id_), theirs.get(id_)) if reason]
            self.counts[(kind, *verdict)] += 1
            if len(reasons) == 1 and FORM.search(reasons[0]):
                self.counts[("of these for its form only", *verdict)] += 1
            elif verdict[0] != verdict[1]:
                self.disagreements.append((kind, id_, ours.get(id_, "accepted"), theirs.get(id_, "accepted"),
                                           text(fields(fields(data)[9][0]), 2)))


def damaged_records(database: pathlib.Path, library: Library, count: int, of_statements: bool, rng: random.Random):
    """Random damages of the rules of a database: (kind, record)."""
    original = fields(database.read_bytes())
    checker = CachingChecker(library, Database(database.read_bytes()).digests)
    rules = original[3]
    for data in rules:
        checker.read(data)
    premises = [data for data in rules if number(fields(fields(data)[9][0]), 1) == 1]
    made = []
    while len(made) < count:
        # Proofs have most steps, so they are chosen as often as derivations.
        message = fields(rng.choice(premises if rng.random() < 0.5 else rules))
        kind, certificate = number(fields(message[9][0]), 1), text(fields(message[9][0]), 2)
        names = sorted({t for t in TOKEN.findall(certificate) if TERM.match(t)})
        if of_statements:
            damage, new = "statement", damage_statement(rng, certificate, names)
            try:
                statement = "\n".join(line[4:] for line in new.split("\n") if line.startswith(";   "))
                rule = RuleReader(statement, library, Arithmetic(), checker.ranks).read()
                for key in (3, 4, 5, 6, 7, 11, 12):
                    message.pop(key, None)
                message |= rule_message(rule)
            except CheckError:
                continue  # no rule
        else:
            damage, new = damage_proof(rng, certificate, names)
        if new == certificate:
            continue
        message[1], message[9] = [f"x{len(made)}"], [{1: [kind], 2: [new]}]
        made.append((damage, encoded(message)))
    return original, checker, premises, made


def damaged_definitions(rng: random.Random, definitions: pathlib.Path, folder: pathlib.Path, names: list[str]) -> str:
    """Copies the definitions with one change in an operator of these names; returns its name."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(definitions, folder)
    while True:
        path, name = rng.choice(sorted(folder.glob("*.op"))), rng.choice(names)
        lines = path.read_text().split("\n")
        start = next((i for i, line in enumerate(lines) if re.match(rf"operator {name}\b", line)), None)
        if start is None:
            continue
        ends = (i for i in range(start + 1, len(lines)) if re.match(r"operator|function|#|\s*(onnx|aten)|$", lines[i]))
        chosen = rng.randrange(start + 1, next(ends))
        words = sorted({t for t in TOKEN.findall(" ".join(lines[start:chosen + 1])) if TERM.match(t)})
        new = change_token(rng, lines[chosen], words)
        if new != lines[chosen]:
            path.write_text("\n".join(lines[:chosen] + [new] + lines[chosen + 1:]))
            return name


def compare_with_definitions(campaign: Campaign, database: pathlib.Path, count: int, rng: random.Random):
    """Compares the verdicts on rules of operators whose definition was changed, as if made with the changed definitions.
    Derived rules are left out: their derivations are valid, from rules that are no longer true."""
    definitions, folder = campaign.definitions, campaign.folder / "definitions"
    original = fields(database.read_bytes())
    library = Library(definitions)
    checker = Checker(library, {})
    records = {data: checker.read(data) for data in original[3]}
    records = {data: record for data, record in records.items() if record.kind == 1}
    names = sorted({n.operator for r in records.values() for n in r.rule.nodes()})
    while count > 0:
        name = damaged_definitions(rng, definitions, folder, names)
        used = [data for data, r in records.items() if any(n.operator == name for n in r.rule.nodes())]
        chosen = rng.sample(used, min(len(used), 20, count))
        campaign.definitions, message = folder, {k: v for k, v in original.items()}
        try:
            changed = Library(folder)
            for _ in range(20):  # digests of the changed definitions, which rulemill's message names
                theirs, error = campaign.rulemill_findings(write_database(message, []))
                found = re.search(r"digest (\w{32}), expected (\w{32})", error)
                if theirs is not None or not found:
                    break
                new, old = (digest.encode() for digest in found.groups())
                message[2] = [message[2][0].replace(old, new)]
                chosen = [data.replace(old, new) for data in chosen]
            if theirs is not None:
                digests = Database(write_database(message, [])).digests
                made = [("definition", encoded({**fields(data), 1: [f"x{i}"]})) for i, data in enumerate(chosen)]
                campaign.compare(message, Checker(changed, digests), [], made)
                count -= len(made)
        except (CheckError, RuntimeError):
            pass  # no definition
        campaign.definitions = definitions


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("databases", type=pathlib.Path, nargs="+")
    parser.add_argument("--rulemill", default="build/release/rulemill")
    parser.add_argument("--definitions", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "data/operators")
    parser.add_argument("--proofs", type=int, default=300, help="damaged proofs per database; default: 300")
    parser.add_argument("--statements", type=int, default=50, help="damaged statements per database; default: 50")
    parser.add_argument("--changed", type=int, default=40, help="rules of changed definitions per database; default: 40")
    parser.add_argument("--batch", type=int, default=1000, help="certificates per run of rulemill; default: 1000")
    parser.add_argument("--timeout", type=int, default=20000, help="of an obligation, in milliseconds; default: 20000")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=pathlib.Path, help="write all disagreements to this file")
    options = parser.parse_args()
    library = Library(options.definitions)
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign([options.rulemill], options.definitions, pathlib.Path(folder), options.timeout)
        for database in options.databases:
            for of_statements, count, batch in ((False, options.proofs, options.batch), (True, options.statements, 25)):
                rng = random.Random(f"{options.seed} {database.name} {of_statements}")
                original, checker, premises, made = damaged_records(database, library, count, of_statements, rng)
                for begin in range(0, len(made), batch):
                    campaign.compare(original, checker, premises, made[begin:begin + batch])
                    print(f"{database.name}: {min(begin + batch, len(made))} of {len(made)}, "
                          f"{len(campaign.disagreements)} disagreements", file=sys.stderr)
            rng = random.Random(f"{options.seed} {database.name} definitions")
            compare_with_definitions(campaign, database, options.changed, rng)
    if options.report:
        options.report.write_text(json.dumps(campaign.disagreements, indent=1))
    for (kind, ours, theirs), n in sorted(campaign.counts.items()):
        print(f"{n:6} {kind}: {ours} here, {theirs} by rulemill")
    for kind, id_, ours, theirs, _ in campaign.disagreements:
        print(f"disagreement: {kind} {id_}: here {ours}; rulemill {theirs}"[:300])
    total = sum(n for (kind, *_), n in campaign.counts.items() if not kind.startswith("of these"))
    print(f"{total} damaged certificates, {len(campaign.disagreements)} disagreements; "
          f"{campaign.seconds['checker']:.0f} s here, {campaign.seconds['rulemill']:.0f} s in rulemill")
    sys.exit(bool(campaign.disagreements))


if __name__ == "__main__":
    main()
