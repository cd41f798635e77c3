"""Copies that a convolution reads from: a padded band of its input, and its weights panel by panel.

The copy of the input is made in runs as long as memory allows; what lies outside the input is cleared.  Conversions
fused into an operand happen on the way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.cpu.kernels.convolution.plan import Plan, Source
from compiler.backends.cpu.kernels.emitted import parameters
from compiler.backends.cpu.kernels.gemm.micro import multiply_add
from compiler.codegen import element
from compiler.codegen.index import ZERO, Emission, Index, Variable, digits, linear
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I8, I64, PTR, Builder, Module, Value, integer, keep_rolled, zero
from compiler.codegen.product import accumulation_type
from compiler.codegen.signature import arguments, elemental_of
from compiler.ir.module import Instruction


def number(kernel: Kernel, b: Builder, operand: Instruction, at: Sequence[Index], convolution: Instruction) -> Value:
    """An element of an operand as it is multiplied.

    Args:
        kernel: the convolution's.
        b: where code is emitted.
        operand: the operand.
        at: an index for each of its dimensions.
        convolution: says in which type is multiplied.
    """
    emission = Emission(b)
    value = elemental_of(kernel, emission).value(operand, tuple(at))
    return element.convert(b, value, operand.array.element_type, accumulation_type(convolution))


def in_memory(kernel: Kernel, operand: Instruction, convolution: Instruction) -> Value | None:
    """The address of an operand that lies in memory as it is multiplied, None of any other.

    Args:
        kernel: the convolution's.
        operand: the operand.
        convolution: says in which type is multiplied.
    """
    found = dict(kernel.leaves).get(operand)
    if found is None or operand.array.element_type is not accumulation_type(convolution):
        return None
    return arguments(kernel).inputs[found]


def _copy_bytes(
    b: Builder, memory: tuple[Value, Value], offsets: tuple[Value, Value], count: Value, plan: Plan
) -> None:
    """Copy so many elements from one memory to another, from an offset of each on."""
    source, target = (b.gep(plan.shape.type, *position) for position in zip(memory, offsets, strict=True))
    b.copy_bytes(source, target, b.mul(count, integer(plan.shape.size)))


@dataclass(frozen=True, slots=True)
class Region:
    """Input elements `start` to `stop` of a dimension, and elements of the copy `low` to `high` that they span."""

    start: Value
    stop: Value
    low: Value
    high: Value


class PatchCopy:
    """Emits the copy of one band; `first` holds for each role, and for the banded dimension, where it begins."""

    def __init__(self, b: Builder, kernel: Kernel, plan: Plan, target: Value, first: Mapping[str, Value]) -> None:
        self.b = b
        self.kernel = kernel
        self.plan = plan
        self.target = target
        self.first = first
        self.lhs = plan.shape.lhs
        # The last dimensions that are copied as they are make one run with the one before them.
        whole = 0
        for source in reversed(plan.sources[1:]):
            if not source.is_whole:
                break
            whole += 1
        self.run = len(plan.sources) - 1 - whole

    def emit(self) -> None:
        """Emit the loops that copy a band of the input."""
        self._dimension(0, integer(0), [])

    def _inner(self, dim: int) -> int:
        return math.prod(source.extent for source in self.plan.sources[dim + 1 :])

    def _dimension(self, dim: int, offset: Value, at: list[Index]) -> None:
        b, source = self.b, self.plan.sources[dim]
        region = self._region(source)
        inner = self._inner(dim)
        if source.dilate > 1:
            self._clear(offset, integer(0), integer(source.extent), inner)
        elif source.is_padded:
            self._clear(offset, integer(0), region.low, inner)
            self._clear(offset, region.high, integer(source.extent), inner)
        if dim == self.run and source.dilate == source.repeat == 1:
            self._copy_run(dim, b.add(offset, b.mul(region.low, integer(inner))), at, region)
            return
        size = max(source.size * source.repeat, 1)
        with b.loop(region.start, region.stop, name="copy", metadata=keep_rolled(b.module)) as loop:
            address = b.add(b.mul(b.sub(loop.index, region.start), integer(source.dilate)), region.low)
            here = b.add(offset, b.mul(address, integer(inner)))
            position = loop.index
            if source.repeat > 1:
                position = b.binary("udiv", position, integer(source.repeat))
            index = Emission(b).opaque(position, size)
            if dim == len(self.plan.sources) - 1:
                value = self._number([*at, index])
                b.store(value, b.gep(self.plan.shape.type, self.target, here))
            else:
                self._dimension(dim + 1, here, [*at, index])

    def _copy_run(self, dim: int, offset: Value, at: list[Index], region: Region) -> None:
        """Neighbouring elements: the last dimensions as one loop, from where this one starts."""
        b, sources = self.b, self.plan.sources
        inner = self._inner(dim)
        length = b.mul(b.sub(region.stop, region.start), integer(inner))
        sizes = [max(sources[dim].size, sources[dim].extent), *(source.extent for source in sources[dim + 1 :])]
        start = Emission(b).opaque(region.start, max(sources[dim].size, 1))
        lying = None if self.plan.shape.narrowed else in_memory(self.kernel, self.lhs, self.plan.shape.instruction)
        dims = self.lhs.array.dims
        if lying is not None and tuple(sizes[1:]) == dims[dim + 1 :]:
            first = linear([*at, start, *[ZERO] * (len(dims) - dim - 1)], dims)
            _copy_bytes(b, (lying, self.target), (Emission(b).value(first), offset), length, self.plan)
            return
        with b.loop(integer(0), length, name="run", metadata=keep_rolled(b.module)) as loop:
            outer, *rest = digits(Variable(loop.index, math.prod(sizes)), sizes)
            indices = [*at, start + outer, *rest]
            value = self._number(indices)
            b.store(value, b.gep(self.plan.shape.type, self.target, b.add(offset, loop.index)))

    def _number(self, at: list[Index]) -> Value:
        shape = self.plan.shape
        if shape.narrowed:
            return shape.narrowed.input(self.kernel, self.b, at, shape.labels.input_feature)
        return number(self.kernel, self.b, self.lhs, at, shape.instruction)

    def _region(self, source: Source) -> Region:
        b = self.b
        first = self.first["band"] if source.banded else integer(0)
        extent = integer(source.extent)
        if not source.is_padded:
            base = b.add(self.first.get(source.role, integer(0)), first)
            stop = b.add(base, extent)
            if source.banded:
                limit = b.add(self.first.get(source.role, integer(0)), integer(self._batch()))
                stop = b.smin(stop, limit)
            return Region(base, stop, integer(0), extent)
        origin = b.sub(b.mul(first, integer(source.stride)), integer(source.low))
        before = b.smax(b.add(origin, integer(source.dilate - 1)), integer(0))
        start = b.binary("udiv", before, integer(source.dilate))
        past = b.smax(b.add(origin, integer(source.extent + source.dilate - 1)), integer(0))
        stop = b.smin(b.binary("udiv", past, integer(source.dilate)), integer(source.size))
        stop = b.smax(stop, start)
        low, high = (b.sub(b.mul(edge, integer(source.dilate)), origin) for edge in (start, stop))
        low = b.smax(b.smin(low, extent), integer(0))
        return Region(start, stop, low, b.smax(b.smin(high, extent), low))

    def _batch(self) -> int:
        return self.plan.shape.batch

    def _clear(self, offset: Value, start: Value, stop: Value, inner: int) -> None:
        if start.literal is not None and start == stop:
            return
        b, type_ = self.b, self.plan.shape.type
        address = b.gep(type_, self.target, b.add(offset, b.mul(start, integer(inner))))
        size = b.mul(b.sub(stop, start), integer(inner * self.plan.shape.size))
        narrowed = self.plan.shape.narrowed
        b.fill_bytes(address, narrowed.padding if narrowed else integer(0, I8), size)


def emit_copy(module: Module, kernel: Kernel, plan: Plan) -> str:
    """Define the function that copies a band: a kernel's parameters, the copy, and where a band begins in each role.

    Where it moves bytes as they are it takes no time of its own, so that translating it quickly is worth more.

    Args:
        module: where the function is defined.
        kernel: the convolution's.
        plan: which band is copied, and how it lies.
    """
    roles = ("batch", "feature", "band")
    function = module.function(
        *(f"{kernel.name}.patch", "void", [*parameters(kernel), (PTR, "copy"), *((I64, role) for role in roles)]),
        linkage="internal",
        attributes="noinline nounwind",
    )
    b, (copy, *first) = Builder(function), function.arguments[-1 - len(roles) :]
    PatchCopy(b, kernel, plan, copy, dict(zip(roles, first, strict=True))).emit()
    b.ret()
    function.cold = not function.scalar_loops and not plan.shape.narrowed
    return function.name


def pack_weights(
    b: Builder, kernel: Kernel, plan: Plan, to: tuple[Value, Value | None], panels: tuple[Value, Value]
) -> None:
    """Pack some panels of all groups, step by step, the features of a panel side by side.

    Args:
        b: where code is emitted.
        kernel: the convolution's.
        plan: how panels lie.
        to: the address of the packed weights, and of the sums of zero times the weights or of corrections, one for each
            output feature, None where there are none.
        panels: the first panel, and the one behind the last.
    """
    shape, (target, nothings) = plan.shape, to
    with b.loop(*panels, name="panel") as panel:
        group, number = b.udivrem(panel.index, integer(plan.panels))
        first = b.mul(number, integer(plan.panel))
        width = b.smin(b.sub(integer(shape.outputs), first), integer(plan.panel))
        output = b.add(b.mul(group, integer(shape.outputs)), first)
        if nothings is not None:
            nothing = b.gep(shape.type, nothings, output)
            b.clear_bytes(nothing, b.mul(width, integer(shape.size)))
        if plan.panel_elements == 0:
            return
        with b.loop(
            integer(0), integer(plan.blocks), name="block", nonempty=True, metadata=keep_rolled(b.module)
        ) as block:
            position = b.add(b.mul(panel.index, integer(plan.blocks)), block.index)
            base = b.mul(position, integer(plan.panel_elements))
            start = b.mul(block.index, integer(plan.block))
            _pack_steps(b, kernel, plan, _Target(target, base, nothings), _Panel(output, width, start))


class _Target(NamedTuple):
    """Where packed weights go: the memory, the offset of a block in it, and where zeros stand, if they are wanted."""

    weights: Value
    base: Value
    nothings: Value | None


class _Panel(NamedTuple):
    """What a panel of a block holds: its first output feature, how many it has, and the first input feature."""

    output: Value
    width: Value
    start: Value


def _pack_steps(
    b: Builder,
    kernel: Kernel,
    plan: Plan,
    to: _Target,
    panel: _Panel,
) -> None:
    """One panel of one block."""
    shape, (target, base, nothings), (output, width, start) = plan.shape, to, panel
    labels, rhs = shape.labels, shape.rhs
    at: dict[int, Index] = {labels.kernel_input_feature: ZERO}
    backwards = {d for d, dimension in zip(labels.kernel_spatial, shape.window, strict=True) if dimension.reversal}
    taps = dict(zip(labels.kernel_spatial, plan.phase, strict=True))

    def nest(depth: int, offset: Value) -> None:
        if depth < len(plan.steps):
            step = plan.steps[depth]
            size = rhs.array.dims[step.dim] if step.dim != labels.kernel_input_feature else shape.inputs
            with b.loop(
                integer(0), integer(step.count), name="pack", nonempty=True, metadata=keep_rolled(b.module)
            ) as loop:
                if step.dim == labels.kernel_input_feature:
                    index = Emission(b).opaque(b.add(start, loop.index), size)
                else:
                    tap = taps[step.dim]
                    index = Emission(b).opaque(loop.index, step.count).times(tap.every).plus(tap.first_tap)
                at[step.dim] = index.times(-1).plus(size - 1) if step.dim in backwards else index
                nest(depth + 1, b.add(offset, b.mul(loop.index, integer(step.weight))))
            return
        side_by_side = labels.kernel_output_feature == rhs.array.rank - 1
        lying = in_memory(kernel, rhs, shape.instruction) if side_by_side and nothings is None else None
        if lying is not None and not shape.narrowed:
            here = Emission(b).opaque(output, rhs.array.dims[labels.kernel_output_feature])
            first = linear(
                [{**at, labels.kernel_output_feature: here}[d] for d in range(rhs.array.rank)], rhs.array.dims
            )
            _copy_bytes(b, (lying, target), (Emission(b).value(first), offset), width, plan)
            return
        metadata = keep_rolled(b.module, scalar=not side_by_side)
        with b.loop(integer(0), width, name="feature", metadata=metadata) as loop:
            feature = Emission(b).opaque(b.add(output, loop.index), rhs.array.dims[labels.kernel_output_feature])
            indices = [{**at, labels.kernel_output_feature: feature}[d] for d in range(rhs.array.rank)]
            if shape.narrowed:
                value, nothing = shape.narrowed.weight(kernel, b, indices, labels.kernel_input_feature)
            else:
                value, nothing = number(kernel, b, rhs, indices, shape.instruction), None
            b.store(value, b.gep(shape.type, target, b.add(offset, loop.index)))
            if nothings is not None:
                address = b.gep(shape.type, nothings, b.add(output, loop.index))
                total = b.load(shape.type, address)
                total = multiply_add(b, value, zero(shape.type), total) if nothing is None else b.add(total, nothing)
                b.store(total, address)

    nest(0, base)
