"""Straight-line code whose instructions execute together does what it does one instruction at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.backends.nvptx.simulator import SimulationError, machine

U32 = np.uint32
REGISTERS = 6
HEAD = """
.visible .entry k(.param .u64 x, .param .u64 o)
{
 .reg .b32 %t, %r<6>; .reg .b64 %x, %o, %a; .reg .pred %p;
 .shared .align 16 .b8 sh[256];
 ld.param.u64 %x, [x]; ld.param.u64 %o, [o];
 mov.u32 %t, %tid.x; mul.wide.u32 %a, %t, 4; add.u64 %x, %x, %a; mul.wide.u32 %a, %t, 24; add.u64 %o, %o, %a;
 mov.u32 %r0, 7; mov.u32 %r1, %t; mov.u32 %r2, %r1; mov.u32 %r3, 1; mov.u32 %r4, %t; mov.u32 %r5, 2;
 mul.wide.u32 %a, %t, 4; mov.u64 %a, sh; st.shared.u32 [%a], 5; bar.sync 0;
"""
TAIL = "\n" + "\n".join(f" st.global.u32 [%o+{4 * n}], %r{n};" for n in range(REGISTERS)) + "\n ret;\n}\n"
register = st.integers(0, REGISTERS - 1).map("%r{}".format)
operand = st.one_of(register, st.just("%t"), st.just("3"))
instruction = st.one_of(
    st.builds(
        "{}.u32 {}, {}, {};".format, st.sampled_from(["add", "sub", "max", "mul.lo"]), register, operand, operand
    ),
    st.builds("fma.rn.f32 {}, {}, {}, {};".format, register, register, register, register),
    st.builds("ld.global.u32 {}, [%x+{}];".format, register, st.sampled_from([0, 4, 128])),
    st.builds("ld.shared.u32 {}, [sh];".format, register),
    st.builds("ld.global.v2.u32 {{{}, {}}}, [%o];".format, register, register).filter(lambda t: t[19:22] != t[24:27]),
)


def outcome(run_kernel, body: str, lanes: int, threads: int) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "MOST_LANES", lanes)
        x, o = np.arange(96, dtype=U32) * U32(0x0123_4567), np.zeros((threads, REGISTERS), U32)
        try:
            return run_kernel(HEAD + body + TAIL, x, o, block=(threads, 1, 1))[1].tolist()
        except SimulationError as fault:
            return str(fault)


@pytest.mark.slow
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(instruction, min_size=2, max_size=24).map("\n".join),
    st.sampled_from(["", "setp.lt.u32 %p, %t, 5;\n@%p bra some;\nexit;\nsome:\n", "ld.global.u32 %r3, [%x+512];\n"]),
)
def test_the_order_does_not_show(run_kernel, body, before) -> None:
    assert outcome(run_kernel, before + body, 1 << 12, 40) == outcome(run_kernel, before + body, 0, 40)


LOOP = "mov.u32 %r5, 0;\nagain:\nsetp.{condition} %p, %t, %r5;\n@%p bra next;\n{body}\nnext:\nadd.u32 %r5, %r5, 1;\n"
LOOP += "setp.lt.u32 %p, %r5, 6;\n@%p bra again;\n"
SUMMED = "add.u32 %c, %c, %t;\nadd.u32 %r4, %c, %r4;\nadd.u32 %r2, %r4, %c;\n"
UPTO = "ld.global.u32 %r0, [%x];\nadd.u32 %c, %r0, %r1;\nmul.lo.u32 %r1, %c, %c;\nsub.u32 %c, %r1, %t;\n"


@pytest.mark.parametrize("condition", ["lt.u32", "gt.u32", "eq.u32", "ne.u32"])
@pytest.mark.parametrize("body", [SUMMED, f"{UPTO}add.u32 %r4, %c, %r4;", f"{UPTO}ld.global.u32 %r3, [%x+300];"])
def test_some_lanes_compute_with_their_own_values_only(run_kernel, condition, body) -> None:
    """Whatever lanes come to a line again: fewer each time, more, one, all but one."""
    body = ".reg .b32 %c;\n" + LOOP.format(condition=condition, body=body)
    for most in (3, 1 << 12):
        assert outcome(run_kernel, body, most, 40) == outcome(run_kernel, body, 0, 40)
