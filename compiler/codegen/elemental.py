"""The value of one element of an instruction's result, computed from elements of what it depends on.

This is how every kernel of both back ends evaluates fused producers: a kernel walks over indices of its result and asks
for the value there; each opcode says which elements of its operands it needs and what it does with them.  Operands that
lie in memory are *leaves*, supplied by the kernel.  Elementwise opcodes come from `compiler.codegen.scalar`; the rules
here are those that move data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from compiler.codegen import element, scalar
from compiler.codegen.index import ZERO, Emission, Index, constant, linear, reshape
from compiler.codegen.llvm_ir import Builder, Value, integer
from compiler.diagnostics import UnsupportedError
from compiler.ir.literal import Literal
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType

Indices = tuple[Index, ...]
Leaf = Callable[[Indices], Value]
"""The value of an element of something that is not computed here."""


class Elemental:
    """Emits values at indices into the current block of a builder, each once per scope."""

    def __init__(self, emission: Emission, leaves: Mapping[Instruction, Leaf], *, flags: str = scalar.CONTRACT) -> None:
        self.emission = emission
        self.leaves = leaves
        self.flags = flags

    @property
    def builder(self) -> Builder:
        """Where instructions are emitted."""
        return self.emission.builder

    def value(self, instruction: Instruction, indices: Indices) -> Value:
        """The element of `instruction` at `indices`, one per dimension."""
        pending = [instruction]
        while pending:
            current = pending[-1]
            at = indices if current.array.rank else ()
            if self._known(current, at) is not None:
                pending.pop()
                continue
            missing = [o for o in self._same_index_operands(current) if self._missing(o, indices)]
            if missing:
                pending.extend(reversed(missing))
                continue
            pending.pop()
            self.emission.remember((current, at), self._compute(current, at))
        known = self._known(instruction, indices if instruction.array.rank else ())
        assert known is not None
        return known

    def _known(self, instruction: Instruction, indices: Indices) -> Value | None:
        known = self.emission.cached((instruction, indices))
        return known if isinstance(known, Value) else None

    def _missing(self, operand: Instruction, indices: Indices) -> bool:
        return self._known(operand, indices if operand.array.rank else ()) is None

    def _same_index_operands(self, instruction: Instruction) -> tuple[Instruction, ...]:
        """Operands of an elementwise op: they are computed first, by a loop, so that long chains need no stack."""
        if instruction in self.leaves or instruction.opcode not in scalar.RULES:
            return ()
        return instruction.operands

    def _compute(self, instruction: Instruction, indices: Indices) -> Value:
        leaf = self.leaves.get(instruction)
        if leaf is not None:
            return leaf(indices)
        rule = RULES.get(instruction.opcode)
        if rule is not None:
            return rule(self, instruction, indices)
        operands = [self.value(operand, indices if operand.array.rank else ()) for operand in instruction.operands]
        return scalar.emit(self.builder, instruction, operands, flags=self.flags)

    def choose(self, condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
        """One of two values, computing only that one."""
        return self.builder.choose(condition, lambda: self._scoped(then), lambda: self._scoped(otherwise))

    def _scoped(self, compute: Callable[[], Value]) -> Value:
        self.emission.enter()
        value = compute()
        self.emission.leave()
        return value

    def in_range(self, index: Index, low: int, high: int) -> Value | None:
        """Whether `low <= index < high`, None where the index's bounds already say so."""
        least, greatest = index.bounds()
        if least >= low and greatest < high:
            return None
        moved = self.emission.value(index.plus(-low))
        return self.builder.compare("ult", moved, integer(high - low))

    def clamped(self, instruction: Instruction, indices: Indices, limit: int) -> Index:
        """A start index read from an operand, clamped to [0, limit]."""
        if limit <= 0:
            return ZERO
        element_type = instruction.array.element_type
        builder = self.builder
        raw = self.value(instruction, indices)
        if element.is_signed(element_type):
            wide = builder.cast("sext", raw, "i64")
            wide = builder.intrinsic("smax.i64", [wide, integer(0)])
            wide = builder.intrinsic("smin.i64", [wide, integer(limit)])
        else:
            wide = builder.intrinsic("umin.i64", [builder.cast("zext", raw, "i64"), integer(limit)])
        return self.emission.opaque(wide, limit + 1)


def buffer_leaf(emission: Emission, pointer: Value, shape: ArrayShape, metadata: str = "") -> Leaf:
    """A leaf that lies row-major at `pointer`."""

    def leaf(indices: Indices) -> Value:
        offset = emission.value(linear(indices, shape.dims))
        address = emission.builder.gep(element.storage_type(shape.element_type), pointer, offset)
        return element.load(emission.builder, shape.element_type, address, metadata)

    return leaf


def apply(
    emission: Emission, computation: Computation, arguments: Sequence[Value], *, flags: str = scalar.CONTRACT
) -> list[Value]:
    """The results of a computation of scalars (a reducer, a comparator) on values."""
    leaves = {p: _fixed(arguments[p.parameter_number]) for p in computation.parameters}
    emission.enter()
    elemental = Elemental(emission, leaves, flags=flags)
    root = computation.root
    results = root.operands if root.opcode == "tuple" else (root,)
    values = [elemental.value(result, ()) for result in results]
    emission.leave()
    return values


def _fixed(value: Value) -> Leaf:
    return lambda _: value


def constant_data(builder: Builder, literal: Literal, name: str) -> Value:
    """The address of a literal's elements, as they lie in memory."""
    assert literal.array is not None
    data = np.ascontiguousarray(literal.array).tobytes()
    text = "".join(f"\\{byte:02X}" for byte in data)
    return builder.module.define_global(name, f'internal constant [{len(data)} x i8] c"{text}", align 64')


# -- rules ------------------------------------------------------------------------------------------------------
def _constant(elemental: Elemental, instruction: Instruction, indices: Indices) -> Value:
    literal = instruction.literal
    if literal.array is None:
        raise UnsupportedError(f"the elided constant {instruction.name}", "code generation", "its value is not known")
    if literal.array.size == 1:
        return element.constant(instruction.array.element_type, literal.array.reshape(-1)[0])
    parent = instruction.computation.name
    name = "".join(c if c.isalnum() or c in "._" else "_" for c in f"constant.{parent}.{instruction.name}")
    data = constant_data(elemental.builder, literal, name)
    return buffer_leaf(elemental.emission, data, instruction.array)(indices)


def _broadcast(elemental: Elemental, instruction: Instruction, indices: Indices) -> Value:
    (operand,) = instruction.operands
    dimensions = instruction.attributes.get("dimensions", ())
    return elemental.value(operand, tuple(indices[d] for d in dimensions))


def _reshape(elemental: Elemental, instruction: Instruction, indices: Indices) -> Value:
    (operand,) = instruction.operands
    to = reshape(elemental.emission, indices, instruction.array.dims, operand.array.dims)
    return elemental.value(operand, tuple(to))


def _transpose(elemental: Elemental, instruction: Instruction, indices: Indices) -> Value:
    (operand,) = instruction.operands
    source = [ZERO] * len(indices)
    for position, dimension in enumerate(instruction.attributes["dimensions"]):
        source[dimension] = indices[position]
    return elemental.value(operand, tuple(source))


def _reverse(elemental: Elemental, instruction: Instruction, indices: Indices) -> Value:
    (operand,) = instruction.operands
    source = list(indices)
    for dimension in instruction.attributes["dimensions"]:
        source[dimension] = indices[dimension].times(-1).plus(instruction.array.dims[dimension] - 1)
    return elemental.value(operand, tuple(source))


def _slice(elemental: Elemental, instruction: Instruction, indices: Indices) -> Value:
    (operand,) = instruction.operands
    dims = instruction.attributes["slice"]
    source = tuple(index.times(d.stride).plus(d.start) for index, d in zip(indices, dims, strict=True))
    return elemental.value(operand, source)


def _iota(elemental: Elemental, instruction: Instruction, indices: Indices) -> Value:
    target = instruction.array.element_type
    index = elemental.emission.value(indices[instruction.attributes["iota_dimension"]])
    return from_index(elemental.builder, index, target)


def from_index(builder: Builder, index: Value, target: ElementType) -> Value:
    """A non-negative i64 converted to an element type."""
    type_ = element.value_type(target)
    if target.is_integer:
        return index if type_ == "i64" else builder.cast("trunc", index, type_)
    if not target.is_float:
        raise UnsupportedError(f"iota of {target}", "code generation")
    return element.round_to(builder, target, builder.cast("sitofp", index, type_))


def _pad(elemental: Elemental, instruction: Instruction, indices: Indices) -> Value:
    operand, filler = instruction.operands
    emission, builder = elemental.emission, elemental.builder
    conditions: list[Value | None] = []
    source: list[Index] = []
    for index, pad, size in zip(indices, instruction.attributes["padding"], operand.array.dims, strict=True):
        moved = index.plus(-pad.low)
        step = pad.interior + 1
        conditions.append(elemental.in_range(moved, 0, max(0, (size - 1) * step + 1)))
        if step > 1:
            offset = emission.value(moved)
            rest = builder.binary("urem", offset, integer(step))
            conditions.append(builder.compare("eq", rest, integer(0)))
            moved = emission.opaque(builder.binary("udiv", offset, integer(step)), max(size, 1))
        source.append(moved)
    return _where(
        elemental,
        conditions,
        lambda: elemental.value(operand, tuple(source)),
        lambda: elemental.value(filler, ()),
    )


def _where(
    elemental: Elemental,
    conditions: Sequence[Value | None],
    then: Callable[[], Value],
    otherwise: Callable[[], Value],
) -> Value:
    """`then` where all conditions hold; a condition of None always does."""
    known = [condition for condition in conditions if condition is not None]
    if not known:
        return then()
    total = known[0]
    for condition in known[1:]:
        total = elemental.builder.binary("and", total, condition)
    return elemental.choose(total, then, otherwise)


def _concatenate(elemental: Elemental, instruction: Instruction, indices: Indices) -> Value:
    (dimension,) = instruction.attributes["dimensions"]
    starts = np.cumsum([0, *(operand.array.dims[dimension] for operand in instruction.operands)]).tolist()
    parts = [
        (operand, start)
        for operand, start in zip(instruction.operands, starts, strict=False)
        if operand.array.dims[dimension]
    ]
    least, greatest = indices[dimension].bounds()
    parts = [p for p in parts if p[1] <= greatest and p[1] + p[0].array.dims[dimension] > least]

    def pick(low: int, high: int) -> Value:
        if high - low == 1:
            operand, start = parts[low]
            source = (*indices[:dimension], indices[dimension].plus(-start), *indices[dimension + 1 :])
            return elemental.value(operand, source)
        middle = (low + high) // 2
        position = elemental.emission.value(indices[dimension])
        first = elemental.builder.compare("slt", position, integer(parts[middle][1]))
        return elemental.choose(first, lambda: pick(low, middle), lambda: pick(middle, high))

    return pick(0, len(parts))


def _dynamic_slice(elemental: Elemental, instruction: Instruction, indices: Indices) -> Value:
    operand, *starts = instruction.operands
    limits = [size - taken for size, taken in zip(operand.array.dims, instruction.array.dims, strict=True)]
    offsets = _starts(elemental, starts, limits)
    return elemental.value(operand, tuple(i + o for i, o in zip(indices, offsets, strict=True)))


def _starts(elemental: Elemental, starts: Sequence[Instruction], limits: Sequence[int]) -> list[Index]:
    """Start indices given as one scalar per dimension, or all in one vector."""
    if len(starts) == 1 and starts[0].array.rank == 1:
        return [elemental.clamped(starts[0], (constant(d),), limit) for d, limit in enumerate(limits)]
    return [elemental.clamped(start, (), limit) for start, limit in zip(starts, limits, strict=True)]


def _dynamic_update_slice(elemental: Elemental, instruction: Instruction, indices: Indices) -> Value:
    operand, update, *starts = instruction.operands
    limits = [size - taken for size, taken in zip(operand.array.dims, update.array.dims, strict=True)]
    offsets = _starts(elemental, starts, limits)
    moved = [index + offset.times(-1) for index, offset in zip(indices, offsets, strict=True)]
    inside = [
        elemental.in_range(index, 0, size) if limit else None
        for index, size, limit in zip(moved, update.array.dims, limits, strict=True)
    ]
    return _where(
        elemental,
        inside,
        lambda: elemental.value(update, tuple(moved)),
        lambda: elemental.value(operand, indices),
    )


def _gather(elemental: Elemental, instruction: Instruction, indices: Indices) -> Value:
    operand, starts = instruction.operands
    attributes = instruction.attributes
    offset_dims = attributes["offset_dims"]
    vector_dim = attributes["index_vector_dim"]
    batch = [index for d, index in enumerate(indices) if d not in offset_dims]
    batching = dict(
        zip(
            attributes.get("operand_batching_dims", ()),
            attributes.get("start_indices_batching_dims", ()),
            strict=True,
        )
    )
    skipped = {*attributes["collapsed_slice_dims"], *batching}
    offsets = iter(indices[d] for d in offset_dims)
    source = [ZERO if d in skipped else next(offsets) for d in range(operand.array.rank)]
    for position, dimension in enumerate(attributes["start_index_map"]):
        at = list(batch)
        if vector_dim < starts.array.rank:
            at.insert(vector_dim, constant(position))
        limit = operand.array.dims[dimension] - attributes["slice_sizes"][dimension]
        source[dimension] = source[dimension] + elemental.clamped(starts, tuple(at), limit)
    for dimension, start_dimension in batching.items():
        position = start_dimension - (start_dimension > vector_dim)
        source[dimension] = source[dimension] + batch[position]
    return elemental.value(operand, tuple(source))


def _reduce(elemental: Elemental, instruction: Instruction, indices: Indices) -> Value:
    """A reduction inside a larger expression: a loop over the reduced dimensions where its value is asked for."""
    if len(instruction.operands) != 2:
        raise UnsupportedError("a variadic reduce inside a fusion", "code generation")
    operand, initial = instruction.operands
    emission, builder = elemental.emission, elemental.builder
    start = elemental.value(initial, ())
    reduced = instruction.attributes["dimensions"]
    sizes = [operand.array.dims[d] for d in reduced]
    if 0 in sizes:
        return start
    count = int(np.prod(sizes, dtype=np.int64))
    with builder.loop(integer(0), integer(count), carried=[start], name="reduce", nonempty=True) as loop:
        emission.enter()
        position = reshape(emission, (emission.opaque(loop.index, count),), (count,), sizes)
        at, kept = [ZERO] * operand.array.rank, iter(indices)
        for d in range(operand.array.rank):
            at[d] = position[reduced.index(d)] if d in reduced else next(kept)
        element_value = elemental.value(operand, tuple(at))
        loop.carry(*apply(emission, instruction.attributes["to_apply"], [loop.carried[0], element_value]))
        emission.leave()
    return loop.results[0]


Rule = Callable[[Elemental, Instruction, Indices], Value]

RULES: dict[str, Rule] = {
    "broadcast": _broadcast,
    "bitcast": _reshape,
    "concatenate": _concatenate,
    "constant": _constant,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "gather": _gather,
    "iota": _iota,
    "pad": _pad,
    "reduce": _reduce,
    "reshape": _reshape,
    "reverse": _reverse,
    "slice": _slice,
    "transpose": _transpose,
}
"""Rules of opcodes that move data, by opcode."""


def supports(instruction: Instruction) -> bool:
    """Whether a value of this instruction can be computed at an index."""
    return instruction.opcode in RULES or instruction.opcode in scalar.RULES
