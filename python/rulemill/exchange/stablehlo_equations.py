"""Attributes of StableHLO compared with those of a form whose parameters are not known yet."""

from __future__ import annotations

import re
from typing import Callable, Dict, List, Optional, Tuple

from .sizes import Size, number, parse_size, size

_NEUTRAL: Dict[str, Callable[[str], bool]] = {
    "precision_config": lambda text: "HIGH" not in text and "PACKED" not in text,
    "result_accuracy": lambda text: "DEFAULT" in text,
    "window_reversal": lambda text: "true" not in text,
    "compare_type": lambda text: text == "#stablehlo<comparison_type FLOAT>"}
_TOKEN = re.compile(r"\{[^}]*\}?|-?[0-9]+|[^ ]")
_MAX_ITEMS = 100


def is_neutral(name: str, text: str) -> bool:
    """Whether an attribute has no effect on real numbers at this value."""
    return name in _NEUTRAL and _NEUTRAL[name](text)


def numbers_of(text: str) -> Optional[Tuple[int, ...]]:
    """The numbers of array<i64: 0, 1>; None for another text."""
    found = re.fullmatch(r"array<i64(?:: ( *[0-9]{1,9} *(?:, *[0-9]{1,9} *)*))?>", text)
    return tuple(int(each) for each in (found[1] or "").split(",") if each) if found else None


def _with_items(text: str) -> str:
    """dense<7> : tensor<2x2xi64> has the items [[7, 7], [7, 7]]."""
    found = re.fullmatch(r"dense<([^\[].*?)> : tensor<([0-9]+)(?:x([0-9]+))?xi64>", text)
    if not found:
        return text
    item, end = found[1], text[len("dense<") + len(found[1]):]
    for count in (found[3], found[2]):
        item = f"[{', '.join([item] * min(int(count), _MAX_ITEMS))}]" if count else item
    return f"dense<{item}{end}"


def _tokens_of(text: str) -> List[str]:
    """Numbers, {expressions} and other characters, without entries that are empty lists, which MLIR leaves out."""
    text = re.sub(r"\w+ = \[\], |(?:, )?\w+ = \[\]", "", _with_items(text), flags=re.ASCII)
    return _TOKEN.findall(text.replace("array<i64: >", "array<i64>"))


def _value_of(token: str) -> Optional[Size]:
    if token.startswith("{") and len(token) > 1:
        return parse_size(token[1:-1])
    return number(int(token)) if token[-1].isdigit() and len(token) <= 18 else None


class Equations:
    """Equations between sizes, with unknown numbers. Each must have at most one unknown number once the others are
    solved, and be linear in it."""

    def __init__(self) -> None:
        self.unknowns: List[str] = []
        self.open: List[Size] = []
        self.solved: Dict[str, Size] = {}

    def unknown(self) -> Size:
        self.unknowns.append(f"__unknown_{len(self.unknowns) + 1}")
        return size(self.unknowns[-1])

    def equate(self, a: Size, b: Size) -> None:
        if a != b:
            self.open.append(a - b)

    def equate_texts(self, a: str, b: str) -> bool:
        """Adds the equations under which two attributes are equal: MLIR's syntax with {expressions of sizes}. False if
        they differ in anything but numbers."""
        left, right = _tokens_of(a), _tokens_of(b)
        if len(left) != len(right):
            return False
        for one, other in zip(left, right):
            if one != other:
                x, y = _value_of(one), _value_of(other)
                if x is None or y is None:
                    return False
                self.equate(x, y)
        return True

    def solve(self) -> bool:
        """False if the equations contradict each other, or do not follow one by one."""
        count = -1
        while count != len(self.solved):
            count, equations, self.open = len(self.solved), self.open, []
            for equation in equations:
                rest = equation.substitute(self.solved)
                unknown = rest.names().intersection(self.unknowns)
                if len(unknown) > 1:
                    self.open.append(rest)
                elif not unknown:
                    if rest.terms:
                        return False
                else:
                    name, = unknown
                    linear = rest.linear_in(name)
                    factor = linear[0].constant if linear else None
                    if not linear or not factor or any(coefficient % factor for _, coefficient in linear[1].terms):
                        return False
                    self.solved[name] = Size((monomial, -coefficient // factor)
                                             for monomial, coefficient in linear[1].terms)
        return not self.open

    def value(self, given: Size) -> Optional[Size]:
        """The value of an expression after solve(); None if it has unknown numbers."""
        result = given.substitute(self.solved)
        return None if result.names().intersection(self.unknowns) else result
