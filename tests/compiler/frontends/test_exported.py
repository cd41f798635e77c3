"""Files of `jax.export` are told from everything else, and read without a package for their format."""

import struct

import pytest

from compiler.frontends import form_of
from compiler.frontends.exported import read_exported

BYTECODE = b"ML\xefR\rStableHLO_v1.0.0\x00"


def vector(content: bytes) -> bytes:
    padded = content + b"\0" * (-len(content) % 4)
    return struct.pack("<I", len(content)) + padded


def flatbuffer(platforms: list[str], *, field: int = 13, fields: int = 17) -> bytes:
    """A table with two of its fields set: the platforms, the tenth, and the program."""
    listed = 4
    table = listed + 4 + 2 * fields + (-(2 * fields) % 4)
    size = 4 + 4 * fields
    offsets = [0] * fields
    body = bytearray(size)
    body[:4] = struct.pack("<i", table - listed)
    tail = bytearray()

    def put(number: int, content: bytes) -> None:
        offsets[number] = 4 + 4 * number
        place = table + offsets[number]
        target = table + size + len(tail)
        body[offsets[number] : offsets[number] + 4] = struct.pack("<I", target - place)
        tail.extend(content)

    start, names = 4 + 4 * len(platforms), bytearray()
    places = []
    for name in platforms:
        places.append(start + len(names))
        names += vector(name.encode())
    relative = b"".join(struct.pack("<I", place - 4 - 4 * number) for number, place in enumerate(places))
    put(9, struct.pack("<I", len(platforms)) + relative + names)
    put(field, vector(BYTECODE))
    listing = struct.pack(f"<HH{fields}H", 4 + 2 * fields, size, *offsets)
    return struct.pack("<I", table) + listing.ljust(table - listed, b"\0") + bytes(body) + bytes(tail)


@pytest.mark.parametrize("platforms", [[], ["cpu"], ["cuda", "cpu", "tpu"]])
@pytest.mark.parametrize("field", [12, 13, 16])
def test_the_program_is_found_in_whatever_field(platforms, field):
    data = flatbuffer(platforms, field=field)
    found = read_exported(data)
    assert found is not None
    assert (found.bytecode, found.platforms) == (BYTECODE, tuple(platforms))
    assert form_of(data, "any.name") == "exported"


def test_damaged_files_are_not_taken_for_one_or_hold_what_was_whole():
    data = flatbuffer(["cuda", "cpu"])
    for end in range(len(data.rstrip(b"\0"))):
        assert read_exported(data[:end]) is None
    for place in range(len(data)):
        for value in (0, 255, data[place] ^ 1):
            read_exported(data[:place] + bytes([value]) + data[place + 1 :])  # raises nothing


@pytest.mark.parametrize("data", [b"", b"\0" * 64, b"\xff" * 64, BYTECODE, b"HloModule m", bytes(range(256))])
def test_other_files_are_none(data):
    assert read_exported(data) is None
