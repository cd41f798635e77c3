"""Registers by liveness."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.backends.nvptx.simulator import parse_ptx
from compiler.backends.nvptx.simulator.pressure import registers_of

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"


@pytest.mark.parametrize(("count", "width", "expected"), [(8, 32, 16), (40, 32, 48), (40, 64, 88)])
def test_values_that_are_alive_together_take_registers(
    body_kernel: Callable[..., str], count: int, width: int, expected: int
) -> None:
    loads = "".join(f"ld.global.b{width} %v{n}, [%o + {8 * n}];" for n in range(count))
    sums = "".join(f"add.u{width} %v0, %v0, %v{n};" for n in range(1, count))
    text = f".reg .b{width} %v<{count}>; {loads} {sums} cvt.u32.u{width} %x, %v0;"
    assert registers_of(parse_ptx(HEADER + body_kernel(text)).kernels["k"]) == expected


def test_values_one_after_the_other_share_them(body_kernel: Callable[..., str]) -> None:
    text = "mov.u32 %x, 0;" + "".join(f"ld.global.u32 %y, [%o + {4 * n}]; add.u32 %x, %x, %y;" for n in range(80))
    assert registers_of(parse_ptx(HEADER + body_kernel(text)).kernels["k"]) == 16


def test_a_value_lives_through_the_loop_that_reads_it(body_kernel: Callable[..., str]) -> None:
    loads = "".join(f"ld.global.b32 %v{n}, [%o + {4 * n}];" for n in range(30))
    loop = "mov.u32 %x, 0; L: " + "".join(f"add.u32 %x, %x, %v{n};" for n in range(30))
    text = f".reg .b32 %v<30>; {loads} {loop} setp.lt.u32 %p, %x, 100; @%p bra L;"
    assert registers_of(parse_ptx(HEADER + body_kernel(text)).kernels["k"]) >= 32
