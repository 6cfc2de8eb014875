"""Reads certificates: the statement, the instances of a derivation, and the proof with its steps."""

from dataclasses import dataclass, field
from fractions import Fraction

from normal_form import Factor, Guard, Product
from polynomials import Arithmetic, CheckError
from tokens import Tokens

FORMAT = "; rulemill certificate 4, by "
# The positions of each step; one more for a step on a maximum. None: any number.
POSITIONS = {"drop": 1, "set": 1, "split": 1, "map": 1, "add_guard": 1, "drop_guard": 2, "index": 3, "within": 3, "same": 6,
             "zero": 2, "idempotent": 2, "commute": 2, "instantiate_max": 2, "cancel": None, "new_index": 1, "project": 1,
             "count_range": 1, "expand": 2, "cancel_reciprocal": 3, "constant": 2, "scale": 2, "split_exp": 3, "merge_exp": 3,
             "monotone": 2, "flatten": 2, "collect_terms": None, "order": None, "parity": 2, "cancel_sum": 2,
             "logarithm": 2, "root": 4, "root_of_exp": 2, "log_scale": 3, "compare": 2, "shift": 4,
             "divide_max": 2, "unfold": 2}
ON_MAXIMA = ("set", "map", "add_guard", "drop_guard", "new_index", "project")


@dataclass
class Step:
    word: str
    on_maximum: bool = False
    positions: list = field(default_factory=list)
    guard: Guard = None
    polys: list = field(default_factory=list)
    images: list = field(default_factory=list)   # (atom, poly)
    inverse: list = field(default_factory=list)  # of map
    block: list = field(default_factory=list)
    lemmas: list = field(default_factory=list)   # (poly, poly)


@dataclass
class Definedness:
    """word: signs, signs at points, empty, split (by `guard` into `cases`), from or opposite (condition `number`)."""
    word: str
    number: int = 0
    guard: Guard = None
    images: list = field(default_factory=list)
    arguments: list = field(default_factory=list)  # steps of each argument
    cases: list = field(default_factory=list)
    lemmas: list = field(default_factory=list)


@dataclass
class Certificate:
    kind: str = ""
    statement: str = ""
    definitions: list = field(default_factory=list)
    laws: list = field(default_factory=list)
    uses: list = field(default_factory=list)
    lemmas: list = field(default_factory=list)
    outputs: list = field(default_factory=list)  # (products, steps)
    domains: tuple = ((), ())                    # of source and target: (condition, definedness)


class ProofLine(Tokens):
    """Reads one line of a proof."""

    def guard(self) -> Guard:
        poly = self.poly()
        equality = self.next()
        if equality not in (">=", "=") or not self.accept("0"):
            self.fail("'= 0' or '>= 0'")
        return Guard(equality == "=", poly)

    def bracketed_guards(self) -> tuple:
        guards = []
        while self.accept("["):
            guards.append(self.guard())
            self.expect("]")
        return tuple(guards)

    def atom(self) -> int:
        poly = self.poly()
        if poly.single_atom is None:
            self.fail("an atom")
        return poly.single_atom

    def indices(self) -> tuple:
        found = []
        while self.peek().startswith("#"):
            found.append(self.atom_token())
        return tuple(found)

    def atom_token(self) -> int:
        return self.poly_factor().single_atom

    def image(self):
        left = self.atom()
        self.expect(":=")
        return left, self.poly()

    def sum(self) -> tuple:
        if self.peek() == "0" and self.peek(1) in (",", ")"):
            self.next()
            return ()
        return tuple(self.chain("+", self.product))

    def product(self) -> Product:
        sign = -1 if self.accept("-") else 1
        number = Fraction(sign * self.number())
        if self.peek() == "/":
            self.next()
            number /= self.number()
        bound = self.indices() if self.accept("sum") else ()
        guards, factors = self.bracketed_guards(), []
        while self.peek() not in ("", "+", ",", ")"):
            factors.append(self.factor())
        return Product(number, guards, bound, tuple(factors))

    def factor(self) -> Factor:
        if self.peek() == "(":
            return Factor("integer", index=tuple(self.parenthesized()))
        if self.peek() == "1":
            self.next()
            self.expect("/")
            return Factor("inverse", index=tuple(self.parenthesized()))
        name = self.name()
        if self.accept("["):
            return Factor("read", name, tuple(self.list_until("]", self.poly)))
        self.expect("(")
        if name == "max" and self.peek()[:1] in ("#", "[", ":"):
            bound, guards = self.indices(), self.bracketed_guards()
            self.expect(":")
            body = self.sum()
            self.expect(")")
            return Factor("max", "", (), (body,), bound, guards)
        return Factor("apply", name, (), tuple(self.list_until(")", self.sum)))

    def parenthesized(self) -> list:
        self.expect("(")
        return self.list_until(")", self.poly)

    def step(self) -> Step:
        word = self.name()
        step = Step(word)
        if word not in POSITIONS and word.endswith("max"):
            step = Step(word[:-3], True)
        if step.word not in POSITIONS or (step.on_maximum and step.word not in ON_MAXIMA):
            self.fail("a step")
        if step.word == "project" and not step.on_maximum:
            self.fail("projectmax")
        while self.peek().isdigit():
            step.positions.append(self.number())
        wanted = POSITIONS[step.word]
        if wanted is not None and len(step.positions) != wanted + step.on_maximum:
            self.fail(f"{wanted + step.on_maximum} positions")
        if self.accept(":"):
            self.argument(step)
        elif step.word in ("set", "split", "map", "add_guard", "index", "new_index", "project", "count_range", "divide_max"):
            self.fail("':'")
        self.end()
        return step

    def argument(self, step: Step):
        if step.word in ("split", "add_guard"):
            step.guard = self.guard()
        elif step.word == "divide_max":
            step.guard = self.guard()
            while self.accept(";"):
                step.polys.append(self.poly())
        elif step.word in ("set", "new_index", "count_range"):
            step.images = [self.image()]
            if step.word == "count_range":
                self.expect(";")
                step.polys = [self.poly()]
        elif step.word in ("map", "project"):
            step.images = self.chain(";", self.image) if self.peek() != "<-" else []
            if step.word == "map":
                self.expect("<-")
                step.inverse = self.chain(";", self.image) if self.peek() else []
        elif step.word in ("index", "instantiate_max", "monotone", "flatten"):
            step.polys = self.chain(";", self.poly) if self.peek() else []
            if step.word == "index" and len(step.polys) != 1:
                self.fail("one polynomial")
        else:
            self.fail("the end")


class CertificateReader:
    def __init__(self, text: str, arithmetic: Arithmetic):
        self.lines = [line for line in text.split("\n")]
        if self.lines.pop() != "":
            raise CheckError("the certificate is cut short")
        self.at, self.arithmetic = 0, arithmetic

    def line(self) -> str:
        return self.lines[self.at].strip(" ") if self.at < len(self.lines) else ""

    def after(self, prefix: str):
        """The rest of the line after a prefix, or None."""
        if self.at < len(self.lines) and self.lines[self.at].lstrip(" ").startswith(prefix):
            self.at += 1
            return self.lines[self.at - 1].lstrip(" ")[len(prefix):]
        return None

    def all_after(self, prefix: str) -> list[str]:
        found = []
        while (rest := self.after(prefix)) is not None:
            found.append(rest)
        return found

    def accept(self, text: str) -> bool:
        found = self.at < len(self.lines) and self.line() == text
        self.at += found
        return found

    def parse(self, text: str, method):
        line = ProofLine(text, self.arithmetic)
        result = method(line)
        line.end()
        return result

    def header(self) -> Certificate:
        certificate = Certificate(kind=self.after(FORMAT))
        if certificate.kind not in ("definitions", "derivation"):
            raise CheckError("the certificate has another format")
        certificate.statement = "\n".join(self.all_after(";   "))
        certificate.definitions = [tuple(line.split(" ", 1)) for line in self.all_after("; definition ")]
        certificate.laws = self.all_after("; assumed law ")
        if certificate.kind == "derivation":
            certificate.uses = self.all_after("; use ")
        return certificate

    def proof(self, certificate: Certificate) -> Certificate:
        if not self.accept("typing"):
            raise CheckError("expected 'typing'")
        certificate.lemmas = self.lemmas()
        while self.accept("output"):
            products = [self.parse(text, ProofLine.product) for text in self.all_after("from ")]
            certificate.outputs.append((products, self.steps()))
        certificate.domains = tuple(self.domain(side) for side in ("source", "target"))
        if self.at < len(self.lines):
            raise CheckError(f"expected a step, found '{self.line()[:60]}'")
        return certificate

    def lemmas(self) -> list:
        return [self.parse(text, lambda line: tuple(line.chain(";", line.poly))) for text in self.all_after("times ")]

    def steps(self) -> list[Step]:
        found = []
        while self.at < len(self.lines) and self.line() not in ("output", "end") and not self.line().startswith("domain of "):
            step = self.parse(self.line(), ProofLine.step)
            self.at += 1
            step.lemmas = self.lemmas()
            found.append(step)
            if step.word in ("within", "same", "cancel_sum", "root"):
                step.block = self.steps()
                self.end()
        return found

    def end(self):
        if not self.accept("end"):
            raise CheckError("expected 'end'")

    def domain(self, side: str) -> list:
        if not self.accept(f"domain of {side}"):
            return []
        found = []
        while (text := self.after("demand ")) is not None:
            found.append((self.parse(text, ProofLine.product), self.definedness()))
        return found

    def definedness(self) -> Definedness:
        word, _, rest = self.line().partition(":")
        self.at += 1
        name, _, number = word.rpartition(" ")
        if name in ("from", "opposite") and number.isdigit():
            images = self.parse(rest, lambda line: line.chain(";", line.image)) if rest.strip() else []
            result = Definedness(name, int(number), images=images)
        elif word == "split":
            result = Definedness("split", guard=self.parse(rest, ProofLine.guard))
        elif word in ("signs", "signs at points", "empty"):
            result = Definedness(word)
        else:
            raise CheckError(f"expected a proof that a function is defined, found '{word}'")
        result.lemmas = self.lemmas()
        if result.guard:
            result.cases = [self.definedness() for _ in range(3 if result.guard.equality else 2)]
        while self.accept("argument"):
            result.arguments.append(self.steps())
            self.end()
        return result
