"""Strided reads: operands through which a loop kernel's innermost loop strides while another loop walks in order.

Either back end cuts the two loops into tiles, reads a tile of such a leaf in order, keeps it where it is near, and runs
the kernel's body over the tile, whose accesses find their elements there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.codegen import element, nest
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission, Index, Variable, constant, linear, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Value
from compiler.codegen.movement import Indices, Leaf
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape

_LONG_STRIDE = 8
"""A stride, in elements, from which on walking across is worth avoiding."""
_FEW = 8
"""The longest stride that LLVM's vectors take apart, or put together, in registers."""
_MANY = 16
"""Iterations of a loop that are worth being made vectors of."""


@dataclass(frozen=True, slots=True)
class Access:
    """A leaf read at an offset of one factor per loop, plus a constant."""

    leaf: Instruction
    factors: tuple[int, ...]
    constant: int

    def at(self, counters: Sequence[Index]) -> Index:
        """The offset for given loop counters."""
        total = constant(self.constant)
        for counter, factor in zip(counters, self.factors, strict=True):
            total = total + counter.times(factor)
        return total

    def stays_inside(self, loops: Sequence[int]) -> bool:
        """Whether it is within its leaf at every point, also where a condition keeps it from being read."""
        reach = [factor * (count - 1) for factor, count in zip(self.factors, loops, strict=True)]
        low = self.constant + sum(min(0, r) for r in reach)
        high = self.constant + sum(max(0, r) for r in reach)
        return low >= 0 and high < self.leaf.array.size


@dataclass(frozen=True, slots=True)
class StridedReads:
    """The loop that walks in order where the innermost one goes across, and the accesses that do so."""

    kernel: Kernel
    group: nest.LoopNest
    loop: int
    accesses: tuple[Access, ...]


def find(scratch: Builder, kernel: Kernel, group: nest.LoopNest, side: int) -> StridedReads | None:
    """The accesses that go across, where both loops have at least `side` iterations; `scratch` is thrown away.

    Args:
        scratch: where code may be emitted that is thrown away.
        kernel: the loop.
        group: how it is walked.
        side: the least iterations of both loops.
    """
    loops = group.loops
    innermost = len(loops) - 1
    if len(loops) < 2 or min(max(loops[:-1]), loops[-1]) < side:
        return None  # before the body is written for nothing, as for most small arrays
    found: dict[int, list[Access]] = {}
    for access in _accesses(scratch, kernel, group):
        if access.factors[innermost] < _LONG_STRIDE or not access.stays_inside(loops):
            continue
        for number in range(innermost):
            if access.factors[number] == 1 and min(loops[number], loops[innermost]) >= side:
                found.setdefault(number, []).append(access)
    if not found:
        return None
    number = max(found, key=lambda n: len(found[n]))
    return StridedReads(kernel, group, number, tuple(dict.fromkeys(found[number])))


def weaves(scratch: Builder, kernel: Kernel, group: nest.LoopNest) -> bool:
    """Whether the innermost loop, of few iterations, takes elements from afar that the loop around it walks in order.

    With all its iterations in each of that loop, such elements are read in vectors, and put side by side in registers.

    Args:
        scratch: where code may be emitted that is thrown away.
        kernel: the loop.
        group: how it is walked.
    """
    loops = group.loops
    if len(loops) < 2 or not 1 < loops[-1] <= _FEW or loops[-2] < _MANY:
        return False
    return any(
        access.factors[-1] >= _LONG_STRIDE and access.factors[-2] == 1 for access in _accesses(scratch, kernel, group)
    )


def narrow(scratch: Builder, kernel: Kernel, group: nest.LoopNest) -> int | None:
    """A loop of few iterations that walks in order where the innermost one goes across in steps as short.

    With all its iterations in each of the innermost loop, neighbours are read together, and told apart in registers.

    Args:
        scratch: where code may be emitted that is thrown away.
        kernel: the loop.
        group: how it is walked.
    """
    loops = group.loops
    innermost = len(loops) - 1
    if not any(1 < count <= _FEW for count in loops[:-1]):
        return None
    for access in _accesses(scratch, kernel, group):
        if 1 < access.factors[innermost] <= _FEW:
            for number in range(innermost):
                if access.factors[number] == 1 and 1 < loops[number] <= access.factors[innermost]:
                    return number
    return None


def _accesses(scratch: Builder, kernel: Kernel, group: nest.LoopNest) -> list[Access]:
    """The leaves that the body reads, as far as their offsets are sums of loop counters."""
    emission = Emission(scratch)
    variables = [Variable(Value("i64", f"%loop.{n}"), count) for n, count in enumerate(group.loops)]
    result: list[Access] = []

    def watch(leaf: Instruction, shape: ArrayShape, inner: Leaf) -> Leaf:
        def record(indices: Indices) -> Value:
            offset = linear(indices, shape.dims)
            factors = {digit.variable: factor for digit, factor in offset.terms if digit.is_whole}
            if len(factors) == len(offset.terms) and set(factors) <= set(variables):
                result.append(Access(leaf, tuple(factors.get(v, 0) for v in variables), offset.constant))
            return inner(indices)

        return record

    values = elemental_of(kernel, emission)
    leaves = {leaf: watch(leaf, leaf.array, inner) for leaf, inner in values.leaves.items()}
    at = group.combine([whole(variable) for variable in variables])
    indices = nest.coordinates(emission, at, kernel.outputs[0].dims)
    watched = Elemental(emission, leaves)
    for root in kernel.roots:
        watched.elements(root, indices)
    return result


Found = Mapping[tuple[Instruction, Index], tuple[Value, Index]]
"""Where elements have been brought, by leaf and offset in it: a buffer and the place in it."""


def store_point(
    reads: StridedReads,
    emission: Emission,
    counters: Sequence[Index],
    found: Found,
    staged: Sequence[tuple[Value, Index]] = (),
) -> None:
    """Compute and store the roots at a point; what is `found` in a buffer is read from there.

    Args:
        reads: the kernel and what it reads with strides.
        emission: where code is emitted.
        counters: of the kernel's loops.
        found: where elements that are in a buffer lie, by operand and linear index.
        staged: a buffer and a place in it for each result, in place of the results themselves.
    """
    kernel = reads.kernel
    at = reads.group.combine(counters)
    indices = nest.coordinates(emission, at, kernel.outputs[0].dims)
    inner = elemental_of(kernel, emission).leaves

    def redirect(leaf: Instruction, read: Leaf) -> Leaf:
        def value(point: Indices) -> Value:
            known = found.get((leaf, linear(point, leaf.array.dims)))
            if known is None:
                return read(point)
            buffer, element_offset = known
            type_ = leaf.array.element_type
            address = emission.builder.gep(element.storage_type(type_), buffer, emission.value(element_offset))
            return element.load(emission.builder, type_, address)

        return value

    values = Elemental(emission, {leaf: redirect(leaf, read) for leaf, read in inner.items()})
    computed = [one for root in kernel.roots for one in values.elements(root, indices)]
    targets = staged or [(output, at) for output in arguments(kernel).outputs]
    for shape, value, (output, element_offset) in zip(kernel.outputs, computed, targets, strict=True):
        store(emission, shape, value, output, element_offset)
