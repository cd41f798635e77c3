"""What is no HLO text is told by its content, and files are read whether compressed or not."""

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler import frontends
from compiler.diagnostics import InputError, UnsupportedError
from compiler.frontends import form_of, hlo_text, read_program
from compiler.text.parser import parse
from compiler.text.printer import to_text

TEXT = b'ENTRY e { ROOT p = f32[] parameter(0), metadata={op_name="\xff\xc3\xa9"} }'
STABLEHLO = """// a comment first
module @m {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %x, %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
"""
X = np.array([1.5, -2], np.float32)


def test_plain_and_compressed_files_hold_the_same_text(tmp_path: Path) -> None:
    (tmp_path / "a.hlo").write_bytes(TEXT)
    (tmp_path / "a.hlo.gz").write_bytes(gzip.compress(TEXT))
    assert read_program(tmp_path / "a.hlo") == read_program(tmp_path / "a.hlo.gz") == TEXT
    assert parse(gzip.compress(TEXT)) == parse(TEXT)


def test_bytes_that_are_no_text_survive_in_strings() -> None:
    module = parse(TEXT)
    text = to_text(module)
    assert 'op_name="\\377\\303\\251"' in text
    assert parse(text) == module


@pytest.mark.parametrize("data", [gzip.compress(TEXT, mtime=0)[:-9], b"\x1f\x8b\x08\x00garbage", b"\x1f\x8b"])
def test_a_damaged_archive_is_an_input_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.gz").write_bytes(data)
    with pytest.raises(InputError, match=r"a\.gz: cannot be decompressed"):
        read_program(tmp_path / "a.gz")


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_program(tmp_path / "none.hlo")


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_what_holds_more_than_is_read_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, compress) -> None:
    monkeypatch.setattr(frontends, "LARGEST", 10)
    (tmp_path / "a.hlo").write_bytes(compress(b"x" * 11))
    with pytest.raises(InputError, match="more than 10 bytes"):
        read_program(tmp_path / "a.hlo")


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert hlo_text(b"\xef\xbb\xbfENTRY e {}") == "ENTRY e {}"


@pytest.mark.parametrize(
    ("name", "data", "form"),
    [
        ("p.txt", TEXT, "hlo"),
        ("p.hlo", "module {\n ROOT x = f32[] constant(1)\n}", "hlo"),
        ("p.txt", STABLEHLO, "mlir"),
        ("p.txt", 'func.func @main() -> tensor<f32> { "stablehlo.constant"() }', "mlir"),
        ("p.mlir", "garbage", "mlir"),
        ("p.bin", b"ML\xefR\x01", "mlir"),
        ("p.bin", b"garbage ML\xefR\x01", "hlo"),
        ("p.hlo.pb", b"", "proto"),
        ("p.hlo.pb.gz", b"\x0a\x01m", "proto"),
        ("p.bin", b"\x0a\x01m\x12\x01e\x28\x00", "proto"),
    ],
)
def test_the_form_is_told_by_content_then_by_name(name: str, data: str | bytes, form: str) -> None:
    assert form_of(data if isinstance(data, bytes) else data.encode(), name) == form


def test_hlo_that_begins_like_mlir_is_hlo() -> None:
    text = "module {\n ROOT x = f32[] constant(1)\n}"
    assert hlo_text(text) == text
    assert parse(text).entry.name == "module"


def test_without_jaxlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontends, "find_spec", lambda _: None)
    for take in (parse, compiler.compile, compiler.interpret):
        with pytest.raises(UnsupportedError, match=r"needs the package jaxlib.*pip install '\.\[peers\]'"):
            take(STABLEHLO)


def test_python_m_compiler_takes_it_from_standard_input(monkeypatch: pytest.MonkeyPatch, capsysbinary) -> None:
    from compiler.__main__ import cli  # noqa: PLC0415 - the only test that runs the command

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT))))
    cli.main(["print", "-"], standalone_mode=False)
    assert b"parameter(0)" in capsysbinary.readouterr().out
