"""Errors of the program, parsed from its one-line messages."""

from __future__ import annotations

import re
from typing import Optional, Sequence

_PLACE = re.compile(r"(?P<file>.+?):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<problem>.*)")
_EXPECTED = re.compile(r"\bexpected (?P<expected>.+?)(?:, found .*|; .*|$)")


class Error(Exception):
    """The program failed (exit code 1), or is missing.

    `message`: the whole line; `file`, `line`, `column`: the place that it names, as far as it does; `expected`: what was expected
    there, or None; `exit_code`: see docs/commands.md."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
        self.file: Optional[str] = None
        self.line: Optional[int] = None
        self.column: Optional[int] = None
        place = _PLACE.match(message)
        if place:
            self.file, self.line = place["file"], int(place["line"])
            self.column = int(place["column"]) if place["column"] else None
        else:
            before, colon, problem = message.partition(": ")
            is_file = "/" in before or exit_code == 3 and (" " not in before or problem.startswith(("cannot ", "is not ")))
            self.file = before if colon and is_file and not before.startswith("--") else None
        expected = _EXPECTED.search(message)
        self.expected = expected["expected"] if expected else None


class UsageError(Error):
    """An unknown option, or an invalid value of one (exit code 2)."""


class InputError(Error):
    """An invalid or unreadable file: a model, a rule, a definition, a database (exit code 3)."""


class Interrupted(Error):
    """The program was stopped by a signal from outside (exit code 4). The same call resumes a discovery."""


_CLASSES = {2: UsageError, 3: InputError, 4: Interrupted}


def error_of(exit_code: int, lines: Sequence[str]) -> Error:
    """The error of a program that ended with this code after these lines on stderr."""
    messages = [line[len("rulemill: "):] for line in lines if line.startswith("rulemill: ")]
    if exit_code < 0:
        return Error(f"the program was ended by signal {-exit_code}", exit_code)
    message = messages[-1] if messages else (lines[-1] if lines else f"the program ended with exit code {exit_code}")
    return _CLASSES.get(exit_code, Error)(message, exit_code)
