"""What the assembler is asked: a text for every architecture that it runs on, and that nothing spills."""

from __future__ import annotations

import pytest
from assembled import ASSEMBLED_FOR, assemble

from compiler.backends.nvptx import ptxas

pytestmark = pytest.mark.skipif(not ptxas.available(), reason="ptxas (of the CUDA toolkit) is not installed")

KERNEL = """.version 8.0
.target {arch}
.address_size 64
.visible .entry k(.param .u64 p)
{{
 .reg .b64 %p, %a;
 .reg .b32 %t;
 ld.param.u64 %p, [p];
 mov.u32 %t, %tid.x;
 {body}
 st.global.u32 [%p], %t;
 ret;
}}
"""
ON_A_STACK = """.local .align 4 .b8 depot[64];
 cvta.local.u64 %a, depot;
 mad.wide.u32 %a, %t, 4, %a;
 st.volatile.u32 [%a], %t;
 ld.volatile.u32 %t, [%a];"""


@pytest.mark.parametrize(
    ("arch", "times"), [("sm_80", len(ASSEMBLED_FOR)), ("sm_90", len(ASSEMBLED_FOR) - 1), ("sm_90a", 1)]
)
def test_a_text_is_assembled_for_what_runs_it(arch: str, times: int) -> None:
    kernels = assemble(KERNEL.format(arch=arch, body=""), arch)
    assert [kernel.name for kernel in kernels] == ["k"] * times


def test_a_kernel_with_a_stack_is_refused() -> None:
    with pytest.raises(AssertionError):
        assemble(KERNEL.format(arch="sm_80", body=ON_A_STACK), "sm_80")
