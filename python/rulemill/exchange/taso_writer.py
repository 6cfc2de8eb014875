"""Rules in TASO's protobuf form, which has neither shapes nor conditions, and only the operators of a table."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Tuple

from .errors import NotExpressible
from .rules import Data
from .taso_messages import MappedOutput, Operator, Rule, Tensor, encode
from .taso_table import Parameter, Row, Table


def _number_of(value: Any, parameter: Parameter, what: str) -> int:
    """A parameter's value as a number."""
    if isinstance(value, int):
        return value
    if isinstance(value, list) and all(isinstance(each, int) for each in value):
        digits = 0
        for axis in value:
            digits = digits * len(value) + axis
        return digits
    if value not in parameter.words:
        raise NotExpressible(f"{what} has no number for {'?' if isinstance(value, list) else value}")
    return parameter.words.index(value)


class _Writer:
    def __init__(self, rule: Data, table: Table, operators: Dict[str, Data]) -> None:
        self.rule, self.table, self.operators = rule, table, operators
        self.tensors = {term: Tensor(-1 - term, 0) for term in range(len(rule["variables"]))}

    def write(self) -> bytes:
        (source, from_source), (target, from_target) = self.side("source"), self.side("target")
        outputs = []
        for terms in zip(self.rule["source"]["outputs"], self.rule["target"]["outputs"]):
            if min(terms) < len(self.rule["variables"]):
                raise NotExpressible("an output is an input itself")
            outputs.append(MappedOutput(from_source[terms[0]], from_target[terms[1]]))
        return encode(Rule(source, target, outputs))

    def side(self, name: str) -> Tuple[List[Operator], Dict[int, Tensor]]:
        """The operators of a side, and its terms as tensors."""
        operators: List[Operator] = []
        tensors = dict(self.tensors)
        for number in self.rule[name]["nodes"]:
            node = self.rule["nodes"][number]
            row = next((row for row in self.table.rows.values() if row.operator == node["operator"]), None)
            if row is None:
                raise NotExpressible(f"'{node['operator']}' has no number")
            inputs = [tensors[term] for term in node["arguments"]]
            tensors.update((term, Tensor(len(operators), output)) for output, term in enumerate(node["terms"]))
            operators.append(Operator(row.type, inputs, dict(sorted(self.numbers(node, row).items()))))
        return operators, tensors

    def numbers(self, node: Data, row: Row) -> Dict[int, int]:
        result = dict(row.fixed)
        defaults = {each["name"]: each.get("default") for each in self.operators[row.operator]["parameters"]}
        for each in node["parameters"]:
            name, value = each["name"], each["value"]
            parameter = row.parameters.get(name)
            if parameter is None:
                if value != defaults[name]:
                    raise NotExpressible(f"{name} of '{row.operator}' has no number")
                continue
            number = _number_of(value, parameter, f"{name} of '{row.operator}'")
            result.update(dict.fromkeys(parameter.keys, number))
            if parameter.permutation is not None:
                result[parameter.permutation] = len(value)
        if row.rank_key is not None:
            result[row.rank_key] = len(node["inputs"][0]["shape"])
        if row.count_key is not None:
            result[row.count_key] = len(node["arguments"])
        if row.outputs_key is not None:
            result[row.outputs_key] = len(node["outputs"])
        if row.after_key is not None:
            result.setdefault(row.after_key, [*row.after_operators, ""].index(""))
        for key, argument, dimension in row.shape_keys:
            term = node["arguments"][argument]
            size = self.rule["terms"][term]["shape"][dimension]
            if term < len(self.rule["variables"]) and size.isdigit():
                result[key] = int(size)
        return result


def write(request: Data, messages: Iterator[Data]) -> Data:
    """Each rule in the bytes of a file of its own, or why it has none."""
    table = Table(request, request["operators"])
    rules: List[Data] = []
    for message in messages:
        try:
            rules.append({"bytes": list(_Writer(message["form"], table, request["operators"]).write())})
        except NotExpressible as error:
            rules.append({"reason": str(error)})
    return {"rules": rules}
