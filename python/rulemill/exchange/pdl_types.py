"""The types of a pattern's values, as texts state them."""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, NoReturn, Optional, Tuple

from .pdl_patterns import Pattern
from .rules import Data
from .sizes import Size, number, size, text_of

_MAX_RANK, _MAX_UNKNOWN = 4, 4
_FLOAT_TYPES = ("f64", "f32", "f16", "bf16", "tf32", "$")
_CONSTANT = re.compile(r"dense<(-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|-?inf|-?nan)> : (.*)", re.ASCII | re.DOTALL)

Shape = Tuple[Size, ...]


class Tensor(NamedTuple):
    """The shape of a tensor and the kind of its elements, as far as they are known. A shape is exact if the text states
    it; otherwise its sizes are names that typing may unify with others."""

    shape: Optional[Shape] = None
    kind: Optional[str] = None
    is_exact: bool = False


class Typing:
    """A reading of a pattern: types, attributes and conditions."""

    def __init__(self, pattern: Pattern) -> None:
        self.types = [Tensor()] * len(pattern.types)
        self.attributes: List[Dict[str, str]] = [{} for _ in pattern.nodes]  # of rulemill.fits
        self.conditions: List[str] = []
        self.zeros: List[Size] = []  # differences of sizes that conditions equate
        self.facts: List[Size] = []  # differences that they state not to be negative
        self.is_specified = False    # by rulemill.fits: attributes that are not stated have their defaults

    def copy(self) -> "Typing":
        result = object.__new__(Typing)
        result.__dict__.update({name: value if isinstance(value, bool) else list(value)
                                for name, value in self.__dict__.items()})
        return result

    def are_equal(self, a: Size, b: Size) -> bool:
        return a == b or any(zero in (a - b, b - a) for zero in self.zeros)

    def is_nonnegative(self, value: Size) -> bool:
        """Whether inspection shows it, or a condition states it."""
        names = value.names()
        shifted = value.substitute({name: size(name) + number(1) for name in names})
        is_shown = all(coefficient >= 0 and all(isinstance(atom, str) for atom in monomial)
                       for monomial, coefficient in shifted.terms)
        return is_shown or value in self.facts

    def add_condition(self, text: str, pattern: Pattern) -> None:
        """Adds the condition "m < n + 1"."""
        found = re.fullmatch("(.*?)(==|!=|<=|<)(.*)", text, re.DOTALL)
        if not found:
            pattern.fail(f"expected a comparison of sizes, found {text}")
        left, right = map(pattern.size, found.group(1, 3))
        sign = found[2]
        if sign == "==":
            self.zeros.append(left - right)
        elif sign != "!=":
            self.facts.append(right - left - number(1 if sign == "<" else 0))
        self.conditions.append(f"{text_of(left)} {'=' if sign == '==' else sign} {text_of(right)}")


def _split_items(text: str) -> List[str]:
    """The items between commas that are not in parentheses."""
    items, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            items.append("")
        else:
            items[-1] += character
    return items if text.strip(" ") else []


class TypeReader:
    """Reads types of one typing, whose numbers have one float type."""

    def __init__(self, pattern: Pattern) -> None:
        self.pattern, self.element = pattern, ""

    def read(self, text: str) -> Tensor:
        """Reads tensor<2x{m}xf32>, or "real: m, 3"."""
        if text.startswith(("real:", "bool:")):
            return Tensor(tuple(map(self.pattern.size, _split_items(text[5:]))), text[:4], True)
        found = re.fullmatch(r"tensor<((?:(?:\d{1,18}|\{[^}]*\})x)*)(.*)>", text, re.ASCII | re.DOTALL)
        if not found:
            self.pattern.fail(f"expected a type such as tensor<2x3xf32>, found {text}")
        element, dimensions = found[2], re.findall(r"\d+|\{[^}]*\}", found[1])
        if element.startswith("?"):
            self.pattern.fail(f"expected dimensions that are numbers, found the type {text}")
        if any(each.strip("0") == "" for each in dimensions):
            self.pattern.fail(f"a dimension of 0 in the type {text}")
        if element != "i1" and element not in _FLOAT_TYPES:
            self.pattern.fail(f"expected elements of a float type or i1, found the type {text}")
        if element not in ("i1", "$"):
            if self.element not in ("", element):
                self.pattern.fail(f"expected one float type, found {self.element} and {element}")
            self.element = element
        shape = tuple(self.pattern.size(each.strip("{}")) for each in dimensions)
        return Tensor(shape, "bool" if element == "i1" else "real", True)


def read_constant(text: str, pattern: Pattern) -> Optional[Tuple[float, Tensor]]:
    """Reads "dense<1.0> : tensor<2x3xf32>": the number, and the type. None for a constant of several numbers."""
    found = _CONSTANT.fullmatch(text)
    return (float(found[1]), TypeReader(pattern).read(found[2])) if found else None


class _Specification:
    """Reads an alternative of rulemill.fits."""

    def __init__(self, pattern: Pattern, typing: Typing) -> None:
        self.pattern, self.typing, self.types = pattern, typing, TypeReader(pattern)

    def fail(self, message: str) -> NoReturn:
        self.pattern.fail("rulemill.fits: " + message)

    def read(self, alternative: Any) -> Typing:
        typing, nodes = self.typing, iter(self.pattern.specified)
        typing.is_specified = True
        for each in self.member(alternative, "variables", list):
            self.set_type(next(nodes, None), self.text(each))
        for each in self.member(alternative, "operations", list):
            at = self.set_type(next(nodes, None), self.text(self.member(each, "result", object)))
            given = typing.attributes[at] = dict(typing.attributes[at])
            for name, value in sorted(self.member(each, "attributes", dict).items()):
                given[name] = self.text(value)
            for name, values in sorted(self.member(each, "optional", dict).items()):
                if not isinstance(values, list) or len(values) != 2:
                    self.fail(f"expected two texts for {name}")
                given.setdefault(name, self.text(values[0]))
        if next(nodes, None) is not None:
            self.fail("expected as many types as arguments")
        for each in self.member(alternative, "where", list):
            typing.add_condition(self.text(each), self.pattern)
        return typing

    def member(self, data: Data, name: str, kind: type) -> Any:
        if not isinstance(data, dict) or name not in data:
            self.fail(f"expected {name}")
        if not isinstance(data[name], kind):
            self.fail(f"expected a {'list' if kind is list else 'dictionary'} of {name}")
        return data[name]

    def text(self, value: Any) -> str:
        return value if isinstance(value, str) else self.fail("expected a text in quotes")

    def set_type(self, at: Optional[int], text: str) -> int:
        if at is None:
            self.fail("expected as many types as arguments")
        node = self.pattern.nodes[at]
        known, found = self.typing.types[node.type], self.types.read(text)
        if known.shape is not None and (known.shape, known.kind) != (found.shape, found.kind):
            self.fail(f"%{node.name} has two types")
        self.typing.types[node.type] = found
        return at


def stated_typings(pattern: Pattern) -> List[Typing]:
    """The typings that a pattern states: one, or one per alternative of rulemill.fits."""
    typing, types, specification = Typing(pattern), TypeReader(pattern), pattern.specification
    typing.types = [types.read(text) if text else Tensor() for text in pattern.types]
    if specification is None:
        return [typing]
    if not isinstance(specification, list) or not specification:
        pattern.fail("rulemill.fits: expected a list of alternatives")
    return [_Specification(pattern, typing.copy()).read(alternative) for alternative in specification]


def with_ranks(pattern: Pattern, typing: Typing) -> List[Typing]:
    """The typings with ranks from 0 to 4 for each type of a variable that is not stated. The sizes are d1, d2, …"""
    unknown = {node.type for node in pattern.nodes if not node.operation and typing.types[node.type].shape is None}
    if len(unknown) > _MAX_UNKNOWN:
        pattern.fail("expected the types of operands: too many are not stated")
    result = [typing]
    for count, kind in enumerate(sorted(unknown, key=lambda each: (each in pattern.unnamed, each))):
        following = []
        for each in result:
            for rank in range(_MAX_RANK + 1):
                following.append(each.copy())
                shape = tuple(pattern.size(f"d{count * _MAX_RANK + d + 1}") for d in range(rank))
                following[-1].types[kind] = following[-1].types[kind]._replace(shape=shape)
        result = following
    return result
