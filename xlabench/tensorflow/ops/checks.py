"""`tf.assert_*`: operations that fail where values are not as they should be, and checks of ranks and types.

What is known when the graph is built is checked then.

Args:
    x: what is checked, of any type of numbers.
    y: what it is compared with, of the same type.
    data: tensors and texts that are said where the check fails; None for the condition and the values.
    summarize: how many elements of each tensor are said, None for 3.
    message: a text before all that, or None.
    name: of the scope of the nodes, None for one of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xlabench.tensorflow.errors import InvalidArgumentError
from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.dtypes import as_dtype
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.static_values import static_value
from xlabench.tensorflow.framework.tensor import Operation, Tensor
from xlabench.tensorflow.ops.control import assert_, check_numerics
from xlabench.tensorflow.ops.math import REDUCTIONS

_COMPARED = {
    "equal": ("==", "Equal"),
    "none_equal": ("!=", "NotEqual"),
    "less": ("<", "Less"),
    "less_equal": ("<=", "LessEqual"),
    "greater": (">", "Greater"),
    "greater_equal": (">=", "GreaterEqual"),
}
"""What a check of two tensors says, and the op that must hold."""
_KNOWN = {
    "Equal": np.equal,
    "NotEqual": np.not_equal,
    "Less": np.less,
    "LessEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
}
"""The same of values that are known when a graph is built."""
_SIGNS = {
    "positive": (">", "Less", True),
    "negative": ("<", "Less", False),
    "non_negative": (">=", "LessEqual", True),
    "non_positive": ("<=", "LessEqual", False),
}
"""What a check of signs says, the op that must hold with 0, and whether 0 is its first operand."""
_ULPS = 10
"""How many units of the type's precision two values that are near may be apart (TensorFlow, ops/check_ops.py)."""


def _checked(op: str, pair: Sequence[Tensor], data: Sequence[Any], summarize: int | None) -> Operation:
    """The operation that fails unless the comparison `op` holds for all elements of a pair.

    Raises:
        InvalidArgumentError: it is known that it does not.
    """
    condition = REDUCTIONS["reduce_all"](apply(op, pair, {}).outputs[0])
    known = [static_value(one) for one in pair]
    if not any(one is None for one in known) and not np.all(_KNOWN[op](*known)):
        values = [static_value(one) if isinstance(one, Tensor) else one for one in data]
        said = "\n".join(str(one if value is None else value) for one, value in zip(data, values, strict=True))
        raise InvalidArgumentError(None, None, said)
    return assert_(condition, data, summarize)


def _compared(word: str) -> Callable[..., Operation]:
    symbol, op = _COMPARED[word]

    def check(
        x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None,
        name: str | None = None,
    ) -> Operation:  # fmt: skip
        with get_default_graph().name_scope(name or f"assert_{word}"):
            if word == "equal" and x is y:
                return apply("NoOp", [], {})
            left, right = convert_to_tensor(x, name="x"), convert_to_tensor(y, _type_of(x), "y")
            shown = [f"x ({left.name}) = ", left, f"y ({right.name}) = ", right]
            said = [f"Condition x {symbol} y did not hold element-wise:", *shown] if data is None else list(data)
            return _checked(op, [left, right], said if message is None else [message, *said], summarize)

    check.__name__ = check.__qualname__ = f"assert_{word}"
    check.__doc__ = f"An operation that fails unless x {symbol} y for all elements."
    return check


def _type_of(value: Any) -> Any:
    """The type that a number beside a tensor takes."""
    return value.dtype.base_dtype if hasattr(value, "dense_tensor") else None


assert_equal, assert_none_equal = _compared("equal"), _compared("none_equal")
assert_less, assert_less_equal = _compared("less"), _compared("less_equal")
assert_greater, assert_greater_equal = _compared("greater"), _compared("greater_equal")


def _signed(word: str) -> Callable[..., Operation]:
    symbol, op, is_first = _SIGNS[word]

    def check(
        x: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None
    ) -> Operation:
        with get_default_graph().name_scope(name or f"assert_{word}"):
            value = convert_to_tensor(x, name="x")
            condition = f"Condition x {symbol} 0 did not hold element-wise:"
            said = [message or "", condition, f"x ({value.name}) = ", value] if data is None else list(data)
            zero = convert_to_tensor(0, value.dtype)
            inner = "assert_less" if op == "Less" else "assert_less_equal"
            with get_default_graph().name_scope(inner):
                pair = [zero, value] if is_first else [value, zero]
                return _checked(op, pair, said, summarize)

    check.__name__ = check.__qualname__ = f"assert_{word}"
    check.__doc__ = f"An operation that fails unless x {symbol} 0 for all elements."
    return check


assert_positive, assert_negative = _signed("positive"), _signed("negative")
assert_non_negative, assert_non_positive = _signed("non_negative"), _signed("non_positive")


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless |x - y| < atol + rtol * |y| for all elements.

    Args:
        x: what is checked.
        y: what it should be.
        rtol: how far it may be off, relative to `y`; None for ten units of the type's precision.
        atol: the same, absolutely.
        data: what is said where the check fails; None for the condition and the values.
        summarize: how many elements of each tensor are said, None for 3.
        message: a text before all that, or None.
        name: of the scope of the nodes, None for `assert_near`.
    """
    with get_default_graph().name_scope(name or "assert_near"):
        left = convert_to_tensor(x, name="x")
        right = convert_to_tensor(y, left.dtype.base_dtype, "y")
        unit = _ULPS * np.finfo(left.dtype.as_numpy_dtype).eps if rtol is None or atol is None else 0.0
        relative = convert_to_tensor(float(unit) if rtol is None else rtol, left.dtype, "rtol")
        absolute = convert_to_tensor(float(unit) if atol is None else atol, left.dtype, "atol")
        said = [
            message or "",
            f"x and y not equal to tolerance rtol = {relative}, atol = {absolute}",
            *(f"x ({left.name}) = ", left, f"y ({right.name}) = ", right),
        ]
        apart = output_of("Abs", left - right)
        allowed = absolute + relative * output_of("Abs", right)
        return _checked("Less", [apart, allowed], said if data is None else list(data), summarize)


def _ranked(word: str, op: str, holds: Callable[[Any, Any], bool]) -> Callable[..., Operation]:
    words = "must have rank" if op == "Equal" else "must have rank at least"

    def check(
        x: Any, rank: Any, data: Any = None, summarize: int | None = None, message: str | None = None,
        name: str | None = None,
    ) -> Operation:  # fmt: skip
        with get_default_graph().name_scope(name or word):
            value, wanted = convert_to_tensor(x, name="x"), convert_to_tensor(rank, "int32", "rank")
            known, prefix = static_value(wanted), f"{message}.  " if message else ""
            if known is not None and value.shape.rank is not None:
                if holds(value.shape.rank, known):
                    return apply("NoOp", [], {}, "static_checks_determined_all_ok")
                has = f"Received rank {value.shape.rank}, shape {value.shape}"
                raise ValueError(f"{prefix}Tensor {value.name} {words} {known}.  {has}")
            found = output_of(op, output_of("Rank", value), wanted)
            shape = output_of("Shape", value)
            said = [prefix, f"Tensor {value.name} {words}", wanted, "Received shape: ", shape]
            return assert_(found, said if data is None else list(data), summarize)

    check.__name__ = check.__qualname__ = word
    check.__doc__ = f"An operation that fails unless the rank of x is {'' if op == 'Equal' else 'at least '}`rank`."
    return check


assert_rank = _ranked("assert_rank", "Equal", lambda has, wanted: has == wanted)
assert_rank_at_least = _ranked("assert_rank_at_least", "GreaterEqual", lambda has, wanted: has >= wanted)


def assert_rank_in(
    x: Any,
    ranks: Sequence[int],
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless the rank of `x` is one of `ranks`.

    Args:
        x: what is checked.
        ranks: numbers.
        data: what is said where the check fails; None for the ranks and the shape.
        summarize: how many elements of each tensor are said, None for 3.
        message: a text before all that, or None.
        name: of the scope of the nodes, None for `assert_rank_in`.

    Raises:
        ValueError: it is known that it is not.
    """
    with get_default_graph().name_scope(name or "assert_rank_in"):
        value, prefix = convert_to_tensor(x, name="x"), f"{message}.  " if message else ""
        has = value.shape.rank
        if has is not None:
            if has in ranks:
                return apply("NoOp", [], {}, "static_checks_determined_all_ok")
            words = f"must have rank in {tuple(ranks)}.  Received rank {has}, shape {value.shape}"
            raise ValueError(f"{prefix}Tensor {value.name} {words}")
        found = output_of("Equal", output_of("Rank", value), list(ranks))
        shape = output_of("Shape", value)
        said = [prefix, f"Tensor {value.name} must have rank in", *ranks, "Received shape: ", shape]
        return assert_(REDUCTIONS["reduce_any"](found), said if data is None else list(data), summarize)


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> Operation:
    """See that `tensor` is of the type `tf_type`, else say `message`; gives an operation that does nothing.

    Raises:
        TypeError: it is not.
    """
    wanted = as_dtype(tf_type)
    with get_default_graph().name_scope(name or "assert_type"):
        value = convert_to_tensor(tensor, name="tensor")
        if value.dtype.base_dtype != wanted:
            prefix = f"{message}.  " if message else ""
            raise TypeError(f"{prefix}{value.name} must be of type {wanted!r}; got {value.dtype!r}")
        return apply("NoOp", [], {}, "statically_determined_correct_type")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Operation:
    """See that `x` holds whole numbers, else say `message`; gives an operation that does nothing.

    Raises:
        TypeError: it does not.
    """
    with get_default_graph().name_scope(name or "assert_integer"):
        value = convert_to_tensor(x, name="x")
        if not value.dtype.is_integer:
            prefix = f"{message}.  " if message else ""
            raise TypeError(
                f'{prefix}Expected "x" to be integer type.  Found: {value.dtype!r}, for tensor {value.name}'
            )
        return apply("NoOp", [], {}, "statically_determined_was_integer")


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """The `tensor`, of which it is seen that it is no array, unless that is not known; else `message` is said.

    Raises:
        ValueError: it is an array.
    """
    with get_default_graph().name_scope(name or "assert_scalar") as scope:
        value = convert_to_tensor(tensor, name=f"{scope}tensor".rstrip("/").rpartition("/")[2])
        if value.shape.rank not in (0, None):
            prefix = message or ""
            raise ValueError(f"{prefix}Expected scalar shape for {value.name}, saw shape: {value.shape}.")
        return value


def assert_same_float_dtype(tensors: Sequence[Any] | None = None, dtype: Any = None) -> Any:
    """The type that all `tensors`, and `dtype` unless that is None, are: one of floating-point numbers.

    Raises:
        ValueError: they differ, or are of other numbers.
    """
    found = None if dtype is None else as_dtype(dtype).base_dtype
    for one in tensors or []:
        if one is None:
            continue
        if found is not None and one.dtype.base_dtype != found:
            raise ValueError(f"Tensor {one.name} has type {one.dtype.base_dtype!r}, expected {found!r}")
        found = one.dtype.base_dtype
    found = as_dtype("float32") if found is None else found
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found!r}.")
    return found


def assert_proper_iterable(values: Any) -> None:
    """See that `values` are several, not a tensor, an array or a text.

    Raises:
        TypeError: they are.
    """
    if isinstance(values, Tensor | np.ndarray | bytes | str):
        raise TypeError(f"Expected argument 'values' to be a \"proper\" iterable.  Found: {type(values)}")
    if not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument 'values' to be iterable.  Found: {type(values)}")


def verify_tensor_all_finite(
    t: Any = None, msg: str | None = None, name: str | None = None, x: Any = None, message: str | None = None
) -> Tensor:
    """The tensor `t`; where it holds an infinity or NaN, the run fails and says `msg`.

    Args:
        t: floating-point numbers.
        msg: the text.
        name: of the scope of the nodes, None for `VerifyFinite`.
        x: the newer name of `t`.
        message: the newer name of `msg`.
    """
    with get_default_graph().name_scope(name or "VerifyFinite"):
        value = convert_to_tensor(x if t is None else t, name="t")
        with get_default_graph().control_dependencies([check_numerics(value, str(message if msg is None else msg))]):
            return output_of("Identity", value, name="control_dependency")
