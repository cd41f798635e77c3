"""The reference evaluates a program as it stands, or in f64 throughout."""

import numpy as np
import pytest

import compiler
from xlabench.engines.reference import create
from xlabench.errors import BenchError

TEXT = (
    "ENTRY e { x = f32[] parameter(0)  y = f32[] add(x, x)  z = f32[] subtract(y, x)  ROOT r = f32[] multiply(z, x) }"
)


@pytest.mark.parametrize("given", [TEXT, TEXT.encode(), compiler.parse(TEXT)], ids=["text", "bytes", "module"])
@pytest.mark.parametrize("wide", [False, True])
def test_a_program_is_taken_in_any_form(given, wide):
    (result,) = create("reference", {"wide": wide}, dump_to="").compile(given)(np.float32(3))
    assert (result, result.dtype) == (9, np.float32)


def test_wide_rounds_at_the_end_only():
    text = TEXT.replace("add(x, x)", "exponential(x)")
    narrow, wide = (create("r", {"wide": wide}, dump_to="").compile(text) for wide in (False, True))
    assert np.isinf(narrow(np.float32(200))[0])
    assert np.isinf(wide(np.float32(200))[0])
    assert narrow(np.float32(1))[0] == pytest.approx(wide(np.float32(1))[0], rel=1e-6)


def test_an_invalid_program_is_refused_when_it_is_compiled():
    with pytest.raises(compiler.VerifyError):
        create("reference", {}, dump_to="").compile(TEXT.replace("f32[] multiply", "f32[2] multiply"))


def test_there_is_nothing_to_dump():
    with pytest.raises(BenchError, match="compiles nothing and has nothing to dump"):
        create("reference", {}, dump_to="folder")
