"""The StableHLO forms of operators: data/exports/stablehlo.toml, which documents its format, and its expressions."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Mapping, NoReturn, Optional, Union

from .errors import NotExpressible, Problem
from .rules import Data
from .sizes import Expression, Size, number, parse_size, python_text
from .toml_tables import read_table

COMMUTATIVE = frozenset(["add", "multiply", "maximum", "minimum", "and", "or", "xor"])
# How a broadcast input has a dimension.
WHOLE, ONE, ABSENT = number(0), number(1), number(2)
_FIELDS = {"operations": dict, "output": str, "when": dict, "inputs": list, "broadcast": dict, "attributes": dict,
           "optional": dict}

#: A size, a list of them, or a list of lists.
Value = Union[Size, List[Any]]
Names = Mapping[str, Value]


class _Expression(Expression):
    """An expression of the table: also names of lists, [a, b], functions of lists, arithmetic of lists by element."""

    def __init__(self, text: str, names: Names, place: str) -> None:
        super().__init__(text, place)
        self.names = names

    def of(self, node: Any) -> Value:
        found: Value = [self.one(self.of(each)) for each in node.elts] if hasattr(node, "elts") else super().of(node)
        return found

    def named(self, name: str) -> Value:
        if name not in self.names:
            self.fail(f"expected an input, size or parameter of the operator instead of '{name}'")
        return self.names[name]

    def combine(self, a: Value, b: Value, operation: Callable[[Size, Size], Size]) -> Value:
        if not isinstance(a, list) and not isinstance(b, list):
            return operation(a, b)
        length = max(len(each) for each in (a, b) if isinstance(each, list))
        left, right = (each if isinstance(each, list) else [each] * length for each in (a, b))
        if len(left) != len(right):
            self.fail("expected lists of one length")
        return list(map(operation, left, right))

    def one(self, value: Value) -> Size:
        return self.fail("expected a number instead of a list") if isinstance(value, list) else value

    def index(self, value: Value, end: int) -> int:
        found = self.one(value).constant
        return found if found is not None and 0 <= found < end else self.fail("expected a smaller number")

    def call(self, function: str, given: List[Value]) -> Value:
        kind = (function, len(given))
        if kind == ("iota", 1):
            return [number(i) for i in range(self.index(given[0], 64))]
        first = given[0] if given else None
        if isinstance(first, list):
            if kind == ("rank", 1):
                return number(len(first))
            if kind == ("kept", 1):  # the dimensions of the result that an input has: all, if the spread is empty
                result = self.named("result")
                length = len(first or result)  # type: ignore[arg-type]
                return [number(i) for i in range(length) if not first or first[i] != ABSENT]
            if kind == ("uniform", 2):
                return [self.one(given[1])] * len(first)
            if kind == ("set", 3):
                axis = self.index(given[1], len(first))
                return [*first[:axis], self.one(given[2]), *first[axis + 1:]]
            if kind == ("pairs", 2) and isinstance(given[1], list):
                return [list(each) for each in zip(first, given[1])]
        return self.fail("expected rank(list), iota(n), uniform(list, n), set(list, axis, n), kept(spread) or "
                         "pairs(a, b)")


def _text(value: Value) -> str:
    if isinstance(value, list):
        return ", ".join(f"[{_text(each)}]" if isinstance(each, list) else _text(each) for each in value)
    return str(value.constant) if value.constant is not None else "{" + python_text(value) + "}"


class Form:
    """An output of an operator as a StableHLO operation. The texts are templates (fill)."""

    def __init__(self, operator: str, operation: str, data: Data, place: str) -> None:
        self.operator, self.operation, self.place = operator, operation, place
        self.output: str = data.get("output", "")  # all outputs if empty
        self.inputs: List[str] = data.get("inputs", [])  # all inputs if empty
        self.when: Dict[str, str] = data.get("when", {})
        self.broadcast: Dict[str, str] = data.get("broadcast", {})
        self.attributes: Dict[str, str] = dict(sorted(data.get("attributes", {}).items()))
        self.optional: Dict[str, List[str]] = dict(sorted(data.get("optional", {}).items()))

    def fits(self, parameters: Mapping[str, Any]) -> bool:
        """"whole" is a spread that broadcasts nothing."""
        given = {name: "whole" if isinstance(value, list) and not any(value) else str(value)
                 for name, value in parameters.items()}
        return all(given.get(name) == value for name, value in self.when.items())

    def evaluate(self, expression: str, names: Names) -> List[Size]:
        value = _Expression(expression, names, self.place).value()
        return value if isinstance(value, list) else [value]

    def fill(self, text: str, names: Names) -> str:
        """Replaces each {expression} by its value: a number as such, another one as {expression in Python}, the items
        of a list with commas."""
        parts = text.split("{")
        result = parts[0]
        for part in parts[1:]:
            expression, brace, rest = part.partition("}")
            if not brace:
                raise Problem(self.place, f"expected '}}' in '{text}'")
            value = _Expression(expression, names, self.place).value()
            if value == [] and result.endswith(": "):  # MLIR writes an empty array without a colon
                result = result[:-2]
            result += _text(value) + rest
        return result


def names_of(data: Data, result: Optional[List[Size]]) -> Dict[str, Value]:
    """The names in the templates of a form: sizes and parameters of an operator instance, its inputs, the result."""
    names: Dict[str, Value] = {name: parse_size(value) for name, value in data["slots"].items()}
    for each in data["parameters"]:
        value = each["value"]
        if not isinstance(value, str):
            names[each["name"]] = [number(item) for item in value] if isinstance(value, list) else number(value)
    for tensor in data["inputs"]:
        names[tensor["name"]] = [parse_size(size) for size in tensor["shape"]]
    return names if result is None else {**names, "result": list(result)}


class Table:
    """The forms of all operators. Operators that the definitions lack are allowed: the table includes those of XLA."""

    def __init__(self, folder: str, operators: Mapping[str, Data]) -> None:
        self.forms: List[Form] = []
        self.reasons: Dict[str, str] = {}  # of operators that have no form
        self.place = os.path.join(folder, "exports", "stablehlo.toml")
        root, entries = read_table(self.place)
        self.check(root, {"forms": list, "without": list})
        for key in root:
            for self.place, entry in entries[key]:
                (self.add_forms if key == "forms" else self.add_reason)(entry, operators)

    def check(self, table: Any, fields: Mapping[str, type]) -> None:
        """Raises Problem for unknown keys and other types, also of the texts in lists and tables."""
        if not isinstance(table, dict) or not all(isinstance(table.get(key), (kind, type(None)))
                                                  for key, kind in fields.items()):
            self.fail("expected [[forms]] and [[without]] with lists and tables of texts")
        self.expect("key", table, fields)

    def check_texts(self, texts: Any) -> None:
        for text in texts.values() if isinstance(texts, dict) else texts:
            if not isinstance(text, str):
                self.fail(f"expected a text in quotes, found {text}")

    def fail(self, message: str) -> NoReturn:
        raise Problem(self.place, message)

    def expect(self, what: str, names: Any, known: Any) -> None:
        for name in names:
            if name not in known:
                self.fail(f"unknown {what} '{name}'; expected one of {', '.join(known)}")

    def add_reason(self, entry: Data, _: Mapping[str, Data]) -> None:
        self.check(entry, {"operators": list, "reason": str})
        reason = entry.get("reason") or self.fail("expected a reason")
        self.reasons.update(dict.fromkeys(entry.get("operators", []), reason))

    def add_forms(self, entry: Data, operators: Mapping[str, Data]) -> None:
        self.check(entry, _FIELDS)
        for key, value in entry.items():
            for texts in value.values() if key == "optional" else [[value] if key == "output" else value]:
                self.check_texts(texts)
                if key == "optional" and len(texts) != 2:
                    self.fail("expected [value, value of an absent attribute]")
        operations = entry.get("operations") or self.fail('expected operations = { OPERATOR = "OPERATION" }')
        for operator, operation in sorted(operations.items()):
            if operator in operators:
                signature = operators[operator]
                self.expect("output", [entry["output"]] if "output" in entry else [], signature["outputs"])
                self.expect("parameter", entry.get("when", {}), [each["name"] for each in signature["parameters"]])
            self.forms.append(Form(operator, operation, entry, self.place))

    def forms_of_operation(self, operation: str) -> List[Form]:
        return [form for form in self.forms if form.operation == operation]

    def form_of(self, data: Data, output: int) -> Form:
        """The first form that fits the parameters of an operator instance. Raises NotExpressible if there is none."""
        operator, parameters = data["operator"], {each["name"]: each["value"] for each in data["parameters"]}
        name = data["outputs"][output]["name"]
        forms = [form for form in self.forms if form.operator == operator and form.output in ("", name)]
        fitting = [form for form in forms if form.fits(parameters)]
        if fitting:
            return fitting[0]
        reason = f": {self.reasons[operator]}" if operator in self.reasons else " has no StableHLO form " + (
            "with these parameters" if forms else "of one operation")
        raise NotExpressible(operator + reason)
