"""What is counted is the same, whether numbers are computed on which neither control nor addresses hang or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple

import pytest

from compiler.backends.nvptx.simulator import LaunchOptions, Machine, parse_ptx
from compiler.backends.nvptx.simulator.flatten import flatten
from compiler.backends.nvptx.simulator.slicing import Values, sliced

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 s[4096];\n"
SHARED = "mov.u32 %y, s; shl.b32 %z, %t, 4; add.u32 %y, %y, %z;"
BODIES = {
    "computed": "ld.global.u32 %x, [%a]; mul.lo.u32 %x, %x, 3;",
    "counted": "mov.u32 %y, 0; mov.u32 %x, 0; A: add.u32 %y, %y, 1; add.u32 %x, %x, %t;"
    "setp.lt.u32 %p, %y, %t; @%p bra A;",
    "branched on": "ld.global.u32 %y, [%a]; setp.eq.u32 %p, %y, 5; mov.u32 %x, 1; @%p bra A; add.u32 %x, %x, 2; A:",
    "guarded": "setp.lt.u32 %p, %t, 20; mov.u32 %x, 1; @%p ld.global.u32 %x, [%a]; @%p st.global.u32 [%a], %x;",
    "an address": "ld.global.u32 %y, [%a]; mul.wide.u32 %rd1, %y, 4; add.u64 %rd1, %o, %rd1; ld.global.u32 %x, [%rd1];",
    "an address in shared memory": f"{SHARED} st.shared.u32 [%y], 0; ld.shared.u32 %z, [%y]; mov.u32 %y, s;"
    "add.u32 %y, %y, %z; ld.shared.u32 %x, [%y];",
    "shared": f"{SHARED} st.shared.u32 [%y], %t; bar.sync 0; ld.shared.u32 %x, [%y];",
    "copied": f"{SHARED} shl.b32 %z, %t, 4; cvt.u64.u32 %rd1, %z; add.u64 %rd1, %o, %rd1;"
    "and.b32 %z, %t, 8; cp.async.ca.shared.global [%y], [%rd1], 8, %z; cp.async.wait_all; ld.shared.u32 %x, [%y];",
    "shuffled": "shfl.sync.bfly.b32 %x, %t, 1, 31, -1; vote.sync.ballot.b32 %y, %p, -1; add.u32 %x, %x, %y;",
    "updated": "red.global.add.u32 [%o], %t; mov.u32 %x, 1;",
    "matrices": f"{SHARED} st.shared.v4.u32 [%y], {{%t, %t, %t, %t}}; bar.sync 0;"
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%x}, [%y];",
    "products": f".reg .b32 %d<4>; {SHARED} st.shared.v4.u32 [%y], {{%t, %t, %t, %t}}; st.shared.v4.u32 [%y+2048], "
    "{%t, %t, %t, %t}; fence.proxy.async; bar.sync 0; mov.u64 %rd1, s; shr.u64 %rd1, %rd1, 4; "
    "or.b64 %rd1, %rd1, 0x1000080000; mov.b32 %d0, 0; mov.b32 %d1, 0; mov.b32 %d2, 0; mov.b32 %d3, 0; "
    "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%d0, %d1, %d2, %d3}, %rd1, %rd1, 1; "
    "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; and.b32 %x, %d0, 4;",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_counts_do_not_hang_on_what_is_computed(body: str, body_kernel: Callable[..., str]) -> None:
    module = parse_ptx(HEADER + body_kernel(body))
    found = []
    for values in Values:
        machine = Machine()
        out = machine.allocate(4 * 256 * 32, initialised=True)
        options = LaunchOptions(check_races=False, profile=True, values=values)
        statistics = machine.launch(module, "k", (2, 1, 1), (128, 1, 1), [out], options=options)
        assert statistics.profile is not None
        found.append((astuple(statistics.profile), statistics.instructions))
    assert found[0] == found[1] == found[2]


def skipped(body_kernel: Callable[..., str], body: str, *, keeps_global: bool = False) -> tuple[list[str], bool]:
    module = parse_ptx(HEADER + body_kernel(body))
    placed = flatten(module, module.kernels["k"]).placed
    found = sliced(placed, keeps_global=keeps_global)
    return [placed[number].instruction.opcode for number in sorted(found.skipped)], found.reads_back


def test_what_is_only_stored_is_skipped(body_kernel: Callable[..., str]) -> None:
    body = "ld.global.u32 %x, [%a]; mul.lo.u32 %x, %x, 3;"
    assert skipped(body_kernel, body) == (["ld", "mul", "st"], False)
    assert "mul" not in skipped(body_kernel, body, keeps_global=True)[0]


def test_what_is_loaded_from_where_it_was_stored_hangs_on_it(body_kernel: Callable[..., str]) -> None:
    opcodes, reads_back = skipped(body_kernel, BODIES["an address in shared memory"])
    assert opcodes == ["ld", "st"]
    assert not reads_back


@pytest.mark.parametrize("how", ["global", "global.nc"])
def test_control_may_hang_on_global_memory(how: str, body_kernel: Callable[..., str]) -> None:
    assert skipped(body_kernel, BODIES["branched on"].replace("ld.global", f"ld.{how}"))[1]
