"""Numbers of seven bits a byte: those of protocol buffers' documentation, there and back, and what is none."""

import pytest

from compiler.varint import read_varint, varint


@pytest.mark.parametrize(
    ("value", "encoded"), [(1, "01"), (150, "9601"), (300, "ac02"), (-2, "feffffffffffffffff01"), (0, "00")]
)
def test_varints_are_those_of_the_documentation(value, encoded):
    assert varint(value).hex() == encoded


@pytest.mark.parametrize("value", [0, 1, 127, 128, 16383, 16384, (1 << 32) - 1, (1 << 63) - 1, (1 << 64) - 1])
def test_what_was_written_is_read_from_where_it_begins(value):
    data = b"\xff" + varint(value) + b"\xff"
    assert read_varint(data, 1, len(data)) == (value, len(data) - 1)


@pytest.mark.parametrize(
    ("data", "end", "said"),
    [(b"", 0, "end in the middle"), (b"\x80\x01", 1, "end in the middle"), (b"\x80" * 11, 11, "more than 10 bytes")],
)
def test_what_does_not_end_is_no_number(data, end, said):
    with pytest.raises(ValueError, match=said):
        read_varint(data, 0, end)
