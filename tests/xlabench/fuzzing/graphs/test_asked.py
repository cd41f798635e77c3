"""Of a campaign's engines those that compile nothing are always asked, the others in turn."""

import pytest

from xlabench.commands.fuzz import ENGINES
from xlabench.fuzzing.graphs.asked import ALWAYS, asked
from xlabench.fuzzing.graphs.cases import engines_for

SPECS = engines_for(tuple(ENGINES))


def test_each_engine_has_its_turn_beside_those_that_compile_nothing():
    others = [spec for spec in SPECS if spec not in ALWAYS]
    for number in range(2 * len(others)):
        assert sorted(asked(SPECS, number)) == sorted([*ALWAYS, others[number % len(others)]])


@pytest.mark.parametrize("spec", SPECS)
def test_who_is_alone_is_asked_about_every_graph(spec):
    """As when it is asked again whether it is the one that ends a process."""
    assert all(asked([spec], number) == [spec] for number in range(20))
