"""Rules of TASO's generator as readings in the text form: at each assignment of ranks to their inputs that fits the table
of its operators, lowest ranks first."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, NoReturn

from .errors import Problem
from .process import Operators
from .rules import Data, call_text
from .taso_messages import Operator, Rule, decode
from .taso_table import Row, Table

_MAX_RANK, _MAX_READINGS = 4, 8


class _Mismatch(Exception):
    """These ranks do not fit; others may."""


class _Value(NamedTuple):
    text: str
    rank: int


class _Term(NamedTuple):
    """An operator of the definitions with its arguments, and its outputs."""

    text: str
    outputs: List[str]
    ranks: List[int]

    def output(self, number: int, name: str = "") -> _Value:
        return _Value((name or self.text) + f".{self.outputs[number]}" * (len(self.ranks) > 1), self.ranks[number])


class _Node:
    """An operator of a side. Once the ranks of its inputs are known: its term, and the ranks of its outputs."""

    def __init__(self, operator: Operator, row: Row, where: str, name: str) -> None:
        self.operator, self.row, self.where, self.name = operator, row, where, name
        self.term = _Term("", [], [])

    def fail(self, message: str) -> NoReturn:
        raise Problem("", f"{self.where} {message}")

    def number(self, key: int) -> int:
        if key not in self.operator.parameters:
            self.fail(f"has no parameter {key}")
        return self.operator.parameters[key]

    def output(self, number: int, where: str) -> _Value:
        if not 0 <= number < len(self.term.ranks):
            raise Problem("", f"{where} has no output {number}; expected one of {len(self.term.ranks)}, from 0")
        return self.term.output(number, self.name)

    def check_parameters(self, origin: str) -> None:
        """Rejects unsupported values and unknown parameters."""
        given, count = self.operator.parameters, len(self.operator.inputs)
        for key, value in self.row.fixed.items():
            if given.get(key, value) != value:
                self.fail(f"has the value {given[key]} for parameter {key}; only {value} is supported")
        if self.row.count_key is not None and given.get(self.row.count_key, count) != count:
            self.fail(f"has {count} inputs, and its parameter for their number is {given[self.row.count_key]}")
        known = self.row.known_keys()
        for key in given:
            if key not in known:
                self.fail(f"has parameter {key}, which {origin} does not list for '{self.row.operator}'")

    def parameters(self, origin: str) -> str:
        return ", ".join(f"{name}={self.parameter(name, origin)}" for name in self.row.parameters)

    def parameter(self, name: str, origin: str) -> str:
        keys, words, permutation = self.row.parameters[name]
        value = self.number(keys[0])
        for key in keys:
            if self.number(key) != value:
                self.fail(f"has two values for {name} of '{self.row.operator}': {value} and {self.number(key)}")
        if permutation is not None:
            return f"[{', '.join(map(str, self.permutation(value, self.number(permutation))))}]"
        if not words:
            return str(value)
        if 0 <= value < len(words) and words[value]:
            return words[value]
        return self.fail(f"has the value {value} for parameter {keys[0]}, which {origin} does not map to a value")

    def permutation(self, digits: int, axes: int) -> List[int]:
        result = [digits // axes**place % axes for place in reversed(range(min(axes, 8)))]
        if len(result) != axes or digits // axes**axes:
            raise Problem("", f"{self.where}: its permutation does not fit {axes} axes")
        return result

    def operator_after(self, origin: str) -> str:
        """The operator that is applied to the result; empty if there is none."""
        key, names = self.row.after_key, self.row.after_operators
        if key is None or key not in self.operator.parameters:
            return ""
        if not 0 <= self.number(key) < len(names):
            self.fail(f"has the value {self.number(key)} for parameter {key}; {origin} knows {len(names)} values, from 0")
        return names[self.number(key)]


class _Side(NamedTuple):
    name: str
    nodes: Dict[int, _Node]  # by index, arguments before users


class _Reader:
    """A rule. Raises Problem for an operator or value that the table lacks, a wrong number of inputs, a cycle, an output
    that does not exist, an input that only the target has, and ranks that do not fit."""

    def __init__(self, rule: Rule, name: str, table: Table, operators: Operators) -> None:
        self.rule, self.name, self.table, self.operators = rule, name, table, operators
        self.source, self.target = self.side("source", rule.source), self.side("target", rule.target)
        self.check_outputs()
        self.inputs = self.inputs_of(self.source)
        for number in self.inputs_of(self.target):
            if number not in self.inputs:
                raise Problem("", f"its target uses input {-number}, which its source does not have")
        self.ready = self.ready_nodes()
        self.ranks: Dict[int, int] = {}
        self.readings: List[str] = []
        self.mismatch = ""

    def side(self, name: str, operators: List[Operator]) -> _Side:
        nodes: Dict[int, _Node] = {}
        begun = set()

        def visit(index: int) -> None:
            where = f"{name} operator {index}"
            if index in nodes:
                return
            if index in begun:
                raise Problem("", f"{where} takes an output that depends on its own: expected a graph without cycles")
            begun.add(index)
            for tensor in operators[index].inputs:
                if tensor.operator >= len(operators):
                    raise Problem("", f"{where} takes an output of operator {tensor.operator}; expected one of {len(operators)}, from 0")
                if tensor.operator >= 0:
                    visit(tensor.operator)
            row = self.table.rows.get(operators[index].type)
            if row is None:
                raise Problem("", f"{where} has type {operators[index].type}, which {self.table.origin} does not have")
            nodes[index] = _Node(operators[index], row, where, f"_{name}_{index}")

        for index in range(len(operators)):
            visit(index)
        return _Side(name, nodes)

    def check_outputs(self) -> None:
        if not self.rule.outputs:
            raise Problem("", "maps no output of its source to one of its target")
        for number, outputs in enumerate(self.rule.outputs):
            for side, (operator, output) in zip((self.source, self.target), outputs):
                if not 0 <= operator < len(side.nodes):
                    raise Problem("", f"mapped output {number} is output {output} of {side.name} operator {operator}; expected one of "
                                  f"{len(side.nodes)} operators, from 0")

    @staticmethod
    def inputs_of(side: _Side) -> List[int]:
        used = [tensor.operator for node in side.nodes.values() for tensor in node.operator.inputs]
        return list(dict.fromkeys(number for number in used if number < 0))

    def ready_nodes(self) -> List[List[_Node]]:
        """The operators of the source whose inputs all have ranks when so many inputs have, and not before."""
        ready: List[List[_Node]] = [[] for _ in range(len(self.inputs) + 1)]
        counts = {number: count for count, number in enumerate(self.inputs, 1)}
        needed: Dict[int, int] = {}
        for index, node in self.source.nodes.items():
            used = (tensor.operator for tensor in node.operator.inputs)
            needed[index] = max((counts[number] if number < 0 else needed[number] for number in used), default=0)
            ready[needed[index]].append(node)
        return ready

    def read(self) -> List[str]:
        self.try_ranks(0)
        if not self.readings:
            raise Problem("", self.mismatch)
        return self.readings

    def try_ranks(self, known: int) -> None:
        """Tries all ranks for the inputs from the `known` first on, lowest first."""
        if len(self.readings) >= _MAX_READINGS or not self.extend(known) or known == len(self.inputs):
            return
        for rank in range(_MAX_RANK + 1):
            self.ranks[self.inputs[known]] = rank
            self.try_ranks(known + 1)

    def extend(self, known: int) -> bool:
        """Types the operators of the source whose inputs have got ranks, and in the end those of the target. False if the
        ranks do not fit."""
        is_complete = known == len(self.inputs)
        try:
            for node in self.ready[known]:
                self.type_node(node, self.source)
            if is_complete:
                for node in self.target.nodes.values():
                    self.type_node(node, self.target)
                self.readings.append(self.text())
        except _Mismatch as mismatch:
            if is_complete or not self.mismatch:
                self.mismatch = str(mismatch)
            return False
        return True

    def type_node(self, node: _Node, side: _Side) -> None:
        arguments = []
        for operator, output in node.operator.inputs:
            arguments.append(_Value(f"x{-operator}", self.ranks[operator]) if operator < 0 else
                             side.nodes[operator].output(output, f"{node.where}: operator {operator}"))
        row, origin = node.row, self.table.origin
        node.check_parameters(origin)
        allowed = row.ranks if row.rank_key is None else [node.number(row.rank_key)]
        if arguments and allowed and arguments[0].rank not in allowed:
            raise _Mismatch(f"{node.where} takes no tensor of rank {arguments[0].rank}")
        arity = len(self.operators.signatures[row.operator]["inputs"])
        is_folded = row.count_key is not None and arity == 2 and len(arguments) > 2
        if len(arguments) != arity and not is_folded:
            node.fail(f"has {len(arguments)} inputs; '{row.operator}' takes {arity}")
        parameters = node.parameters(origin)
        term = self.apply(node, row.operator, arguments[:arity], parameters)
        for argument in arguments[arity:]:
            term = self.apply(node, row.operator, [term.output(0), argument], parameters)
        if row.outputs_key is not None and node.number(row.outputs_key) != len(term.ranks):
            node.fail(f"has {node.number(row.outputs_key)} outputs; '{row.operator}' has {len(term.ranks)}")
        after = node.operator_after(origin)
        node.term = self.apply(node, after, [term.output(0)], "") if after else term

    def apply(self, node: _Node, operator: str, arguments: List[_Value], parameters: str) -> _Term:
        signature, length = self.operators.signatures[operator], 0
        if signature["has_explicit_rank"]:
            if arguments:
                raise _Mismatch(f"{node.where}: '{operator}' does not take inputs of these ranks")
            length = (node.row.ranks or [_MAX_RANK])[0]
            sizes = f"{signature['sizes'][-1].removesuffix('...')}=[{', '.join('?' * length)}]"
            parameters = f"{parameters}, {sizes}" if parameters else sizes
        call = call_text(operator, [f"x{i}" for i in range(len(arguments))], parameters)
        call += f".{signature['outputs'][0]}" * (len(signature["outputs"]) > 1)
        shapes = [[f"d{i}_{d}" for d in range(each.rank)] for i, each in enumerate(arguments)]
        described = self.operators.describe(call, shapes, length)
        if "problem" in described:
            reason = described["problem"].removeprefix(f"this cannot be made of '{operator}': ")
            is_other = described["fits"] or not arguments
            raise _Mismatch(f"{node.where}: " + (reason if is_other else f"'{operator}' does not take inputs of these ranks"))
        text = call_text(operator, [each.text for each in arguments], parameters)
        return _Term(text, [each["name"] for each in described["outputs"]], [each["rank"] for each in described["outputs"]])

    def text(self) -> str:
        """The rule, with a `let` for each operator, so that shared terms are written once."""
        sides = []
        for side, outputs in zip((self.source, self.target), zip(*self.rule.outputs)):
            sides.append([side.nodes[operator].output(output, f"{side.name} operator {operator}") for operator, output in outputs])
        for number, (left, right) in enumerate(zip(*sides)):
            if left.rank != right.rank:
                raise _Mismatch(f"mapped output {number} has another rank on the left than on the right")
        variables = ", ".join(f"x{-number}:{self.ranks[number]}" for number in self.inputs)
        lets = "".join(f"  let {node.name} = {node.term.text}\n" for side in (self.source, self.target) for node in side.nodes.values())
        source, target = (", ".join(each.text for each in side) for side in sides)
        return f"rule {self.name}({variables})\n{lets}  {source} => {target}\n"


def _read(rule: Rule, number: int, origin: str, table: Table, operators: Operators) -> Data:
    result: Data = {"name": f"t{number}", "place": f"{origin}: rule {number}"}
    try:
        return {**result, "readings": _Reader(rule, f"t{number}", table, operators).read(), "sizes": [], "infers_positions": True}
    except Problem as problem:
        return {**result, "problem": problem.message}
    except RecursionError:
        return {**result, "problem": "expected a rule with fewer operators in a row"}


def read(request: Data, operators: Operators) -> Data:
    table = Table(request, operators.signatures)
    try:
        rules = decode(bytes.fromhex(request["text"]))
    except ValueError:
        raise Problem(request["origin"], "is no collection of rules in TASO's protobuf form, or is cut short") from None
    return {"statements": [_read(rule, number, request["origin"], table, operators) for number, rule in enumerate(rules, 1)]}
