"""Calls of programs whose arrays have sizes known at run time only: inputs are padded to their bounds, results cut.

Back ends compile what `passes/dynamic_padder.py` makes of such a program; it takes the sizes behind the arrays, and
gives those of its results behind these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.backends.executable import Executable, KernelTime, Wrapped
from compiler.diagnostics import InputError
from compiler.ir.shape import ArrayShape


class PaddedExecutable(Wrapped):
    """An executable with the shapes that its caller knows of, dynamic dimensions marked."""

    def __init__(self, inner: Executable, parameters: Sequence[ArrayShape], results: Sequence[ArrayShape]) -> None:
        super().__init__(inner)
        self.parameters, self.results = parameters, results

    def __call__(self, *inputs: object) -> list[NDArray[Any]]:
        """Run it; each input may be shorter than its bounds along dynamic dimensions, and so may each result."""
        given = self.inner(*self._padded(inputs))
        sizes = iter(int(size) for size in given[len(self.results) :])
        return [_cut(array, shape, sizes) for array, shape in zip(given, self.results, strict=False)]

    def profile(self, *inputs: object) -> list[KernelTime]:
        """Run it once and say how long each kernel took."""
        return self.inner.profile(*self._padded(inputs))

    def _padded(self, inputs: Sequence[object]) -> list[object]:
        if len(inputs) != len(self.parameters):
            raise InputError(f"given {len(inputs)} inputs, the program takes {len(self.parameters)}")
        arrays: list[object] = []
        sizes: list[object] = []
        for number, (given, shape) in enumerate(zip(inputs, self.parameters, strict=True)):
            if not shape.is_dynamic:
                arrays.append(given)
                continue
            array = np.asarray(given)
            arrays.append(_pad(number, array, shape))
            sizes += [np.int32(n) for n, flag in zip(array.shape, shape.dynamic, strict=True) if flag]
        return [*arrays, *sizes]


def _pad(number: int, array: NDArray[Any], shape: ArrayShape) -> NDArray[Any]:
    flags = shape.dynamic
    fits = array.ndim == shape.rank and all(
        n <= bound if flag else n == bound for n, bound, flag in zip(array.shape, shape.dims, flags, strict=True)
    )
    if not fits:
        raise InputError(f"parameter {number} is {shape}, given {array.dtype.name}{list(array.shape)}")
    whole = np.zeros(shape.dims, array.dtype)
    whole[tuple(slice(n) for n in array.shape)] = array
    return whole


def _cut(array: NDArray[Any], shape: ArrayShape, sizes: Iterator[int]) -> NDArray[Any]:
    if not shape.is_dynamic:
        return array
    kept = tuple(slice(next(sizes)) if flag else slice(None) for flag in shape.dynamic)
    return np.array(array[kept], order="C")
