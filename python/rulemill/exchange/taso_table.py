"""The meaning of the numbers in TASO's rule files: data/imports/taso.toml, which documents its format."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

from .errors import Problem
from .rules import Data
from .toml_tables import read_table

_MAX_NUMBER = 1 << 20
# The forms of values: a type, a list of them, lists of so many numbers, or a table.
_ENTRY = {"type": int, "operator": str, "ranks": [int], "rank_key": int, "count_key": int, "outputs_key": int, "fixed": [(int, int)],
          "shape_keys": [(int, int, int)], "ignored": [int], "after": {"key": int, "operators": [str]}, "parameters": dict}
_PARAMETER = {"keys": [int], "words": [str], "permutation": int}


class Parameter(NamedTuple):
    """The encoding of one parameter of a definition in numbered parameters."""

    keys: List[int]             # all of them have the value
    words: List[str]            # by number, for an enum parameter
    permutation: Optional[int]  # for a permutation: the key of its number of axes


class Row(NamedTuple):
    """An operator of TASO, and that of the definitions. Names in _key are of numbers of parameters."""

    type: int
    operator: str
    ranks: List[int]
    rank_key: Optional[int]
    count_key: Optional[int]
    outputs_key: Optional[int]
    fixed: Dict[int, int]                    # values by key
    shape_keys: List[Tuple[int, int, int]]   # key, argument, dimension
    ignored: List[int]
    after_key: Optional[int]
    after_operators: List[str]               # applied to the result, by the value of after_key; empty: none
    parameters: Dict[str, Parameter]

    def known_keys(self) -> Set[Optional[int]]:
        known = {self.rank_key, self.count_key, self.outputs_key, self.after_key, *self.ignored, *self.fixed}
        return known.union((key for key, _, _ in self.shape_keys),
                           *([*each.keys, each.permutation] for each in self.parameters.values()))


class _Entry:
    """An entry of the table, or a part of it. Faults are Problems with its place."""

    def __init__(self, place: str, operators: Mapping[str, Data]) -> None:
        self.place, self.operators = place, operators

    def expect(self, condition: bool, message: str) -> None:
        if not condition:
            raise Problem(self.place, message)

    def check(self, value: Any, form: Any, what: str) -> None:
        if form is int:
            self.expect(type(value) is int and 0 <= value <= _MAX_NUMBER, f"{what} is a number from 0 on")
        elif form is str:
            self.expect(isinstance(value, str), f"{what} is a word")
        elif isinstance(form, (list, tuple)):
            self.expect(isinstance(value, list), f"{what} is a list")
            self.expect(isinstance(form, list) or len(value) == len(form), f"{what} has {len(form)} numbers")
            for each in value:
                self.check(each, form[0], f"each of {what}")
        else:
            self.expect(isinstance(value, dict), f"{what} is a table")
            for key in value if isinstance(form, dict) else ():
                self.expect(key in form, f"unknown key '{key}'; known are {', '.join(form)}")
                self.check(value[key], form[key], key)

    def row(self, entry: Any) -> Row:
        self.check(entry, _ENTRY, "an entry of operators")
        self.expect("type" in entry, "has no type")
        operator, after, parameters = entry.get("operator"), entry.get("after", {}), entry.get("parameters", {})
        self.expect(operator in self.operators, "names no operator that the definitions have")
        self.expect(len(after) in (0, 2), "after has a key and operators")
        for name in after.get("operators", []):
            self.expect(not name or name in self.operators, f"'{name}' is no operator that the definitions have")
        for name, parameter in parameters.items():
            known = any(each["name"] == name for each in self.operators[operator]["parameters"])
            self.expect(known, f"operator '{operator}' has no parameter '{name}'")
            self.check(parameter, _PARAMETER, "a parameter")
            self.expect(bool(parameter.get("keys")), "a parameter has at least one key")
        return Row(entry["type"], operator, entry.get("ranks", []), entry.get("rank_key"), entry.get("count_key"), entry.get("outputs_key"),
                   dict(entry.get("fixed", [])), entry.get("shape_keys", []), entry.get("ignored", []), after.get("key"),
                   after.get("operators", []), {name: Parameter(each["keys"], each.get("words", []), each.get("permutation"))
                                                for name, each in sorted(parameters.items())})


class Table:
    """The operators of TASO by number. Raises Problem for what the definitions lack, or a number that two entries have."""

    def __init__(self, request: Data, operators: Mapping[str, Data]) -> None:
        self.origin: str = request["table"] or os.path.join(request["data"], "imports", "taso.toml")
        root, entries = read_table(self.origin)
        whole = _Entry(self.origin, operators)
        whole.expect("operators" in entries, "has no [[operators]]")
        whole.expect(len(root) == 1, "has other keys than operators")
        self.rows: Dict[int, Row] = {}
        for place, entry in entries["operators"]:
            row = _Entry(place, operators).row(entry)
            if self.rows.setdefault(row.type, row) is not row:
                raise Problem(place, f"two entries have type {row.type}")
