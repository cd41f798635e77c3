"""A custom call means what the caller has given, and what its function gives is checked."""

from collections.abc import Iterator

import numpy as np
import pytest

import compiler
from compiler.diagnostics import InputError
from compiler.ir.meanings import called, give, given, is_called

TEXT = """ENTRY e { x = f32[2] parameter(0)
  ROOT y = f32[2] custom-call(x), custom_call_target="op", backend_config="text" }"""
PAIR = """ENTRY e { x = f32[2] parameter(0)
  ROOT y = (f32[2], s32[]) custom-call(x), custom_call_target="op" }"""
X = np.array([1, 2], np.float32)


@pytest.fixture(autouse=True)
def _taken_away() -> Iterator[None]:
    yield
    give("op", None)


def call(text=TEXT):
    return compiler.parse(text).entry.root


def test_a_meaning_holds_until_it_is_taken_away():
    assert not given(call())
    give("op", np.negative)
    assert given(call())
    assert is_called(compiler.parse(TEXT))
    give("op", None)
    assert not is_called(compiler.parse(TEXT))
    give("op", None)


def test_a_function_that_asks_for_it_is_told_the_config():
    told = []
    give("op", lambda x, backend_config: told.append(backend_config) or x)
    assert called(call(), [X]).tolist() == [1, 2]
    assert told == ["text"]


def test_several_results_are_a_tuple():
    give("op", lambda x: [x, np.int32(3)])
    first, second = called(call(PAIR), [X])
    assert (first.tolist(), second.tolist()) == ([1, 2], 3)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x.astype(np.float64), r"gave float64\[2\], the program says f32\[2\]: give float32\[2\]"),
        (lambda x: x[:1], r"gave float32\[1\]"),
        (lambda x: (x, x), r"gave 2 arrays, the program says f32\[2\]"),
        (lambda x: [[1], [1, 2]], "gave 2 arrays"),
        (lambda x: 1 / 0, "raised ZeroDivisionError: division by zero"),
        (lambda: 1, "raised TypeError"),
        (lambda x: x.__iadd__(1), "raised ValueError: output array is read-only"),
    ],
    ids=range(7),
)
def test_what_a_function_does_wrong_is_said_with_its_name(function, message):
    give("op", function, "mine:op")
    with pytest.raises(InputError, match=f"custom-call to 'op' .y.: its function mine:op {message}"):
        called(call(), [X])
