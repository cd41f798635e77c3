"""Whose memory a value lies in is found through views, tuples and fusions that change an operand in place."""

import pytest

import compiler
from compiler.analysis.aliasing import origin, overwritten

TEXT = """
update { x = f32[4] parameter(0)  u = f32[1] parameter(1)  i = s32[] parameter(2)
  ROOT r = f32[4] dynamic-update-slice(x, u, i) }
ENTRY e {
  x = f32[4] parameter(0)  u = f32[1] parameter(1)  i = s32[] parameter(2)
  n = f32[4] negate(x)
  b = s32[4] bitcast(n)
  t = (s32[4], f32[4]) tuple(b, x)
  first = s32[4] get-tuple-element(t), index=0
  second = f32[4] get-tuple-element(t), index=1
  f = f32[4] fusion(n, u, i), kind=kLoop, calls=update, output_to_operand_aliasing={{}: (0, {})}
  p = (f32[4], s32[]) custom-call(x), custom_call_target="pair"
  of_pair = s32[] get-tuple-element(p), index=1
  ROOT all = (f32[4], s32[4], f32[4], s32[]) tuple(f, first, second, of_pair)
}"""


@pytest.fixture
def named():
    return {i.name: i for i in compiler.parse(TEXT).entry.instructions}


@pytest.mark.parametrize(
    ("value", "source", "path"),
    [
        ("x", "x", ()),
        ("n", "n", ()),
        ("b", "n", ()),
        ("first", "n", ()),
        ("second", "x", ()),
        ("f", "n", ()),
        ("t", "t", ()),
        ("of_pair", "p", (1,)),
    ],
)
def test_a_value_lies_where_it_was_first_written(named, value, source, path):
    assert origin(named[value]) == (named[source], path)


def test_only_a_fusion_that_says_so_writes_over_an_operand(named):
    assert {name for name, i in named.items() if overwritten(i)} == {"f"}
    assert overwritten(named["f"]) is named["n"]
