"""reduce-window and select-and-scatter.

What a window covers of the padding is not combined, as in all of XLA's implementations (see README.md).  A window as
long as the array that moves by one is a running reduction and costs no more than that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.ir.attributes import PaddingDimension, Window, WindowDimension
from compiler.ir.combiner import accumulator, apply, identity, reduce_axes, scatter_flat, ufunc
from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import Array, narrow, widen
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.shape_rules import dims_agree, like_root, merge_dynamic, operands, require, signature
from compiler.ir.traits import Trait
from compiler.ir.types import PRED, ElementType
from compiler.ir.windows import check_window, output_size, pad, window_of, window_padding, window_view

_SMALL = 256
"""Elements of a window whose sum is the one that compilers make, to the bit of an f64."""


def _infer_reduce_window(instruction: Instruction) -> Shape:
    shapes = operands(instruction)
    count, odd = divmod(len(shapes), 2)
    require(not odd and count, f"reduce-window takes arrays and as many initial values, not {len(shapes)} operands")
    arrays, inits = shapes[:count], shapes[count:]
    for index, (array, init) in enumerate(zip(arrays, inits, strict=True)):
        require(
            dims_agree(arrays[0], array), f"operands 0 and {index} of reduce-window differ: {arrays[0]} and {array}"
        )
        require(not init.dims, f"the initial value of operand {index} must be a scalar, not {init}")
    scalars = [ArrayShape(shape.element_type, ()) for shape in (*inits, *arrays)]
    root = signature(instruction, instruction.attributes["to_apply"], scalars)
    results = root.elements if isinstance(root, TupleShape) else (root,)
    require(len(results) == count, f"to_apply yields {root} but {count} values are reduced")
    dims = check_window(arrays[0], window_of(instruction, arrays[0].rank))
    flags = merge_dynamic(arrays)
    return like_root(root, [ArrayShape(init.element_type, dims, flags) for init in inits])


def _reduce_window(instruction: Instruction, values: Sequence[Array], evaluator: Evaluator) -> Value:
    count = len(values) // 2
    arrays, inits = values[:count], values[count:]
    computation: Computation = instruction.attributes["to_apply"]
    types = [o.array.element_type for o in instruction.operands[count:]]
    rank = arrays[0].ndim
    window = window_of(instruction, rank)
    function = ufunc(computation, types[0]) if count == 1 else None
    counts = [output_size(size, dimension) for size, dimension in zip(arrays[0].shape, window, strict=True)]
    if 0 in counts:  # nor is there then a limit to what a window covers
        empty = tuple(np.empty(counts, init.dtype) for init in inits)
        return empty if isinstance(computation.root.shape, TupleShape) else empty[0]
    if function is not None:
        result = _by_ufunc(function, arrays[0], inits[0], window, types[0])
        return (result,) if isinstance(computation.root.shape, TupleShape) else result
    padding = [window_padding(dimension) for dimension in window]
    views = [window_view(pad(array, init, padding), window) for array, init in zip(arrays, inits, strict=True)]
    axes = range(rank, 2 * rank)
    if all(dimension == PaddingDimension(0, 0) for dimension in padding):
        results = reduce_axes(computation, views, inits, axes, types, evaluator)
    else:
        results = _fold_inside(computation, views, inits, _inside(arrays[0].shape, window), evaluator)
    return results if isinstance(computation.root.shape, TupleShape) else results[0]


def _inside(dims: tuple[int, ...], window: Window) -> Array:
    """Which of the elements of each window are none of the padding."""
    return window_view(
        pad(np.ones(dims, np.bool_), np.False_, [window_padding(dimension) for dimension in window]), window
    )


def _fold_inside(
    computation: Computation, views: Sequence[Array], inits: Sequence[Array], inside: Array, evaluator: Evaluator
) -> tuple[Array, ...]:
    """Fold the elements of windows one after another, passing over those in the padding."""
    rank = inside.ndim // 2
    counts = inside.shape[:rank]
    carried = tuple(np.broadcast_to(init, counts) for init in inits)
    for element in np.ndindex(inside.shape[rank:]):
        at = (..., *element)
        combined = apply(computation, carried, [view[at] for view in views], evaluator)
        carried = tuple(np.where(inside[at], new, old) for new, old in zip(combined, carried, strict=True))
    return carried


def _by_ufunc(function: np.ufunc, array: Array, init: Array, window: Window, element_type: ElementType) -> Array:
    """Reduce by a NumPy function, for which the padding holds the value that changes nothing, if there is one.

    Small windows are gone through in order.  Of large ones it is one dimension after the other, which takes the sum of
    their sizes, not the product.
    """
    value, start = (widen(v, element_type, precise=False) for v in (array, init))
    dtype = accumulator(function, value)
    along = _running_dimension(value.shape, window)
    if along is not None:
        backward = window[along].pad_low == 0
        ordered = np.flip(value, along) if backward else value
        result = function(start.astype(dtype), function.accumulate(ordered, axis=along, dtype=dtype))
        return narrow(np.flip(result, along) if backward else result, element_type)
    neutral, padding = identity(function, element_type), [window_padding(dimension) for dimension in window]
    padded = pad(value, 1 if neutral is None else neutral, padding)
    if neutral is None or math.prod(dimension.size for dimension in window) <= _SMALL:
        axes = tuple(range(value.ndim, 2 * value.ndim))
        view = window_view(padded, window)
        inside = _inside(value.shape, window) if neutral is None else True
        return narrow(function.reduce(view, axis=axes, dtype=dtype, initial=start[()], where=inside), element_type)
    for d, dimension in enumerate(window):
        line = tuple(dimension if k == d else WindowDimension() for k in range(value.ndim))
        lines = window_view(padded, line).squeeze(tuple(value.ndim + k for k in range(value.ndim) if k != d))
        padded = function.reduce(lines, axis=-1, dtype=dtype)
    return narrow(function(start.astype(dtype), padded), element_type)


def _running_dimension(dims: tuple[int, ...], window: Window) -> int | None:
    """The one dimension whose window reaches from the array's start (or end) to each place, if that is all there is."""
    moving = [d for d, dimension in enumerate(window) if dimension != WindowDimension()]
    if len(moving) != 1:
        return None
    size, dimension = dims[moving[0]], window[moving[0]]
    forward, backward = WindowDimension(size, pad_low=size - 1), WindowDimension(size, pad_high=size - 1)
    return moving[0] if dimension in (forward, backward) else None


def _infer_select_and_scatter(instruction: Instruction) -> Shape:
    array, source, init = operands(instruction)
    require(not init.dims, f"the initial value of select-and-scatter must be a scalar, not {init}")
    element = ArrayShape(array.element_type, ())
    signature(instruction, instruction.attributes["select"], [element, element], ArrayShape(PRED, ()))
    moved = ArrayShape(source.element_type, ())
    signature(instruction, instruction.attributes["scatter"], [moved, moved])
    dims = check_window(array, window_of(instruction, array.rank))
    fits = dims_agree(source, ArrayShape(source.element_type, dims))
    require(fits, f"the window has {list(dims)} places in {array}, but the source is {source}")
    return ArrayShape(array.element_type, array.dims, array.dynamic)


def _select_and_scatter(instruction: Instruction, values: Sequence[Array], evaluator: Evaluator) -> Value:
    array, source, init = values
    if not source.size:
        return np.broadcast_to(init, array.shape)
    window = window_of(instruction, array.ndim)
    padding = [window_padding(dimension) for dimension in window]
    numbers = np.arange(array.size, dtype=np.int64).reshape(array.shape)
    # Places in the padding have no number; they are never selected.
    positions = window_view(pad(numbers, -1, padding), window).reshape(*source.shape, -1)
    flat = array.reshape(-1)
    chosen = positions[..., 0]
    for element in range(1, positions.shape[-1]):
        other = positions[..., element]
        keep = np.asarray(evaluator.map(instruction.attributes["select"], [flat[chosen], flat[other]]))
        chosen = np.where((other < 0) | (keep & (chosen >= 0)), chosen, other)
    filled = np.broadcast_to(init, flat.shape)
    inside = chosen >= 0
    element_type = instruction.operands[0].array.element_type
    (result,) = scatter_flat(
        instruction.attributes["scatter"], [filled], chosen[inside], [source[inside]], [element_type], evaluator
    )
    return result.reshape(array.shape)


OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "reduce-window",
            (2, None),
            _infer_reduce_window,
            _reduce_window,
            "Reduce every window of an array.",
            required=("to_apply",),
            optional=("window",),
            traits=Trait.ACCUMULATES | Trait.COMBINES,
        ),
        Op(
            "select-and-scatter",
            (3, 3),
            _infer_select_and_scatter,
            _select_and_scatter,
            "Add to each element what belongs to the windows that select it.",
            required=("select", "scatter"),
            optional=("window",),
            traits=Trait.ACCUMULATES | Trait.COMBINES,
        ),
    )
}
