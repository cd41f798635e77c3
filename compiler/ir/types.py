"""XLA's primitive types, each with its width and the NumPy type that holds it.

Types narrower than a byte take one byte per element here, as `ml_dtypes` stores them; their width in bits is what the
language says and what arithmetic must respect.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

DType = np.dtype[Any]
_finfo: Any = ml_dtypes.finfo  # knows NumPy's own floats as well; untyped


class Kind(enum.Enum):
    """The family of a type, which decides what arithmetic means on it."""

    PRED = "pred"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    COMPLEX = "complex"
    OPAQUE = "opaque"


@dataclass(frozen=True, slots=True, eq=False)
class ElementType:
    """One primitive type; compared by identity, since `TYPES` holds each once."""

    name: str
    kind: Kind
    bits: int
    dtype: DType

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (_by_name, (self.name,))

    @property
    def is_integer(self) -> bool:
        """Whether the values are integers (pred is not)."""
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    @property
    def is_signed(self) -> bool:
        """Whether the values are integers with a sign."""
        return self.kind is Kind.SIGNED

    @property
    def is_float(self) -> bool:
        """Whether the values are real floating-point numbers."""
        return self.kind is Kind.FLOAT

    @property
    def is_signed_float(self) -> bool:
        """Whether the values are real floating-point numbers below zero as well as above."""
        return self.is_float and bool(_finfo(self.dtype).min < 0)

    @property
    def has_nan(self) -> bool:
        """Whether one of the values is not a number; where none is, converting one gives a zero of its sign."""
        return (self.is_float or self.is_complex) and bool(np.isnan(np.asarray(np.nan).astype(self.dtype)))

    @property
    def is_complex(self) -> bool:
        """Whether the values are complex numbers."""
        return self.kind is Kind.COMPLEX

    @property
    def stored_bits(self) -> int:
        """Bits that one element has where XLA looks at bits: a pred has a byte."""
        return 8 if self.kind is Kind.PRED else self.bits

    @property
    def size_bytes(self) -> int:
        """Bytes that one element takes in memory."""
        return self.dtype.itemsize


def _by_name(name: str) -> ElementType:
    return TYPES[name]


def _rows() -> list[ElementType]:
    rows = [ElementType("pred", Kind.PRED, 1, np.dtype(np.bool_))]
    for bits in (1, 2, 4, 8, 16, 32, 64):
        # A one-bit integer has no type of its own in ml_dtypes; a byte holds it and arithmetic wraps it.
        narrow = {2: (ml_dtypes.int2, ml_dtypes.uint2), 4: (ml_dtypes.int4, ml_dtypes.uint4)}
        signed, unsigned = narrow.get(bits, (f"int{max(bits, 8)}", f"uint{max(bits, 8)}"))
        rows.append(ElementType(f"s{bits}", Kind.SIGNED, bits, np.dtype(signed)))
        rows.append(ElementType(f"u{bits}", Kind.UNSIGNED, bits, np.dtype(unsigned)))
    for name, dtype, bits in _FLOATS:
        rows.append(ElementType(name, Kind.FLOAT, bits, np.dtype(dtype)))
    rows.append(ElementType("c64", Kind.COMPLEX, 64, np.dtype(np.complex64)))
    rows.append(ElementType("c128", Kind.COMPLEX, 128, np.dtype(np.complex128)))
    rows += [ElementType(name, Kind.OPAQUE, 0, np.dtype(np.void)) for name in ("token", "opaque")]
    return rows


_FLOATS: tuple[tuple[str, Any, int], ...] = (
    ("f4e2m1fn", ml_dtypes.float4_e2m1fn, 4),
    ("f6e2m3fn", ml_dtypes.float6_e2m3fn, 6),
    ("f6e3m2fn", ml_dtypes.float6_e3m2fn, 6),
    ("f8e3m4", ml_dtypes.float8_e3m4, 8),
    ("f8e4m3", ml_dtypes.float8_e4m3, 8),
    ("f8e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz, 8),
    ("f8e4m3fn", ml_dtypes.float8_e4m3fn, 8),
    ("f8e4m3fnuz", ml_dtypes.float8_e4m3fnuz, 8),
    ("f8e5m2", ml_dtypes.float8_e5m2, 8),
    ("f8e5m2fnuz", ml_dtypes.float8_e5m2fnuz, 8),
    ("f8e8m0fnu", ml_dtypes.float8_e8m0fnu, 8),
    ("bf16", ml_dtypes.bfloat16, 16),
    ("f16", np.float16, 16),
    ("f32", np.float32, 32),
    ("f64", np.float64, 64),
)

TYPES: dict[str, ElementType] = {row.name: row for row in _rows()}
"""Every primitive type by its name in HLO text."""

PRED = TYPES["pred"]
S8 = TYPES["s8"]
S32 = TYPES["s32"]
S64 = TYPES["s64"]
U8 = TYPES["u8"]
U32 = TYPES["u32"]
U64 = TYPES["u64"]
F16 = TYPES["f16"]
BF16 = TYPES["bf16"]
F32 = TYPES["f32"]
F64 = TYPES["f64"]
C64 = TYPES["c64"]
C128 = TYPES["c128"]
F8E8M0 = TYPES["f8e8m0fnu"]
"""A float without a sign."""
ONE_NAN = tuple(TYPES[name] for name in ("f8e4m3b11fnuz", "f8e4m3fnuz", "f8e5m2fnuz"))
"""Floats without a -0, whose bits are those of the only NaN."""
HALF_RANGE = tuple(TYPES[name] for name in ("f16", "f8e5m2", "f8e5m2fnuz"))
"""Floats of five bits of exponent, whose least numbers are denormals of f16."""
TOKEN = TYPES["token"]
OPAQUE = TYPES["opaque"]


def wider(left: ElementType, right: ElementType) -> ElementType:
    """Of two types the one in which XLA computes where an instruction has both.

    Complex numbers come before real ones, floats before integers, more range, more precision, more bits, a sign.
    """
    return max(left, right, key=_reach)


def _reach(element_type: ElementType) -> tuple[bool, int, int, int, bool]:
    is_complex, bits, is_signed = element_type.is_complex, element_type.bits, element_type.is_signed
    if not (element_type.is_float or is_complex):
        return is_complex, -1, -1, bits, is_signed
    info = _finfo(element_type.dtype)
    return is_complex, int(info.maxexp), int(info.nmant), bits, is_signed


_BY_DTYPE = {row.dtype: row for row in TYPES.values() if row.bits not in (0, 1) or row.kind is Kind.PRED}


def of_dtype(dtype: DType) -> ElementType | None:
    """The element type that a NumPy type holds, None if there is none."""
    return _BY_DTYPE.get(dtype)
