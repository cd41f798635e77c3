"""Sums from which means and variances follow, polynomials, orders of elements: formulas of few ops.

Args:
    name: of the scope of the nodes, None for one of the function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.arrays import gather, zeros_like
from xlabench.tensorflow.ops.math import REDUCTIONS, cast, one_of

_sum = REDUCTIONS["reduce_sum"]


def sufficient_statistics(
    x: Any,
    axes: Any,
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """How many elements there are, the sum of them and that of their squares, and what was taken from each before.

    Args:
        x: an array.
        axes: the dimensions along which is summed.
        shift: what is taken from each element; None for nothing.
        keep_dims: the older name of `keepdims`.
        name: of the scope of the nodes.
        keepdims: whether these dimensions are left with size 1.
    """
    is_kept = bool(one_of(keepdims, keep_dims, ("keepdims", "keep_dims")) or False)
    along = sorted(set(axes))
    with get_default_graph().name_scope(name or "sufficient_statistics"):
        value = convert_to_tensor(x, name="x")
        sizes = value.shape.as_list() if value.shape.rank is not None else []
        known = [sizes[one] for one in along] if sizes else [None]
        if None in known:
            rank = output_of("Rank", value)
            dims = gather(
                cast(output_of("Shape", value), value.dtype), [one + rank if one < 0 else one for one in along]
            )
            count = REDUCTIONS["reduce_prod"](dims, name="count")
        else:
            count = convert_to_tensor(math.prod(one for one in known if one is not None), value.dtype)
        apart = None if shift is None else convert_to_tensor(shift, value.dtype, "shift")
        moved = value if apart is None else value - apart
        squares = output_of("Square", value) if apart is None else output_of("SquaredDifference", value, apart)
        total = _sum(moved, along, is_kept, "mean_ss")
        return count, total, _sum(squares, along, is_kept, "var_ss"), apart


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance by what `sufficient_statistics` gives: `counts`, `mean_ss`, `variance_ss` and `shift`."""
    with get_default_graph().name_scope(name or "normalize"):
        share = output_of("Reciprocal", convert_to_tensor(counts))
        moved = convert_to_tensor(mean_ss) * share
        mean = moved if shift is None else moved + shift
        return mean, convert_to_tensor(variance_ss) * share - output_of("Square", moved)


def polyval(coeffs: Sequence[Any], x: Any, name: str | None = None) -> Tensor:
    """The polynomial at `x` of which `coeffs` are a list, that of the highest power first.

    Raises:
        ValueError: they are no list.
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    with get_default_graph().name_scope(name or "polyval"):
        value = convert_to_tensor(x, name="x")
        if not coeffs:
            return zeros_like(value)
        found = convert_to_tensor(coeffs[0])
        for one in coeffs[1:]:
            found = convert_to_tensor(one) + found * value
        return found


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """1 / `x`, and 0 where that is 0; `name` is that of the node."""
    value = convert_to_tensor(x, name="x")
    given = [convert_to_tensor(1, value.dtype), value]
    return apply("DivNoNan", given, {}, name or "reciprocal_no_nan").outputs[0]


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the beta function of the last dimension of `x`."""
    with get_default_graph().name_scope(name or "lbeta"):
        value = convert_to_tensor(x, name="x")
        return _sum(output_of("Lgamma", value), [-1]) - output_of("Lgamma", _sum(value, [-1]))


def _rises(word: str, op: str, said: str) -> Callable[..., Tensor]:
    def check(x: Any, name: str | None = None) -> Tensor:
        with get_default_graph().name_scope(name or word):
            row = output_of("Reshape", convert_to_tensor(x, name="x"), [-1])
            return REDUCTIONS["reduce_all"](output_of(op, row[1:], row[:-1]))

    check.__name__ = check.__qualname__ = word
    check.__doc__ = f"Whether no element of `x` in its order is {said} the one before it."
    return check


is_non_decreasing = _rises("is_non_decreasing", "GreaterEqual", "less than")
is_strictly_increasing = _rises("is_strictly_increasing", "Greater", "at most")


def erosion2d(value: Any, kernel: Any, strides: Any, rates: Any, padding: str, name: str | None = None) -> Tensor:
    """The least difference of the images `value` and a `kernel`, [height, width, channels], in each window.

    `strides` and `rates`, steps between elements of the kernel, are for each dimension; `padding` is `SAME` or `VALID`.
    """
    with get_default_graph().name_scope(name or "erosion2d"):
        turned = output_of("ReverseV2", convert_to_tensor(kernel), [0, 1])
        attributes = {"strides": strides, "rates": rates, "padding": padding}
        return -output_of("Dilation2D", -convert_to_tensor(value), turned, **attributes)
