"""Arrays that lie otherwise hold the same numbers, and programs give the same for them."""

import numpy as np
import pytest

import compiler
from xlabench.cases.inputs import DTYPES
from xlabench.cases.layouts import LAYOUTS

SHAPES = ((), (1,), (5,), (2, 3), (0, 2), (2, 3, 4))

REDUCED = "[40] reduce(x, z), dimensions={0}, to_apply=s"


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


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("result", ["[40,40] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}", REDUCED])
def test_sums_are_rounded_alike(kind, result):
    module = compiler.parse(f"""s {{ l = {kind}[] parameter(0) r = {kind}[] parameter(1) ROOT t = {kind}[] add(l, r) }}
      ENTRY e {{ x = {kind}[33,40] parameter(0) z = {kind}[] constant(0)
        ROOT y = {kind}{result} }}""")
    array = np.random.default_rng(0).normal(size=(33, 40)).astype(DTYPES[kind])
    for run in (compiler.compile(module), compiler.prepare(module)):
        assert len({run(layout(array))[0].tobytes() for layout in LAYOUTS.values()}) == 1
