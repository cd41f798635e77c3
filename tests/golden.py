"""Programs with the results of XLA:CPU, which tests hold the reference and other interpreters against.

`xla_cpu` holds programs of one op, over element types and special values; `jax_cpu` what JAX makes of its functions,
from sorting and random numbers to convolution gradients and LAPACK calls.  A file is an xz stream: the length of a JSON
list as eight bytes, the list, then the bytes of all arrays.  Each entry has the program's text, where inputs and
results lie (type, dimensions, offset) and a tolerance in units of the type's epsilon: 0 where the reference and XLA
agreed to the bit when the file was made, otherwise relative to the element, or to the largest for sums and solutions.
Elements that are denormal, or come from denormals, are passed over: XLA:CPU flushes them to zero.  Cases in which XLA
departs from the specification are not in the files: see `compiler/ops/README.md`.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from compiler.ir.types import TYPES, of_dtype

Array = NDArray[Any]
_FOLDER = Path(__file__).parent / "compiler" / "ops"


@dataclass(frozen=True, slots=True)
class Case:
    """One program with inputs, results and how near results must be."""

    name: str
    text: str
    inputs: tuple[Array, ...]
    results: tuple[Array, ...]
    tolerance: float
    of_sum: bool


def write(path: Path, cases: list[Case]) -> None:
    """Write cases to a file; equal cases give equal bytes."""
    blob, entries = bytearray(), []

    def place(array: Array) -> list[Any]:
        element_type = of_dtype(array.dtype)
        assert element_type is not None
        raw = array.tobytes()
        offset = blob.find(raw) if raw else 0
        if offset < 0:
            offset = len(blob)
            blob.extend(raw)
        return [element_type.name, list(array.shape), offset]

    for case in cases:
        inputs, results = [[place(array) for array in group] for group in (case.inputs, case.results)]
        entries.append([case.name, case.text, inputs, results, case.tolerance, case.of_sum])
    head = json.dumps(entries).encode()
    path.write_bytes(lzma.compress(len(head).to_bytes(8, "little") + head + bytes(blob), preset=9))


def read(path: Path) -> Iterator[Case]:
    """The cases of a file."""
    data = lzma.decompress(path.read_bytes())
    size = int.from_bytes(data[:8], "little")
    blob = data[8 + size :]

    def array(place: list[Any]) -> Array:
        name, dims, offset = place
        dtype = TYPES[name].dtype
        count = int(np.prod(dims, dtype=np.int64))
        return np.frombuffer(blob, dtype, count, offset).reshape(dims) if count else np.zeros(dims, dtype)

    for name, text, inputs, results, tolerance, of_sum in json.loads(data[8 : 8 + size]):
        yield Case(name, text, tuple(map(array, inputs)), tuple(map(array, results)), tolerance, of_sum)


def difference(case: Case, results: list[Array]) -> str:
    """What is wrong with results, empty if nothing is."""
    if len(results) != len(case.results):
        return f"{len(results)} results, not {len(case.results)}"
    for mine, expected in zip(results, case.results, strict=True):
        if (mine.dtype, mine.shape) != (expected.dtype, expected.shape):
            return f"{mine.dtype}{mine.shape}, not {expected.dtype}{expected.shape}"
        wrong = np.flatnonzero(~_near(case, mine, expected))
        if wrong.size:
            at = wrong[0]
            return f"{wrong.size} of {mine.size} wrong, at {at}: {mine.ravel()[at]}, not {expected.ravel()[at]}"
    return ""


_LEAST_OF_F64 = 2.0
"""Units that functions of f64 may differ by, where they do at all: NumPy takes them from one library on CPUs with
AVX-512 and from another elsewhere, either within one unit, and XLA's `expm1(1)` is 1.35 off."""


def _near(case: Case, mine: Array, expected: Array) -> Array:
    info = _info(expected.dtype)
    flushed = _denormal(mine)
    for value in case.inputs:
        if value.shape == mine.shape:
            flushed = flushed | _denormal(value)
    if info is None:
        return np.asarray((mine == expected) | flushed)
    a, b = mine.astype(np.complex128), expected.astype(np.complex128)
    size = np.where(np.isfinite(b), np.abs(b), 0)
    scale = size.max(initial=0) if case.of_sum else size
    equal = (a == b) & (np.signbit(a.real) == np.signbit(b.real)) & (np.signbit(a.imag) == np.signbit(b.imag))
    with np.errstate(invalid="ignore"):
        distance = np.abs(a - b)
    tolerance = (
        max(case.tolerance, _LEAST_OF_F64) if case.tolerance and expected.dtype == np.float64 else case.tolerance
    )
    near = distance <= tolerance * float(info.eps) * scale if tolerance else np.False_
    both_nan = np.isnan(a) & np.isnan(b)
    return np.asarray(equal | near | both_nan | flushed)


def _info(dtype: np.dtype[Any]) -> Any:
    element_type = of_dtype(dtype)
    assert element_type is not None
    if not (element_type.is_float or element_type.is_complex):
        return None
    return np.finfo(dtype) if dtype.kind == "c" else ml_dtypes.finfo(dtype)


def _denormal(value: Array) -> Array:
    info = _info(value.dtype)
    if info is None:
        return np.zeros(value.shape, np.bool_)
    if value.dtype.kind == "c":
        return _denormal(value.real) | _denormal(value.imag)
    size = np.abs(value.astype(np.float64))
    return np.asarray((size != 0) & (size <= float(info.tiny)))


def cases(name: str) -> list[Case]:
    """The cases of `xla_cpu` or `jax_cpu`."""
    return list(read(_FOLDER / f"{name}.golden.xz"))


def family(case: Case) -> str:
    """What a case is about, without its element type."""
    return case.name.partition("/")[0]
