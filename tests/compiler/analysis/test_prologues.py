"""What leads to a factor joins its product where the factor's elements are asked for about once."""

import pytest

import compiler
from compiler.analysis.prologues import joins


def asked(rows, *, lines="y = f32[64,48] multiply(q, s)", cheap=True, twice=False, type_="f32"):
    right = "y" if not twice else "q"
    text = f"""ENTRY e {{ x = f32[{rows},64] parameter(0)  q = f32[64,48] parameter(1)  s = f32[64,48] parameter(2)
      {lines}
      ROOT d = f32[{rows},48] dot(x, {right}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}"""
    named = {i.name: i for i in compiler.parse(text.replace("f32", type_)).entry.instructions}
    return joins(named["y"], set(named.values()), cheap=cheap)


@pytest.mark.parametrize(
    ("rows", "cheap", "joined"),
    [(1, False, True), (4, False, True), (5, False, False), (5, True, True), (64, True, True), (65, True, False)],
)
def test_few_rows_ask_about_once_and_packing_makes_up_for_some_more(rows, cheap, joined):
    assert asked(rows, cheap=cheap) is joined


def test_narrow_types_are_packed_as_they_lie_in_memory():
    assert asked(5, type_="bf16") is False
    assert asked(1, type_="bf16") is True


def test_what_leads_to_no_product_joins_none():
    assert asked(1, twice=True) is False


def test_what_comes_from_a_product_stays_with_that():
    lines = "p = f32[64,48] dot(q, s), lhs_batch_dims={0,1}, rhs_batch_dims={0,1} y = f32[64,48] negate(p)"
    assert asked(1, lines=lines) is False
