"""Files of `jax.export` are told from everything else, and read without a package for their format."""

import struct

import numpy as np
import pytest

import compiler
from compiler.frontends import form_of
from compiler.frontends.exported import note_of, only_kept, read_exported, unused_said
from compiler.inputs import assigned, read_npz
from xlabench.cases.inputs import load_npz
from xlabench.errors import BenchError

BYTECODE = b"ML\xefR\rStableHLO_v1.0.0\x00"


def vector(content: bytes) -> bytes:
    padded = content + b"\0" * (-len(content) % 4)
    return struct.pack("<I", len(content)) + padded


def flatbuffer(
    platforms: list[str],
    *,
    field: int = 13,
    fields: int = 17,
    kept: tuple[int, ...] | None = None,
    arguments: int = 0,
    counted_in: int = 3,
) -> bytes:
    """A table with the platforms, the tenth field, and the program; and maybe the arguments and which are kept."""
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
    if kept is not None:
        put(15, struct.pack(f"<I{len(kept)}H", len(kept), *kept) + b"\0\0" * (len(kept) % 2))
        put(counted_in, struct.pack(f"<{arguments + 1}I", arguments, *range(arguments)))
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


@pytest.mark.parametrize("counted_in", [3, 22])
@pytest.mark.parametrize(
    ("kept", "arguments", "note"),
    [
        ((0, 3), 5, "0 3 of 5"),
        ((2,), 3, "2 of 3"),
        ((), 2, " of 2"),
        ((0, 1, 2), 3, ""),
        (None, 0, ""),
        ((0, 5), 5, ""),
        ((1, 1), 3, ""),
        ((2, 1), 3, ""),
        ((0, 1, 2), 2, ""),
    ],
)
def test_arguments_that_are_left_out_are_known_where_the_file_makes_sense(kept, arguments, note, counted_in):
    found = read_exported(flatbuffer(["cpu"], fields=26, kept=kept, arguments=arguments, counted_in=counted_in))
    assert found is not None
    assert note_of(found) == note


def _noted(note):
    return {"frontend_attributes": (("other", "1"), ("exported_arguments", note))}


@pytest.mark.parametrize(
    ("note", "inputs", "taken", "said"),
    [
        ("0 3 of 5", [0, 3], 2, "; of the 5 arguments of its function it uses only 0, 3 (from 0)"),
        (" of 5", [], 0, "; of the 5 arguments of its function it uses none"),
        ("0 3 of 4", [0, 1, 2, 3, 4], 2, "; of the 4 arguments of its function it uses only 0, 3 (from 0)"),
        ("0 3 of 5", [0, 1, 2, 3, 4], 3, "; of the 5 arguments of its function it uses only 0, 3 (from 0)"),
        *((note, [0, 1, 2, 3, 4], 2, "") for note in ("", "0 3", "0 x of 5", "0 3 of x", "0 9 of 5", "-1 3 of 5")),
    ],
)
def test_of_inputs_for_all_arguments_those_are_taken_that_the_program_has(note, inputs, taken, said):
    attributes = _noted(note)
    assert only_kept([0, 1, 2, 3, 4], attributes, taken) == inputs
    assert only_kept([7, 8], attributes, taken) == [7, 8]
    assert unused_said(attributes) == said
    assert (only_kept([0, 1, 2, 3, 4], {}, taken), unused_said({})) == ([0, 1, 2, 3, 4], "")


@pytest.mark.parametrize("data", [b"", b"\0" * 64, b"\xff" * 64, BYTECODE, b"HloModule m", bytes(range(256))])
def test_other_files_are_none(data):
    assert read_exported(data) is None


def test_a_program_says_in_its_text_which_inputs_of_a_file_it_takes(tmp_path):
    module = compiler.parse("""HloModule f, frontend_attributes={exported_arguments="0 2 of 3"}
      ENTRY e { x = f32[2] parameter(0) y = f32[] parameter(1) ROOT z = f32[2] negate(x) }""")
    x, unused, y = np.ones(2, np.float32), np.arange(3), np.float32(7)
    np.savez(tmp_path / "in.npz", x, unused, y)
    ours = assigned(read_npz(tmp_path / "in.npz"), module, tmp_path / "in.npz")
    harness = load_npz(tmp_path / "in.npz", module)
    for arrays in (ours, harness):
        assert [array.tolist() for array in arrays] == [[1, 1], 7]
    np.savez(tmp_path / "more.npz", x, x, x, x)
    with pytest.raises(compiler.InputError, match=r"has 4 arrays, f takes 2: x, y; of the 3 .* uses only 0, 2"):
        assigned(read_npz(tmp_path / "more.npz"), module, tmp_path / "more.npz")
    with pytest.raises(BenchError, match=r"4 inputs, but f takes 2; of the 3 .* uses only 0, 2"):
        load_npz(tmp_path / "more.npz", module)
