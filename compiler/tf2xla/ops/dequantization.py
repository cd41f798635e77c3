"""Whole numbers of few bits that stand for floats, and the floats that they stand for.

In which order the kernels multiply and add decides the last bit, so each mode has its own formula.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.expansion.expression import Expression
from compiler.ir.numbers import bounds
from compiler.ir.types import F32, ElementType
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import record, table


def _least_and_most(kind: ElementType) -> tuple[float, float]:
    low, high = bounds(kind)
    return low.real, high.real


def _from_least(operation: Operation, x: Expression, low: Expression, high: Expression) -> Expression:
    """The least whole number is the lower end of the range."""
    least, most = _least_and_most(operation["input"].type)
    scale = (high - low) / (most - least)
    return (x + (-least if least else 0.0)) * scale + low


def _from_step(operation: Operation, x: Expression, low: Expression, high: Expression) -> Expression:
    """The lower end of the range is moved to a multiple of the step, so that 0 is one."""
    least, most = _least_and_most(operation["input"].type)
    step = (high - low) / (most - least)
    is_point = low.compare("EQ", high)
    start = is_point.where(low, (low / step).apply("round-nearest-afz") * step)
    return (start - step * least) + x * step


def _scaled(operation: Operation, x: Expression, low: Expression, high: Expression) -> Expression:
    """0 is 0, and the end that is further away is the last whole number."""
    least, most = _least_and_most(operation["input"].type)
    scale = high / most
    if least:
        scale = (low / (least + operation.attribute("narrow_range"))).apply("maximum", scale)
    return x * scale


def _dequantized(operation: Operation) -> Expression:
    x = operation["input"].to(F32)
    axis = operation.attribute("axis")
    operation.require(-1 <= axis < len(x.dims), f"its axis {axis} is none of {len(x.dims)} dimensions")
    mode = operation.attribute("mode")
    operation.require(mode in _MODES, f"its mode must be MIN_COMBINED, MIN_FIRST or SCALED, not {mode!r}")
    if axis >= 0 and mode == b"MIN_FIRST":
        raise operation.unsupported("no kernel has MIN_FIRST with a range for each slice")
    along = () if axis < 0 else (axis,)
    ends = [operation[name] for name in ("min_range", "max_range")]
    wanted = tuple(x.dims[one] for one in along)
    for end in ends:
        fits = end.dims == wanted if along else end.dims in ((), (1,))
        operation.require(
            fits, lambda: f"its range must have the sizes {list(wanted)}, not {[one.dims for one in ends]}"
        )
    low, high = (end.reshape(*wanted).spread(x.dims, along) for end in ends)
    return _MODES[mode](operation, x, low, high).to(operation.type("dtype"))


_MODES: Mapping[bytes, Callable[[Operation, Expression, Expression, Expression], Expression]] = {
    b"MIN_COMBINED": _from_least,
    b"MIN_FIRST": _from_step,
    b"SCALED": _scaled,
}
RECORDS = table(
    record(
        "Dequantize",
        "input: T, min_range: float32, max_range: float32 -> output: dtype; T: {quantized}; "
        "mode: string = 'MIN_COMBINED'; narrow_range: bool = false; axis: int = -1; "
        "dtype: {bfloat16 float32} = float32",
        _dequantized,
        "The floats that whole numbers of few bits stand for.",
    ),
)
