"""What the lanes of a warp tell each other: shuffles, votes, reductions; on hand-written PTX."""

import pytest


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
def test_shuffle_reads_the_other_lane(run_body, mode, amount, clamp, source, given) -> None:
    body = f" add.u32 %y, %i, 500;\n mov.u32 %z, {amount};\n"
    body += f" shfl.sync.{mode}.b32 %x|%p, %y, {given.format(amount)}, {clamp}, -1;\n"
    expected = [source(i % 32) + i // 32 * 32 + 500 for i in range(64)]
    assert run_body(body).tolist() == expected


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
def test_warp_operations(run_body, body, expected) -> None:
    out = run_body(" setp.lt.u32 %p, %i, 3;\n" + body, block=64)
    assert out.tolist() == [expected(i) for i in range(64)]
