"""Grafts: parts of real programs, cut along their data flow and made small, to be planted in what is drawn.

Real programs put together what choices do not: a normalisation behind a product, a gather of what a sort gives.  A part
is an instruction with a few of those that it is computed from; what they take besides becomes a parameter, and sizes
become small ones, different where they were.  Where it is planted it is joined to others
(`compiler.generate.fragments`), by values of its parameters' shapes, conversions, broadcasts and reshapes.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

import compiler
from compiler.ops import Trait, having

Module = Any  # the compiler's; the harness sees its data by attribute only
Instruction = Any
Rng = np.random.Generator

SUITES = ("corpus", "smoke")
"""The suites whose programs are cut."""
_LEAST, _MOST = 3, 10  # instructions of a part
_SMALL = (2, 3, 4, 5, 7, 8, 9, 16, 17)
_KEPT_SIZE, _MOST_ELEMENTS = 8, 1 << 12
_MOST_BYTES = 1 << 16
_ASIDE = having(Trait.STRUCTURAL | Trait.SIDE_EFFECT | Trait.RANDOM) | {"constant"}


@cache
def _names() -> tuple[tuple[str, str], ...]:
    candidates = ((suite, path) for suite in SUITES for path in (files("suites") / suite).iterdir())
    return tuple(
        sorted(
            (suite, path.name)
            for suite, path in candidates
            if path.name.endswith(".hlo") and len(path.read_bytes()) < _MOST_BYTES
        )
    )


@cache
def _program(suite: str, name: str) -> Module:
    text = (files("suites") / suite / name).read_text(encoding="utf-8")
    return compiler.edit.plain(compiler.parse(text)).module


def graft(rng: Rng) -> Module | None:
    """A part of a program of the suites; None where what was cut cannot be made small, or is no fragment."""
    names = _names()
    module = _program(*names[int(rng.integers(len(names)))])
    able = [i for i in module.entry.instructions if _is_inside(i)]
    if not able:
        return None
    return cut(module, able[int(rng.integers(len(able)))], rng)


def cut(module: Module, last: Instruction, rng: Rng) -> Module | None:
    """An instruction of the entry computation with a few of those before it, on small arrays.

    Args:
        module: a program.
        last: the instruction whose value is kept.
        rng: what is drawn by.
    """
    given = _given(last, int(rng.integers(_LEAST, _MOST, endpoint=True)))
    if not all(_is_array(instruction) for instruction in given):
        return None
    id_of = compiler.edit.id_of
    kept = compiler.edit.keep_results(module, [id_of(last)]).module
    made = compiler.edit.to_parameters(kept, [id_of(instruction) for instruction in given]).module
    sizes = sorted({n for i in made.instructions() for leaf in compiler.edit.leaves(i.shape) for n in leaf.dims})
    large = [size for size in sizes if size > _KEPT_SIZE]
    smaller = [int(_SMALL[number % len(_SMALL)]) for number in rng.permutation(len(_SMALL))]
    resized = compiler.edit.resize(made, {size: smaller[k % len(smaller)] for k, size in enumerate(large)})
    return resized.module if resized is not None and _is_small(resized.module) else None


def _given(last: Instruction, most: int) -> list[Instruction]:
    """What so many instructions that end in one, the nearest first, take that is none of them."""
    members = [last]
    for instruction in members:
        near = [o for o in instruction.operands if o not in members and _is_inside(o)]
        members += near[: max(0, most - len(members))]
    return list(dict.fromkeys(o for i in members for o in i.operands if o not in members and o.opcode not in _FREE))


_FREE = having(Trait.GENERATES)
"""What depends on nothing, and stays as it is."""


def _is_inside(instruction: Instruction) -> bool:
    return instruction.opcode not in _ASIDE


def _is_array(instruction: Instruction) -> bool:
    return hasattr(instruction.shape, "dims") and not instruction.shape.is_dynamic


def _is_small(module: Module) -> bool:
    sizes = [leaf.size for i in module.instructions() for leaf in compiler.edit.leaves(i.shape)]
    if max(sizes, default=0) > _MOST_ELEMENTS or not compiler.generate.is_fragment(module):
        return False
    try:
        compiler.verify(module)
    except compiler.CompilerError:
        return False
    return True
