"""How a program's file is found and read."""

import gzip

from click.testing import CliRunner

from compiler.__main__ import cli


def test_a_compressed_file_is_read(tmp_path):
    path = tmp_path / "m.hlo.gz"
    path.write_bytes(gzip.compress(b"ENTRY e { ROOT c = s32[] constant(1) }"))
    assert CliRunner().invoke(cli, ["verify", str(path)]).output == f"{path}: valid\n"
