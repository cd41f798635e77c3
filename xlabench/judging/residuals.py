"""Results that no bound of an element decides, decided by what they must satisfy together with their operands.

A routine of LAPACK whose results are results of the program gives a `Residual`: which they are, and the operands as the
reference's wide mode has them.  `found` holds an engine's results against it (`xlabench.judging.relations`), matrix by
matrix, and says which elements are right and which are wrong.  Of matrices that are not finite, or whose products leave
the range of the type, nothing is said: LAPACK's own steps decide then.  Nor is where an engine takes denormal numbers
for zeros and the routine may meet some: then it finds a matrix singular that is not.

Between the routine and the program's result may stand what hands elements on as they are: calls, tuples, a choice
between them and NaN by what the routine says of its success, and real and imaginary parts put together.  That it does,
the reference's own values show.

The reflections of `geqrf` are mostly made into the orthogonal factor at once, which nobody but `orgqr` sees them for;
then that factor is held to the matrix, and the triangle where it is a result too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

import compiler
from compiler.ops import Trait, having
from xlabench.judging.elements import Value, arrays_of, through_tuples
from xlabench.judging.lapack_call import Call
from xlabench.judging.relations import RELATIONS
from xlabench.judging.tolerance import Array, finfo, is_inexact, real_dtype

Instruction = Any  # the compiler's; the harness sees its data by attribute only
Mask = NDArray[np.bool_]
WHOLE = "all"
NOWHERE = (-1, WHOLE)
_AS_THEY_ARE = having(Trait.IDENTITY)
_VECTORS = frozenset({"gtsv"})
_ALL_OR_NOTHING = frozenset({"potrf"})
"""Routines of which the reference leaves NaN where `info` is not 0; of others NaN says that something overflowed."""
_HEADROOM = 16.0
"""Of the largest number of a type, for sums of as many terms as there are rows."""
_SQUARED = 1e-140
"""Squares of what is smaller are nothing in f64, in which all is measured."""


@dataclass(frozen=True, slots=True)
class Residual:
    """A routine in a program.

    Attributes:
        routine: its name, a key of `RELATIONS`.
        options: what it was told.
        results: where its own results are among the program's: of each the number, and the part of complex numbers
            that it is, `all` of most; number -1 where it is no result.
        own: what the reference gives for each of them.
        values: its operands in f64 or c128, integers as they are.
        errors: how far each element of them may be off.
        is_flushed: whether the engine takes denormal numbers for zeros.
    """

    routine: str
    options: Mapping[str, str]
    results: tuple[tuple[int, str], ...]
    own: tuple[Array, ...]
    values: tuple[Array, ...]
    errors: tuple[Array, ...]
    is_flushed: bool = False


@dataclass(frozen=True, slots=True)
class Decided:
    """Which elements of a result are right and which are wrong; of the others nothing is known."""

    right: Mask
    wrong: Mask


def residuals_of(module: Any, inputs: Sequence[Array], expected: Sequence[Array]) -> tuple[Residual, ...]:
    """What can be decided of a program's results in this way; nothing where wide mode cannot tell the operands.

    Args:
        module: the program.
        inputs: of the call.
        expected: the reference's results.
    """
    is_called = any(compiler.edit.routine_of(instruction) in RELATIONS for instruction in module.instructions())
    if not is_called or compiler.device_count(module) > 1 or len(inputs) != len(module.entry.parameters):
        return ()
    try:
        program = _Program.of(module, inputs, expected)
        made = [found for call in program.calls() for found in (program.direct(call), program.factored(call))]
    except compiler.UnsupportedError:
        return ()
    return tuple(one for one in made if one is not None)


def _sources(value: Value) -> Iterator[tuple[Value, str]]:
    """Where the elements of a value may come from as they are, and which part of complex numbers they have become."""
    return compiler.edit.reachable([(value, WHOLE)], _handed_on)


def _handed_on(found: tuple[Value, str]) -> list[tuple[Value, str]]:
    value, component = found
    if (before := through_tuples(value)) is not None:
        return [(before, component)]
    instruction, path = value
    operands = instruction.operands
    if instruction.opcode == "complex" and component == WHOLE:
        return [((operands[0], ()), "real"), ((operands[1], ()), "imag")]
    if instruction.opcode == "select":
        return [((operand, ()), component) for operand in operands[1:]]
    return [((operands[0], path), component)] if instruction.opcode in _AS_THEY_ARE else []


def _component(array: Array, component: str) -> Array:
    return array if component == WHOLE else np.asarray(getattr(array, component))


@dataclass(frozen=True, slots=True)
class _Program:
    """A program without calls of computations, with what the reference makes of its inputs."""

    module: Any
    inputs: Sequence[Array]
    expected: Sequence[Array]
    known: Mapping[Instruction, Any]

    @classmethod
    def of(cls, module: Any, inputs: Sequence[Array], expected: Sequence[Array]) -> _Program:
        """Put bodies in the places of calls, and run it."""
        while calls := [i for i in module.entry.instructions if i.opcode == "call"]:
            edited = compiler.edit.expand(module, {compiler.edit.id_of(call): 0 for call in calls})
            inputs = [inputs[source] for source in edited.sources if isinstance(source, int)]
            module = edited.module
        known: dict[Instruction, Any] = {}
        compiler.interpret(module, *inputs, trace=known.__setitem__)
        return cls(module, inputs, expected, known)

    def calls(self) -> list[Instruction]:
        """The routines of LAPACK in the entry; none where another program is run: of GPU library calls, for devices."""
        return [
            instruction
            for instruction in self.module.entry.instructions
            if instruction in self.known and compiler.edit.routine_of(instruction) in RELATIONS
        ]

    def of_call(self, call: Instruction) -> tuple[Array, ...]:
        """What a call gives."""
        value = self.known[call]
        return value if isinstance(value, tuple) else (value,)

    def result_of(self, call: Instruction, index: int) -> tuple[int, str]:
        """Where a result of a call is a result of the program, as it is."""
        own, wanted = self.of_call(call)[index], (call, (index,) if hasattr(call.shape, "elements") else ())
        for number, leaf in enumerate(arrays_of(self.module.entry.root)):
            for source, component in _sources(leaf):
                if source == wanted and _are_equal(_component(self.expected[number], component), own):
                    return number, component
        return NOWHERE

    def operands(self, call: Instruction) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """The operands of a call as wide mode has them, and their errors."""
        edited = compiler.edit.keep_results(self.module, [compiler.edit.id_of(o) for o in call.operands])
        given = [self.inputs[source] for source in edited.sources if isinstance(source, int)]
        wides = compiler.interpret(edited.module, *given, wide=True)
        return tuple(wide.value for wide in wides), tuple(np.abs(wide.bound) for wide in wides)

    def direct(self, call: Instruction) -> Residual | None:
        """What decides those results of a call that are results of the program."""
        own = self.of_call(call)
        results_ = tuple(self.result_of(call, index) for index in range(len(own)))
        if all(result == NOWHERE for result in results_):
            return None
        return Residual(
            compiler.edit.routine_of(call), compiler.edit.options_of(call), results_, own, *self.operands(call)
        )

    def factored(self, call: Instruction) -> Residual | None:
        """The orthogonal factor that a call makes of the reflections of another, and the triangle if that is seen."""
        result = self.result_of(call, 0) if compiler.edit.routine_of(call) in ("orgqr", "ungqr") else NOWHERE
        made = _reflections_of(call) if result != NOWHERE else None
        if made is None:
            return None
        packed, factors = self.of_call(made)
        if not _are_the_same(packed, factors, *(self.known[operand] for operand in call.operands)):
            return None
        orthogonal = self.of_call(call)[0]
        triangle = np.triu(packed)[..., : orthogonal.shape[-1], :]
        others = [n for n, other in enumerate(self.expected) if n != result[0] and _are_equal(other, triangle)]
        results_ = (result, *((number, WHOLE) for number in others[:1]))
        return Residual("qr", {}, results_, (orthogonal, triangle)[: len(results_)], *self.operands(made))


def _reflections_of(call: Instruction) -> Instruction | None:
    """The only geqrf that the operands of a call come from."""
    met = compiler.edit.reachable(call.operands, lambda one: () if _is_geqrf(one) else one.operands)
    found = list(filter(_is_geqrf, met))
    return found[0] if len(found) == 1 else None


def _is_geqrf(instruction: Instruction) -> bool:
    return compiler.edit.routine_of(instruction) == "geqrf"


def _are_the_same(packed: Array, factors: Array, taken: Array, taken_factors: Array) -> bool:
    """Whether reflections are handed on as they are: the vectors below the diagonal, and the factors."""
    count = min(packed.shape[-1], taken.shape[-1], factors.shape[-1])
    return bool(
        _are_equal(factors, taken_factors)
        and packed.shape[:-1] == taken.shape[:-1]
        and count == factors.shape[-1]
        and np.array_equal(np.tril(packed[..., :count], -1), np.tril(taken[..., :count], -1))
    )


def _are_equal(left: Array, right: Array) -> bool:
    is_float = is_inexact(left.dtype)
    return left.dtype == right.dtype and np.array_equal(left, right, equal_nan=is_float and left.dtype.kind in "fc")


def packed(residuals: Sequence[Residual]) -> tuple[list[dict[str, Any]], list[Array]]:
    """Residuals as JSON and arrays, to be sent to another process."""
    arrays = [array for one in residuals for array in (*one.own, *one.values, *one.errors)]
    said = [
        {"routine": r.routine, "options": dict(r.options), "results": list(r.results), "operands": len(r.values)}
        for r in residuals
    ]
    return said, arrays


def unpacked(said: Sequence[Mapping[str, Any]], arrays: Sequence[Array]) -> tuple[Residual, ...]:
    """The residuals of which `packed` made data and arrays, to be sent to another process."""
    left, residuals = iter(arrays), []
    for one in said:
        result_numbers = tuple((number, component) for number, component in one["results"])
        own, values, errors = (
            tuple(islice(left, count)) for count in (len(result_numbers), one["operands"], one["operands"])
        )
        residuals.append(Residual(one["routine"], one["options"], result_numbers, own, values, errors))
    return tuple(residuals)


def decided_by(residuals: Sequence[Residual], expected: Sequence[Array], actual: Sequence[Array]) -> dict[int, Decided]:
    """What residuals say of results that can be compared, by their numbers; what one calls wrong is wrong.

    Args:
        residuals: what each holds results to.
        expected: the reference's results.
        actual: the engine's.
    """
    known: dict[int, Decided] = {}
    given = [(e.shape, e.dtype) for e in expected] == [(a.shape, a.dtype) for a in map(np.asarray, actual)]
    for residual in residuals if given else ():
        for number, one in found(residual, actual).items():
            before = known.get(number, one)
            wrong = one.wrong | before.wrong
            known[number] = Decided((one.right | before.right) & ~wrong, wrong)
    return known


def left_to_denormals(residuals: Sequence[Residual], expected: Sequence[Array]) -> dict[int, Mask]:
    """Which elements of results, by their numbers, nothing is known of as their routine may meet denormal numbers.

    LAPACK counts on them: with zeros in their place its own steps end anywhere, in NaN and by giving up too.
    """
    left: dict[int, Mask] = {}
    for residual in (residual for residual in residuals if residual.is_flushed):
        info = finfo(next(real_dtype(result.dtype) for result in residual.own if is_inexact(result.dtype)))
        for index in np.ndindex(*_batch(residual)):
            given, own = ([array[index] for array in arrays] for arrays in (residual.values, residual.own))
            for number, _ in residual.results if _meets_denormals(given, own, info) else ():
                if number != NOWHERE[0]:
                    left.setdefault(number, np.zeros(expected[number].shape, np.bool_))[index] = True
    return left


def _batch(residual: Residual) -> tuple[int, ...]:
    return residual.values[-1 if residual.routine in _VECTORS else 0].shape[:-2]


def found(residual: Residual, actual: Sequence[Array]) -> dict[int, Decided]:
    """What an engine's results are by what they must satisfy, by the numbers of results."""
    seen = {result[0] for result in residual.results if result != NOWHERE}
    results = [
        own if result == NOWHERE else _component(actual[result[0]], result[1])
        for own, result in zip(residual.own, residual.results, strict=True)
    ]
    decided = {
        number: Decided(np.zeros(actual[number].shape, np.bool_), np.zeros(actual[number].shape, np.bool_))
        for number in seen
    }
    with np.errstate(all="ignore"):
        for index in np.ndindex(*_batch(residual)):
            for result, is_right in _of_matrix(residual, results, index).items():
                mask = decided[residual.results[result][0]]
                (mask.right if is_right else mask.wrong)[index] = True
    return decided


def _of_matrix(residual: Residual, results: Sequence[Array], index: tuple[int, ...]) -> dict[int, bool]:
    """Whether each of the results for one matrix is right, of those that anything is known of."""
    own = next(real_dtype(result.dtype) for result in results if is_inexact(result.dtype))
    given, errors = ([array[index] for array in arrays] for arrays in (residual.values, residual.errors))
    seen = {number for number, where in enumerate(residual.results) if where != NOWHERE}
    info = finfo(own)
    if not all(array.size for array in given):  # all that can be said is that it went well
        return {number: not results[number][index].any() for number in seen}
    if not all(np.isfinite(array).all() for array in (*given, *errors)):
        return {}
    largest = _largest(given)
    if largest * _HEADROOM * max(given[0].shape) > float(info.max) or 0 < largest < _SQUARED:
        return {}
    if not _has_given_up(residual, index) and not np.isfinite(_largest([own[index] for own in residual.own])):
        return {}
    if residual.is_flushed and _meets_denormals(given, [own[index] for own in residual.own], info):
        return {}
    unseen = frozenset(range(len(results))) - seen
    wide = [_wide(result[index]) for result in results]
    call = Call(given, errors, wide, residual.options, float(info.eps), float(info.tiny), unseen)
    known: dict[int, bool] = {}
    for result_numbers, off in RELATIONS[residual.routine](call):
        # Of what nobody sees, pivots too, an engine may have another than the reference, but for whether all went well.
        if all(number in seen or _says_how_it_went(results[number][index]) for number in result_numbers):
            known |= {number: known.get(number, True) and off <= 1 for number in result_numbers if number in seen}
    return known


def _has_given_up(residual: Residual, index: tuple[int, ...]) -> bool:
    """Whether the reference leaves nothing of a matrix but `info`, which says so."""
    return residual.routine in _ALL_OR_NOTHING and bool(residual.own[-1][index])


def _largest(arrays: Sequence[Array]) -> float:
    """The largest magnitude of floats; where something overflowed it is infinite, or NaN if it was computed with."""
    return float(np.max([np.abs(_wide(array)).max(initial=0.0) for array in arrays if is_inexact(array.dtype)]))


def _says_how_it_went(result: Array) -> bool:
    """Whether it is one number for a matrix, as `info` is."""
    return not result.ndim and result.dtype.kind == "i"


def _meets_denormals(given: Sequence[Array], own: Sequence[Array], info: Any) -> bool:
    """Whether a routine may come to denormal numbers: from some, from such as differ by them, or to some itself."""
    return any(
        bool(((np.abs(array) > 0) & (np.abs(array) < least)).any())
        for arrays, least in ((given, float(info.tiny) / float(info.eps)), (own, float(info.tiny)))
        for array in map(_components, filter(_is_float, arrays))
    )


def _is_float(array: Array) -> bool:
    return is_inexact(array.dtype)


def _components(array: Array) -> Array:
    return np.stack([array.real, array.imag])


def _wide(array: Array) -> Array:
    if not is_inexact(array.dtype):
        return array
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
