"""LAPACK counts on denormal numbers: where an engine takes them for zeros, nothing is known of some matrices."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from xlabench.judging.judge import Standard, judge

FACTORED = {
    "getrf": '(f64[2,3,3], s32[2,3], s32[2]) custom-call(x), custom_call_target="lapack_dgetrf_ffi"',
    "geqrf": '(f64[2,3,3], f64[2,3]) custom-call(x), custom_call_target="lapack_dgeqrf_ffi"',
    "potrf": '(f64[2,3,3], s32[2]) custom-call(x), custom_call_target="lapack_dpotrf_ffi", '
    "backend_config={uplo = 76 : ui8}",
    "syevd": '(f64[2,3,3], f64[2,3], s32[2]) custom-call(x), custom_call_target="lapack_dsyevd_ffi", '
    "backend_config={mode = 86 : ui8, uplo = 76 : ui8}",
}


@pytest.mark.parametrize("routine", FACTORED)
def test_a_routine_that_meets_denormal_numbers_may_give_up_where_they_are_zeros(routine):
    module = compiler.parse(f"ENTRY e {{ x = f64[2,3,3] parameter(0) ROOT r = {FACTORED[routine]} }}")
    usual = np.array([[4, 1, 0.5], [1, 5, 2], [0.5, 2, 6]])
    given = np.stack([usual * 1e-308, usual])
    expected = compiler.interpret(module, given)
    flushing = Standard(liberties=frozenset({"denormals"}))
    exactly = Standard() if routine in ("potrf", "syevd") else None  # of the others rounding may explain it as well
    for matrix, standard, verdict in ((0, flushing, "undecided"), (1, flushing, "wrong"), (0, exactly, "wrong")):
        failed = [result.copy() for result in expected]
        for result in failed:
            result[matrix] = 3 if result.dtype.kind == "i" else np.nan
        assert standard is None or judge(module, [given], expected, failed, standard).verdict == verdict
