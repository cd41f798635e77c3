"""Notes, names and layouts go; what an operation is stays."""

import pytest
from edited_programs import TEXT

import compiler
from compiler import edit


@pytest.fixture
def module():
    module = compiler.parse(TEXT)
    compiler.verify(module)
    return module


def test_programs_that_differ_in_names_and_notes_have_one_text(module):
    other = compiler.parse(TEXT.replace("twice", "double").replace(', metadata={op_name="a"}', ""))
    assert edit.canonical_text(other) == edit.canonical_text(module)
    other = compiler.parse(TEXT.replace("index=1", "index=1").replace("constant(3)", "constant(4)"))
    assert edit.canonical_text(other) != edit.canonical_text(module)


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        ('f32[2,2] custom-call(x), custom_call_target="lapack_spotrf_ffi", backend_config="{uplo = 76 : ui8}"', "uplo"),
        ("(u64[2], u32[2]) rng-bit-generator(s), algorithm=rng_philox", "rng_philox"),
        ('f32[2,2] add(x, x), backend_config="a note"', ""),
    ],
)
def test_a_plain_program_keeps_what_an_operation_is(call, kept):
    text = f"ENTRY e {{ x = f32[2,2] parameter(0) s = u64[2] constant({{1, 2}}) ROOT r = {call} }}"
    plain = compiler.to_text(edit.plain(compiler.parse(text)).module)
    assert kept in plain
    assert "a note" not in plain
