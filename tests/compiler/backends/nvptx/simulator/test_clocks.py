"""A block takes what its instructions wait for, and is looked up when it is entered as before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from compiler.backends.nvptx.simulator import parse_ptx
from compiler.backends.nvptx.simulator.clocks import BasicBlock, Clocks, basic_blocks

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"


@pytest.fixture(name="blocks")
def _blocks(body_kernel: Callable[..., str]) -> Callable[[str], tuple[list[BasicBlock], int]]:
    def found(body: str) -> tuple[list[BasicBlock], int]:
        kernel = parse_ptx(HEADER + body_kernel(body)).kernels["k"]
        assert kernel.instructions is not None
        return basic_blocks(kernel.instructions, set(kernel.labels.values()))

    return found


def accesses(block: BasicBlock, latency: int) -> tuple[int, ...]:
    """Latencies of memory in a block: so much of its last access, nothing of those before."""
    return (*[0 for effects in block.effects if effects.accesses][1:], latency)


def test_blocks_begin_where_is_jumped_to_and_behind_branches(
    blocks: Callable[..., tuple[list[BasicBlock], int]],
) -> None:
    straight, parted = (blocks(body)[0] for body in ("mov.u32 %x, 1;", "@%p bra A; mov.u32 %x, 1; A: mov.u32 %x, 2;"))
    assert (len(straight), len(parted)) == (1, 3)
    assert [block.begin for block in parted[1:]] == [block.end for block in parted[:-1]]


def test_who_needs_what_is_late_waits_for_it(blocks: Callable[..., tuple[list[BasicBlock], int]]) -> None:
    (first, second), rows = blocks("ld.global.u32 %y, [%a]; bra A; A: add.u32 %x, %y, 1;")
    ends = []
    for latency in (0, 300):
        clocks = Clocks.of(2, rows)
        clocks.advance(first, slice(None), accesses(first, latency))
        entered = clocks.now.copy()
        clocks.advance(second, np.array([1]), accesses(second, 0))
        assert clocks.now[0] == entered[0]
        ends.append(int(clocks.now[1]))
    assert ends[1] - ends[0] == pytest.approx(300, abs=20)


@pytest.mark.parametrize(
    ("body", "passes"),
    [
        ("setp.lt.u32 %p, %x, %y; xor.pred %q, %q, %p; selp.b32 %z, %x, %y, %q;", [1, 0, 1]),
        ("setp.lt.u32 %p, %x, %y; not.pred %p, %p; and.pred %q, %q, %p; selp.b32 %z, %x, %y, %q;", [1, 0, 1, 1]),
        ("setp.lt.u32 %p, %x, %y; or.pred %q, %q, %p; selp.b32 %z, %x, %y, %p;", [1, 1, 1]),
        ("setp.lt.u32 %p, %x, %y; bra A; A: and.pred %q, %q, %p;", [1, 0, 1]),
        ("setp.lt.u32 %p, %x, %y; and.b32 %z, %x, %y; or.pred %q, %q, %q;", [1, 1, 1]),
    ],
    ids=["xor", "negated", "read by others", "in another block", "not of the compare"],
)
def test_a_compare_combines_its_predicate_with_another(
    body: str, passes: list[float], blocks: Callable[..., tuple[list[BasicBlock], int]]
) -> None:
    bare, found = ([e.cost.passes for block in blocks(text)[0] for e in block.effects] for text in ("", body))
    ending = 2  # the store and the return
    assert found == [*bare[:-ending], *passes, *bare[-ending:]]


def test_a_block_that_is_entered_as_before_is_looked_up(blocks: Callable[..., tuple[list[BasicBlock], int]]) -> None:
    (block,), rows = blocks("ld.global.u32 %x, [%a]; add.u32 %x, %x, 1;")
    for latency in (40, 40, 300):
        Clocks.of(2, rows).advance(block, slice(None), accesses(block, latency))
    assert len(block.times) == 2


def test_a_block_that_waits_for_nothing_is_looked_up_by_as_many_warps(
    blocks: Callable[..., tuple[list[BasicBlock], int]],
) -> None:
    (_, block, _), rows = blocks("bra A; mov.u32 %x, 1; bra A; A: mov.u32 %y, 2;")
    clocks = Clocks.of(4, rows)
    for warps in (slice(None), np.array([1, 2]), slice(None)):
        clocks.advance(block, warps, ())
    assert block.reads.size == 0
    assert clocks.now.tolist() == [2, 3, 3, 2]


COPY, COMMIT = "cp.async.ca.shared.global [%a], [%b], 4; ", "cp.async.commit_group; "


@pytest.mark.parametrize(
    ("wait", "waits"),
    [("wait_group 0", True), ("wait_group 1", True), ("wait_group 2", False), ("wait_all", True)],
)
@pytest.mark.parametrize("between", ["", "bra A; A: "], ids=["in one block", "in two"])
def test_copies_are_waited_for_by_the_groups_that_may_not_be_on_their_way(
    blocks: Callable[..., tuple[list[BasicBlock], int]], wait: str, between: str, *, waits: bool
) -> None:
    found, rows = blocks(f"{COPY}{COMMIT}{COPY}{COMMIT}{between}cp.async.{wait}; mov.u32 %x, 1;")
    clocks = Clocks.of(1, rows)
    late = iter([300])
    for block in found:
        effects = [of_one for of_one in block.effects if of_one.accesses]
        latencies = tuple(next(late, 0) if e.ahead and not e.commits else 0 for e in effects)
        clocks.advance(block, slice(None), latencies)
    assert (clocks.now[0] >= 300) == waits


SUMS = ", ".join(f"%d{n}" for n in range(32))
PRODUCT = f"wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{SUMS}}}, %rd1, %rd2, 1, 1, 1, 0, 0; "
PRODUCT_CYCLES = 32
CLOSE = "wgmma.commit_group.sync.aligned; "


@pytest.mark.parametrize(("allowed", "products"), [(0, 3), (1, 2), (2, 1), (3, 0)])
@pytest.mark.parametrize("between", ["", "bra A; A: "], ids=["in one block", "in two"])
def test_products_are_waited_for_by_the_groups_that_may_not_be_on_their_way(
    blocks: Callable[..., tuple[list[BasicBlock], int]], between: str, allowed: int, products: int
) -> None:
    wait = f"wgmma.wait_group.sync.aligned {allowed}; "
    found, rows = blocks(f".reg .b32 %d<32>; {3 * (PRODUCT + CLOSE)}{between}{wait}mov.u32 %x, 1;")
    clocks = Clocks.of(1, rows)
    for block in found:
        clocks.advance(block, slice(None), tuple(0 for of_one in block.effects if of_one.accesses))
    assert products * PRODUCT_CYCLES <= clocks.now[0] < (products + 1) * PRODUCT_CYCLES


def test_sums_are_waited_for_by_who_reads_them(blocks: Callable[..., tuple[list[BasicBlock], int]]) -> None:
    (block,), rows = blocks(f".reg .b32 %d<32>; {PRODUCT}{CLOSE}add.u32 %x, %d0, 1;")
    clocks = Clocks.of(1, rows)
    clocks.advance(block, slice(None), accesses(block, 0))
    assert clocks.now[0] >= PRODUCT_CYCLES
