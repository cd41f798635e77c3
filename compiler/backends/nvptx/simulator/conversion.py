"""`cvt`: between every two scalar types, with PTX's rounding, saturation and NaN rules."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.floating import RawFunction
from compiler.backends.nvptx.simulator.integer import unsigned
from compiler.backends.nvptx.simulator.rounding import (
    F32,
    F64,
    FORMATS,
    FloatFormat,
    Raw,
    Wide,
    add_odd,
    flush,
    from_wide,
    rational,
    saturate,
    to_wide,
)
from compiler.backends.nvptx.simulator.syntax import TYPE_BITS

_TO_INTEGER: dict[str, Callable[..., Wide]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}


def convert(target: str, source: str, modifiers: Collection[str]) -> RawFunction:
    """The function of `cvt.modifiers.target.source` from raw bits to raw bits."""
    if target in FORMATS and source in FORMATS:
        return _float_to_float(FORMATS[target], FORMATS[source], modifiers)
    if target in FORMATS:
        return _integer_to_float(FORMATS[target], source, modifiers)
    if source in FORMATS:
        return _float_to_integer(target, FORMATS[source], modifiers)
    return _integer_to_integer(target, source, is_saturating="sat" in modifiers)


def _numpy_type(type_: str) -> np.dtype[Any]:
    kind = "i" if type_[0] == "s" else "u"
    return np.dtype(f"{kind}{TYPE_BITS[type_] // 8}")


def _rounding(modifiers: Collection[str], default: str) -> str:
    return next((m for m in modifiers if m in ("rn", "rz", "rm", "rp", *_TO_INTEGER)), default)


def _float_to_float(target: FloatFormat, source: FloatFormat, modifiers: Collection[str]) -> RawFunction:
    rounding = _rounding(modifiers, "rn")
    flushes = "ftz" in modifiers

    def apply(raw: Raw) -> Raw:
        if flushes and source is F32:
            raw = flush(raw, source)
        wide = to_wide(raw, source)
        if rounding in _TO_INTEGER:
            result = from_wide(_TO_INTEGER[rounding](wide), target)
        elif target is F64:
            result = from_wide(wide, F64)
        else:
            result = from_wide(wide, target, rounding)
        if flushes and target is F32:
            result = flush(result, target)
        if "relu" in modifiers:
            result = np.where((to_wide(result, target) <= 0), target.mask(0), result)
        return saturate(result, target) if "sat" in modifiers else result

    return apply


def _integer_to_float(target: FloatFormat, source: str, modifiers: Collection[str]) -> RawFunction:
    mode = _rounding(modifiers, "rn")
    numpy_type = _numpy_type(source)

    def apply(raw: Raw) -> Raw:
        value = raw.view(numpy_type)
        is_wide = target is F64
        result = unsigned(_to_f64(value, mode)) if is_wide else from_wide(_wide_odd(value), target, mode)
        return saturate(result, target) if "sat" in modifiers else result

    return apply


def _wide_odd(value: NDArray[Any]) -> Wide:
    """An integer in f64, rounded to odd where it is too long."""
    if value.dtype.itemsize < 8:
        return value.astype(np.float64)
    high = (value >> value.dtype.type(32)).astype(np.float64) * 2.0**32
    low = (value & value.dtype.type(0xFFFF_FFFF)).astype(np.float64)
    return add_odd(high, low)


def _to_f64(value: NDArray[Any], mode: str) -> Wide:
    near: Wide = value.astype(np.float64)
    if mode == "rn" or value.dtype.itemsize < 8:
        return near
    high = (value >> value.dtype.type(32)).astype(np.float64) * 2.0**32
    low = (value & value.dtype.type(0xFFFF_FFFF)).astype(np.float64)
    return rational(lambda a, b: a + b, mode, (high, low), near, np.arange(near.size))


def _float_to_integer(target: str, source: FloatFormat, modifiers: Collection[str]) -> RawFunction:
    """Out of range saturates; NaN is 0, but the top bit alone if either type has 64 bits and is wide enough."""
    numpy_type = _numpy_type(target)
    bits = TYPE_BITS[target]
    limits = np.iinfo(numpy_type)
    to_integer = _TO_INTEGER[_rounding(modifiers, "rzi")]
    of_nan = 1 << (bits - 1) if source is F64 or bits == 64 else 0
    past_end = float(limits.max) + 1.0 if bits < 64 else float(2 ** (bits - (target[0] == "s")))

    def apply(raw: Raw) -> Raw:
        if "ftz" in modifiers and source is F32:
            raw = flush(raw, source)
        wide = to_integer(to_wide(raw, source))
        is_high, is_low, is_nan = wide >= past_end, wide < float(limits.min), np.isnan(wide)
        inside = np.where(is_high | is_low | is_nan, 0.0, wide).astype(numpy_type)
        result = np.where(is_high, numpy_type.type(limits.max), inside)
        result = np.where(is_low, numpy_type.type(limits.min), result)
        return np.where(is_nan, unsigned(result).dtype.type(of_nan), unsigned(result))

    return apply


def _integer_to_integer(target: str, source: str, *, is_saturating: bool) -> RawFunction:
    source_type, target_type = _numpy_type(source), _numpy_type(target)
    low = max(int(np.iinfo(source_type).min), int(np.iinfo(target_type).min))
    high = min(int(np.iinfo(source_type).max), int(np.iinfo(target_type).max))

    def apply(raw: Raw) -> Raw:
        value = raw.view(source_type)
        if is_saturating:
            value = np.clip(value, source_type.type(low), source_type.type(high))
        return unsigned(value.astype(target_type))

    return apply


def pack_pair(target: FloatFormat, modifiers: Collection[str]) -> RawFunction:
    """`cvt.rn.f16x2.f32 d, a, b`: `a` becomes the upper half, `b` the lower."""
    single = _float_to_float(target, F32, modifiers)

    def apply(a: Raw, b: Raw) -> Raw:
        result: Raw = (single(a).astype(np.uint32) << np.uint32(16)) | single(b)
        return result

    return apply


def to_tf32(raw: Raw) -> Raw:
    """`cvt.rna.tf32.f32`: ten bits of mantissa, ties away from zero."""
    is_special = (raw & np.uint32(F32.infinity)) == np.uint32(F32.infinity)
    rounded = (raw + np.uint32(0x1000)) & np.uint32(0xFFFF_E000)
    return np.where(is_special, raw & np.uint32(0xFFFF_E000), rounded)
