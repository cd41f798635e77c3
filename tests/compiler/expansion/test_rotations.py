"""Rotations stay rotations, however little is left to rotate."""

import numpy as np
import pytest

import compiler

SIZE = 16
TEXT = f"""ENTRY main {{
  x = f32[{SIZE},{SIZE}] parameter(0)
  c = (f32[{SIZE},{SIZE}], f32[{SIZE}], f32[{SIZE},{SIZE}], f32[{SIZE},{SIZE}], s32[]) custom-call(x),
    custom_call_target="lapack_sgesdd_ffi", backend_config={{mode = 65 : ui8}}
  ROOT v = f32[{SIZE},{SIZE}] get-tuple-element(c), index=3
}}"""


@pytest.mark.slow
def test_vectors_are_orthogonal_where_all_columns_but_one_are_next_to_nothing(gpu):
    (vectors,) = gpu(TEXT, np.ones((SIZE, SIZE), np.float32))
    assert np.abs(vectors @ vectors.T - np.eye(SIZE)).max() < 1e-5


GRADES = [(0, -7, -9), (-9, -7, 0), (-7, 0, -9, -9), (0, -4, -4, -8, -8, -12)]
"""Powers of ten that the columns of a matrix are as long as."""
VALUES = """ENTRY main {{
  x = {type}[{rows},{columns}] parameter(0)
  c = ({type}[{rows},{columns}], {type}[{columns}], {type}[{rows},{columns}], {type}[{columns},{columns}], s32[])
    custom-call(x), custom_call_target="lapack_{routine}_ffi", backend_config={{mode = 83 : ui8}}
  ROOT v = {type}[{columns}] get-tuple-element(c), index=1
}}"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["cpu", "nvptx"])
@pytest.mark.parametrize(("type_", "dtype", "routine"), [("f32", "f4", "sgesdd"), ("f64", "f8", "dgesdd")])
@pytest.mark.parametrize("grades", GRADES, ids=str)
@pytest.mark.parametrize("is_alone", [True, False], ids=("alone", "among others"))
def test_short_columns_at_an_angle_are_rotated(is_alone, grades, type_, dtype, routine, backend, gpu):
    """The values are as exact as the largest is, also where the longest column is orthogonal to all others already."""
    rows, columns = len(grades) + 2, len(grades)
    lengths = 10.0 ** (np.array(grades) * (1.0 if type_ == "f64" else 0.4))
    given = (np.random.default_rng(columns).uniform(0.5, 1, (rows, columns)) * lengths).astype(dtype)
    if is_alone:
        longest = int(np.argmax(lengths))
        given[0], given[1:, longest] = 0, 0
        given[0, longest] = lengths[longest]
    text = VALUES.format(type=type_, rows=rows, columns=columns, routine=routine)
    (made,) = gpu(text, given) if backend == "nvptx" else compiler.compile(text, backend)(given)
    right = np.linalg.svd(given.astype(np.longdouble).astype(np.float64), compute_uv=False)
    assert np.abs(made - right).max() <= 4 * columns * np.finfo(dtype).eps * right[0]
