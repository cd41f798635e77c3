"""Arrays that lie otherwise hold the same numbers, and programs give the same for them."""

import numpy as np
import pytest

import compiler
from xlabench.cases.inputs import DTYPES
from xlabench.cases.layouts import LAYOUTS

SHAPES = ((), (1,), (5,), (2, 3), (0, 2), (2, 3, 4))


@pytest.mark.parametrize("name", LAYOUTS)
def test_numbers_stay_what_they_are(name):
    for kind in ("pred", "s4", "s32", "bf16", "f32", "c128"):
        for shape in SHAPES:
            array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(np.float32).astype(DTYPES[kind])
            made = LAYOUTS[name](array)
            assert (made.shape, made.dtype.newbyteorder("=")) == (array.shape, array.dtype.newbyteorder("="))
            assert made.tolist() == array.tolist()


def test_no_two_lie_alike():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    made = [layout(array) for layout in LAYOUTS.values()]
    kinds = {(one.strides, one.dtype.isnative, one.flags.aligned, one.flags.writeable) for one in made}
    assert len(kinds) == len(LAYOUTS)


@pytest.mark.parametrize("kind", ["f32", "bf16", "pred"])
def test_programs_give_the_same(kind):
    module = f"ENTRY e {{ x = {kind}[3,4] parameter(0) ROOT y = {kind}[4,3] transpose(x), dimensions={{1,0}} }}"
    program, array = compiler.compile(module), (np.arange(12) % 2).reshape(3, 4).astype(DTYPES[kind])
    for layout in LAYOUTS.values():
        for results in (program(layout(array)), compiler.interpret(module, layout(array))):
            assert (results[0].dtype, results[0].tolist()) == (array.dtype, array.T.tolist())
