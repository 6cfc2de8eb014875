"""Sizes: integer polynomials over named sizes, floor divisions, minima and maxima, as the program prints them."""

from __future__ import annotations

import ast
import functools
import keyword
import operator
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, NoReturn, Optional, Set, Tuple, Union

from .errors import Problem


class Call(NamedTuple):
    """div(left, right), min or max."""

    function: str
    left: "Size"
    right: "Size"


Atom = Union[str, Call]
Monomial = Tuple[Atom, ...]
_EVALUATE: Mapping[str, Callable[[int, int], int]] = {"div": operator.floordiv, "min": min, "max": max}
_IN_RULES = {"div": "div", "min": "min", "max": "max"}
_IN_PYTHON = {"div": "div", "min": "smaller", "max": "larger"}
# Words of Python, and the attributes and functions that data/exports/onnxscript.py uses.
_RESERVED = {
    *keyword.kwlist,
    *("self op check cleanup conditions div known larger match name nodes number numbers outputs pattern rewrite rule "
      "setup since sizes smaller target types until values variables Form Value ANY has_cycle has_types integer_input "
      "integers_input floats_input real_input shape_input remove_nodes as_function context").split()}
_MAX_NUMBER, _MAX_LENGTH = 10**18, 10_000


class Size:
    """A sum of coefficient · product of atoms, sorted by degree, then by name: equal polynomials have equal terms."""

    def __init__(self, terms: Iterable[Tuple[Monomial, int]]) -> None:
        merged: Dict[Monomial, int] = {}
        for monomial, coefficient in terms:
            key = tuple(sorted(monomial, key=str)) if len(monomial) > 1 else tuple(monomial)
            merged[key] = merged.get(key, 0) + coefficient
        kept = [term for term in merged.items() if term[1]]
        kept.sort(key=lambda term: (len(term[0]), str(term[0])))
        self.terms = tuple(kept)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.terms)

    def __repr__(self) -> str:
        return text_of(self)

    def __add__(self, other: "Size") -> "Size":
        return Size(self.terms + other.terms)

    def __sub__(self, other: "Size") -> "Size":
        return Size(self.terms + tuple((monomial, -coefficient) for monomial, coefficient in other.terms))

    def __mul__(self, other: "Size") -> "Size":
        return Size((a + b, m * n) for a, m in self.terms for b, n in other.terms)

    def __floordiv__(self, other: "Size") -> "Size":
        """floor(a / b) with a = quotient · b + remainder, so that multiples are exact."""
        if not other.terms:
            raise Problem("", "division by zero")
        quotient, rest = number(0), self
        lead, factor = other.terms[-1]
        for monomial, _ in reversed(self.terms):
            shared = list(monomial)
            if all(atom in shared and not shared.remove(atom) for atom in lead):  # type: ignore[func-returns-value]
                step = Size([(tuple(shared), dict(rest.terms).get(monomial, 0) // factor)])
                quotient, rest = quotient + step, rest - step * other
        value, divisor = rest.constant, other.constant
        if value == 0 or (value is not None and divisor is not None and 0 <= value < divisor):
            return quotient
        return quotient + Size([((Call("div", rest, other),), 1)])

    @property
    def constant(self) -> Optional[int]:
        """The value of a number."""
        return 0 if not self.terms else self.terms[0][1] if self.terms[-1][0] == () else None

    @property
    def name(self) -> Optional[str]:
        """The name of a size by itself."""
        is_atom = len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1
        return self.terms[0][0][0] if is_atom and isinstance(self.terms[0][0][0], str) else None

    def names(self) -> Set[str]:
        """The names at any depth."""
        atoms = [atom for monomial, _ in self.terms for atom in monomial]
        return set().union(*({atom} if isinstance(atom, str) else atom.left.names() | atom.right.names()
                             for atom in atoms))

    def substitute(self, values: Mapping[str, "Size"]) -> "Size":
        if self.constant is not None:
            return self
        result = number(0)
        for monomial, coefficient in self.terms:
            product = number(coefficient)
            for atom in monomial:
                product *= values.get(atom, size(atom)) if isinstance(atom, str) else _call(
                    atom.function, atom.left.substitute(values), atom.right.substitute(values))
            result += product
        return result

    def linear_in(self, name: str) -> Optional[Tuple["Size", "Size"]]:
        """(a, b) with self = a · name + b and a ≠ 0, if there are such without the name in them."""
        uses = [term for term in self.terms if name in Size([term]).names()]
        factor = Size((tuple(atom for atom in monomial if atom != name), coefficient) for monomial, coefficient in uses)
        is_linear = bool(uses) and name not in factor.names() and all(monomial.count(name) == 1 for monomial, _ in uses)
        return (factor, self - factor * size(name)) if is_linear else None


@functools.lru_cache(maxsize=None)
def number(value: int) -> Size:
    return Size([((), value)])


@functools.lru_cache(maxsize=None)
def size(name: str) -> Size:
    return Size([((name,), 1)])


def _call(function: str, left: Size, right: Size) -> Size:
    a, b = left.constant, right.constant
    if function in ("div", "mod"):
        return left // right if function == "div" else left - right * (left // right)
    if a is not None and b is not None:
        return number(_EVALUATE[function](a, b))
    return Size([((Call(function, left, right),), 1)])


class Expression:
    """A text in Python's syntax: numbers, names, + - * // and calls of div, mod, min and max."""

    FUNCTIONS = {"div": "div", "mod": "mod", "min": "min", "max": "max", "smaller": "min", "larger": "max"}

    def __init__(self, text: str, place: str = "") -> None:
        self.text, self.place = text.strip(), place

    def fail(self, message: str) -> NoReturn:
        raise Problem(self.place, f"{message}, found '{self.text[:200]}'")

    def value(self) -> Any:
        try:
            return self.of(_tree(self.text[:_MAX_LENGTH]))
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return self.fail("expected a size")

    def of(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value < _MAX_NUMBER:
            return number(node.value)
        if isinstance(node, ast.Name):
            return self.named(node.id[:-1])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.combine(number(0), self.of(node.operand), operator.sub)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return self.combine(self.of(node.left), self.of(node.right), _OPERATORS[type(node.op)])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self.call(node.func.id[:-1], [self.of(each) for each in node.args])
        return self.fail("expected a size")

    def named(self, name: str) -> Any:
        return size(name)

    def combine(self, a: Any, b: Any, operation: Callable[[Size, Size], Size]) -> Any:
        return operation(a, b)

    def call(self, function: str, given: List[Any]) -> Any:
        if function not in self.FUNCTIONS or len(given) != 2:
            self.fail("expected a size")
        return _call(self.FUNCTIONS[function], *given)


_OPERATORS: Mapping[type, Callable[[Size, Size], Size]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}


@functools.lru_cache(maxsize=None)
def _tree(text: str) -> ast.expr:
    """Names get an underscore: they may be words of Python."""
    return ast.parse(re.sub(r"[A-Za-z_]\w*", r"\g<0>_", text), mode="eval").body


@functools.lru_cache(maxsize=None)
def parse_size(text: str) -> Size:
    """Parses the program's text of a size, or that of `python_text`. Raises Problem without a place."""
    found: Size = Expression(text).value()
    return found


def text_of(value: Size, name: Callable[[str], str] = str, functions: Mapping[str, str] = _IN_RULES) -> str:
    """The size as text in the form of rules, positive terms first."""
    text = ""
    for sign in (1, -1):
        for monomial, coefficient in value.terms:
            if coefficient * sign < 0:
                continue
            factors = [str(abs(coefficient))] if abs(coefficient) != 1 or not monomial else []
            for atom in monomial:
                if isinstance(atom, str):
                    factors.append(name(atom))
                else:
                    operands = (text_of(each, name, functions) for each in (atom.left, atom.right))
                    factors.append(f"{functions[atom.function]}({', '.join(operands)})")
            text += (" - " if text else "-") if sign < 0 else (" + " if text else "")
            text += " * ".join(factors)
    return text or "0"


def python_name(name: str) -> str:
    return name + "_" if name in _RESERVED else name


@functools.lru_cache(maxsize=None)
def python_text(value: Size, prefix: str = "") -> str:
    """The size as a Python expression with the functions of data/exports; `prefix` is put before names."""
    return text_of(value, lambda name: prefix + python_name(name), _IN_PYTHON)


def evaluate(value: Size, values: Mapping[str, int]) -> int:
    """Raises ZeroDivisionError."""
    total = 0
    for monomial, coefficient in value.terms:
        for atom in monomial:
            coefficient *= values[atom] if isinstance(atom, str) else _EVALUATE[atom.function](
                evaluate(atom.left, values), evaluate(atom.right, values))
        total += coefficient
    return total
