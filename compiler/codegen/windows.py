"""Opcodes that combine many elements into one, evaluated at one index of their result: a loop where it is asked for.

This is their plain form: a reduction inside an expression, windows, convolutions, and products of types that the
matrix kernels do not know.  What lies in a reduction window's padding is not combined; a convolution's is zero, and
multiplied: by NaN or infinity it is NaN.  Sums and products of floats narrower than f32 are kept in f32 until the end.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.codegen import complex_numbers, element, scalar
from compiler.codegen.index import ZERO, Emission, Index, constant
from compiler.codegen.llvm_ir import I32, I64, Value, integer, unroll, zero
from compiler.codegen.movement import Indices, Values, in_range, undilated
from compiler.codegen.product import accumulation_type, factor
from compiler.ir.attributes import ConvolutionDimensions, Window, WindowDimension
from compiler.ir.combiner import binary_opcode
from compiler.ir.module import Computation, Instruction
from compiler.ir.types import F32, ElementType
from compiler.ir.windows import window_of

_FEW_TERMS = 4
"""A reduction of so few is no loop: its terms are at places that are known, where others may need them too."""
_LONG_WINDOW = 32
"""Points of windows that stay loops."""
_WIDENED = {"add": "fadd", "multiply": "fmul"}


@dataclass(frozen=True, slots=True)
class Combiner:
    """A reducer with the types of its values: how accumulators are kept, combined and rounded to the result."""

    computation: Computation
    element_types: tuple[ElementType, ...]

    @property
    def types(self) -> tuple[ElementType, ...]:
        """The types that accumulators are kept in."""
        return (F32,) if self._widened else self.element_types

    @property
    def _widened(self) -> str | None:
        """The opcode by which floats narrower than f32 are combined without rounding."""
        first, *others = self.element_types
        if others or not first.is_float or first.bits >= 32:
            return None
        return _WIDENED.get(binary_opcode(self.computation) or "")

    def combine(self, values: Values, left: Sequence[Value], right: Sequence[Value], *, flags: str) -> list[Value]:
        """The next accumulators from the present ones and the next elements.

        Args:
            values: what evaluates elements.
            left: the present accumulators.
            right: the next elements.
            flags: LLVM's fast-math flags of sums and products.
        """
        if self._widened:
            return [values.builder.binary(self._widened, left[0], right[0], flags)]
        return values.apply(self.computation, [*left, *right], flags=flags)

    def finish(self, values: Values, accumulators: Sequence[Value]) -> list[Value]:
        """The accumulators rounded to the types of the results."""
        pairs = zip(self.element_types, accumulators, strict=True)
        return [element.round_to(values.builder, type_, value) if self._widened else value for type_, value in pairs]


def combiner_of(instruction: Instruction) -> Combiner:
    """The combiner of a reduce or a reduce-window."""
    arrays = instruction.operands[: len(instruction.operands) // 2]
    return Combiner(instruction.attributes["to_apply"], tuple(array.array.element_type for array in arrays))


Step = Callable[[Sequence[Index], Sequence[Value]], list[Value]]


def over_points(emission: Emission, sizes: Sequence[int], start: Sequence[Value], step: Step) -> list[Value]:
    """Loops over all points of dimensions of these sizes, a loop for each: no division finds a point.

    Args:
        emission: where code is emitted.
        sizes: of the dimensions, none of them 0.
        start: scalars, which all loops carry.
        step: emits what becomes of them at a point.
    """

    def nested(point: Sequence[Index], carried: Sequence[Value]) -> list[Value]:
        """The loops over the dimensions behind those in which a point is known."""
        if len(point) == len(sizes):
            return step(point, carried)
        size = sizes[len(point)]
        if size == 1:
            return nested([*point, ZERO], carried)
        is_long = emission.ahead and size >= 2 * emission.ahead and all(n == 1 for n in sizes[len(point) + 1 :])
        metadata = unroll(emission.builder.module, emission.ahead) if is_long else ""
        with emission.builder.loop(
            integer(0), integer(size), carried=carried, metadata=metadata, nonempty=True
        ) as loop:
            emission.enter()
            loop.carry(*nested([*point, emission.opaque(loop.index, size)], loop.carried))
            emission.leave()
        return loop.results

    return nested([], start)


def _loop(values: Values, sizes: Sequence[int], start: Sequence[Value], step: Step) -> list[Value]:
    """The same for values of any type, and any sizes.

    Complex ones are carried as their parts: LLVM takes pairs apart everywhere but where blocks join.
    """
    if math.prod(sizes) == 0:
        return list(start)
    builder, types = values.builder, [value.type for value in start]

    def apart(point: Sequence[Index], carried: Sequence[Value]) -> list[Value]:
        following = step(point, complex_numbers.put_together(builder, carried, types))
        return complex_numbers.taken_apart(builder, following)

    found = over_points(values.emission, sizes, complex_numbers.taken_apart(builder, start), apart)
    return complex_numbers.put_together(builder, found, types)


def _where(
    values: Values, conditions: Sequence[Value | None], then: Callable[[], list[Value]], otherwise: Sequence[Value]
) -> list[Value]:
    """Several values of `then` where all conditions hold (None always does), else those given."""
    known = [condition for condition in conditions if condition is not None]
    if not known:
        return then()
    builder, emission = values.builder, values.emission
    total = known[0]
    for condition in known[1:]:
        total = builder.binary("and", total, condition)
    inside, done = builder.new_label("inside"), builder.new_label("inside.end")
    before = builder.block
    builder.branch_if(total, inside, done)
    builder.begin(inside)
    emission.enter()
    found = then()
    emission.leave()
    after = builder.block
    builder.branch(done)
    builder.begin(done)
    return [builder.phi(f.type, [(f, after), (o, before)]) for f, o in zip(found, otherwise, strict=True)]


def _if_covered(
    values: Values,
    where: tuple[Window, Sequence[int], Sequence[Index], Sequence[Index]],
    then: Callable[[Sequence[Index]], list[Value]],
    otherwise: Sequence[Value],
) -> list[Value]:
    """Several values of `then` at the element that a point of a window covers, if there is one, else those given.

    Args:
        values: what code is emitted with.
        where: the window, the sizes of the array, the window's indices and the point's, as for `covered`.
        then: emits the values, by the element.
        otherwise: scalars or pairs of them.
    """
    window, sizes, position, point = where
    is_pair = any(value.type[0] == "{" for value in otherwise)
    is_dilated = any(dimension.lhs_dilate > 1 for dimension in window)
    if values.emission.ahead and not is_pair and not is_dilated and all(sizes):
        return _clamped(values, where, then, otherwise)
    source, conditions = covered(values, window, sizes, position, point)
    return _where(values, conditions, lambda: then(source), otherwise)


def _clamped(
    values: Values,
    where: tuple[Window, Sequence[int], Sequence[Index], Sequence[Index]],
    then: Callable[[Sequence[Index]], list[Value]],
    otherwise: Sequence[Value],
) -> list[Value]:
    """The same without a branch: the nearest element is read where there is none, and not used.

    The arguments are those of `_if_covered`.  In 64 bits LLVM sees which elements of short windows are neighbours; of
    long ones it sees none, and GPUs take two instructions for 64.
    """
    emission, builder, window = values.emission, values.builder, where[0]
    clamped: list[Index] = []
    inside = None
    for dimension, size, position, offset in zip(*where, strict=True):
        at = covered_index(dimension, position, offset)
        least, greatest = emission.bounds(at)
        if least >= 0 and greatest < size:
            clamped.append(at)
            continue
        type_ = I32 if is_long(window) and max(-least, greatest, size) < 1 << 31 else I64
        value = builder.cast("trunc", emission.value(at), type_)
        nearest = builder.smax(builder.smin(value, integer(size - 1, type_)), integer(0, type_))
        is_it = builder.compare("eq", nearest, value) if type_ == I32 else in_range(values, at, 0, size)
        inside = is_it if inside is None or is_it is None else builder.binary("and", inside, is_it)
        clamped.append(emission.opaque(builder.cast("zext", nearest, I64), size))
    found = then(clamped)
    if inside is None:
        return found
    return [builder.select(inside, new, old) for new, old in zip(found, otherwise, strict=True)]


def _reduce(values: Values, instruction: Instruction, indices: Indices) -> list[Value]:
    half = len(instruction.operands) // 2
    arrays, initial = instruction.operands[:half], instruction.operands[half:]
    combiner, reduced = combiner_of(instruction), sorted(instruction.attributes["dimensions"])
    dims = arrays[0].array.dims

    def step(point: Sequence[Index], carried: Sequence[Value]) -> list[Value]:
        kept = iter(indices)
        at = tuple(point[reduced.index(d)] if d in reduced else next(kept) for d in range(len(dims)))
        return combiner.combine(values, carried, [values.value(array, at) for array in arrays], flags="")

    start, sizes = [values.value(value, ()) for value in initial], [dims[d] for d in reduced]
    if math.prod(sizes) > _FEW_TERMS:
        return combiner.finish(values, _loop(values, sizes, start, step))
    for point in itertools.product(*(map(constant, range(size)) for size in sizes)):
        start = step(point, start)
    return combiner.finish(values, start)


def is_plain(instruction: Instruction) -> bool:
    """Whether a reduce-window combines elements of one array as they lie there."""
    if len(instruction.operands) != 2:
        return False
    array = instruction.operands[0].array
    window = window_of(instruction, array.rank)
    straight = all(dimension.lhs_dilate == 1 and not dimension.reversal for dimension in window)
    return bool(array.rank and array.size and instruction.array.size) and straight


def is_long(window: Window) -> bool:
    """Whether LLVM makes loops of a window's points, rather than one after the other."""
    return math.prod(dimension.size for dimension in window) >= _LONG_WINDOW


def covered_index(dimension: WindowDimension, where: Index, offset: Index) -> Index:
    """Where a point of a window lies along a dimension, among elements with `lhs_dilate` between neighbours.

    Args:
        dimension: of the window.
        where: the index of the window.
        offset: that of the point in it.
    """
    inner = offset.times(-1).plus(dimension.size - 1) if dimension.reversal else offset
    return where.times(dimension.stride) + inner.times(dimension.rhs_dilate).plus(-dimension.pad_low)


def covered(
    values: Values, window: Window, sizes: Sequence[int], position: Sequence[Index], point: Sequence[Index]
) -> tuple[list[Index], list[Value | None]]:
    """The element of an array of `sizes` that a point of a window at a place covers, and under which conditions.

    Args:
        values: what code is emitted with.
        window: its dimensions.
        sizes: of the array.
        position: of the window, one index for each dimension.
        point: of the window, one index for each dimension.
    """
    source: list[Index] = []
    conditions: list[Value | None] = []
    for dimension, size, where, offset in zip(window, sizes, position, point, strict=True):
        at = covered_index(dimension, where, offset)
        conditions.append(in_range(values, at, 0, max(0, (size - 1) * dimension.lhs_dilate + 1)))
        at, is_element = undilated(values, at, dimension.lhs_dilate, size)
        conditions.append(is_element)
        source.append(at)
    return source, conditions


def _reduce_window(values: Values, instruction: Instruction, indices: Indices) -> list[Value]:
    half = len(instruction.operands) // 2
    arrays, initial = instruction.operands[:half], instruction.operands[half:]
    combiner, dims = combiner_of(instruction), arrays[0].array.dims
    window = window_of(instruction, len(dims))

    def step(point: Sequence[Index], carried: Sequence[Value]) -> list[Value]:
        def inside(at: Sequence[Index]) -> list[Value]:
            elements = [values.value(array, tuple(at)) for array in arrays]
            return combiner.combine(values, carried, elements, flags="")

        return _if_covered(values, (window, dims, indices, point), inside, carried)

    start = [values.value(value, ()) for value in initial]
    return combiner.finish(values, _loop(values, [dimension.size for dimension in window], start, step))


def _dot(values: Values, instruction: Instruction, indices: Indices) -> list[Value]:
    lhs, rhs = factor(instruction, 0), factor(instruction, 1)
    batch = indices[: len(lhs.batch)]
    rows = indices[len(lhs.batch) : len(lhs.batch) + len(lhs.free)]
    columns = indices[len(lhs.batch) + len(lhs.free) :]
    type_ = accumulation_type(instruction)

    def step(point: Sequence[Index], carried: Sequence[Value]) -> list[Value]:
        terms = []
        for side, free in ((lhs, rows), (rhs, columns)):
            at = dict(zip((*side.batch, *side.free, *side.depth), (*batch, *free, *point), strict=True))
            value = values.value(side.instruction, tuple(at[d] for d in range(len(at))))
            terms.append(element.convert(values.builder, value, side.instruction.array.element_type, type_))
        return [scalar.multiply_add(values.builder, type_, terms[0], terms[1], carried[0])]

    (total,) = _loop(values, lhs.sizes(lhs.depth), [zero(element.value_type(type_))], step)
    return [element.convert(values.builder, total, type_, instruction.array.element_type)]


def _convolution(values: Values, instruction: Instruction, indices: Indices) -> list[Value]:
    labels: ConvolutionDimensions = instruction.attributes["dim_labels"]
    lhs, rhs = instruction.operands
    window: Window = instruction.attributes.get("window", ())
    type_, builder = accumulation_type(instruction), values.builder
    nothing = zero(element.value_type(type_))
    inputs = rhs.array.dims[labels.kernel_input_feature]
    batch, first = _groups(values, instruction, indices, inputs)
    spatial = [lhs.array.dims[d] for d in labels.input_spatial]
    positions = [indices[d] for d in labels.output_spatial]

    def step(point: Sequence[Index], carried: Sequence[Value]) -> list[Value]:
        *tap, channel = point
        output = indices[labels.output_feature]
        right = _at(
            (labels.kernel_input_feature, labels.kernel_output_feature, *labels.kernel_spatial),
            (channel, output, *tap),
        )

        def term(side: Instruction, at: Indices) -> Value:
            return element.convert(builder, values.value(side, at), side.array.element_type, type_)

        def covered_term(at: Sequence[Index]) -> list[Value]:
            left = (labels.input_batch, labels.input_feature, *labels.input_spatial)
            return [term(lhs, _at(left, (batch, first + channel, *at)))]

        (one,) = _if_covered(values, (window, spatial, positions, tap), covered_term, [nothing])
        return [scalar.multiply_add(builder, type_, one, term(rhs, right), carried[0])]

    sizes = [*(dimension.size for dimension in window), inputs]
    (total,) = _loop(values, sizes, [nothing], step)
    return [element.convert(builder, total, type_, instruction.array.element_type)]


def _at(dims: Sequence[int], indices: Sequence[Index]) -> Indices:
    """Indices in the order of the dimensions that they are for."""
    by_dim = dict(zip(dims, indices, strict=True))
    return tuple(by_dim[d] for d in range(len(dims)))


def _groups(values: Values, instruction: Instruction, indices: Indices, inputs: int) -> tuple[Index, Index]:
    """The batch and the first input feature that belong to the group of the output feature."""
    labels: ConvolutionDimensions = instruction.attributes["dim_labels"]
    feature_groups = instruction.attributes.get("feature_group_count", 1)
    batch_groups = instruction.attributes.get("batch_group_count", 1)
    batch, output = indices[labels.output_batch], indices[labels.output_feature]
    groups = feature_groups * batch_groups
    if groups == 1:
        return batch, ZERO
    group, _ = values.emission.divide(output, instruction.array.dims[labels.output_feature] // groups)
    if feature_groups > 1:
        return batch, group.times(inputs)
    return group.times(instruction.array.dims[labels.output_batch]) + batch, constant(0)


def _map(values: Values, instruction: Instruction, indices: Indices) -> list[Value]:
    elements = [values.value(operand, indices) for operand in instruction.operands]
    return values.apply(instruction.attributes["to_apply"], elements)


Rule = Callable[[Values, Instruction, Indices], list[Value]]

RULES: dict[str, Rule] = {
    "convolution": _convolution,
    "dot": _dot,
    "map": _map,
    "reduce": _reduce,
    "reduce-window": _reduce_window,
}
"""Rules by opcode; one value for each array of the result."""
