"""Every seed has its turn early, as it is, and comes again varied; what a campaign draws stands between."""

import numpy as np
import pytest

import compiler
from xlabench.fuzzing.blocks import BLOCK
from xlabench.fuzzing.generate import PROFILES, draw_case
from xlabench.fuzzing.reached import seeds
from xlabench.fuzzing.seed_order import DRAWN_EVERY, calls_routines, is_first, is_seed, position_of, seed_of


@pytest.mark.parametrize("count", [1, 2, 3, 7, 318])
def test_every_seed_comes_once_then_again_in_the_same_order(count):
    positions = [position for number in range(count * 9) if (position := position_of(number, count)) is not None]
    assert positions[: 2 * count] == [(seed, times) for times in (0, 1) for seed in range(count)]


def test_seeds_come_first_and_some_programs_are_drawn_between():
    ahead = [number for number in range(5000) if is_first(number)]
    assert ahead == list(range(len(ahead)))
    assert len(ahead) % BLOCK == 0
    assert 0 <= sum(map(is_seed, ahead)) - len(seeds()) < BLOCK
    assert 0.3 < 1 - len(seeds()) / len(ahead) < 0.36


def test_a_seed_comes_as_it_is_and_then_as_another_program():
    number = next(number for number in range(100) if position_of(number, len(seeds())) == (0, 0))
    case = draw_case(PROFILES["ratchet"], 5, number)
    assert compiler.to_text(case.module).partition("\n")[2] == compiler.to_text(seeds()[0]).partition("\n")[2]
    assert "disable_passes" not in case.options["cpu"]
    again = next(n for n in range(number + 1, 9999) if position_of(n, len(seeds())) == (0, 1))
    varied = {compiler.to_text(seed_of(again, np.random.default_rng(k))) for k in range(4)}
    assert len(varied) > 1


def test_seeds_that_call_routines_come_all_once_and_then_less_often_than_others():
    """A routine takes as long to compile as ten other programs, so its seeds took half of a campaign's time."""
    first = {position_of(number, len(seeds())).seed for number in range(5000) if is_first(number) and is_seed(number)}
    routines = {number for number, seed in enumerate(seeds()) if calls_routines(seed)}
    assert routines < first
    again = [n for n in range(2000, 3000) if is_seed(n)]
    found = [calls_routines(seed_of(number, np.random.default_rng(number))) for number in again]
    assert 0 < sum(found) / len(found) < 0.5 * len(routines) / len(first)


def test_half_of_what_is_drawn_between_seeds_are_small_programs():
    drawn = [draw_case(PROFILES["ratchet"], 5, number) for number in range(0, 64, DRAWN_EVERY)]
    notes = [case.note for case in drawn]
    assert sum(notes.count(one) for one in ("small programs side by side", "a few kernels")) == len(drawn) // 2
    assert [case.is_apart for case in drawn] == [note == "a few kernels" for note in notes]
    assert any(case.is_apart for case in drawn)
