"""Inputs are drawn from a seed, each from a stream of its own, or read from a file and put where they belong."""

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler.diagnostics import InputError, UnsupportedError
from compiler.inputs import assigned, draw, read_npz, settle_elided
from compiler.ir.types import TYPES

ADD = "ENTRY e { x = f32[3] parameter(0)  y = f32[3] parameter(1)  ROOT s = f32[3] add(x, y) }"


def module(text=ADD):
    return compiler.parse(text)


@pytest.mark.parametrize("name", [name for name, type_ in TYPES.items() if type_.bits])
def test_values_fit_their_type_and_are_the_same_for_a_seed(name):
    text = f"ENTRY e {{ ROOT x = {name}[20] parameter(0) }}"
    (one,), (again,), (other,) = (draw(module(text), seed) for seed in (1, 1, 2))
    assert (one.dtype, one.shape) == (TYPES[name].dtype, (20,))
    assert one.tobytes() == again.tobytes()
    assert one.tobytes() != other.tobytes() or TYPES[name].bits == 1


def test_what_else_a_program_takes_changes_no_input():
    first = draw(module(), 3)[0]
    alone = draw(module("ENTRY e { ROOT x = f32[3] parameter(0) }"), 3)[0]
    assert first.tobytes() == alone.tobytes()


@pytest.mark.parametrize("shape", ["f32[]", "f32[0,5]", "(f32[2], (s32[3]))"])
def test_every_leaf_has_an_input(shape):
    found = draw(module(f"ENTRY e {{ ROOT x = {shape} parameter(0) }}"), 0)
    assert len(found) == shape.count("[")


@pytest.mark.parametrize("shape", ["token[]", "f32[?]"])
def test_what_nobody_can_draw_is_refused(shape):
    with pytest.raises(UnsupportedError, match="an input of type"):
        draw(module(f"ENTRY e {{ ROOT x = {shape} parameter(0) }}"), 0)


def test_constants_that_were_left_out_are_drawn_or_refused():
    text = "ENTRY e { a = f32[3] constant({...})  b = f32[3] constant({1,2,3})  ROOT c = f32[3] add(a, b) }"
    with pytest.raises(UnsupportedError, match="--fill-elided SEED"):
        settle_elided(module(text), None)
    filled = module(text)
    assert settle_elided(filled, 0) == 1
    assert settle_elided(filled, None) == 0
    assert compiler.interpret(filled)[0].shape == (3,)


def test_arrays_are_assigned_by_name_if_all_names_are_there_and_else_in_order(tmp_path):
    x, y = np.float32([1, 2, 3]), np.float32([4, 5, 6])
    for names, expected in ((("y", "x"), [y, x]), (("y", "z"), [x, y])):
        np.savez(tmp_path / "a.npz", **dict(zip(names, (x, y), strict=True)))
        found = assigned(read_npz(tmp_path / "a.npz"), module(), tmp_path / "a.npz")
        assert [one.tolist() for one in found] == [one.tolist() for one in expected]


def test_types_that_a_file_cannot_name_come_back(tmp_path):
    text = "ENTRY e { ROOT x = bf16[2] parameter(0) }"
    np.savez(tmp_path / "a.npz", np.array([1, 2], ml_dtypes.bfloat16))
    (found,) = assigned(read_npz(tmp_path / "a.npz"), module(text), tmp_path)
    assert (found.dtype, found.astype(float).tolist()) == (ml_dtypes.bfloat16, [1, 2])


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04broken"])
def test_a_file_that_is_no_archive_is_said(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"not a whole \.npz file"):
        read_npz(tmp_path / "a.npz")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_npz(tmp_path / "gone.npz")


def test_a_wrong_number_of_arrays_is_said_with_what_is_taken(tmp_path):
    with pytest.raises(InputError, match="has 1 arrays, module_e takes 2: x, y"):
        assigned({"x": np.zeros(3)}, module(), tmp_path)
