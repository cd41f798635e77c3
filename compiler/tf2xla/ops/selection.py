"""Choosing, converting, and combining many arrays into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from compiler.expansion.expression import Expression
from compiler.ir.types import PRED, TYPES, ElementType
from compiler.tf2xla.broadcasting import together
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import record, table
from compiler.tf2xla.values import TensorList, Value


def _select(operation: Operation) -> Expression:
    """The older form: the condition is as the branches, a scalar, or a vector that chooses rows."""
    condition, then, otherwise = operation["condition"], operation["t"], operation["e"]
    operation.require(
        then.dims == otherwise.dims, lambda: f"its branches have the sizes {then.dims} and {otherwise.dims}"
    )
    if len(condition.dims) == 1 and len(then.dims) > 1:
        operation.require(condition.dims[0] == then.dims[0], "its condition has another length than its branches")
        condition = condition.spread(then.dims, [0])
    fits = condition.dims in ((), then.dims)
    operation.require(fits, lambda: f"a condition of the sizes {condition.dims} does not choose among {then.dims}")
    return condition.where(then, otherwise)


def _select_v2(operation: Operation) -> Expression:
    condition, then, otherwise = together(operation, operation["condition"], operation["t"], operation["e"])
    return condition.where(then, otherwise)


def _cast(operation: Operation) -> Expression:
    return cast(operation["x"], operation.type("DstT"))


def cast(x: Expression, target: ElementType) -> Expression:
    """The same numbers in another type; of a complex number the real part, and true for what is not 0.

    Integers wrap.  A float beyond an integer type saturates and NaN becomes 0, as XLA has it; the kernels on CPUs give
    what the processor does, which on x86 is the least integer.
    """
    if target is PRED:
        return x.compare("NE", 0)
    if x.type.is_complex and not target.is_complex:
        return x.apply("real").to(target)
    if target.is_complex and not x.type.is_complex:
        real_ = x.to(TYPES["f32" if target.bits == 64 else "f64"])
        return real_.apply("complex", real_.literal(0))
    return x.to(target)


def _add_n(operation: Operation) -> Value:
    items = operation.items("inputs")
    if isinstance(items[0], TensorList):
        return _added_lists(operation, [one for one in items if isinstance(one, TensorList)])
    inputs = operation.list("inputs")
    same = all(one.dims == inputs[0].dims for one in inputs)
    operation.require(same, lambda: f"its inputs have different sizes: {', '.join(str(list(i.dims)) for i in inputs)}")
    return reduce(lambda left, right: left + right, inputs)


def _added_lists(operation: Operation, lists: Sequence[TensorList]) -> TensorList:
    """Element by element; a list whose elements nobody has seen is one of zeros."""
    if any(one.is_nested for one in lists):
        raise operation.unsupported("its lists have lists in them: add what is in these")
    arrays = [one.buffer for one in lists if one.buffer is not None]
    if not arrays:
        return lists[0]
    same = all(one.dims == arrays[0].dims for one in arrays)
    operation.require(same, lambda: f"its lists differ: {', '.join(str(list(one.dims)) for one in arrays)}")
    return replace(lists[0], buffer=reduce(lambda left, right: left + right, arrays), each=None)


def _clip(operation: Operation) -> Expression:
    x, low, high = operation["t"], operation["clip_value_min"], operation["clip_value_max"]
    for bound in (low, high):
        operation.require(bound.dims in ((), x.dims), "its bounds must be scalars, or as the array")
    low, high = (bound.spread(x.dims, ()) if not bound.dims else bound for bound in (low, high))
    return x.apply("minimum", high).apply("maximum", low)


RECORDS = table(
    record("Select", "condition: bool, t: T, e: T -> output: T; T: {any}", _select, "t or e, by the condition."),
    record(
        "SelectV2", "condition: bool, t: T, e: T -> output: T; T: {any}", _select_v2, "t or e, spread over each other."
    ),
    record(
        "Cast",
        "x: SrcT -> y: DstT; SrcT: {any}; DstT: {any}; Truncate: bool = false",
        _cast,
        "The same numbers in another type.",
    ),
    record("AddN", "inputs: N*T -> sum: T; N: int; T: {numbers variant}", _add_n, "The sum of all inputs."),
    record(
        "ClipByValue",
        "t: T, clip_value_min: T, clip_value_max: T -> output: T; T: {numbers}",
        _clip,
        "The nearest number between the bounds.",
    ),
)
