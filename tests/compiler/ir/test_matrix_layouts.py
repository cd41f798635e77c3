"""Matrices of LAPACK's lie by columns: what is not said is written so, and what is said otherwise is told."""

from __future__ import annotations

import pytest

import compiler
from compiler.ir.matrix_layouts import by_columns, is_by_columns, state_columns

CALL = """ENTRY e {{ a = {a} parameter(0) t = f32[2] parameter(1)
  ROOT q = {result} custom-call(a, t), custom_call_target="lapack_sorgqr_ffi"{constraints} }}"""
BY_ROWS, BY_COLUMNS = "{1,0}", "{0,1}"


def call(result="f32[3,2]", constraints="", a="f32[3,2]"):
    if constraints:
        constraints = f", operand_layout_constraints={{f32[3,2]{constraints}, f32[2]{{0}}}}"
    return compiler.parse(CALL.format(a=a, result=result, constraints=constraints)).entry.root


@pytest.mark.parametrize("result", ["", BY_COLUMNS])
@pytest.mark.parametrize("constraints", ["", BY_COLUMNS])
@pytest.mark.parametrize("operand", ["", BY_COLUMNS, BY_ROWS])
def test_what_is_not_stated_is_written_by_columns_and_vectors_stay(result, constraints, operand):
    made = call(f"f32[3,2]{result}", constraints, f"f32[3,2]{operand}")
    assert is_by_columns(made)
    state_columns(made)
    assert str(made.shape) == "f32[3,2]{0,1}"
    matrix, factors = map(str, made.attributes["operand_layout_constraints"])
    assert matrix == "f32[3,2]{0,1}"
    assert factors in ("f32[2]", "f32[2]{0}")


@pytest.mark.parametrize(("result", "constraints"), [(BY_ROWS, ""), ("", BY_ROWS), (BY_COLUMNS, BY_ROWS)])
def test_rows_are_told_and_stay(result, constraints):
    made = call(f"f32[3,2]{result}", constraints)
    assert not is_by_columns(made)
    state_columns(made)
    assert not is_by_columns(made)


@pytest.mark.parametrize(
    ("dims", "layout", "is_one"),
    [
        ("1,5", "{1,0}", True),
        ("5,1", "{1,0}", True),
        ("2,3,4", "{1,2,0}", True),
        ("2,3,4", "{2,1,0}", False),
        ("2,3,4", "{0,1,2}", False),
        ("1,3,4", "{0,1,2}", True),
        ("2,3,4,5", "{2,3,1,0}", True),
        ("2,3,4,5", "{2,3,0,1}", False),
    ],
)
def test_only_dimensions_of_several_elements_have_an_order(dims, layout, is_one):
    shape = f"f32[{dims}]"
    text = f"""ENTRY e {{ a = {shape} parameter(0)
      ROOT q = {shape}{layout} custom-call(a, a), custom_call_target="lapack_sorgqr_ffi" }}"""
    assert is_by_columns(compiler.parse(text).entry.root) == is_one


def test_a_batch_is_outside_of_its_matrices():
    [a] = compiler.parse("ENTRY e { ROOT a = f32[2,3,4,5] parameter(0) }").entry.instructions
    assert str(by_columns(a.array, 4)) == "f32[2,3,4,5]{2,3,1,0}"
    assert by_columns(a.array, 5) is a.array
