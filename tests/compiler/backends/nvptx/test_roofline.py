"""The least that kernels take: bytes and operations by hand."""

from __future__ import annotations

import pytest

import compiler
from compiler.backends.nvptx.cards import H100, LAUNCH_NS
from compiler.backends.nvptx.roofline import bound_of
from compiler.codegen.kernel import kernel_of

ROWS = 4096
PROGRAMS = {
    "y = f32[4096,4096] add(x, x)": (2 * ROWS**2 * 4, ROWS**2),
    "y = f32[4096,4096] transpose(x), dimensions={1,0}": (2 * ROWS**2 * 4, 0),
    "y = f32[4,4096] slice(x), slice={[0:4], [0:4096]}": (2 * 4 * ROWS * 4, 0),
    "y = f32[4096,4096] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}": (2 * ROWS**2 * 4, ROWS**3),
}


@pytest.mark.parametrize("line", PROGRAMS)
def test_bytes_and_operations_are_those_that_nobody_can_leave_out(line: str) -> None:
    module = compiler.parse(f"ENTRY e {{ x = f32[4096,4096] parameter(0)  ROOT {line} }}")
    found = bound_of(kernel_of(module.entry.root), H100)
    assert (found.bytes, found.operations) == PROGRAMS[line]
    assert found.ns == pytest.approx(
        LAUNCH_NS + max(found.bytes / 3350, found.operations / (128 * 132 * 1.83), found.depth / 1.83)
    )


def test_products_of_narrow_types_are_bounded_by_tensor_cores() -> None:
    product = "dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    text = f"ENTRY e {{ x = TYPE[4096,4096] parameter(0)  ROOT y = TYPE[4096,4096] {product} }}"
    wide, narrow = (
        bound_of(kernel_of(compiler.parse(text.replace("TYPE", type_)).entry.root), H100).ns
        for type_ in ("f32", "bf16")
    )
    assert wide > 14 * narrow


SORT = """less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }
ENTRY e { x = f32[LENGTH] parameter(0)  ROOT y = f32[LENGTH] sort(x), dimensions={0}, to_apply=less }"""


SCAN = """sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[LENGTH] parameter(0)  z = f32[] constant(0)
  ROOT y = f32[LENGTH] reduce-window(x, z), window={size=LENGTH pad=BEFORE_0}, to_apply=sum }"""


@pytest.mark.parametrize("program", [SORT, SCAN])
@pytest.mark.parametrize(("length", "launches"), [(50_000, 1), (60_000, 2)])
def test_lines_that_no_multiprocessor_holds_take_two_launches(program: str, length: int, launches: int) -> None:
    module = compiler.parse(program.replace("LENGTH", str(length)).replace("BEFORE", str(length - 1)))
    assert bound_of(kernel_of(module.entry.root), H100).launches == launches


def test_windows_that_scan_nothing_take_one_launch() -> None:
    text = SCAN.replace("LENGTH pad=BEFORE_0", "3 pad=1_1").replace("LENGTH", "60000")
    assert bound_of(kernel_of(compiler.parse(text).entry.root), H100).launches == 1


RULES = {
    "y = f32[64,64] add(x, x)": "launches",
    "y = f32[64,64] cholesky(x), lower=true": "depth",
}


@pytest.mark.parametrize("line", RULES)
def test_what_takes_longest_decides(line: str) -> None:
    module = compiler.parse(f"ENTRY e {{ x = f32[64,64] parameter(0)  ROOT {line} }}")
    assert bound_of(kernel_of(module.entry.root), H100).rule == RULES[line]
