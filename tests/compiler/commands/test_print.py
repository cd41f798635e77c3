"""`print`: a program is read and written back."""

from click.testing import CliRunner

import compiler
from compiler.__main__ import cli

ADD = "ENTRY main {\n  x = f32[3] parameter(0)\n  y = f32[3] parameter(1)\n  ROOT s = f32[3] add(x, y)\n}\n"


def call(*arguments, text=ADD):
    return CliRunner(catch_exceptions=False).invoke(cli, [str(a) for a in arguments], input=text)


def test_a_file_and_standard_input_are_read_alike(tmp_path):
    file = tmp_path / "add.hlo"
    file.write_text(ADD)
    assert call("print", file).stdout == call("print", "-").stdout == compiler.to_text(compiler.parse(ADD))
