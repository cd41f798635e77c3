"""The pieces that iteration kernels are emitted from on either back end: where a loop's results go."""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.analysis.iteration import Iteration
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Value
from compiler.codegen.movement import start_indices
from compiler.codegen.signature import arguments, store


def results(kernel: Kernel, numbers: Sequence[int]) -> list[tuple[int, Value]]:
    """The pieces of a loop's state, of these, that a kernel yields, and where they go."""
    found = zip((root.attributes["index"] for root in kernel.roots), arguments(kernel).outputs, strict=True)
    return [(number, output) for number, output in found if number in numbers]


def row_written(form: Iteration, iteration: Elemental, number: int) -> Index:
    """The row of an array that an iteration writes.

    Args:
        form: the loop.
        iteration: values inside its body.
        number: which of its state's arrays is written.
    """
    rows = form.initial[number].array.dims[0]
    (index,) = start_indices(iteration, form.starts(number)[:1], [rows - 1])
    return iteration.emission.opaque(iteration.emission.value(index), rows)


def store_in_row(
    form: Iteration, emission: Emission, result: tuple[int, Value], at: tuple[Index, Index], value: Value
) -> None:
    """Store the element at a place of a row.

    Args:
        form: the loop.
        emission: where code is emitted, with what is known there.
        result: the number of a piece of the state, and where it goes.
        at: the row, and the index in it.
        value: the element.
    """
    number, output = result
    row, position = at
    store(emission, form.initial[number].array, value, output, row.times(math.prod(form.dims)) + position)
