"""TASO's protobuf of substitutions:

  RuleCollection  repeated Rule rule = 1
  Rule            repeated Operator srcOp = 1, dstOp = 2; repeated MapOutput mappedOutput = 3
  Operator        int32 type = 1; repeated Tensor input = 2; repeated Parameter para = 3
  Tensor          int32 opId = 1, tsId = 2
  Parameter       int32 key = 1, value = 2
  MapOutput       int32 srcOpId = 1, dstOpId = 2, srcTsId = 3, dstTsId = 4

Every field is written, zeros too: TASO's reader requires them."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Tuple

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5  # wire types


class Tensor(NamedTuple):
    """An output of an operator of the same side. Of operator −n: the rule's input number n."""

    operator: int
    output: int


class Operator(NamedTuple):
    type: int
    inputs: List[Tensor]
    parameters: Dict[int, int]  # by key, in the order of the keys


class MappedOutput(NamedTuple):
    source: Tensor
    target: Tensor


class Rule(NamedTuple):
    source: List[Operator]
    target: List[Operator]
    outputs: List[MappedOutput]


class _Fields:
    """The fields of a message by number: the last value of a number, the contents of messages. Others are skipped. Raises ValueError for
    bytes that are no message."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0
        self._numbers: Dict[int, int] = {}
        self._messages: Dict[int, List[bytes]] = {}
        while self.at < len(content):
            field, wire_type = divmod(self.varint(), 8)
            value = self.varint() if wire_type in (_VARINT, _BYTES) else 0
            length = {_VARINT: 0, _EIGHT_BYTES: 8, _BYTES: value, _FOUR_BYTES: 4}.get(wire_type)
            if length is None or self.at + length > len(content) or not 0 < field < 1 << 29:
                raise ValueError
            self.at += length
            if wire_type == _VARINT:
                self._numbers[field] = (value + (1 << 31)) % (1 << 32) - (1 << 31)
            elif wire_type == _BYTES:
                self._messages.setdefault(field, []).append(content[self.at - length:self.at])

    def varint(self) -> int:
        """Seven bits of each byte, the lowest first."""
        value = 0
        for shift in range(0, 70, 7):
            if self.at == len(self.content):
                break
            byte = self.content[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError

    def number(self, field: int) -> int:
        return self._numbers.get(field, 0)

    def messages(self, field: int) -> List["_Fields"]:
        return [_Fields(content) for content in self._messages.get(field, [])]


def _operator(fields: _Fields) -> Operator:
    inputs = [Tensor(each.number(1), each.number(2)) for each in fields.messages(2)]
    parameters = {each.number(1): each.number(2) for each in fields.messages(3)}
    return Operator(fields.number(1), inputs, dict(sorted(parameters.items())))


def _rule(fields: _Fields) -> Rule:
    source, target = (list(map(_operator, fields.messages(field))) for field in (1, 2))
    return Rule(source, target, [MappedOutput(Tensor(each.number(1), each.number(3)), Tensor(each.number(2), each.number(4)))
                                 for each in fields.messages(3)])


def decode(content: bytes) -> List[Rule]:
    """The rules of a collection. Raises ValueError for other bytes."""
    return list(map(_rule, _Fields(content).messages(1)))


def _varint_bytes(value: int) -> bytes:
    value %= 1 << 64  # a negative int32 is written as 64 bits
    low = bytearray()
    while value > 127:
        low.append(value & 127 | 128)
        value >>= 7
    return bytes([*low, value])


def _numbers_bytes(*numbers: int) -> bytes:
    """A message whose fields 1, 2, … are numbers."""
    return b"".join(_varint_bytes(field << 3) + _varint_bytes(value) for field, value in enumerate(numbers, 1))


def _message_bytes(field: int, content: bytes) -> bytes:
    return _varint_bytes(field << 3 | _BYTES) + _varint_bytes(len(content)) + content


def _operator_bytes(operator: Operator) -> bytes:
    messages = [(2, each) for each in operator.inputs] + [(3, each) for each in operator.parameters.items()]
    return _numbers_bytes(operator.type) + b"".join(_message_bytes(field, _numbers_bytes(*each)) for field, each in messages)


def encode(rule: Rule) -> bytes:
    """A collection of one rule; collections are joined byte by byte."""
    content = b"".join(_message_bytes(field, _operator_bytes(each))
                       for field, side in ((1, rule.source), (2, rule.target)) for each in side)
    for source, target in rule.outputs:
        content += _message_bytes(3, _numbers_bytes(source.operator, target.operator, source.output, target.output))
    return _message_bytes(1, content)
