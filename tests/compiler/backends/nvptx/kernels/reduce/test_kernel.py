"""Which reductions are cut into chunks, and what comes of short ones that are where every kernel is to be shared."""

import numpy as np
import pytest

import compiler

SHAPES = [((1,), (0,)), ((2,), (0,)), ((37,), (0,)), ((3, 1), (1,)), ((2, 65), (1,)), ((5, 16), (0,)), ((7, 40), (0,)),
          ((4, 3, 33), (0, 1)), ((3, 2, 70), (1, 2)), ((600, 2), (1,)), ((2, 9, 5), (1,)), ((0, 17), (0,))]  # fmt: skip
"""Arrays and what they are reduced along: fewer elements than chunks, rows, columns, strips with a last narrow one."""


def _reduced(element_type, dims, along):
    kept = [n for d, n in enumerate(dims) if d not in along]
    given, out = ",".join(map(str, dims)), ",".join(map(str, kept))
    return f"""
    sum {{ a = {element_type}[] parameter(0)  b = {element_type}[] parameter(1)
      ROOT c = {element_type}[] add(a, b) }}
    first {{ a = {element_type}[] parameter(0)  i = s32[] parameter(1)
      b = {element_type}[] parameter(2)  j = s32[] parameter(3)
      more = pred[] compare(a, b), direction=GT  alike = pred[] compare(a, b), direction=EQ
      before = pred[] compare(i, j), direction=LT  tie = pred[] and(alike, before)  left = pred[] or(more, tie)
      x = {element_type}[] select(left, a, b)  k = s32[] select(left, i, j)
      ROOT r = ({element_type}[], s32[]) tuple(x, k) }}
    ENTRY e {{ x = {element_type}[{given}] parameter(0)  z = {element_type}[] constant(0)
      s = {element_type}[{out}] reduce(x, z), dimensions={{{",".join(map(str, along))}}}, to_apply=sum
      n = s32[{given}] iota(), iota_dimension={along[-1]}  none = s32[] constant(9999)
      m = ({element_type}[{out}], s32[{out}]) reduce(x, n, z, none), dimensions={{{",".join(map(str, along))}}},
        to_apply=first
      v = {element_type}[{out}] get-tuple-element(m), index=0  w = s32[{out}] get-tuple-element(m), index=1
      ROOT t = ({element_type}[{out}], {element_type}[{out}], s32[{out}]) tuple(s, v, w) }}"""


@pytest.mark.parametrize("element_type", ["f32", "f64", "bf16", "s8", "s64"])
def test_short_reductions_in_chunks_are_right(monkeypatch, element_type):
    monkeypatch.setattr("compiler.backends.nvptx.executable.estimates", lambda *_: {})
    options = compiler.CompileOptions(opt=0, device="sim", share_all=True, check_races=True)
    chunks, rng = set(), np.random.default_rng(0)
    for dims, along in SHAPES:
        module = compiler.parse(_reduced(element_type, dims, along))
        decided = compiler.decide(module, "nvptx", options).kernels
        chunks |= {kernel.details["chunks"] for kernel in decided if "chunks" in kernel.details}
        given = rng.integers(0, 3, dims).astype(module.entry.parameters[0].array.element_type.dtype)
        expected = compiler.interpret(module, given)
        for one, other in zip(compiler.compile(module, "nvptx", options)(given), expected, strict=True):
            assert np.array_equal(one, other)
    assert chunks == {1, 3}
