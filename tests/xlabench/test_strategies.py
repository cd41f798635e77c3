"""The public strategies under Hypothesis: valid programs that shrink to what matters, and inputs that they take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

import compiler
from xlabench.cases.inputs import DTYPES, check
from xlabench.errors import BenchError
from xlabench.strategies import inputs, modules

QUIET = settings(max_examples=40, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
FEW = settings(QUIET, max_examples=12)
PROGRAMS = modules(
    opcodes=["exponential", "dot", "add", "reshape", "transpose"], element_types=["f32"], most_instructions=6
)


@QUIET
@given(PROGRAMS)
def test_drawn_programs_are_valid(module):
    compiler.verify(module)


@pytest.mark.slow
@QUIET
@given(st.data(), modules())
def test_programs_of_every_opcode_and_type_run_on_the_inputs_drawn_for_them(data, module):
    arrays = data.draw(inputs(module))
    check(arrays, module, source="drawn")
    with np.errstate(all="ignore"):
        compiler.interpret(module, *arrays)


@pytest.mark.slow
def test_a_failure_shrinks_to_the_instructions_that_matter():
    def has_exponential_of_dot(module):
        pairs = [(i.opcode, o.opcode) for i in module.instructions() for o in i.operands]
        return ("exponential", "clamp") in pairs and "dot" in {i.opcode for i in module.instructions()}

    try:
        smallest = find(PROGRAMS, has_exponential_of_dot, settings=settings(QUIET, max_examples=1500))
    except NoSuchExample:
        raise AssertionError("no example was drawn") from None
    drawn = [i.opcode for i in smallest.instructions() if i.opcode not in ("parameter", "constant", "clamp")]
    assert len(drawn) <= 4


def program(element_type, dims="3,4"):
    return compiler.parse(f"ENTRY e {{ ROOT x = {element_type}[{dims}] parameter(0) }}")


@pytest.mark.parametrize("element_type", DTYPES)
def test_inputs_of_every_type_have_the_shape_asked_for(element_type):
    @FEW
    @given(inputs(program(element_type)))
    def holds(arrays):
        [array] = arrays
        assert (array.dtype, array.shape) == (DTYPES[element_type], (3, 4))

    holds()


IS_SPECIAL = {
    "no number": np.isnan,
    "infinite": np.isposinf,
    "negative zero": lambda x: np.signbit(x) & (x == 0),
    "denormal": lambda x: abs(x) == 2**-149,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", IS_SPECIAL.values(), ids=IS_SPECIAL)
def test_special_values_are_drawn(kind):
    arrays = find(
        inputs(program("f32", "")), lambda arrays: bool(kind(arrays[0])), settings=settings(QUIET, max_examples=2000)
    )
    assert kind(arrays[0])


@QUIET
@given(inputs(program("f32"), special=False))
def test_tame_inputs_are_of_moderate_size(arrays):
    assert np.abs(arrays[0]).max() <= 4


@QUIET
@given(
    inputs(
        compiler.parse(
            "ENTRY e { x = f32[5] parameter(0) i = s32[] parameter(1) "
            "ROOT y = f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2} }"
        )
    )
)
def test_indices_lie_inside(arrays):
    assert 0 <= arrays[1] <= 3


@pytest.mark.slow
def test_inputs_shrink_to_zeros():
    [array] = find(inputs(program("f32")), lambda arrays: True, settings=QUIET)
    assert not array.any()


@pytest.mark.slow
def test_a_program_for_several_devices_takes_inputs_for_each():
    text = "HloModule m, replica_count=2\nENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] all-reduce(x), to_apply=a }"
    add = "a { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }\n"
    module = compiler.parse(text.replace("ENTRY", add + "ENTRY"))
    assert len(find(inputs(module), lambda arrays: True, settings=QUIET)) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"opcodes": ["exponentail"]},
            "opcode 'exponentail' is not known, or cannot be drawn; did you mean exponential or",
        ),
        ({"element_types": ["float"]}, "element type 'float' is not known"),
        ({"opcodes": []}, "no opcode to draw from"),
    ],
)
def test_what_cannot_be_drawn_is_said(arguments, message):
    with pytest.raises(BenchError, match=message.replace("?", r"\?")):
        modules(**arguments)


def test_inputs_of_a_tuple_are_refused():
    module = compiler.parse("ENTRY e { ROOT x = (f32[], s32[]) parameter(0) }")
    with pytest.raises(BenchError, match="arrays only"):
        find(inputs(module), lambda arrays: True, settings=QUIET)
