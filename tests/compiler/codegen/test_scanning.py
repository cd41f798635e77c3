"""A scan is a reduce-window whose windows hold everything from one end of one dimension."""

import pytest

import compiler
from compiler.codegen.scanning import Direction, direction


def found(window, dims="5,7"):
    text = f"""add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}
    ENTRY e {{ x = f32[{dims}] parameter(0)  z = f32[] constant(0)
      ROOT r = f32[{dims}] reduce-window(x, z), window={{{window}}}, to_apply=add }}"""
    return direction(compiler.parse(text).entry.root)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("size=1x7 pad=0_0x6_0", Direction(1, backwards=False)),
        ("size=1x7 pad=0_0x0_6", Direction(1, backwards=True)),
        ("size=5x1 pad=4_0x0_0", Direction(0, backwards=False)),
        ("size=5x7 pad=4_0x6_0", None),
        ("size=1x7 pad=0_0x5_1", None),
        ("size=1x3 pad=0_0x2_0", None),
        ("size=1x7 pad=0_0x12_0 rhs_dilate=1x2", None),
        ("size=1x1", None),
    ],
)
def test_only_what_holds_everything_up_to_the_place_is_a_scan(window, expected):
    assert found(window) == expected


def test_of_a_single_element_nothing_is_scanned():
    assert found("size=1x1", "5,1") is None
