"""Tables of bytes: read as LevelDB's description says, with checksums of its examples; damaged ones are refused."""

import struct

import pytest
from checkpoints import table
from hypothesis import given, settings
from hypothesis import strategies as st

import compiler
from compiler.graph.checksum import crc32c, masked
from compiler.graph.table import read_table, table_of

KEYS = {f"layer/{i // 7}/kernel_{i}".encode(): bytes([i % 251]) * (i % 40) for i in range(300)}
ROWS = dict(sorted(KEYS.items()))
WHOLE = table(ROWS)


@pytest.mark.parametrize(
    ("data", "checksum"),
    [(bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E), (b"123456789", 0xE3069283)],
)
def test_checksums_are_those_of_the_standard(data, checksum):
    assert crc32c(data) == checksum


def test_masking_is_a_rotation_and_a_sum():
    assert masked(0) == 0xA282EAD8
    assert masked(0xFFFFFFFF) == (0xFFFFFFFF + 0xA282EAD8) & 0xFFFFFFFF


@pytest.mark.parametrize("rows", [{}, {b"": b"header"}, {b"a": b""}, ROWS], ids=["none", "header", "one", "many"])
@pytest.mark.parametrize("entries", [1, 16, 1000])
def test_what_is_in_a_table_is_read(rows, entries):
    assert read_table(table(rows, entries), "t") == rows


def test_a_compressed_block_is_refused():
    with pytest.raises(compiler.UnsupportedError, match="compressed"):
        read_table(table({b"a": b"b"}, kind=1), "t")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "at byte 0, it has 0 bytes"),
        (bytes(48), "at byte 40, the last eight bytes are not those of a table"),
        (b"\xff" * 40 + struct.pack("<Q", 0xDB4775248B80FB57), "a number does not end"),
        (WHOLE[:10] + b"x" + WHOLE[11:], "at byte 0, the checksum"),
        (table({b"b": b"", b"a": b""}), "its keys do not ascend"),
        (table({b"b": b"", b"a": b""}, 1), "its keys do not ascend"),
        (table({b"a": b"b"}, shared=9), "keeps more of a key than there is"),
        (table({b"a": b"b"}, restarts=1 << 30), "more than it has bytes for"),
        (b"\0\0\0\xff\x7f" + bytes(35) + struct.pack("<Q", 0xDB4775248B80FB57), "a block ends at byte"),
    ],
)
def test_damage_is_said_with_its_byte(data, said):
    with pytest.raises(compiler.InputError, match=f"t: no table: at byte .*{said.removeprefix('at byte ')}"):
        read_table(data, "t")


def test_keys_that_a_few_bytes_stand_for_do_not_fill_the_memory(monkeypatch):
    rows = {b"k" * 200 + struct.pack(">I", number): b"" for number in range(100)}
    data = table(rows, 10_000)
    assert read_table(data, "t") == rows
    monkeypatch.setattr("compiler.graph.table._MOST_KEY_BYTES", 10_000)
    assert len(data) < 3000
    with pytest.raises(compiler.InputError, match="its keys take more than 10,000 bytes"):
        read_table(data, "t")


@settings(max_examples=200, deadline=None)
@given(at=st.integers(0, len(WHOLE) - 1), piece=st.binary(min_size=1, max_size=6))
def test_changed_bytes_never_go_unnoticed(at, piece):
    changed = WHOLE[:at] + piece + WHOLE[at + len(piece) :]
    try:
        read = read_table(changed, "t")
    except compiler.CompilerError:
        return
    assert read == ROWS


def test_what_is_written_is_read():
    """Keys that share beginnings, more than one block, and keys whose successor carries."""
    rows = {f"layer/{n:04}".encode(): bytes([n % 251]) * 700 for n in range(800)} | {b"": b"x", b"\xff\xff": b"y"}
    assert read_table(table_of(rows), "t") == dict(sorted(rows.items()))


def test_a_table_is_the_one_that_tensorflow_writes():
    """The index of a checkpoint with one variable, `v/.ATTRIBUTES/VARIABLE_VALUE`, in its layout."""
    made = table_of({b"": b"\x08\x01", b"ab": b"1", b"ac": b"2"})
    assert made[:3] == b"\x00\x00\x02"
    assert made[5:12] == b"\x00\x02\x01ab1\x01"
    assert made[-8:] == b"\x57\xfb\x80\x8b\x24\x75\x47\xdb"
    assert b"\x00\x01\x02b\x00" in made  # the directory's key is the shortest one behind all others
