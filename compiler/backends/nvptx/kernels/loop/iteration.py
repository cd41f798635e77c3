"""Iteration kernels: a loop whose elements go their own ways, a thread for each element, the state in its registers.

Few elements are few threads, and nobody hides how long a thread waits for memory.  Where the trip count is known, what
an iteration reads of arrays that the loop leaves alone hangs on the counter alone, so many iterations together have
their reads under way at once.
"""

from __future__ import annotations

import math

from compiler.analysis.iteration import Iteration, iteration_of
from compiler.analysis.trip_count import known_trip_count
from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.loop import compacted
from compiler.backends.nvptx.kernels.strategy import Given, Kind, Plan, Strategy, planned
from compiler.codegen import nest
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import ZERO, Emission, Index
from compiler.codegen.iteration import results, row_written, store_in_row
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, integer, unroll
from compiler.codegen.signature import elemental_of, store
from compiler.ops import Trait, having

_MOST_TOGETHER = 64
"""Iterations that become one: each has its reads in registers."""
_MOST_INSTRUCTIONS = 1024
"""Instructions of HLO that iterations together have: bodies of up to 16 are written out as often as registers allow."""


def _threads(given: Given) -> Plan:
    """The plan of a thread for each element."""
    return planned(lambda module: (_emit(module, given.kernel),))


ITERATION = Kind(
    (Strategy("survivors put together", compacted.decide), Strategy("a thread for each element", _threads)), Given
)
"""Iteration kernels."""


def _together(module: Module, form: Iteration) -> str:
    """What LLVM is told of a loop: how many iterations become one, if they read anything; few are left over."""
    body, trips = form.body.instructions, known_trip_count(form.loop)
    reads = any(instruction.opcode in having(Trait.PARTIAL | Trait.INDEXED) for instruction in body)
    if not reads or not trips:
        return ""
    most = max(1, min(_MOST_TOGETHER, _MOST_INSTRUCTIONS // len(body)))
    even = next(count for count in range(most, 0, -1) if trips % count == 0)
    return unroll(module, even if 2 * even > most else most)


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

        state = values.loop(form, indices, write, _together(module, form))
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
