"""Scattered windows of few rows with many each: a block for each element, whose threads share the windows of its row.

A thread for an element would combine thousands of updates one after the other, while most of a GPU has nothing to do.
Threads take every so many windows, and what they come to is combined in a tree whose shape is always the same.  That is
another order than a sequential program's: it is for combiners that leave out an identity and to which order makes no
difference but rounding, in types that round little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.scatter.search import Beginnings
from compiler.backends.nvptx.kernels.teams.tree import Block
from compiler.codegen import element, elemental, nest, scattering
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Module, Value, integer
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.ir.combiner import identity, ufunc

_LEAST_WINDOWS = 64
"""Windows of a row, in the middle, from which on a block has them done before a thread."""
_MOST_ELEMENTS = 1 << 13
"""Elements of a result up to which threads for all of them leave a GPU idle."""
_LEAST_BITS = 32
"""Bits of floats that are combined in another order: sums of narrower ones stop growing, and when, it decides."""
_AHEAD = 4
"""Windows of a thread that are on their way together."""

IsBefore = Callable[[Emission, Value, Value], Value]
"""Emits whether a window is for a row before another one."""


def neutral(kernel: Kernel) -> Any:
    """What the combiner leaves out; None where windows are combined in order."""
    (scatter,), type_ = kernel.roots, kernel.outputs[0].element_type
    is_narrow = type_.is_float and type_.bits < _LEAST_BITS
    function = None if is_narrow else ufunc(scatter.attributes["to_apply"], type_)
    return None if function is None else identity(function, type_)


def is_shared(kernel: Kernel) -> bool:
    """Whether rows are few and have many windows each."""
    shape, windows = kernel.outputs[0], math.prod(scattering.batch_of(kernel))
    return shape.size <= _MOST_ELEMENTS and windows >= _LEAST_WINDOWS * shape.dims[0] and neutral(kernel) is not None


def emit(module: Module, kernel: Kernel, is_before: IsBefore) -> Launch:
    """A block for each element.

    Args:
        module: where the function goes.
        kernel: the scatter, whose windows lie in the order of rows.
        is_before: emits whether a window is for a row before another one, by emission, window and row.
    """
    shape, (windows,) = kernel.outputs[0], scattering.batch_of(kernel)
    builder = grid.begin(module, kernel, grid.BLOCK)
    emission = Emission(builder)
    at = tuple(nest.coordinates(emission, emission.opaque(grid.block(builder), shape.size), shape.dims))
    beginnings = Beginnings(emission, f"{kernel.name}.rows", windows, partial(is_before, emission))
    beginnings.find(emission.value(at[0]), 2)
    begin, end = beginnings.of(integer(0)), beginnings.of(integer(1))
    for index, extent, size in zip(at[1:], scattering.row_extents(kernel)[1:], shape.dims[1:], strict=True):
        if extent < size:
            # Elements beyond what windows reach have none.
            end = builder.select(builder.compare("slt", emission.value(index), integer(extent)), end, begin)
    (scatter,) = kernel.roots

    def combine(emission: Emission, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        return elemental.apply(emission, scatter.attributes["to_apply"], [*left, *right])

    nothing = element.constant(shape.element_type, neutral(kernel))
    mine, step = builder.add(begin, grid.thread(builder)), grid.BLOCK * _AHEAD
    with builder.loop(mine, end, step=step, carried=[nothing], name="window") as loop:
        emission.enter()
        found, total = [], loop.carried
        for number in range(_AHEAD):
            window = builder.add(loop.index, integer(number * grid.BLOCK))
            exists = builder.compare("slt", window, end)
            # Behind the end the thread's first one is read, and not used.
            near = emission.opaque(builder.select(exists, window, loop.index), windows)
            found.append((exists, scattering.row_update(kernel, emission, at, near)))
        for exists, update in found:
            total = combine(emission, total, [builder.select(exists, update, nothing)])
        loop.carry(*total)
        emission.leave()
    totals = Block(f"{kernel.name}.totals", grid.BLOCK, [shape.element_type]).reduce(emission, loop.results, combine)
    with builder.when(builder.compare("eq", grid.thread(builder), integer(0)), "first"):
        inner = Emission(builder)
        own = inner.opaque(grid.block(builder), shape.size)
        start = elemental_of(kernel, inner).value(scatter.operands[0], nest.coordinates(inner, own, shape.dims))
        (result,) = combine(inner, [start], totals)
        store(inner, shape, result, arguments(kernel).outputs[0], own)
    builder.ret()
    return Launch(builder.function.name, shape.size, grid.BLOCK)
