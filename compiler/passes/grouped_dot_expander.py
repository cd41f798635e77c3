"""Replace ragged, scaled and sparse products by plain ones, in a type that both factors and the sum have room in.

In `ragged-dot` rows belong to groups: a copy of the left factor for each group, zero where the rows are not the
group's (in f32 where its type has no zero), turns the groups into one more dimension, summed over or kept.  In
`scaled-dot` each factor is multiplied by its scales first, in f32 at least.  A sparse operand of a `convolution` gets
its zeros back.  Products of complex numbers whose sum is real are summed as complex numbers, of which the real part is
taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.expansion.expression import Expression, element, iota
from compiler.expansion.replacement import expand
from compiler.ir.module import Attributes, Instruction, Module
from compiler.ir.products import ProductDimensions, product_dimensions
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape
from compiler.ir.sparsity import full_shape, sparsity
from compiler.ir.types import C64, C128, F8E8M0, F32, F64, S64, ElementType
from compiler.ops.build import build


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return expand(module, fuel, {"ragged-dot": _ragged, "scaled-dot": _scaled, "dot": _full, "convolution": _full})


def _dot(owner: Instruction, lhs: Expression, rhs: Expression, numbers: ProductDimensions) -> Expression:
    attributes = {name: owner.attributes[name] for name in ("operand_precision",) if name in owner.attributes}
    kept = [lhs.dims[d] for d in (*numbers.lhs_batch, *numbers.lhs_free(len(lhs.dims)))]
    dims = (*kept, *(rhs.dims[d] for d in numbers.rhs_free(len(rhs.dims))))
    shape = ArrayShape(_sum_type(owner, [lhs.type, rhs.type]), dims)
    dimensions: Attributes = {
        "lhs_batch_dims": numbers.lhs_batch,
        "rhs_batch_dims": numbers.rhs_batch,
        "lhs_contracting_dims": numbers.lhs_contracting,
        "rhs_contracting_dims": numbers.rhs_contracting,
    }
    given: Attributes = {name: dims for name, dims in dimensions.items() if dims}
    operands = [lhs.instruction, rhs.instruction]
    product = Expression(build(owner.computation, "dot", operands, shape=shape, **given, **attributes))
    return product.to(owner.array.element_type)


def _sum_type(owner: Instruction, factors: Sequence[ElementType]) -> ElementType:
    """The type of a product's sums: that of its result, but a complex one as wide for complex numbers."""
    result = owner.array.element_type
    if result.is_complex or not any(factor.is_complex for factor in factors):
        return result
    return C128 if C128 in factors or result is F64 else C64


def _ragged(instruction: Instruction) -> Instruction:
    lhs, rhs, sizes = map(Expression, instruction.operands)
    if lhs.type is F8E8M0:
        lhs, rhs = lhs.to(F32), rhs.to(F32)
    (ragged,), numbers = instruction.attributes["lhs_ragged_dims"], product_dimensions(instruction)
    if ragged in numbers.lhs_batch:
        return _dot(instruction, lhs, rhs, numbers).instruction
    # The groups become dimension 0 of the left factor.
    groups, batch = sizes.dims[-1], tuple(d for d in numbers.lhs_batch if len(sizes.dims) > 1)
    mask = _group_mask(sizes.to(S64), lhs.dims, ragged, sorted(batch))
    masked = mask.where(lhs.spread(mask.dims, tuple(range(1, len(mask.dims)))), lhs.literal(0))
    shifted = ProductDimensions(
        tuple(d + 1 for d in numbers.lhs_batch),
        numbers.rhs_batch,
        tuple(d + 1 for d in numbers.lhs_contracting),
        numbers.rhs_contracting,
    )
    if ragged in numbers.lhs_contracting:
        product = _dot(instruction, masked, rhs, shifted)
        # Batch dimensions come first in a product, the groups right after them.
        at = len(numbers.lhs_batch)
        order = (at, *(d for d in range(len(product.dims)) if d != at))
        return (product.transpose(*order) if at else product).instruction
    (group,) = instruction.attributes["rhs_group_dims"]
    assert rhs.dims[group] == groups
    summed = ProductDimensions(
        shifted.lhs_batch, shifted.rhs_batch, (0, *shifted.lhs_contracting), (group, *shifted.rhs_contracting)
    )
    return _dot(instruction, masked, rhs, summed).instruction


def _group_mask(sizes: Expression, dims: tuple[int, ...], ragged: int, batch: Sequence[int]) -> Expression:
    """For each group and element of the left factor, whether it belongs to the group."""
    groups, rank = sizes.dims[-1], len(sizes.dims)
    computation = sizes.instruction.computation
    # Groups start where the sizes of those before them add up to.
    square = (*sizes.dims, groups)
    before = iota(computation, S64, square, rank - 1).compare("LT", iota(computation, S64, square, rank))
    spread = sizes.spread(square, tuple(range(rank)))
    starts = before.where(spread, spread.literal(0)).sum(rank - 1)
    full = (groups, *dims)
    along = (*(d + 1 for d in batch), 0)
    first, last = (bound.spread(full, along) for bound in (starts, starts + sizes))
    position = iota(computation, S64, full, ragged + 1)
    return position.compare("GE", first) & position.compare("LT", last)


def _scaled(instruction: Instruction) -> Instruction:
    lhs, rhs, lhs_scale, rhs_scale = map(Expression, instruction.operands)
    wide = _wide([lhs.type, rhs.type, lhs_scale.type, rhs_scale.type])
    left, right = (_times(f.to(wide), s.to(wide)) for f, s in ((lhs, lhs_scale), (rhs, rhs_scale)))
    return _dot(instruction, left, right, product_dimensions(instruction)).instruction


def _wide(types: Sequence[ElementType]) -> ElementType:
    """The type in which factors and scales are multiplied."""
    if not any(t.is_float or t.is_complex for t in types):
        return S64
    is_double = F64 in types or C128 in types
    if any(t.is_complex for t in types):
        return C128 if is_double else C64
    return F64 if is_double else F32


def _times(factor: Expression, scale: Expression) -> Expression:
    """A factor whose blocks are multiplied by one scale each."""
    if not scale.dims:
        return factor * scale
    dims = factor.dims
    blocks = [n for size, whole in zip(scale.dims, dims, strict=True) for n in (size, whole // size)]
    spread = scale.spread(blocks, range(0, 2 * len(dims), 2)).reshape(*dims)
    return factor * spread


def _full(instruction: Instruction) -> Instruction | None:
    """A dot or convolution whose factors have all their zeros, and that has the type of its sums."""
    result = instruction.array.element_type
    operands = [_filled(instruction, index) for index in range(len(instruction.operands))]
    sums = _sum_type(instruction, [operand.array.element_type for operand in operands[:2]])
    if tuple(operands) == instruction.operands and sums is result:
        return None
    attributes = {name: value for name, value in instruction.attributes.items() if name != "sparsity_config"}
    shape = instruction.array.with_type(sums)
    full = Instruction(instruction.opcode, shape, operands, attributes, name=instruction.name)
    return Expression(instruction.computation.add(full)).to(result).instruction


def _filled(instruction: Instruction, index: int) -> Instruction:
    """An operand with the zeros that it leaves out."""
    operand, found = instruction.operands[index], sparsity(instruction, index)
    if found is None:
        return operand
    elements, positions = (Expression(element(operand, number)) for number in (0, 1))
    after = found.dimension + 1
    dims = (*elements.dims[:after], found.block, *elements.dims[after:])
    along = [d if d < after else d + 1 for d in range(len(elements.dims))]
    positions_ = iota(instruction.computation, S64, dims, after)
    kept = positions.to(S64).spread(dims, along).compare("EQ", positions_)
    blocks = kept.where(elements.spread(dims, along), elements.literal(0))
    return blocks.reshape(*full_shape(instruction, index).dims).instruction
