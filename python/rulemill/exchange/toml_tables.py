"""Tables of data files in TOML."""

from __future__ import annotations

import pathlib
from typing import Any, Dict, List, Tuple

from .errors import Problem
from .rules import Data


def _parse(path: str, text: str) -> Data:
    try:
        import tomllib as toml
    except ImportError:
        try:
            import tomli as toml  # type: ignore[import-not-found,no-redef]
        except ImportError:
            raise Problem(path, "cannot be read: Python before 3.11 needs the package tomli") from None
    try:
        return toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise Problem(path, str(error)) from None


def read_table(path: str) -> Tuple[Data, Dict[str, List[Tuple[str, Any]]]]:
    """The root of a file, and the entries of its lists by key, each with the place of its [[key]]."""
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise Problem(path, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Problem(path, "is no text in UTF-8") from None
    root = _parse(path, text)
    entries = {}
    for key, values in root.items():
        lines = [number for number, line in enumerate(text.split("\n"), 1) if line.strip().startswith(f"[[{key}]]")]
        if isinstance(values, list):
            places = [f"{path}:{line}" for line in lines] if len(lines) == len(values) else [path] * len(values)
            entries[key] = list(zip(places, values))
    return root, entries
