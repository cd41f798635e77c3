"""Edges are where the compiler decides otherwise, whatever numbers it has: found by asking it, on both sides."""

import numpy as np
import pytest

import compiler
from xlabench.fuzzing import edges

_SORTED_FIRST = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    ENTRY main { x = f32[7] parameter(0) i = s32[40,1] parameter(1) u = f32[40] parameter(2) ROOT y = f32[7]
      scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
      index_vector_dim=1, to_apply=add }"""
"""Updates that a GPU puts in order where there are many (`compiler/passes/scatter_sorting.py`)."""
_SUM = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    ENTRY main { x = f32[40] parameter(0) z = f32[] constant(0)
      ROOT y = f32[] reduce(x, z), dimensions={0}, to_apply=add }"""


def made(text, count):
    found = (edges.at_an_edge(compiler.parse(text), np.random.default_rng(seed)) for seed in range(count))
    return [module for module in found if module is not None]


def size_of(module):
    return module.entry.parameters[0].array.dims[0]


def test_beside_an_edge_something_else_is_decided():
    found = made(_SUM, 30)
    assert len({size_of(module) for module in found}) > 3
    for module in found:
        size, known = size_of(module), {backend: edges.decided(module, backend) for backend in ("cpu", "nvptx")}
        beside = [compiler.edit.resize(module, {size: other}).module for other in (size - 1, size + 1) if other]
        assert any(edges.decided(other, backend) != known[backend] for other in beside for backend in known)


@pytest.mark.parametrize(("start", "end", "sizes"), [(400, 600, (511, 512)), (600, 400, (512, 511))])
def test_a_number_in_the_compiler_is_found_from_either_side(start, end, sizes):
    resized = edges._Resizing(compiler.parse(_SORTED_FIRST), 40)
    pair = edges._edge(resized, lambda module: edges.decided(module, "nvptx")[-1], start, end)
    assert tuple(module.entry.parameters[2].array.dims[0] for module in pair) == sizes


def test_what_cannot_be_decided_has_no_edge(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(compiler, "decide", broken)
    assert edges.decided(compiler.parse(_SUM), "cpu") is None
    assert not made(_SUM, 20)


def test_a_program_without_dimensions_has_no_edge():
    assert not made("ENTRY main { x = f32[] parameter(0) ROOT y = f32[] negate(x) }", 5)


def test_programs_with_custom_calls_are_asked_about_seldom_but_are(monkeypatch):
    text = """ENTRY main { x = f32[9,9] parameter(0)
        ROOT y = (f32[9,9], s32[9], s32[]) custom-call(x), custom_call_target="lapack_sgetrf_ffi" }"""
    asked = []
    monkeypatch.setattr(edges, "decided", lambda *_: asked.append(1))
    made(text, 100)
    assert 10 <= len(asked) <= 40
    asked.clear()
    made(_SUM, 100)
    assert len(asked) > 60
