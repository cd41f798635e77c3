"""Arrays within tuples are named in order, and followed to what they were before."""

import compiler
from xlabench.judging.elements import arrays_of, through_tuples

MODULE = compiler.parse(
    """ENTRY e {
  x = f32[2] parameter(0)
  y = s32[] parameter(1)
  t = token[] after-all()
  inner = (s32[], token[]) tuple(y, t)
  outer = (f32[2], (s32[], token[])) tuple(x, inner)
  taken = (s32[], token[]) get-tuple-element(outer), index=1
  ROOT r = ((s32[], token[]), f32[2]) tuple(taken, x)
}"""
)
NAMED = {instruction.name: instruction for instruction in MODULE.instructions()}


def test_arrays_are_named_in_order_and_tokens_are_none():
    assert arrays_of(NAMED["outer"]) == [(NAMED["outer"], (0,)), (NAMED["outer"], (1, 0))]
    assert arrays_of(NAMED["x"]) == [(NAMED["x"], ())]
    assert arrays_of(NAMED["t"]) == []


def test_an_element_is_followed_through_tuples_to_what_computes_it():
    value, names = (NAMED["r"], (0, 0)), []
    while (before := through_tuples(value)) is not None:
        value = before
        names.append((value[0].name, value[1]))
    assert names == [("taken", (0,)), ("outer", (1, 0)), ("inner", (0,)), ("y", ())]


def test_a_whole_tuple_is_made_of_nothing_alone():
    assert through_tuples((NAMED["outer"], ())) is None
