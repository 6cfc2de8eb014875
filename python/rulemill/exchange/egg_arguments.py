"""The arguments of an operator in the forms of egg and egglog: its tensors, and its parameters as text."""

from __future__ import annotations

import re
from typing import Dict, List, Sequence

from .rules import Data, Names
from .s_expressions import SExpression, is_integer, is_size, size_text

_LISTS = ("ints", "axes", "new_axes", "permutation", "spread", "sizes")


def _is_literal(argument: SExpression) -> bool:
    """Whether an argument is a number or a list of numbers."""
    if argument.items is not None:
        return bool(argument.items) and is_integer(argument.items[0].text)
    return all(map(is_integer, argument.text.split("_")))


class Arguments:
    """The arguments of a call of an operator with this signature. Parameters that follow the tensors are in the order
    of the definition, sizes last; `:stride 2` names one. In a constructor of an exported program, such as
    (avg_pool-4-pad.valid ?x 3 2), the other numbers follow by name, then the sizes."""

    def __init__(self, call: SExpression, operator: str, signature: Data, sizes: Names) -> None:
        self.call, self.operator, self.size_names = call, operator, sizes
        self.kinds: Dict[str, str] = {each["name"]: each["kind"] for each in signature["parameters"]}
        self.sizes: List[str] = signature["sizes"]
        self.words = {word for each in signature["parameters"] if each["kind"] == "enum" for word in each["values"]}
        self.given: Dict[str, str] = {}
        self.output = ""            # of a constructor of an operator with several outputs
        self.ranks: List[int] = []  # of the tensors, in a constructor
        self.arity = len(signature["inputs"])
        is_constructor = call.head != operator
        positional = self._read_named()
        if len(positional) < self.arity:
            tensors = f"{self.arity} tensor{'s' * (self.arity != 1)}"
            call.fail(f"operator '{operator}' takes {tensors}, found {len(positional)}")
        parameters_first = not is_constructor and any(
            _is_literal(each) or each.text in self.words for each in positional[:self.arity])
        first = len(positional) - self.arity if parameters_first else 0
        self.tensors = positional[first:first + self.arity]
        del positional[first:first + self.arity]
        if is_constructor:
            self._read_constructor()
            self._add_numbers(positional)
        else:
            self._add_positional(positional)

    @property
    def parameters(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.given.items())

    def _kind(self, name: str) -> str:
        if name in self.kinds:
            return self.kinds[name]
        return "size" if name in self.sizes else "sizes" if name + "..." in self.sizes else ""

    def _read_named(self) -> List[SExpression]:
        """Reads the parameters of the form `:stride 2`. Returns the other arguments."""
        others = []
        items = iter((self.call.items or [])[1:])
        for argument in items:
            if not argument.is_atom or not argument.text.startswith(":"):
                others.append(argument)
                continue
            name, value = argument.text[1:], next(items, None)
            self._require_parameter(name, argument)
            if value is None:
                argument.fail(f"expected a value after {argument.text}")
            self._add(name, value)
        return others

    def _require_parameter(self, name: str, at: SExpression) -> None:
        if not self._kind(name):
            at.fail(f"operator '{self.operator}' has no parameter '{name}'")

    def _add(self, name: str, value: SExpression) -> None:
        if name in self.given:
            value.fail(f"parameter '{name}' has two values")
        kind = self._kind(name)
        if kind in _LISTS:
            self.given[name] = f"[{self._list_text(kind, value)}]"
        elif kind != "enum":
            self.given[name] = self._number_text(kind, value)
        elif value.is_atom and re.fullmatch("[A-Za-z][A-Za-z0-9_]*", value.text):
            self.given[name] = value.text
        else:
            value.fail(f"expected a word, found {value}")

    def _number_text(self, kind: str, value: SExpression) -> str:
        """A number; a size where the parameter may be one."""
        if kind not in ("size", "sizes", "int", "ints") and not (value.is_atom and is_integer(value.text)):
            value.fail(f"expected a number, found {value}")
        return "?" if value.is_atom and value.text == "?" else size_text(value, self.size_names)

    def _list_text(self, kind: str, value: SExpression) -> str:
        """(1 0), [1 0], 1_0 or a single number."""
        if value.items is not None and not is_size(value):
            return ", ".join(self._number_text(kind, item) for item in value.items)
        if value.is_atom and _is_literal(value):
            return ", ".join(value.text.split("_"))
        return self._number_text(kind, value)

    def _add_positional(self, values: List[SExpression]) -> None:
        """A list of sizes takes all that are left."""
        for name in [*self.kinds, *self.sizes]:
            if not values:
                return
            if name.endswith("..."):
                return self._add_list(name[:-3], values)
            if name not in self.given:
                self._add(name, values.pop(0))
        if values:
            values[0].fail(f"operator '{self.operator}' has no parameter for {values[0]}")

    def _add_list(self, name: str, values: Sequence[SExpression]) -> None:
        """A list parameter whose numbers are arguments of their own; or one argument that is a list."""
        whole = SExpression(self.call.places, self.call.at, items=list(values))
        if len(values) == 1 and values[0].items is not None:
            whole = values[0]
        elif values and is_size(whole):
            self.call.fail("expected a list of sizes")
        self._add(name, whole)

    def _read_constructor(self) -> None:
        """NAME-RANKS-PARAMETER.VALUE-OUTPUT, as axis.1, pad.valid, perm.1.0, left. (an empty list)"""
        parts = self.call.head.split("-")[1:]
        count = max(self.arity, 1)
        if not all(re.fullmatch("[0-9]{1,2}", part) for part in parts[:count]):
            self.call.fail(f"expected {count} rank{'s' * (count != 1)} after '{self.operator}-'")
        if len(parts) < count:
            self.call.fail(f"'{self.call.head}' lacks a rank")
        self.ranks = list(map(int, parts[:self.arity]))
        for part in parts[count:]:
            name, dot, value = part.partition(".")
            if not dot:
                self.output = part
                continue
            self._require_parameter(name, self.call)
            numbers = [SExpression(self.call.places, self.call.at, each) for each in value.split(".") if value]
            if self._kind(name) in _LISTS:
                self._add(name, SExpression(self.call.places, self.call.at, items=numbers))
            else:
                self._add(name, SExpression(self.call.places, self.call.at, value))

    def _add_numbers(self, values: List[SExpression]) -> None:
        """The integer parameters that a constructor's name lacks, by name; then the sizes. Lists of integers share what
        the others leave, as they have one entry per dimension."""
        names = sorted(name for name, kind in self.kinds.items() if kind in ("int", "ints") and name not in self.given)
        lists = [name for name in names if self.kinds[name] == "ints"]
        rest = len(values) - len(names) + len(lists) - len(self.sizes)
        for name in [*names, *self.sizes]:
            count = len(values) if name.endswith("...") else rest // len(lists) if name in lists else 1
            if len(values) < count or count < 0:
                self.call.fail(f"'{self.call.head}' lacks numbers for its parameter '{name}'")
            if name.endswith("...") or name in lists:
                self._add_list(name.removesuffix("..."), values[:count])
            else:
                self._add(name, values[0])
            del values[:count]
        if values:
            values[0].fail(f"'{self.call.head}' has no parameter for it")
