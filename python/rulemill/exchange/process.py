"""The helper process: JSON messages on stdin and stdout, each after its length (8 bytes, little endian).

The first message is the request. Then comes a message for each rule, up to {"end": true}. The one message sent is the
result, {"error": {"place", "message"}} for an input that is rejected, or {"failure"}."""

from __future__ import annotations

import importlib
import json
import struct
import sys
from typing import Iterator

from .errors import Problem
from .rules import Data

#: The module of each format.
WRITERS = {"onnxscript": "onnxscript_writer", "pdl": "pdl_writer", "egglog": "egglog_writer"}


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


def main() -> int:
    sys.setrecursionlimit(12_000)
    request = receive()
    try:
        send(importlib.import_module("." + WRITERS[request["format"]], __package__).write(request, messages()))
    except Problem as problem:
        send({"error": {"place": problem.place, "message": problem.message}})
    except Exception as error:  # pylint: disable=broad-except  # the program reports it in one line
        send({"failure": f"{type(error).__name__}: {error}"})
    return 0
