"""Scatters on several threads: by parts of windows, by rows of the operand, and by one thread, with windows outside."""

from __future__ import annotations

import numpy as np
import pytest

import compiler

PROGRAM = """add {{
  l = f32[] parameter(0)
  r = f32[] parameter(1)
  ROOT s = f32[] add(l, r)
}}

ENTRY main {{
  x = f32[{operand}] parameter(0)
  i = s32[{indices}] parameter(1)
  u = f32[{updates}] parameter(2)
  ROOT y = f32[{operand}] scatter(x, i, u), {attributes}, to_apply=add
}}
"""
FORMS = {
    "wide rows": ("90,300", "70", "70,300", "{1}", "{0}", "{0}", 1),
    "narrow rows": ("90,9", "70", "70,9", "{1}", "{0}", "{0}", 1),
    "many wide rows": ("90,33", "16400", "16400,33", "{1}", "{0}", "{0}", 1),
    "many narrow rows": ("5000,9", "16400", "16400,9", "{1}", "{0}", "{0}", 1),
    "many rows to few": ("90,9", "16400", "16400,9", "{1}", "{0}", "{0}", 1),
    "columns": ("12,90", "70", "12,70", "{0}", "{1}", "{1}", 1),
    "long columns": ("2500,90", "70", "2500,70", "{0}", "{1}", "{1}", 1),
    "columns of planes": ("3,2500,90", "2,35", "2500,35", "{0}", "{0,2}", "{0,2}", 0),
    "elements": ("90", "70", "70", "{}", "{0}", "{0}", 1),
    "windows": ("40,30", "50,2", "3,50,4", "{0,2}", "{}", "{0,1}", 1),
    "many elements": ("90", "20000", "20000", "{}", "{0}", "{0}", 1),
    "many elements of rows": ("9,90", "200,100,2", "200,100", "{}", "{0,1}", "{0,1}", 2),
}


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("form", FORMS)
def test_a_scatter_is_the_same_on_any_number_of_threads(form, threads):
    operand, indices, updates, window, inserted, scattered, vector = FORMS[form]
    attributes = (
        f"update_window_dims={window}, inserted_window_dims={inserted}, "
        f"scatter_dims_to_operand_dims={scattered}, index_vector_dim={vector}"
    )
    text = PROGRAM.format(operand=operand, indices=indices, updates=updates, attributes=attributes)
    x, i, u = (parameter.array for parameter in compiler.parse(text).entry.parameters)
    rng = np.random.default_rng(len(form))
    inputs = rng.integers(0, 9, x.dims).astype("f4"), rng.integers(-3, 95, i.dims).astype("i4")
    given = (*inputs, rng.integers(0, 9, u.dims).astype("f4"))

    (expected,) = compiler.interpret(compiler.parse(text), *given)
    (got,) = compiler.compile(text, options=compiler.CompileOptions(threads=threads))(*given)

    assert np.array_equal(got, expected)


COMBINED = """HloModule m
c {{
  l = {type}[] parameter(0)
  r = {type}[] parameter(1)
  ROOT s = {type}[] {opcode}(l, r)
}}

ENTRY main {{
  x = {type}[300] parameter(0)
  i = s32[20000] parameter(1)
  u = {type}[20000] parameter(2)
  ROOT y = {type}[300] scatter(x, i, u), update_window_dims={{}}, inserted_window_dims={{0}},
    scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=c
}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("opcode", "type_"),
    [("maximum", "f32"), ("minimum", "s8"), ("multiply", "u32"), ("add", "f64"), ("and", "s64"), ("xor", "pred")],
)
def test_many_updates_are_combined_as_one_after_the_other(opcode, type_):
    """Elements that no update is for keep their bits, -0 among them."""
    text = COMBINED.format(type=type_, opcode=opcode)
    x, i, u = (parameter.array for parameter in compiler.parse(text).entry.parameters)
    rng = np.random.default_rng(1)
    start = np.where(rng.random(x.dims) < 0.5, -0.0, rng.integers(0, 2, x.dims)).astype(x.element_type.dtype)
    given = start, rng.integers(0, 250, i.dims).astype("i4"), rng.integers(0, 2, u.dims).astype(u.element_type.dtype)

    (expected,) = compiler.interpret(compiler.parse(text), *given)
    for threads in (1, 2):
        (got,) = compiler.compile(text, options=compiler.CompileOptions(threads=threads))(*given)
        assert got.tobytes() == expected.tobytes()
