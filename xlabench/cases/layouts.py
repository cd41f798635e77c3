"""The same numbers in arrays that lie otherwise in memory, as NumPy has them after a slice, a transpose or a file.

A program takes any array of its parameter's shape and type.  Those whose elements lie in order, aligned, go to it as
they are; all others are copied first, by code that no other array comes to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from xlabench.cases.inputs import aligned
from xlabench.judging.tolerance import Array

Layout = Callable[[Array], Array]

ALIGNED = "aligned"
"""The name of that in which a program takes an array as it is."""
_OFFSET = 1  # bytes
_OWN = 1  # `isbuiltin` of NumPy's own types


def _strided(array: Array) -> Array:
    """Every other element of a larger one."""
    wide = np.empty((*array.shape[:-1], 2 * array.shape[-1]) if array.ndim else (2,), array.dtype)
    view = wide[..., ::2] if array.ndim else wide[:1].reshape(())
    view[...] = array
    return view


def _backwards(array: Array) -> Array:
    """Backwards in memory, in all dimensions."""
    return np.flip(np.flip(array).copy())


def _columns_first(array: Array) -> Array:
    return array.copy(order="F")


def _unaligned(array: Array) -> Array:
    """One byte behind where its type may lie."""
    raw = np.empty(array.nbytes + _OFFSET, np.uint8)[_OFFSET:]
    view = raw.view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def _swapped(array: Array) -> Array:
    """In the other byte order; types that NumPy has not of its own it reads wrong in that."""
    return array.astype(array.dtype.newbyteorder("S")) if array.dtype.isbuiltin == _OWN else aligned(array)


def _only_read(array: Array) -> Array:
    made = aligned(array)
    made.flags.writeable = False
    return made


LAYOUTS: Mapping[str, Layout] = {
    ALIGNED: aligned,
    "strided": _strided,
    "backwards": _backwards,
    "columns first": _columns_first,
    "unaligned": _unaligned,
    "byte-swapped": _swapped,
    "only read": _only_read,
}
"""How an array may lie in memory, by name."""
