"""Loops around a body: every index once, and shares that make up the whole."""

import itertools
from operator import attrgetter

import pytest
from native_functions import native

from compiler.codegen.index import constant
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.nest import (
    MOST_SHARES,
    LoopNest,
    all_of,
    joined,
    share,
    split_level,
    without_innermost,
    without_tiny_loops,
)


@pytest.mark.parametrize("loops", [(5,), (2, 3), (2, 1, 4), (1, 1)])
def test_counters_make_every_index_once(loops):
    size = 1
    for count in loops:
        size *= count
    nest = LoopNest(size, loops)
    seen = []

    def walk(counters):
        if len(counters) == len(loops):
            seen.append(nest.combine([constant(one) for one in counters]))
            return
        for one in range(loops[len(counters)]):
            walk([*counters, one])

    walk([])
    assert seen == [constant(number) for number in range(size)]


@pytest.mark.parametrize("count", [0, 1, 7, 100])
@pytest.mark.parametrize("threads", [1, 3, 8])
@pytest.mark.parametrize("align", [1, 16])
def test_shares_of_threads_make_up_the_whole(count, threads, align):
    start, stop = (
        native(64, lambda builder, thread, end=end: end(share(builder, count, thread, integer(threads), align=align)))
        for end in (attrgetter("start"), attrgetter("stop"))
    )
    ends = [(start(thread), stop(thread)) for thread in range(threads)]
    assert (ends[0][0], ends[-1][1]) == (0, count)
    assert all(one[1] == other[0] for one, other in itertools.pairwise(ends))
    assert all(first <= last and (first % align == 0 or first == count) for first, last in ends)


@pytest.mark.parametrize("count", [1, 7, 2**20 - 1, 2**20, 2**20 + 5, 2**40])
@pytest.mark.parametrize("align", [1, 64])
def test_shares_end_where_they_do_however_many_there_are(count, align):
    def end_of(builder, both, end):
        number, threads = builder.udivrem(both, integer(2 * MOST_SHARES))
        return end(share(builder, count, number, threads, align=align))

    start, stop = (
        native(64, lambda builder, both, end=end: end_of(builder, both, end))
        for end in (attrgetter("start"), attrgetter("stop"))
    )
    blocks = -(-count // align)
    for threads in (1, 2, 3, 1000, MOST_SHARES):
        for number in {0, 1, threads // 2, threads - 1} & set(range(threads)):
            ends = [min(blocks * n // threads * align, count) for n in (number, number + 1)]
            both = number * 2 * MOST_SHARES + threads
            assert [start(both), stop(both)] == ends


def test_a_range_is_known_to_hold_something_or_it_is_not():
    assert all_of(1).nonempty
    assert not all_of(0).nonempty
    assert not share(Builder(Module().function("f", "void", [])), 9, Value("i64", "%t"), integer(2)).nonempty


def test_equal_shares_are_known_to_be_as_long_as_they_are():
    equal = share(Builder(Module().function("f", "void", [])), 96, Value("i64", "%t"), integer(2), align=16)
    assert (equal.length, equal.unit, equal.nonempty) == (48, 48, True)


def test_the_outermost_loop_with_enough_iterations_is_shared():
    assert split_level((2, 64, 1000)) == 1
    assert split_level((2, 5, 3)) == 1
    assert joined(LoopNest(64 * 9, (64, 9))) == 1
    assert joined(LoopNest(8 * 8 * 8, (8, 8, 8))) == 2


def test_loops_are_joined_to_those_around_them():
    assert without_innermost(LoopNest(24, (2, 3, 4))).loops == (2, 12)
    assert without_tiny_loops(LoopNest(2 * 1000, (2, 1000))).loops == (2, 1000)
    assert without_tiny_loops(LoopNest(8, (4, 2, 1))).loops == (8,)
