"""The values that generated programs are called with: kinds by name, so that one compiled program meets several.

A call costs microseconds, compiling milliseconds, and most bugs show on few values: a zero with a sign, a tie between
two narrow floats, an index one beyond the last.  Of each kind there are values for every type that has any such, and
tame ones of the others.  Parameters that a program uses as indices stay inside of what they index, but for the kinds
that are about that, and of these where somebody checks them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import compiler
from xlabench.cases.index_ranges import index_limits, unchecked_indices
from xlabench.cases.inputs import DTYPES, aligned
from xlabench.fuzzing import extents, matrices
from xlabench.judging.tolerance import Array, DType, finfo, is_inexact, raw_bits, real_dtype

Generator = np.random.Generator
Dims = tuple[int, ...]
Draw = Callable[[Generator, Dims, DType, int | None], Array]
"""Values of dimensions and a type, for a parameter that is no index, or for one whose largest value inside is given."""

_iinfo: Any = ml_dtypes.iinfo  # knows NumPy's own integers as well; untyped

BOUNDARY, MATRICES = "boundary", "matrices"
"""The kinds that are about indices, and about matrices: of what is none there are tame values."""
_ONE_SIGN_PERCENT, _AWAY_FROM_ZERO = 35, 0.25  # what begins at 0 instead of an extreme is right if signs differ
_SMALL_INTEGERS_PERCENT, _SMALL, _SMALLEST = 70, 10, 3
_SOME = (0.02, 0.2, 0.8)  # shares of the elements that are replaced
_SPREAD = 0.5  # of the exponents of a type, around 1
_ALL_PERCENT = 50
_SMALL_SHARE, _ONE_END_PERCENT = 0.25, 30  # of extreme integers those next to 0; arrays of one end, where none is
_CLOSE_TO_FAR = 3  # of so many numbers in the place of another one is far from it
_WIDENED = 4.0
_BOTH_PERCENT = 75
"""How often both parts of complex numbers are of a kind; else most kinds make real ones, whose imaginary part is 0."""


def tame(rng: Generator, dims: Dims, dtype: DType, limit: int | None = None) -> Array:
    """Small numbers, many of them such that sums and products are exact; indices lie inside.

    Args:
        rng: what is drawn by.
        dims: of the array.
        dtype: of its elements.
        limit: of what are indices, the largest that lies inside.
    """
    if dtype.kind == "b":
        return np.asarray(rng.random(dims) < 0.5)
    one_sign = int(rng.choice([-1, 1])) if rng.integers(100) < _ONE_SIGN_PERCENT else 0
    if is_inexact(dtype):
        draw = _FLOATS[int(rng.integers(len(_FLOATS)))]
        values = draw(rng, dims)
        if dtype.kind == "c":
            values = values + 1j * draw(rng, dims)
        elif one_sign:
            values = one_sign * (np.abs(values) + _AWAY_FROM_ZERO)
        return _as(values, dtype)
    low, high = _range(dtype)
    if limit is not None:
        return np.asarray(rng.integers(0, min(limit, high), dims, endpoint=True)).astype(dtype)
    if rng.integers(100) < _SMALL_INTEGERS_PERCENT:
        low, high = max(low, -_SMALL), min(high, _SMALL)
    if one_sign:
        low, high = (1, high) if one_sign > 0 or low == 0 else (low, -1)
    return np.asarray(rng.integers(low, high, dims, dtype=_widest(dtype), endpoint=True)).astype(dtype)


_FLOATS: tuple[Callable[[Generator, Dims], Any], ...] = (
    lambda rng, dims: rng.integers(-16, 16, dims, endpoint=True) / 4,
    lambda rng, dims: rng.standard_normal(dims),
    lambda rng, dims: rng.uniform(0.5, 2.0, dims),
)


def special(rng: Generator, dims: Dims, dtype: DType, limit: int | None = None) -> Array:
    """Tame values, some of them replaced by zeros with signs, infinities, NaN, denormals and the ends of the type.

    Args:
        rng: what is drawn by.
        dims: of the array.
        dtype: of its elements.
        limit: of what are indices, the largest that lies inside.
    """
    return _sprinkled(rng, tame(rng, dims, dtype, limit), _specials(dtype))


def _integers(rng: Generator, dims: Dims, dtype: DType, limit: int | None) -> Array:
    """Small integers, of which sums of products are exact in every order: no rounding explains another result."""
    if dtype.kind == "b" or limit is not None:
        return tame(rng, dims, dtype, limit)
    low, high = (-_SMALLEST if _is_signed(dtype) else 0), _SMALLEST
    if not is_inexact(dtype):
        low, high = max(low, _range(dtype)[0]), min(high, _range(dtype)[1])
    values = rng.integers(low, high, dims, endpoint=True)
    return _as(values + 1j * rng.integers(low, high, dims, endpoint=True) if dtype.kind == "c" else values, dtype)


def _zeros(rng: Generator, dims: Dims, dtype: DType, limit: int | None) -> Array:
    """Zeros of both signs, and ones here and there."""
    if dtype.kind == "b" or limit is not None:
        return tame(rng, dims, dtype, limit)
    zeros = rng.choice(_as([0.0, -0.0], dtype), dims) if is_inexact(dtype) else np.zeros(dims, dtype)
    return _sprinkled(rng, np.asarray(zeros), _as([1.0, -1.0] if _is_signed(dtype) else [1], dtype))


def _equal(rng: Generator, dims: Dims, dtype: DType, limit: int | None) -> Array:
    """The same value everywhere."""
    one = tame(rng, (1,), dtype, limit) if limit is not None or rng.integers(2) else special(rng, (1,), dtype)
    return np.full(dims, one[0], dtype)


def _sorted(rng: Generator, dims: Dims, dtype: DType, limit: int | None) -> Array:
    """In order, up or down, along the last dimension."""
    values = tame(rng, dims, dtype, limit)
    if not dims or dtype.kind == "c":
        return values
    order = np.argsort(values.astype(np.float64) if is_inexact(dtype) else values, axis=-1)
    values = np.take_along_axis(values, order, axis=-1)
    return np.asarray(values if rng.integers(2) else values[..., ::-1])


def _one_hot(rng: Generator, dims: Dims, dtype: DType, limit: int | None) -> Array:
    """Zeros, and a number elsewhere in each row."""
    values = np.zeros(dims, dtype)
    if values.size:
        rows = values.reshape(-1, dims[-1] if dims else 1)
        value = tame(rng, (1,), dtype, limit)[0]
        rows[np.arange(len(rows)), rng.integers(0, rows.shape[1], len(rows))] = value
    return values


def _ties(rng: Generator, dims: Dims, dtype: DType, limit: int | None) -> Array:
    """Numbers halfway between two neighbours of a narrower type, or between two integers."""
    if dtype.kind == "b" or limit is not None:
        return tame(rng, dims, dtype, limit)
    if not is_inexact(dtype):
        return _integer_ties(rng, dims, dtype)
    values = np.asarray(rng.integers(-8, 8, dims) + 0.5)
    narrower = [other for other in _NARROW if finfo(other).nmant < finfo(real_dtype(dtype)).nmant]
    which = rng.integers(0, len(narrower), dims, endpoint=True)
    for number, other in enumerate(narrower, start=1):
        values[which == number] = _between(rng, int(np.count_nonzero(which == number)), other)
    return _as(values, dtype)


def _between(rng: Generator, count: int, dtype: DType) -> Array:
    """So many numbers in f64 halfway between two neighbours of a type."""
    near = _as(rng.standard_normal(count) * _WIDENED, dtype)
    farther = (raw_bits(near) + raw_bits(near).dtype.type(1)).view(dtype)
    with np.errstate(all="ignore"):
        return np.asarray((near.astype(np.float64) + farther.astype(np.float64)) / 2)


def _integer_ties(rng: Generator, dims: Dims, dtype: DType) -> Array:
    """Integers halfway between two neighbours of a float type: one more bit than its mantissa holds, and that is 1."""
    low, high = _range(dtype)
    fitting = [bits for bits in _MANTISSAS if (2 << bits) <= high]
    if not fitting:
        return tame(rng, dims, dtype)
    top = 1 << fitting[int(rng.integers(len(fitting)))]
    values = np.asarray(top + 1 + 2 * rng.integers(0, top // 2, dims), _widest(dtype))
    return np.asarray(np.where(rng.random(dims) < 0.5, values, -values) if low < 0 else values).astype(dtype)


_NARROW = tuple(DTYPES[name] for name in ("f8e5m2", "f8e4m3fn", "bf16", "f16", "f32"))
"""One type of each number of mantissa bits, on which alone it depends which numbers are ties."""
_MANTISSAS = (4, 8, 11, 24, 53)


def _denormal(rng: Generator, dims: Dims, dtype: DType, limit: int | None) -> Array:
    """Numbers around the least that are normal, most of them below."""
    if not is_inexact(dtype):
        return tame(rng, dims, dtype, limit)
    tiny = float(finfo(real_dtype(dtype)).tiny)
    return _as(tame(rng, dims, np.dtype(np.float64)) * tiny / 2, dtype)


def _extreme(rng: Generator, dims: Dims, dtype: DType, limit: int | None) -> Array:
    """Numbers near the ends of a type, or one end; of integers also 1, 0 and -1, by which ends are multiplied."""
    if dtype.kind == "b" or limit is not None:
        return tame(rng, dims, dtype, limit)
    if is_inexact(dtype):
        return _as(tame(rng, dims, np.dtype(np.float64)) * (float(finfo(real_dtype(dtype)).max) / _SMALL), dtype)
    low, high = _range(dtype)
    near = rng.integers(0, min(3, high), dims, endpoint=True).astype(_widest(dtype))
    is_of_one_end = rng.integers(100) < _ONE_END_PERCENT
    ends = np.where(rng.random(() if is_of_one_end else dims) < 0.5, _widest(dtype)(high) - near, near + low)
    small = rng.integers(max(low, -1), min(high, 1), dims, endpoint=True).astype(ends.dtype)
    is_small = rng.random(dims) < (0 if is_of_one_end else _SMALL_SHARE)
    return np.asarray(np.where(is_small, small, ends)).astype(dtype)


def _boundary(rng: Generator, dims: Dims, dtype: DType, limit: int | None) -> Array:
    """Indices at the first place, the last, one before and one beyond each, and far away."""
    if limit is None:
        return tame(rng, dims, dtype)
    low, high = _range(dtype)
    candidates = [n for n in (0, 1, limit - 1, limit, limit + 1, -1, -limit, high, low) if low <= n <= high]
    shares = np.asarray([3 if 0 <= candidate <= limit else 1 for candidate in candidates])
    chosen = rng.choice(len(candidates), dims, p=shares / shares.sum())
    return np.asarray(np.asarray(candidates, _widest(dtype))[chosen]).astype(dtype)


def _uneven(rng: Generator, dims: Dims, dtype: DType, limit: int | None) -> Array:
    """Numbers of very different sizes."""
    if dtype.kind == "b" or limit is not None:
        return tame(rng, dims, dtype, limit)
    values = tame(rng, dims, np.dtype(np.float64))
    if is_inexact(dtype):
        reach = int(_SPREAD * np.log2(float(finfo(real_dtype(dtype)).max)))
        return _as(values * 2.0 ** rng.integers(-reach, reach, dims, endpoint=True), dtype)
    low, high = _range(dtype)
    sizes = np.asarray(1 << rng.integers(0, high.bit_length(), dims, dtype=np.int64), _widest(dtype))
    values = sizes - (rng.random(dims) < 0.5).astype(sizes.dtype)
    return np.asarray(np.where(rng.random(dims) < 0.5, values, -values) if low < 0 else values).astype(dtype)


def _payloads(rng: Generator, dims: Dims, dtype: DType, limit: int | None) -> Array:
    """Tame numbers, and NaN of either sign with any payload among them."""
    values = tame(rng, dims, dtype, limit)
    if dtype.name not in _WITH_PAYLOADS:
        return values
    components = values.reshape(-1).view(real_dtype(dtype)).copy()
    bits, info = raw_bits(components), finfo(real_dtype(dtype))
    quiet = raw_bits(np.asarray([np.nan], components.dtype))[0]
    some = rng.integers(0, 1 << (info.nmant - 1), components.shape, dtype=np.uint64).astype(bits.dtype)
    sign = rng.integers(0, 2, components.shape).astype(bits.dtype) << bits.dtype.type(info.bits - 1)
    chosen = rng.random(components.shape) < float(rng.choice(_SOME))
    return np.asarray(np.where(chosen, quiet | some | sign, bits).astype(bits.dtype)).view(dtype).reshape(dims)


def _edges(rng: Generator, dims: Dims, dtype: DType, limit: int | None) -> Array:
    """Numbers where other types end, on both sides: what a conversion keeps, what it rounds, and what is too large."""
    if dtype.kind == "b" or limit is not None:
        return tame(rng, dims, dtype, limit)
    if is_inexact(dtype):
        with np.errstate(all="ignore"):
            most = 2 * float(finfo(real_dtype(dtype)).max)
            real = _as([end for end in _ENDS if end <= most], real_dtype(dtype))
            near = np.concatenate([np.nextafter(real, real.dtype.type(end)) for end in (-np.inf, np.inf)])
        signed = np.concatenate([real, near])
        return _sprinkled(rng, tame(rng, dims, dtype), _as(np.concatenate([signed, -signed]), dtype))
    low, high = _range(dtype)
    wanted = [end for end in _INTEGER_ENDS if low <= end <= high]
    return _sprinkled(rng, tame(rng, dims, dtype), np.asarray(wanted, _widest(dtype)).astype(dtype))


def _largest(dtype: DType) -> list[float]:
    """The largest number of a type, and halfway from it to what would come next."""
    info = finfo(dtype)
    last = float(info.max)
    return [last, last + float(np.ldexp(1.0, int(np.frexp(last)[1]) - int(info.nmant) - 2))]


_ENDS = [
    *(float(np.ldexp(1.0, bits) + by) for bits in (3, 4, 7, 8, 15, 16, 24, 31, 32, 53, 63, 64) for by in (-1, -0.5, 0)),
    *(end for name in ("f8e4m3fn", "f8e5m2", "bf16", "f16", "f32") for end in _largest(DTYPES[name])),
]
"""Where integers end, and floats."""


def _ends_of(widths: Iterable[int]) -> list[int]:
    """The numbers on both sides of powers of two."""
    return sorted({sign * (1 << bits) + by for bits in widths for by in (-1, 0, 1) for sign in (1, -1)})


_INTEGER_ENDS, _WIDTH_ENDS = _ends_of(range(65)), _ends_of((7, 8, 15, 16, 31, 32, 63, 64))
_WITH_PAYLOADS = frozenset({"bfloat16", "float16", "float32", "float64", "complex64", "complex128"})

KINDS: Mapping[str, Draw] = {
    "tame": tame,
    "special": special,
    "integers": _integers,
    "zeros": _zeros,
    "equal": _equal,
    "sorted": _sorted,
    "one-hot": _one_hot,
    "ties": _ties,
    "denormal": _denormal,
    "extreme": _extreme,
    BOUNDARY: _boundary,
    "uneven": _uneven,
    "payloads": _payloads,
    "edges": _edges,
    MATRICES: matrices.or_else(tame),
}
"""The kinds of values by name."""


def make_inputs(module: Any, rng: Generator, kind: str = "tame", *, mixed: bool = False) -> list[Array]:
    """Inputs of a kind for the parameters of a program, which are arrays.

    Args:
        module: a program.
        rng: what is drawn by.
        kind: of the values, a key of `KINDS`.
        mixed: whether some inputs stay tame.
    """
    limits, unchecked = index_limits(module), unchecked_indices(module)
    made = []
    for parameter in module.entry.parameters * compiler.times_given(module):
        dims, dtype = extents.drawn_dims(rng, parameter.shape), DTYPES[parameter.shape.element_type.name]
        number = parameter.parameter_number
        draw = tame if (mixed and rng.integers(2)) or number in unchecked else KINDS[kind]
        if dtype.kind == "c" and rng.integers(100) < _BOTH_PERCENT:
            draw = _in_both_components(draw)
        values = np.asarray(draw(rng, dims, dtype, limits.get(number)))
        made.append(aligned(np.sort(values, axis=-1) if unchecked.get(number) and dims else values))
    return made


def _in_both_components(draw: Draw) -> Draw:
    """Complex numbers whose real and imaginary parts are such values, each on its own."""

    def drawn(rng: Generator, dims: Dims, dtype: DType, limit: int | None) -> Array:
        made = np.empty(dims, dtype)
        made.real, made.imag = (draw(rng, dims, real_dtype(dtype), limit) for _ in range(2))
        return made

    return drawn


def several(module: Any, rng: Generator, count: int, always: Sequence[str] = ()) -> dict[str, list[Array]]:
    """Inputs of so many kinds, other than tame ones, by their names; of none where a program takes no inputs.

    Args:
        module: a program.
        rng: what is drawn by.
        count: kinds.
        always: kinds that are among them, and of all inputs.
    """
    if not module.entry.parameters:
        return {}
    kinds = [kind for kind in KINDS if kind != "tame"]
    drawn = [kinds[int(number)] for number in rng.permutation(len(kinds))]
    made = {kind: make_inputs(module, rng, kind) for kind in always}
    for kind in [kind for kind in drawn if kind not in always][: count - len(always)]:
        made[kind] = make_inputs(module, rng, kind, mixed=bool(rng.integers(100) >= _ALL_PERCENT))
    return made


def number_near(rng: Generator, number: Any, dtype: DType) -> Any:
    """Near `number`, as `dtype`: a neighbour, its negative, half or double; else what types end with; `rng` says."""
    if dtype.kind == "b":
        return not number
    is_close = bool(rng.integers(_CLOSE_TO_FAR))
    if is_inexact(dtype):
        value = complex(number) if dtype.kind == "c" else float(number)
        close = _as([value + 1, value - 1, -value, value * 2, value / 2], dtype)
        numbers = close if is_close else _specials(dtype)
        return numbers[int(rng.integers(len(numbers)))]
    whole, (low, high) = int(number), _range(dtype)
    near = [whole + 1, whole - 1, -whole, whole * 2, whole // 2]
    wanted = [end for end in (near if is_close else _WIDTH_ENDS) if low <= end <= high]
    return wanted[int(rng.integers(len(wanted)))] if wanted else number


def _sprinkled(rng: Generator, values: Array, wanted: Array) -> Array:
    """Values, some of them replaced by others."""
    if values.dtype.kind == "b":
        return values
    chosen = rng.random(values.shape) < float(rng.choice(_SOME))
    return np.where(chosen, rng.choice(wanted, values.shape), values).astype(values.dtype)


def _specials(dtype: DType) -> Array:
    if dtype.kind == "b":
        return np.asarray([False, True])
    if not is_inexact(dtype):
        low, high = _range(dtype)
        wanted = [low, low + 1, high, high - 1, 0, 1, -1, 2, 100]
        return np.asarray([number for number in wanted if low <= number <= high], _widest(dtype)).astype(dtype)
    info = finfo(real_dtype(dtype))
    sizes = [0.0, 1.0, 0.5, float(info.max), float(info.tiny), float(info.smallest_subnormal), np.inf, np.nan]
    return _as([*sizes, *(-size for size in sizes)], dtype)


def _as(values: Any, dtype: DType) -> Array:
    """Numbers rounded to a type; what it does not hold is whatever the conversion makes of that."""
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype)


def _range(dtype: DType) -> tuple[int, int]:
    return int(_iinfo(dtype).min), int(_iinfo(dtype).max)


def _is_signed(dtype: DType) -> bool:
    return is_inexact(dtype) or (_range(dtype)[0] < 0 and _range(dtype)[1] > 0)


def _widest(dtype: DType) -> type[np.uint64] | type[np.int64]:
    """NumPy's integers that hold all of a type."""
    return np.uint64 if dtype.kind == "u" and dtype.itemsize == 8 else np.int64
