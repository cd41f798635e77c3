"""The wire format of protocol buffers, on examples of its documentation and read by a reader of its own."""

import numpy as np
import proto_reader
import pytest

import compiler
from compiler.proto import wire
from compiler.proto.schema import ENUMERATIONS, MESSAGES

NUMBERS = (0, 1, 127, 128, 150, 16383, 16384, 1 << 31, (1 << 63) - 1, -1, -128, -(1 << 63))
SCALARS = {"int32", "int64", "uint32", "uint64", "bool", "string", "bytes", "float", "double"}


@pytest.mark.parametrize("value", NUMBERS)
def test_a_number_is_read_as_it_was_written(value):
    assert proto_reader.one(wire.encode("SourceTarget", {"source": value}), 1) == value


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_long_array_is_written_as_its_numbers_are(dtype):
    info = np.iinfo(dtype)
    values = np.array([n for n in NUMBERS if info.min <= n <= info.max] * 4000, dtype)
    packed = wire.encode("TileProto", {"dimensions": values})
    assert packed == wire.encode("TileProto", {"dimensions": values.tolist()})
    assert proto_reader.numbers(proto_reader.one(packed, 1)) == values.tolist()


def test_unsigned_numbers_of_64_bits_keep_their_bits():
    values = np.array([0, 1, (1 << 64) - 1], np.uint64)
    packed = proto_reader.one(wire.encode("LiteralProto", {"u64s": values}), 7)
    assert [n % (1 << 64) for n in proto_reader.numbers(packed)] == values.tolist()


def test_defaults_take_no_bytes_but_minus_zero_and_what_must_be_there_do():
    assert wire.encode("SourceTarget", {"source": 0, "target": 0}) == b""
    assert wire.encode("HloInstructionProto", {"epsilon": 0.0, "fft_type": "FFT", "name": "", "dimensions": ()}) == b""
    assert wire.encode("HloInstructionProto", {"epsilon": -0.0}) != b""
    assert wire.encode("HloInstructionProto", {"cross_program_prefetch_index": 0}) != b""
    assert wire.encode("HloInstructionProto", {"window": {}}) != b""


def test_fields_stand_in_the_order_of_their_numbers():
    encoded = wire.encode("HloComputationProto", {"id": 3, "name": "é", "root_id": 2})
    assert list(proto_reader.fields(encoded)) == [(1, "é".encode()), (5, 3), (6, 2)]


def test_what_no_reader_takes_is_refused(monkeypatch):
    monkeypatch.setattr(wire, "LONGEST", 3)
    with pytest.raises(compiler.UnsupportedError, match="HloComputationProto of 6 bytes"):
        wire.encode("HloComputationProto", {"name": "long"})


def test_every_type_of_the_schema_is_known_and_no_number_is_there_twice():
    for name, fields in MESSAGES.items():
        assert {field.type for field in fields.values()} <= SCALARS | set(MESSAGES) | set(ENUMERATIONS), name
        assert len({field.number for field in fields.values()}) == len(fields), name
