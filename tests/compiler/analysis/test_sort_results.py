"""Of a sort only what is read need be written."""

import pytest

import compiler
from compiler.analysis.sort_results import read_of

LESS = """less { a = f32[] parameter(0)  b = f32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT }
less1 { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }"""
PAIR = "s = (f32[2,9], s32[2,9]) sort(x, i), dimensions={1}, to_apply=less"
KEYS, VALUES = "k = f32[2,9] get-tuple-element(s), index=0", "v = s32[2,9] get-tuple-element(s), index=1"
BOTH = """c = f32[2,3] slice(k), slice={[0:2], [0:3]}  d = s32[2,3] slice(v), slice={[0:2], [0:3]}
  ROOT t = (f32[2,3], s32[2,3]) tuple(c, d)"""


def read(lines):
    text = f"{LESS} ENTRY e {{ x = f32[2,9] parameter(0)  i = s32[2,9] parameter(1) {lines} }}"
    sort = next(i for i in compiler.parse(text).entry.instructions if i.opcode == "sort")
    return [i.name for i in read_of(sort)]


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        (f"{PAIR} {VALUES} ROOT r = s32[2,9] negate(v)", ["v"]),
        (f"{PAIR} {KEYS} {VALUES} ROOT t = (f32[2,9], s32[2,9]) tuple(k, v)", []),
        (PAIR.replace("s =", "ROOT s ="), []),
        (f"{PAIR} {VALUES} ROOT c = s32[2,3] slice(v), slice={{[0:2], [0:3]}}", ["c"]),
        (f"{PAIR} {VALUES} ROOT c = s32[2,3] slice(v), slice={{[0:2], [1:4]}}", ["v"]),
        (f"{PAIR} {VALUES} ROOT c = s32[1,3] slice(v), slice={{[0:1], [0:3]}}", ["v"]),
        (
            f"{PAIR} {KEYS} {VALUES} {BOTH}",
            ["c", "d"],
        ),
        (
            "s = f32[2,9] sort(x), dimensions={1}, to_apply=less1 ROOT c = f32[2,4] slice(s), slice={[0:2], [0:4]}",
            ["c"],
        ),
        ("s = f32[2,9] sort(x), dimensions={1}, to_apply=less1 ROOT c = f32[2,9] negate(s)", []),
    ],
)
def test_what_is_read_is_found(lines, names):
    assert read(lines) == names
