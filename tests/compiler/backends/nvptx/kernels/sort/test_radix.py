"""Lines sorted digit by digit: every narrow type and order, lengths on both sides of edges, and equal keys in order."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler.backends.nvptx.kernels.sort import radix, sorter

TYPES = ["pred", "s2", "u4", "s4", "s8", "u8", "s16", "u16", "bf16", "f16"]
LENGTHS = [513, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096]
ORDERS = ["direction=LT", "direction=GT", "direction=LT, type=TOTALORDER", "direction=GT, type=TOTALORDER"]
CANONICAL = """before {
  a = TYPE[] parameter(0)  b = TYPE[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)
  n = TYPE[] constant(nan)  z = TYPE[] constant(0)
  an = pred[] compare(a, a), direction=NE  az = pred[] compare(a, z), direction=EQ
  ac = TYPE[] select(az, z, a)  ak = TYPE[] select(an, n, ac)
  bn = pred[] compare(b, b), direction=NE  bz = pred[] compare(b, z), direction=EQ
  bc = TYPE[] select(bz, z, b)  bk = TYPE[] select(bn, n, bc)
  ROOT r = pred[] compare(ak, bk), direction=LT, type=TOTALORDER
}"""


def text_of(type_: str, order: str, dims: tuple[int, int], dimension: int) -> str:
    shape = ",".join(map(str, dims))
    before = f"""before {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)
      c = s32[] parameter(2)  d = s32[] parameter(3)  ROOT r = pred[] compare(a, b), {order} }}"""
    return f"""{CANONICAL.replace("TYPE", type_) if order == "canonical" else before}
    ENTRY e {{ x = {type_}[{shape}] parameter(0)  n = s32[{shape}] iota(), iota_dimension={dimension}
      ROOT r = ({type_}[{shape}], s32[{shape}]) sort(x, n), dimensions={{{dimension}}}, to_apply=before,
        is_stable=true }}"""


def bits_of(dtype: Any, dims: tuple[int, int], *, few: bool) -> np.ndarray[Any, Any]:
    """Elements of any bits, NaN of both signs, zeros and infinities among floats; or few different ones."""
    rng = np.random.default_rng(0)
    if dtype == np.bool_:
        return rng.integers(0, 2, dims).astype(dtype)
    if dtype.itemsize == 1 and dtype not in (np.int8, np.uint8):
        return rng.integers(ml_dtypes.iinfo(dtype).min, ml_dtypes.iinfo(dtype).max + 1, dims).astype(dtype)
    every = rng.integers(0, 1 << (8 * dtype.itemsize), dims).astype(f"u{dtype.itemsize}").view(dtype)
    every[:, ::5] = 0
    if dtype.kind not in "iu":
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.5]).astype(dtype)
        every[:, 1::3] = rng.choice(special, every[:, 1::3].shape)
    return rng.choice(every[0, :6], dims) if few else every


def check(text: str, dims: tuple[int, int], gpu: Any, *, few: bool = False) -> None:
    module = compiler.parse(text)
    x = bits_of(module.entry.parameters[0].array.element_type.dtype, dims, few=few)
    assert "atom.shared.add" in gpu.compile(module).ptx
    for one, other in zip(compiler.interpret(module, x), gpu(module, x, global_races=True), strict=True):
        assert np.asarray(other).tobytes() == np.asarray(one).tobytes()


@pytest.fixture(autouse=True)
def _few_lines_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorter, "_MANY_LINES", 1)


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("type_", TYPES)
def test_every_narrow_type_is_put_in_order(type_: str, order: str, gpu: Any) -> None:
    if "TOTALORDER" in order and type_ not in ("bf16", "f16"):
        order = order.split(",")[0]
    check(text_of(type_, order, (2, 600), 1), (2, 600), gpu)


@pytest.mark.slow
@pytest.mark.parametrize("type_", ["bf16", "f16"])
def test_zeros_and_nans_of_one_kind_keep_their_bits_in_order(type_: str, gpu: Any) -> None:
    check(text_of(type_, "canonical", (1, 700), 1), (1, 700), gpu)


@pytest.mark.slow
@pytest.mark.parametrize("length", LENGTHS)
def test_lines_of_any_length_are_put_in_order(length: int, gpu: Any) -> None:
    check(text_of("bf16", ORDERS[0], (1, length), 1), (1, length), gpu)


@pytest.mark.slow
@pytest.mark.parametrize("length", [513, 1025, 4096])
def test_few_different_elements_stay_in_order(length: int, gpu: Any) -> None:
    check(text_of("u16", ORDERS[1], (1, length), 1), (1, length), gpu, few=True)


@pytest.mark.slow
def test_lines_may_lie_across_memory(gpu: Any) -> None:
    check(text_of("s8", ORDERS[0], (700, 3), 0), (700, 3), gpu)


@pytest.mark.parametrize(
    ("length", "key_bits", "fits"),
    [(512, 16, False), (513, 16, True), (4096, 8, True), (4097, 8, False), (1000, 32, False), (1000, 0, False)],
)
def test_what_fits_is_decided_by_length_and_key(length: int, key_bits: int, *, fits: bool) -> None:
    assert radix.fits(length, key_bits) is fits


@pytest.mark.slow
def test_few_of_a_line_are_found_by_a_network(gpu: Any) -> None:
    text = (
        "ENTRY e {{ x = bf16[2,1000] parameter(0)  ROOT r = (bf16[2,{0}], s32[2,{0}]) topk(x), k={0}, largest=true }}"
    )
    found = ["atom.shared.add" in gpu.compile(text.format(k)).ptx for k in (500, 501)]
    assert found == [False, True]
