"""Walks meet each node once, end where nothing follows, and stop when nobody wants more."""

from compiler.ir.graph import reachable

EDGES = {1: (2, 3), 2: (4,), 3: (4, 1), 4: (), 5: (1,)}


def test_everything_reached_is_met_once_depth_first():
    assert list(reachable([1], EDGES.__getitem__)) == [1, 3, 4, 2]


def test_several_starts_are_among_what_is_reached():
    assert set(reachable([4, 5, 5], EDGES.__getitem__)) == {1, 2, 3, 4, 5}


def test_nothing_is_reached_from_nowhere():
    assert list(reachable([], EDGES.__getitem__)) == []


def test_whoever_stops_early_pays_for_no_more():
    asked = []

    def following(node):
        asked.append(node)
        return EDGES[node]

    assert 3 in reachable([1], following)
    assert asked == [1]


def test_long_chains_need_no_stack_of_pythons():
    assert sum(1 for _ in reachable([0], lambda n: [n + 1] if n < 100_000 else [])) == 100_001
