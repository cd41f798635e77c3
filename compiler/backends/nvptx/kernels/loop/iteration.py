"""Iteration kernels: a loop whose elements go their own ways, a thread for each element, the state in its registers."""

from __future__ import annotations

import math

from compiler.analysis.iteration import iteration_of
from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.strategy import Given, Kind, Plan, Strategy, planned
from compiler.codegen import nest
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import ZERO, Emission, Index
from compiler.codegen.iteration import results, row_written, store_in_row
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.signature import elemental_of, store


def _threads(given: Given) -> Plan:
    """The plan of a thread for each element."""
    return planned(lambda module: (_emit(module, given.kernel),))


ITERATION = Kind((Strategy("a thread for each element", _threads),), Given)
"""Iteration kernels."""


def _emit(module: Module, kernel: Kernel) -> Launch:
    (loop,) = kernel.of_opcode("while")
    form = iteration_of(loop)
    size = math.prod(form.dims)

    def element(builder: Builder, number: Value) -> None:
        emission = Emission(builder)
        position = emission.opaque(number, size)
        indices = nest.coordinates(emission, position, form.dims)
        values = elemental_of(kernel, emission)
        for result in results(kernel, form.rows):
            _fill(values, result, position)

        def write(iteration: Elemental) -> None:
            for result in results(kernel, form.rows):
                row = row_written(form, iteration, result[0])
                store_in_row(form, emission, result, (row, position), iteration.value(form.row(result[0]), indices))

        state = values.loop(form, indices, write)
        for piece, output in results(kernel, form.arrays):
            store(emission, form.initial[piece].array, state[piece], output, position)
        for piece, output in results(kernel, form.scalars):
            with builder.when(builder.compare("eq", number, integer(0)), "first"):
                store(Emission(builder), form.initial[piece].array, state[piece], output, ZERO)

    def _fill(values: Elemental, result: tuple[int, Value], position: Index) -> None:
        """Give a column's rows their initial values, where the iterations may leave some out."""
        emission, initial = values.emission, form.initial[result[0]]
        if form.writes_all(result[0]):
            return
        count = initial.array.dims[0]
        with emission.builder.loop(integer(0), integer(count), name="row", nonempty=True) as rows:
            emission.enter()
            row = emission.opaque(rows.index, count)
            value = values.value(initial, (row, *nest.coordinates(emission, position, form.dims)))
            store_in_row(form, emission, result, (row, position), value)
            emission.leave()

    return grid.for_each(module, kernel, size, element)
