"""A program with the inputs to run it on, and what becomes of both when the program is edited."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import compiler
from compiler import edit
from xlabench.judging.tolerance import Array, DType, is_inexact

_LARGEST_VALUE = 1 << 24  # elements; a larger value is not worth a file

Values = Mapping[edit.InstructionId, Array]
"""What stood at places of a program when it ran on the reference."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A valid module and one array for each entry parameter."""

    module: compiler.Module
    inputs: tuple[Array, ...]

    def key(self) -> str:
        """Equal for cases that differ in names, notes and layouts only."""
        digest = hashlib.sha256(edit.canonical_text(self.module).encode())
        for array in self.inputs:
            digest.update(str((array.dtype.name, array.shape)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def text(self) -> str:
        """The module as HLO text."""
        return compiler.to_text(self.module)

    def called_computations(self) -> list[Any]:
        """All computations but the entry."""
        return [computation for computation in self.module.computations if computation is not self.module.entry]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What stood at places of a program when they ran for the first time and for the last, the same but in loops.

    Where the program did not run, nothing did, and `missing` says why.
    """

    first: Values
    last: Values
    missing: str = ""


def recorded(case: Case) -> Recorded:
    """The values at every place of a program on the reference.

    Computations of scalars that combine are called once for all elements: what they are given then is an array.
    """
    first: dict[edit.InstructionId, Array] = {}
    last: dict[edit.InstructionId, Array] = {}

    def keep(instruction: Any, value: Any) -> None:
        fits = isinstance(value, np.ndarray) and isinstance(instruction.shape, edit.ArrayShape)
        is_given = fits and instruction.opcode == "parameter" and not instruction.shape.dims
        if fits and (is_given or value.shape == instruction.shape.dims) and value.size <= _LARGEST_VALUE:
            instruction_id = edit.id_of(instruction)
            first.setdefault(instruction_id, value)
            last[instruction_id] = value

    compiler.interpret(case.module, *case.inputs, trace=keep)
    return Recorded(first, last)


def derive(case: Case, edited: edit.Edited | None, values: Values) -> Case | None:
    """The case that an edit makes of another; None where it is no valid program or has no inputs.

    Args:
        case: the case.
        edited: the changed program, with where each of its inputs comes from.
        values: what stood at places of the case.
    """
    if edited is None:
        return None
    try:
        compiler.verify(edited.module)
    except compiler.VerifyError:
        return None
    inputs = []
    for parameter, source in zip(edited.module.entry.parameters, edited.sources, strict=True):
        value = case.inputs[source] if isinstance(source, int) else values.get(source)
        if value is None or not isinstance(parameter.shape, edit.ArrayShape):
            return None
        fitted = _fit(value, parameter.shape.dims, parameter.shape.element_type.dtype)
        if fitted is None:
            return None
        inputs.append(fitted)
    return Case(edited.module, tuple(inputs))


def _fit(value: Array, dims: Sequence[int], dtype: DType) -> Array | None:
    """The corner of an array that has these dimensions, as this type."""
    if value.ndim != len(dims) or any(have < want for have, want in zip(value.shape, dims, strict=True)):
        return None
    corner = value[tuple(slice(0, size) for size in dims)]
    if corner.dtype == dtype:
        return corner
    with np.errstate(all="ignore"):
        wide = corner.real if corner.dtype.kind == "c" and dtype.kind != "c" else corner
        if is_inexact(wide.dtype) and not is_inexact(dtype):
            wide = np.nan_to_num(wide.astype(np.float64), posinf=1, neginf=-1)
        return np.asarray(wide.astype(dtype))
