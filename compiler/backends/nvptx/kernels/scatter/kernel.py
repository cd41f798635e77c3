"""Scatter kernels: the result is that of a sequential program, the same every time, unless asked otherwise.

Updates may hit the same element, and the combiner need not commute.  Where they lie in the order of the elements that
they are for, as a pass puts many of them, a thread for each element of the result finds its own, or a block where these
are many (`long_rows`, which minds no order where it makes no difference but rounding).  Integers that are
added and the like come to the same in any order: of many, each update is a thread's and an atomic operation.  Of a few
dozen others, a thread for each element asks all windows of updates in order whether they cover it.  Else a launch
copies the operands and another applies the updates: those that could meet are one thread's, in order; those that differ
along a dimension which leads to different elements in any case, such as the columns of rows that are added up, are
different threads'.

Where the order is given up on request, updates of floats are atomic, too, if there is an operation for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, partial, reduce

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.scatter import long_rows
from compiler.backends.nvptx.kernels.scatter.search import Beginnings
from compiler.backends.nvptx.kernels.strategy import NOTHING, Given, Kind, Launches, Plan, Strategy, planned
from compiler.backends.strategy import Declined
from compiler.codegen import elemental, nest, scattering
from compiler.codegen.index import Emission, Index, linear, reshape
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.ir import types
from compiler.ir.combiner import binary_opcode

_ATOMIC: dict[str, dict[types.Kind, str]] = {
    "add": {types.Kind.FLOAT: "fadd", types.Kind.SIGNED: "add", types.Kind.UNSIGNED: "add"},
    "maximum": {types.Kind.SIGNED: "max", types.Kind.UNSIGNED: "umax"},
    "minimum": {types.Kind.SIGNED: "min", types.Kind.UNSIGNED: "umin"},
    **{opcode: {types.Kind.SIGNED: opcode, types.Kind.UNSIGNED: opcode} for opcode in ("and", "or", "xor")},
}
"""LLVM's operation for an opcode on a kind of numbers."""
_ATOMIC_BITS = (32, 64)
"""Bits of the types that updates are atomic of; others are never combined in any order."""
_MANY_WINDOWS, _FEW_QUESTIONS = 16, 1 << 20
"""Windows of updates from which on applying them one after the other takes longer than asking all for each element, and
questions in all up to which it does in any case, since asking is one launch."""
_FEW_ASKED = 32
"""Windows that an element asks in less time than a second launch takes."""
_AHEAD = 8
"""Windows whose indices a thread loads together: memory answers after hundreds of cycles."""
_MOST_ASKING = 1 << 24
"""Elements of a result at most that each look for their own updates."""
_MOST_ASKED = 1 << 34
"""Elements that ask, and questions in all, up to which asking is faster: updates in order wait for memory each time."""

_AHEAD, _AHEAD_BODY = 16, 128
"""Updates of an element that a thread asks for together, as memory answers after hundreds of cycles, often twice, for
an update and for its number; and instructions of the body for all of them, as the code grows with them."""


class ScatterGiven(Given):
    """A scatter kernel, with the atomic operation of its combiner, where the GPU may use it."""

    @cached_property
    def write(self) -> scattering.Write | None:
        """The operation that combines an update with what is there, as PTX has it, where that is allowed."""
        return _atomic(self.kernel) if self.gpu.atomics or _is_exact(self.kernel) else None

    @property
    def is_asked_for(self) -> bool:
        """Whether atomic operations are, and there is one."""
        return self.gpu.atomics and self.write is not None


def _finding(given: ScatterGiven) -> Plan | Declined:
    """The plan where each element finds its own windows, which are in the order of the elements."""
    if given.is_asked_for:
        return Declined("atomic operations are asked for, and there is one for the combiner")
    if not _is_sorted(given.kernel):
        return Declined("the windows are not in the order of the elements that they are for")
    return planned(lambda module: (_find(module, given.kernel),))


def _sharing(given: ScatterGiven) -> Plan | Declined:
    """The plan where a block shares the windows of an element, which are many."""
    if given.is_asked_for:
        return Declined("atomic operations are asked for, and there is one for the combiner")
    if not (_is_sorted(given.kernel) and long_rows.is_shared(given.kernel)):
        return Declined("rows are many, have few windows, or these are combined in order")
    kernel, (windows,) = given.kernel, scattering.batch_of(given.kernel)

    def is_before(emission: Emission, window: Value, row: Value) -> Value:
        return _is_before(kernel, emission, windows, window, row)

    return planned(lambda module: (long_rows.emit(module, kernel, is_before),))


def _asking(given: ScatterGiven) -> Plan | Declined:
    """The plan where each element asks all windows for what they have for it."""
    if given.is_asked_for:
        return Declined("atomic operations are asked for, and there is one for the combiner")
    if not _asks(given.kernel, is_atomic=given.write is not None):
        return Declined("updates do not meet, or to ask all windows takes longer than to apply them")
    return planned(lambda module: (_gather(module, given.kernel),))


def _atomically(given: ScatterGiven) -> Plan | Declined:
    """The plan of a copy, and updates in any order by atomic operations."""
    if given.write is None:
        return Declined("no atomic operation is allowed, or there is none for the combiner")
    return planned(partial(_copy_and_update, given.kernel, given.write))


def _in_order(given: ScatterGiven) -> Plan:
    """The plan of a copy, and updates in the order of a sequential program where they may meet."""
    return planned(partial(_copy_and_update, given.kernel, None))


SCATTER = Kind(
    (
        NOTHING,
        Strategy("a block for each element", _sharing),
        Strategy("elements find their windows", _finding),
        Strategy("elements ask windows", _asking),
        Strategy("updates by atomic operations", _atomically),
        Strategy("updates in order", _in_order),
    ),
    ScatterGiven,
)
"""Scatter kernels."""


def _copy_and_update(kernel: Kernel, write: scattering.Write | None, module: Module) -> Launches:
    size = kernel.outputs[0].size

    def copy(builder: Builder, number: Value) -> None:
        emission = Emission(builder)
        scattering.copy_element(kernel, emission, emission.opaque(number, size))

    copied = grid.for_each(module, kernel, size, copy, "_copy")
    return (copied, _update(module, kernel, write)) if scattering.updates(kernel).size else (copied,)


def _is_exact(kernel: Kernel) -> bool:
    """Whether updates may come in any order: what integers come to is the same."""
    return not kernel.outputs[0].element_type.is_float


def _asks(kernel: Kernel, *, is_atomic: bool) -> bool:
    """Whether it takes less time to ask all windows for each element than to apply them, one by one or all at once."""
    rank, asked = scattering.updates(kernel).rank, _asked(kernel)
    windows, questions = math.prod(scattering.batch_of(kernel)), math.prod(asked) * kernel.outputs[0].size
    is_ordered = not all(_is_parallel(kernel, d) for d in range(rank))
    fits = kernel.outputs[0].size <= _MOST_ASKING and questions <= _MOST_ASKED
    gains = questions <= _FEW_QUESTIONS if is_atomic else windows >= _MANY_WINDOWS or questions <= _FEW_QUESTIONS
    is_short = not is_atomic or math.prod(asked) <= _FEW_ASKED
    return is_ordered and len(kernel.outputs) == 1 and gains and is_short and fits and windows > 0


def _asked(kernel: Kernel) -> list[int]:
    """The sizes of the windows' dimensions, those of the batch aside: an element asks those of its own place there."""
    fixed = scattering.batched(kernel)
    return [1 if dimension in fixed else size for dimension, size in enumerate(scattering.batch_of(kernel))]


def _gather(module: Module, kernel: Kernel) -> Launch:
    """Each thread combines one element with all updates that are for it, of those of its own batch."""
    shape, sizes, fixed = kernel.outputs[0], scattering.batch_of(kernel), scattering.batched(kernel)
    operand = kernel.roots[0].operands[0]
    asked = _asked(kernel)
    ahead = math.prod(asked) * shape.size <= _FEW_QUESTIONS

    def ask(builder: Builder, number: Value) -> None:
        emission = Emission(builder)
        element = emission.opaque(number, shape.size)
        at = tuple(nest.coordinates(emission, element, shape.dims))
        start = elemental_of(kernel, emission).value(operand, at)
        count = math.prod(asked)

        def answers(first: Value, some: int, value: Value) -> Value:
            """What windows from the first on make of a value; the indices of all are loaded before any is applied."""
            found = []
            for more in range(some):
                number = emission.opaque(builder.add(first, integer(more)), count)
                indices = reshape(emission, (number,), (count,), asked)
                window = linear([at[fixed[d]] if d in fixed else index for d, index in enumerate(indices)], sizes)
                found.append(scattering.combined(kernel, emission, at, window, ahead=ahead))
            for becomes in found:
                value = becomes(value)
            return value

        whole = count // _AHEAD * _AHEAD
        with builder.loop(integer(0), integer(whole), step=_AHEAD, carried=[start], name="window") as loop:
            emission.enter()
            loop.carry(answers(loop.index, _AHEAD, loop.carried[0]))
            emission.leave()
        result = answers(integer(whole), count - whole, loop.results[0])
        store(emission, shape, result, arguments(kernel).outputs[0], element)

    return grid.for_each(module, kernel, shape.size, ask)


def _is_sorted(kernel: Kernel) -> bool:
    """Whether windows lie in the order of the elements of the first dimension, which each of them is one of."""
    attributes = kernel.roots[0].attributes
    numbers = attributes["scatter_dims_to_operand_dims"] == (0,) == tuple(attributes.get("inserted_window_dims", ()))
    one = len(scattering.batch_of(kernel)) == 1 and not attributes.get("input_batching_dims", ())
    return bool(attributes.get("indices_are_sorted", False)) and numbers and one and len(kernel.outputs) == 1


def _find(module: Module, kernel: Kernel) -> Launch:
    """Blocks find the windows of their rows, and each thread combines one element with its row's in order."""
    shape, (windows,) = kernel.outputs[0], scattering.batch_of(kernel)
    inner, builder = math.prod(shape.dims[1:]), grid.begin(module, kernel, grid.BLOCK)
    emission = Emission(builder)
    beginnings = Beginnings(emission, f"{kernel.name}.rows", windows, partial(_is_before, kernel, emission, windows))
    first = builder.binary("udiv", builder.mul(grid.block(builder), integer(grid.BLOCK)), integer(inner))
    rows = grid.BLOCK // inner if grid.BLOCK % inner == 0 else (grid.BLOCK - 2) // inner + 2
    beginnings.find(first, rows + 1)
    number = grid.linear_thread(builder, grid.BLOCK)
    with builder.when(builder.compare("slt", number, integer(shape.size)), "inside"):
        element = emission.opaque(number, shape.size)
        at = tuple(nest.coordinates(emission, element, shape.dims))
        start = elemental_of(kernel, emission).value(kernel.roots[0].operands[0], at)
        row = builder.sub(emission.value(at[0]), first)
        begin, end = beginnings.of(row), beginnings.of(builder.add(row, integer(1)))
        covered = [
            builder.compare("slt", emission.value(index), integer(extent))
            for index, extent, size in zip(at[1:], scattering.row_extents(kernel)[1:], shape.dims[1:], strict=True)
            if extent < size
        ]
        # Elements beyond what windows reach have none.
        end = reduce(lambda left, condition: builder.select(condition, left, begin), covered, end)
        result = _combined_in_order(kernel, emission, at, start, (begin, end))
        store(emission, shape, result, arguments(kernel).outputs[0], element)
    builder.ret()
    return Launch(builder.function.name, grid.blocks_for(shape.size, grid.BLOCK), grid.BLOCK)


def _combined_in_order(
    kernel: Kernel, emission: Emission, at: Sequence[Index], start: Value, windows: tuple[Value, Value]
) -> Value:
    """An element combined with what windows of its row have for it, some of which are on their way together.

    Args:
        kernel: the scatter.
        emission: where code is emitted, with what is known there.
        at: the element's indices.
        start: the element before.
        windows: the first, and the one behind the last.
    """
    builder, (following, end), total = emission.builder, windows, start
    (count,), (scatter,) = scattering.batch_of(kernel), kernel.roots
    ahead = max(1, min(_AHEAD, _AHEAD_BODY // sum(1 for _ in kernel.body())))
    for many in dict.fromkeys((ahead, 1)):
        behind = builder.sub(end, integer(many - 1))
        with builder.loop(following, behind, step=many, carried=[total, following], name="window") as loop:
            emission.enter()
            numbers = [builder.add(loop.index, integer(more)) for more in range(many)]
            found = [scattering.row_update(kernel, emission, at, emission.opaque(n, count)) for n in numbers]
            total = loop.carried[0]
            for update in found:
                (total,) = elemental.apply(emission, scatter.attributes["to_apply"], [total, update])
            loop.carry(total, builder.add(loop.index, integer(many)))
            emission.leave()
        total, following = loop.results
    return total


def _is_before(kernel: Kernel, emission: Emission, windows: int, window: Value, row: Value) -> Value:
    """Whether the window of a number is for an element of the first dimension before a row."""
    emission.enter()
    index = scattering.index_of(kernel, emission, emission.opaque(window, windows))
    emission.leave()
    return emission.builder.compare("slt", index, row)


def _atomic(kernel: Kernel) -> scattering.Write | None:
    """How an element is updated at once; None where it cannot be."""
    (scatter,) = kernel.roots
    type_ = scatter.operands[0].array.element_type
    operation = _ATOMIC.get(binary_opcode(scatter.attributes["to_apply"]) or "", {}).get(type_.kind)
    if operation is None or len(kernel.outputs) != 1 or type_.bits not in _ATOMIC_BITS:
        return None

    def write(emission: Emission, addresses: Sequence[Value], new: Sequence[Value]) -> None:
        order = f'syncscope("device") monotonic, align {type_.size_bytes}'
        emission.builder.emit(new[0].type, f"atomicrmw {operation} {addresses[0]}, {new[0]} {order}")

    return write


def _update(module: Module, kernel: Kernel, write: scattering.Write | None) -> Launch:
    dims = scattering.updates(kernel).dims
    parallel = [d for d in range(len(dims)) if write is not None or _is_parallel(kernel, d)]
    window: Sequence[int] = kernel.roots[0].attributes.get("update_window_dims", ())
    # Window by window, whatever order the updates lie in.
    ordered = sorted((d for d in range(len(dims)) if d not in parallel), key=lambda d: (d in window, d))
    threads, trip_count = (math.prod(dims[d] for d in dims_) for dims_ in (parallel, ordered))

    def update(builder: Builder, number: Value) -> None:
        emission = Emission(builder)

        def step(counters: list[Value], _: list[Value]) -> list[Value]:
            at: dict[int, Index] = {}
            for dims_, value, count in ((parallel, number, threads), (ordered, counters[0], trip_count)):
                sizes = [dims[d] for d in dims_]
                at.update(zip(dims_, reshape(emission, (emission.opaque(value, count),), (count,), sizes), strict=True))
            scattering.apply_update(kernel, emission, tuple(at[d] for d in range(len(dims))), write)
            return []

        nest.nested(emission, [nest.all_of(trip_count)], [], step)

    return grid.for_each(module, kernel, threads, update, "_update")


def _is_parallel(kernel: Kernel, dimension: int) -> bool:
    """Whether updates that differ along a dimension of theirs never hit the same element."""
    attributes = kernel.roots[0].attributes
    if attributes.get("unique_indices", False):
        return True
    window: Sequence[int] = attributes.get("update_window_dims", ())
    if dimension in window:
        skipped = {*attributes.get("inserted_window_dims", ()), *attributes.get("input_batching_dims", ())}
        rank = kernel.outputs[0].rank
        operand_dims = [d for d in range(rank) if d not in skipped]
        # Where the window starts at an index, windows may overlap.
        return operand_dims[window.index(dimension)] not in attributes["scatter_dims_to_operand_dims"]
    batch = [d for d in range(scattering.updates(kernel).rank) if d not in window].index(dimension)
    indices_dim = batch + (batch >= attributes["index_vector_dim"])
    return indices_dim in attributes.get("scatter_indices_batching_dims", ())
