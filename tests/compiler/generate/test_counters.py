"""Loops iterate as often as their counters say, wherever these start, go and end."""

import numpy as np
import pytest

import compiler
from compiler.generate.choices import RandomChoices
from compiler.generate.counters import counter, may_iterate
from compiler.generate.scope import Program, Scope, Space
from compiler.ir.module import Computation, Module
from compiler.ir.numbers import integer_bounds
from compiler.ir.shape import ArrayShape

GOES_ON = {"LT": int.__lt__, "LE": int.__le__, "GT": int.__gt__, "GE": int.__ge__, "NE": int.__ne__}


def opened(seed):
    module = Module("m")
    module.entry = module.add_computation(Computation("main"))
    space = Space(frozenset(), frozenset({"s8", "u8", "s32", "u64"}))
    return module, Scope(Program(RandomChoices(seed), space, module, lambda _: None), module.entry, depth=0)


def drawn(seed, elements=1):
    return counter(opened(seed)[1], elements=elements)


def numbers(found, first):
    """What a loop counts, from a number on, that behind the last included."""
    low, high = integer_bounds(found.element_type)
    while GOES_ON[found.direction](first, found.bound):
        yield first
        first = (first + found.step - low) % (high - low + 1) + low
    yield first


def known(start):
    """The number that a loop surely starts from, and whether it may be the next one."""
    if start.opcode == "constant":
        return int(start.literal.array), False
    return (int(start.operands[1].literal.array) if start.opcode == "add" else 0), True


@pytest.mark.parametrize("seed", range(0, 300, 50))
def test_a_counter_ends_in_time(seed):
    for number in range(seed, seed + 50):
        found = drawn(number)
        low, high = integer_bounds(found.element_type)
        first, is_open = known(found.start)
        for start in (first, first + 1) if is_open else (first,):
            counted = list(numbers(found, start))
            assert low <= found.bound <= high
            assert abs(len(counted) - 1 - found.trips) <= is_open


def test_steps_are_added_and_taken_away_in_either_direction():
    seen = set()
    for seed in range(300):
        module, scope = opened(seed)
        found = counter(scope)
        number = scope.parameter(ArrayShape(found.element_type, ()))
        module.entry.root = found.following(scope, number)
        inputs = [np.full((), 7, p.shape.element_type.dtype) for p in module.entry.parameters]
        low, high = integer_bounds(found.element_type)
        assert int(compiler.interpret(module, *inputs)[0]) == (7 + found.step - low) % (high - low + 1) + low
        seen.add((found.step > 0, module.entry.root.opcode))
    assert seen == {(is_up, opcode) for is_up in (False, True) for opcode in ("add", "subtract")}


def test_counters_go_both_ways_in_all_integers_and_to_the_ends_of_them():
    found = [drawn(seed) for seed in range(300)]
    assert {one.direction for one in found} == set(GOES_ON)
    assert {one.element_type.name for one in found} == {"s8", "u8", "s32", "u64"}
    ends = [integer_bounds(one.element_type) for one in found]
    assert any(list(numbers(one, known(one.start)[0]))[-1] in end for one, end in zip(found, ends, strict=True))


@pytest.mark.slow
def test_some_counters_go_beyond_the_end_of_their_type_and_some_of_these_until_they_meet_it():
    counts = {seed: list(numbers(drawn(seed), known(drawn(seed).start)[0])) for seed in range(900)}
    round_ = [seed for seed, every in counts.items() if sorted(every) not in (every, every[::-1])]
    assert 10 < len(round_) < 200
    assert any(len(counts[seed]) > 40 for seed in round_)
    assert any(len(counts[seed]) < 6 and not drawn(seed).mirrored for seed in round_)


def test_arrays_of_many_elements_are_made_anew_a_few_times():
    """Else the reference takes seconds, and its bounds half a minute."""
    found = [drawn(seed, elements=1 << 16) for seed in range(900)]
    assert all(may_iterate(one.trips, 1 << 16) for one in found)
    assert any(not may_iterate(drawn(seed).trips, 1 << 16) for seed in range(900))
