"""Recognising the computations that reductions are mostly given: one binary op on the two parameters.

What is recognised is structure alone (which opcode, on which parameters); what to make of it is the caller's affair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import Array, bounds, integer_bounds, narrow, widen
from compiler.ir.opdef import Evaluator
from compiler.ir.types import F8E8M0, ONE_NAN, ElementType, Kind


def binary_opcode(computation: Computation) -> str | None:
    """The opcode of a computation that is one of `COMBINERS` on its two parameters, else None.

    The computation need not be valid: it is asked for before that is known.
    """
    root = _unwrapped(computation.root)
    if root.opcode not in COMBINERS or len(computation.parameters) != 2 or len(root.operands) != 2:
        return None
    left, right = root.operands
    if left is right or "parameter" not in (left.opcode, right.opcode) or left.opcode != right.opcode:
        return None
    return root.opcode


def binary_opcodes(computation: Computation) -> list[str | None]:
    """Of each result of a computation the opcode, if it is one of `COMBINERS` on the result's own two parameters.

    The first half of the parameters are what was combined so far, the others what comes next.
    """
    results = computation.root.operands if computation.root.opcode == "tuple" else [computation.root]
    return [_of_own(root, number, len(results)) for number, root in enumerate(results)]


def _of_own(root: Instruction, number: int, count: int) -> str | None:
    own = [operand.parameter_number for operand in root.operands if operand.opcode == "parameter"]
    is_of_own = len(root.operands) == 2 and sorted(own) == [number, count + number]
    return root.opcode if is_of_own and root.opcode in COMBINERS else None


def _unwrapped(root: Instruction) -> Instruction:
    """What a tuple of one holds, taken out of it or not."""
    if root.opcode == "get-tuple-element" and root.operands and root.operands[0].opcode == "tuple":
        elements, index = root.operands[0].operands, root.attributes["index"]
        return elements[index] if 0 <= index < len(elements) else root
    return root.operands[0] if root.opcode == "tuple" and len(root.operands) == 1 else root


class Comparison(NamedTuple):
    """A comparison of two elements: of parameters 2k and 2k + 1 by `key` k, in which direction, and how."""

    key: int
    direction: str
    type: str


def comparison(computation: Computation) -> Comparison | None:
    """The comparison that a computation is, where it is one of one pair of parameters."""
    root = computation.root
    if root.opcode != "compare" or any(operand.opcode != "parameter" for operand in root.operands):
        return None
    left, right = (_number(operand) for operand in root.operands)
    if left // 2 != right // 2 or left == right:
        return None
    direction: str = root.attributes["direction"]
    if left > right:
        direction = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(direction, direction)
    return Comparison(left // 2, direction, root.attributes.get("type", ""))


def _number(instruction: Instruction) -> int:
    return instruction.parameter_number


_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}

_PRED_UFUNCS: dict[str, np.ufunc] = {
    "add": np.logical_or,
    "multiply": np.logical_and,
    "maximum": np.logical_or,
    "minimum": np.logical_and,
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


COMBINERS = frozenset(_UFUNCS)
"""Opcodes that combine two values of one type to a third of it, in any order."""


def ufunc(computation: Computation, element_type: ElementType) -> np.ufunc | None:
    """The NumPy function that a computation is on an element type, if it is one that NumPy can reduce by."""
    opcode = binary_opcode(computation)
    return None if opcode is None else ufunc_of(opcode, element_type)


def ufunc_of(opcode: str, element_type: ElementType) -> np.ufunc | None:
    """The NumPy function that one of `COMBINERS` is on an element type, if there is one."""
    if element_type.kind is Kind.OPAQUE or (element_type.is_complex and opcode in ("maximum", "minimum")):
        return None
    return (_PRED_UFUNCS if element_type.kind is Kind.PRED else _UFUNCS)[opcode]


def accumulator(function: np.ufunc, value: Array) -> np.dtype[np.generic]:
    """The type that a widened value is reduced in: sums and products of floats are rounded at the end."""
    wide = {np.dtype(np.float32): np.dtype(np.float64), np.dtype(np.complex64): np.dtype(np.complex128)}
    return wide.get(value.dtype, value.dtype) if function in (np.add, np.multiply) else value.dtype


def identity(function: np.ufunc, element_type: ElementType) -> Any:
    """The value with which a recognised combiner leaves every other as it is; None where the type has no such value."""
    if function is np.add:
        return _nothing(element_type)
    if function in _LEAST:
        low, high = bounds(element_type)
        return low if function is np.maximum else high
    if function is np.bitwise_and:
        return -1 if element_type.is_signed else integer_bounds(element_type)[1]
    if function is np.multiply and element_type.is_complex:
        return None  # infinity times a zero part is NaN
    if function is np.multiply and element_type.is_signed and element_type.bits == 1:
        return -1  # which has the bits of 1, and itself for its square
    return 1 if function in (np.multiply, np.logical_and) else 0


def absorber(function: np.ufunc, element_type: ElementType) -> Any:
    """The value that a recognised combiner gives with every other; None where there is none, as of floats with NaN."""
    if element_type.is_float or element_type.is_complex:
        return None
    if function in _LEAST:
        return identity(np.minimum if function is np.maximum else np.maximum, element_type)
    if function is np.bitwise_or:
        return identity(np.bitwise_and, element_type)
    if function is np.logical_or:
        return 1
    return 0 if function in (np.logical_and, np.bitwise_and, np.multiply) else None


def _nothing(element_type: ElementType) -> Any:
    """What a sum leaves out: of floats that have two zeros only -0 leaves -0 as it is."""
    if element_type.is_complex:
        return complex(-0.0, -0.0)
    if element_type is F8E8M0:
        return None
    return -0.0 if element_type.is_float and element_type not in ONE_NAN else 0


_LEAST = (np.maximum, np.minimum)

_SEQUENTIAL = 128
"""Up to this length an axis is folded from its start, as XLA:CPU does; beyond it, in a tree of adjacent pairs."""


def reduce_last(
    computation: Computation, values: Sequence[Array], inits: Sequence[Array], evaluator: Evaluator
) -> tuple[Array, ...]:
    """Reduce the last axis of each value by a computation of any kind, starting from the inits.

    The order of operands is kept, so that only associativity is asked of the computation.

    Args:
        computation: takes a value and an element of each array, and gives the values.
        values: arrays of one shape.
        inits: start values, scalars.
        evaluator: runs the computation.
    """
    length = values[0].shape[-1]
    outer = values[0].shape[:-1]
    carried = tuple(np.broadcast_to(init, outer) for init in inits)
    if length <= _SEQUENTIAL:
        for index in range(length):
            carried = apply(computation, carried, [value[..., index] for value in values], evaluator)
        return carried
    current = tuple(values)
    while (length := current[0].shape[-1]) > 1:
        even = length - length % 2
        paired = apply(computation, [v[..., 0:even:2] for v in current], [v[..., 1:even:2] for v in current], evaluator)
        rest = [v[..., even:] for v in current]
        current = tuple(np.concatenate([p, r], axis=-1) for p, r in zip(paired, rest, strict=True))
    return apply(computation, carried, [value[..., 0] for value in current], evaluator)


def apply(
    computation: Computation, left: Sequence[Array], right: Sequence[Array], evaluator: Evaluator
) -> tuple[Array, ...]:
    """Combine arrays element by element; the results have the arrays' common shape.

    Args:
        computation: takes two scalars for each pair of arrays.
        left: arrays of one shape.
        right: as many of the same types, which broadcast to it.
        evaluator: runs the computation where it is no single operation.
    """
    result = evaluator.map(computation, [*left, *right])
    results = result if isinstance(result, tuple) else (result,)
    shape = np.broadcast_shapes(left[0].shape, right[0].shape)
    return tuple(np.broadcast_to(value, shape) for value in results)


def reduce_axes(
    computation: Computation,
    values: Sequence[Array],
    inits: Sequence[Array],
    axes: Sequence[int],
    element_types: Sequence[ElementType],
    evaluator: Evaluator,
) -> tuple[Array, ...]:
    """Reduce some axes of each value, by NumPy where it can, else by the computation; rounded once.

    Args:
        computation: takes a value and an element of each array, and gives the values.
        values: arrays of one shape.
        inits: start values, scalars.
        axes: that are reduced.
        element_types: of the values.
        evaluator: runs the computation.
    """
    function = ufunc(computation, element_types[0]) if len(values) == 1 else None
    if function is not None:
        value = widen(values[0], element_types[0], precise=False)
        init = widen(inits[0], element_types[0], precise=False)
        dtype = accumulator(function, value)
        return (narrow(function.reduce(value, axis=tuple(axes), dtype=dtype, initial=init[()]), element_types[0]),)
    axes = sorted(axes)  # elements are combined in their order, whatever the order in which dimensions are named
    kept = [axis for axis in range(values[0].ndim) if axis not in axes]
    outer = [values[0].shape[axis] for axis in kept]
    rows = [
        value.transpose(*kept, *axes).reshape(*outer, -1) if value.size else _empty(value, outer, axes)
        for value in values
    ]
    return reduce_last(computation, rows, inits, evaluator)


def _empty(value: Array, outer: Sequence[int], axes: Sequence[int]) -> Array:
    length = int(np.prod([value.shape[axis] for axis in axes], dtype=np.int64))
    return np.empty((*outer, length), value.dtype)


def combine_at(
    computation: Computation,
    targets: Sequence[Array],
    positions: Array,
    updates: Sequence[Array],
    evaluator: Evaluator,
) -> tuple[Array, ...]:
    """Combine updates into flat targets at flat places, in the order of the updates where places meet.

    Args:
        computation: takes elements of the targets and of the updates, and gives the new ones.
        targets: flat arrays, which are changed, and are the results.
        positions: in the targets, one for each update.
        updates: as many elements for each target as there are positions.
        evaluator: runs the computation.
    """
    if computation.root.opcode == "parameter" and len(targets) == 1 and computation.root.parameter_number == 1:
        targets[0][positions] = updates[0]
        return tuple(targets)
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if ordered.size else ordered
    counts = np.diff(np.r_[starts, ordered.size])
    for rank in range(int(counts.max(initial=0))):
        chosen = starts[counts > rank] + rank
        at, source = ordered[chosen], order[chosen]
        results = apply(computation, [t[at] for t in targets], [u[source] for u in updates], evaluator)
        for target, result in zip(targets, results, strict=True):
            target[at] = result
    return tuple(targets)


def scatter_flat(
    computation: Computation,
    targets: Sequence[Array],
    positions: Array,
    updates: Sequence[Array],
    element_types: Sequence[ElementType],
    evaluator: Evaluator,
) -> tuple[Array, ...]:
    """New flat arrays: the targets with updates combined in at flat places; sums and products are rounded once.

    Args:
        computation: takes elements of the targets and of the updates, and gives the new ones.
        targets: flat arrays.
        positions: in the targets, one for each update.
        updates: as many elements for each target as there are positions.
        element_types: of the targets.
        evaluator: runs the computation.
    """
    function = ufunc(computation, element_types[0]) if len(targets) == 1 else None
    if function is None:
        return combine_at(computation, [np.array(target) for target in targets], positions, updates, evaluator)
    target = widen(targets[0], element_types[0], precise=False)
    result = np.array(target, dtype=accumulator(function, target))
    function.at(result, positions, widen(updates[0], element_types[0], precise=False))
    return (narrow(result, element_types[0]),)
