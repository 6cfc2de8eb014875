"""Reads certificates: the statement, the instances of a derivation, and the proof with its steps."""

from dataclasses import dataclass, field
from fractions import Fraction

from polynomials import Arithmetic, require_that
from sums import Factor, Guard, Product
from syntax import PolyReader

FORMAT = "; rulemill certificate 6, by "
# How many positions follow the word of a step. None: any number.
POSITIONS = {"indicators": None, "reindex": 1, "count": 1, "equal": 3, "within": 3, "replace": None, "expand": 2,
             "reciprocal": 3, "law": None, "constant": 2, "take_out": 2, "scale": 2, "monotone": 3, "flatten": 2,
             "divide_max": 2, "order": None, "signs": 2, "given": 3}


@dataclass
class Step:
    word: str
    name: str = ""         # of a law
    reverse: bool = False  # of a law: from right to left; of given: at −t
    on_maximum: bool = False
    positions: list = field(default_factory=list)
    results: list = field(default_factory=list)  # of indicators: (coefficient or None, positions of guards, guards)
    images: list = field(default_factory=list)   # of reindex and count: (atom, poly)
    inverse: list = field(default_factory=list)  # of reindex
    polys: list = field(default_factory=list)
    guard: Guard = None
    sums: list = field(default_factory=list)
    cases: str = ""
    block: list | None = None  # the steps inside of it, if it has them
    lemmas: list = field(default_factory=list)   # (poly, poly)


class ProofLine(PolyReader):
    """Reads one line of a proof."""

    def __init__(self, text: str, arithmetic: Arithmetic, functions: dict):
        super().__init__(text, arithmetic, has_indices=True)
        self.functions = functions

    def guard(self) -> Guard:
        poly, relation = self.poly(), self.next()
        if relation not in (">=", "=") or not self.accept("0"):
            self.fail("'= 0' or '>= 0'")
        return Guard(relation == "=", poly)

    def guards(self) -> tuple:
        guards = []
        while self.accept("["):
            guards.append(self.until("]", self.guard))
        return tuple(guards)

    def indices(self) -> tuple:
        found = []
        while self.peek().startswith("#"):
            found.append(self.value(self.factor()).single_atom)
        return tuple(found)

    def image(self):
        left = self.poly().single_atom
        require_that(left is not None, "expected an index")
        self.expect(":=")
        return left, self.poly()

    def rational(self) -> Fraction:
        sign = -1 if self.accept("-") else 1
        value = Fraction(sign * self.number())
        return value / self.number() if self.peek(1).isdigit() and self.accept("/") else value

    def terms(self) -> tuple:
        return tuple(p for p in self.chain("+", self.term) if p.coefficient)

    def term(self) -> Product:
        coefficient = self.rational()
        bound = self.indices() if self.accept("sum") else ()
        guards, factors = self.guards(), []
        while self.peek() in ("(", "1") or self.peek()[:1].isalpha() or self.peek()[:1] == "_":
            factors.append(self.term_factor())
        return Product(coefficient, guards, bound, tuple(factors))

    def term_factor(self) -> Factor:
        if self.accept("1"):
            self.expect("/")
            return self.term_factor()._replace(kind="inverse")
        if self.accept("("):
            return Factor("integer", index=(self.until(")", self.poly),))
        name = self.name()
        if name == "max" and self.accept("{"):
            bound, guards, _ = self.indices(), self.guards(), self.expect(":")
            return Factor("max", arguments=(self.until("}", self.terms),), bound=bound, guards=guards)
        if self.accept("["):
            return Factor("read", name, tuple(self.list_until("]", self.poly)))
        kind = "apply"
        if name == "defined" and self.peek() != "(":
            kind, name = "defined", self.name()
        self.expect("(")
        require_that(name in self.functions, f"'{name}' is no function")
        arguments = tuple(self.list_until(")", self.terms))
        require_that(len(arguments) == self.functions[name].arity, f"'{name}' has another number of arguments")
        return Factor(kind, self.functions[name].representative, (), arguments)

    def result(self):
        """One of the products of `indicators`: '=' coefficient, '-' position of a guard to leave out, '[' guard ']'."""
        coefficient, without = None, []
        if self.accept("same"):
            return None, (), ()
        if self.accept("="):
            coefficient = self.rational()
            require_that(coefficient, "a product with coefficient 0")
        while self.accept("-"):
            without.append(self.number())
        return coefficient, tuple(without), self.guards()

    def argument(self, step: Step):
        """What follows the colon."""
        if step.word == "indicators":
            step.results = self.chain("|", self.result)
        elif step.word == "reindex":
            step.images = self.chain(";", self.image) if self.peek() != "<-" else []
            step.inverse = self.chain(";", self.image) if self.accept("<-") else []
        elif step.word == "count":
            step.images, step.polys = [self.until(";", self.image)], [self.poly()]
        elif step.word in ("law", "replace", "scale"):
            step.sums = self.chain(";", self.terms)
        elif step.word == "divide_max":
            step.guard = self.guard()
            step.polys = self.chain(";", self.poly) if self.accept(";") else []
        elif step.word in ("equal", "take_out", "monotone", "flatten", "given"):
            step.polys = self.chain(";", self.poly)
        elif step.word == "order" and self.peek():
            step.cases = self.name()


class Certificate:
    """`outputs`: the steps for each output. `domains`: for source and target, the steps for each definedness condition."""

    def __init__(self, text: str, functions: dict):
        self.lines, self.functions, self.at = [line.strip(" ") for line in text.split("\n")], functions, 0
        require_that(self.lines[-1] == "", "the certificate is cut short")
        self.kind, *others = self.all_after(FORMAT) or [""]
        require_that(self.kind in ("definitions", "derivation") and not others, "the certificate has another format")
        self.statement = "\n".join(self.all_after(";   "))
        self.definitions = [tuple(line.split(" ", 1)) for line in self.all_after("; definition ")]
        self.laws = self.all_after("; assumed law ")
        self.uses = self.all_after("; use ") if self.kind == "derivation" else []

    def read_proof(self, arithmetic: Arithmetic):
        self.arithmetic = arithmetic
        require_that(self.accept("typing"), "expected 'typing'")
        self.lemmas = self.read_lemmas()
        self.outputs = self.blocks("output")
        self.domains = [self.blocks("condition") if self.accept(f"domain of {side}") else [] for side in ("source", "target")]
        require_that(self.at == len(self.lines) - 1, f"expected a step, found '{self.lines[self.at][:60]}'")

    def all_after(self, prefix: str) -> list[str]:
        """The rests of the next lines with this prefix."""
        begin = self.at
        while self.lines[self.at].startswith(prefix):
            self.at += 1
        return [line[len(prefix):] for line in self.lines[begin:self.at]]

    def accept(self, text: str) -> bool:
        found = self.lines[self.at] == text
        self.at += found
        return found

    def blocks(self, title: str) -> list[list[Step]]:
        found = []
        while self.accept(title):
            found.append(self.steps())
        return found

    def read_lemmas(self) -> list:
        lines = [ProofLine(text, self.arithmetic, self.functions) for text in self.all_after("times ")]
        return [(line.until(";", line.poly), line.until("", line.poly)) for line in lines]

    def steps(self) -> list[Step]:
        found = []
        while self.lines[self.at] not in ("", "output", "end", "condition") and not self.lines[self.at].startswith("domain of "):
            step = self.step(self.lines[self.at])
            self.at += 1
            step.lemmas = self.read_lemmas()
            found.append(step)
            if step.block is not None:
                step.block = self.steps()
                require_that(self.accept("end"), "expected 'end'")
        return found

    def step(self, text: str) -> Step:
        head, _, rest = text.partition(":")
        word, *head = head.split(" ")
        step = Step(word.removesuffix("_max") if word in ("indicators_max", "reindex_max") else word)
        step.on_maximum = word != step.word
        step.block = [] if word in ("within", "replace", "law_where") else None
        if word in ("law", "law_where"):
            require_that(head, "expected the name of a law")
            name, *head = head
            step.word, step.name, step.reverse = "law", name.removeprefix("-"), name.startswith("-")
        elif word == "given" and head[:1] == ["opposite"]:
            head, step.reverse = head[1:], True
        require_that(step.word in POSITIONS and all(map(str.isdigit, head)), f"expected a step, found '{text[:60]}'")
        step.positions, wanted = list(map(int, head)), POSITIONS[step.word]
        require_that(wanted is None or len(head) == wanted + step.on_maximum, f"another number of positions: '{text[:60]}'")
        if rest:
            line = ProofLine(rest, self.arithmetic, self.functions)
            line.argument(step)
            line.end()
        return step
