"""Files are read whether compressed or not, and what cannot be read is an InputError."""

import gzip
from pathlib import Path

import pytest

from compiler.diagnostics import InputError
from compiler.text.files import read_text
from compiler.text.parser import parse
from compiler.text.printer import to_text

TEXT = b'ENTRY e { ROOT p = f32[] parameter(0), metadata={op_name="\xff\xc3\xa9"} }'


def test_plain_and_compressed_files_hold_the_same_text(tmp_path: Path) -> None:
    (tmp_path / "a.hlo").write_bytes(TEXT)
    (tmp_path / "a.hlo.gz").write_bytes(gzip.compress(TEXT))
    assert read_text(tmp_path / "a.hlo") == read_text(tmp_path / "a.hlo.gz")


def test_bytes_that_are_no_text_survive_in_strings(tmp_path: Path) -> None:
    (tmp_path / "a.hlo").write_bytes(TEXT)
    module = parse(read_text(tmp_path / "a.hlo"))
    text = to_text(module)
    assert 'op_name="\\377\\303\\251"' in text
    assert parse(text) == module


@pytest.mark.parametrize("data", [gzip.compress(TEXT, mtime=0)[:-9], b"\x1f\x8b\x08\x00garbage", b"\x1f\x8b"])
def test_a_damaged_archive_is_an_input_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.gz").write_bytes(data)
    with pytest.raises(InputError, match=r"a\.gz"):
        read_text(tmp_path / "a.gz")


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_text(tmp_path / "none.hlo")


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "m.hlo").write_bytes(b"\xef\xbb\xbfENTRY e {}")
    assert read_text(tmp_path / "m.hlo") == "ENTRY e {}"
