"""Buffers that are alive together never overlap, and those that are not share memory."""

import random
from itertools import combinations

import pytest

import compiler
from compiler.analysis.storage import ALIGNMENT, Buffer, Storage, alignment_of, largest_live_set, pack, pack_into

OWNER = compiler.parse("ENTRY e { ROOT x = f32[] parameter(0) }").entry.root


def buffer(size, first, last, storage=Storage.ARENA, number=0):
    return Buffer(storage, size, OWNER, number=number, first=first, last=last)


def meet(one, other):
    return one.first <= other.last and other.first <= one.last


def test_nothing_takes_nothing():
    assert pack([]) == 0
    assert largest_live_set([]) == 0


def test_what_is_never_alive_together_lies_at_one_place():
    buffers = [buffer(100, moment, moment) for moment in range(5)]
    assert pack(buffers) == 100
    assert {one.offset for one in buffers} == {0}


def test_a_buffer_goes_into_the_tightest_gap():
    walls = [buffer(size, 0, 9) for size in (8192, 6144, 4096)]
    wide, narrow, late = buffer(7168, 0, 0), buffer(5120, 0, 0), buffer(1024, 5, 5)
    assert pack([*walls, wide, narrow, late]) == 8192 + 7168 + 6144 + 5120 + 4096
    assert late.offset == narrow.offset


@pytest.mark.parametrize("seed", range(20))
def test_what_is_alive_together_does_not_overlap_and_is_aligned(seed):
    draw = random.Random(seed)
    spans = [sorted((draw.randrange(40), draw.randrange(40))) for _ in range(30)]
    buffers = [buffer(draw.choice([0, 1, 4, 60, 64, 1000]), *span) for span in spans]
    total = pack(buffers)
    assert all(not one.overlaps(other) for one, other in combinations(buffers, 2) if meet(one, other))
    assert all(one.offset % alignment_of(one.size_bytes) == 0 for one in buffers)
    assert largest_live_set(buffers) <= total


def test_what_must_not_share_space_does_not():
    one, other = buffer(64, 0, 0), buffer(64, 1, 1)
    assert pack([one, other], may_share=lambda _, __: False) == 128
    assert not one.overlaps(other)


@pytest.mark.parametrize(("size", "alignment"), [(0, 1), (1, 1), (2, 2), (3, 4), (33, 64), (64, 64), (1 << 20, 64)])
def test_nothing_is_aligned_further_than_its_size_asks_for(size, alignment):
    assert alignment_of(size) == alignment <= ALIGNMENT


def test_what_is_dead_before_a_result_is_written_lies_in_its_memory():
    result = buffer(100, 5, 9, Storage.RESULT, number=3)
    early, late, large = buffer(60, 0, 4), buffer(60, 0, 5), buffer(101, 0, 4)
    pack_into([result], [early, late, large], {})
    assert (early.storage, early.number) == (Storage.RESULT, 3)
    assert (late.storage, large.storage) == (Storage.ARENA, Storage.ARENA)


def test_the_most_that_is_alive_at_once_is_counted_at_the_moment_itself():
    assert largest_live_set([buffer(10, 0, 1), buffer(20, 1, 2), buffer(40, 3, 3)]) == 40
    assert largest_live_set([buffer(10, 0, 1), buffer(20, 1, 2), buffer(40, 2, 3)]) == 60


def test_memory_of_different_places_never_overlaps():
    arena, frame = buffer(64, 0, 9), buffer(64, 0, 9, Storage.FRAME)
    results = [buffer(64, 0, 9, Storage.RESULT, number) for number in (0, 1)]
    everything = [arena, frame, *results]
    assert all(one.overlaps(other) == (one is other) for one in everything for other in everything)
