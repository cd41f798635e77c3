"""Loop kernels: a thread for each element of the results, or for a few neighbours; tiles where something lies across.

Where the results are large and divide evenly, a thread computes neighbouring elements, so that what lies in memory one
behind the other is read and written in words of 16 bytes: the index arithmetic shows LLVM that it does.
"""

from __future__ import annotations

from compiler.backends.nvptx.kernels import crossed, grid
from compiler.backends.nvptx.kernels.grid import EmittedKernel
from compiler.codegen import nest
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value
from compiler.codegen.signature import arguments, elemental_of, store

_WORD_BYTES = 16
_MOST_NEIGHBOURS = 8
_LARGE = 8192
"""Elements from which on neighbours share a thread; fewer keep too few threads busy."""
_LONG_BODY = 64


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a loop kernel."""
    shape = kernel.outputs[0]
    if shape.size == 0:
        return EmittedKernel(kernel, ())
    crossing = crossed.find(module, kernel)
    if crossing is not None:
        return crossed.emit(module, crossing)
    neighbours = _neighbours(kernel)

    def elements(builder: Builder, number: Value) -> None:
        emission = Emission(builder)
        first = emission.opaque(number, shape.size // neighbours).times(neighbours)
        _store(kernel, emission, [first.plus(n) for n in range(neighbours)])

    launch = grid.for_each(module, kernel, shape.size // neighbours, elements)
    return EmittedKernel(kernel, (launch,))


def _neighbours(kernel: Kernel) -> int:
    """How many elements a thread computes."""
    size = kernel.outputs[0].size
    if size < _LARGE or sum(1 for _ in kernel.body()) > _LONG_BODY:
        return 1
    widest = max(shape.element_type.size_bytes for shape in kernel.outputs)
    count = min(_MOST_NEIGHBOURS, max(1, _WORD_BYTES // widest))
    while size % count:
        count //= 2
    return count


def _store(kernel: Kernel, emission: Emission, at: list[Index]) -> None:
    """Compute the roots at all points, then store them: loads that follow stores would not be joined."""
    found: list[list[Value]] = []
    for linear in at:
        values = elemental_of(kernel, emission)
        indices = nest.coordinates(emission, linear, kernel.outputs[0].dims)
        found.append([value for root in kernel.roots for value in values.elements(root, indices)])
    for linear, row in zip(at, found, strict=True):
        for shape, value, output in zip(kernel.outputs, row, arguments(kernel).outputs, strict=True):
            store(emission, shape, value, output, linear)
