"""Hypothesis strategies for other people's property tests: valid HLO programs, and inputs that they take.

Programs come from the generator that campaigns use, its choices drawn by Hypothesis, which therefore shrinks a program
that fails to the instructions that matter; inputs are arrays of Hypothesis's own, which shrink to zeros.

    from hypothesis import given
    from hypothesis import strategies as st
    from xlabench.strategies import inputs, modules

    @given(st.data(), modules(opcodes=["dot", "transpose"], element_types=["f32"]))
    def test_my_pass_keeps_the_meaning(data, module):
        arrays = data.draw(inputs(module))
        ...
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from hypothesis.strategies import DrawFn, SearchStrategy

import compiler
from compiler.generate import PAIRS, Space
from xlabench.cases.index_ranges import index_limits, unchecked_indices
from xlabench.cases.inputs import DTYPES, aligned
from xlabench.errors import BenchError, did_you_mean
from xlabench.judging.tolerance import Array, DType, finfo, is_inexact, real_dtype

_iinfo: Any = ml_dtypes.iinfo  # knows NumPy's own integers as well; untyped

_OPCODES = frozenset(opcode for opcode, _ in PAIRS)
_TYPES = frozenset(element_type for _, element_type in PAIRS) & frozenset(DTYPES)


def modules(
    *,
    opcodes: Iterable[str] | None = None,
    element_types: Iterable[str] | None = None,
    most_instructions: int = 8,
    most_elements: int = 256,
    most_parameters: int = 4,
) -> SearchStrategy[compiler.Module]:
    """Valid programs, which shrink towards fewer instructions, smaller shapes and simpler attributes.

    Args:
        opcodes: what instructions are drawn from, by HLO's names; None: every opcode that can be drawn.  Parameters,
            constants, and the conversions and clamps that operands need come on top.
        element_types: of the values, by HLO's names; None: all that arrays can have.
        most_instructions: how many are drawn in the entry computation, what their operands need aside.
        most_elements: of any one array.
        most_parameters: of the entry computation; the rest of what a program starts from are constants.

    Raises:
        BenchError: an opcode or an element type is not known, or cannot be drawn.
    """
    space = Space(
        _known("opcode", opcodes, _OPCODES),
        _known("element type", element_types, _TYPES),
        most_instructions=most_instructions,
        most_elements=most_elements,
        budget=16 * most_elements,
        depth=1,
        most_parameters=most_parameters,
    )
    return _modules(space)


@st.composite
def inputs(draw: DrawFn, module: compiler.Module, *, special: bool = True) -> list[Array]:
    """One array for each entry parameter of a program, once for each device of a program for several.

    Parameters that become indices lie inside of what they index.

    Args:
        draw: given by Hypothesis.
        module: the program, whose parameters are arrays.
        special: whether NaN, infinities, denormals and the extremes of integers are among the values; without it
            floats are of magnitude 1/4 to 4, or 0, and integers within -10 and 10.

    Raises:
        BenchError: a parameter is no array.
    """
    limits, unchecked = index_limits(module), unchecked_indices(module)
    made = []
    for _ in range(compiler.device_count(module)):
        for parameter in module.entry.parameters:
            shape: Any = parameter.shape
            if not hasattr(shape, "dims") or shape.element_type.name not in DTYPES:
                raise BenchError(f"parameter {parameter.name} is {shape}; inputs can be drawn for arrays only")
            dtype = DTYPES[shape.element_type.name]
            elements, drawn_dtype = _elements(dtype, limits.get(parameter.parameter_number), special=special)
            values = draw(arrays_of.arrays(drawn_dtype, shape.dims, elements=elements))
            values = np.sort(values, axis=-1) if unchecked.get(parameter.parameter_number) and shape.dims else values
            with np.errstate(all="ignore"):
                made.append(aligned(values.astype(dtype)))
    return made


class _DrawnChoices:
    """A source of choices that asks Hypothesis."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        """An integer that shrinks towards `low`."""
        return self._draw(st.integers(low, high))

    def more(self, drawn: int, most: int) -> bool:
        """Whether to go on; a no is the simpler."""
        return drawn < most and self._draw(st.booleans())

    def group(self, draw: Callable[[], None]) -> None:
        """Mark choices as one span, which the shrinker deletes as a whole."""
        self._draw(st.builds(draw))


@st.composite
def _modules(draw: DrawFn, space: Space) -> compiler.Module:
    module: compiler.Module = compiler.generate.program(_DrawnChoices(draw), space)
    return module


def _known(what: str, wanted: Iterable[str] | None, known: Collection[str]) -> frozenset[str]:
    """The names that were asked for, all of which must be known."""
    names = frozenset(known if wanted is None else wanted)
    for name in sorted(names - frozenset(known)):
        hint = did_you_mean(name, sorted(known)) or f"; known are {', '.join(sorted(known))}"
        raise BenchError(f"{what} {name!r} is not known, or cannot be drawn{hint}")
    if not names:
        raise BenchError(f"no {what} to draw from; give at least one")
    return names


def _elements(dtype: DType, index_limit: int | None, *, special: bool) -> tuple[SearchStrategy[Any], DType]:
    """What elements are drawn from, and the NumPy type that holds them until they are rounded to their own."""
    if dtype.kind == "b":
        return st.booleans(), np.dtype(bool)
    if is_inexact(dtype):
        real = _floats(real_dtype(dtype), special=special)
        if dtype.kind == "c":
            return st.builds(complex, real, real), np.dtype(complex)
        return real, np.dtype(float)
    low, high = int(_iinfo(dtype).min), int(_iinfo(dtype).max)
    if index_limit is not None:
        low, high = 0, min(index_limit, high)
    elif not special:
        low, high = max(low, -10), min(high, 10)
    return st.integers(low, high), np.dtype(np.uint64 if low >= 0 else np.int64)


def _floats(dtype: DType, *, special: bool) -> SearchStrategy[float]:
    """Floats of a real type; those that are special are few in Hypothesis's own range of f64, so they are named."""
    tame = st.integers(-16, 16).map(lambda quarters: quarters / 4)
    if not special:
        return tame
    info = finfo(dtype)
    with np.errstate(all="ignore"):
        sizes = [float(size) for size in (info.max, info.tiny, info.smallest_subnormal, info.eps)] + [np.inf, np.nan]
    named = st.sampled_from([0.0, -0.0, *sizes, *(-size for size in sizes)])
    return tame | st.floats(width=64, min_value=-float(info.max), max_value=float(info.max)) | named
