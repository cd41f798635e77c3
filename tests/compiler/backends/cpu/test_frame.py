"""Scalars of loops that lie in registers: pieces of a state that change places, stay, or are computed of each other."""

from __future__ import annotations

import random

import numpy as np
import pytest
from parts import every
from shared import share_everything

import compiler
from compiler.analysis.storage import Storage

SETTINGS = [
    compiler.CompileOptions(threads=threads, opt=opt, fusion=fusion)
    for threads, opt, fusion in ((1, 3, True), (2, 3, True), (1, 0, True), (1, 3, False), (2, 1, False))
]
TYPES = ("s32", "f32", "f64", "u8", "pred", "c128", "f32[3]")
"""The last is small enough to lie with scalars."""
OF = {
    "pred": ("xor", "or", "and"),
    "c128": ("add", "subtract"),
    **dict.fromkeys(("f32", "f64", "f32[3]"), ("add", "subtract", "maximum", "minimum")),
    **dict.fromkeys(("s32", "u8"), ("add", "multiply", "xor", "maximum", "minimum")),
}


def shape(kind):
    return kind if "[" in kind else f"{kind}[]"


def program(seed, many=6):
    """A loop over scalars whose pieces change places, are computed of each other, stay, or are written to an array."""
    choices = random.Random(seed)
    kinds = [choices.choice(TYPES) for _ in range(many)]
    shapes = ["s32[]", "f32[40]", "f32[]", *map(shape, kinds)]
    state = f"({', '.join(shapes)})"
    taken = [f"g{n} = {kind} get-tuple-element(s), index={n}" for n, kind in enumerate(shapes)]
    lines, following = [], []
    for number, kind in enumerate(kinds):
        alike = [3 + n for n, other in enumerate(kinds) if other == kind]
        one, other = (f"g{choices.choice(alike)}" for _ in range(2))
        if choices.random() < 0.4:
            following.append(one)
            continue
        lines.append(f"v{number} = {shape(kind)} {choices.choice(OF[kind])}({one}, {other})")
        following.append(f"v{number}")
    body = f"""body {{ s = {state} parameter(0)  {"  ".join([*taken, *lines])}
      one = s32[] constant(1)  next = s32[] add(g0, one)
      at = f32[1] dynamic-slice(g1, g0), dynamic_slice_sizes={{1}}  here = f32[] reshape(at)
      least = f32[] minimum(g2, here)  more = f32[] add(least, here)  half = f32[] constant(0.5)
      less = f32[] multiply(more, half)  wide = f32[1] reshape(less)
      updated = f32[40] dynamic-update-slice(g1, wide, next)
      ROOT t = {state} tuple(next, updated, less, {", ".join(following)}) }}"""
    given = [f"p{n} = {kind} parameter({n})" for n, kind in enumerate(shapes[1:])]
    results = [f"r{n} = {kind} get-tuple-element(w), index={n}" for n, kind in enumerate(shapes)]
    names = ", ".join(f"p{n}" for n in range(len(shapes) - 1))
    return f"""{body}
    cond {{ s = {state} parameter(0)  i = s32[] get-tuple-element(s), index=0
      n = s32[] constant({choices.choice((2, 3, 4, 7, 30))})  ROOT r = pred[] compare(i, n), direction=LT }}
    ENTRY main {{ {"  ".join(given)}  zero = s32[] constant(0)  s = {state} tuple(zero, {names})
      w = {state} while(s), condition=cond, body=body  {"  ".join(results)}
      ROOT t = {state} tuple({", ".join(f"r{n}" for n in range(len(shapes)))}) }}"""


def compiled(text, options):
    executable = compiler.compile(text, options=options)
    return executable, [
        buffer for buffer in executable._lowering().assignment.buffers if buffer.storage is Storage.FRAME
    ]


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("seed", every(3, range(24)))
def test_loops_over_scalars_give_what_the_reference_gives(seed, shared, monkeypatch):
    if shared:
        share_everything(monkeypatch)
    module = compiler.parse(program(seed))
    arrays = inputs(module, seed)
    expected = compiler.interpret(module, *arrays)
    for options in SETTINGS:
        results = compiler.compile(module, options=options)(*arrays)
        for ours, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(ours), wanted)


def inputs(module, seed):
    """Small whole numbers, which sums and products of any order keep exact."""
    generator = np.random.default_rng(seed)
    kinds = [parameter.array for parameter in module.entry.parameters]
    return [generator.integers(0, 4, kind.dims).astype(kind.element_type.dtype) for kind in kinds]


def test_scalars_of_a_loop_that_one_thread_runs_are_in_the_frame():
    executable, framed = compiled(program(13), SETTINGS[0])
    assert len(framed) == 8  # all of the state but its array
    assert executable._lowering().assignment.arena_bytes == 0


@pytest.mark.slow
def test_what_threads_share_is_in_no_frame(monkeypatch):
    share_everything(monkeypatch)
    assert not compiled(program(13), compiler.CompileOptions(threads=2))[1]


@pytest.mark.slow
def test_a_frame_holds_so_many_and_no_more():
    module = compiler.parse(program(5, many=400))
    arrays = inputs(module, 5)
    executable, framed = compiled(compiler.to_text(module), SETTINGS[0])
    assert len(framed) == 256
    for ours, wanted in zip(executable(*arrays), compiler.interpret(module, *arrays), strict=True):
        np.testing.assert_array_equal(np.asarray(ours), wanted)
