"""What stands for an opcode whose operands' sizes are known at run time only.

Mostly it is the same opcode on whole arrays, with what lies beyond the sizes filled where it could be seen, and the
sizes of the result by the same arithmetic that the shape rules do on known ones.  An opcode that is neither elementwise
nor in `RULES` takes no such array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import mul
from typing import Any

from compiler.expansion.expression import Expression, element, iota, number
from compiler.expansion.sized import Sized, Sizes, result_of, same_opcode, static
from compiler.expansion.sized_reduction import reduced
from compiler.ir.attributes import PaddingDimension, SliceDimension
from compiler.ir.module import Computation, Instruction, inline
from compiler.ir.numbers import integer_bounds
from compiler.ir.products import product_dimensions
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.types import F8E8M0, F32, S32, S64, ElementType
from compiler.ir.windows import window_of, window_padding
from compiler.ops import dynamic_sizes
from compiler.ops.build import build, parameter

Result = Sized | tuple[Sized, ...]
Rule = Callable[[Instruction, Sequence[Sized]], Result]


def elementwise(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    """Sizes of the result are those of the first operand that has one."""
    sizes: dict[int, Expression] = {}
    for operand in reversed(operands):
        sizes.update(operand.sizes)
    return Sized(same_opcode(instruction, operands), sizes)


def _broadcast(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    along = instruction.attributes["dimensions"]
    return Sized(same_opcode(instruction, operands), {along[d]: size for d, size in operands[0].sizes.items()})


def _transpose(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    order = instruction.attributes["dimensions"]
    sizes = operands[0].sizes
    return Sized(same_opcode(instruction, operands), {i: sizes[d] for i, d in enumerate(order) if d in sizes})


def _reverse(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    """What lies beyond the size comes first then, and is cut off."""
    (operand,) = operands
    turned = [d for d in instruction.attributes["dimensions"] if d in operand.sizes]
    reversed_ = Expression(same_opcode(instruction, operands))
    bounds, zero = reversed_.dims, number(operand.instruction.computation, 0, S32)
    padding = tuple(PaddingDimension(0, n if d in turned else 0) for d, n in enumerate(bounds))
    longer = build(zero.instruction.computation, "pad",
                   [reversed_.instruction, reversed_.literal(0).instruction], padding=padding)  # fmt: skip
    starts = [(-operand.sizes[d] + bounds[d] if d in turned else zero).instruction for d in range(len(bounds))]
    cut = build(longer.computation, "dynamic-slice", [longer, *starts], dynamic_slice_sizes=bounds)
    return Sized(cut, operand.sizes)


def _reduce(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    axes = instruction.attributes["dimensions"]
    kept = [d for d in range(operands[0].rank) if d not in axes]
    sizes = {position: operands[0].sizes[d] for position, d in enumerate(kept) if d in operands[0].sizes}
    return reduced(instruction, operands, axes, sizes)


def _padded_size(size: Expression, padding: PaddingDimension) -> Expression:
    """As s64, since steps that few elements never make may be longer than an s32."""
    wide = size.to(S64)
    between = (wide - 1).apply("maximum", 0) * padding.interior
    return wide + between + (padding.low + padding.high)


def _not_negative(size: Expression) -> Expression:
    return size.apply("maximum", size.literal(0))


def _output_count(size: Expression, window: Any) -> Expression:
    """How many places a window has along a dimension."""
    covered: int = (window.size - 1) * window.rhs_dilate + 1
    if covered > integer_bounds(S64)[1]:
        return size.literal(0)
    padded = _padded_size(size, window_padding(window))
    count = (padded - covered) / window.stride + 1
    return padded.compare("LT", covered).where(count.literal(0), count).to(S32)


def _reduce_window(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    window = window_of(instruction, operands[0].rank)
    sizes = {d: _output_count(size, window[d]) for d, size in operands[0].sizes.items()}
    return reduced(instruction, operands, range(operands[0].rank), sizes)


def _with_zeros(operand: Sized) -> Sized:
    """The array in a type that has the zero with which terms of sums are filled: where it has none, that is NaN."""
    has_none = operand.instruction.array.element_type is F8E8M0
    return Sized(operand.whole.to(F32).instruction, operand.sizes) if has_none else operand


def _dot(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    lhs, rhs = map(_with_zeros, operands[:2])
    sides = product_dimensions(instruction)
    factors = [lhs.filled(0, sides.lhs_contracting), rhs.filled(0, sides.rhs_contracting)]
    # A size that only one factor knows ends the sum for both.
    for (mine, dims), (other, others) in (
        ((lhs, sides.lhs_contracting), (rhs, sides.rhs_contracting)),
        ((rhs, sides.rhs_contracting), (lhs, sides.lhs_contracting)),
    ):
        side_ = 1 if mine is lhs else 0
        missing = {
            o: mine.sizes[d] for d, o in zip(dims, others, strict=True) if d in mine.sizes and o not in other.sizes
        }
        factors[side_] = Sized(factors[side_].instruction, missing).filled(0, list(missing))
    kept = [(lhs, d) for d in (*sides.lhs_batch, *sides.lhs_free(lhs.rank))]
    kept += [(rhs, d) for d in sides.rhs_free(rhs.rank)]
    sizes = {side_: side.sizes[d] for side_, (side, d) in enumerate(kept) if d in side.sizes}
    return Sized(same_opcode(instruction, [*factors, *operands[2:]]), sizes)


def _convolution(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    lhs, rhs = map(_with_zeros, operands)
    numbers = instruction.attributes["dim_labels"]
    window = window_of(instruction, len(numbers.input_spatial))
    if rhs.sizes or numbers.input_feature in lhs.sizes:
        raise instruction.unsupported("only the batch and the places of its input may have sizes known at run time")
    if numbers.input_batch in lhs.sizes and instruction.attributes.get("batch_group_count", 1) > 1:
        raise instruction.unsupported("the size of a batch in groups is known at run time only")
    sizes = {numbers.output_batch: lhs.sizes[numbers.input_batch]} if numbers.input_batch in lhs.sizes else {}
    for position, (source, target) in enumerate(zip(numbers.input_spatial, numbers.output_spatial, strict=True)):
        if source in lhs.sizes:
            sizes[target] = _output_count(lhs.sizes[source], window[position])
    return Sized(same_opcode(instruction, [lhs.filled(0, numbers.input_spatial), rhs]), sizes)


def _concatenate(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    (along,) = instruction.attributes["dimensions"]
    sizes = {d: size for operand in reversed(operands) for d, size in operand.sizes.items()}
    if along not in sizes:
        return Sized(same_opcode(instruction, operands), sizes)
    # Each is written where the one before ends, over what lies beyond that one's size.
    computation, zero = operands[0].instruction.computation, number(operands[0].instruction.computation, 0, S32)
    result, end = operands[0].whole.literal(0).spread(instruction.array.dims, ()).instruction, zero
    for operand in operands:
        starts = [(end if d == along else zero).instruction for d in range(operand.rank)]
        result = build(computation, "dynamic-update-slice", [result, operand.instruction, *starts])
        end = end + operand.size(along)
    return Sized(result, {**sizes, along: end})


def _slice(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    """A dimension that is stated to be static is one of which the slice lies within the size."""
    (operand,) = operands
    flags, sizes = instruction.array.dynamic, {}
    for d, size in operand.sizes.items():
        if not flags or not flags[d]:
            continue
        kept: SliceDimension = instruction.attributes["slice"][d]
        length = size.apply("minimum", size.literal(kept.limit)) - kept.start
        sizes[d] = _not_negative(length + (kept.stride - 1)) / kept.stride
    return Sized(same_opcode(instruction, operands), sizes)


def _pad(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    operand, filler = operands
    padding = instruction.attributes["padding"]
    sizes = {d: _not_negative(_padded_size(size, padding[d])).to(S32) for d, size in operand.sizes.items()}
    return Sized(same_opcode(instruction, [operand.filled(filler.whole, range(operand.rank)), filler]), sizes)


def _get_size(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    return Sized(operands[0].size(instruction.attributes["dimensions"][0]).instruction)


def _set_size(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    operand, size = operands
    (along,) = instruction.attributes["dimensions"]
    bound = operand.whole.dims[along]
    within = _not_negative(size.whole).apply("minimum", size.whole.literal(bound))
    # Growing back uncovers elements whose value the language leaves open; zeros are the reference's choice.
    array = operand.filled(0, [along])
    given = size.instruction
    if given.opcode == "constant" and given.literal.array is not None and int(given.literal.array) >= bound:
        return Sized(array.instruction, {d: n for d, n in operand.sizes.items() if d != along})
    return Sized(array.instruction, {**operand.sizes, along: within})


def _reshape(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    operand, shape = operands[0], instruction.array
    if not operand.sizes:
        return Sized(same_opcode(instruction, operands))
    lasting = [d for d, n in enumerate(operand.whole.dims) if n != 1 or d in operand.sizes]
    targets = [d for d, n in enumerate(shape.dims) if n != 1 or (shape.dynamic and shape.dynamic[d])]
    if [operand.whole.dims[d] for d in lasting] == [shape.dims[d] for d in targets]:
        sizes = {to: operand.sizes[d] for d, to in zip(lasting, targets, strict=True) if d in operand.sizes}
        return Sized(same_opcode(instruction, operands), sizes)
    dynamic = [d for d, flag in enumerate(shape.dynamic) if flag]
    if len(dynamic) != 1:
        raise instruction.unsupported(f"the number of elements does not tell the sizes of {shape}")
    count = reduce(mul, (operand.size(d) for d in range(operand.rank)))
    rest = reduce(mul, (n for d, n in enumerate(shape.dims) if d not in dynamic), 1)
    return _rearranged(operand, shape.dims, {dynamic[0]: count / max(rest, 1)})


def _dynamic_reshape(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    operand, *given = operands
    flags = instruction.array.dynamic or (False,) * instruction.array.rank
    sizes = {d: size.whole for d, size in enumerate(given) if flags[d]}
    return _rearranged(operand, instruction.array.dims, sizes)


def _rearranged(operand: Sized, dims: tuple[int, ...], sizes: Sizes) -> Sized:
    """The elements within the sizes, in their order, as those within other sizes."""
    computation = operand.instruction.computation
    position = number(computation, 0, S32).spread(dims, ())
    for d, bound in enumerate(dims):
        position = position * sizes.get(d, number(computation, bound, S32)) + iota(computation, S32, dims, d)
    source, stride = number(computation, 0, S32).spread(dims, ()), 1
    for d in reversed(range(operand.rank)):
        size = operand.size(d).apply("maximum", operand.size(d).literal(1))
        source = source + position.apply("remainder", size) * stride
        position, stride = position / size, stride * operand.whole.dims[d]
    flat = operand.whole.reshape(stride)
    taken = build(
        computation,
        "gather",
        [flat.instruction, source.instruction],
        offset_dims=(),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=len(dims),
        slice_sizes=(1,),
    )
    return Sized(taken, sizes)


def _sort(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    """A key before all others puts what lies beyond the size last."""
    (along,) = instruction.attributes["dimensions"]
    inside = operands[0].inside([along])
    sizes = operands[0].sizes
    if inside is None:
        return result_of(same_opcode(instruction, operands), sizes)
    beyond = inside.where(*(inside.to(S32).literal(k).spread(inside.dims, ()) for k in (0, 1)))
    old: Computation = instruction.attributes["to_apply"]
    comparator = Computation(f"{old.name}.inside")
    left, right, *rest = (
        parameter(comparator, k, shape)
        for k, shape in enumerate([ArrayShape(S32, ())] * 2 + [p.shape for p in old.parameters])
    )
    first = Expression(left)
    tie = first.compare("EQ", Expression(right)) & Expression(inline(old, rest, comparator.add))
    comparator.root = (first.compare("LT", Expression(right)) | tie).instruction
    assert old.module is not None
    old.module.add_computation(comparator)
    shapes = [static(ArrayShape(S32, inside.dims)), *(operand.instruction.shape for operand in operands)]
    given = [beyond.instruction, *(operand.instruction for operand in operands)]
    attributes = {"dimensions": (along,), "is_stable": instruction.attributes.get("is_stable", False)}
    ordered = build(
        beyond.instruction.computation,
        "sort",
        given,
        shape=TupleShape(tuple(shapes)),
        to_apply=comparator,
        **attributes,
    )
    results = tuple(Sized(element(ordered, index), sizes) for index in range(1, len(given)))
    return results if isinstance(instruction.shape, TupleShape) else results[0]


def _greatest(index: ElementType) -> int:
    """The greatest number that an index of a type and a size both can be."""
    return min(integer_bounds(index)[1], integer_bounds(S32)[1])


def _starts(operand: Sized, starts: Sequence[Sized], cut: Sequence[int | Expression]) -> list[Expression]:
    """Start indices, kept where the whole slice, of so many elements in each dimension, lies within the sizes."""
    if len(starts) == 1 and starts[0].rank == 1:
        vector = starts[0].whole
        given = [vector.slice((d, d + 1)).reshape() for d in range(operand.rank)]
    else:
        given = [start.whole for start in starts]
    for d in (d for d, count in enumerate(cut) if d in operand.sizes or isinstance(count, Expression)):
        # The last place may be more than the type of the index has.
        most = _not_negative(operand.size(d) - cut[d]).apply("minimum", _greatest(given[d].type))
        given[d] = given[d].apply("minimum", most.to(given[d].type))
    return given


def _dynamic_slice(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    operand, *starts = operands
    kept = _starts(operand, starts, instruction.attributes["dynamic_slice_sizes"])
    return Sized(same_opcode(instruction, [operand, *kept]))


def _dynamic_update_slice(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    """Behind an update whose size is known at run time only there is what was there before."""
    operand, update, *starts = operands
    bounds = update.whole.dims
    kept = _starts(operand, starts, [update.sizes.get(d, bound) for d, bound in enumerate(bounds)])
    if not update.sizes:
        return Sized(same_opcode(instruction, [operand, update, *kept]), operand.sizes)
    at, computation = [start.instruction for start in kept], operand.instruction.computation
    # Its bound may reach beyond the operand's where the update itself does not.
    padding = tuple(PaddingDimension(0, bound if d in update.sizes else 0) for d, bound in enumerate(bounds))
    longer = build(computation, "pad", [operand.instruction, operand.whole.literal(0).instruction], padding=padding)
    before = Expression(build(computation, "dynamic-slice", [longer, *at], dynamic_slice_sizes=bounds))
    new = update.filled(before, list(update.sizes))
    changed = Expression(build(computation, "dynamic-update-slice", [longer, new.instruction, *at]))
    return Sized(changed.slice(*((0, bound) for bound in operand.whole.dims)).instruction, operand.sizes)


def _gather(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    operand, indices = operands
    attributes = instruction.attributes
    if operand.sizes:
        raise instruction.unsupported("the size of what it takes slices from is known at run time only")
    batch = [d for d in range(instruction.array.rank) if d not in attributes["offset_dims"]]
    dims_ = [d for d in range(indices.rank) if d != attributes["index_vector_dim"]]
    sizes = {batch[k]: indices.sizes[d] for k, d in enumerate(dims_) if d in indices.sizes}
    return Sized(same_opcode(instruction, operands), sizes)


def _scatter(instruction: Instruction, operands: Sequence[Sized]) -> Result:
    """What lies beyond the sizes of the indices goes nowhere."""
    count = len(operands) // 2
    targets, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    window = set(instruction.attributes["update_window_dims"])
    if any(target.sizes for target in targets) or any(window & set(update.sizes) for update in updates):
        raise instruction.unsupported("only the number of its updates may be known at run time")
    if not instruction.attributes["scatter_dims_to_operand_dims"]:
        raise instruction.unsupported("no index keeps out the updates beyond a size that is known at run time only")
    if not indices.whole.type.is_signed:
        indices = Sized(indices.whole.to(S64).instruction, indices.sizes)
    kept = indices.filled(-1, range(indices.rank))
    return result_of(same_opcode(instruction, [*targets, kept, *updates]), {})


RULES: dict[str, Rule] = {
    "broadcast": _broadcast,
    "concatenate": _concatenate,
    "convolution": _convolution,
    "dot": _dot,
    "dynamic-reshape": _dynamic_reshape,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "gather": _gather,
    "get-dimension-size": _get_size,
    "map": elementwise,
    "pad": _pad,
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "reshape": _reshape,
    "reverse": _reverse,
    "scatter": _scatter,
    "set-dimension-size": _set_size,
    "slice": _slice,
    "sort": _sort,
    "transpose": _transpose,
}
"""What stands for an opcode that is not elementwise."""

MAKERS = frozenset(dynamic_sizes.OPS)
"""Those that are about sizes, whatever their operands are."""
