"""Tensors written into graphs.

A file may state fewer elements than the shape has: the last of them stands for all that follow, and where there is
none all are zero.  So four bytes can mean a terabyte, and nothing is expanded before somebody asks for the array.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.diagnostics import UnsupportedError
from compiler.graph.types import DataType, of_element_type
from compiler.ir.types import of_dtype

LARGEST = 1 << 31
"""Bytes of the largest tensor that is expanded."""


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A value of a graph.

    Attributes:
        type: the type of its elements.
        dims: its sizes.
        stated: the elements that are stated, in row-major order, at most as many as the sizes say.
        strings: the same of a tensor of strings, whose elements are bytes.
        rest: what else the file's message holds (handles of resources, variants), serialised.
    """

    type: DataType
    dims: tuple[int, ...]
    stated: NDArray[Any] | None = None
    strings: tuple[bytes, ...] = ()
    rest: bytes = b""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.type, self.dims, None if self.stated is None else self.stated.tobytes(), self.strings, self.rest

    def __str__(self) -> str:
        sizes = ",".join(map(str, self.dims))
        return f"{self.type}[{sizes}]"

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.dims)

    def array(self) -> NDArray[Any]:
        """The value, with all its elements.

        Raises:
            UnsupportedError: the elements are no numbers, or take more than 2 GiB.
        """
        if self.stated is None:
            raise UnsupportedError(f"a tensor of {self.type}", "this compiler", "its elements are no numbers")
        if self.size * self.stated.dtype.itemsize > LARGEST:
            raise UnsupportedError(f"a tensor {self}", "this compiler", "its elements take more than 2 GiB")
        if self.stated.size == self.size:
            return self.stated.reshape(self.dims)
        last = self.stated[-1] if self.stated.size else np.zeros((), self.stated.dtype)
        array = np.full(self.size, last, self.stated.dtype)
        array[: self.stated.size] = self.stated
        return array.reshape(self.dims)


def tensor_of(array: NDArray[Any]) -> Tensor:
    """The tensor with an array's elements.

    Raises:
        UnsupportedError: TensorFlow has no type for them.
    """
    element_type = of_dtype(array.dtype)
    data_type = None if element_type is None else of_element_type(element_type)
    if data_type is None:
        raise UnsupportedError(f"an array of {array.dtype}", "TensorFlow's graphs", "they have no such type")
    return Tensor(data_type, array.shape, np.ascontiguousarray(array).reshape(-1))
