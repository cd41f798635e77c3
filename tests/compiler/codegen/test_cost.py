"""What opcodes are expected to cost: all of them, and more for those that are said to be expensive."""

import pytest

from compiler.codegen.cost import COST
from compiler.ops import OPS, Trait, having


def test_every_opcode_has_a_cost():
    assert set(COST) == set(OPS)
    assert all(cost >= 0 for cost in COST.values())


@pytest.mark.parametrize("opcode", sorted(having(Trait.EXPENSIVE)))
def test_what_is_expensive_costs_several_additions(opcode):
    assert COST[opcode] >= 5 * COST["add"]


@pytest.mark.parametrize("opcode", sorted(having(Trait.STRUCTURAL | Trait.VIEW)))
def test_what_computes_nothing_costs_nothing(opcode):
    assert COST[opcode] == 0
