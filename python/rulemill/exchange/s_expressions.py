"""S-expressions, as egg writes patterns and egglog programs: atoms, strings and lists, with their places."""

from __future__ import annotations

import re
from typing import List, NoReturn, Optional

from .errors import Places, Problem, printable
from .rules import Names

_MAX_NESTING, _MAX_ATOM, _MAX_STRING, _MAX_SHOWN = 1000, 200, 10_000, 60
_BLANKS = re.compile(r"(?:[ \t\r\n,]|//[^\n]*|;[^\n]*)*")
_BLANKS_BEFORE_SEMICOLON = re.compile(r"(?:[ \t\r\n,]|//[^\n]*)*")
_ATOM = re.compile(r"[!#-'*+\--:<-~]*")  # printable, but none of ( ) " ; and commas
_LINE_START = re.compile(r'\n(?=[("A-Za-z])')
_SIZE_FUNCTIONS = {"+": "({} + {})", "-": "({} - {})", "*": "({} * {})", "/": "div({}, {})", "%": "mod({}, {})",
                   "min": "min({}, {})", "max": "max({}, {})"}


class SExpression:
    """An atom, a string (without its quotes) or a list."""

    def __init__(self, places: Places, at: int, text: str = "", items: Optional[List[SExpression]] = None,
                 is_string: bool = False) -> None:
        self.places, self.at, self.text, self.items, self.is_string = places, at, text, items, is_string

    @property
    def place(self) -> str:
        return self.places.of(self.at)

    @property
    def is_atom(self) -> bool:
        return self.items is None and not self.is_string

    @property
    def head(self) -> str:
        """The atom at the beginning of a list, otherwise empty."""
        return self.items[0].text if self.items and self.items[0].is_atom else ""

    def operands(self, count: int) -> Optional[List[SExpression]]:
        """What follows the head of a list, if it is so many."""
        return self.items[1:] if self.items is not None and len(self.items) == count + 1 else None

    def fail(self, message: str) -> NoReturn:
        raise Problem(self.place, message)

    def __str__(self) -> str:
        """The text, cut if it is long."""
        return printable(self._text(), _MAX_SHOWN)

    def _text(self) -> str:
        if self.items is None:
            return self.text
        text = "("
        for number, item in enumerate(self.items):
            if len(text) > _MAX_SHOWN:
                return text
            text += " " * (number > 0) + item._text()
        return text + ")"


class Reader:
    """Reads expressions one by one. A comment runs from ; or // to the end of the line. Commas count as spaces."""

    def __init__(self, text: str, places: Places) -> None:
        self.text, self.places, self.at = text, places, 0

    def at_end(self) -> bool:
        self.at = _BLANKS.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.at == len(self.text)

    def fail(self, message: str) -> NoReturn:
        raise Problem(self.places.of(self.at), message)

    def accept(self, token: str) -> bool:
        """Reads this symbol or word if it is next. A word ends where an atom does."""
        blanks = _BLANKS_BEFORE_SEMICOLON if token == ";" else _BLANKS
        self.at = blanks.match(self.text, self.at).end()  # type: ignore[union-attr]
        end = self.at + len(token)
        is_cut = token[-1].isalpha() and bool(_ATOM.match(self.text[end:end + 1]).group())  # type: ignore[union-attr]
        if not self.text.startswith(token, self.at) or is_cut:
            return False
        self.at = end
        return True

    def skip_to_next_line_start(self) -> None:
        """Skips the text up to the next line that begins with an expression."""
        found = _LINE_START.search(self.text, self.at)
        self.at = found.end() if found else len(self.text)

    def read(self) -> SExpression:
        """Raises Problem for text that is no expression, for lists that are nested too deeply, and for control
        characters, so that messages can quote atoms."""
        open_lists: List[SExpression] = []
        while True:
            if self.at_end():
                if open_lists:
                    open_lists[-1].fail("this parenthesis is not closed")
                self.fail("expected an expression, found the end of the text")
            if open_lists and self.text[self.at] == ")":
                self.at += 1
                found = open_lists.pop()
            elif self.text[self.at] == "(":
                if len(open_lists) == _MAX_NESTING:
                    self.fail(f"an expression nested too deeply: more than {_MAX_NESTING} parentheses")
                open_lists.append(SExpression(self.places, self.at, items=[]))
                self.at += 1
                continue
            else:
                found = self._read_string() if self.text[self.at] == '"' else self._read_atom()
            if not open_lists:
                return found
            open_lists[-1].items.append(found)  # type: ignore[union-attr]

    def _read_string(self) -> SExpression:
        result = SExpression(self.places, self.at, is_string=True)
        end = self.text.find('"', self.at + 1)
        result.text = self.text[self.at + 1:end if end >= 0 else None]
        if len(result.text) > _MAX_STRING:
            result.fail(f"a string of more than {_MAX_STRING} characters")
        if end < 0:
            result.fail("this string is not closed")
        self.at = end + 1
        return result

    def _read_atom(self) -> SExpression:
        text = _ATOM.match(self.text, self.at).group()  # type: ignore[union-attr]
        if not text:
            self.fail(f"expected an expression, found '{printable(self.text[self.at], 1)}'")
        result = SExpression(self.places, self.at, text)
        if len(text) > _MAX_ATOM:
            result.fail(f"a word of more than {_MAX_ATOM} characters")
        self.at += len(text)
        return result


def is_integer(text: str) -> bool:
    return re.fullmatch("-?[0-9]+", text) is not None


def is_size(expression: SExpression) -> bool:
    """Whether the expression is a number, or arithmetic."""
    return is_integer(expression.text) if expression.is_atom else expression.head in _SIZE_FUNCTIONS


def is_shape(expression: SExpression) -> bool:
    """Whether the expression is (shapeR TENSOR SIZE…)."""
    return re.fullmatch("shape[0-9]+", expression.head) is not None


def size_text(expression: SExpression, names: Names) -> str:
    """A size in the text form of rules: a number, a name, or (+ a b) with - * / % min max."""
    if expression.is_atom:
        return expression.text if is_integer(expression.text) else names.of(expression.text)
    operands = expression.operands(2)
    if expression.head not in _SIZE_FUNCTIONS or operands is None:
        expression.fail(f"expected a size: a number, a name, or + - * / % min max of two sizes, found {expression}")
    return _SIZE_FUNCTIONS[expression.head].format(*(size_text(each, names) for each in operands))
