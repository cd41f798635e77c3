"""What arguments of layers say: a number for each dimension, and in which order dimensions are."""

from __future__ import annotations

from typing import Any

_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def numbers(value: Any, rank: int, what: str) -> list[int]:
    """A number for each of `rank` dimensions of a `value`; `what` they are is for the message.

    Raises:
        ValueError: there are neither one nor as many.
    """
    listed = [value] * rank if isinstance(value, int) else list(value)
    if len(listed) != rank or not all(isinstance(one, int) for one in listed):
        raise ValueError(f"The `{what}` argument must be a tuple of {rank} integers. Received: {value}")
    return listed


def order_of(data_format: str, rank: int) -> str:
    """The order of dimensions under the name that ops have for it, of `data_format` and `rank`.

    Raises:
        ValueError: it is none.
    """
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(
            f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {data_format}'
        )
    return (_LAST if data_format == "channels_last" else _FIRST)[rank]
