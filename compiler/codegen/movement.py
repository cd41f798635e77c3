"""Index rules of the opcodes that move data: the elements of operands that they read; no arithmetic on values here.

Each rule gets the indices of one element of the result and answers with its value, asking for elements of the operands
at indices computed on symbols.  What it asks of the kernel that it is part of is `Values`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from compiler.codegen import access, element
from compiler.codegen.index import ZERO, Emission, Index, constant, linear, reshape
from compiler.codegen.llvm_ir import I1, Builder, Value, integer, zero
from compiler.diagnostics import UnsupportedError
from compiler.ir.literal import Literal
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import PRED, S64, ElementType

Indices = tuple[Index, ...]
Leaf = Callable[[Indices], Value]
"""The value of an element of something that is not computed here."""


def always(value: Value) -> Leaf:
    """A leaf that is the same wherever it is asked for."""
    return lambda _: value


class Values(Protocol):
    """A rule's view of emission: elements of other instructions, and where to emit."""

    @property
    def emission(self) -> Emission:
        """Turns indices into values."""

    @property
    def builder(self) -> Builder:
        """The builder of the function into which instructions are emitted."""

    def value(self, instruction: Instruction, indices: Indices) -> Value:
        """The element of an array at `indices`."""

    def elements(self, instruction: Instruction, indices: Indices) -> list[Value]:
        """The elements at `indices` of every array of a tuple of equal dimensions."""

    def apply(self, computation: Computation, arguments: Sequence[Value], *, flags: str = "") -> list[Value]:
        """The results of a `computation` of scalars on `arguments`, with LLVM's fast-math `flags`."""

    def choose(self, condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
        """What `then` emits where an i1 `condition` holds, else what `otherwise` does; only that one is computed."""


Rule = Callable[[Values, Instruction, Indices], Value]


def buffer_leaf(emission: Emission, pointer: Value, shape: ArrayShape, metadata: str = "") -> Leaf:
    """A leaf that lies row-major at `pointer`.

    Args:
        emission: where code is emitted, with what is known there.
        pointer: where the array begins.
        shape: its shape.
        metadata: of its loads, as LLVM has it.
    """

    def leaf(indices: Indices) -> Value:
        return access.read(emission, pointer, shape.element_type, linear(indices, shape.dims), metadata)

    return leaf


def constant_data(builder: Builder, literal: Literal, name: str) -> Value:
    """The address of a `literal`'s elements, in a constant called `name` that `builder` defines."""
    assert literal.array is not None
    data = np.ascontiguousarray(literal.array).tobytes()
    return builder.module.define_bytes(name, data, alignment=64)


NEVER = Value(I1, "false")


def in_range(values: Values, index: Index, low: int, high: int) -> Value | None:
    """Whether `low <= index < high`, by `values`; None or NEVER where the index's bounds already say so."""
    least, greatest = values.emission.bounds(index)
    if least >= low and greatest < high:
        return None
    if greatest < low or least >= high:
        return NEVER
    values.emission.changes(index, low)
    values.emission.changes(index, high)
    moved = values.emission.value(index.plus(-low))
    return values.builder.compare("ult", moved, integer(high - low))


def undilated(values: Values, index: Index, step: int, size: int) -> tuple[Index, Value | None]:
    """The element, of `size`, at an `index` where they lie `step` apart, and whether there is one, by `values`."""
    emission, builder = values.emission, values.builder
    exact = emission.digits_of(index, step)
    if exact is not None:
        return exact[0], in_range(values, exact[1], 0, 1)
    position = emission.value(index)
    quotient, rest = builder.udivrem(position, integer(step))
    return emission.opaque(quotient, max(size, 1)), builder.compare("eq", rest, integer(0))


def where_all(
    values: Values,
    conditions: Sequence[Value | None],
    then: Callable[[], Value],
    otherwise: Callable[[], Value],
) -> Value:
    """`then()` where all `conditions` hold, else `otherwise()`, by `values`; one of None always holds."""
    if NEVER in conditions:
        return otherwise()
    known = [condition for condition in conditions if condition is not None]
    if not known:
        return then()
    total = known[0]
    for condition in known[1:]:
        total = values.builder.binary("and", total, condition)
    return values.choose(total, then, otherwise)


@dataclass(frozen=True, slots=True)
class Start:
    """A start index: an element at a constant place, clamped to [0, limit]."""

    instruction: Instruction
    indices: Indices
    limit: int


def clamped(values: Values, instruction: Instruction, indices: Indices, limit: int) -> Index:
    """A start index read by `values` from an `instruction`'s element at `indices`, clamped to [0, limit]."""
    if limit <= 0:
        return ZERO
    builder = values.builder

    def read() -> Value:
        raw = values.value(instruction, indices)
        is_signed = instruction.array.element_type.is_signed
        # Vectors hold twice as many indices of 32 bits as of 64.
        own = raw.type if limit < 1 << (int(raw.type[1:]) - is_signed) else "i64"
        start = builder.cast("sext" if is_signed else "zext", raw, own)
        top = integer(limit, own)
        inside = builder.clamp(start, integer(0, own), top) if is_signed else builder.umin(start, top)
        return builder.cast("zext", inside, "i64")

    if any(index.terms for index in indices):
        return values.emission.opaque(read(), limit + 1)
    return values.emission.start(Start(instruction, indices, limit), read, limit + 1)


def _constant(values: Values, instruction: Instruction, indices: Indices) -> Value:
    literal = instruction.literal
    if literal.array is None:
        raise UnsupportedError(f"the elided constant {instruction.name}", "code generation", "its value is not known")
    if literal.array.size == 1:
        return element.constant(instruction.array.element_type, literal.array.reshape(-1)[0])
    parent = instruction.computation.name
    name = "".join(c if c.isalnum() or c in "._" else "_" for c in f"constant.{parent}.{instruction.name}")
    data = constant_data(values.builder, literal, name)
    return buffer_leaf(values.emission, data, instruction.array)(indices)


def _broadcast(values: Values, instruction: Instruction, indices: Indices) -> Value:
    (operand,) = instruction.operands
    dimensions = instruction.attributes.get("dimensions", ())
    return values.value(operand, tuple(indices[d] for d in dimensions))


def _reshape(values: Values, instruction: Instruction, indices: Indices) -> Value:
    (operand,) = instruction.operands
    to = reshape(values.emission, indices, instruction.array.dims, operand.array.dims)
    return values.value(operand, tuple(to))


def _transpose(values: Values, instruction: Instruction, indices: Indices) -> Value:
    (operand,) = instruction.operands
    source = [ZERO] * len(indices)
    for position, dimension in enumerate(instruction.attributes["dimensions"]):
        source[dimension] = indices[position]
    return values.value(operand, tuple(source))


def _reverse(values: Values, instruction: Instruction, indices: Indices) -> Value:
    (operand,) = instruction.operands
    source = list(indices)
    for dimension in instruction.attributes["dimensions"]:
        source[dimension] = indices[dimension].times(-1).plus(instruction.array.dims[dimension] - 1)
    return values.value(operand, tuple(source))


def _slice(values: Values, instruction: Instruction, indices: Indices) -> Value:
    (operand,) = instruction.operands
    dims = instruction.attributes["slice"]
    source = tuple(index.times(d.stride).plus(d.start) for index, d in zip(indices, dims, strict=True))
    return values.value(operand, source)


def _iota(values: Values, instruction: Instruction, indices: Indices) -> Value:
    target = instruction.array.element_type
    index = values.emission.value(indices[instruction.attributes["iota_dimension"]])
    return from_index(values.builder, index, target)


def from_index(builder: Builder, index: Value, target: ElementType) -> Value:
    """A non-negative i64 `index` as an element of the `target` type, by `builder`."""
    type_ = element.value_type(target)
    if target.is_integer:
        return index if type_ == "i64" else element.round_to(builder, target, builder.cast("trunc", index, type_))
    if target.is_complex:
        return element.convert(builder, index, S64, target)
    return element.round_to(builder, target, builder.cast("sitofp", index, type_))


def _bitcast_convert(values: Values, instruction: Instruction, indices: Indices) -> Value:
    """Bits in memory order: a narrower type has one more dimension, the lowest bits first."""
    (operand,) = instruction.operands
    builder = values.builder
    source, target = operand.array.element_type, instruction.array.element_type
    if source is target:
        return values.value(operand, indices)
    if source.is_complex:
        raise UnsupportedError(f"bitcast-convert of {source} to {target}", "code generation")
    have, want = source.stored_bits, target.stored_bits

    def read(at: Indices) -> Value:
        return builder.cast("zext", element.to_bits(builder, source, values.value(operand, at)), f"i{have}")

    if have == want:
        bits = read(indices)
    elif have > want:
        whole = read(indices[:-1])
        position = builder.cast("trunc", values.emission.value(indices[-1].times(want)), whole.type)
        bits = builder.cast("trunc", builder.binary("lshr", whole, position), f"i{want}")
    else:
        bits = integer(0, f"i{want}")
        for number in range(want // have):
            wide = builder.cast("zext", read((*indices, constant(number))), bits.type)
            bits = builder.binary("or", bits, builder.binary("shl", wide, integer(number * have, bits.type)))
    if target is PRED:
        return builder.compare("ne", bits, integer(0, bits.type))
    return element.from_bits(builder, target, bits)


def _pad(values: Values, instruction: Instruction, indices: Indices) -> Value:
    operand, filler = instruction.operands
    conditions: list[Value | None] = []
    source: list[Index] = []
    for index, pad, size in zip(indices, instruction.attributes["padding"], operand.array.dims, strict=True):
        moved = index.plus(-pad.low)
        step = pad.interior + 1
        conditions.append(in_range(values, moved, 0, max(0, (size - 1) * step + 1)))
        moved, is_element = undilated(values, moved, step, size)
        conditions.append(is_element)
        source.append(moved)
    if is_uniform(operand) and NEVER not in conditions:
        value = values.value(operand, (ZERO,) * len(source))  # it may lie in memory, of which there is none for padding
        for condition in conditions:
            value = values.builder.select(condition, value, values.value(filler, ())) if condition else value
        return value
    return where_all(
        values,
        conditions,
        lambda: values.value(operand, tuple(source)),
        lambda: values.value(filler, ()),
    )


def is_uniform(value: Instruction) -> bool:
    """Whether all elements are the same scalar, so that the first may be asked for where there is none."""
    return value.opcode == "broadcast" and not value.operands[0].array.rank


def _concatenate(values: Values, instruction: Instruction, indices: Indices) -> Value:
    (dimension,) = instruction.attributes["dimensions"]
    starts = np.cumsum([0, *(operand.array.dims[dimension] for operand in instruction.operands)]).tolist()
    sources = [
        (operand, start)
        for operand, start in zip(instruction.operands, starts, strict=False)
        if operand.array.dims[dimension]
    ]
    least, greatest = values.emission.bounds(indices[dimension])
    sources = [p for p in sources if p[1] <= greatest and p[1] + p[0].array.dims[dimension] > least]

    if not sources:
        # Only asked for where no element is, as in the unused branch of a pad.
        return zero(element.value_type(instruction.array.element_type))

    def pick(low: int, high: int) -> Value:
        if high - low == 1:
            operand, start = sources[low]
            source = (*indices[:dimension], indices[dimension].plus(-start), *indices[dimension + 1 :])
            return values.value(operand, source)
        middle = (low + high) // 2
        values.emission.changes(indices[dimension], sources[middle][1])
        position = values.emission.value(indices[dimension])
        first = values.builder.compare("slt", position, integer(sources[middle][1]))
        return values.choose(first, lambda: pick(low, middle), lambda: pick(middle, high))

    return pick(0, len(sources))


def _dynamic_slice(values: Values, instruction: Instruction, indices: Indices) -> Value:
    offsets = slice_starts(values, instruction)
    return values.value(instruction.operands[0], tuple(i + o for i, o in zip(indices, offsets, strict=True)))


def slice_starts(values: Values, instruction: Instruction) -> list[Index]:
    """The start indices of a dynamic slice, one for each dimension of its operand."""
    operand, *starts = instruction.operands
    limits = [size - taken for size, taken in zip(operand.array.dims, instruction.array.dims, strict=True)]
    return start_indices(values, starts, limits)


def start_indices(values: Values, starts: Sequence[Instruction], limits: Sequence[int]) -> list[Index]:
    """Start indices given as one scalar per dimension, or all in one vector.

    Args:
        values: what evaluates elements.
        starts: one scalar for each dimension, or one vector.
        limits: the greatest start along each dimension, to which it is clamped.
    """
    if len(starts) == 1 and starts[0].array.rank == 1:
        return [clamped(values, starts[0], (constant(d),), limit) for d, limit in enumerate(limits)]
    return [clamped(values, start, (), limit) for start, limit in zip(starts, limits, strict=True)]


def _dynamic_update_slice(values: Values, instruction: Instruction, indices: Indices) -> Value:
    operand, update, *starts = instruction.operands
    limits = [size - taken for size, taken in zip(operand.array.dims, update.array.dims, strict=True)]
    offsets = start_indices(values, starts, limits)
    moved = [index + offset.times(-1) for index, offset in zip(indices, offsets, strict=True)]
    inside = [
        in_range(values, index, 0, size) if limit else None
        for index, size, limit in zip(moved, update.array.dims, limits, strict=True)
    ]
    return where_all(
        values,
        inside,
        lambda: values.value(update, tuple(moved)),
        lambda: values.value(operand, indices),
    )


def _gather(values: Values, instruction: Instruction, indices: Indices) -> Value:
    operand, starts = instruction.operands
    attributes = instruction.attributes
    offset_dims = attributes.get("offset_dims", ())
    vector_dim = attributes["index_vector_dim"]
    batch = [index for d, index in enumerate(indices) if d not in offset_dims]
    pairs = (attributes.get(name, ()) for name in ("operand_batching_dims", "start_indices_batching_dims"))
    batching = dict(zip(*pairs, strict=True))
    skipped = {*attributes.get("collapsed_slice_dims", ()), *batching}
    if not all(attributes["slice_sizes"][dimension] for dimension in skipped):  # there is nothing to take
        return element.constant(instruction.array.element_type, 0)
    offsets = iter(indices[d] for d in offset_dims)
    source = [ZERO if d in skipped else next(offsets) for d in range(operand.array.rank)]
    for position, dimension in enumerate(attributes.get("start_index_map", ())):
        if dimension in batching:
            continue
        at = list(batch)
        if vector_dim < starts.array.rank:
            at.insert(vector_dim, constant(position))
        limit = operand.array.dims[dimension] - attributes["slice_sizes"][dimension]
        source[dimension] = source[dimension] + clamped(values, starts, tuple(at), limit)
    for dimension, start_dimension in batching.items():
        position = start_dimension - (start_dimension > vector_dim)
        source[dimension] = source[dimension] + batch[position]
    return values.value(operand, tuple(source))


RULES: dict[str, Rule] = {
    "broadcast": _broadcast,
    "bitcast": _reshape,
    "bitcast-convert": _bitcast_convert,
    "concatenate": _concatenate,
    "constant": _constant,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "gather": _gather,
    "iota": _iota,
    "pad": _pad,
    "reshape": _reshape,
    "reverse": _reverse,
    "slice": _slice,
    "transpose": _transpose,
}
"""Rules by opcode."""
