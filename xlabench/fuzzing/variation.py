"""Programs near a program: other types and sizes, identities between its instructions, and near misses.

A rewrite is right for the program that it was written for.  Where it is wrong is nearby: at a permutation that is not
its own inverse, at two dimensions of one size, on a type that rounds, one beyond the last place, at a size beside which
something else is decided (`xlabench.fuzzing.edges`), where one of its conditions does not hold
(`xlabench.fuzzing.near_misses`).  What a change makes is any program, valid or not: who asks verifies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import compiler
from compiler.generate import RandomChoices
from compiler.ops import Trait, narrowing
from xlabench.cases.index_ranges import unchecked_indices
from xlabench.fuzzing import edges, near_misses
from xlabench.fuzzing.limits import UNLIMITED, Limits
from xlabench.fuzzing.values import make_inputs

Module = Any  # the compiler's; the harness sees its data by attribute only
Instruction = Any
Inputs = Sequence[Any]
Rng = np.random.Generator
Change = Callable[[Module, Rng], Module | None]
"""Makes another program of one, None where it does not apply; what it takes stays as it is."""

_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 130, 260)
"""Some are beyond what indices of 8 bits, with a sign or without, can be."""
_MOST_ELEMENTS = 1 << 13
_TYPES = ("bf16", "f16", "f32", "f64", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "c64", "c128")
_OPEN = narrowing(Trait.STATED_SHAPE, "bitcast custom-call") | {
    "dynamic-reshape",
    "ragged-all-to-all",
    "set-dimension-size",
}
"""What takes other sizes only with other values or attributes; other ops of stated shapes take any that fit."""
_PROMISES = ("indices_are_sorted", "unique_indices")
_COUNTERS = frozenset("su")
_MOST_STEPS, _MOST_STEPS_IN_ALL = 5_000, 20_000
_KINDS = ("tame", "extreme", "special")
_MOST, _MOST_IDENTITIES = 3, 2


class _EndlessError(Exception):
    """A loop does not end, or not soon."""


def varied(module: Module, rng: Rng, limits: Limits = UNLIMITED) -> Module:
    """A program with up to a few changes, of which those are left out that make it invalid, or larger than the limits.

    What a custom call means, and sizes known at run time only, nobody checks beforehand: they stay as they are, and
    what no implementation checks of a sparse matrix is still given as it must be.  So does a program whose results are
    up to the engine, and none becomes such; what was promised of indices is not promised of others.

    Args:
        module: the program, which stays as it is.
        rng: what is drawn from.
        limits: how large it may become.
    """
    unchecked = unchecked_indices(module)
    is_open = not is_determined(module) or any(_is_open(instruction) for instruction in module.instructions())
    names = list(_ALWAYS_RIGHT if is_open else CHANGES)
    for _ in range(int(rng.integers(_MOST, endpoint=True))):
        name = names[int(rng.integers(len(names)))]
        change = partial(edges.at_an_edge, limits=limits) if CHANGES[name] is edges.at_an_edge else CHANGES[name]
        changed = change(module, rng)
        if changed is None or not limits.hold(changed) or unchecked_indices(changed) != unchecked:
            continue
        if name not in _ALWAYS_RIGHT:
            changed = _without_promises(changed)
        if is_valid(changed) and (is_open or is_determined(changed)) and has_meaning(changed, rng):
            module = changed
    return module


def has_meaning(module: Module, rng: Rng) -> bool:
    """Whether the reference comes to an end with a program that is valid: some things are seen only then.

    How often a loop iterates may be up to what a program is given, which in another program may be anything.  Whatever
    the reference raises besides refusing the program is a finding.
    """
    kinds = _KINDS if _loops(module) else _KINDS[:1]
    return _ends(module, (make_inputs(module, rng, kind) for kind in kinds), _MOST_STEPS)


def ends(module: Module, calls: Iterable[Inputs], most_steps: int = _MOST_STEPS_IN_ALL) -> bool:
    """Whether a program's loops end soon, on inputs that it is called with.

    What starts a loop that was planted is a value of another program, and a near miss of its condition may hold for
    nearly all of those that there are.

    Args:
        module: the program.
        calls: its inputs, call by call.
        most_steps: how many instructions the reference may come to in one call.
    """
    return not _loops(module) or _ends(module, calls, most_steps)


def _loops(module: Module) -> bool:
    return any(instruction.opcode == "while" for instruction in module.instructions())


def _ends(module: Module, calls: Iterable[Inputs], most_steps: int) -> bool:
    is_for_several = compiler.device_count(module) > 1
    try:
        interpret = compiler.prepare(module)
        for inputs in calls:
            if not is_for_several or _loops(module):
                interpret(*inputs, around=_Steps(most_steps))
            if is_for_several:  # where steps are counted, one program is made of it, which may take other sizes
                interpret(*inputs)
    except (_EndlessError, compiler.CompilerError):
        return False
    except Exception:  # noqa: BLE001 - the campaign comes to it again, and says so
        return True
    return True


class _Steps:
    """Stands in for the meanings of instructions, all as they are, until there are too many."""

    def __init__(self, most: int) -> None:
        self._left = most

    def __call__(self, _: Instruction, operands: Any, evaluate: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise _EndlessError
        return evaluate(operands)


def is_valid(module: Module) -> bool:
    """Whether the compiler takes a program."""
    try:
        compiler.verify(module)
    except compiler.CompilerError:
        return False
    return True


def is_determined(module: Module) -> bool:
    """Whether no results of a program are up to the engine: to how it brackets what is reduced, or merges a sort."""
    return bool(compiler.generate.is_determined(module))


def _without_promises(module: Module) -> Module:
    """The program without what its own values kept, and others need not."""
    if not any(name in instruction.attributes for instruction in module.instructions() for name in _PROMISES):
        return module
    kept = module.clone()
    for instruction in kept.instructions():
        for name in _PROMISES:
            instruction.attributes.pop(name, None)
    return kept


def _is_open(instruction: Instruction) -> bool:
    """Whether an instruction asks more of its operands than is checked before it runs."""
    arrays = compiler.edit.leaves(instruction.shape)
    return instruction.opcode in _OPEN or any(array.is_dynamic for array in arrays if hasattr(array, "is_dynamic"))


def _retyped(module: Module, rng: Rng) -> Module | None:
    present = {leaf.element_type.name for i in module.instructions() for leaf in compiler.edit.leaves(i.shape)}
    counts = any(i.opcode == "while" for i in module.instructions())  # a loop may count in any integers
    old = [name for name in _TYPES if name in present and not (counts and name[0] in _COUNTERS)]
    if not old:
        return None
    edited = compiler.edit.retype(module, _one(rng, old), _one(rng, _TYPES))
    return edited.module if edited else None


def _resized(module: Module, rng: Rng) -> Module | None:
    sizes = sorted(
        {size for i in module.instructions() for leaf in compiler.edit.leaves(i.shape) for size in leaf.dims if size}
    )
    if not sizes:
        return None
    edited = compiler.edit.resize(module, {_one(rng, sizes): _one(rng, _SIZES)})
    return edited.module if edited and _is_small(edited.module) else None


def _is_small(module: Module) -> bool:
    sizes = (leaf.size for i in module.instructions() for leaf in compiler.edit.leaves(i.shape))
    return max(sizes, default=0) <= _MOST_ELEMENTS


def _with_identities(module: Module, rng: Rng) -> Module | None:
    changes = int(rng.integers(1, _MOST_IDENTITIES, endpoint=True))
    return compiler.mutation.mutate(module, RandomChoices(int(rng.integers(1 << 62))), count=changes)[0]


def _in_an_order(module: Module, rng: Rng) -> Module:
    """Some instructions wait for others that no value ties them to."""
    waiting = module.clone()
    compiler.generate.order(waiting, RandomChoices(int(rng.integers(1 << 62))))
    return waiting


CHANGES: Mapping[str, Change] = {
    "retyped": _retyped,
    "resized": _resized,
    "at an edge": edges.at_an_edge,
    "with identities": _with_identities,
    "other attribute": near_misses.other_attribute,
    "other number": near_misses.other_number,
    "other opcode": near_misses.other_opcode,
    "other operand": near_misses.other_operand,
    "more of an operand": near_misses.more_of_an_operand,
    "another beside": near_misses.another_beside,
    "once more": near_misses.once_more,
    "other combiner": near_misses.other_combiner,
    "in an order": _in_an_order,
}
"""How programs are varied, by names."""
_ALWAYS_RIGHT = ("with identities",)


def _one(rng: Rng, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]
