"""What rules and files cannot be."""

from __future__ import annotations

import bisect
import re
from typing import Tuple


class Problem(Exception):
    """An input that is rejected: `place` (file:line:column, or empty) and what was expected."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(message)
        self.place, self.message = place, message


class NotExpressible(Exception):
    """Why a form cannot express a rule."""


class Places:
    """The places in a text that begins at a line and column of a file."""

    def __init__(self, text: str, origin: str, line: int = 1, column: int = 1) -> None:
        self.origin, self.line, self.column = origin, line, column
        self._starts = [0] + [at + 1 for at, character in enumerate(text) if character == "\n"]

    def position(self, at: int) -> Tuple[int, int]:
        line = bisect.bisect_right(self._starts, at) - 1
        return self.line + line, at - self._starts[line] + (self.column if line == 0 else 1)

    def of(self, at: int) -> str:
        """file:line:column"""
        line, column = self.position(at)
        return f"{self.origin}:{line}:{column}"


def printable(text: str, length: int) -> str:
    """Text for one line of a message: control characters become '?', and the middle of a long text is cut out."""
    if len(text) > length:
        text = f"{text[:length * 2 // 3]} ... {text[-(length // 3):]}"
    return re.sub("[\\x00-\\x1f\\x7f-\\x9f]", "?", text)
