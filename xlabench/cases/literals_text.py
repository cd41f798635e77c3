"""Inputs and results as XLA's `run_hlo_module --input_literals_file` reads them: a `RunHloModuleLiterals` as text.

    iterations { arguments { shape { element_type: F32 dimensions: 2 ... } f32s: 1 f32s: 2 } result {...} ... }

Types of 16 bits or fewer (but pred) are strings of little-endian bytes there, all others lists of numbers.  NaN loses
its payload.  Types of fewer than 8 bits have a byte for each element, whose high bits are zero: XLA packs them in
memory, not here.  Types of 6 bits have no field there and are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from xlabench.cases.inputs import DTYPES
from xlabench.errors import Undecidable
from xlabench.judging.tolerance import Array, raw_bits

_NAMES: Mapping[str, str] = {dtype.name: name for name, dtype in DTYPES.items()}
_UNKNOWN = frozenset({"f6e2m3fn", "f6e3m2fn"})
_LOW_BITS: Mapping[str, int] = {"s2": 0b11, "u2": 0b11, "s4": 0b1111, "u4": 0b1111, "f4e2m1fn": 0b1111}
_NUMBERS = frozenset({"pred", "s32", "s64", "u32", "u64", "f32", "f64", "c64", "c128"})


def write_literals(arguments: Sequence[Array], result: Sequence[Array], reference: Sequence[Array]) -> str:
    """One iteration: the arguments, what came and what was expected; several results are a tuple.

    Args:
        arguments: what the program was given.
        result: what came.
        reference: what was expected.
    """
    lines = ["iterations {"]
    for array in arguments:
        lines += _field("arguments", [array])
    for name, arrays in (("result", result), ("reference_result", reference)):
        if arrays:
            lines += _field(name, arrays)
    return "\n".join([*lines, "}"]) + "\n"


def _field(name: str, arrays: Sequence[Array]) -> Iterator[str]:
    yield f"  {name} {{"
    if len(arrays) == 1:
        yield from (f"    {line}" for line in _literal(arrays[0]))
    else:
        shapes = " ".join(f"tuple_shapes {{ {_shape(array)} }}" for array in arrays)
        yield f"    shape {{ element_type: TUPLE {shapes} }}"
        for array in arrays:
            yield "    tuple_literals {"
            yield from (f"      {line}" for line in _literal(array))
            yield "    }"
    yield "  }"


def _literal(array: Array) -> Iterator[str]:
    name = _NAMES[array.dtype.name]
    if name in _UNKNOWN:
        raise Undecidable(f"its text form of literals has no field for {name}")
    yield f"shape {{ {_shape(array)} }}"
    flat = np.ascontiguousarray(array).reshape(-1)
    if name not in _NUMBERS:
        if flat.size:
            data = (raw_bits(flat) & _LOW_BITS[name]).tobytes() if name in _LOW_BITS else flat.tobytes()
            yield f'{name}s: "{_escaped(data)}"'
        return
    if array.dtype.kind == "c":
        flat = flat.view(np.dtype(f"f{array.dtype.itemsize // 2}"))
    if flat.size:
        yield " ".join(f"{name}s: {_number(value)}" for value in flat.tolist())


def _shape(array: Array) -> str:
    dims = "".join(f" dimensions: {size}" for size in array.shape)
    dynamic = " is_dynamic_dimension: false" * array.ndim
    order = " ".join(f"minor_to_major: {d}" for d in reversed(range(array.ndim)))
    return f"element_type: {_NAMES[array.dtype.name].upper()}{dims} layout {{ {order} }}{dynamic}"


def _number(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _escaped(data: bytes) -> str:
    return "".join(f"\\{byte:03o}" for byte in data)
