"""Parts of a program are programs: the first instructions, the last ones, and what stands near a place."""

import numpy as np
import pytest

import compiler
from xlabench.diagnosis.case import Case, recorded
from xlabench.diagnosis.slices import neighbourhoods, prefix, suffix

TEXT = """ENTRY e { x = f32[2] parameter(0)  a = f32[2] negate(x)  b = f32[2] exponential(a)
  c = f32[2] add(b, x)  ROOT d = f32[2] tanh(c) }"""


@pytest.fixture
def case():
    return Case(compiler.parse(TEXT), (np.array([1, 2], np.float32),))


def opcodes(case):
    return [i.opcode for i in case.module.entry.instructions if i.opcode not in ("parameter", "tuple")]


def results(case):
    return [r.tolist() for r in compiler.interpret(case.module, *case.inputs)]


@pytest.mark.parametrize("length", [2, 3, 4, 5])
def test_the_first_instructions_yield_what_nothing_among_them_uses(case, length):
    values = recorded(case).last
    found = prefix(case, length, values)
    assert opcodes(found) == ["negate", "exponential", "add", "tanh"][: length - 1]
    assert results(found)[-1] == values[("e", "xabcd"[length - 1])].tolist()


@pytest.mark.parametrize("length", [0, 1])
def test_of_nothing_but_parameters_no_program_is_made(case, length):
    assert prefix(case, length, recorded(case).last) is None


@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_last_instructions_are_given_what_they_need(case, length):
    found = suffix(case, length, recorded(case).last)
    assert opcodes(found) == ["exponential", "add", "tanh"][-length:]
    assert results(found) == results(case)


def test_what_stands_near_a_place_grows_with_the_distance(case):
    found = [opcodes(one) for one in neighbourhoods(case, [("e", "c")], recorded(case)) if one]
    assert found == [["add"], ["exponential", "add"], ["negate", "exponential", "add"]]
