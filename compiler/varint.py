"""Numbers as protocol buffers, and LevelDB's tables, write them: seven bits a byte, the lowest first.

Who reads them says in messages of his own where the bytes come from.
"""

from __future__ import annotations

_BITS = 64  # of the largest number
_LONGEST = 10
"""Bytes of a number of 64 bits, seven in each (protocol buffers, encoding)."""


def varint(value: int) -> bytes:
    """The bytes of a number; one below zero is written as one of 64 bits."""
    rest = value & ((1 << _BITS) - 1)
    encoded = bytearray()
    while rest > 127:
        encoded.append(rest & 127 | 128)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A number, and the byte behind it.

    Args:
        data: the bytes.
        at: the byte where it begins.
        end: the byte before which it ends.

    Raises:
        ValueError: it does not end there, or takes more bytes than a number has.
    """
    value = 0
    for number in range(_LONGEST):
        if at + number >= end:
            raise ValueError("the bytes end in the middle of a number")
        byte = data[at + number]
        value |= (byte & 127) << 7 * number
        if byte < 128:
            return value, at + number + 1
    raise ValueError(f"a number takes more than {_LONGEST} bytes")
