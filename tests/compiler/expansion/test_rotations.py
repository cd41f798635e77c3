"""Rotations stay rotations, however little is left to rotate."""

import numpy as np
import pytest

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
