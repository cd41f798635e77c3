"""What combines values, sorts or selects them by no law is told from what does, for every caller and on every type."""

import itertools

import pytest

import compiler
from compiler.generate import RandomChoices, Space, is_determined
from compiler.generate.combining import ORDERED, RECIPES, combiners
from compiler.generate.determined import is_associative, is_order, is_selector
from compiler.ir.types import TYPES

ASSOCIATIVE = {
    "add(a, b)": True,
    "maximum(b, a)": True,
    "add(b, b)": False,
    "subtract(a, b)": False,
    "copy(b)": True,
    "negate(a)": False,
    "select(is_above, a, b)": True,
    "select(is_above, b, b)": True,
    "select(is_other, a, one)": False,
    "minimum(sum, one)": False,
}
CALLERS = {
    "reduce(x, z), dimensions={1}": (1, 2),
    "reduce-window(x, z), window={size=1xN}": (1, 2),
    "reduce-window(x, z), window={size=1x1 stride=1xN}": (1, None),
    "select-and-scatter(x, s, z), window={size=1xN stride=1x1}, select=ge": (1, 2),
    "select-and-scatter(x, s, z), window={size=1xN stride=1xN}, select=ge": (1, None),
    "all-reduce(x)": (2, 3),
    "reduce-scatter(x), dimensions={1}": (2, 4),
}
"""With the most of a number with which no law shows, and the least with which one does, if any."""
_SIZE = 8


def reducer(combined, kind="f32"):
    """A reducer as text."""
    return f"""f {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  one = {kind}[] constant(1)
      sum = {kind}[] add(a, b)  is_above = pred[] compare(a, b), direction=GT
      is_other = pred[] compare(a, b), direction=NE  ROOT r = {kind}[] {combined} }}"""


def computation(text):
    """The computation f of a text."""
    module = compiler.parse(text + "\nENTRY e { ROOT x = f32[] parameter(0) }")
    return next(one for one in module.computations if one.name == "f")


@pytest.mark.parametrize(
    "kind", [kind.name for kind in ORDERED if not kind.is_complex and kind.bits >= 8 and kind.name != "pred"]
)
@pytest.mark.parametrize("combined", ASSOCIATIVE)
def test_brackets_are_tried_on_values_of_every_type(combined, kind):
    if combined == "negate(a)" and not (TYPES[kind].is_float or TYPES[kind].is_signed):
        pytest.skip("unsigned numbers have no opposite")
    assert is_associative(computation(reducer(combined, kind))) == ASSOCIATIVE[combined]


@pytest.mark.parametrize("kind", ORDERED, ids=str)
def test_what_programs_are_drawn_with_keeps_the_law(kind):
    for opcode in combiners(kind):
        text = f"f {{ a = {kind}[] parameter(0) b = {kind}[] parameter(1) ROOT r = {kind}[] {opcode}(a, b) }}"
        assert is_associative(computation(text))
    for opcode, seed in itertools.product(sorted(set(RECIPES) - {"topk"}), range(8)):
        space = Space(frozenset({opcode}), frozenset({kind.name, "pred", "s32"}), most_instructions=3)
        assert is_determined(compiler.generate.program(RandomChoices(seed), space, name="drawn"))


@pytest.mark.parametrize("caller", CALLERS)
def test_a_law_is_asked_for_where_enough_values_meet(caller):
    least, most = CALLERS[caller]
    assert is_determined(called(caller, least, "add(b, b)"))
    assert is_determined(called(caller, most or _SIZE, "add(b, b)")) == (most is None)
    assert is_determined(called(caller, most or _SIZE, "add(a, b)"))


def called(caller, number, combined):
    """A program in which a caller combines so many values, or as many devices do."""
    opcode = caller.partition("(")[0]
    header = f"HloModule m, replica_count={number}" if opcode in ("all-reduce", "reduce-scatter") else "HloModule m"
    text = caller.replace("N", str(number))
    is_cut = "stride=1xN" in caller
    size = number if opcode == "reduce" else _SIZE
    left = -(-_SIZE // number) if is_cut else _SIZE - number + 1
    shapes = {"reduce": "4", "all-reduce": f"4,{_SIZE}", "reduce-scatter": f"4,{_SIZE // number}"}
    shapes["select-and-scatter"] = f"4,{_SIZE}"
    name = "scatter" if opcode == "select-and-scatter" else "to_apply"
    return compiler.parse(f"""{header}
      {reducer(combined)}
      ge {{ c = f32[] parameter(0) d = f32[] parameter(1) ROOT g = pred[] compare(c, d), direction=GE }}
      ENTRY e {{ x = f32[4,{size}] parameter(0)  s = f32[4,{left}] parameter(1)  z = f32[] constant(0)
        ROOT y = f32[{shapes.get(opcode, f"4,{left}")}] {text}, {name}=f }}""")


@pytest.mark.parametrize(
    ("compared", "is_right"),
    [("a, b), direction=LT", True), ("a, b), direction=GT", True), ("b, a), direction=LT", True)]
    + [(f"a, b), direction={direction}", False) for direction in ("LE", "GE", "EQ", "NE")]
    + [("n, b), direction=LT", False)],
)
@pytest.mark.parametrize("kind", ["s8", "f32", "bf16"])
def test_a_comparator_must_be_of_an_order(compared, is_right, kind):
    text = f"""f {{ a = {kind}[] parameter(0) b = {kind}[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
      n = {kind}[] negate(a)  ROOT r = pred[] compare({compared} }}"""
    assert is_order(computation(text)) == is_right


@pytest.mark.parametrize(
    ("direction", "is_right"), [("GE", True), ("LE", True), ("GT", True), ("LT", True), ("NE", False), ("EQ", False)]
)
def test_what_a_window_selects_must_be_one(direction, is_right):
    text = f"""f {{ a = f32[] parameter(0) b = f32[] parameter(1)
      ROOT r = pred[] compare(a, b), direction={direction} }}"""
    assert is_selector(computation(text)) == is_right
