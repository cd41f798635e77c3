"""Arguments of a call: what was passed for a parameter, turned into exactly the array that the program reads.

Native code accepts only arrays that fit as they are; everything else comes here.  Arrays, and what offers one, must
have the parameter's dtype and shape: they are copied where their strides or byte order are not the program's, never
converted.  Plain Python numbers and nested lists have no dtype of their own; they are converted where the value
survives: truth values to `pred`, integers to integers in range and to floating point, floats to floating point
(rounded) and complex.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from compiler.diagnostics import InputError

Array = np.ndarray[Any, np.dtype[Any]]

_PYTHON_NUMBERS = (int, float, complex, list, tuple)

# How general a number is; by what the dtype's name begins with, because NumPy calls every ml_dtypes kind "V".
_RANKS = {"bool": 0, "uint": 1, "int": 1, "bfloat": 2, "float": 2, "complex": 3}


class Leaf(NamedTuple):
    """One array that a program takes or gives, and how messages call its type, e.g. `f32[2,3]`."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    text: str = ""

    @property
    def size_bytes(self) -> int:
        """The bytes of its elements."""
        size = self.dtype.itemsize
        for dimension in self.shape:
            size *= dimension
        return size

    def __str__(self) -> str:
        return self.text or _described(self.dtype, self.shape)


def convert(inputs: Sequence[object], parameters: Sequence[Leaf]) -> list[Array]:
    """Return the inputs as arrays of exactly the parameters' dtype objects and shapes, contiguous and aligned.

    Raises:
        InputError: there are more inputs, or fewer, than the program takes, or one does not fit.
    """
    if len(inputs) != len(parameters):
        expected = ", ".join(map(str, parameters)) or "none"
        raise InputError(f"given {len(inputs)} inputs, the program takes {len(parameters)}: {expected}")
    return [_fit(number, value, leaf) for number, (value, leaf) in enumerate(zip(inputs, parameters, strict=True))]


def _fit(number: int, value: object, leaf: Leaf) -> Array:
    if isinstance(value, _PYTHON_NUMBERS) and not isinstance(value, np.generic):
        array = _from_python(number, value, leaf)
    else:
        array = _as_array(number, value, leaf)
        if array.dtype is not leaf.dtype and array.dtype.newbyteorder("=") != leaf.dtype:
            raise _mismatch(number, leaf, _described(array.dtype, array.shape), "convert it with `.astype`")
    if array.shape != leaf.shape:
        raise _mismatch(number, leaf, _described(array.dtype, array.shape), "give it that shape")
    if not (array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative):
        array = np.require(array, leaf.dtype, ["C", "A"])
    # A subclass, or an equal dtype that is not the one object which native code compares with, is seen anew.
    return array if type(array) is np.ndarray and array.dtype is leaf.dtype else np.asarray(array).view(leaf.dtype)


def _from_python(number: int, value: object, leaf: Leaf) -> Array:
    array = _as_array(number, value, leaf)
    if array.size == 0:
        return array.astype(leaf.dtype)
    given, wanted = _rank(array.dtype), _rank(leaf.dtype)
    if given is None or wanted is None or given > wanted or (given == 0 and wanted > 0):
        raise _mismatch(number, leaf, f"{value!r:.80}", "pass a value of that kind, or an array")
    with np.errstate(all="ignore"):
        converted = array.astype(leaf.dtype)
    if wanted == 1 and not np.array_equal(converted.astype(array.dtype), array):
        raise _mismatch(number, leaf, f"{value!r:.80}", "pass a value within its range")
    return converted


def _as_array(number: int, value: object, leaf: Leaf) -> Array:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise _mismatch(number, leaf, f"{value!r:.80}", f"pass an array ({error})") from error
    if array.dtype.hasobject:
        raise _mismatch(number, leaf, f"{value!r:.80}", "pass an array of numbers")
    return array


@functools.lru_cache(maxsize=256)
def _rank(dtype: np.dtype[Any]) -> int | None:
    return next((rank for name, rank in _RANKS.items() if dtype.name.startswith(name)), None)


def _mismatch(number: int, leaf: Leaf, given: str, remedy: str) -> InputError:
    return InputError(f"parameter {number} is {leaf}, given {given}: {remedy}")


def _described(dtype: np.dtype[Any], shape: Sequence[int]) -> str:
    return f"{dtype.name}[{','.join(map(str, shape))}]"
