"""The pieces that a scatter kernel is emitted from on either back end.

An update goes to the operand's element that its own indices and the scatter indices add up to.  A window of updates
that does not lie inside the operand as a whole is dropped, as XLA does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from compiler.codegen import element, elemental, nest
from compiler.codegen.index import Emission, Index, constant, linear, reshape
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, Builder, Value, integer
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape


class _Operands(NamedTuple):
    """What a scatter is given: the arrays that it changes, where, and what comes there."""

    operands: tuple[Instruction, ...]
    indices: Instruction
    updates: tuple[Instruction, ...]


def _operands(scatter: Instruction) -> _Operands:
    count = len(scatter.operands) // 2
    return _Operands(scatter.operands[:count], scatter.operands[count], scatter.operands[count + 1 :])


def updates(kernel: Kernel) -> ArrayShape:
    """The shape of the updates."""
    return _operands(kernel.roots[0]).updates[0].array


def window_dimension(kernel: Kernel) -> int | None:
    """The last dimension of the updates that is one of the operands' and not scattered, if there is one.

    Updates with different indices there go to different elements.
    """
    return max((update for update, _ in _kept(kernel)), default=None)


def window_stride(kernel: Kernel) -> int:
    """The stride of that dimension in elements of the operands; 0 without one."""
    _, dimension = max(_kept(kernel), default=(0, None))
    return 0 if dimension is None else math.prod(kernel.outputs[0].dims[dimension + 1 :])


def _kept(kernel: Kernel) -> list[tuple[int, int]]:
    """Dimensions of the updates, and of the operands, that are the same, and not scattered."""
    attributes, rank = kernel.roots[0].attributes, kernel.outputs[0].rank
    skipped = {*attributes.get("inserted_window_dims", ()), *attributes.get("input_batching_dims", ())}
    window = [dimension for dimension in range(rank) if dimension not in skipped]
    scattered = attributes["scatter_dims_to_operand_dims"]
    pairs = zip(attributes.get("update_window_dims", ()), window, strict=True)
    return [(update, dimension) for update, dimension in pairs if dimension not in scattered]


def row_dimension(kernel: Kernel) -> int | None:
    """The longest dimension of the operands in which a window is one row, at a place of its own; None without one."""
    scattered, dims = kernel.roots[0].attributes["scatter_dims_to_operand_dims"], kernel.outputs[0].dims
    extents = _extents(kernel.roots[0])
    return max((d for d in scattered if extents[d] == 1), key=lambda d: dims[d], default=None)


def copy_element(kernel: Kernel, emission: Emission, at: Index) -> None:
    """Copy the element of every operand at a linear index to its result.

    Args:
        kernel: the scatter.
        emission: where code is emitted, with what is known there.
        at: the linear index.
    """
    operands = _operands(kernel.roots[0]).operands
    values = elemental_of(kernel, emission)
    indices = nest.coordinates(emission, at, operands[0].array.dims)
    for operand, output in zip(operands, arguments(kernel).outputs, strict=True):
        store(emission, operand.array, values.value(operand, indices), output, at)


Write = Callable[[Emission, Sequence[Value], Sequence[Value]], None]
"""Combines what lies at some addresses, one for each operand, with new values."""


def apply_update(kernel: Kernel, emission: Emission, at: tuple[Index, ...], write: Write | None = None) -> None:
    """Combine one element of the updates with the element of the operands that it is meant for.

    Args:
        kernel: whose root is the scatter.
        emission: where code is emitted.
        at: the position in the updates.
        write: combines and stores, where that is more than to load, combine and store.
    """
    target, inside = _target(kernel.roots[0], elemental_of(kernel, emission), at)
    with emission.builder.when(inside, "inside"):
        emission.enter()
        _combine(kernel, emission, target, at, write=write)
        emission.leave()


def aim(kernel: Kernel, emission: Emission, batch: Sequence[Index]) -> tuple[tuple[Index, ...], Value]:
    """The start of a window, by its indices among the windows, and whether it lies inside the operands.

    Args:
        kernel: the scatter.
        emission: where code is emitted, with what is known there.
        batch: the window's indices among the windows.
    """
    scatter = kernel.roots[0]
    window_dims, rest = scatter.attributes.get("update_window_dims", ()), iter(batch)
    first = tuple(constant(0) if d in window_dims else next(rest) for d in range(updates(kernel).rank))
    return _target(scatter, elemental_of(kernel, emission), first)


def apply_at(
    kernel: Kernel,
    emission: Emission,
    start: Sequence[Index],
    batch: Sequence[Index],
    inner: Sequence[Index],
    results: Sequence[Value] = (),
) -> None:
    """Combine the element at `inner` of a window that lies inside with the element of the operands it is meant for.

    Args:
        kernel: whose root is the scatter.
        emission: where code is emitted.
        start: where the window begins in the operands.
        batch: the position among the windows.
        inner: the position in the window.
        results: addresses of the operands, if they are not those of the kernel's results.
    """
    attributes, rest, within = kernel.roots[0].attributes, iter(batch), iter(inner)
    window_dims = attributes.get("update_window_dims", ())
    at = tuple(next(within) if d in window_dims else next(rest) for d in range(updates(kernel).rank))
    skipped = {*attributes.get("inserted_window_dims", ()), *attributes.get("input_batching_dims", ())}
    offsets = iter(inner)
    target = tuple(index if d in skipped else index + next(offsets) for d, index in enumerate(start))
    _combine(kernel, emission, target, at, results=results)


def _combine(
    kernel: Kernel,
    emission: Emission,
    target: Sequence[Index],
    at: tuple[Index, ...],
    *,
    write: Write | None = None,
    results: Sequence[Value] = (),
) -> None:
    builder, (scatter,) = emission.builder, kernel.roots
    operands, _, sources = _operands(scatter)
    values = elemental_of(kernel, emission)
    offset = emission.value(linear(tuple(target), operands[0].array.dims))
    types = [operand.array.element_type for operand in operands]
    addresses = [
        builder.gep(element.storage_type(type_), output, offset)
        for type_, output in zip(types, results or arguments(kernel).outputs, strict=True)
    ]
    new = [values.value(update, at) for update in sources]
    if write is not None:
        write(emission, addresses, new)
        return
    old = [element.load(builder, type_, address) for type_, address in zip(types, addresses, strict=True)]
    combined = elemental.apply(emission, scatter.attributes["to_apply"], [*old, *new])
    for type_, result, address in zip(types, combined, addresses, strict=True):
        element.store(builder, type_, result, address)


def batch_of(kernel: Kernel) -> list[int]:
    """The sizes of the updates' dimensions that are not those of windows: so many windows there are."""
    window = kernel.roots[0].attributes.get("update_window_dims", ())
    return [size for d, size in enumerate(updates(kernel).dims) if d not in window]


def batched(kernel: Kernel) -> dict[int, int]:
    """Dimensions of those in which windows are for one place of the operand's batch each, with its dimension."""
    attributes = kernel.roots[0].attributes
    dims = attributes.get("scatter_indices_batching_dims", ()), attributes.get("input_batching_dims", ())
    vector = attributes["index_vector_dim"]
    return {of_indices - (of_indices > vector): of_operand for of_indices, of_operand in zip(*dims, strict=True)}


def combined(
    kernel: Kernel, emission: Emission, at: tuple[Index, ...], window: Index, *, ahead: bool = False
) -> Callable[[Value], Value]:
    """The update of one element of the only operand by the window of that number, if that covers it.

    Args:
        kernel: the scatter.
        emission: where code is emitted, with what is known there.
        at: the element's indices.
        window: the number of the window.
        ahead: whether to load an update at once, of whatever the window has where it does not cover the element.
    """
    builder, (scatter,) = emission.builder, kernel.roots
    (source,) = _operands(scatter).updates
    values, sizes = elemental_of(kernel, emission), batch_of(kernel)
    batch = reshape(emission, (window,), (math.prod(sizes),), sizes)
    batch = [emission.opaque(emission.value(index_), size) for index_, size in zip(batch, sizes, strict=True)]
    window_dims = scatter.attributes.get("update_window_dims", ())
    rest, zero_ = iter(batch), constant(0)
    first = tuple(zero_ if d in window_dims else next(rest) for d in range(source.array.rank))
    start, covers = _target(scatter, values, first)
    extents = _extents(scatter)
    offsets: list[Index] = []
    for index, origin, extent in zip(at, start, extents, strict=True):
        offset = index + origin.times(-1)
        least, greatest = offset.bounds()
        if least < 0 or greatest >= extent:
            within = builder.compare("ult", emission.value(offset), integer(extent))
            covers = builder.binary("and", covers, within)
            offset = emission.opaque(emission.value(offset), max(extent, 2))
        offsets.append(offset)
    skipped = {*scatter.attributes.get("inserted_window_dims", ()), *scatter.attributes.get("input_batching_dims", ())}
    if ahead:
        values_ = [builder.select(covers, emission.value(offset), integer(0)) for offset in offsets]
        offsets = [emission.opaque(value, max(extent, 2)) for value, extent in zip(values_, extents, strict=True)]
    inner, rest = iter([o for d, o in enumerate(offsets) if d not in skipped]), iter(batch)
    position = tuple(next(inner) if d in window_dims else next(rest) for d in range(source.array.rank))

    def combination(old: Value, new: Value) -> Value:
        return elemental.apply(emission, scatter.attributes["to_apply"], [old, new])[0]

    if ahead:
        new = values.value(source, position)
        return lambda old: builder.select(covers, combination(old, new), old)

    def becomes(old: Value) -> Value:
        def changed() -> Value:
            emission.enter()
            new = values.value(source, position)
            result = combination(old, new)
            emission.leave()
            return result

        return builder.choose(covers, changed, lambda: old)

    return becomes


def row_update(kernel: Kernel, emission: Emission, at: Sequence[Index], window: Index) -> Value:
    """What a window that is one row, and covers an element, has for it.

    Args:
        kernel: the scatter, whose only index is that of the row.
        emission: where code is emitted, with what is known there.
        at: the element's indices.
        window: the number of the window.
    """
    (scatter,) = kernel.roots
    (source,) = _operands(scatter).updates
    window_dims, inner = scatter.attributes.get("update_window_dims", ()), iter(at[1:])
    position = tuple(next(inner) if d in window_dims else window for d in range(source.array.rank))
    return elemental_of(kernel, emission).value(source, position)


def row_extents(kernel: Kernel) -> list[int]:
    """How far windows that are one row reach along the dimensions of the only operand."""
    return _extents(kernel.roots[0])


def index_of(kernel: Kernel, emission: Emission, window: Index) -> Value:
    """The index of a window by its number, as an i64, where windows lie in one dimension and have one index each.

    Args:
        kernel: the scatter.
        emission: where code is emitted, with what is known there.
        window: its number.
    """
    indices = _operands(kernel.roots[0]).indices
    at = [window]
    if indices.array.rank > 1:
        at.insert(kernel.roots[0].attributes["index_vector_dim"], constant(0))
    return _wide(emission.builder, indices, elemental_of(kernel, emission).value(indices, tuple(at)))


def _extents(scatter: Instruction) -> list[int]:
    """The sizes of a window in every dimension of the operand."""
    operands, _, sources = _operands(scatter)
    attributes = scatter.attributes
    skipped = {*attributes.get("inserted_window_dims", ()), *attributes.get("input_batching_dims", ())}
    sizes = iter(sources[0].array.dims[d] for d in attributes.get("update_window_dims", ()))
    return [1 if d in skipped else next(sizes) for d in range(operands[0].array.rank)]


def _target(
    scatter: Instruction, values: elemental.Elemental, at: tuple[Index, ...]
) -> tuple[tuple[Index, ...], Value]:
    """Where an element of the updates goes, and whether that lies inside the operand."""
    emission, builder = values.emission, values.builder
    operands, indices, sources = _operands(scatter)
    attributes, dims, shape = scatter.attributes, operands[0].array.dims, sources[0].array.dims
    window_dims = attributes.get("update_window_dims", ())
    vector_dim = attributes["index_vector_dim"]
    batch = [index for d, index in enumerate(at) if d not in window_dims]
    batching = dict(
        zip(
            attributes.get("input_batching_dims", ()),
            attributes.get("scatter_indices_batching_dims", ()),
            strict=True,
        )
    )
    skipped = {*attributes.get("inserted_window_dims", ()), *batching}
    window = iter((at[d], shape[d]) for d in window_dims)
    extents = [(constant(0), 1) if d in skipped else next(window) for d in range(len(dims))]
    target = [index for index, _ in extents]
    inside = Value(I1, "true")
    for position, dimension in enumerate(attributes["scatter_dims_to_operand_dims"]):
        where = list(batch)
        if vector_dim < indices.array.rank:
            where.insert(vector_dim, constant(position))
        start = _wide(builder, indices, values.value(indices, tuple(where)))
        start_count = max(0, dims[dimension] - extents[dimension][1] + 1)
        within = builder.compare("ult", start, integer(start_count))
        inside = builder.binary("and", inside, within)
        target[dimension] = target[dimension] + emission.opaque(start, max(start_count, 2))
    for dimension, start_dimension in batching.items():
        target[dimension] = target[dimension] + batch[start_dimension - (start_dimension > vector_dim)]
    return tuple(target), inside


def _wide(builder: Builder, indices: Instruction, value: Value) -> Value:
    """An index as an i64; an unsigned one too large for that is far outside in any case."""
    return builder.cast("sext" if indices.array.element_type.is_signed else "zext", value, "i64")
