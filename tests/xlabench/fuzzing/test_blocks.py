"""Which numbers go together, and what is left of them when one ends a worker."""

from collections import Counter
from dataclasses import dataclass

import pytest

from xlabench.fuzzing import blocks
from xlabench.fuzzing.blocks import Todo


@dataclass(frozen=True)
class Ended:
    number: int
    members: tuple[int, ...] = ()
    is_timeout: bool = False


def test_every_number_is_run_once_and_some_alone():
    numbers = range(7, 95)
    ordered, packs = blocks.in_order(numbers)
    assert sorted(ordered) == list(numbers)
    packed = {number for pack in packs for number in pack}
    assert packed == {number for number in numbers if not blocks.is_alone(number)}
    assert all(len({blocks.block_of(number) for number in pack}) == 1 for pack in packs)
    assert all(ordered[(at := ordered.index(pack[0])) : at + len(pack)] == pack for pack in packs)


def test_one_beside_none_is_no_pack():
    assert blocks.in_order([5, 6, 24, 25, 26]) == ([6, 5, 24, 25, 26], [[25, 26]])


@pytest.fixture
def todo():
    return Todo.of(range(8), is_packed=True)


def test_a_pack_that_ends_a_worker_is_run_in_halves_and_then_one_by_one(todo):
    assert (todo.cases, todo.packs) == ([0, 6, 1, 2, 3, 4, 5, 7], [[1, 2, 3, 4, 5, 7]])
    todo.go_on(Ended(1, (1, 2, 3, 4, 5)))
    assert (todo.cases, todo.packs) == ([1, 2, 3, 4, 5, 7], [[1, 2, 3], [4, 5, 7]])
    todo.go_on(Ended(1, (1, 2, 3)))
    assert (todo.cases, todo.packs) == ([1, 2, 3, 4, 5, 7], [[4, 5, 7]])
    todo.go_on(Ended(3))
    assert (todo.cases, todo.packs) == ([4, 5, 7], [[4, 5, 7]])
    todo.go_on(None)
    assert todo.cases == []


def test_a_member_that_ends_a_worker_leaves_the_others(todo):
    todo.go_on(Ended(0))
    assert todo.cases[0] == 6
    todo.go_on(Ended(2))
    assert (todo.cases, todo.packs) == ([1, 3, 4, 5, 7], [])


def test_what_ended_a_worker_together_only_is_a_finding_unless_it_only_took_long(todo):
    alone, together, long = Ended(1, (1, 2)), Ended(3, (3, 4)), Ended(5, (5, 7), is_timeout=True)
    whole = Ended(3, (3, 4, 8, 9))
    todo.broken, todo.ending = [alone, whole, together, long], {2}
    assert todo.unexplained() == [together]


def asked(specs, count, **others):
    return [blocks.asked(specs, number, **others) for number in range(0, count * blocks.BLOCK, blocks.BLOCK)]


def test_simulators_are_asked_in_one_block_of_some_unless_there_is_no_other_engine():
    specs = ["cpu", "nvptx:sim", "reference"]
    assert asked(specs, blocks.SIMULATED_EVERY) == [specs, *[["cpu", "reference"]] * (blocks.SIMULATED_EVERY - 1)]
    assert asked(specs, 5, simulated_every=1) == [specs] * 5
    assert asked(specs[1:], 10) == [specs[1:]] * 10
    later = asked(specs, 6, simulated_every=3, simulated_from=1)
    assert later == [["cpu", "reference"], specs, ["cpu", "reference"]] * 2


def test_of_several_specs_of_an_engine_one_has_its_turn_the_first_of_them_mostly():
    specs = ["cpu", "xla", "cpu:fusion=off", "cpu:opt=3"]
    found = Counter(map(tuple, asked(specs, 2 * blocks.OTHER_SPEC_EVERY)))
    first, *others = [("cpu", "xla"), ("xla", "cpu:fusion=off"), ("xla", "cpu:opt=3")]
    assert found == {first: 2 * (blocks.OTHER_SPEC_EVERY - 1), **dict.fromkeys(others, 1)}
