"""Lanes part and meet again: branches, loops, tables of targets, calls; on hand-written PTX."""

import pytest

from compiler.diagnostics import UnsupportedError

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
def test_divergent_loops_meet_again(run_body, lanes_per_batch) -> None:
    out = run_body(COLLATZ, threads=128, lanes_per_batch=lanes_per_batch)
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


def test_lanes_meet_where_the_text_has_it_before_their_branches(run_body) -> None:
    out = run_body(MEETS_BEHIND, threads=32)
    assert {hex(x) for x in out.tolist()} == {"0x5555aaaa"}


def test_indexed_branch_goes_to_the_target_of_each_lane(run_body) -> None:
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
    assert run_body(body).tolist() == [(100, 101, 102, 101)[i % 4] for i in range(64)]


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


def test_calls_pass_values_and_pointers_to_local_memory(run_body) -> None:
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

    assert run_body(body, prelude=CALLEE).tolist() == [twice(twice(i)) for i in range(64)]


def test_recursion_is_refused(run_body) -> None:
    prelude = ".func f() { call.uni f; ret; }\n"
    with pytest.raises(UnsupportedError, match="recursion of 'f'"):
        run_body(" call.uni f;\n mov.u32 %x, 0;", prelude=prelude)
