"""Launches: what they count, what they tell threads, and what they refuse before anything runs."""

from contextlib import nullcontext

import numpy as np
import pytest

from compiler.backends.nvptx.simulator import Machine, parse_ptx
from compiler.diagnostics import InputError, ParseError, UnsupportedError

VERSION = ".version 8.0\n.target sm_90\n.address_size 64\n"


def test_statistics_count_lane_instructions(body_kernel) -> None:
    machine = Machine()
    out = machine.allocate(256)
    module = parse_ptx(VERSION + body_kernel("mov.u32 %x, 1;"))
    statistics = machine.launch(module, "k", (2, 1, 1), (32, 1, 1), [out])
    assert statistics.lane_instructions == 64 * 10
    assert statistics.instructions["mov.u32"] == 64 * 4
    assert statistics.instructions["st.global.u32"] == 64


def test_special_registers_count_in_three_dimensions(run_kernel) -> None:
    kernel = """
.visible .entry k(.param .u64 out)
{
 .reg .b32 %r<16>; .reg .b64 %rd<4>;
 mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
 mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z;
 mad.lo.u32 %r7, %r3, 3, %r2; mad.lo.u32 %r7, %r7, 2, %r1;
 mad.lo.u32 %r8, %r6, 3, %r5; mad.lo.u32 %r8, %r8, 2, %r4;
 mad.lo.u32 %r9, %r8, 12, %r7;
 ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r9, 4; add.u64 %rd1, %rd1, %rd2;
 mov.u32 %r10, %nctaid.y; mad.lo.u32 %r9, %r10, 1000, %r9;
 st.global.u32 [%rd1], %r9; ret;
}
"""
    (out,) = run_kernel(kernel, np.zeros(144, np.uint32), grid=(2, 3, 2), block=(2, 3, 2), lanes_per_batch=60)
    assert out.tolist() == list(range(3000, 3144))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "nope"}, "no kernel 'nope'"),
        ({"arguments": []}, "has 1 parameters, 0 arguments"),
        ({"block": (2048, 1, 1)}, "a block of 2048 threads"),
        ({"grid": (0, 1, 1)}, "extents of at least 1"),
    ],
)
def test_wrong_launches_say_what_is_wrong(body_kernel, change, message) -> None:
    machine = Machine()
    module = parse_ptx(VERSION + body_kernel(""))
    name = change.pop("name", "k")
    call = {"grid": (1, 1, 1), "block": (32, 1, 1), "arguments": [0], **change}
    with pytest.raises(InputError, match=message):
        machine.launch(module, name, **call)


@pytest.mark.parametrize(
    ("own", "asked", "message"),
    [(49_152, 0, ""), (49_153, 0, "declares 49153 bytes"), (1024, 232_000, "a block has at most"), (1024, 200_000, "")],
)
def test_a_kernel_declares_no_more_shared_memory_than_ptxas_takes(own, asked, message) -> None:
    kernel = f".visible .entry k() {{ .shared .b8 a[{own}]; .reg .b32 %r; mov.u32 %r, a; st.shared.b32 [%r], 1; ret; }}"
    module, shape = parse_ptx(VERSION + kernel), ((1, 1, 1), (1, 1, 1))
    with pytest.raises(InputError, match=message) if message else nullcontext():
        Machine().launch(module, "k", *shape, [], shared_bytes=asked)


@pytest.mark.parametrize(
    "text",
    [
        "setp.s32 %p, %x, %y;",
        "setp.lt.s32 %x, %y, %z;",
        "setp.lt.s32 %p, %x, %y, %q;",
        "mul.wide.u64 %rd1, %rd2, %rd3;",
        "mad.lo.s32 %x, %y, k_out, %z;",
        "shfl.sync %x, %y, 1, 31, -1;",
        "add.u32 %x, %y;",
        "add.u64 %rd1, %x, %rd2;",
        "mov.b64 %x, %rd1;",
        "ld.global.v2.b32 {%x, %y, %z}, [%a];",
        "bra nowhere;",
        "mov.b32 %x, 099;",
    ],
)
def test_wrong_instruction_is_refused_before_it_runs(run_body, text) -> None:
    with pytest.raises((ParseError, UnsupportedError)):
        run_body(f" {text}\n")


def test_unknown_modifier_is_unsupported(run_body) -> None:
    with pytest.raises(UnsupportedError, match="xorsign"):
        run_body(" min.xorsign.abs.f32 %x, %y, %z;")


def test_unknown_instruction_is_unsupported_with_its_line(run_body) -> None:
    with pytest.raises(UnsupportedError, match=r"tex\.2d .* \(line 18\)"):
        run_body(" tex.2d %x, %y;")
