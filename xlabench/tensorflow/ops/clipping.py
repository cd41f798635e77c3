"""Tensors, and lists of them, whose lengths are cut: what keeps gradients from blowing up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xlabench.tensorflow.framework.applying import output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.indexed_slices import values_of, with_values
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.math import REDUCTIONS, cast


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """The array `t` with all less than `clip_value_min` replaced by it, and all greater than `clip_value_max`."""

    def clipped(values: Any) -> Tensor:
        return output_of("ClipByValue", values, clip_value_min, clip_value_max, name=name or "clip_by_value")

    return with_values(t, clipped)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """The array `t`, scaled to the length `clip_norm` where it is longer; lengths are along `axes` (None: over all)."""

    def clipped(values: Any) -> Tensor:
        with get_default_graph().name_scope(name or "clip_by_norm") as scope:
            value = convert_to_tensor(values, name="t")
            squares = REDUCTIONS["reduce_sum"](value * value, axes, keepdims=True)
            is_positive = squares > 0
            ones = output_of("OnesLike", squares)
            safe = output_of("Select", is_positive, squares, ones)
            norm = output_of("Select", is_positive, output_of("Sqrt", safe), squares)
            longest = output_of("Maximum", norm, clip_norm)
            return output_of("Identity", value * clip_norm / longest, name=scope)

    return with_values(t, clipped)


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """The array `t`, scaled to the length `clip_norm` for each of its elements where it is longer."""
    with get_default_graph().name_scope(name or "clip_by_average_norm") as scope:
        value = convert_to_tensor(t, name="t")
        count = cast(output_of("Size", value), "float32")
        total = REDUCTIONS["reduce_sum"](value * value)
        inverse = output_of("Rsqrt", total)
        smallest = output_of("Minimum", inverse * count, 1.0 / convert_to_tensor(clip_norm, value.dtype))
        return output_of("Identity", value * clip_norm * smallest, name=scope)


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """The length of tensors together; of rows of arrays, as they are: a row that is there twice counts twice."""
    with get_default_graph().name_scope(name or "global_norm"):
        halves = [output_of("L2Loss", values_of(one)) for one in t_list if one is not None]
        total = REDUCTIONS["reduce_sum"](output_of("Pack", halves, name="stack"))
        return output_of("Sqrt", total * 2.0, name="global_norm")


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """The tensors `t_list`, scaled together to the length `clip_norm` if they are longer, and their length before.

    Of those that are None nothing is made. `use_norm` is their length, where it is known already; None computes it.
    """
    norm = global_norm(t_list) if use_norm is None else use_norm
    with get_default_graph().name_scope(name or "clip_by_global_norm") as scope:
        smallest = output_of("Minimum", 1.0 / norm, 1.0 / convert_to_tensor(clip_norm, norm.dtype))
        scale = clip_norm * smallest + (norm - norm)
        scaled = [None if one is None else convert_to_tensor(values_of(one)) * scale for one in t_list]
        word = scope.rstrip("/").rpartition("/")[2]
        named = (
            None if one is None else output_of("Identity", one, name=f"{word}/_{number}")
            for number, one in enumerate(scaled)
        )  # fmt: skip
        return [_replaced(one, value) for one, value in zip(t_list, named, strict=True)], norm


def _replaced(of: Any, values: Any) -> Any:
    """Other values, as rows where `of` is rows."""
    return with_values(of, lambda _: values)
