"""Memory spaces, widths of accesses, atomics and asynchronous copies, on hand-written PTX."""

import numpy as np
import pytest


def test_constants_globals_and_pointers_to_them_are_initialised(run_body) -> None:
    prelude = """
.const .align 4 .u32 table[4] = {10, 20, 30};
.global .align 4 .f32 g = 0f3FC00000;
.global .align 8 .u64 pg = generic(table)+4;
"""
    body = """
 and.b32 %y, %t, 3;
 mul.wide.u32 %rd1, %y, 4;
 mov.u64 %rd2, table;
 add.u64 %rd1, %rd1, %rd2;
 ld.const.u32 %x, [%rd1];
 ld.global.u64 %rd3, [pg];
 ld.u32 %z, [%rd3];
 add.u32 %x, %x, %z;
 ld.global.u32 %z, [g];
 shr.u32 %z, %z, 24;
 add.u32 %x, %x, %z;
"""
    expected = [(10, 20, 30, 0)[i % 4] + 20 + 0x3F for i in range(64)]
    assert run_body(body, prelude=prelude).tolist() == expected


def test_generic_addresses_reach_each_space(run_body) -> None:
    body = """
 .shared .align 4 .b8 sh[128];
 .local .align 4 .b8 lo[4];
 mul.wide.u32 %rd1, %t, 4;
 mov.u64 %rd2, sh;
 cvta.shared.u64 %rd3, %rd2;
 add.u64 %rd3, %rd3, %rd1;
 mov.u64 %rd4, lo;
 cvta.local.u64 %rd4, %rd4;
 and.b32 %y, %t, 1;
 setp.eq.u32 %p, %y, 0;
 selp.b64 %rd5, %rd3, %rd4, %p;
 setp.eq.u32 %q, %t, 3;
 selp.b64 %rd5, %a, %rd5, %q;
 st.u32 [%rd5], %i;
 ld.u32 %x, [%rd5];
 isspacep.shared %p, %rd5;
 @%p add.u32 %x, %x, 1000;
"""
    assert run_body(body).tolist() == [i + (1000 if i % 2 == 0 else 0) for i in range(64)]


def test_dynamic_shared_memory_follows_the_static_part(run_body) -> None:
    prelude = ".extern .shared .align 16 .b8 dyn[];\n"
    body = """
 .shared .align 4 .b8 fixed[4];
 st.shared.u32 [fixed], 1;
 mul.wide.u32 %rd1, %t, 4;
 mov.u64 %rd2, dyn;
 add.u64 %rd1, %rd1, %rd2;
 st.shared.u32 [%rd1], %t;
 bar.sync 0;
 xor.b32 %y, %t, 31;
 mul.wide.u32 %rd1, %y, 4;
 add.u64 %rd1, %rd1, %rd2;
 ld.shared.u32 %x, [%rd1];
"""
    out = run_body(body, threads=32, prelude=prelude, shared_bytes=128)
    assert out.tolist() == list(range(31, -1, -1))


def test_narrow_and_vector_accesses_extend_and_split(run_body) -> None:
    body = """
 .shared .align 16 .b8 sh[16];
 setp.ne.u32 %p, %t, 0;
 @%p bra wait;
 st.shared.v4.b32 [sh], {0x80FF7F01, 2, 3, 4};
wait:
 bar.sync 0;
 ld.shared.s8 %x, [sh+3];
 ld.shared.u8 %rs1, [sh+2];
 cvt.u32.u16 %y, %rs1;
 add.u32 %x, %x, %y;
 ld.shared.v2.b16 {%rs2, %rs3}, [sh+4];
 mov.b32 %z, {%rs2, %rs3};
 add.u32 %x, %x, %z;
 ld.shared.v2.b32 {%y, %z}, [sh+8];
 mov.b64 %rd1, {%y, %z};
 mov.b64 {%r1, %r2}, %rd1;
 mad.lo.u32 %x, %r1, %r2, %x;
"""
    assert run_body(body, threads=32).view(np.int32).tolist() == [-128 + 255 + 2 + 12] * 32


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        ("red.global.add.u32 [%o], %i;", 5, 5 + sum(range(64))),
        ("red.global.max.s32 [%o], %i;", -3 & 0xFFFFFFFF, 63),
        ("red.global.min.u32 [%o], %i;", 9, 0),
        ("red.global.xor.b32 [%o], %i;", 1, 1),
        ("red.global.or.b32 [%o], %i;", 64, 127),
        ("atom.global.inc.u32 %x, [%o], 9;", 0, 64 % 10),
        ("atom.global.add.u32 %x, [%o], 2;", 0, 128),
        ("atom.global.exch.b32 %x, [%o], %i;", 0, 63),
        ("atom.global.cas.b32 %x, [%o], 0, 77;", 0, 77),
    ],
)
def test_atomics_happen_one_after_the_other(run_body, text, start, expected) -> None:
    assert run_body(text, np.array([start], np.uint32), ending="").tolist() == [expected]


def test_atomic_gives_every_lane_its_own_old_value(run_body) -> None:
    body = """
 .shared .align 4 .b8 sh[4];
 setp.ne.u32 %p, %t, 0;
 @!%p st.shared.u32 [sh], 10;
 bar.sync 0;
 mov.u64 %rd1, sh;
 cvta.shared.u64 %rd1, %rd1;
 atom.add.u32 %x, [%rd1], 3;
"""
    assert run_body(body, threads=32).tolist() == [10 + 3 * i for i in range(32)]


def test_float_atomics_round_like_additions_in_lane_order(run_body) -> None:
    body = """
 add.u32 %y, %i, 1;
 cvt.rn.f32.u32 %y, %y;
 div.rn.f32 %y, 0f3F800000, %y;
 red.global.add.f32 [%o], %y;
"""
    out = run_body(body, np.zeros(1, np.float32), ending="")
    total = np.float32(0)
    for i in range(64):
        total += np.float32(1) / np.float32(i + 1)
    assert out[0] == total


def test_async_copies_land_group_by_group(run_body) -> None:
    body = """
 .shared .align 16 .b8 sh[1024];
 st.global.u32 [%a], %i;
 mul.wide.u32 %rd1, %t, 4;
 mov.u64 %rd2, sh;
 add.u64 %rd1, %rd1, %rd2;
 cp.async.ca.shared.global [%rd1], [%a], 4;
 cp.async.commit_group;
 cp.async.ca.shared.global [%rd1+512], [%a], 4, 0;
 cp.async.commit_group;
 cp.async.wait_group 1;
 ld.shared.u32 %x, [%rd1];
 cp.async.wait_all;
 ld.shared.u32 %y, [%rd1+512];
 mad.lo.u32 %x, %x, 2, %y;
"""
    assert run_body(body).tolist() == [2 * i for i in range(64)]
