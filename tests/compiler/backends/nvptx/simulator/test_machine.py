"""Divergence, memory spaces, calls, warps, atomics and copies, on hand-written PTX."""

import numpy as np
import pytest

from compiler.backends.nvptx.simulator import Machine, parse_ptx
from compiler.diagnostics import InputError, ParseError, UnsupportedError

U32 = np.uint32

HEAD = """
.visible .entry k(.param .u64 k_out)
{
 .reg .b64 %o, %a, %b, %rd<8>;
 .reg .b32 %t, %i, %n, %x, %y, %z, %w, %r<8>;
 .reg .b16 %rs<8>;
 .reg .pred %p, %q;
 ld.param.u64 %o, [k_out];
 mov.u32 %t, %tid.x;
 mov.u32 %i, %ctaid.x;
 mov.u32 %n, %ntid.x;
 mad.lo.u32 %i, %i, %n, %t;
 mul.wide.u32 %a, %i, 4;
 add.u64 %a, %o, %a;
"""
TAIL = "\n st.global.u32 [%a], %x;\n ret;\n}\n"


def run(run_kernel, body, count=64, block=(32, 1, 1), prelude="", tail=TAIL, dtype=U32, **options):
    (out,) = run_kernel(
        prelude + HEAD + body + tail,
        np.zeros(count, dtype),
        grid=(count // block[0], 1, 1),
        block=block,
        **options,
    )
    return out


COLLATZ = """
 add.u32 %y, %i, 1;
 mov.u32 %x, 0;
loop:
 setp.eq.u32 %p, %y, 1;
 @%p bra done;
 add.u32 %x, %x, 1;
 and.b32 %z, %y, 1;
 setp.eq.u32 %q, %z, 0;
 @%q bra even;
 mad.lo.u32 %y, %y, 3, 1;
 bra loop;
even:
 shr.u32 %y, %y, 1;
 bra loop;
done:
"""


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


@pytest.mark.parametrize("lanes_per_batch", [1, 64, 4096])
def test_divergent_loops_meet_again(run_kernel, lanes_per_batch) -> None:
    out = run(run_kernel, COLLATZ, 128, lanes_per_batch=lanes_per_batch)
    assert out.tolist() == [collatz(i + 1) for i in range(128)]


# The branches meet at `join`, which stands before both of them; the vote there needs all 32 lanes.
MEETS_BEHIND = """
 mov.u32 %w, 0;
again:
 and.b32 %y, %t, 1;
 setp.eq.u32 %p, %y, 0;
 @%p bra even;
 bra odd;
join:
 vote.sync.ballot.b32 %x, %q, 0xffffffff;
 add.u32 %w, %w, 1;
 setp.lt.u32 %p, %w, 3;
 @%p bra again;
 bra out;
even:
 setp.gt.u32 %q, %t, 15;
 bra join;
odd:
 setp.lt.u32 %q, %t, 16;
 bra join;
out:
"""


def test_lanes_meet_where_the_text_has_it_before_their_branches(run_kernel) -> None:
    out = run(run_kernel, MEETS_BEHIND, 32)
    assert {hex(x) for x in out.tolist()} == {"0x5555aaaa"}


def test_indexed_branch_goes_to_the_target_of_each_lane(run_kernel) -> None:
    body = """
 and.b32 %y, %t, 3;
 mov.u32 %x, 9;
table: .branchtargets a0, a1, a2, a1;
 brx.idx %y, table;
a0: mov.u32 %x, 100; bra end;
a1: mov.u32 %x, 101; bra end;
a2: mov.u32 %x, 102;
end:
"""
    assert run(run_kernel, body).tolist() == [(100, 101, 102, 101)[i % 4] for i in range(64)]


CALLEE = """
.func (.param .b32 r) twice_plus(.param .b32 p0, .param .b64 p1)
{
 .reg .b32 %x, %y;
 .reg .b64 %a;
 .reg .pred %p;
 ld.param.u32 %x, [p0];
 ld.param.u64 %a, [p1];
 ld.u32 %y, [%a];
 setp.gt.u32 %p, %x, 40;
 @%p bra big;
 shl.b32 %x, %x, 1;
 add.u32 %x, %x, %y;
 st.param.b32 [r], %x;
 ret;
big:
 st.param.b32 [r], 7;
 ret;
}
"""


def test_calls_pass_values_and_pointers_to_local_memory(run_kernel) -> None:
    body = """
 .local .align 8 .b8 depot[16];
 mov.u64 %rd1, depot;
 st.local.u32 [%rd1+4], 5;
 cvta.local.u64 %rd2, %rd1;
 add.u64 %rd2, %rd2, 4;
 { .param .b32 q0; .param .b64 q1; .param .b32 back;
 st.param.b32 [q0], %i;
 st.param.b64 [q1], %rd2;
 call.uni (back), twice_plus, (q0, q1);
 ld.param.b32 %y, [back]; }
 { .param .b32 q0; .param .b64 q1; .param .b32 back;
 st.param.b32 [q0], %y;
 st.param.b64 [q1], %rd2;
 call (back), twice_plus, (q0, q1);
 ld.param.b32 %x, [back]; }
"""

    def twice(x: int) -> int:
        return 7 if x > 40 else 2 * x + 5

    assert run(run_kernel, body, prelude=CALLEE).tolist() == [twice(twice(i)) for i in range(64)]


def test_recursion_is_refused(run_kernel) -> None:
    prelude = ".func f() { call.uni f; ret; }\n"
    with pytest.raises(UnsupportedError, match="recursion of 'f'"):
        run(run_kernel, " call.uni f;\n mov.u32 %x, 0;", prelude=prelude)


def test_constants_globals_and_pointers_to_them_are_initialised(run_kernel) -> None:
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
    assert run(run_kernel, body, prelude=prelude).tolist() == expected


def test_generic_addresses_reach_each_space(run_kernel) -> None:
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
    assert run(run_kernel, body).tolist() == [i + (1000 if i % 2 == 0 else 0) for i in range(64)]


def test_dynamic_shared_memory_follows_the_static_part(run_kernel) -> None:
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
    out = run(run_kernel, body, 32, prelude=prelude, shared_bytes=128)
    assert out.tolist() == list(range(31, -1, -1))


def test_narrow_and_vector_accesses_extend_and_split(run_kernel) -> None:
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
    assert run(run_kernel, body, 32).view(np.int32).tolist() == [-128 + 255 + 2 + 12] * 32


@pytest.mark.parametrize(
    ("mode", "amount", "clamp", "source"),
    [
        ("up", 3, 0, lambda i: i - 3 if i >= 3 else i),
        ("down", 5, 31, lambda i: i + 5 if i + 5 < 32 else i),
        ("bfly", 9, 31, lambda i: i ^ 9),
        ("idx", 6, 31, lambda _: 6),
        ("down", 2, 0x1807, lambda i: i + 2 if i % 8 + 2 < 8 else i),
        ("idx", 3, 0x181F, lambda i: i // 8 * 8 + 3),
    ],
)
@pytest.mark.parametrize("given", ["{0}", "%z"])
def test_shuffle_reads_the_other_lane(run_kernel, mode, amount, clamp, source, given) -> None:
    body = f" add.u32 %y, %i, 500;\n mov.u32 %z, {amount};\n"
    body += f" shfl.sync.{mode}.b32 %x|%p, %y, {given.format(amount)}, {clamp}, -1;\n"
    expected = [source(i % 32) + i // 32 * 32 + 500 for i in range(64)]
    assert run(run_kernel, body).tolist() == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (" vote.sync.ballot.b32 %x, %p, -1;", lambda i: 0x07 if i < 32 else 0),
        (" vote.sync.any.pred %q, %p, -1;\n selp.b32 %x, 1, 0, %q;", lambda i: int(i < 32)),
        (" vote.sync.all.pred %q, !%p, -1;\n selp.b32 %x, 1, 0, %q;", lambda i: int(i >= 32)),
        (" activemask.b32 %x;", lambda _: 0xFFFFFFFF),
        (" redux.sync.add.s32 %x, %i, -1;", lambda i: sum(range(i // 32 * 32, i // 32 * 32 + 32))),
        (" redux.sync.max.u32 %x, %i, -1;", lambda i: i // 32 * 32 + 31),
        (" and.b32 %y, %i, 1;\n match.any.sync.b32 %x, %y, -1;", lambda i: 0x55555555 << (i & 1)),
        (" mov.u32 %x, %lanemask_lt;", lambda i: (1 << i % 32) - 1),
        (" mov.u32 %x, %warpid;", lambda i: i // 32),
    ],
)
def test_warp_operations(run_kernel, body, expected) -> None:
    out = run(run_kernel, " setp.lt.u32 %p, %i, 3;\n" + body, block=(64, 1, 1))
    assert out.tolist() == [expected(i) for i in range(64)]


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
def test_atomics_happen_one_after_the_other(run_kernel, text, start, expected) -> None:
    kernel = HEAD + f" {text}\n ret;\n}}\n"
    (out,) = run_kernel(kernel, np.array([start], U32), grid=(2, 1, 1))
    assert out.tolist() == [expected]


def test_atomic_gives_every_lane_its_own_old_value(run_kernel) -> None:
    body = """
 .shared .align 4 .b8 sh[4];
 setp.ne.u32 %p, %t, 0;
 @!%p st.shared.u32 [sh], 10;
 bar.sync 0;
 mov.u64 %rd1, sh;
 cvta.shared.u64 %rd1, %rd1;
 atom.add.u32 %x, [%rd1], 3;
"""
    assert run(run_kernel, body, 32).tolist() == [10 + 3 * i for i in range(32)]


def test_float_atomics_round_like_additions_in_lane_order(run_kernel) -> None:
    kernel = (
        HEAD + " cvt.rn.f32.u32 %y, %i;\n div.rn.f32 %y, 0f3F800000, %y;\n red.global.add.f32 [%o], %y;\n ret;\n}\n"
    )
    kernel = kernel.replace("cvt.rn.f32.u32 %y, %i", "add.u32 %y, %i, 1;\n cvt.rn.f32.u32 %y, %y")
    (out,) = run_kernel(kernel, np.zeros(1, np.float32), grid=(2, 1, 1))
    total = np.float32(0)
    for i in range(64):
        total += np.float32(1) / np.float32(i + 1)
    assert out[0] == total


def test_async_copies_land_group_by_group(run_kernel) -> None:
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
    assert run(run_kernel, body).tolist() == [2 * i for i in range(64)]


def test_statistics_count_lane_instructions() -> None:
    machine = Machine()
    out = machine.allocate(256)
    module = parse_ptx(".version 8.0\n.target sm_90\n.address_size 64\n" + HEAD + " mov.u32 %x, 1;" + TAIL)
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
    (out,) = run_kernel(kernel, np.zeros(144, U32), grid=(2, 3, 2), block=(2, 3, 2), lanes_per_batch=60)
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
def test_wrong_launches_say_what_is_wrong(change, message) -> None:
    machine = Machine()
    module = parse_ptx(".version 8.0\n.target sm_90\n" + HEAD + " ret; }")
    name = change.pop("name", "k")
    call = {"grid": (1, 1, 1), "block": (32, 1, 1), "arguments": [0], **change}
    with pytest.raises(InputError, match=message):
        machine.launch(module, name, **call)


@pytest.mark.parametrize("sign", [1, -1])
def test_carries_run_through_wide_sums(run_kernel, sign) -> None:
    op = "add" if sign == 1 else "sub"
    body = f"""
 mov.u32 %y, 0xFFFFFFF0;
 sub.u32 %z, %y, %i;
 {op}.cc.u32 %w, %z, %y;
 {op}c.cc.u32 %w, 5, 0xFFFFFFFF;
 {op}c.u32 %x, 7, 0;
"""
    low = [0xFFFFFFF0 - i + sign * 0xFFFFFFF0 for i in range(64)]
    wide = [n + (5 + sign * 0xFFFFFFFF << 32) + (7 << 64) for n in low]
    assert run(run_kernel, body).tolist() == [n >> 64 for n in wide]


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
def test_wrong_instruction_is_refused_before_it_runs(run_kernel, text) -> None:
    with pytest.raises((ParseError, UnsupportedError)):
        run(run_kernel, f" {text}\n")


def test_unknown_modifier_is_unsupported(run_kernel) -> None:
    with pytest.raises(UnsupportedError, match="xorsign"):
        run(run_kernel, " min.xorsign.abs.f32 %x, %y, %z;")


def test_unknown_instruction_is_unsupported_with_its_line(run_kernel) -> None:
    with pytest.raises(UnsupportedError, match=r"tex\.2d .* \(line 18\)"):
        run(run_kernel, " tex.2d %x, %y;")
