"""Row kernels: a block does every phase of one row; the values kept between phases lie in the workspace.

A barrier between phases makes what one thread kept visible to the others.
"""

from __future__ import annotations

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Launch
from compiler.backends.nvptx.kernels.tree import Block, power_of_two
from compiler.codegen import element
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Module, Value, integer
from compiler.codegen.row_values import RowValues
from compiler.codegen.rows import Phase, Rows
from compiler.codegen.signature import arguments
from compiler.ir.module import Instruction


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a row kernel."""
    rows = Rows(kernel)
    threads = power_of_two(min(grid.BLOCK, rows.length))
    builder = grid.begin(module, kernel, threads)
    emission = Emission(builder)
    workspace = _Workspace(emission, rows)
    row = emission.opaque(grid.block(builder), rows.count)
    values = RowValues(rows, emission, row, workspace.load, workspace.save)
    workspace.row = values.row
    for number, phase in enumerate(rows.phases):
        _pass(module, values, phase, number, threads)
    with builder.when(builder.compare("eq", grid.thread(builder), integer(0)), "first"):
        emission.enter()
        values.store_row_results()
        emission.leave()
    builder.ret()
    return EmittedKernel(kernel, (Launch(builder.function.name, rows.count, threads),), workspace.size_bytes)


def _pass(module: Module, values: RowValues, phase: Phase, number: int, threads: int) -> None:
    """One phase over the block's row; every thread takes positions a block's width apart."""
    emission, rows = values.emission, values.rows
    builder = emission.builder
    initial = values.enter(phase)
    first = grid.thread(builder)

    def at(position: Value) -> list[Value]:
        index = emission.opaque(position, rows.length)
        elements = values.elements(phase, index)
        if not phase.reduces:
            values.store_elements(elements, index)
            return []
        return elements

    emission.enter()
    start = at(first)
    emission.leave()
    following = builder.add(first, integer(threads))
    with builder.loop(following, integer(rows.length), step=threads, carried=start, name="stride") as loop:
        emission.enter()
        more = at(loop.index)
        loop.carry(*values.combine(phase, loop.carried, more))
        emission.leave()
    types = [reduce.array.element_type for reduce in phase.reduces]
    block = Block(module, f"{rows.kernel.name}.{number}", threads, types)
    total = block.reduce(emission, loop.results, lambda _, left, right: values.combine(phase, left, right))
    if phase.reduces:
        values.leave(phase, block.spread(emission, values.combine(phase, initial, total)))


class _Workspace:
    """The kept values of all rows, one array after the other."""

    def __init__(self, emission: Emission, rows: Rows) -> None:
        self.emission = emission
        self.rows = rows
        self.row = Index()
        self.offsets: dict[Instruction, int] = {}
        self.size_bytes = 0
        for phase in rows.phases:
            for value in phase.kept:
                self.offsets[value] = self.size_bytes
                size = value.array.element_type.size_bytes * rows.count * rows.length
                self.size_bytes += -(-size // 64) * 64

    def load(self, value: Instruction, position: Index) -> Value:
        """Read a kept value of the row at hand."""
        return element.load(self.emission.builder, value.array.element_type, self._address(value, position))

    def save(self, value: Instruction, position: Index, result: Value) -> None:
        """Keep a value of the row at hand."""
        element.store(self.emission.builder, value.array.element_type, result, self._address(value, position))

    def _address(self, value: Instruction, position: Index) -> Value:
        builder = self.emission.builder
        base = builder.gep("i8", arguments(self.rows.kernel).workspace, integer(self.offsets[value]))
        at = self.row.times(self.rows.length) + position
        return builder.gep(element.storage_type(value.array.element_type), base, self.emission.value(at))
