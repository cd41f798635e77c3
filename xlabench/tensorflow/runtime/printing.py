"""How TensorFlow writes a tensor into a line of a log: its first elements, nested as its dimensions are.

Floats have as many digits as tell them from others of their type, six or nine (of doubles fifteen or seventeen); what
is left out is dots.  Complex numbers are question marks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_DIGITS = {8: (15, 17)}
_FEW_DIGITS = (6, 9)


def summary(value: Any, most: int) -> str:
    """The first elements of a tensor, all of them where `most` is negative."""
    array = np.asarray(value)
    limit = array.size if most < 0 else min(most, array.size)
    words = [_word(one) for one in array.reshape(-1)[:limit]]
    if not array.ndim:
        return "".join(words) + ("..." if array.size > limit else "")
    text, _ = _nested(array.shape, words, is_outermost=True)
    return text + ("..." if array.size > limit else "")


def ends(value: Any, most: int) -> str:
    """A tensor by the first and last elements along each dimension, all where `most` is negative: `tf.print`'s."""
    array = np.asarray(value)
    return _by_ends(array, array.size if most < 0 else min(most, array.size), 0)


def _by_ends(array: Array, count: int, depth: int) -> str:
    if not array.ndim:
        word = _word(array.item() if array.dtype == object else array[()])
        return f'"{word}"' if array.dtype == object else word
    size, others = len(array), array.ndim - 1
    between = "\n" * others + " " * (depth + 1) if others else " "
    shown = [*range(min(count, size)), *range(max(count, size - count), size)]
    words = [_by_ends(array[number, ...], count, depth + 1) for number in shown]
    if size <= 2 * count:
        return f"[{between.join(words)}]"
    first, last = (between.join(some) for some in (words[:count], words[count:]))
    return f"[{first}{between}...{between if count else ''}{last}]"


def _nested(dims: tuple[int, ...], words: list[str], *, is_outermost: bool) -> tuple[str, list[str]]:
    """A dimension with what is in it, and the words that are left."""
    if not words:
        return "", words
    if len(dims) == 1:
        shown, left = words[: dims[0]], words[dims[0] :]
        return " ".join(shown) + ("" if is_outermost or len(shown) == dims[0] else "..."), left
    rows = []
    for _ in range(dims[0]):
        if not words:
            break
        text, words = _nested(dims[1:], words, is_outermost=False)
        rows.append(f"[{text}]")
    return "".join(rows), words


def _word(value: Any) -> str:
    if isinstance(value, str | bytes):
        return value.decode(errors="replace") if isinstance(value, bytes) else value
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, complex | np.complexfloating):
        return "?"  # as TensorFlow has it
    return _real(value) if np.asarray(value).dtype.kind not in "iu" else str(int(value))


def _real(value: Any) -> str:
    number = float(value)
    if math.isnan(number):
        return "-nan" if np.signbit(value) else "nan"
    few, many = _DIGITS.get(np.asarray(value).itemsize, _FEW_DIGITS)
    text = f"{number:.{few}g}"
    is_enough = np.asarray(float(text)).astype(np.float64 if few > _FEW_DIGITS[0] else np.float32) == number
    return text if is_enough else f"{number:.{many}g}"
