"""Loops without their counters, without state, or written out, give what they gave."""

import pytest
from edited_programs import MAIN, TEXT

import compiler
from compiler import edit
from compiler.inputs import draw


@pytest.fixture
def module():
    module = compiler.parse(TEXT)
    compiler.verify(module)
    return module


def test_a_loop_keeps_state_that_its_condition_needs(module):
    assert edit.drop_state(module, MAIN["l"], 0) is None


def test_a_loop_that_is_the_root_loses_a_result_with_its_state(module):
    alone = edit.keep_results(module, [MAIN["l"]]).module
    edited = edit.drop_state(alone, MAIN["l"], 2)
    compiler.verify(edited.module)
    inputs = draw(alone, 0)
    expected = compiler.interpret(alone, *inputs)[:2]
    actual = compiler.interpret(edited.module, *(inputs[source] for source in edited.sources))
    assert [result.tobytes() for result in actual] == [result.tobytes() for result in expected]


def test_a_loop_of_three_iterations_written_out_gives_what_it_gave(module):
    inputs = draw(module, 0)
    expected = compiler.interpret(module, *inputs)
    actual = compiler.interpret(edit.write_out(module, MAIN["l"], 3).module, *inputs)
    assert [result.tobytes() for result in actual] == [result.tobytes() for result in expected]


@pytest.mark.parametrize("trip_count", [1, 2, 3])
def test_a_loop_goes_on_without_its_counter(module, trip_count):
    edited = edit.go_on(module, MAIN["l"], trip_count).module
    compiler.verify(edited)
    (loop,) = (i for i in edited.instructions() if i.opcode == "while")
    assert [i.opcode for i in loop.attributes["condition"].instructions] == ["parameter", "get-tuple-element"]
    inputs = draw(module, 0)
    expected = compiler.interpret(edit.write_out(module, MAIN["l"], trip_count).module, *inputs)
    actual = compiler.interpret(edited, *inputs)
    assert [result.tobytes() for result in actual] == [result.tobytes() for result in expected]
