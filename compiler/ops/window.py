"""reduce-window and select-and-scatter.

Elements of the padding hold the initial value and are combined like any other, as the language says.  A window as long
as the array that moves by one is a running reduction and costs no more than that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.attributes import Window, WindowDimension
from compiler.ir.combiner import accumulator, reduce_axes, scatter_flat, ufunc
from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import Array, narrow, widen
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.shape_rules import dims_agree, operand, operands, require, signature, tuple_or_single
from compiler.ir.types import PRED, ElementType
from compiler.ir.windows import check_window, pad, window_padding, window_view


def _window(instruction: Instruction, rank: int) -> Window:
    window: Window = instruction.attributes.get("window", ())
    return window or (WindowDimension(),) * rank


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
    dims = check_window(arrays[0], _window(instruction, arrays[0].rank))
    return tuple_or_single([ArrayShape(init.element_type, dims) for init in inits])


def _reduce_window(instruction: Instruction, values: Sequence[Array], evaluator: Evaluator) -> Value:
    count = len(values) // 2
    arrays, inits = values[:count], values[count:]
    computation: Computation = instruction.attributes["to_apply"]
    types = [o.array.element_type for o in instruction.operands[count:]]
    rank = arrays[0].ndim
    window = _window(instruction, rank)
    running = _running(computation, arrays, inits, window, types)
    if running is not None:
        return running
    padding = [window_padding(part) for part in window]
    views = [window_view(pad(array, init, padding), window) for array, init in zip(arrays, inits, strict=True)]
    results = reduce_axes(computation, views, inits, range(rank, 2 * rank), types, evaluator)
    return results if count > 1 else results[0]


_IDENTITIES: dict[np.ufunc, object] = {np.add: 0, np.multiply: 1, np.logical_or: False, np.logical_and: True}


def _running(
    computation: Computation,
    arrays: Sequence[Array],
    inits: Sequence[Array],
    window: Window,
    types: Sequence[ElementType],
) -> Array | None:
    """The result where one dimension's window reaches from the array's start (or end) to each place; else None."""
    function = ufunc(computation, types[0]) if len(arrays) == 1 else None
    moving = [d for d, part in enumerate(window) if part != WindowDimension()]
    if function is None or len(moving) != 1 or _IDENTITIES.get(function) != inits[0]:
        return None
    (along,) = moving
    size, part = arrays[0].shape[along], window[along]
    reach = max(part.pad_low, part.pad_high)
    backward = part.pad_low == 0
    ends = WindowDimension(size, pad_low=0 if backward else reach, pad_high=reach if backward else 0)
    if part != ends or reach != size - 1:
        return None
    value = widen(arrays[0], types[0], precise=False)
    value = np.flip(value, along) if backward else value
    result = function.accumulate(value, axis=along, dtype=accumulator(function, value))
    return narrow(np.flip(result, along) if backward else result, types[0])


def _infer_select_and_scatter(instruction: Instruction) -> Shape:
    array, source, init = operands(instruction)
    require(not init.dims, f"the initial value of select-and-scatter must be a scalar, not {init}")
    element = ArrayShape(array.element_type, ())
    signature(instruction, instruction.attributes["select"], [element, element], ArrayShape(PRED, ()))
    moved = ArrayShape(source.element_type, ())
    signature(instruction, instruction.attributes["scatter"], [moved, moved])
    dims = check_window(array, _window(instruction, array.rank))
    fits = dims_agree(source, ArrayShape(source.element_type, dims))
    require(fits, f"the window has {list(dims)} places in {array}, but the source is {source}")
    return ArrayShape(operand(instruction, 0).element_type, array.dims)


def _select_and_scatter(instruction: Instruction, values: Sequence[Array], evaluator: Evaluator) -> Value:
    array, source, init = values
    window = _window(instruction, array.ndim)
    padding = [window_padding(part) for part in window]
    numbers = np.arange(array.size, dtype=np.int64).reshape(array.shape)
    # Places in the padding have no number; they are never selected.
    places = window_view(pad(numbers, -1, padding), window).reshape(*source.shape, -1)
    flat = array.reshape(-1)
    chosen = places[..., 0]
    for element in range(1, places.shape[-1]):
        other = places[..., element]
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
        ),
        Op(
            "select-and-scatter",
            (3, 3),
            _infer_select_and_scatter,
            _select_and_scatter,
            "Add to each element what belongs to the windows that select it.",
            required=("select", "scatter"),
            optional=("window",),
        ),
    )
}
