"""A comparator orders by an expression where it compares that of one element with the same of the other."""

import pytest

import compiler
from compiler.ir.ordering import ordering, orderings


def comparator(lines, type_="f32"):
    text = f"""less {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)  c = f32[] parameter(2)
      d = f32[] parameter(3) {lines} }}
    ENTRY e {{ x = {type_}[4] parameter(0)  y = f32[4] parameter(1)
      ROOT s = ({type_}[4], f32[4]) sort(x, y), dimensions={{0}}, to_apply=less }}"""
    return compiler.parse(text).entry.root.attributes["to_apply"]


@pytest.mark.parametrize(
    ("lines", "descending"),
    [
        ("ROOT r = pred[] compare(a, b), direction=LT", False),
        ("ROOT r = pred[] compare(a, b), direction=GT", True),
        ("ROOT r = pred[] compare(b, a), direction=LT", True),
        ("ROOT r = pred[] compare(b, a), direction=GT", False),
        ("ROOT r = pred[] compare(c, d), direction=LT", False),
        ("n = f32[] negate(a)  m = f32[] negate(b)  ROOT r = pred[] compare(n, m), direction=LT", False),
        ("n = f32[] add(a, c)  m = f32[] add(b, d)  ROOT r = pred[] compare(n, m), direction=GT", True),
    ],
)
def test_the_first_of_two_elements_decides_which_way(lines, descending):
    found = ordering(comparator(lines))
    assert found.descending is descending
    assert found.partial


@pytest.mark.parametrize(
    "lines",
    [
        "ROOT r = pred[] compare(a, b), direction=LE",
        "ROOT r = pred[] compare(a, a), direction=LT",
        "ROOT r = pred[] compare(a, d), direction=LT",
        "n = f32[] negate(a)  ROOT r = pred[] compare(n, b), direction=LT",
        "n = f32[] add(a, d)  m = f32[] add(b, c)  ROOT r = pred[] compare(n, m), direction=LT",
        "k = f32[] constant(1)  l = f32[] constant(2)  ROOT r = pred[] compare(k, l), direction=LT",
        "p = pred[] compare(a, b), direction=LT  ROOT r = pred[] not(p)",
    ],
)
def test_what_is_not_the_same_of_either_orders_by_nothing(lines):
    assert ordering(comparator(lines)) is None


@pytest.mark.parametrize(
    ("type_", "how", "partial"),
    [("f32", "", True), ("f32", ", type=TOTALORDER", False), ("s32", "", False)],
)
def test_only_floats_without_a_total_order_leave_something_unordered(type_, how, partial):
    found = ordering(comparator(f"ROOT r = pred[] compare(a, b), direction=LT{how}", type_))
    assert (found.partial, found.element_type.name) == (partial, type_)


def test_the_expression_is_a_computation_of_either_element():
    lines = "n = f32[] negate(a)  m = f32[] negate(b)  ROOT r = pred[] compare(n, m), direction=LT"
    assert ordering(comparator(lines)).as_computation().root.opcode == "negate"


FIRST = (
    "l = pred[] compare(a, b), direction=LT, type=TOTALORDER  e = pred[] compare(a, b), direction=EQ, type=TOTALORDER"
)
SECOND = "m = pred[] compare(c, d), direction=GT, type=TOTALORDER"


@pytest.mark.parametrize(
    ("lines", "descending"),
    [
        (f"{FIRST} {SECOND} n = pred[] and(e, m)  ROOT r = pred[] or(l, n)", [False, True]),
        (f"{FIRST} {SECOND} n = pred[] and(m, e)  ROOT r = pred[] or(n, l)", [False, True]),
        ("ROOT r = pred[] compare(a, b), direction=GT", [True]),
        (f"{FIRST} {SECOND} n = pred[] and(l, m)  ROOT r = pred[] or(l, n)", []),
        (f"{FIRST} {SECOND} ROOT r = pred[] or(l, m)", []),
        (f"{FIRST} {SECOND} n = pred[] and(e, m)  ROOT r = pred[] and(l, n)", []),
        (f"{FIRST} m = pred[] compare(c, d), direction=LE  n = pred[] and(e, m)  ROOT r = pred[] or(l, n)", []),
        (f"{FIRST} {SECOND} q = pred[] compare(c, d), direction=EQ  n = pred[] and(q, m)  ROOT r = pred[] or(l, n)", []),  # noqa: E501
    ],
)  # fmt: skip
def test_the_next_expression_counts_where_those_before_are_equal(lines, descending):
    assert [one.descending for one in orderings(comparator(lines))] == descending


def test_of_several_none_may_leave_anything_unordered():
    lines = f"{FIRST} {SECOND} n = pred[] and(e, m)  ROOT r = pred[] or(l, n)".replace(", type=TOTALORDER", "")
    assert orderings(comparator(lines)) == []
