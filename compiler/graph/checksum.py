"""The checksum of tables and tensors: the cyclic redundancy check of Castagnoli's polynomial, which Python has not.

A byte at a time Python takes a second for a few megabytes.  The check is linear: long data are cut into lanes of equal
length, which NumPy follows at once, and what the lanes come to is put together by what a lane of zeros does.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

_LANES = 4096
"""Pieces of the data whose checksums NumPy computes side by side: a step for each byte of one (of a megabyte, 512 take
twice as long as 2048 to 8192: `reports/measured/2026-11-26-constants`)."""
_SHORTEST = 1 << 16  # bytes for which lanes pay


def _steps() -> tuple[int, ...]:
    """The checksum's step for each byte."""
    steps = []
    for byte in range(256):
        rest = byte
        for _ in range(8):
            rest = rest >> 1 ^ (0x82F63B78 if rest & 1 else 0)
        steps.append(rest)
    return tuple(steps)


_STEPS = _steps()
_TABLE: NDArray[np.uint32] = np.array(_STEPS, np.uint32)


def crc32c(data: bytes) -> int:
    """The checksum of bytes."""
    state = 0xFFFFFFFF
    length = len(data) // _LANES if len(data) >= _SHORTEST else 0
    if length:
        lanes = np.frombuffer(data, np.uint8, length * _LANES).reshape(_LANES, length)
        states = np.zeros(_LANES, np.uint32)
        for column in np.ascontiguousarray(lanes.T):
            states = states >> 8 ^ _TABLE[(states ^ column) & 255]
        powers = _zeros(length)
        for one in states.tolist():
            state = _applied(powers, state) ^ one
    return _followed(data[length * _LANES :], state) ^ 0xFFFFFFFF


def _followed(data: bytes, state: int) -> int:
    for byte in data:
        state = state >> 8 ^ _STEPS[(state ^ byte) & 255]
    return state


def _zeros(length: int) -> list[list[int]]:
    """What so many bytes of zeros do to a state, as tables of what each of its four bytes becomes."""
    bits = [1 << number for number in range(32)]
    power = [_followed(b"\0", bit) for bit in bits]
    done = bits
    while length:
        if length & 1:
            done = [_product(power, bit) for bit in done]
        power = [_product(power, bit) for bit in power]
        length >>= 1
    return [[_product(done, byte << 8 * position) for byte in range(256)] for position in range(4)]


def _product(columns: list[int], state: int) -> int:
    """The sum of the columns whose bits are set."""
    found = 0
    for column in columns:
        if state & 1:
            found ^= column
        state >>= 1
    return found


def _applied(tables: list[list[int]], state: int) -> int:
    first, second, third, fourth = tables
    return first[state & 255] ^ second[state >> 8 & 255] ^ third[state >> 16 & 255] ^ fourth[state >> 24]


def masked(checksum: int) -> int:
    """A checksum as it is stored, so that one of data with checksums in them is not weaker."""
    return (checksum >> 15 | checksum << 17) + 0xA282EAD8 & 0xFFFFFFFF


def framed(data: bytes) -> bytes:
    """Bytes as one record of a file of records (TensorFlow, record_writer.cc): their count and they, with checksums."""
    count = struct.pack("<Q", len(data))
    return b"".join((count, _stored(count), data, _stored(data)))


def _stored(data: bytes) -> bytes:
    return struct.pack("<I", masked(crc32c(data)))
