"""Tensors, and lists of them, whose lengths are cut: what keeps gradients from blowing up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xlabench.tensorflow.framework.applying import apply
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.math import REDUCTIONS


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The array `t`, scaled to the length `clip_norm` where it is longer; lengths are along `axes` (None: over all)."""
    with get_default_graph().name_scope(name or "clip_by_norm") as scope:
        value = convert_to_tensor(t, name="t")
        squares = REDUCTIONS["reduce_sum"](value * value, axes, keepdims=True)
        is_positive = squares > 0
        ones = apply("OnesLike", [squares], {}).outputs[0]
        safe = apply("Select", [is_positive, squares, ones], {}).outputs[0]
        norm = apply("Select", [is_positive, apply("Sqrt", [safe], {}).outputs[0], squares], {}).outputs[0]
        longest = apply("Maximum", [norm, clip_norm], {}).outputs[0]
        return apply("Identity", [value * clip_norm / longest], {}, scope).outputs[0]


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """The length of tensors together."""
    with get_default_graph().name_scope(name or "global_norm"):
        halves = [apply("L2Loss", [one], {}).outputs[0] for one in t_list if one is not None]
        total = REDUCTIONS["reduce_sum"](apply("Pack", [halves], {}, "stack").outputs[0])
        return apply("Sqrt", [total * np.float32(2.0)], {}, "global_norm").outputs[0]


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
        scaled = [None if one is None else convert_to_tensor(one) * scale for one in t_list]
        word = scope.rstrip("/").rpartition("/")[2]
        named = (
            None if one is None else apply("Identity", [one], {}, f"{word}/_{number}").outputs[0]
            for number, one in enumerate(scaled)
        )  # fmt: skip
        return list(named), norm
