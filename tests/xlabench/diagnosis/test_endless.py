"""A loop is endless where its condition looks only at what no iteration changes."""

import pytest

import compiler
from xlabench.diagnosis.endless import is_endless


def loop(step, condition):
    return compiler.parse(f"""body {{ s = (s32[], pred[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
      p = pred[] get-tuple-element(s), index=1  one = s32[] constant(1)  no = pred[] constant(false)
      yes = pred[] constant(true)  j = s32[] add(i, one)  ROOT t = (s32[], pred[]) tuple({step}) }}
    more {{ s = (s32[], pred[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
      p = pred[] get-tuple-element(s), index=1  n = s32[] constant(9)  {condition} }}
    ENTRY e {{ x = (s32[], pred[]) parameter(0)
      ROOT w = (s32[], pred[]) while(x), condition=more, body=body }}""")


LESS = "ROOT r = pred[] compare(i, n), direction=LT"
FLAG = "ROOT r = pred[] get-tuple-element(s), index=1"


@pytest.mark.parametrize(
    ("step", "condition", "endless"),
    [
        ("j, p", LESS, False),
        ("i, p", LESS, True),
        ("i, no", LESS, True),
        ("one, p", LESS, True),
        ("i, no", FLAG, False),
        ("i, yes", FLAG, True),
        ("i, p", FLAG, True),
    ],
)
def test_what_no_iteration_changes_ends_no_loop(step, condition, endless):
    assert is_endless(loop(step, condition)) is endless


def test_a_body_that_hands_on_what_it_is_given_never_ends():
    text = """body { ROOT s = s32[] parameter(0) }
    more { s = s32[] parameter(0)  n = s32[] constant(9)  ROOT r = pred[] compare(s, n), direction=LT }
    ENTRY e { x = s32[] parameter(0)  ROOT w = s32[] while(x), condition=more, body=body }"""
    assert is_endless(compiler.parse(text))
    assert not is_endless(compiler.parse("ENTRY e { ROOT x = s32[] parameter(0) }"))
