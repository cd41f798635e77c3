"""XLA is told of a call of LAPACK's what goes without saying here, and nothing of any other call."""

from __future__ import annotations

import pytest

import compiler
from compiler.edit import routine_of, routines_for_xla
from tests.op_programs import FORMS

CALLS = {name: text for name, text in FORMS.items() if "lapack_" in text}


@pytest.mark.parametrize("name", CALLS)
def test_layouts_and_the_kind_of_call_are_stated(name):
    module = compiler.parse(CALLS[name])
    stated = routines_for_xla(module)
    compiler.verify(stated)
    [call] = [i for i in stated.instructions() if routine_of(i)]
    assert call.attributes["api_version"] == "API_VERSION_TYPED_FFI"
    shapes = [*call.attributes["operand_layout_constraints"], *compiler.edit.leaves(call.shape)]
    assert {str(shape.layout) for shape in shapes if shape.rank == 2} == {"{0,1}"}
    assert {shape.layout for shape in shapes if shape.rank < 2} <= {None}
    assert compiler.to_text(module) == compiler.to_text(compiler.parse(CALLS[name]))
    assert compiler.to_text(routines_for_xla(stated)) == compiler.to_text(stated)


@pytest.mark.parametrize("target", ["Sharding", "TopK", "lapack_snothing_ffi", "lapack_spotrf"])
def test_other_calls_stay_as_they_are(target):
    text = f'ENTRY e {{ a = f32[2,3] parameter(0) ROOT r = f32[2,3] custom-call(a), custom_call_target="{target}" }}'
    module = compiler.parse(text)
    assert compiler.to_text(routines_for_xla(module)) == compiler.to_text(module)
