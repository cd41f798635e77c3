"""Steps of the host: what they touch, what lies inside of them, and how many of them a run puts on streams."""

import pytest

import compiler
from compiler.analysis.storage import Buffer, Storage
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.steps import (
    ConditionalStep,
    CopyStep,
    LaunchStep,
    RecordStep,
    WaitStep,
    WhileStep,
    buffers_of,
    launches_of,
    lines,
    put_down,
    walk,
    written_by,
)

OWNER = compiler.parse("ENTRY e { ROOT x = f32[] parameter(0) }").entry.root
A, B, C = (Buffer(Storage.RESULT, 64, OWNER, number) for number in range(3))
LAUNCH = LaunchStep(Launch("k", 2, 32, (7,), 16), (A, None, B), 1)
COPY = CopyStep(B, C, stream=1)
COUNTED = WhileStep((), A, (LAUNCH, COPY), trip_count=5)
ASKED = WhileStep((COPY,), A, (LAUNCH,))
CHOSEN = ConditionalStep(C, is_pred=True, branches=((LAUNCH,), (COPY, COPY)))
EVERY = {
    "launch": (LAUNCH, (A, B), (B,)),
    "copy": (COPY, (B,), (C,)),
    "record": (RecordStep(3, 1), (), ()),
    "wait": (WaitStep(3, 0), (), ()),
    "counted loop": (COUNTED, (), ()),
    "loop that is asked": (ASKED, (A,), ()),
    "conditional": (CHOSEN, (C,), ()),
}


@pytest.mark.parametrize("name", EVERY)
def test_a_step_says_what_it_reads_and_writes_itself(name):
    step, reads, writes = EVERY[name]
    assert (step.reads, step.writes) == (reads, writes)


@pytest.mark.parametrize(
    ("steps", "most", "count"),
    [
        ((), 9, 0),
        ((LAUNCH, COPY), 9, 2),
        ((COUNTED,), 10, 10),
        ((COUNTED,), 9, None),
        ((WhileStep((), A, (COUNTED, LAUNCH), trip_count=2),), 99, 22),
        ((WhileStep((), A, (LAUNCH,), trip_count=0),), 9, 0),
        ((LAUNCH, ASKED), 99, None),
        ((LAUNCH, CHOSEN), 99, None),
        ((WhileStep((), A, (CHOSEN,), trip_count=1),), 99, None),
    ],
)
def test_what_a_run_puts_on_streams_is_counted_unless_the_host_decides(steps, most, count):
    assert put_down(steps, most) == count


def test_walks_go_into_loops_and_branches():
    assert list(walk([ASKED, CHOSEN])) == [ASKED, COPY, LAUNCH, CHOSEN, LAUNCH, COPY, COPY]
    assert list(launches_of([COUNTED, CHOSEN])) == [LAUNCH, LAUNCH]
    assert list(buffers_of([COUNTED])) == [A, B, B, B, C]
    assert list(written_by([ASKED])) == [C, B]


def test_what_a_launch_does_by_itself_is_shown_and_not_walked():
    whole = LaunchStep(Launch("all", 1, 64), (A,), 1, within=(LAUNCH,), note="it is short")
    assert list(walk([whole])) == [whole]
    first, inner = lines([whole])
    assert first == "launch all<<<1, 64>>>(result 0, 64 bytes)  # it is short"
    assert inner == "  launch k<<<2, 32, 16 bytes>>>(result 0, 64 bytes; null; result 1, 64 bytes; 7)"


def test_lines_are_indented_as_steps_lie_in_each_other():
    text = list(lines([CHOSEN, COUNTED]))
    assert [len(line) - len(line.lstrip()) for line in text] == [0, 2, 2, 2, 0, 2, 2]
    assert text[0] == "conditional (result 2, 64 bytes)"
    assert text[4] == "5 iterations"
    assert text[-1] == "  copy result 1, 64 bytes -> result 2, 64 bytes on stream 1"
