"""Progress as a bar."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

_COUNT = re.compile(r"(?P<label>.+?)\s+(?P<done>[\d,]+) of (?P<total>[\d,]+) \(")


class Bar:
    """Shows lines of progress as a bar of tqdm, which is closed at the end; prints them if tqdm is not installed."""

    def __init__(self) -> None:
        self._bar: Any = None
        try:
            self._bar = importlib.import_module("tqdm.auto").tqdm(leave=False)
        except ImportError:
            pass

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, line: str) -> None:
        if self._bar is None:
            print(line, file=sys.stderr, flush=True)
            return
        count = _COUNT.match(line)
        if count:
            self._bar.total, self._bar.n = (int(count[name].replace(",", "")) for name in ("total", "done"))
        self._bar.set_description(count["label"] if count else line.partition(", after ")[0])
