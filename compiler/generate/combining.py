"""Recipes of opcodes that combine elements by a computation of scalars: reduce, windows, scatter, scan and their kin.

The language leaves open how a reduction is bracketed, and how often its initial value takes part.  So combiners are
associative, most of them commutative too (`generate/reducers.py` has the others), and initial values are their
identities, or any where once is as good as twice; otherwise two right answers would differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.generate.choices import chance, permutation, pick, subset
from compiler.generate.choosing import chooser, numbers_of
from compiler.generate.flow import combined
from compiler.generate.movement import Indices, indices_into, perhaps_of, smaller_dims
from compiler.generate.recipe import COMPLEX, NUMBERS, REAL, Recipe
from compiler.generate.reducers import in_order
from compiler.generate.scope import Scope
from compiler.ir.attributes import Window, WindowDimension
from compiler.ir.literal import scalar_literal
from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import finite_bounds, integer_bounds
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.types import PRED, ElementType, Kind
from compiler.ir.windows import output_size
from compiler.ops import Trait, bitwise, having
from compiler.ops.build import build, constant, parameter

_BITWISE = tuple(sorted(having(Trait.ASSOCIATIVE) & bitwise.OPS.keys()))
_IDEMPOTENT = having(Trait.IDEMPOTENT)
_SIDES = {"minimum": (1, 100), "maximum": (-100, -1)}
_ONE_SIDED_PERCENT, _LEAST_BITS = 30, 8
"""How often an extremum's initial value decides alone, and bits of the integers of which it can."""
_DISTINCT_PERCENT, _ORDERED_PERCENT, _SEVERAL_PERCENT = 60, 50, 15
"""How often indices all differ; how often updates are combined in order; how often several arrays are
reduced at once."""
_IN_ORDER_PERCENT, _OTHER_CARRY_PERCENT = 25, 30
"""How often integers are reduced by what minds their order; how often a scan carries another value than it yields."""
_FINITE_PERCENT, _WITH_NAN = 40, 16
"""How often floats of which one is chosen are all numbers, so that their order alone may decide; least bits of such."""
_CUT_PERCENT, _UNORDERED_PERCENT = 8, 25
"""How often a window's padding takes elements away; how often dimensions that are reduced are named in any order."""


def combiners(element_type: ElementType) -> tuple[str, ...]:
    """The opcodes that combine two values of a type whatever their order."""
    if element_type.is_complex:
        return ("add", "multiply")
    if element_type.kind is Kind.PRED:
        return ("or", "and", "xor", "add", "multiply")
    return ("add", "maximum", "minimum", "multiply", *(_BITWISE if element_type.is_integer else ()))


def identity(opcode: str, element_type: ElementType) -> Any:
    """The value that a combiner leaves others alone with."""
    is_pred, is_float = element_type.kind is Kind.PRED, element_type.is_float
    if opcode in ("add", "or", "xor"):
        return 0
    if opcode == "multiply":
        return -1 if element_type.is_signed and element_type.bits == 1 else 1  # of 0 and -1, which has 1's bits
    if opcode == "and":
        return True if is_pred else -1 if element_type.kind is Kind.SIGNED else integer_bounds(element_type)[1]
    low, high = (-math.inf, math.inf) if is_float else integer_bounds(element_type)
    return low if opcode == "maximum" else high


def combiner(scope: Scope, opcode: str, element_type: ElementType) -> Computation:
    """A computation of one binary opcode.

    Args:
        scope: whose program gets the computation.
        opcode: a binary one.
        element_type: of both parameters and of the result.
    """
    made = scope.program.computation(f"{opcode}_{element_type}")
    shape = ArrayShape(element_type, ())
    made.root = combined(scope, opcode, [parameter(made, 0, shape), parameter(made, 1, shape)])
    return made


def identity_constant(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    """The combiner's identity as a constant.

    Args:
        scope: where it stands.
        opcode: of the combiner.
        element_type: of the constant.
    """
    value = identity(opcode, element_type)
    if element_type.is_float and math.isinf(value) and not np.isinf(np.asarray(value).astype(element_type.dtype)):
        # A type without infinities: its greatest magnitudes order before everything else.
        finite = np.finfo(element_type.dtype) if element_type.bits >= 16 else None
        value = float(finite.max) if finite else 0.0
    array = np.asarray(value).astype(np.int64 if element_type.is_integer and value < 0 else np.asarray(value).dtype)
    return constant(scope.computation, scalar_literal(array.astype(element_type.dtype), element_type))


def _one_sided(scope: Scope, opcode: str, value: Instruction) -> Instruction:
    """Now and then a value on the one side of 0 where an extremum is wrong that begins at 0 or at nothing."""
    element_type = value.array.element_type
    low, high = _SIDES.get(opcode, (0, 0))
    exists = low and element_type.bits >= _LEAST_BITS and (low > 0 or element_type.kind is not Kind.UNSIGNED)
    if not exists or not chance(scope.choices, _ONE_SIDED_PERCENT):
        return value
    return scope.build("clamp", [scope.constant(low, element_type), value, scope.constant(high, element_type)])


def _initial(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    """The combiner's identity, or any scalar where the combiner does not mind how often it takes part."""
    if opcode in _IDEMPOTENT and chance(scope.choices, 15):
        return scope.like(ArrayShape(element_type, ()))
    return identity_constant(scope, opcode, element_type)


ORDERED = tuple(t for t in NUMBERS if not (t.is_float and t.bits < 16))
"""The types of which many are combined; of floats that are narrower not much is left."""


def _reduce(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    if element_type in REAL and element_type is not PRED and chance(scope.choices, 15):
        return arg_reduce(scope, scope.array(element_type, least_rank=1))
    if chance(scope.choices, _SEVERAL_PERCENT):
        return _reduce_several(scope, opcode, element_type)
    if _minds_order(scope, element_type):
        operands, made = in_order(scope, scope.array(element_type, least_rank=1))
        along = scope.choices.integer(0, operands[0].array.rank - 1)
        return elements(scope, scope.build(opcode, operands, to_apply=made, dimensions=(along,)))
    value = scope.array(element_type, least_rank=1)
    axes = _in_any_order(scope, subset(scope.choices, range(value.array.rank), 60) or [value.array.rank - 1])
    combining = pick(scope.choices, combiners(element_type))
    init, value = _initial(scope, combining, element_type), _one_sided(scope, combining, value)
    return scope.build(opcode, [value, init], to_apply=combiner(scope, combining, element_type), dimensions=axes)


def _in_any_order(scope: Scope, axes: Sequence[int]) -> tuple[int, ...]:
    """Dimensions that are reduced, now and then named in another order than theirs, which says the same."""
    if len(axes) < 2 or not chance(scope.choices, _UNORDERED_PERCENT):
        return tuple(axes)
    return tuple(axes[k] for k in reversed(permutation(scope.choices, len(axes))))


def _minds_order(scope: Scope, element_type: ElementType) -> bool:
    """Now and then whether integers are reduced by what does not give the same in another order."""
    return element_type.is_integer and chance(scope.choices, _IN_ORDER_PERCENT)


def _reduce_several(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    """Two arrays at once or three, each combined in its own way, of types of their own."""
    first = scope.array(element_type, least_rank=1)
    values = [first]
    for _ in range(scope.choices.integer(1, 2)):
        found = scope.find(lambda shape: shape.dims == first.array.dims and shape.element_type in ORDERED, but=first)
        values.append(found or first)
    kinds = [value.array.element_type for value in values]
    made = scope.program.computation("several")
    pairs = [
        [parameter(made, len(kinds) * k + n, ArrayShape(kind, ())) for n, kind in enumerate(kinds)] for k in range(2)
    ]
    opcodes = [pick(scope.choices, combiners(kind)) for kind in kinds]
    combined = [build(made, name, pair) for name, *pair in zip(opcodes, *pairs, strict=True)]
    made.root = build(made, "tuple", combined)
    axes = tuple(subset(scope.choices, range(first.array.rank), 60) or [0])
    inits = [identity_constant(scope, name, kind) for name, kind in zip(opcodes, kinds, strict=True)]
    return elements(scope, scope.build(opcode, [*values, *inits], to_apply=made, dimensions=axes))


def arg_reduce(scope: Scope, value: Instruction, axis: int | None = None) -> Instruction:
    """The greatest of real numbers along a dimension, or the least, and its number.

    Args:
        scope: where instructions are put, and the source of decisions.
        value: the numbers, of at least one dimension.
        axis: the dimension, None for any.
    """
    element_type = value.array.element_type
    combining, direction = pick(scope.choices, (("maximum", "GT"), ("minimum", "LT")))
    axis = scope.choices.integer(0, value.array.rank - 1) if axis is None else axis
    numbers = numbers_of(scope, value.array.dims, axis)
    kind = numbers.array.element_type
    is_ordered = element_type.is_integer
    if element_type.is_float and element_type.bits >= _WITH_NAN and chance(scope.choices, _FINITE_PERCENT):
        value, is_ordered = _finite(scope, value), True
    made, last = chooser(scope, element_type, kind, direction, is_ordered=is_ordered)
    inits = [identity_constant(scope, combining, element_type), scope.constant(last, kind)]
    return elements(scope, scope.build("reduce", [value, numbers, *inits], to_apply=made, dimensions=(axis,)))


def _finite(scope: Scope, value: Instruction) -> Instruction:
    """A value of floats without NaN and infinities: any two of its elements have an order, or are equal."""
    kind, zero = value.array.element_type, scope.constant(0, value.array.element_type)
    is_number = build(scope.computation, "compare", [value, value], direction="EQ")
    zeros = build(scope.computation, "broadcast", [zero], shape=value.array, dimensions=())
    numbers = build(scope.computation, "select", [is_number, value, zeros])
    low, high = (scope.constant(end, kind) for end in finite_bounds(kind))
    return scope.build("clamp", [low, numbers, high])


def _window(scope: Scope, dims: Sequence[int], *, plain: bool = False) -> Window:
    """A window that fits, padding less than itself."""
    dimensions = []
    for size in dims:
        length = scope.choices.integer(1, max(1, min(size, 5)))
        made = WindowDimension(length, pick(scope.choices, (1, 1, 2, 3)))
        if not plain:
            low, high = (scope.choices.integer(0, length - 1) for _ in range(2))
            made = replace(made, pad_low=low, pad_high=high)
            if chance(scope.choices, 10):
                made = replace(made, rhs_dilate=2)
            if chance(scope.choices, 10):
                made = replace(made, lhs_dilate=pick(scope.choices, (2, 3)))
            if chance(scope.choices, _CUT_PERCENT):
                made = replace(made, pad_low=-1)
        dimensions.append(made)
    return tuple(dimensions)


def _running_window(scope: Scope, dims: Sequence[int], along: int) -> Window:
    """The window of a running combination, as cumulative sums have it: all that comes before in one dimension."""
    before = chance(scope.choices, 60)
    rest = max(0, dims[along] - 1)
    whole = WindowDimension(rest + 1, pad_low=rest if before else 0, pad_high=0 if before else rest)
    return tuple(whole if d == along else WindowDimension(1) for d in range(len(dims)))


def _reduce_window(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    value = scope.array(element_type, least_rank=1, size=scope.at_most(2048))
    dims_of = value.array.dims
    is_running, along = chance(scope.choices, 20), scope.choices.integer(0, len(dims_of) - 1)
    window = _running_window(scope, dims_of, along) if is_running else _window(scope, dims_of)
    dims = [output_size(n, dimension) for n, dimension in zip(value.array.dims, window, strict=True)]
    if not scope.fits(dims) or min(dims) < 0:
        return None
    if _minds_order(scope, element_type):
        operands, made = in_order(scope, value)
        return elements(scope, scope.build(opcode, operands, to_apply=made, window=window))
    combining = pick(scope.choices, combiners(element_type))
    init, value = identity_constant(scope, combining, element_type), _one_sided(scope, combining, value)
    return scope.build(opcode, [value, init], to_apply=combiner(scope, combining, element_type), window=window)


def running(scope: Scope, value: Instruction, along: int | None = None) -> Instruction:
    """A running combination of a value, as long as the value is, along a dimension.

    Args:
        scope: where instructions are put, and the source of decisions.
        value: an array of at least one dimension.
        along: the number of the dimension, None for any.
    """
    kind = value.array.element_type
    along = scope.choices.integer(0, value.array.rank - 1) if along is None else along
    combining = pick(scope.choices, combiners(kind))
    operands = [value, identity_constant(scope, combining, kind)]
    window = _running_window(scope, value.array.dims, along)
    return scope.build("reduce-window", operands, to_apply=combiner(scope, combining, kind), window=window)


def _select_and_scatter(scope: Scope, _: str, element_type: ElementType) -> Instruction | None:
    value = scope.array(element_type, least_rank=1, size=scope.at_most(1024))
    window = tuple(replace(p, lhs_dilate=1, rhs_dilate=1) for p in _window(scope, value.array.dims))
    dims = tuple(output_size(n, dimension) for n, dimension in zip(value.array.dims, window, strict=True))
    if not scope.fits(dims) or 0 in value.array.dims or min(dims) < 1:
        return None
    return scattered_to_windows(scope, value, scope.like(ArrayShape(element_type, dims)), window)


def scattered_to_windows(scope: Scope, value: Instruction, source: Instruction, window: Window) -> Instruction:
    """Where the greatest of each window is, or the least, what comes from there in the gradient of a pool.

    Args:
        scope: where instructions are put, and the source of decisions.
        value: of which windows are looked at.
        source: a number for each window.
        window: which they are.
    """
    element_type = value.array.element_type
    selecting = scope.program.computation("select_ge")
    shape = ArrayShape(element_type, ())
    pair = [parameter(selecting, 0, shape), parameter(selecting, 1, shape)]
    selecting.root = build(selecting, "compare", pair, direction=pick(scope.choices, ("GE", "LE")))
    operands = [value, source, identity_constant(scope, "add", element_type)]
    adding = combiner(scope, "add", element_type)
    return scope.build("select-and-scatter", operands, select=selecting, scatter=adding, window=window)


def _scatter(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    value = scope.array(element_type, least_rank=1, most_rank=3)
    dims = value.array.dims
    if 0 in dims:
        return None
    found = indices_into(scope, dims)
    inserted = tuple(d for d in range(len(dims)) if d not in found.paired and chance(scope.choices, 60))
    window = smaller_dims(scope, tuple(n for d, n in enumerate(dims) if d not in (*inserted, *found.paired)))
    if not scope.fits([*found.batch, *window]) or not scope.fits(found.dims):
        return None
    window_dims = sorted(permutation(scope.choices, len(found.batch) + len(window))[: len(window)])
    sizes, outer = iter(window), iter(found.batch)
    shape = tuple(next(sizes) if d in window_dims else next(outer) for d in range(len(found.batch) + len(window)))
    kept = [d for d in range(len(dims)) if d not in (*inserted, *found.paired)]
    is_apart = all(size == 1 for d, size in zip(kept, window, strict=True) if d in found.mapped)
    indices, promises = _indices(scope, value, found, is_apart=is_apart)
    updates = perhaps_of(scope, value, ArrayShape(element_type, shape))
    is_single = math.prod(found.batch) == 1 or "unique_indices" in promises
    along = {"input_batching_dims": found.paired, "scatter_indices_batching_dims": found.beside}
    return scope.build(
        opcode,
        [value, indices, updates],
        update_window_dims=tuple(window_dims),
        inserted_window_dims=inserted,
        scatter_dims_to_operand_dims=found.mapped,
        index_vector_dim=found.vector,
        to_apply=of_updates(scope, element_type, is_single=is_single and set(found.mapped) <= set(inserted)),
        **(along if found.paired else {}),
        **promises,
    )


def _indices(
    scope: Scope, value: Instruction, found: Indices, *, is_apart: bool
) -> tuple[Instruction, dict[str, bool]]:
    """Indices, and what is promised of them: those into one dimension may be all its places, in order or backwards.

    Where windows begin at these and are longer, so not `is_apart`, they overlap, and no element is sure to be one's.
    """
    kind = scope.index_type(value.array.dims)
    is_line = len(found.mapped) == len(found.batch) == 1 and not found.paired
    is_short = is_line and found.batch[0] <= min(value.array.dims[found.mapped[0]], integer_bounds(kind)[1])
    if not is_short or not chance(scope.choices, _DISTINCT_PERCENT):
        return perhaps_of(scope, value, ArrayShape(kind, found.dims)), {}
    along = found.dims.index(found.batch[0]) if len(found.dims) == 1 else 1 - found.vector
    window_dims = scope.build("iota", shape=ArrayShape(kind, found.dims), iota_dimension=along)
    unique = {"unique_indices": True} if is_apart else {}
    if chance(scope.choices, 50):
        return window_dims, {**unique, "indices_are_sorted": True}
    return scope.build("reverse", [window_dims], dimensions=(along,)), unique


def of_updates(scope: Scope, element_type: ElementType, *, is_single: bool) -> Computation:
    """What combines elements with updates: where each meets one, its order may matter, or the update alone.

    Args:
        scope: whose program gets the computation.
        element_type: of the elements.
        is_single: whether each element meets one update at most.
    """
    if not is_single or element_type is PRED or not chance(scope.choices, _ORDERED_PERCENT):
        return combiner(scope, pick(scope.choices, combiners(element_type)), element_type)
    if chance(scope.choices, 50):
        return combiner(scope, "subtract", element_type)
    made, shape = scope.program.computation("second"), ArrayShape(element_type, ())
    _, made.root = parameter(made, 0, shape), parameter(made, 1, shape)
    return made


def elements(scope: Scope, done: Instruction) -> Instruction:
    """The instruction itself, or the elements of what it yields."""
    if not isinstance(done.shape, TupleShape):
        return done
    return [scope.build("get-tuple-element", [done], index=k) for k in range(len(done.shape.elements))][-1]


def _scan(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    """A running combination along a dimension, with what is carried as second result."""
    value = scope.array(element_type, least_rank=1, most_rank=2, size=scope.at_most(512))
    along = scope.choices.integer(0, value.array.rank - 1)
    rest = ArrayShape(element_type, value.array.dims[:along] + value.array.dims[along + 1 :])
    made = scope.program.computation("step")
    pair = [parameter(made, 0, rest), parameter(made, 1, rest)]
    combined = carried = build(made, pick(scope.choices, combiners(element_type)), pair)
    if chance(scope.choices, _OTHER_CARRY_PERCENT):
        carried = build(made, pick(scope.choices, combiners(element_type)), [pair[1], pair[0]])
    made.root = build(made, "tuple", [combined, carried])
    start = scope.like(rest)
    reverse = chance(scope.choices, 30)
    done = scope.build(opcode, [value, start], to_apply=made, dimensions=(along,), num_carries=1, is_reverse=reverse)
    return elements(scope, done)


_KEYS = tuple(t for t in ORDERED if t not in COMPLEX)

RECIPES: dict[str, Recipe] = {
    "reduce": Recipe(ORDERED, _reduce),
    "reduce-window": Recipe(ORDERED, _reduce_window),
    "select-and-scatter": Recipe(tuple(t for t in _KEYS if t is not PRED), _select_and_scatter),
    "scatter": Recipe(ORDERED, _scatter),
    "scan": Recipe(ORDERED, _scan),
}
