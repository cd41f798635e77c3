"""Operations written out element by element mean what the reference says that they do."""

import numpy as np
import pytest

import compiler
from xlabench.judging.written_out import FORMS


@pytest.mark.parametrize("name", FORMS)
def test_meanings_are_the_references_of_small_integers(name):
    form, rng = FORMS[name], np.random.default_rng(0)
    kind, dtype = ("c64", np.complex64) if form.kinds == ("c64",) else ("f32", np.float32)
    given = [rng.permutation(np.arange(1, 1 + np.prod(dims, dtype=int))).reshape(dims) for dims in form.dims]
    inputs = [array for one in given for array in (one.astype(dtype), np.zeros(one.shape, dtype))]
    found = compiler.interpret(form.module(kind), *inputs)[len(form.dims) :]
    expected = form.meaning(*[np.array(one.tolist(), object) for one in given])
    for one, other in zip(expected if isinstance(expected, tuple) else (expected,), found, strict=True):
        assert np.allclose(one.astype(np.complex128), np.asarray(other).astype(np.complex128), rtol=1e-5)
