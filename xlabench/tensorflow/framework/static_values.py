"""What of a tensor is known before anything runs: constants, and small results of shapes and constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from xlabench.tensorflow.framework.tensor import Tensor


def static_value(tensor: Any, partial: bool = False) -> Any:
    """The array that a tensor is known to be, else None; what is no tensor is its own value.

    Args:
        tensor: a tensor, or anything else.
        partial: changes nothing: of what is known in part nothing is given.
    """
    if not isinstance(tensor, Tensor):
        return None if hasattr(tensor, "dense_tensor") else tensor
    if tensor.op.type == "Const":
        held: Any = tensor.op.get_attr("value")
        if held.stated is None:
            return np.array(held.strings, dtype=object).reshape(held.dims)
        return held.array()
    return tensor.output.value


def is_tensor(x: Any) -> bool:
    """Whether something is a tensor, or stands for one, as variables and rows do."""
    return hasattr(x, "dense_tensor")


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether something is a tensor of numbers; booleans are none."""
    return isinstance(tensor, Tensor) and (
        tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_complex
    )
