"""The records of a rule database (algebra/rules/rule_set.proto)."""

from dataclasses import dataclass

from definitions import Library, Symbolic
from polynomials import Arithmetic
from rules import Node, Output, Rule, Variable
from syntax import parse_poly


def fields(data: bytes) -> dict[int, list]:
    """A protobuf message: the values of each field, numbers or bytes."""
    result, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        result.setdefault(tag >> 3, []).append(value)
    return result


def number(message: dict, key: int) -> int:
    return message.get(key, [0])[-1]


def text(message: dict, key: int) -> str:
    return message.get(key, [b""])[-1].decode()


@dataclass
class Record:
    id: str
    rule: Rule
    kind: int  # 1: by definitions, 2: by derivation
    certificate: str


class Database:
    """The records of a rule database, and the digests of the definitions that it names."""

    def __init__(self, data: bytes):
        message = fields(data)
        self.rules = message.get(3, [])
        provenance = fields(message.get(2, [b""])[-1])
        self.digests = {text(op, 1): text(op, 2) for op in map(fields, provenance.get(4, []))}


def read_record(data: bytes, library: Library, arithmetic: Arithmetic, ranks) -> Record:
    message = fields(data)
    rule, nodes = Rule(), []

    def messages(of: dict, key: int):
        return map(fields, of.get(key, []))

    def poly(bytes_):
        return parse_poly(bytes_.decode(), arithmetic)

    def term(data):
        of = fields(data)
        return Output(nodes[number(of, 2)], number(of, 3)) if 2 in of else rule.variables[number(of, 1)]

    def value(of):
        if 4 in of:
            return tuple(fields(of[4][-1]).get(1, [b""])[-1])
        number_ = number(of, 2)
        return text(of, 3) if 3 in of else Symbolic(number(of, 5)) if 5 in of else (number_ >> 1) ^ -(number_ & 1)
    for variable in messages(message, 3):
        shape = tuple(map(poly, variable.get(2, [])))
        rule.variables.append(Variable(text(variable, 1), len(shape)))
        rule.shapes.append(shape)
    for node in messages(message, 4):
        op, arguments = library.operator(text(node, 1)), tuple(map(term, node.get(3, [])))
        parameters = op.complete({text(of, 1): value(of) for of in messages(node, 2)}, list(map(ranks, arguments)))
        nodes.append(Node(op.name, parameters, arguments, tuple(map(poly, node.get(4, [])))))
    rule.source, rule.target = (list(map(term, message.get(key, []))) for key in (5, 6))
    for of in messages(message, 7):
        rule.conditions.append((poly(of.get(1, [b""])[-1]), ("=", "!=", "<", "<=")[number(of, 2)], poly(of.get(3, [b""])[-1])))
    rule.packs = [poly(pack).single_atom for pack in message.get(12, [])]
    rule.widens = bool(number(message, 14))
    certificate = next(messages(message, 9), {})
    return Record(text(message, 1), rule, number(certificate, 1), text(certificate, 2))
