"""A cursor over MLIR's text: words, names of values, strings, and text in brackets. Skips blanks and comments.

xDSL's parser of PDL would need Python 3.11 and three other packages, and rejects a file for an error in one pattern."""

from __future__ import annotations

import re
from typing import Any, Dict, List, NoReturn

from .errors import Places, Problem

_MAX_QUOTED, _MAX_NESTING = 40, 20
_BLANKS = re.compile(r"(?:[ \t\n\v\f\r]+|//[^\n]*)*")
_WORD = re.compile(r"[A-Za-z0-9_.$]*")
_INSIDE = re.compile("[A-Za-z0-9_.$]{2}")  # of a word
_STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')
_BRACES = re.compile(rf'//[^\n]*|{_STRING.pattern}|["{{}}]')
# Of an attribute: characters without a meaning here, ->, strings, and single characters.
_PART = re.compile(rf'[^ \t\n\v\f\r"/()\[\]{{}}<>-]+|->|{_STRING.pattern}|[^ \t\n\v\f\r]')
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}


class MlirText:
    def __init__(self, text: str, origin: str) -> None:
        self.text, self.places, self.at = text, Places(text, origin), 0

    def fail(self, message: str) -> NoReturn:
        """Raises Problem at the next character."""
        raise Problem(self.place(), message)

    def place(self) -> str:
        self.skip_blanks()
        return self.places.of(self.at)

    def next_text(self) -> str:
        """The next few characters, for messages."""
        self.skip_blanks()
        line = self.text[self.at:self.at + _MAX_QUOTED].partition("\n")[0]
        shown = re.sub("[^ -~]", "?", line).rstrip(" ")
        return f"'{shown}'" if shown else "the end of the text"

    def skip_blanks(self) -> None:
        found = _BLANKS.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def peek(self) -> str:
        """The next character that is no blank; empty at the end."""
        self.skip_blanks()
        return self.text[self.at:self.at + 1]

    def accept(self, token: str) -> bool:
        """Reads this symbol or word if it is next. A word ends where its letters, digits, dots and underscores do."""
        self.skip_blanks()
        end = self.at + len(token)
        if not self.text.startswith(token, self.at) or _INSIDE.match(self.text, end - 1):
            return False
        self.at = end
        return True

    def expect(self, token: str, after: str) -> None:
        if not self.accept(token):
            self.fail(f"expected '{token}' after {after}, found {self.next_text()}")

    def word(self) -> str:
        self.skip_blanks()
        found = _WORD.match(self.text, self.at)
        word = found.group() if found else ""
        self.at += len(word)
        return word

    def value_name(self, after: str) -> str:
        """Reads %name and returns the name."""
        if not self.accept("%"):
            self.fail(f"expected a value such as %x after {after}, found {self.next_text()}")
        name = self.word() or self.fail("expected a name after %")
        if self.accept("#"):
            self.fail(f"expected a value with one result, found %{name}#")
        return name

    def string(self, after: str) -> str:
        if self.peek() != '"':
            self.fail(f"expected a text in quotes after {after}, found {self.next_text()}")
        found = _STRING.match(self.text, self.at) or self.fail("this quotation mark is not closed")
        self.at = found.end()
        return re.sub(r"\\(22|.)", lambda code: '"' if code[1] == "22" else code[1], found[1])

    def attribute(self) -> str:
        """Reads up to the end of the line or a closing bracket, except in brackets and quotes. Blanks become one."""
        begin, result, open_brackets = self.at, "", ""
        self.skip_blanks()
        while self.at < len(self.text):
            found = _PART.match(self.text, self.at)
            part = found.group() if found else ""
            if not part or self.text.startswith("//", self.at):
                blank = self.at
                self.skip_blanks()
                if not open_brackets and "\n" in self.text[blank:self.at]:
                    break
                result += " "
                continue
            if part == '"':
                self.fail("this quotation mark is not closed")
            if part in _BRACKETS:
                if not open_brackets:
                    break
                if open_brackets[-1] != _BRACKETS[part]:
                    self.fail("this bracket closes no bracket of the attribute")
                open_brackets = open_brackets[:-1]
            open_brackets += part if part in _BRACKETS.values() else ""
            result += part
            self.at += len(part)
        result = result.rstrip(" ")
        if open_brackets or not result:
            self.at = begin
            self.fail("a bracket of this attribute is not closed" if open_brackets else
                      f"expected an attribute, found {self.next_text()}")
        return result

    def skip_braces(self) -> None:
        """Skips text in braces. Raises Problem at the opening brace if it is not closed."""
        self.skip_blanks()
        depth = 0
        for found in _BRACES.finditer(self.text, self.at):
            if found.group() == '"':
                self.at = found.start()
                self.fail("this quotation mark is not closed")
            depth += {"{": 1, "}": -1}.get(found.group(), 0)
            if depth == 0 and found.group() == "}":
                self.at = found.end()
                return
        self.fail("this brace is not closed")

    def data(self, depth: int = 0) -> Any:
        """Reads an attribute of lists, dictionaries, strings and integers."""
        if depth > _MAX_NESTING:
            self.fail("an attribute nested too deeply")
        if self.peek() == '"':
            return self.string("")
        if self.accept("["):
            items: List[Any] = []
            while not self.accept("]"):
                if items:
                    self.expect(",", "an item of a list")
                items.append(self.data(depth + 1))
            return items
        if self.accept("{"):
            entries: Dict[str, Any] = {}
            while not self.accept("}"):
                if entries:
                    self.expect(",", "an entry of a dictionary")
                key = self.string("") if self.peek() == '"' else self.word()
                if not key:
                    self.fail(f"expected a name, found {self.next_text()}")
                self.expect("=", key)
                entries[key] = self.data(depth + 1)
            return entries
        word = self.word()
        if not re.fullmatch("[0-9]{1,9}", word):
            self.fail("expected a text, a list, a dictionary or an integer")
        if self.accept(":"):
            self.word()
        return int(word)
