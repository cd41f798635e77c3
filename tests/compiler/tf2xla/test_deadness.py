"""A Merge chooses between two values that are there on two sides of one Switch, and is refused any other."""

import numpy as np
import pytest

import compiler
from compiler.expansion.expression import Expression
from compiler.tf2xla.deadness import ALWAYS, chosen, merged, together

TEXT = """ENTRY e { p = pred[] parameter(0)  q = pred[] parameter(1)  x = f32[] parameter(2)
  ROOT y = f32[] parameter(3) }"""


@pytest.fixture
def values():
    module = compiler.parse(TEXT)
    return module, [Expression(one) for one in module.entry.parameters]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("holds", [True, False])
def test_the_value_that_is_there_is_chosen_with_its_number(values, first, holds):
    module, (p, q, x, y) = values
    common = frozenset({chosen(q, condition=True)})
    sides = [together([common, {chosen(p, condition=first)}]), together([common, {chosen(p, condition=not first)}])]
    value, number, where = merged([x, y], sides)
    assert where == common
    for root, expected in ((value, 5.0 if holds is first else 7.0), (number, 0 if holds is first else 1)):
        module.entry.root = root.instruction
        found = compiler.interpret(module, np.bool_(holds), np.bool_(1), np.float32(5), np.float32(7))
        assert found[0] == expected


def test_values_that_are_not_two_sides_of_one_switch_are_not_merged(values):
    _, (p, q, x, y) = values
    here, there = frozenset({chosen(p, condition=True)}), frozenset({chosen(q, condition=False)})
    assert merged([x, y], [here, there]) is None
    assert merged([x, y], [here, here]) is None
    assert merged([x, y], [ALWAYS, ALWAYS]) is None
    assert merged([x], [here]) is None
    assert together([]) == ALWAYS
