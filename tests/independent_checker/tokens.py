"""Tokens of definitions, rules and certificates, and the reader of polynomials."""

import re

from polynomials import Arithmetic, CheckError, Poly, bound_index, output_index, size, variable

TOKEN = re.compile(r"\s*([A-Za-z_]\w*|\d+(?:\.\d+)?|[@#]\d+|\"[^\"\n]*\"|\.\.\.|//|=>|<=|>=|!=|:=|<-|\S)")


class Tokens:
    def __init__(self, text: str, arithmetic: Arithmetic | None = None):
        self.tokens, self.at, self.arithmetic = TOKEN.findall(text) + [""] * 6, 0, arithmetic

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def next(self) -> str:
        self.at += 1
        return self.peek(-1)

    def accept(self, text: str) -> bool:
        found = self.peek() == text
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
        if not re.match(r"[A-Za-z_]", self.peek()):
            self.fail("a name")
        return self.next()

    def number(self) -> int:
        if not self.peek().isdigit():
            self.fail("a number")
        return int(self.next())

    def list_until(self, end: str, read) -> list:
        items = []
        while self.peek() != end:
            items.append(read())
            if not self.accept(","):
                break
        self.expect(end)
        return items

    def argument_list(self, read, parameter) -> tuple[list, list]:
        """[argument {',' argument}] [';' parameter {',' parameter}] ')'"""
        found, given = [], []
        while self.peek() not in (")", ";"):
            found.append(read())
            if not self.accept(","):
                break
        if self.accept(";"):
            given = self.chain(",", parameter)
        self.expect(")")
        return found, given

    def until(self, end: str, read):
        return (read(), self.expect(end))[0]

    def relation(self, read):
        """(left, relation, right), where > and >= are turned around."""
        left, relation, right = read(), self.next(), read()
        if relation not in ("=", "!=", "<", "<=", ">", ">="):
            self.fail("a relation")
        return (right, {">": "<", ">=": "<="}[relation], left) if relation[0] == ">" else (left, relation, right)

    def chain(self, separator: str, read) -> list:
        items = [read()]
        while self.accept(separator):
            items.append(read())
        return items

    def left_associative(self, signs: tuple, read):
        value = read()
        while self.peek() in signs:
            value = (self.next(), value, read())
        return value

    # Polynomials

    def poly(self) -> Poly:
        """['-'] product {('+' | '-') product}"""
        result = -self.poly_product() if self.accept("-") else self.poly_product()
        while self.peek() in ("+", "-"):
            result = result + self.poly_product() if self.next() == "+" else result - self.poly_product()
        return result

    def poly_product(self) -> Poly:
        result = self.poly_factor()
        while self.accept("*"):
            result = result * self.poly_factor()
        return result

    def poly_factor(self) -> Poly:
        """number | size | @number | #number | '(' poly ')' | (div | mod | min | max) '(' poly ',' poly ')'"""
        if self.accept("("):
            return self.until(")", self.poly)
        if self.peek().isdigit():
            return Poly.of(int(self.next()))
        if self.peek()[:1] in ("@", "#") and len(self.peek()) > 1:
            text = self.next()
            return output_index(int(text[1:])) if text[0] == "@" else variable(bound_index(int(text[1:])))
        name = self.name()
        operation = {"div": self.arithmetic.quotient, "mod": self.arithmetic.modulo, "min": self.arithmetic.minimum,
                     "max": self.arithmetic.maximum}.get(name)
        if not operation or not self.accept("("):
            return size(name)
        return operation(*self.list_until(")", self.poly))


def parse_poly(text: str, arithmetic: Arithmetic) -> Poly:
    tokens = Tokens(text, arithmetic)
    result = tokens.poly()
    tokens.end()
    return result
