"""Edits fields of a rule database and restores its checksum, to inject faults."""

import ctypes
import ctypes.util


class _Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def checksum(content):
    library = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
    library.XXH3_128bits.restype = _Hash
    library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    found = library.XXH3_128bits(content, len(content))
    return f"{found.high:016x}{found.low:016x}".encode()


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def _read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Decodes a message to a list of [field number, value], where values are integers or bytes."""
    result, at = [], 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        if tag & 7 == 0:
            value, at = _read_varint(data, at)
        elif tag & 7 == 2:
            length, at = _read_varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            raise ValueError(f"wire type {tag & 7}")
        result.append([tag >> 3, value])
    return result


def message(parts):
    out = b""
    for number, value in parts:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


# Field numbers of algebra/rule_set.proto.
PROVENANCE, RULE, CHECKSUM = 2, 3, 100
OPERATOR_DIGEST = 4
SOURCE, TARGET, CONDITION, CERTIFICATE = 5, 6, 7, 9
CERTIFICATE_TEXT = 2


class DatabaseFile:
    def __init__(self, path):
        self.parts = [part for part in fields(path.read_bytes()) if part[0] != CHECKSUM]

    def save(self, path):
        content = message(self.parts)
        path.write_bytes(content + message([[CHECKSUM, checksum(content)]]))

    def edit(self, number, change, wanted=lambda value: True):
        """Replaces the first field of this number that satisfies `wanted` by the result of `change` on its list of fields."""
        for part in self.parts:
            if part[0] == number and wanted(part[1]):
                inner = fields(part[1])
                change(inner)
                part[1] = message(inner)
                return
        raise AssertionError(f"no field {number} to edit")


def value_of(parts, number):
    return next(value for found, value in parts if found == number)


def set_value(parts, number, value):
    next(part for part in parts if part[0] == number)[1] = value
