"""Wide rules of sums and products over many elements, whose order is open.

What sums linearly is evaluated three times more: on the errors, on the magnitudes, and on ones, which counts the terms
of each result.  `n` terms round at most `n` times, each time by the magnitude of all of them together.  Factors are
counted alike, by the logarithm of a product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.ir.combiner import binary_opcode, binary_opcodes
from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import Array
from compiler.ir.shape import TupleShape, leaves
from compiler.ir.sparsity import filled, sparsity
from compiler.ir.types import BF16, F16, F32, ElementType, Kind
from compiler.ops.grouped_dot import scaled_by_blocks
from compiler.wide.contraction import infinite_product
from compiler.wide.elementwise import monotone_predicate
from compiler.wide.numbers import Wide, around, exact, limits, rounded, settle, size, unknown
from compiler.wide.pairs import paired
from compiler.wide.rule import Context, Rule

_LOST = 2.0**-40  # of a sum in f64: what may be missing of the smaller terms
_GRAIN = 2.0**8
"""Sums of multiples of 1/256 are exact as long as the magnitudes are small: nothing is rounded in any order."""
_COUNTED = 2.0**-20
"""The logarithm of a factor so near to 1 that products of it count the factors."""
_COMPLEX = 4.0
"""Roundings of a complex product, by modulus."""
_FACTORS = 2
"""Operands that are multiplied; those behind them count groups, scale, or say where elements stand."""
_OPERAND_UNITS = {"tf32": 2.0**-11, "bf16": 2.0**-8, "f16": 2.0**-11, "f8": 2.0**-3}
"""What a dot algorithm may round its operands to."""
_ACCUMULATED = {"dot_f16_f16_f16": F16, "dot_bf16_bf16_bf16": BF16}
"""What a dot algorithm may sum in, where that is narrower than f32."""


def _is_grained(operands: Sequence[Wide], grain: float) -> bool:
    return all(
        o.is_exact and bool(np.all(np.rint(o.value * grain) == o.value * grain) and np.isfinite(o.value).all())
        for o in operands
        if o.value.dtype.kind in "fc"
    )


def _reached(operand: Wide) -> Array:
    return size(operand.value) + np.where(np.isfinite(operand.error), operand.error, 0.0)


def _reduce(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Any:
    """reduce, reduce-window: everything is an array or an initial value."""
    computation: Computation = instruction.attributes["to_apply"]
    result = _combined(instruction, operands, context, combiner=computation, operand_numbers=range(len(operands)))
    results = result if isinstance(result, tuple) else (result,)
    return results if isinstance(computation.root.shape, TupleShape) else results[0]


def _scatter(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Any:
    """The indices, which stand between arrays and updates, only say where."""
    at = len(operands) // 2
    indices = operands[at]
    computation: Computation = instruction.attributes["to_apply"]
    plain = context.evaluate(instruction, [operand.value for operand in operands])
    if not indices.is_exact:
        return tuple(map(unknown, plain)) if isinstance(plain, tuple) else unknown(plain)
    replaces = computation.root.opcode == "parameter" and computation.root.parameter_number == 1
    if replaces and len(operands) == 3:
        moved = [o.value if number == at else o.error for number, o in enumerate(operands)]
        return Wide(np.asarray(plain), np.asarray(context.evaluate(instruction, moved), np.float64))
    operand_numbers = [number for number in range(len(operands)) if number != at]
    return _combined(instruction, operands, context, combiner=computation, operand_numbers=operand_numbers)


def _select_and_scatter(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """What is selected by exact numbers is known; by others it is not, and no window is told from another."""
    value = np.asarray(context.evaluate(instruction, [operand.value for operand in operands]))
    if not operands[0].is_exact:
        return unknown(value)
    result = _combined(
        instruction, operands, context, combiner=instruction.attributes["scatter"], operand_numbers=(1, 2)
    )
    assert isinstance(result, Wide)
    return result


@dataclass(frozen=True, slots=True)
class _Reduction:
    """Elements that are combined by one opcode.

    Attributes:
        data: what is combined, and the value that it begins with.
        evaluate: the combination of other arrays in their places.
        own: the type of the result.
        source: what makes the first of the data.
    """

    data: Sequence[Wide]
    evaluate: Callable[[Sequence[Array]], Array]
    own: ElementType
    source: Instruction


def _combined(
    instruction: Instruction,
    operands: Sequence[Wide],
    context: Context,
    *,
    combiner: Computation,
    operand_numbers: Sequence[int],
) -> Any:
    """Combine the operands at some places by a computation that is recognised, or else step by step.

    Of several results each may be recognised alone.
    """
    count = len(operand_numbers) // 2
    opcodes = [binary_opcode(combiner)] if count == 1 else binary_opcodes(combiner)
    found = [
        opcode
        and _by_opcode(opcode, k, (operand_numbers[k], operand_numbers[count + k]), instruction, operands, context)
        for k, opcode in enumerate(opcodes)
    ]
    if not all(found):
        step_by_step = paired(instruction, operands, operand_numbers, context)
        every = step_by_step if isinstance(step_by_step, tuple) else (step_by_step,)
        found = [one or other for one, other in zip(found, every, strict=True)]
    return found[0] if count == 1 else tuple(found)


def _by_opcode(
    opcode: str,
    result_number: int,
    operand_numbers: tuple[int, int],
    instruction: Instruction,
    operands: Sequence[Wide],
    context: Context,
) -> Wide:
    """What one opcode makes of two of the operands, as one of the results."""
    values = [operand.value for operand in operands]

    def evaluate(arrays: Sequence[Array]) -> Array:
        given = list(values)
        for number, array in zip(operand_numbers, arrays, strict=True):
            given[number] = array
        found = context.evaluate(instruction, given)
        return np.asarray(found[result_number] if isinstance(found, tuple) else found)

    own = list(leaves(context.originals[instruction].shape))[result_number].element_type
    data, source = [operands[number] for number in operand_numbers], instruction.operands[operand_numbers[0]]
    reduction, kind = _Reduction(data, evaluate, own, source), data[0].value.dtype.kind
    if kind in "fc" and opcode == "add":
        return _summed(reduction, context)
    if kind == "f" and opcode in ("maximum", "minimum"):
        return _extreme(reduction)
    if kind in "fc" and opcode == "multiply":
        return _multiplied(reduction)
    if kind == "b" and opcode in ("and", "or", "maximum", "minimum", "add", "multiply"):
        return monotone_predicate(evaluate, data)
    value = evaluate([operand.value for operand in data])
    return exact(value) if all(operand.is_exact for operand in data) else unknown(value)


def _summed(reduction: _Reduction, context: Context) -> Wide:
    data, evaluate, own = reduction.data, reduction.evaluate, reduction.own
    dtype = data[0].value.dtype
    value = evaluate([operand.value for operand in data])
    reach = evaluate([_reached(operand).astype(dtype) for operand in data]).real
    terms = evaluate([np.ones(operand.value.shape, dtype) for operand in data]).real
    if _is_grained(data, _GRAIN):
        free = reach * _GRAIN < 2.0 ** limits(own).digits
        result = rounded(value, np.zeros(value.shape), own, roundings=1.0, reach=reach * terms)
        error = np.where(may_leave(value, reach, own), np.inf, result.error)
        return Wide(result.value, np.where(free, 0.0, error))
    passed = evaluate([np.where(np.isfinite(o.error), o.error, 0.0).astype(dtype) for o in data]).real
    unknowns = evaluate([np.isinf(operand.error).astype(dtype) for operand in data]).real
    roundings = _grown(np.maximum(terms - 1, 1), own) * reach
    lost = np.maximum(terms - 1, 1) * limits(own).least
    result = settle(value, passed + roundings + lost, own, reach=reach)
    open_ = (unknowns > 0) | may_leave(value, reach, own)
    if infinite_product(reduction.source, data[0], context).any():
        open_ = open_ | ~np.isfinite(value)
    return result.open_at(open_)


def _extreme(reduction: _Reduction) -> Wide:
    data, evaluate = reduction.data, reduction.evaluate
    known = [Wide(o.value, np.where(np.isfinite(o.error), o.error, 0.0)) for o in data]
    value, error = around(evaluate, known)
    # A NaN wins over everything: in place of what is not known it shows where that takes part, unless a known one does.
    spoilt, without = (
        np.isnan(evaluate([np.where(np.isinf(operand.error), other, operand.value) for operand in data]))
        for other in (np.nan, 1.0)
    )
    open_ = np.isnan(error) | (spoilt & ~without)
    return settle(value, np.where(open_, np.inf, error), reduction.own)


def _multiplied(reduction: _Reduction) -> Wide:
    data, evaluate, own = reduction.data, reduction.evaluate, reduction.own
    dtype = data[0].value.dtype
    value = evaluate([operand.value for operand in data])
    if not all(np.isfinite(operand.error).all() for operand in data):
        return unknown(value)

    def product(magnitudes: Sequence[Array]) -> Array:
        return np.asarray(evaluate([m.astype(dtype) for m in magnitudes]).real)

    reach = product([_reached(operand) for operand in data])
    counted = np.log(product([np.full(operand.value.shape, np.exp(_COUNTED)) for operand in data])) / _COUNTED
    terms = np.rint(counted) * (_COMPLEX if dtype.kind == "c" else 1.0)
    passed = reach - product([size(operand.value) for operand in data])
    extremes = product([np.maximum(_reached(operand), 1.0) for operand in data])
    # An order in which partial products leave the range of the type is as good as any; so is one in which they lose
    # digits near its end, or a part of a complex number, however small that is, before they are multiplied by the rest.
    smallest = product([np.minimum(np.where(size(o.value) > 0, size(o.value), 1.0), 1.0) for o in data])
    loses = (dtype.kind == "c") | (smallest * limits(own).unit < limits(own).least)
    lost = limits(own).least * np.where(loses, terms * extremes, 1.0)
    result = settle(value, passed + _grown(terms, own) * reach + lost, own, reach=reach)
    strays = (extremes > limits(own).largest) | (smallest < limits(own).least)
    of_either_sign = product([np.where(operand.may_be_zero, 2.0, 1.0) for operand in data]) > 1
    return result.open_at(strays | (~np.isfinite(value) & of_either_sign))


def _grown(roundings: Array, own: ElementType) -> Array:
    """The relative error of so many roundings, each of which the next ones round as well."""
    return np.asarray(np.expm1(roundings * limits(own).unit))


def _filled(instruction: Instruction, number: int, operand: Wide | tuple[Wide, Wide]) -> Wide:
    """An operand of a convolution with the zeros that it may leave out; if it is open where, none is known."""
    if isinstance(operand, Wide):
        return operand
    found, (elements, positions) = sparsity(instruction, number), operand
    assert found is not None, "a convolution that was verified has an explanation for each tuple"
    value, error = (filled(found, array, positions.value) for array in (elements.value, elements.error))
    return Wide(value, error) if positions.is_exact else unknown(value)


def _convolution(instruction: Instruction, operands: Sequence[Any], context: Context) -> Wide:
    whole = [_filled(instruction, number, operand) for number, operand in enumerate(operands)]
    result = _multilinear(instruction, whole, context)
    if result.value.dtype.kind not in "fc":
        return result
    return result.open_at(_beside_padding(instruction, whole, context))


def _multilinear(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """dot, convolution and their kind: sums of products of one element of each operand but those that count groups."""
    value = np.asarray(context.evaluate(instruction, [operand.value for operand in operands]))
    if value.dtype.kind not in "fc":
        return exact(value) if all(o.is_exact and o.value.dtype.kind not in "fc" for o in operands) else unknown(value)
    if not all(o.is_exact for o in operands[_FACTORS:] if o.value.dtype.kind not in "fc"):
        return unknown(value)
    own = context.own(instruction)
    operands = [_flushed(operand, _type_of(instruction, n, context)) for n, operand in enumerate(operands)]

    def evaluate(magnitudes: Sequence[Array]) -> Array:
        given = [  # integers, too, are summed as floats
            m.astype(o.value.dtype) if o.value.dtype.kind in "fc" else m if number < _FACTORS else o.value
            for number, (m, o) in enumerate(zip(magnitudes, operands, strict=True))
        ]
        return np.asarray(context.evaluate(instruction, given)).real

    reach = evaluate([_reached(operand) for operand in operands])
    terms = evaluate([np.ones(operand.value.shape) for operand in operands])
    converted = sum(operand.value.dtype.kind not in "fc" for operand in operands[:_FACTORS])
    of_pairs = any(operand.value.dtype.kind == "c" for operand in operands)
    if _is_grained(operands, _GRAIN**0.5) and value.dtype.kind != "c" and _coarsest(instruction) == 0:
        free = (reach * _GRAIN < 2.0 ** limits(own).digits) & (own.bits >= F32.bits)
        result = rounded(value, np.zeros(value.shape), own, reach=reach * (terms + converted))
        error = np.where(may_leave(value, reach, own) | of_pairs & ~np.isfinite(result.value), np.inf, result.error)
        return Wide(result.value, np.where(free, 0.0, error))
    passed = reach - evaluate([size(operand.value) for operand in operands])
    summed = _ACCUMULATED.get(str(instruction.attributes.get("algorithm", "")), F32 if own.bits < F32.bits else own)
    accumulated = limits(summed)
    factor = _COMPLEX if of_pairs else 1.0
    share = factor * accumulated.unit * (terms + 1 + converted) + 2 * _coarsest(instruction)
    # Every product, and every sum on the way, may be taken for zero.
    lost = 2 * factor * accumulated.least * terms
    result = rounded(value, passed + share * reach + lost, own)
    known = evaluate([np.where(np.isinf(operand.error), 0.0, 1.0) for operand in operands])
    open_ = (known < terms) | may_leave(value, reach, own) | may_leave(value, reach, summed)
    if of_pairs and own.kind is not Kind.COMPLEX:  # what an infinity in one part makes of the other is open
        open_ |= ~np.isfinite(result.value) | (evaluate([np.isfinite(o.value) * 1.0 for o in operands]) < terms)
    open_ |= sum(map(evaluate, _lost_infinities(instruction, operands, context))) > 0
    return result.open_at(open_)


def _beside_padding(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Array:
    """Where what may not be finite in a kernel meets padding, or a hole, and no NaN of it an element.

    The padding is of zeros, and so are holes, but what they are multiplied by may be left out as well.
    """
    (lhs, kernel), labels = (operand.value for operand in operands), instruction.attributes["dim_labels"]

    def met(mask: Array) -> Array:
        """How many of some elements of the kernel meet elements."""
        given = [np.ones(lhs.shape, lhs.dtype), mask.astype(kernel.dtype)]
        return np.asarray(context.evaluate(instruction, given)).real

    special = ~(np.isfinite(kernel) & np.isfinite(operands[1].error))
    counts = special.sum(axis=tuple(d for d in range(kernel.ndim) if d != labels.kernel_output_feature))
    along = [-1 if d == labels.output_feature else 1 for d in range(kernel.ndim)]
    return np.asarray((met(special) < counts.reshape(along)) & (met(np.isnan(kernel)) == 0))


def _flushed(operand: Wide, element_type: ElementType) -> Wide:
    """An operand of bf16 whose denormal numbers may be zeros: instructions for its products take them so."""
    if element_type is not BF16:
        return operand
    magnitude = size(operand.value)
    return Wide(operand.value, np.maximum(operand.error, np.where(magnitude < limits(BF16).least, magnitude, 0.0)))


def _lost_infinities(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Iterator[Sequence[Array]]:
    """Ones at infinities and at what may be taken for zero, by turns: their products may be NaN as well."""
    infinite = [np.isinf(operand.value).astype(np.float64) for operand in operands]
    lost = [_may_be_lost(operand, _type_of(instruction, n, context)) for n, operand in enumerate(operands[:2])]
    for this, other in ((0, 1), (1, 0)):
        if infinite[this].any() and lost[other].any():
            factors = [np.ones(operand.value.shape) for operand in operands]
            factors[this], factors[other] = infinite[this], lost[other]
            yield factors


def _may_be_lost(operand: Wide, element_type: ElementType) -> Array:
    """Ones where an operand may be zero, or taken for it, and is none: no integer, which may be a factor of floats."""
    if not (element_type.is_float or element_type.is_complex):
        return np.zeros(operand.value.shape)
    magnitude = size(operand.value)
    is_tiny = (magnitude > 0) & (magnitude < limits(element_type).least)
    return (is_tiny | operand.may_be_zero).astype(np.float64)


def _scaled(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Factors may be scaled in their own type, as XLA does it, or in a wider one."""
    result = _multilinear(instruction, operands, context)
    if result.value.dtype.kind not in "fc":
        return result
    return result.open_at(_leaves_scaled(instruction, operands, context))


def may_leave(value: Array, reach: Array, own: ElementType) -> Array:
    """Where sums of parts of the terms may leave the range of the type, one way or both, with another result.

    Args:
        value: of the sums.
        reach: sums of the magnitudes of the finite terms.
        own: the type that they were to be computed in.
    """
    largest = limits(own).largest
    if value.dtype.kind == "c":
        return np.asarray(reach > largest)
    surely = np.isfinite(value) & (np.abs(value) > largest * (1 + limits(own).unit))
    # What the terms of the smaller sign come to; beside an infinity all of them may be of the other sign.
    rest = (reach - np.abs(value)) / 2 + reach * _LOST  # beside a far larger term the others are lost in f64
    against = np.where(np.isfinite(value), rest, reach)
    return np.asarray(~np.isnan(value) & np.where(surely | np.isinf(value), against > largest / 2, reach > largest))


def _leaves_scaled(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Array:
    """Mask of the results of which some factor, once scaled, over- or underflows in its own type."""
    found: Any = 0.0
    for number in (0, 1):
        factor, scale = operands[number], operands[number + 2]
        own = _type_of(instruction, number, context)
        scaled = scaled_by_blocks(_reached(factor), _reached(scale))
        strays = (scaled > limits(own).largest) | ((scaled > 0) & (scaled < limits(own).least))
        ones = [np.ones(operand.value.shape, operand.value.dtype) for operand in operands]
        ones[number] = strays.astype(factor.value.dtype)
        found = found + np.asarray(context.evaluate(instruction, ones)).real
    return np.asarray(found > 0)


def _type_of(instruction: Instruction, number: int, context: Context) -> ElementType:
    return next(leaves(context.originals[instruction].operands[number].shape)).element_type


def _coarsest(instruction: Instruction) -> float:
    """The unit that an explicit algorithm may round operands to."""
    algorithm = str(instruction.attributes.get("algorithm", ""))
    if any(name in algorithm for name in ("x3", "x6", "x9", "X3", "X6", "X9")):
        return 2.0**-16
    return max((unit for name, unit in _OPERAND_UNITS.items() if name in algorithm), default=0.0)


RULES: dict[str, Rule] = {
    "reduce": _reduce,
    "reduce-window": _reduce,
    "scatter": _scatter,
    "select-and-scatter": _select_and_scatter,
    "convolution": _convolution,
    **dict.fromkeys(("dot", "ragged-dot"), _multilinear),
    "scaled-dot": _scaled,
}
