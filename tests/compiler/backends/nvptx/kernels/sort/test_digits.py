"""Lines sorted digit by digit by many blocks: keys of any width and order, any number of chunks, equal keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.backends.nvptx.kernels.sort import digits, sorter

TYPES = ["pred", "s4", "u8", "s16", "bf16", "u32", "f32", "s64", "f64"]
ORDERS = ["direction=LT", "direction=GT", "direction=LT, type=TOTALORDER", "direction=GT, type=TOTALORDER"]

SM_90 = compiler.CompileOptions(device="sim", arch="sm_90")


@pytest.fixture(autouse=True)
def _short_lines_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorter, "SHORT", 16)
    monkeypatch.setattr(digits, "_LEAST", (0,))


def text_of(type_: str, order: str, dims: tuple[int, int] = (1, 700), dimension: int = 1) -> str:
    shape = ",".join(map(str, dims))
    return f"""before {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)
      c = s32[] parameter(2)  d = s32[] parameter(3)  ROOT r = pred[] compare(a, b), {order} }}
    ENTRY e {{ x = {type_}[{shape}] parameter(0)  n = s32[{shape}] iota(), iota_dimension={dimension}
      ROOT r = ({type_}[{shape}], s32[{shape}]) sort(x, n), dimensions={{{dimension}}}, to_apply=before,
        is_stable=true }}"""


def drawn(dtype: Any, dims: tuple[int, int], *, few: bool = False) -> np.ndarray[Any, Any]:
    """Elements of any bits, with NaN of both signs, zeros and infinities among floats; or few different ones."""
    rng = np.random.default_rng(0)
    if dtype == np.bool_ or dtype.name.endswith("int4"):
        return rng.integers(0, 2 if dtype == np.bool_ else 8, dims).astype(dtype)
    every = rng.integers(0, 256, (*dims, dtype.itemsize), dtype=np.uint8).view(dtype)[..., 0]
    if dtype.kind not in "iu":
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-40, -1e-40]).astype(dtype)
        every[:, 1::3] = rng.choice(special, every[:, 1::3].shape)
    return rng.choice(every[0, :5], dims) if few else every


def check(text: str, dims: tuple[int, int], gpu: Any, *, few: bool = False) -> None:
    module = compiler.parse(text)
    (kernel,) = [kernel for kernel in compiler.decide(module, "nvptx", SM_90).kernels if kernel.kind == "sort"]
    assert kernel.strategy == "digit by digit"
    x = drawn(module.entry.parameters[0].array.element_type.dtype, dims, few=few)
    first, again = (gpu(module, x, global_races=True) for _ in range(2))
    for one, other, same in zip(compiler.interpret(module, x), first, again, strict=True):
        assert np.asarray(other).tobytes() == np.asarray(one).tobytes() == np.asarray(same).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("type_", TYPES)
def test_every_type_is_put_in_order(type_: str, order: str, gpu: Any) -> None:
    if "TOTALORDER" in order and type_ not in ("bf16", "f32", "f64"):
        order = order.split(",")[0]
    check(text_of(type_, order), (1, 700), gpu)


@pytest.mark.slow
@pytest.mark.parametrize("length", [511, 512, 513, 1024, 2000])
def test_lines_of_any_number_of_chunks_are_put_in_order(length: int, gpu: Any) -> None:
    check(text_of("u16", ORDERS[0], (1, length)), (1, length), gpu)


@pytest.mark.slow
def test_chunks_have_as_many_elements_as_a_thread_has_registers_for(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digits, "_BUSY_BLOCKS", 1)
    check(text_of("bf16", ORDERS[1], (1, 4200)), (1, 4200), gpu)


@pytest.mark.slow
def test_a_line_may_have_more_chunks_than_a_block_has_threads(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digits, "_LONGEST", 512)
    check(text_of("u8", ORDERS[0], (1, 512 * 130 + 3)), (1, 512 * 130 + 3), gpu)


@pytest.mark.slow
@pytest.mark.parametrize(("dims", "dimension"), [((3, 600), 1), ((600, 3), 0)])
def test_lines_are_put_in_order_each_by_itself(dims: tuple[int, int], dimension: int, gpu: Any) -> None:
    check(text_of("s16", ORDERS[0], dims, dimension), dims, gpu)


@pytest.mark.slow
@pytest.mark.parametrize("type_", ["u8", "f32"])
def test_few_different_elements_stay_in_order(type_: str, gpu: Any) -> None:
    check(text_of(type_, ORDERS[1], (1, 1300)), (1, 1300), gpu, few=True)


@pytest.mark.parametrize(
    ("type_", "count", "strategy"),
    [
        ("s8", 20_000, "digit by digit"),
        ("bf16", 100_000, "ranks in several runs"),
        ("bf16", 150_000, "digit by digit"),
        ("f32", 250_000, "ranks in several runs"),
        ("f32", 270_000, "digit by digit"),
        ("f64", 1_000_000, "merges of runs"),
        ("f64", 2_000_000, "digit by digit"),
    ],
)
def test_digits_are_for_many_elements_or_narrow_keys(
    type_: str, count: int, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    text = text_of(type_, ORDERS[0], (1, count))
    (kernel,) = [kernel for kernel in compiler.decide(text, "nvptx", SM_90).kernels if kernel.kind == "sort"]
    assert kernel.strategy == strategy
