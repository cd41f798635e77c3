"""What one thread wrote others must wait for; what everybody only reads nobody waits for."""

import pytest

import compiler
from compiler.analysis.storage import Buffer, Storage
from compiler.backends.cpu.hazards import Hazards

OWNER = compiler.parse("ENTRY e { ROOT x = f32[] parameter(0) }").entry.root


def buffer(offset):
    return Buffer(Storage.ARENA, 64, OWNER, offset=offset)


@pytest.mark.parametrize(
    ("before", "now", "waits"),
    [
        (("write", True), ("read", True), True),
        (("write", True), ("write", True), True),
        (("read", True), ("write", True), True),
        (("read", True), ("read", True), False),
        (("write", False), ("read", True), True),
        (("write", True), ("read", False), True),
        (("write", False), ("read", False), False),
        (("read", False), ("write", False), False),
        (("read", False), ("write", True), True),
    ],
)
def test_one_of_two_that_meet_waits_unless_one_thread_does_both(before, now, waits):
    hazards, place = Hazards(), [buffer(0)]
    for (kind, shared), act in ((before, hazards.note), (now, hazards.conflict)):
        reads, writes = (place, []) if kind == "read" else ([], place)
        found = act(reads, writes, shared=shared)
    assert found is waits


def test_memory_apart_is_no_matter():
    hazards = Hazards()
    hazards.note([], [buffer(0)], shared=True)
    assert not hazards.conflict([buffer(64)], [buffer(128)], shared=True)
    assert hazards.conflict([buffer(63)], [], shared=True)
    assert not Hazards().conflict([buffer(0)], [buffer(0)], shared=True)
