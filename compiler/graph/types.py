"""TensorFlow's data types: their numbers in files, their names, and the element types of HLO that hold them.

A type is a number, so that one which this table does not know (TensorFlow gains types) is read, printed and written
back.  A number from 101 on is a *reference* to the type 100 below: what variables of TensorFlow 1 give out.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir.types import TYPES, ElementType

_REFERENCE = 100
"""What is added to a type's number for a reference to it (TensorFlow, types.proto)."""


@dataclass(frozen=True, slots=True)
class DataType:
    """A type of tensors by its number in TensorFlow's files."""

    number: int

    def __str__(self) -> str:
        """The name as Python programs spell it: `float32`, `float32_ref`; `type 77` where there is none."""
        if not self.number:
            return "no type"
        row = _ROWS.get(self.base.number)
        return (row.name if row else f"type {self.base.number}") + ("_ref" if self.is_reference else "")

    @property
    def is_reference(self) -> bool:
        """Whether tensors of the type are references to a variable."""
        return self.number > _REFERENCE

    @property
    def reference(self) -> DataType:
        """The type of references to it."""
        return self if self.is_reference else DataType(self.number + _REFERENCE)

    @property
    def base(self) -> DataType:
        """The type without the reference."""
        return DataType(self.number - _REFERENCE) if self.is_reference else self

    @property
    def element_type(self) -> ElementType | None:
        """The element type of HLO that holds it, None where there is none (strings, resources)."""
        row = _ROWS.get(self.base.number)
        return TYPES[row.hlo] if row and row.hlo else None

    @property
    def is_quantized(self) -> bool:
        """Whether its whole numbers stand for others, by a range that is given beside them."""
        return self.base.number in _QUANTIZED


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    word: str
    hlo: str


_TABLE = """
    1 float32 FLOAT f32          2 float64 DOUBLE f64         3 int32 INT32 s32            4 uint8 UINT8 u8
    5 int16 INT16 s16            6 int8 INT8 s8               7 string STRING -            8 complex64 COMPLEX64 c64
    9 int64 INT64 s64           10 bool BOOL pred            11 qint8 QINT8 s8            12 quint8 QUINT8 u8
   13 qint32 QINT32 s32         14 bfloat16 BFLOAT16 bf16    15 qint16 QINT16 s16         16 quint16 QUINT16 u16
   17 uint16 UINT16 u16         18 complex128 COMPLEX128 c128 19 float16 HALF f16         20 resource RESOURCE -
   21 variant VARIANT -         22 uint32 UINT32 u32         23 uint64 UINT64 u64
   24 float8_e5m2 FLOAT8_E5M2 f8e5m2                         25 float8_e4m3fn FLOAT8_E4M3FN f8e4m3fn
   26 float8_e4m3fnuz FLOAT8_E4M3FNUZ f8e4m3fnuz             27 float8_e4m3b11fnuz FLOAT8_E4M3B11FNUZ f8e4m3b11fnuz
   28 float8_e5m2fnuz FLOAT8_E5M2FNUZ f8e5m2fnuz             29 int4 INT4 s4              30 uint4 UINT4 u4
   31 int2 INT2 s2              32 uint2 UINT2 u2            33 float4_e2m1fn FLOAT4_E2M1FN f4e2m1fn
"""
_CELLS = _TABLE.split()
_ROWS = {
    int(number): _Row(name, word, hlo.strip("-")) for number, name, word, hlo in zip(*[iter(_CELLS)] * 4, strict=True)
}

_QUANTIZED = frozenset(number for number, row in _ROWS.items() if row.name.startswith(("qint", "quint")))
INVALID = DataType(0)
BY_NAME = {row.name: DataType(number) for number, row in _ROWS.items()}
"""Every type by its name in Python programs."""
WORDS = {"DT_INVALID": 0} | {
    f"DT_{row.word}{ending}": number + offset
    for offset, ending in ((0, ""), (_REFERENCE, "_REF"))
    for number, row in _ROWS.items()
}
"""The number of each word of the enumeration that files spell types with."""

_BY_ELEMENT_TYPE = {row.hlo: DataType(number) for number, row in _ROWS.items() if row.hlo and number not in _QUANTIZED}


def of_element_type(element_type: ElementType) -> DataType | None:
    """The data type that an element type of HLO holds, None where TensorFlow has none."""
    return _BY_ELEMENT_TYPE.get(element_type.name)
