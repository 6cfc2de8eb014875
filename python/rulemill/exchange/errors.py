"""What rules and files cannot be."""

from __future__ import annotations


class Problem(Exception):
    """An input that is rejected: `place` (file:line:column, or empty) and what was expected."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(message)
        self.place, self.message = place, message


class NotExpressible(Exception):
    """Why a form cannot express a rule."""
