"""`tf.signal`: spectra of real signals, windows of a signal, and their spectra.

Args:
    input_tensor: signals, or spectra, along the last dimensions.
    fft_length: how many elements a signal has along each of these; None for as many as are given.
    name: of the scope of the nodes, None for one of the function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.dtypes import as_dtype
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.arrays import concat, gather, pad, shape
from xlabench.tensorflow.ops.math import cast


def _spectrum(word: str, *, is_inverse: bool, rank: int) -> Callable[..., Tensor]:
    def transform(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        with get_default_graph().name_scope(name or word):
            value = convert_to_tensor(input_tensor, preferred_dtype="complex64" if is_inverse else "float32")
            sizes: list[Any] = value.shape.as_list()[-rank:] if value.shape.rank is not None else [None]
            if None in sizes:
                raise ValueError(f"tf.signal.{word} takes tensors of known sizes here: {value}")
            if fft_length is None:
                wanted = [*sizes[:-1], max(2 * (sizes[-1] - 1), 0) if is_inverse else sizes[-1]]
            else:
                wanted = [int(one) for one in np.atleast_1d(np.asarray(fft_length))]
            needed = [*wanted[:-1], wanted[-1] // 2 + 1 if is_inverse else wanted[-1]]
            behind = [[0, max(0, need - size)] for need, size in zip(needed, sizes, strict=True)]
            if any(more for _, more in behind):
                value = pad(value, [*[[0, 0]] * ((value.shape.rank or 0) - rank), *behind])
            op = f"{'I' if is_inverse else ''}RFFT{'' if rank == 1 else f'{rank}D'}"
            kind = _types(value, is_inverse=is_inverse)
            return apply(op, [value, convert_to_tensor(wanted, "int32")], kind).outputs[0]

    transform.__name__ = transform.__qualname__ = word
    said = "The real signals of the spectra" if is_inverse else "The spectra, up to the middle, of the real signals"
    transform.__doc__ = f"{said} `input_tensor`, along the last {rank} dimensions."
    return transform


def _types(value: Tensor, *, is_inverse: bool) -> dict[str, Any]:
    """The type of the other side: as exact as this one."""
    is_double = value.dtype.name in ("float64", "complex128")
    if is_inverse:
        return {"Treal": as_dtype("float64" if is_double else "float32")}
    return {"Tcomplex": as_dtype("complex128" if is_double else "complex64")}


rfft, rfft2d, rfft3d = (
    _spectrum(f"rfft{'' if rank == 1 else f'{rank}d'}", is_inverse=False, rank=rank) for rank in (1, 2, 3)
)
irfft, irfft2d, irfft3d = (
    _spectrum(f"irfft{'' if rank == 1 else f'{rank}d'}", is_inverse=True, rank=rank) for rank in (1, 2, 3)
)


def _raised_cosine(word: str, first: float, second: float) -> Callable[..., Tensor]:
    def window(window_length: int, periodic: bool = True, dtype: Any = "float32", name: str | None = None) -> Tensor:
        with get_default_graph().name_scope(name or word):
            if window_length == 1:
                return convert_to_tensor([1.0], dtype)
            exact = as_dtype(dtype).as_numpy_dtype
            whole = window_length + int(periodic) * (1 - window_length % 2) - 1
            angle = exact(2 * math.pi) * np.arange(window_length).astype(exact) / exact(whole)
            return convert_to_tensor((first - second * np.cos(angle)).astype(exact))

    window.__name__ = window.__qualname__ = word
    window.__doc__ = (
        "A window that falls to its edges as a cosine does: `window_length` weights of type `dtype`.\n\n"
        "With `periodic` the last one stands before the edge, where their number is even."
    )
    return window


hann_window, hamming_window = _raised_cosine("hann_window", 0.5, 0.5), _raised_cosine("hamming_window", 0.54, 0.46)


def frame(
    signal: Any,
    frame_length: int,
    frame_step: int,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Windows of signals, as a new dimension before that of their elements.

    Args:
        signal: signals of a known length.
        frame_length: how many elements a window has.
        frame_step: how far windows are apart.
        pad_end: whether windows that reach beyond the end are there too.
        pad_value: what stands there then.
        axis: the dimension of the signals.
        name: of the scope of the nodes.

    Raises:
        ValueError: the length is not known.
    """
    with get_default_graph().name_scope(name or "frame"):
        value = convert_to_tensor(signal, name="signal")
        rank = value.shape.rank
        size = value.shape[axis].value if rank is not None else None
        if rank is None or size is None:
            raise ValueError(f"tf.signal.frame takes signals of a known length here: {value}")
        along = axis % rank
        count = -(-size // frame_step) if pad_end else max(0, 1 + (size - frame_length) // frame_step)
        more = max(0, frame_length + frame_step * (count - 1) - size) if pad_end else 0
        if more:
            around = [[0, more if number == along else 0] for number in range(rank)]
            value = pad(value, around, constant_values=pad_value)
        which = np.arange(count)[:, None] * frame_step + np.arange(frame_length)[None, :]
        return gather(value, which.astype(np.int32), axis=along)


def stft(
    signals: Any,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The spectra of windows of signals.

    Args:
        signals: [..., elements], of a known length.
        frame_length: how many elements a window has.
        frame_step: how far windows are apart.
        fft_length: how many elements of the spectrum there would be, None for the next power of 2.
        window_fn: a function of the length and `dtype` that gives weights; None for none.
        pad_end: whether windows that reach beyond the end are there too.
        name: of the scope of the nodes.
    """
    with get_default_graph().name_scope(name or "stft"):
        pieces = frame(signals, frame_length, frame_step, pad_end)
        length = fft_length if fft_length is not None else 2 ** math.ceil(math.log2(frame_length))
        if window_fn is not None:
            pieces = pieces * window_fn(frame_length, dtype=pieces.dtype)
        return rfft(pieces[..., :length], [length])


def overlap_and_add(signal: Any, frame_step: int, name: str | None = None) -> Tensor:
    """Signals of windows: sums of those that stand over each other, `frame_step` elements apart.

    Raises:
        ValueError: the sizes of `signal`, [..., windows, elements], are not known.
    """
    with get_default_graph().name_scope(name or "overlap_and_add"):
        value = convert_to_tensor(signal, name="signal")
        count, length = value.shape.as_list()[-2:] if value.shape.rank is not None else (None, None)
        if count is None or length is None:
            raise ValueError(f"tf.signal.overlap_and_add takes windows of known sizes here: {value}")
        which = np.arange(count)[:, None] * frame_step + np.arange(length)[None, :]
        total = (count - 1) * frame_step + length
        rows = output_of("Reshape", value, [-1, count * length])
        turned = output_of("Transpose", rows, [1, 0])
        made = output_of("UnsortedSegmentSum", turned, which.reshape(-1).astype(np.int32), total)
        back = output_of("Transpose", made, [1, 0])
        return output_of("Reshape", back, concat([shape(value)[:-2], [total]], 0))


def dct(
    input: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """The cosines that a real signal is made of.

    Args:
        input: signals, of a known length.
        type: the kind of the transform: 2 alone is there.
        n: must be None.
        axis: must be -1.
        norm: `ortho` for lengths that stay, or None.
        name: of the scope of the nodes.

    Raises:
        NotHereError: another kind is asked for.
        ValueError: the norm is none.
    """
    if type != 2 or n is not None or axis != -1:
        raise NotHereError("tf.signal.dct: type 2 along the last axis, in its length, alone is there")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    with get_default_graph().name_scope(name or "dct"):
        value = convert_to_tensor(input)
        size = int(value.shape[-1])
        angle = np.arange(size) * np.pi * 0.5 / size
        rotation = convert_to_tensor(2.0 * np.exp(-1j * angle))
        found = rfft(value, [2 * size])[..., :size]
        made = output_of("Real", found * cast(rotation, found.dtype), Tout=value.dtype.base_dtype)
        if norm == "ortho":
            scale = np.full(size, math.sqrt(0.5 / size))
            scale[0] = 0.5 * math.sqrt(1 / size)
            made = made * convert_to_tensor(scale, None if value.dtype.name == "float64" else "float32")
        return made
