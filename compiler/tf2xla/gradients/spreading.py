"""What gradients of several families share: arrays that were spread over each other, and sizes along axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.diagnostics import UnsupportedError
from compiler.graph import BY_NAME
from compiler.tf2xla.terms import Built, Output

INT32 = BY_NAME["int32"]


def rank_of(node: Built, x: Output) -> int:
    """The number of dimensions of an input or output, which a formula must know.

    Raises:
        UnsupportedError: it is not known.
    """
    if x.rank is None:
        raise unknown(node, f"the number of dimensions of {x.name}")
    return x.rank


def unknown(node: Built, what: str) -> UnsupportedError:
    """The error to raise where a formula needs what is not known before the graph runs."""
    subject = f"the gradient of {node.node.name!r} ({node.node.op})"
    return UnsupportedError(subject, "its formula", f"it needs {what}, which is not known: give shapes and constants")


def conj(x: Output) -> Output:
    """The conjugate of complex numbers, and others as they are."""
    return x.op("Conj") if str(x.type.base).startswith("complex") else x


def sizes(x: Output) -> Output:
    """The sizes of an array as an output: a constant where they are known."""
    static = x.shape.static
    return x.op("Shape") if static is None else x.built.constant(np.array(static, np.int32), INT32)


def as_shaped(x: Output, like: Output) -> Output:
    """An array in the sizes of another."""
    return x if x.shape.static is not None and x.shape.static == like.shape.static else x.op("Reshape", sizes(like))


def unspread(node: Built, *pairs: tuple[Output, Output | None]) -> list[Output | None]:
    """Of each of two inputs its gradient, given as if it had the sizes of the result, summed to its own sizes."""
    (x, of_x), (y, of_y) = pairs
    if x.shape.static is not None and y.shape.static is not None:
        if x.shape.static == y.shape.static:
            return [of_x, of_y]
        axes = _axes(x.shape.static, y.shape.static)
        along: Sequence[Output | Sequence[int]] = axes
    else:
        along = node.outputs[0].built.maker.add("BroadcastGradientArgs", x.op("Shape"), y.op("Shape")).outputs
    return [_summed(of, axes, own) for of, axes, own in ((of_x, along[0], x), (of_y, along[1], y))]


def _summed(gradient: Output | None, axes: Output | Sequence[int], like: Output) -> Output | None:
    if gradient is None:
        return None
    if not isinstance(axes, Output):
        summed = gradient.op("Sum", np.array(axes, np.int32)) if axes else gradient
    else:
        summed = gradient.op("Sum", axes)
    return as_shaped(summed, like)


def _axes(x: Sequence[int], y: Sequence[int]) -> list[list[int]]:
    """Along which axes of the result each of two arrays was spread."""
    rank = max(len(x), len(y))
    padded = [(*[0] * (rank - len(one)), *one) for one in (x, y)]
    other = padded[::-1]
    return [
        [
            axis
            for axis in range(rank)
            if own[axis] != them[axis] and own[axis] in (0, 1) and (axis < rank - len(one) or own[axis] == 1)
        ]
        for own, them, one in zip(padded, other, (x, y), strict=True)
    ]
