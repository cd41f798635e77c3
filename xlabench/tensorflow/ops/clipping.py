"""Tensors, and lists of them, whose lengths are cut: what keeps gradients from blowing up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xlabench.tensorflow.framework.applying import apply
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.indexed_slices import values_of, with_values
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.math import REDUCTIONS, cast


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """The array `t` with all less than `clip_value_min` replaced by it, and all greater than `clip_value_max`."""

    def clipped(values: Any) -> Tensor:
        return apply("ClipByValue", [values, clip_value_min, clip_value_max], {}, name or "clip_by_value").outputs[0]

    return with_values(t, clipped)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """The array `t`, scaled to the length `clip_norm` where it is longer; lengths are along `axes` (None: over all)."""

    def clipped(values: Any) -> Tensor:
        with get_default_graph().name_scope(name or "clip_by_norm") as scope:
            value = convert_to_tensor(values, name="t")
            squares = REDUCTIONS["reduce_sum"](value * value, axes, keepdims=True)
            is_positive = squares > 0
            ones = apply("OnesLike", [squares], {}).outputs[0]
            safe = apply("Select", [is_positive, squares, ones], {}).outputs[0]
            norm = apply("Select", [is_positive, apply("Sqrt", [safe], {}).outputs[0], squares], {}).outputs[0]
            longest = apply("Maximum", [norm, clip_norm], {}).outputs[0]
            return apply("Identity", [value * clip_norm / longest], {}, scope).outputs[0]

    return with_values(t, clipped)


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """The array `t`, scaled to the length `clip_norm` for each of its elements where it is longer."""
    with get_default_graph().name_scope(name or "clip_by_average_norm") as scope:
        value = convert_to_tensor(t, name="t")
        count = cast(apply("Size", [value], {}).outputs[0], "float32")
        total = REDUCTIONS["reduce_sum"](value * value)
        inverse = apply("Rsqrt", [total], {}).outputs[0]
        smallest = apply("Minimum", [inverse * count, 1.0 / convert_to_tensor(clip_norm, value.dtype)], {}).outputs[0]
        return apply("Identity", [value * clip_norm * smallest], {}, scope).outputs[0]


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """The length of tensors together; of rows of arrays, as they are: a row that is there twice counts twice."""
    with get_default_graph().name_scope(name or "global_norm"):
        halves = [apply("L2Loss", [values_of(one)], {}).outputs[0] for one in t_list if one is not None]
        total = REDUCTIONS["reduce_sum"](apply("Pack", [halves], {}, "stack").outputs[0])
        return apply("Sqrt", [total * 2.0], {}, "global_norm").outputs[0]


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """The tensors `t_list`, scaled together to the length `clip_norm` if they are longer, and their length before.

    Of those that are None nothing is made. `use_norm` is their length, where it is known already; None computes it.
    """
    norm = global_norm(t_list) if use_norm is None else use_norm
    with get_default_graph().name_scope(name or "clip_by_global_norm") as scope:
        smallest = apply("Minimum", [1.0 / norm, 1.0 / convert_to_tensor(clip_norm, norm.dtype)], {}).outputs[0]
        scale = clip_norm * smallest + (norm - norm)
        scaled = [None if one is None else convert_to_tensor(values_of(one)) * scale for one in t_list]
        word = scope.rstrip("/").rpartition("/")[2]
        named = (
            None if one is None else apply("Identity", [one], {}, f"{word}/_{number}").outputs[0]
            for number, one in enumerate(scaled)
        )  # fmt: skip
        return [_replaced(one, value) for one, value in zip(t_list, named, strict=True)], norm


def _replaced(of: Any, values: Any) -> Any:
    """Other values, as rows where `of` is rows."""
    return with_values(of, lambda _: values)
