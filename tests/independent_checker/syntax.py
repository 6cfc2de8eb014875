"""The grammar that definitions, rules and certificates share, and the values of integer expressions.

A tree is ("number", Fraction), ("name", s), ("index", "@1" or "#1"), ("list", trees), ("pack", s, change, parameter, tree),
("read", tensor or pack, trees), ("call", s, trees, parameters by name), ("output", tree, s), (operation, tree, tree),
("if", comparisons, tree, tree), or ("reduce", "sum" or "max", bindings, comparisons, tree). A comparison is (tree, relation, tree);
a binding is (name, whether it is a pack, tree)."""

import re
from fractions import Fraction

from functions import exact_number
from polynomials import Arithmetic, CheckError, Poly, bound_index, output_index, require_that, size, variable

TOKEN = re.compile(r"\s*([A-Za-z_]\w*|\d+(?:\.\d+)?|[@#]\d+|\"[^\"\n]*\"|\.\.\.|//|=>|->|<=|>=|!=|:=|<-|\S)")
CHANGES = ("with", "without", "only", "insert", "at")


class Tokens:
    def __init__(self, text: str):
        self.tokens, self.at = TOKEN.findall(text) + [""] * 6, 0

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead]

    def next(self) -> str:
        token = self.tokens[self.at]
        self.at += token != ""
        return token

    def accept(self, text: str) -> bool:
        found = self.tokens[self.at] == text
        self.at += found
        return found

    def fail(self, expected: str):
        raise CheckError(f"expected {expected}, found '{' '.join(self.tokens[self.at:self.at + 5]).strip()}'")

    def expect(self, text: str):
        if not self.accept(text):
            self.fail(f"'{text}'")

    def end(self):
        if self.peek():
            self.fail("the end")

    def name(self) -> str:
        if not self.peek()[:1].isalpha() and self.peek()[:1] != "_":
            self.fail("a name")
        return self.next()

    def number(self) -> int:
        if not self.peek().isdigit():
            self.fail("a number")
        return int(self.next())

    def until(self, end: str, read):
        return (read(), self.expect(end))[0]

    def chain(self, separator: str, read) -> list:
        items = [read()]
        while self.accept(separator):
            items.append(read())
        return items

    def items(self, read) -> list:
        return [] if self.peek() in ("", ")", "]", "}", ";") else self.chain(",", read)

    def list_until(self, end: str, read) -> list:
        return self.until(end, lambda: self.items(read))

    def named(self, sign: str, read) -> tuple:
        return self.name(), (self.expect(sign), read())[1]


class Grammar(Tokens):
    def expression(self):
        """sum ['if' comparison {'and' comparison} 'else' expression]"""
        value = self.sum()
        if not self.accept("if"):
            return value
        comparisons = self.chain("and", self.comparison)
        self.expect("else")
        return "if", comparisons, value, self.expression()

    def sum(self):
        return self.operations(("+", "-"), self.product)

    def product(self):
        return self.operations(("*", "/", "//", "%"), self.factor)

    def operations(self, signs: tuple, read):
        value = read()
        while self.peek() in signs:
            value = (self.next(), value, read())
        return value

    def comparison(self):
        """(left, relation, right), where > and >= are turned around."""
        left, relation, right = self.sum(), self.next(), self.sum()
        if relation not in ("=", "!=", "<", "<=", ">", ">="):
            self.fail("a relation")
        return (right, relation.replace(">", "<"), left) if relation[0] == ">" else (left, relation, right)

    def factor(self):
        if self.peek()[:1].isdigit():
            return "number", exact_number(self.next())
        if self.peek()[:1] in ("@", "#"):
            return "index", self.next()
        if self.accept("-"):
            return "-", ("number", Fraction(0)), self.factor()
        if self.accept("("):
            return self.until(")", self.expression)
        if self.accept("["):
            return "list", self.list_until("]", self.expression)
        name = self.name()
        if name in ("sum", "max") and self.peek(3 if self.peek(2) == "..." else 2) == "<":
            return self.reduction(name)
        if self.accept("["):
            return "read", name, self.list_until("]", self.expression)
        if self.accept("..."):
            return self.pack(name)
        made = self.call(name) if self.accept("(") else ("name", name)
        return ("output", made, self.name()) if self.accept(".") else made

    def reduction(self, kind: str):
        """('sum' | 'max') '(' bindings ['where' comparisons] ')' product"""
        self.expect("(")
        bindings = self.chain(",", self.binding)
        comparisons = self.chain("and", self.comparison) if self.accept("where") else []
        self.expect(")")
        return "reduce", kind, bindings, comparisons, self.product()

    def binding(self):
        return self.name(), self.accept("..."), (self.expect("<"), self.expression())[1]

    def call(self, name: str):
        """name '(' [expression {',' expression}] [';' name '=' expression {',' name '=' expression}] ')'"""
        arguments = self.items(self.expression)
        given = self.chain(",", lambda: self.named("=", self.expression)) if self.accept(";") else []
        self.expect(")")
        return "call", name, arguments, dict(given)

    def pack(self, name: str):
        """name '...' [change], as docs/definitions.md lists them"""
        if self.accept("["):
            return "pack", name, "gather", self.until("]", self.name), None
        if self.accept("of"):
            return "pack", name, "of", None, self.expression()
        if self.peek() not in CHANGES:
            return "pack", name, None, None, None
        change, parameter = self.next(), self.name()
        return "pack", name, change, parameter, self.expression() if self.accept(":") else None


def elementwise(f, *values):
    """f of the values, or, if some are lists of one length, of their elements."""
    lengths = {len(v) for v in values if isinstance(v, list)}
    if not lengths:
        return f(*values)
    require_that(len(lengths) == 1, "packs of different lengths")
    return [f(*(v[k] if isinstance(v, list) else v for v in values)) for k in range(*lengths)]


def integer(e: tuple, arithmetic: Arithmetic, leaf):
    """The polynomial that a tree is, or a list of them; `leaf` gives those of names."""
    if e[0] == "number":
        require_that(e[1].denominator == 1, "expected an integer")
        return Poly.of(e[1].numerator)
    if e[0] == "call" and e[1] in ("div", "mod", "min", "max"):
        op, parts = e[1], e[2]
    elif e[0] in ("+", "-", "*", "/", "//", "%"):
        op, parts = e[0], e[1:]
    else:
        return leaf(e)
    require_that(len(parts) == 2, f"{op} has two operands")
    return elementwise(lambda a, b: arithmetic.operate(op, a, b), *(integer(part, arithmetic, leaf) for part in parts))


class PolyReader(Grammar):
    """Reads polynomials in sizes, and in indices where they are in scope: in proofs, not in rules."""

    def __init__(self, text: str, arithmetic: Arithmetic, has_indices=False):
        super().__init__(text)
        self.arithmetic, self.has_indices = arithmetic, has_indices

    def leaf(self, e: tuple) -> Poly:
        if e[0] == "name":
            return size(e[1])
        require_that(e[0] == "index" and self.has_indices, "expected a size")
        return output_index(int(e[1][1:])) if e[1][0] == "@" else variable(bound_index(int(e[1][1:])))

    def value(self, e: tuple) -> Poly:
        return integer(e, self.arithmetic, self.leaf)

    def poly(self) -> Poly:
        return self.value(self.sum())


def parse_poly(text: str, arithmetic: Arithmetic) -> Poly:
    reader = PolyReader(text, arithmetic)
    return reader.until("", reader.poly)
