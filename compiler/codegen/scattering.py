"""The pieces that a scatter kernel is emitted from on either back end.

An update goes to the operand's element that its own indices and the scatter indices add up to.  A window of updates
that does not lie inside the operand as a whole is dropped, as XLA does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.codegen import element, elemental, nest
from compiler.codegen.element import is_signed
from compiler.codegen.index import Emission, Index, constant, linear
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, Builder, Value, integer
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape


def _operands(scatter: Instruction) -> tuple[tuple[Instruction, ...], Instruction, tuple[Instruction, ...]]:
    """Operands, indices and updates."""
    count = len(scatter.operands) // 2
    return scatter.operands[:count], scatter.operands[count], scatter.operands[count + 1 :]


def updates(kernel: Kernel) -> ArrayShape:
    """The shape of the updates."""
    return _operands(kernel.roots[0])[2][0].array


def window_dimension(kernel: Kernel) -> int | None:
    """The last dimension of the updates that is one of the operands' and not scattered, if there is one.

    Updates with different indices there go to different elements.
    """
    attributes, rank = kernel.roots[0].attributes, kernel.outputs[0].rank
    skipped = {*attributes.get("inserted_window_dims", ()), *attributes.get("input_batching_dims", ())}
    window = [dimension for dimension in range(rank) if dimension not in skipped]
    scattered = attributes["scatter_dims_to_operand_dims"]
    pairs = zip(attributes.get("update_window_dims", ()), window, strict=True)
    return max((update for update, dimension in pairs if dimension not in scattered), default=None)


def copy_element(kernel: Kernel, emission: Emission, at: Index) -> None:
    """Copy the element of every operand at a linear index to its result."""
    operands, _, _ = _operands(kernel.roots[0])
    values = elemental_of(kernel, emission)
    indices = nest.coordinates(emission, at, operands[0].array.dims)
    for operand, output in zip(operands, arguments(kernel).outputs, strict=True):
        store(emission, operand.array, values.value(operand, indices), output, at)


Write = Callable[[Emission, Sequence[Value], Sequence[Value]], None]
"""Combines what lies at some addresses, one for each operand, with new values."""


def apply_update(kernel: Kernel, emission: Emission, at: tuple[Index, ...], write: Write | None = None) -> None:
    """Combine one element of the updates with the element of the operands that it is meant for.

    `write` does it where it is more than to load, combine and store.
    """
    builder, given = emission.builder, arguments(kernel)
    (scatter,) = kernel.roots
    operands, _, sources = _operands(scatter)
    values = elemental_of(kernel, emission)
    target, inside = _target(scatter, values, at)
    with builder.when(inside, "inside"):
        emission.enter()
        offset = emission.value(linear(target, operands[0].array.dims))
        types = [operand.array.element_type for operand in operands]
        addresses = [
            builder.gep(element.storage_type(type_), output, offset)
            for type_, output in zip(types, given.outputs, strict=True)
        ]
        new = [values.value(update, at) for update in sources]
        if write is not None:
            write(emission, addresses, new)
        else:
            old = [element.load(builder, type_, address) for type_, address in zip(types, addresses, strict=True)]
            results = elemental.apply(emission, scatter.attributes["to_apply"], [*old, *new])
            for type_, result, address in zip(types, results, addresses, strict=True):
                element.store(builder, type_, result, address)
        emission.leave()


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
        places = max(0, dims[dimension] - extents[dimension][1] + 1)
        within = builder.compare("ult", start, integer(places))
        inside = builder.binary("and", inside, within)
        target[dimension] = target[dimension] + emission.opaque(start, max(places, 2))
    for dimension, start_dimension in batching.items():
        target[dimension] = target[dimension] + batch[start_dimension - (start_dimension > vector_dim)]
    return tuple(target), inside


def _wide(builder: Builder, indices: Instruction, value: Value) -> Value:
    """An index as an i64; an unsigned one too large for that is far outside in any case."""
    return builder.cast("sext" if is_signed(indices.array.element_type) else "zext", value, "i64")
