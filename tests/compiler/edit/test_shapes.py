"""Sizes and types change everywhere at once, with all that follows from them."""

import compiler
from compiler import edit


def test_the_length_of_a_transform_follows_its_operand() -> None:
    text = """ENTRY e { x = c64[4,8] parameter(0)
      ROOT r = c64[4,8] fft(x), fft_type=FFT, fft_length={8} }"""
    edited = edit.resize(compiler.parse(text), {8: 5})
    assert edited is not None
    assert edited.module.entry.root.attributes["fft_length"] == (5,)
    assert edited.module.entry.root.array.dims == (4, 5)
