"""A loop is uniform where its condition follows from counters, whatever else its state holds."""

import pytest

import compiler
from compiler.analysis.uniform import is_uniform


def loop(start="s32[] constant(0)", step="s32[] add(i, one)", condition="pred[] compare(i, n), direction=LT"):
    text = f"""
    body {{ s = (s32[], s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
      k = s32[] get-tuple-element(s), index=1  one = s32[] constant(1)  j = {step}
      ROOT t = (s32[], s32[]) tuple(j, k) }}
    more {{ s = (s32[], s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
      k = s32[] get-tuple-element(s), index=1  n = s32[] constant(9)  ROOT r = {condition} }}
    ENTRY e {{ x = s32[] parameter(0)  i = {start}  t = (s32[], s32[]) tuple(i, x)
      ROOT w = (s32[], s32[]) while(t), condition=more, body=body }}"""
    return compiler.parse(text).entry.root


@pytest.mark.parametrize(
    ("change", "uniform"),
    [
        ({}, True),
        ({"start": "s32[] copy(x)"}, False),
        ({"step": "s32[] multiply(i, i)"}, True),
        ({"step": "s32[] add(i, k)"}, False),
        ({"condition": "pred[] compare(i, k), direction=LT"}, False),
        ({"condition": "pred[] constant(false)"}, True),
    ],
    ids=str,
)
def test_counters_are_what_starts_from_constants_and_steps_by_arithmetic(change, uniform):
    assert is_uniform(loop(**change)) is uniform


def test_a_state_that_is_no_tuple_is_not_known():
    text = """body { ROOT p = s32[] parameter(0) }
    more { p = s32[] parameter(0)  ROOT r = pred[] constant(false) }
    ENTRY e { x = s32[] constant(0)  ROOT w = s32[] while(x), condition=more, body=body }"""
    assert not is_uniform(compiler.parse(text).entry.root)
