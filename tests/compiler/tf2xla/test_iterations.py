"""How often a loop runs is known where its condition follows from what is known."""

import numpy as np
import pytest

import compiler
from compiler.tf2xla.iterations import MOST, most_iterations


def most(condition="pred[] compare(i, n), direction=LT", step="s32[] add(i, one)", known=(0, None)):
    module = compiler.parse(f"""body {{ s = (s32[], s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
      k = s32[] get-tuple-element(s), index=1  one = s32[] constant(1)  j = {step}
      ROOT t = (s32[], s32[]) tuple(j, k) }}
    more {{ s = (s32[], s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
      k = s32[] get-tuple-element(s), index=1  n = s32[] constant(9)
      a = pred[] compare(i, n), direction=LT  b = pred[] compare(k, n), direction=LT  ROOT r = {condition} }}
    ENTRY e {{ x = (s32[], s32[]) parameter(0)
      ROOT w = (s32[], s32[]) while(x), condition=more, body=body }}""")
    loop = module.entry.root.attributes
    values = [None if one is None else np.array(one, np.int32) for one in known]
    return most_iterations(loop["condition"], loop["body"], values)


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({}, 9),
        ({"known": (7, None)}, 2),
        ({"known": (9, None)}, 0),
        ({"known": (None, 3)}, None),
        ({"step": "s32[] add(i, i)", "known": (1, None)}, 4),
        ({"step": "s32[] add(i, k)"}, None),
        ({"step": "s32[] add(i, k)", "known": (0, 3)}, 3),
        ({"condition": "pred[] and(a, b)"}, 9),
        ({"condition": "pred[] or(a, b)"}, None),
        ({"step": "s32[] copy(i)"}, None),
        ({"condition": "pred[] constant(false)"}, 0),
    ],
    ids=str,
)
def test_a_bound_is_found_where_some_part_of_the_condition_can_be_followed(change, count):
    assert most(**change) == count


def test_following_ends():
    assert MOST == 1 << 16
    assert most("pred[] compare(i, n), direction=NE", "s32[] add(i, i)", (0, None)) is None
