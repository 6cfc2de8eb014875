"""The helper process: JSON messages on stdin and stdout, each after its length (8 bytes, little endian).

The first message is the request. A writer then receives a message for each rule, up to {"end": true}. A reader asks
questions about operators. The last message sent is the result, {"error": {"place", "message"}} for an input that is
rejected, or {"failure"}."""

from __future__ import annotations

import importlib
import json
import struct
import sys
from typing import Dict, Iterator, List, Optional, Tuple

from .errors import Problem
from .rules import Data

#: The module of each format that has `write`, and of each that has `read`.
WRITERS = {"onnxscript": "onnxscript_writer", "pdl": "pdl_writer", "egglog": "egglog_writer", "taso": "taso_writer",
           "definition": "definition_writer", "function": "function_model"}
READERS = {"egg": "egg_reader", "pdl": "pdl_reader", "taso": "taso_reader"}


def send(message: Data) -> None:
    text = json.dumps(message).encode()
    sys.stdout.buffer.write(struct.pack("<Q", len(text)) + text)
    sys.stdout.buffer.flush()


def receive() -> Data:
    head = sys.stdin.buffer.read(8)
    if len(head) < 8:
        sys.exit(1)  # the program has ended
    message: Data = json.loads(sys.stdin.buffer.read(struct.unpack("<Q", head)[0]))
    return message


def messages() -> Iterator[Data]:
    while "end" not in (message := receive()):
        yield message


class Operators:
    """The definitions of the program: signatures, and operators at given shapes. Answers are kept."""

    def __init__(self, signatures: Dict[str, Data]) -> None:
        self.signatures = signatures
        self._known: Dict[Tuple[str, str], Data] = {}

    def describe(self, call: str, shapes: List[List[str]], explicit_rank: int = 0) -> Data:
        """The type rule of an operator applied to x0, x1, … (describe_call in algebra/exchange/rule_data.h)."""
        key = (call, str(shapes))
        if key not in self._known:
            send({"question": {"call": call, "shapes": shapes, "explicit_rank": explicit_rank}})
            self._known[key] = receive()
        return self._known[key]

    @staticmethod
    def instance(operator: str, parameters: Data, ranks: List[int]) -> Optional[Data]:
        """An operator with these parameters, for inputs of these ranks (describe_instance in the same file). None if
        they do not fit."""
        send({"question": {"operator": operator, "parameters": parameters, "ranks": ranks}})
        return receive() or None


def main() -> int:
    sys.setrecursionlimit(12_000)
    request = receive()
    try:
        is_read = "text" in request
        module = importlib.import_module("." + (READERS if is_read else WRITERS)[request["format"]], __package__)
        send(module.read(request, Operators(request["operators"])) if is_read else module.write(request, messages()))
    except Problem as problem:
        send({"error": {"place": problem.place, "message": problem.message}})
    except Exception as error:  # pylint: disable=broad-except  # the program reports it in one line
        send({"failure": f"{type(error).__name__}: {error}"})
    return 0
