"""Results that no bound of an element decides, decided by what they must satisfy together with their operands.

A routine of LAPACK in a program's entry whose results are all results of the program gives a `Residual`: which they
are, and the operands as the reference's wide mode has them.  `found` holds an engine's results against it
(`xlabench.judging.relations`), matrix by matrix, and says which elements are right and which are wrong.  Of matrices
that are not finite, or whose products leave the range of the type, nothing is said: LAPACK's own steps decide then.

The reflections of `geqrf` are mostly made into the orthogonal factor at once, which nobody but `orgqr` sees them for;
then that factor is held to the matrix, and the triangle where it is a result too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import compiler
from compiler.ops.custom_call import TARGET, options_of
from xlabench.judging.lapack_call import Call
from xlabench.judging.relations import RELATIONS
from xlabench.judging.tolerance import Array, finfo, is_inexact, real_dtype

Instruction = Any  # the compiler's; the harness sees its data by attribute only
Mask = NDArray[np.bool_]
_HANDED_ON = frozenset({"get-tuple-element", "tuple"})
_VECTORS = frozenset({"gtsv"})
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
        results: the numbers of the program's results that are its own, in its order.
        values: its operands in f64 or c128, integers as they are.
        errors: how far each element of them may be off.
    """

    routine: str
    options: Mapping[str, str]
    results: tuple[int, ...]
    values: tuple[Array, ...]
    errors: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Decided:
    """Which elements of a result are right and which are wrong; of the others nothing is known."""

    right: Mask
    wrong: Mask


def residuals_of(module: Any, inputs: Sequence[Array], expected: Sequence[Array]) -> tuple[Residual, ...]:
    """What can be decided of a program's results in this way; nothing where wide mode cannot tell the operands."""
    calls = [i for i in module.entry.instructions if _routine(i) in RELATIONS]
    if not calls or compiler.device_count(module) > 1 or len(inputs) != len(module.entry.parameters):
        return ()
    places = _places(module.entry.root)
    whole = [_whole(call, places) for call in calls]
    direct = [(c, results) for c, results in zip(calls, whole, strict=True) if results]
    try:
        made = [_direct(module, inputs, call, results) for call, results in direct]
        made += [one for call in calls for one in _factored(module, inputs, expected, call, places)]
    except compiler.UnsupportedError:
        return ()
    return tuple(made)


def packed(residuals: Sequence[Residual]) -> tuple[list[dict[str, Any]], list[Array]]:
    """Residuals as JSON and arrays, to be sent to another process."""
    arrays = [array for one in residuals for pair in zip(one.values, one.errors, strict=True) for array in pair]
    said = [
        {"routine": r.routine, "options": dict(r.options), "results": list(r.results), "operands": len(r.values)}
        for r in residuals
    ]
    return said, arrays


def unpacked(said: Sequence[Mapping[str, Any]], arrays: Sequence[Array]) -> tuple[Residual, ...]:
    """What was `packed`."""
    left, residuals = list(arrays), []
    for one in said:
        own, left = left[: 2 * one["operands"]], left[2 * one["operands"] :]
        residuals.append(
            Residual(one["routine"], one["options"], tuple(one["results"]), tuple(own[::2]), tuple(own[1::2]))
        )
    return tuple(residuals)


def _routine(instruction: Instruction) -> str:
    if instruction.opcode != "custom-call":
        return ""
    matched = TARGET.fullmatch(instruction.attributes["custom_call_target"])
    return matched[1] if matched else ""


def _places(root: Instruction) -> dict[tuple[Instruction, int], int]:
    """The number of a result of the program by what it is handed on from: an instruction, and which part of it."""
    places: dict[tuple[Instruction, int], int] = {}
    pending: list[tuple[Instruction, tuple[int, ...]]] = [(root, ())]
    number = 0
    while pending:
        instruction, path = pending.pop(0)
        shape = instruction.shape
        for index in path:
            shape = shape.elements[index]
        if hasattr(shape, "elements"):
            pending[:0] = [(instruction, (*path, index)) for index in range(len(shape.elements))]
            continue
        if not shape.element_type.bits:  # a token is no result
            continue
        source, path = _source(instruction, path)
        if len(path) < 2:
            places.setdefault((source, path[0] if path else 0), number)
        number += 1
    return places


def _source(instruction: Instruction, path: tuple[int, ...]) -> tuple[Instruction, tuple[int, ...]]:
    """Where a part of a value is handed on from."""
    while instruction.opcode in _HANDED_ON:
        if instruction.opcode == "get-tuple-element":
            instruction, path = instruction.operands[0], (instruction.attributes["index"], *path)
        else:
            instruction, path = instruction.operands[path[0]], path[1:]
    return instruction, path


def _whole(call: Instruction, places: Mapping[tuple[Instruction, int], int]) -> tuple[int, ...]:
    """The numbers of a call's results; none unless all of them are results of the program."""
    count = len(getattr(call.shape, "elements", (call.shape,)))
    found = [places.get((call, index)) for index in range(count)]
    return tuple(number for number in found if number is not None) if None not in found else ()


def _operands(module: Any, inputs: Sequence[Array], call: Instruction) -> list[Any]:
    """The operands of a call as wide mode has them."""
    edited = compiler.edit.keep_results(module, [compiler.edit.place_of(operand) for operand in call.operands])
    given = [inputs[source] for source in edited.sources if isinstance(source, int)]
    return list(compiler.interpret(edited.module, *given, wide=True))


def _direct(module: Any, inputs: Sequence[Array], call: Instruction, results: tuple[int, ...]) -> Residual:
    wides = _operands(module, inputs, call)
    values, errors = tuple(wide.value for wide in wides), tuple(np.abs(wide.bound) for wide in wides)
    return Residual(_routine(call), options_of(call), results, values, errors)


def _factored(
    module: Any,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    call: Instruction,
    places: Mapping[tuple[Instruction, int], int],
) -> Iterator[Residual]:
    """The orthogonal factor that a call makes of the reflections of another, and the triangle where it is a result."""
    number = places.get((call, 0))
    made = _reflections_of(call) if _routine(call) in ("orgqr", "ungqr") and number is not None else None
    if made is None or number is None:
        return
    wides = _operands(module, inputs, made)
    trace = _values_of(module, inputs, (made, call))
    packed, factors = trace[made]
    if not _are_the_same(packed, factors, *trace[call]):
        return
    triangle = np.triu(packed)[..., : expected[number].shape[-1], :]
    others = [n for n, other in enumerate(expected) if n != number and _is_triangle(other, triangle)]
    values, errors = tuple(wide.value for wide in wides), tuple(np.abs(wide.bound) for wide in wides)
    yield Residual("qr", {}, (number, *others[:1]), values, errors)


def _reflections_of(call: Instruction) -> Instruction | None:
    """The only geqrf that the operands of a call come from."""
    pending, found, seen = list(call.operands), set[Instruction](), set[Instruction]()
    while pending:
        instruction = pending.pop()
        if instruction in seen:
            continue
        seen.add(instruction)
        if _routine(instruction) == "geqrf":
            found.add(instruction)
        else:
            pending.extend(instruction.operands)
    return found.pop() if len(found) == 1 else None


def _values_of(
    module: Any, inputs: Sequence[Array], wanted: tuple[Instruction, Instruction]
) -> dict[Instruction, tuple[Array, ...]]:
    """What the first of two calls gives, and what the second takes."""
    known: dict[Instruction, Any] = {}
    compiler.interpret(module, *inputs, trace=known.__setitem__)
    made, call = wanted
    return {made: tuple(known[made]), call: tuple(known[operand] for operand in call.operands)}


def _are_the_same(packed: Array, factors: Array, taken: Array, taken_factors: Array) -> bool:
    """Whether reflections are handed on as they are: the vectors below the diagonal, and the factors."""
    count = min(packed.shape[-1], taken.shape[-1], factors.shape[-1])
    return bool(
        factors.shape == taken_factors.shape
        and np.array_equal(factors, taken_factors)
        and packed.shape[:-1] == taken.shape[:-1]
        and count == factors.shape[-1]
        and np.array_equal(np.tril(packed[..., :count], -1), np.tril(taken[..., :count], -1))
    )


def _is_triangle(result: Array, triangle: Array) -> bool:
    return result.dtype == triangle.dtype and np.array_equal(result, triangle) and bool(triangle.any())


def decided_by(residuals: Sequence[Residual], expected: Sequence[Array], actual: Sequence[Array]) -> dict[int, Decided]:
    """What residuals say of results that can be compared, by their numbers; what one calls wrong is wrong."""
    known: dict[int, Decided] = {}
    given = [(e.shape, e.dtype) for e in expected] == [(a.shape, a.dtype) for a in map(np.asarray, actual)]
    for residual in residuals if given else ():
        for number, one in found(residual, actual).items():
            before = known.get(number, one)
            wrong = one.wrong | before.wrong
            known[number] = Decided((one.right | before.right) & ~wrong, wrong)
    return known


def found(residual: Residual, actual: Sequence[Array]) -> dict[int, Decided]:
    """What an engine's results are by what they must satisfy, by the numbers of results."""
    results = [actual[number] for number in residual.results]
    decided = {
        number: Decided(np.zeros(actual[number].shape, np.bool_), np.zeros(actual[number].shape, np.bool_))
        for number in residual.results
    }
    batch = residual.values[-1 if residual.routine in _VECTORS else 0].shape[:-2]
    with np.errstate(all="ignore"):
        for index in np.ndindex(*batch):
            for places, is_right in _of_matrix(residual, results, index).items():
                mask = decided[residual.results[places]]
                (mask.right if is_right else mask.wrong)[index] = True
    return decided


def _of_matrix(residual: Residual, results: Sequence[Array], index: tuple[int, ...]) -> dict[int, bool]:
    """Whether each of the results for one matrix is right, of those that anything is known of."""
    own = next(real_dtype(result.dtype) for result in results if is_inexact(result.dtype))
    given, errors = ([part[index] for part in parts] for parts in (residual.values, residual.errors))
    info = finfo(own)
    if not all(part.size for part in given):  # all that can be said is that it went well
        return {place: not result[index].any() for place, result in enumerate(results)}
    if not all(np.isfinite(part).all() for part in (*given, *errors)):
        return {}
    largest = max(float(np.abs(part).max()) for part in given if is_inexact(part.dtype))
    if largest * _HEADROOM * max(given[0].shape) > float(info.max) or 0 < largest < _SQUARED:
        return {}
    call = Call(given, errors, [_wide(r[index]) for r in results], residual.options, float(info.eps), float(info.tiny))
    known: dict[int, bool] = {}
    for places, off in RELATIONS[residual.routine](call):
        for place in places:
            known[place] = known.get(place, True) and off <= 1
    return known


def _wide(array: Array) -> Array:
    if not is_inexact(array.dtype):
        return array
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
