"""`op-start` is an async-start that calls a computation of one op; halves that follow may say more of it."""

import pytest

import compiler
from compiler.text.async_sugar import wrap

ENTRY = compiler.parse("ENTRY e { x = f32[2,3] parameter(0) ROOT y = f32[3,2] transpose(x), dimensions={1,0} }").entry
X, Y = ENTRY.instructions
TEXT = """HloModule m
ENTRY e {{
  x = f32[4] parameter(0)
  s = ((f32[4]), f32[4], u32[]) negate-start(x){}
  ROOT d = f32[4] negate-done(s)
}}
"""


@pytest.mark.parametrize(
    ("name", "value", "inner", "outer"),
    [
        ("dimensions", (1, 0), True, False),
        ("async_execution_thread", "t", False, True),
        ("metadata", (("op_name", "n"),), True, True),
        ("frontend_attributes", {"a": "b"}, True, True),
    ],
)
def test_an_attribute_goes_to_whom_it_is_about(name, value, inner, outer):
    computation, left = wrap("transpose", [X], Y.shape, {"dimensions": (1, 0), name: value})
    assert (name in computation.root.attributes, name in left) == (inner, outer)
    assert left["calls"] is computation


def test_the_computation_is_that_op_on_what_it_is_given():
    computation, _ = wrap("transpose", [X], Y.shape, {"dimensions": (1, 0)})
    assert [(i.opcode, i.shape) for i in computation.instructions] == [("parameter", X.shape), ("transpose", Y.shape)]
    assert computation.root.operands == tuple(computation.parameters)
    assert "execution_thread" not in computation.attributes


def test_the_thread_is_the_computations_too():
    computation, _ = wrap("negate", [X], X.shape, {"async_execution_thread": "t"})
    assert computation.attributes["execution_thread"] == "t"


@pytest.mark.parametrize("said", ["", ', async_execution_thread="t"'])
def test_the_text_is_written_as_it_was_read(said):
    text = compiler.to_text(compiler.parse(TEXT.format(said)))
    assert compiler.to_text(compiler.parse(text)) == text
    (start,) = (i for i in compiler.parse(text).entry.instructions if i.opcode == "async-start")
    assert start.attributes["calls"].root.opcode == "negate"
