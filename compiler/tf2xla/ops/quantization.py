"""Numbers rounded to what few bits hold, and the gradients that training takes of that.

The range of `FakeQuant` is moved so that 0 is one of the numbers that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.expansion.expression import Expression
from compiler.ir.numbers import bounds
from compiler.ir.types import F32
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Lower, record, table
from compiler.tf2xla.reducing import greatest, reduced, total


@dataclass(frozen=True, slots=True)
class _Range:
    """From where to where numbers go, how far they lie apart, and whether that is only 0; spread over the numbers."""

    low: Expression
    high: Expression
    step: Expression
    is_nothing: Expression


def _nudged(operation: Operation, low: Expression, high: Expression) -> _Range:
    bits = operation.attribute("num_bits")
    operation.require(2 <= bits <= 16, f"num_bits must be from 2 to 16, not {bits}")
    first, last = float(operation.attribute("narrow_range")), float((1 << bits) - 1)
    step = (high - low) / (last - first)
    zero_point = -(low / step) + first
    ends = [low.literal(one).spread(low.dims, ()) for one in (first, last)]
    rounded = (zero_point + 0.5).apply("floor")
    at = zero_point.compare("LE", first).where(ends[0], zero_point.compare("GE", last).where(ends[1], rounded))
    is_nothing = low.compare("EQ", 0) & high.compare("EQ", 0)
    return _Range((-at + first) * step, (-at + last) * step, step, is_nothing)


def _rounded(x: Expression, along: _Range) -> Expression:
    clamped = x.apply("maximum", along.low).apply("minimum", along.high)
    steps = ((clamped - along.low) * (along.step.literal(1).spread(x.dims, ()) / along.step) + 0.5).apply("floor")
    return along.is_nothing.where(x.literal(0).spread(x.dims, ()), steps * along.step + along.low)


def _stated(operation: Operation) -> tuple[Expression, Expression]:
    """The range that the node states."""
    low, high = operation.attribute("min"), operation.attribute("max")
    operation.require(low < high, f"its range from {low} to {high} is empty")
    return operation.number(low, F32), operation.number(high, F32)


def _given(operation: Operation) -> tuple[Expression, Expression]:
    """The range that is given, one for all numbers."""
    low, high = operation["min"], operation["max"]
    operation.require(not low.dims and not high.dims, "its min and max must be scalars")
    return low, high


def _by_channel(operation: Operation) -> tuple[Expression, Expression]:
    """A range for each element of the last dimension."""
    low, high, x = operation["min"], operation["max"], operation["inputs"]
    fits = low.dims == high.dims == x.dims[-1:] and bool(x.dims)
    operation.require(fits, lambda: f"min and max must have the sizes {list(x.dims[-1:])}")
    return low, high


Ends = Callable[[Operation], tuple[Expression, Expression]]


def _range(operation: Operation, ends: Ends) -> _Range:
    x = operation["inputs"]
    found = _nudged(operation, *ends(operation))
    axes = range(len(x.dims) - len(found.low.dims), len(x.dims))
    return _Range(*(one.spread(x.dims, axes) for one in (found.low, found.high, found.step, found.is_nothing)))


def _fake(ends: Ends) -> Lower:
    return lambda operation: _rounded(operation["inputs"], _range(operation, ends))


def _fake_back(ends: Ends) -> Lower:
    """What is inside the range goes to the numbers, what is below or above it to its ends."""

    def lower(operation: Operation) -> Expression | Sequence[Expression]:
        x, g = operation["inputs"], operation["gradients"]
        operation.require(x.dims == g.dims, lambda: f"gradients of {list(g.dims)} are not those of {list(x.dims)}")
        along = _range(operation, ends)
        if len(operation.signature.outputs) == 1:
            return _through(x, g, along.low, along.high, ())[0]
        axes = tuple(range(len(x.dims) - len(operation["min"].dims)))
        of_x, *of_ends = _through(x, g, along.low, along.high, axes)
        return [along.is_nothing.where(g, of_x), *of_ends]

    return lower


def _through(
    x: Expression, g: Expression, low: Expression, high: Expression, axes: tuple[int, ...]
) -> Sequence[Expression]:
    """Of numbers within a range their gradients, and the sums of those of numbers below it and above."""
    zero = g.literal(0).spread(g.dims, ())
    inside = low.compare("LE", x) & x.compare("LE", high)
    outside = [x.compare("LT", low), x.compare("GT", high)]
    return [inside.where(g, zero), *(total(where.where(g, zero), axes) for where in outside)]


def _both_ways_back(operation: Operation) -> Sequence[Expression]:
    x, g = operation["input"], operation["gradients"]
    axis = operation.attribute("axis")
    along = () if axis < 0 else (operation.axis(axis, len(x.dims)),)
    wanted = tuple(x.dims[one] for one in along)
    ends = [operation[name] for name in ("input_min", "input_max")]
    fits = g.dims == x.dims and all(one.dims == wanted for one in ends)
    operation.require(fits, lambda: f"gradients of {list(x.dims)} and a range of {list(wanted)} do not go together")
    low, high = (one.spread(x.dims, along) for one in ends)
    return [_through(x, g, low, high, ())[0], *(operation.full(0, x.type, wanted) for _ in ends)]


def _both_ways(operation: Operation) -> Expression:
    """Rounded to what bits hold, by the given range or that of the numbers, 0 being one of them."""
    x = operation["input"]
    axis = operation.attribute("axis")
    others = tuple(n for n in range(len(x.dims)) if axis < 0 or n != axis)
    along = () if axis < 0 else (operation.axis(axis, len(x.dims)),)
    is_given = operation.attribute("range_given")
    if is_given:
        low, high = operation["input_min"], operation["input_max"]
        wanted = tuple(x.dims[one] for one in along)
        operation.require(low.dims == high.dims == wanted, lambda: f"its range must have the sizes {list(wanted)}")
    else:
        low, high = reduced(x, "minimum", bounds(x.type)[1], others), greatest(x, others)
    low_steps, high_steps = (low.literal(one).spread(low.dims, ()) for one in _steps(operation))
    most = low.literal(float(np.finfo(x.type.dtype).max) if x.type is F32 else bounds(x.type)[1].real)
    scales = [
        (steps * end).compare("GT", 0).where(steps / end, most) for steps, end in ((low_steps, low), (high_steps, high))
    ]
    by_low = scales[0].compare("LT", scales[1])
    scale = by_low.where(*scales)
    inverse = by_low.where(low / low_steps, high / high_steps)
    low, high = by_low.where(low, low_steps * inverse), by_low.where(high_steps * inverse, high)
    low, high, scale, inverse = (one.spread(x.dims, along) for one in (low, high, scale, inverse))
    clamped = x.apply("minimum", high).apply("maximum", low) if is_given else x
    return _nearest(operation, clamped * scale) * inverse


def _nearest(operation: Operation, x: Expression) -> Expression:
    mode = operation.attribute("round_mode") if "round_mode" in operation.signature.attributes else b"HALF_TO_EVEN"
    operation.require(mode in _ROUNDED, f"its round_mode must be HALF_TO_EVEN or HALF_UP, not {mode!r}")
    return _ROUNDED[mode](x)


def _steps(operation: Operation) -> tuple[float, float]:
    """The least and the greatest of the whole numbers that bits hold."""
    is_signed = operation.attribute("signed_input")
    bits = operation.attribute("num_bits") if "num_bits" in operation.signature.attributes else None
    bits = int(operation.value("num_bits")) if bits is None else bits
    most = 62 if is_signed else 63
    operation.require(0 < bits < most, f"num_bits must be from 1 to {most - 1}, not {bits}")
    low = -(2.0 ** (bits - 1)) + operation.attribute("narrow_range") if is_signed else 0.0
    return low, 2.0 ** (bits - 1 if is_signed else bits) - 1


_ROUNDED: dict[bytes, Callable[[Expression], Expression]] = {
    b"HALF_TO_EVEN": lambda x: x.apply("round-nearest-even"),
    b"HALF_UP": lambda x: (x + 0.5).apply("floor"),
}
_BITS = "num_bits: int = 8; narrow_range: bool = false"
_STATED = f"min: float = -6; max: float = 6; {_BITS}"
_ENDS = "min: float32, max: float32"
_BOTH = "input: T, input_min: T, input_max: T"
_NEW = (
    "signed_input: bool = true; num_bits: int = 8; range_given: bool = false; T: {floats}; "
    "round_mode: string = 'HALF_TO_EVEN'; narrow_range: bool = false; axis: int = -1"
)
_BACK = (
    f"gradients: float32, inputs: float32, {_ENDS} -> backprops_wrt_input: float32, backprop_wrt_min: float32, "
    f"backprop_wrt_max: float32; {_BITS}"
)
_DOC = "Rounded to what bits hold"
RECORDS = table(
    record("FakeQuantWithMinMaxArgs", f"inputs: float32 -> outputs: float32; {_STATED}", _fake(_stated), f"{_DOC}."),
    record(
        "FakeQuantWithMinMaxArgsGradient",
        f"gradients: float32, inputs: float32 -> backprops: float32; {_STATED}",
        _fake_back(_stated),
        "Its gradient.",
    ),
    *(
        one
        for name, ends, doc in (
            ("FakeQuantWithMinMaxVars", _given, f"{_DOC}, in a range that is given"),
            ("FakeQuantWithMinMaxVarsPerChannel", _by_channel, f"{_DOC}, each channel in a range of its own"),
        )
        for one in (
            record(name, f"inputs: float32, {_ENDS} -> outputs: float32; {_BITS}", _fake(ends), f"{doc}."),
            record(f"{name}Gradient", _BACK, _fake_back(ends), "Its gradient."),
        )
    ),
    record("QuantizeAndDequantizeV2", f"{_BOTH} -> output: T; {_NEW}", _both_ways, f"{_DOC}, and 0."),
    record("QuantizeAndDequantizeV4", f"{_BOTH} -> output: T; {_NEW}", _both_ways, f"{_DOC}, and 0."),
    record(
        "QuantizeAndDequantizeV4Grad",
        f"gradients: T, {_BOTH} -> input_backprop: T, input_min_backprop: T, input_max_backprop: T; T: {{floats}}; "
        "axis: int = -1",
        _both_ways_back,
        "The gradient of numbers within a range, of whose ends it is 0.",
    ),
    record(
        "QuantizeAndDequantizeV3",
        f"{_BOTH}, num_bits: int32 -> output: T; signed_input: bool = true; range_given: bool = true; T: {{floats}}; "
        "narrow_range: bool = false; axis: int = -1",
        _both_ways,
        f"{_DOC}, and 0; how many bits is an input.",
        constants=("num_bits",),
    ),
)
