"""Loop kernels that look elements up in small tables: codebooks, palettes, maps of bytes.

A gather is one access to memory per element, however near the table is.  A table of a few vectors stays in registers,
where one instruction looks up as many elements as a vector holds; a table of more vectors is looked up in pairs of
them, between which the upper bits of the index choose.  For that the kernel writes vectors itself (`lanes`), so all
else that it computes must have a form on them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.backends.cpu.kernels.emitted import begin
from compiler.backends.cpu.kernels.loop.given import LoopGiven
from compiler.backends.cpu.kernels.strategy import Functions, Plan
from compiler.backends.cpu.kernels.vectors import lanes
from compiler.backends.cpu.kernels.vectors.lane_rules import fits
from compiler.backends.cpu.kernels.vectors.lanes import Lanes
from compiler.backends.cpu.machine import WIDEST_VECTOR_BYTES, Machine
from compiler.backends.strategy import Declined, Detail
from compiler.codegen import element, nest
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission, constant
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import I1, I32, Module, Value, element_of, integer, mangled, vector_type, zero
from compiler.codegen.movement import Indices
from compiler.codegen.signature import arguments, elemental_of
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape

_NEEDED = {1: ("avx512vbmi", "qi", "qi"), 2: ("avx512bw", "hi", "hi"), 4: ("avx512f", "si", "d")}
"""By the size of an element: the feature that has the instructions, and the ends of their names for one and two."""
_LARGEST = 256
"""Entries of a table."""
_FEWEST = 4096
"""Elements for which it is worth while to load the tables."""
_BYTE = 255
"""The largest index that a byte holds."""
_PAIR = 2
"""Vectors of a table that one instruction looks into (AVX-512's `vpermi2`)."""


def decide(given: LoopGiven) -> Plan | Declined:
    """The plan where gathers are lookups in registers."""
    kernel = given.kernel
    found = [i for i in kernel.body() if i.opcode == "gather" and _is_lookup(given.machine, kernel, i)]
    if not found:
        return Declined("no gather takes single elements of a small table that the machine can look up")
    sizes = {gather.array.element_type.size_bytes for gather in found}
    if len(sizes) != 1:
        return Declined("tables have elements of several sizes")
    if given.kernel.outputs[0].size < _FEWEST or given.group.loops[-1] < 2 * WIDEST_VECTOR_BYTES:
        return Declined("too few elements to load tables for")
    others = [i for i in kernel.body() if i not in found]
    tables = {gather.operands[0] for gather in found}
    leaves = [leaf for leaf, _ in kernel.leaves if leaf not in tables]
    if not all(isinstance(root.shape, ArrayShape) for root in kernel.roots) or not fits(others, leaves):
        return Declined("something else that it computes has no form on vectors")

    def emit(module: Module) -> Functions:
        function = begin(module, kernel)
        _emit(LaneBuilder(function), kernel, given.group, found, parallel=plan.parallel)
        return (function.name,)

    details: dict[str, Detail] = {"loops": given.group.loops, "lookups": [gather.name for gather in found]}
    plan = given.plan(emit, given.cost_ns, details=details)
    return plan


def _is_lookup(machine: Machine, kernel: Kernel, gather: Instruction) -> bool:
    """Whether single elements of a small table in memory are taken, by one index each."""
    table, attributes = gather.operands[0], gather.attributes
    element_type = table.array.element_type
    needed = _NEEDED.get(element_type.size_bytes)
    return (
        table in {leaf for leaf, _ in kernel.leaves}
        and table is not kernel.updated
        and table.array.rank == 1
        and 0 < table.array.size <= _LARGEST
        and tuple(attributes["slice_sizes"]) == (1,)
        and tuple(attributes.get("collapsed_slice_dims", ())) == (0,)
        and needed is not None
        and machine.has(needed[0])
        and element_type.name in ("pred", "s8", "u8", "s16", "u16", "s32", "u32", "bf16", "f16", "f32")
    )


def _emit(
    builder: LaneBuilder, kernel: Kernel, group: nest.LoopNest, lookups: Sequence[Instruction], *, parallel: bool
) -> None:
    """Emit the whole kernel."""
    emission = Emission(builder)
    width = WIDEST_VECTOR_BYTES // lookups[0].array.element_type.size_bytes
    numbers, pointers = dict(kernel.leaves), arguments(kernel)

    def load(gather: Instruction, values: Elemental) -> _Table:
        return _Table.load(builder, gather, pointers.inputs[numbers[gather.operands[0]]], values, width)

    looking = elemental_of(kernel, emission).with_leaves(
        lambda values: {gather: load(gather, values).look_up for gather in lookups}
    )
    lanes.store_each(kernel, group, looking, Lanes(width, 1), parallel=parallel)
    builder.ret()


@dataclass(frozen=True, slots=True)
class _Table:
    """A table in vectors of bits, as many as a power of two, and the gather that looks up in it."""

    gather: Instruction
    values: Elemental
    width: int
    vectors: Sequence[Value]

    @staticmethod
    def load(builder: LaneBuilder, gather: Instruction, pointer: Value, values: Elemental, width: int) -> _Table:
        """Load a table into registers."""
        size = gather.operands[0].array.size
        lane = f"i{8 * gather.array.element_type.size_bytes}"
        type_ = vector_type(lane, width)
        count = 1 << (math.ceil(size / width) - 1).bit_length()
        vectors = [zero(type_)] * count
        for number in range(math.ceil(size / width)):
            present = [n + number * width < size for n in range(width)]
            mask = Value(vector_type(I1, width), f"<{', '.join(f'i1 {str(p).lower()}' for p in present)}>")
            address = builder.gep(lane, pointer, integer(number * width))
            name = f"masked.load.{mangled(type_)}.p0"
            vectors[number] = builder.intrinsic(
                name, [address, integer(gather.array.element_type.size_bytes, I32), mask, zero(type_)], result=type_
            )
        return _Table(gather, values, width, vectors)

    def look_up(self, indices: Indices) -> Value:
        """The elements at vectors of indices."""
        builder, starts = self.values.builder, self.gather.operands[1]
        assert isinstance(builder, LaneBuilder)
        at, vector_dim = list(indices), self.gather.attributes["index_vector_dim"]
        if vector_dim < starts.array.rank:
            at.insert(vector_dim, constant(0))
        raw = builder.lift(self.values.value(starts, tuple(at)), self.width)
        found = self._among(self.vectors, self._clamped(builder, raw))
        element_type = self.gather.array.element_type
        return element.loaded(builder, element_type, builder.cast("bitcast", found, element.storage_type(element_type)))

    def _clamped(self, builder: LaneBuilder, raw: Value) -> Value:
        """Indices within the table, as wide as its elements."""
        starts, limit = self.gather.operands[1], self.gather.operands[0].array.size - 1
        lane = element_of(self.vectors[0].type)
        bits, wanted = int(element_of(raw.type)[1:]), int(lane[1:])
        bytes_ = _are_bytes(starts)
        if not bytes_ and starts.array.element_type.is_signed:
            raw = builder.overloaded("smax", [raw, zero(raw.type)])
        if limit < min(_BYTE if bytes_ else math.inf, (1 << bits) - 1):
            raw = builder.umin(raw, integer(limit, raw.type))
        return raw if bits == wanted else builder.cast("trunc" if bits > wanted else "zext", raw, lane)

    def _among(self, vectors: Sequence[Value], index: Value) -> Value:
        """The elements of some of the vectors that the lower bits of indices name."""
        builder = self.values.builder
        _, one, two = _NEEDED[self.gather.array.element_type.size_bytes]
        if len(vectors) == 1:
            return builder.intrinsic(f"x86.avx512.permvar.{one}.512", [vectors[0], index])
        if len(vectors) == _PAIR:
            return builder.intrinsic(f"x86.avx512.vpermi2var.{two}.512", [vectors[0], index, vectors[1]])
        half = len(vectors) // 2
        low, high = self._among(vectors[:half], index), self._among(vectors[half:], index)
        bit = builder.binary("and", index, integer(half * self.width, index.type))
        return builder.select(builder.compare("ne", bit, zero(index.type)), high, low)


def _are_bytes(value: Instruction) -> bool:
    """Whether indices are seen to come from unsigned bytes."""
    while value.opcode in ("reshape", "bitcast", "copy", "convert") and value.operands[0].array.element_type.is_integer:
        value = value.operands[0]
        if value.array.element_type.name == "u8":
            return True
    return value.array.element_type.name == "u8"
