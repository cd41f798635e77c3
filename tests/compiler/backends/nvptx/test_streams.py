"""Steps on streams: what is independent runs side by side, what is not is ordered, and memory is shared accordingly."""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

import compiler
from compiler import CompileOptions, inputs
from compiler.analysis.storage import Buffer, Storage
from compiler.backends.nvptx import program, streams
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.steps import LaunchStep, RecordStep, Step, WaitStep
from compiler.backends.nvptx.streams import Hazards, Order, StreamRace, WrittenOver, spread

BRANCHES = """ENTRY e { x = f32[24,40] parameter(0)  y = f32[40,24] parameter(1)
  a = f32[24,24] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[40,40] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[24,24] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = f32[40,40] dot(b, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  f = f32[24,40] dot(c, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[24,40] dot(f, d), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""
CHAIN = """ENTRY e { x = f32[24,24] parameter(0)
  a = f32[24,24] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT b = f32[24,24] dot(a, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""

pytestmark = pytest.mark.usefixtures("small_launches")


@pytest.fixture(autouse=True)
def _nothing_is_light(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "light" not in request.node.name:
        monkeypatch.setattr(streams, "LIGHT_BYTES", 0)


def compiled(text: str) -> Any:
    return compiler.compile(text, "nvptx", CompileOptions(device="sim", arch="sm_80"))


def run(steps: Sequence[Step]) -> None:
    hazards = Hazards()
    for step in steps:
        if isinstance(step, RecordStep | WaitStep):
            hazards.order(step)
        elif isinstance(step, LaunchStep):
            hazards.work(step)


def drawn(seed: int) -> list[LaunchStep]:
    """Launches that read and write buffers at random."""
    choices = random.Random(seed)
    owner: Any = SimpleNamespace(name="owner")
    buffers = [Buffer(Storage.RESULT, 64, owner, number) for number in range(choices.randint(2, 12))]
    steps = []
    for number in range(choices.randint(1, 30)):
        used = choices.sample(buffers, choices.randint(1, min(3, len(buffers))))
        steps.append(LaunchStep(Launch(f"k{number}", 1, 1), tuple(used), 1))
    return steps


@pytest.mark.slow
def test_independent_kernels_have_streams_of_their_own() -> None:
    text = str(compiled(BRANCHES).artifacts["thunk_sequence.txt"])
    assert "on stream 1" in text
    assert text.index("record event") < text.index("wait for event")


@pytest.mark.slow
def test_light_kernels_are_not_worth_a_stream() -> None:
    assert "event" not in str(compiled(BRANCHES).artifacts["thunk_sequence.txt"])


def test_kernels_that_need_each_other_share_a_stream() -> None:
    text = str(compiled(CHAIN).artifacts["thunk_sequence.txt"])
    assert "stream" not in text
    assert "event" not in text


@pytest.mark.slow
def test_a_program_on_several_streams_computes_the_same() -> None:
    executable = compiled(BRANCHES)
    arrays = inputs.draw(executable.module, 0)
    (expected,), (actual,) = compiler.interpret(executable.module, *arrays), executable(*arrays)
    assert abs(expected - actual).max() <= 1e-5 * abs(expected).max()


@pytest.mark.parametrize("seed", range(60))
def test_every_order_that_is_needed_is_kept(seed: int) -> None:
    work = drawn(seed)
    steps, order = spread(work)
    run(steps)
    assert [s.launch for s in steps if isinstance(s, LaunchStep)] == [s.launch for s in work]
    assert max(s.stream for s in steps if isinstance(s, LaunchStep)) < 4
    buffers = {buffer for step in work for buffer in step.reads}
    sharing = [(a, b) for a in buffers for b in buffers if a is not b and order.allows_sharing(a, b)]
    for one, other in sharing:
        # As one place in memory they still never meet.
        for buffer, offset in ((one, 0), (other, 32)):
            buffer.storage, buffer.offset = Storage.ARENA, offset
        run(steps)
        for buffer in (one, other):
            buffer.storage = Storage.RESULT


def lives(number: int, first: int, last: int) -> Buffer:
    owner: Any = SimpleNamespace(name="owner")
    return Buffer(Storage.ARENA, 64, owner, number, first=first, last=last)


def test_memory_is_shared_where_steps_are_in_the_order_of_lives() -> None:
    one, other = lives(0, 0, 1), lives(1, 2, 9)
    for before, after in ((one, other), (other, one)):
        # The step that uses `before` is the first of a stretch, that of `after` the second, behind it.
        order = Order([{before: (1, 0), after: (2, 1)}])
        assert order.allows_sharing(one, other) == order.allows_sharing(other, one) == (before is one)


def test_what_is_read_must_not_have_been_written_over() -> None:
    one, other, result = lives(0, 0, 9), lives(1, 2, 3), lives(2, 9, 9)
    one.offset, other.offset, result.offset = 0, 32, 96
    writes, covers, reads = (
        LaunchStep(Launch(name, 1, 1), buffers, 1)
        for name, buffers in (("writes", (one,)), ("covers", (other,)), ("reads", (one, result)))
    )
    run([writes, reads, covers, writes, reads])
    for last in (reads, LaunchStep(Launch("persistent", 1, 1), (one, result), 1, within=(reads,))):
        with pytest.raises(WrittenOver, match="reads arena offset 0, 64 bytes, over which 'launch covers"):
            run([writes, covers, last])


@pytest.mark.parametrize("seed", range(60))
def test_an_order_that_is_missing_is_found(seed: int) -> None:
    steps, _ = spread(drawn(seed))
    waits = [step for step in steps if isinstance(step, WaitStep)]
    needed = 0
    for missing in waits:
        try:
            run([step for step in steps if step is not missing])
        except StreamRace:
            needed += 1
    # What is waited for at the beginning and at the end concerns the host alone.
    streams = {step.stream for step in steps if isinstance(step, LaunchStep)}
    assert needed >= len(waits) - 2 * (len(streams) - 1)


@pytest.mark.slow
def test_the_simulator_finds_a_race_between_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgets(steps: Sequence[Step]) -> Any:
        kept, order = spread(steps)
        return tuple(step for step in kept if not isinstance(step, WaitStep)), order

    monkeypatch.setattr(program, "spread", forgets)
    executable = compiled(BRANCHES)
    with pytest.raises(StreamRace, match=r"nothing orders 'launch .* stream"):
        executable(*inputs.draw(executable.module, 0))


@pytest.mark.slow
def test_the_simulator_finds_memory_that_concurrent_kernels_share(monkeypatch: pytest.MonkeyPatch) -> None:
    def together(assignment: Any, _: Any) -> None:
        for buffers in assignment.of.values():
            for buffer in buffers:
                buffer.offset = 0

    monkeypatch.setattr(program, "pack_again", together)
    executable = compiled(BRANCHES)
    with pytest.raises(StreamRace, match="race between streams for arena offset 0"):
        executable(*inputs.draw(executable.module, 0))


@pytest.mark.slow
def test_a_profile_runs_on_one_stream() -> None:
    executable = compiled(BRANCHES)
    assert len(executable.profile(*inputs.draw(executable.module, 0))) == 6
