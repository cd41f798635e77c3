"""Rows with many windows each: every combiner that leaves something out, every type, and windows for no row at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.backends.decisions import Decided

SHARED = "a block for each element"
TYPES = ["pred", "s8", "s32", "u64", "f32", "f64", "c64"]
OPCODES = ["add", "multiply", "maximum", "minimum", "and", "or", "xor"]


def text_of(type_: str, opcode: str, windows: int, row: tuple[int, int] = (1, 1)) -> str:
    """A scatter to three rows of so many elements, of which windows reach so many."""
    size, reach = row
    return f"""c {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)  ROOT r = {type_}[] {opcode}(a, b) }}
ENTRY e {{ x = {type_}[3,{size}] parameter(0)  i = s32[{windows}] parameter(1)
  u = {type_}[{windows},{reach}] parameter(2)
  ROOT r = {type_}[3,{size}] scatter(x, i, u), update_window_dims={{1}}, inserted_window_dims={{0}},
    scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, indices_are_sorted=true, to_apply=c }}"""


def decided(text: str) -> Decided:
    (kernel,) = compiler.decide(text, "nvptx", compiler.CompileOptions(device="sim", arch="sm_90")).kernels
    return kernel


def drawn(module: compiler.Module) -> list[Any]:
    """Whole numbers, the same in any order; rows of which one has none, and windows for none on either side."""
    rng = np.random.default_rng(2)
    operand, indices, updates = (parameter.array for parameter in module.entry.parameters)
    dtype = operand.element_type.dtype
    x, u = (rng.choice(np.array([0, 1, 2, 1]), array.dims).astype(dtype) for array in (operand, updates))
    return [x, np.sort(rng.choice([-1, 0, 2, 2, 3], indices.dims)).astype(np.int32), u]


def check(text: str, gpu: Any) -> None:
    module = compiler.parse(text)
    given = drawn(module)
    first, again = (gpu(module, *given, global_races=True)[0] for _ in range(2))
    assert first.tobytes() == again.tobytes()
    (expected,) = compiler.interpret(module, *given)
    assert first.tobytes() == np.asarray(expected).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("opcode", OPCODES)
@pytest.mark.parametrize("type_", TYPES)
def test_every_combiner_on_every_type(type_: str, opcode: str, gpu: Any) -> None:
    is_bitwise = opcode in ("and", "or", "xor")
    if (is_bitwise and type_[0] in "fc") or (type_ == "c64" and opcode != "add"):
        opcode = "add"
    if type_ == "pred" and not is_bitwise:
        opcode = "or"
    text = text_of(type_, opcode, 700)
    assert decided(text).strategy == SHARED
    check(text, gpu)


@pytest.mark.slow
@pytest.mark.parametrize("windows", [192, 255, 257, 1024, 3100])
@pytest.mark.parametrize("row", [(1, 1), (5, 5), (6, 2)])
def test_any_number_of_windows_that_reach_so_far(windows: int, row: tuple[int, int], gpu: Any) -> None:
    check(text_of("s32", "add", windows, row), gpu)


def test_negative_zeros_stay_what_they_are(gpu: Any) -> None:
    module = compiler.parse(text_of("f32", "add", 200))
    x, i, u = (np.zeros_like(array) for array in drawn(module))
    (found,) = gpu(module, -x, i, -u, global_races=True)
    assert np.signbit(found).all()


def test_infinities_and_nan_come_out_of_sums(gpu: Any) -> None:
    module = compiler.parse(text_of("f32", "add", 200))
    x, i, u = drawn(module)
    u[i == 0] = np.inf
    u[np.flatnonzero(i == 2)[3:5]] = [[np.inf], [-np.inf]]
    (found,) = gpu(module, x, i, u, global_races=True)
    assert np.isposinf(found[0, 0])
    assert found[1, 0] == x[1, 0]
    assert np.isnan(found[2, 0])


@pytest.mark.parametrize(
    ("type_", "opcode"), [("bf16", "add"), ("f16", "maximum"), ("f32", "subtract"), ("c64", "multiply")]
)
def test_what_order_decides_about_stays_in_order(type_: str, opcode: str) -> None:
    assert decided(text_of(type_, opcode, 700)).strategy != SHARED


def test_few_windows_of_many_rows_are_found_by_threads() -> None:
    assert decided(text_of("f32", "add", 100)).strategy != SHARED
