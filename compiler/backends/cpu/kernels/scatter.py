"""Scatter kernels: the operands are copied, then updates are applied one after the other, in order.

Updates may hit the same element, and the combiner need not commute, so one thread applies them all: the result is that
of a sequential program.  An update whose element lies outside the operand is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin, parameters
from compiler.codegen import cost, element, elemental, nest
from compiler.codegen.element import is_signed
from compiler.codegen.index import Emission, Index, constant, linear
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, Builder, Module, Value, integer
from compiler.codegen.signature import arguments, elemental_of
from compiler.ir.module import Instruction


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a scatter kernel."""
    (scatter,) = kernel.roots
    work = cost.nanoseconds(kernel)
    names = (_copy(module, kernel, scatter), _update(module, kernel, scatter))
    return EmittedKernel(kernel, names, 0, work > cost.PARALLEL_NS, work)


def _operands(scatter: Instruction) -> tuple[tuple[Instruction, ...], Instruction, tuple[Instruction, ...]]:
    """Operands, indices and updates."""
    count = len(scatter.operands) // 2
    return scatter.operands[:count], scatter.operands[count], scatter.operands[count + 1 :]


def _copy(module: Module, kernel: Kernel, scatter: Instruction) -> str:
    builder = Builder(begin(module, kernel, ".copy"))
    given = arguments(kernel)
    operands, _, _ = _operands(scatter)
    shape = operands[0].array

    def body(emission: Emission, at: Sequence[Index]) -> None:
        values = elemental_of(kernel, emission)
        indices = nest.coordinates(emission, at[0], shape.dims)
        for operand, output in zip(operands, given.outputs, strict=True):
            element_type = operand.array.element_type
            address = emission.builder.gep(element.storage_type(element_type), output, emission.value(at[0]))
            element.store(emission.builder, element_type, values.value(operand, indices), address)

    (group,) = nest.plan(module, parameters(kernel), [shape.size], body)
    level = nest.split_level(group.loops)
    part = nest.share(builder, group.loops[level], THREAD, THREADS)
    with nest.loops(builder, group, split=level, part=part) as index:
        body(Emission(builder), [index])
    builder.ret()
    return builder.function.name


def _update(module: Module, kernel: Kernel, scatter: Instruction) -> str:
    builder = Builder(begin(module, kernel, ".update"))
    given = arguments(kernel)
    _, _, updates = _operands(scatter)
    shape = updates[0].array

    def body(emission: Emission, at: Sequence[Index]) -> None:
        _apply(kernel, scatter, emission, nest.coordinates(emission, at[0], shape.dims))

    if shape.size:
        (group,) = nest.plan(module, parameters(kernel), [shape.size], body)
        with (
            builder.when(builder.compare("eq", THREAD, integer(0)), "alone"),
            nest.loops(builder, group) as index,
        ):
            body(Emission(builder), [index])
    builder.ret()
    return builder.function.name


def _apply(kernel: Kernel, scatter: Instruction, emission: Emission, at: tuple[Index, ...]) -> None:
    """Combine one element of the updates with the element of the operands that it is meant for."""
    builder, given = emission.builder, arguments(kernel)
    operands, _, updates = _operands(scatter)
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
        old = [element.load(builder, type_, address) for type_, address in zip(types, addresses, strict=True)]
        new = [values.value(update, at) for update in updates]
        results = elemental.apply(emission, scatter.attributes["to_apply"], [*old, *new])
        for type_, result, address in zip(types, results, addresses, strict=True):
            element.store(builder, type_, result, address)
        emission.leave()


def _target(
    scatter: Instruction, values: elemental.Elemental, at: tuple[Index, ...]
) -> tuple[tuple[Index, ...], Value]:
    """Where an element of the updates goes, and whether that lies inside the operand."""
    emission, builder = values.emission, values.builder
    operands, indices, _ = _operands(scatter)
    attributes, dims = scatter.attributes, operands[0].array.dims
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
    window = iter(at[d] for d in window_dims)
    target = [constant(0) if d in skipped else next(window) for d in range(len(dims))]
    inside = Value(I1, "true")
    for position, dimension in enumerate(attributes["scatter_dims_to_operand_dims"]):
        where = list(batch)
        if vector_dim < indices.array.rank:
            where.insert(vector_dim, constant(position))
        start = _wide(builder, indices, values.value(indices, tuple(where)))
        moved = builder.add(start, emission.value(target[dimension]))
        within = builder.compare("ult", moved, integer(dims[dimension]))
        inside = builder.binary("and", inside, within)
        target[dimension] = emission.opaque(moved, max(dims[dimension], 2))
    for dimension, start_dimension in batching.items():
        target[dimension] = target[dimension] + batch[start_dimension - (start_dimension > vector_dim)]
    return tuple(target), inside


def _wide(builder: Builder, indices: Instruction, value: Value) -> Value:
    """An index as an i64; an unsigned one too large for that is far outside in any case."""
    return builder.cast("sext" if is_signed(indices.array.element_type) else "zext", value, "i64")
