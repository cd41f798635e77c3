"""A case is known by what it computes on what, and an edit takes its inputs along."""

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler import edit
from xlabench.diagnosis.case import Case, derive, recorded

TEXT = """ENTRY e { x = f32[2] parameter(0)  y = f32[2] parameter(1)  a = f32[2] add(x, y)
  ROOT b = f32[2] negate(a) }"""
X, Y = np.array([1, 2], np.float32), np.array([3, 4], np.float32)


def case(text=TEXT, *inputs):
    return Case(compiler.parse(text), inputs or (X, Y))


def test_names_and_layouts_are_no_difference_and_all_else_is():
    assert case().key() == case(TEXT.replace("a =", "sum =").replace("negate(a)", "negate(sum)")).key()
    assert case().key() == case(TEXT.replace("f32[2]", "f32[2]{0}")).key()
    assert case().key() != case(TEXT.replace("negate", "abs")).key()
    assert case().key() != case(TEXT, X, X).key()
    assert case().key() != case(TEXT, X.astype(np.float64), Y).key()


def test_what_stood_at_every_place_is_recorded():
    found = recorded(case())
    assert {place: value.tolist() for place, value in found.last.items()} == {
        ("e", "x"): [1, 2],
        ("e", "y"): [3, 4],
        ("e", "a"): [4, 6],
        ("e", "b"): [-4, -6],
    }


LOOP = """body { p = s32[] parameter(0)  k = s32[] constant(2)  ROOT q = s32[] multiply(p, k) }
more { p = s32[] parameter(0)  n = s32[] constant(20)  ROOT r = pred[] compare(p, n), direction=LT }
ENTRY e { x = s32[] parameter(0)  ROOT w = s32[] while(x), condition=more, body=body }"""


def test_of_a_loop_the_first_time_and_the_last_are_kept():
    found = recorded(case(LOOP, np.array(3, np.int32)))
    assert (found.first[("body", "q")], found.last[("body", "q")]) == (6, 24)


def test_an_edit_takes_values_from_inputs_and_from_places():
    one = case()
    edited = edit.to_parameters(one.module, [("e", "a")])
    found = derive(one, edited, recorded(one).last)
    assert [value.tolist() for value in found.inputs] == [[4, 6]]
    assert derive(one, edited, {}) is None
    assert derive(one, None, {}) is None


@pytest.mark.parametrize(
    ("shape", "value", "expected"),
    [
        ("f32[1]", [1, 2], [1]),
        ("s32[2]", [np.inf, np.nan], [1, 0]),
        ("bf16[2]", [1.25, 2.5], [1.25, 2.5]),
    ],
)
def test_an_input_is_cut_and_converted_to_what_is_taken(shape, value, expected):
    module = compiler.parse(f"ENTRY e {{ x = {shape} parameter(0)  ROOT r = {shape} copy(x) }}")
    edited = edit.Edited(module, (0,))
    found = derive(Case(module, (np.array(value, np.float32),)), edited, {})
    assert found.inputs[0].astype(np.float64).tolist() == expected
    assert found.inputs[0].dtype == (ml_dtypes.bfloat16 if "bf16" in shape else found.inputs[0].dtype)


def test_what_is_too_small_gives_no_case():
    module = compiler.parse("ENTRY e { x = f32[3] parameter(0)  ROOT r = f32[3] copy(x) }")
    assert derive(Case(module, (X,)), edit.Edited(module, (0,)), {}) is None
