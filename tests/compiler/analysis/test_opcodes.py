"""Sets of opcodes hold what they say of one element of a result."""

import pytest

from compiler.analysis import opcodes
from compiler.ops import OPS

SETS = {name: value for name, value in vars(opcodes).items() if name.isupper()}


@pytest.mark.parametrize("name", SETS)
def test_a_set_holds_opcodes_of_the_language(name):
    assert SETS[name]
    assert SETS[name] <= set(OPS)


def test_what_is_computed_once_only_is_not_among_what_every_copy_gets_alike_for_nothing():
    assert not opcodes.EXPENSIVE & opcodes.EXACT
    assert not opcodes.FUNCTIONS & opcodes.EXACT
    assert not opcodes.PRODUCTS & (opcodes.EXACT | opcodes.MOVES)
    assert opcodes.SPREADS <= opcodes.MOVES
    assert not opcodes.SELECTS & opcodes.MOVES
