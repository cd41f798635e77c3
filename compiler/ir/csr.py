"""A sparse matrix by its rows times a dense one, as JAX calls it on the CPU: (elements, row starts, columns, right).

The elements of row i are those from `starts[i]` on, up to `starts[i + 1]`; elements before the first row and behind the
last one are padding.  The right side is a matrix or a vector.
"""

from __future__ import annotations

import numpy as np

from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.ir.shape import ArrayShape
from compiler.ir.types import C64, C128, F32, F64, S32, S64

TARGET = "cpu_csr_sparse_dense_ffi"
"""The name that JAX calls the product by."""
TYPES = (S32, S64, F32, F64, C64, C128)
"""The element types that a product is on."""


def is_product(call: Instruction) -> bool:
    """Whether a call of that name has operands and a result of the shapes that belong together."""
    shapes = [operand.shape for operand in call.operands]
    arrays = [shape for shape in (*shapes, call.shape) if isinstance(shape, ArrayShape) and not shape.is_dynamic]
    if call.attributes["custom_call_target"] != TARGET or len(arrays) != len(shapes) + 1 or len(shapes) != 4:
        return False
    elements, starts, columns, right, result = arrays
    types = {shape.element_type for shape in (elements, right, result)}
    is_indexed = starts.element_type is S32 and columns.element_type is S32
    is_list = elements.rank == 1 and starts.rank == 1 and columns.dims == elements.dims and starts.dims[0] > 0
    is_whole = right.rank in (1, 2) and result.dims == (starts.dims[0] - 1, *right.dims[1:])
    return len(types) == 1 and elements.element_type in TYPES and is_indexed and is_list and is_whole


def product(elements: Array, starts: Array, columns: Array, right: Array) -> Array:
    """The product, each row summed in the order of its elements.

    Args:
        elements: those that are not zero, row by row.
        starts: for each row the number of its first element, and one number behind the last row.
        columns: the column of each element.
        right: an array whose first dimension is as long as rows of the matrix.
    """
    rows = np.searchsorted(starts, np.arange(len(elements)), side="right") - 1
    inside = (rows >= 0) & (rows < len(starts) - 1)
    result = np.zeros((len(starts) - 1, *right.shape[1:]), elements.dtype)
    if len(right):
        read = right[np.clip(columns[inside], 0, len(right) - 1)]
        np.add.at(result, rows[inside], elements[inside].reshape(-1, *(1,) * (right.ndim - 1)) * read)
    return result
