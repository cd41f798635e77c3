"""Programs beside a program: one number, attribute, opcode or operand of one instruction is another.

Each condition of a rewrite is about one of these: that a loop's counter goes up by 1, that an order is its own inverse,
that both read the same piece of a state.  Of a program that a rule was written for, the near misses are those in which
one of its conditions does not hold any more, or only now; a rule that forgets one is wrong about just these.

What has one meaning only as long as it stays as it is, is left alone: computations that combine values in any order, or
sort them, and the initial values of these, which may be taken in more than once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import compiler
from compiler.ops import OPS, Trait, having
from xlabench.cases.inputs import DTYPES
from xlabench.fuzzing.values import number_near

Module = Any  # the compiler's; the harness sees its data by attribute only
Instruction = Any
Rng = np.random.Generator

Site = tuple[Instruction, str]
"""An instruction, and the name of one of its attributes."""
_NUMBERS = "literal"
_ONCE = having(Trait.STRUCTURAL | Trait.SIDE_EFFECT | Trait.ASYNC | Trait.COLLECTIVE)
"""What is done once: what only names values, and what others count on."""
_RUN = having(Trait.CONTROL | Trait.CALLS | Trait.ASYNC) | {"map"}
"""What runs a computation once, or on each element, or one after the other."""
_COMBINING = having(Trait.COMBINES)
_BRACKETED = sorted(having(Trait.ASSOCIATIVE))
_PLAIN = {op.opcode: op.operands for op in OPS.values() if op.elementwise and op.evaluate and not op.required}
"""Elementwise opcodes that are told nothing but operands, and how many they take."""
_COMPARING = ("compare",)
_TAKING = having(Trait.PARTIAL) | {"dynamic-update-slice"}
"""What takes a piece of its first operand, or puts one there: rules look whether that is all of a dimension."""
_TRIES = 4
_DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")
_TRANSPOSES = ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
_TRANSFORMS = ("FFT", "IFFT", "RFFT", "IRFFT")
_BOOLEANS = ("lower", "left_side", "is_reverse", "largest", "unit_diagonal")
_TURNED = ("reversal",)
_SHIFTED = ("start", "limit", "stride", "low", "high", "interior", "pad_low", "pad_high", "lhs_dilate", "rhs_dilate",
            *_TURNED)  # fmt: skip


# -- attributes -----------------------------------------------------------------------------------------------------
def other_attribute(module: Module, rng: Rng) -> Module | None:
    """One attribute of one instruction is another."""
    return _edited(module, _other(_sites(module.instructions(), NEAR.keys() - {_NUMBERS}), rng))


def other_number(module: Module, rng: Rng) -> Module | None:
    """An element of a constant is one that is near, or that many rules are about."""
    return _edited(module, _other(_sites((i for i in _changeable(module) if not _is_initial(i)), {_NUMBERS}), rng))


def another_beside(module: Module, rng: Rng) -> Module | None:
    """Beside an instruction stands one of the same operands that does something else with them, or nearly the same.

    Nobody may take the two for one, and some rules look for what else is made of an operand.
    """
    plain = [i for i in module.entry.instructions if i.opcode in _COMPARING or i.opcode in _PLAIN]
    if plain and rng.integers(2):
        one = _one(rng, plain)
        opcode = _one(rng, [name for name, takes in _PLAIN.items() if takes[0] == len(one.operands)] or [one.opcode])
        return _made(compiler.edit.with_another(module, compiler.edit.id_of(one), opcode, {}))
    found = _other(_sites(module.entry.instructions, NEAR.keys()), rng)
    if found is None:
        return None
    (one, name), value = found
    return _made(compiler.edit.with_another(module, compiler.edit.id_of(one), one.opcode, {name: value}))


def once_more(module: Module, rng: Rng) -> Module | None:
    """Beside an instruction the same is done to other operands, by the same computations: a slice written twice, say.

    What takes an array for its own, or a computation for one caller's, shows only where there is another.
    """
    every = list(module.entry.instructions)
    found = [
        (one, position, others)
        for one in every
        for position, old in enumerate(one.operands)
        if one.opcode not in _ONCE and not _is_initial(old)
        if (others := [value for value in every if value.shape == old.shape and value is not old])
    ]
    if not found:
        return None
    calling = [site for site in found if site[0].opcode in _RUN]
    one, position, others = _one(rng, calling if calling and rng.integers(2) else found)
    ids = [compiler.edit.id_of(operand) for operand in one.operands]
    ids[position] = compiler.edit.id_of(_one(rng, others))
    return _made(compiler.edit.with_one_more(module, compiler.edit.id_of(one), ids))


def _sites(instructions: Iterable[Instruction], names: Iterable[str]) -> list[Site]:
    """Attributes that have near ones."""
    wanted = sorted(names)
    return [(i, name) for i in instructions for name in wanted if name in i.attributes]


def _other(sites: Sequence[Site], rng: Rng) -> tuple[Site, Any] | None:
    """One of the attributes and another value for it; None where none of a few tries is another one."""
    for _ in range(_TRIES if sites else 0):
        instruction, name = site = sites[int(rng.integers(len(sites)))]
        value = NEAR[name](instruction.attributes[name], rng)
        if value != instruction.attributes[name]:
            return site, value
    return None


def _edited(module: Module, found: tuple[Site, Any] | None) -> Module | None:
    """The program with another attribute."""
    if found is None:
        return None
    (instruction, name), value = found
    return _made(compiler.edit.with_attribute(module, compiler.edit.id_of(instruction), name, value))


def _made(edited: Any) -> Module | None:
    return edited.module if edited else None


def _reordered(numbers: tuple[int, ...], rng: Rng) -> tuple[int, ...]:
    """The same numbers in another order, or one of them one more or less."""
    if len(numbers) > 1 and rng.integers(4):
        return tuple(numbers[int(index)] for index in rng.permutation(len(numbers)))
    return tuple(max(0, n + int(rng.integers(-1, 1, endpoint=True))) for n in numbers)


def _shifted(items: tuple[Any, ...], rng: Rng) -> tuple[Any, ...]:
    """Parts of slices, paddings or windows, one number of one of them one more or less, or a window turned round."""
    if not items:
        return items
    index = int(rng.integers(len(items)))
    name = _one(rng, [name for name in _SHIFTED if hasattr(items[index], name)])
    value = getattr(items[index], name)
    changed = replace(items[index], **{name: not value if name in _TURNED else value + int(rng.choice([-1, 1]))})
    return (*items[:index], changed, *items[index + 1 :])


def _counted(number: int, rng: Rng) -> int:
    return max(0, number + int(rng.choice([-1, 1])))


def _regrouped(groups: Any, rng: Rng) -> Any:
    """The same devices in other groups of the same sizes; where none are listed, all are one."""
    listed = getattr(groups, "listed", ())
    devices = iter(rng.permutation([device for group in listed for device in group]).tolist())
    return type(groups)(tuple(tuple(next(devices) for _ in group) for group in listed)) if listed else groups


def _retargeted(pairs: tuple[tuple[int, int], ...], rng: Rng) -> tuple[tuple[int, int], ...]:
    """The same senders and receivers, who are for others now."""
    receivers = rng.permutation([receiver for _, receiver in pairs]).tolist()
    return tuple((sender, receiver) for (sender, _), receiver in zip(pairs, receivers, strict=True))


def _relabelled(labels: Any, rng: Rng) -> Any:
    """One of three arrays has its spatial dimensions in another order."""
    name = _one(rng, ("input_spatial", "kernel_spatial", "output_spatial"))
    return replace(labels, **{name: tuple(int(d) for d in rng.permutation(getattr(labels, name)))})


def _renumbered(literal: Any, rng: Rng) -> Any:
    """One element of a constant is another; of what is elided, or is no array, nothing."""
    if literal.array is None or not literal.array.size:
        return literal
    flat = np.array(literal.array).reshape(-1)
    index = int(rng.integers(flat.size))
    flat[index] = number_near(rng, flat[index], DTYPES[literal.shape.element_type.name])
    return replace(literal, array=flat.reshape(literal.array.shape))


NEAR: Mapping[str, Callable[[Any, Rng], Any]] = {
    **dict.fromkeys(
        (
            "dimensions",
            *(f"{side}_{kind}_dims" for side in ("lhs", "rhs") for kind in ("contracting", "batch")),
            *("start_index_map", "offset_dims", "collapsed_slice_dims", "slice_sizes"),
            *("scatter_dims_to_operand_dims", "update_window_dims", "inserted_window_dims"),
            *("operand_batching_dims", "start_indices_batching_dims"),
            *("input_batching_dims", "scatter_indices_batching_dims", "dynamic_slice_sizes"),
        ),
        _reordered,
    ),
    **dict.fromkeys(("slice", "padding", "window"), _shifted),
    **dict.fromkeys(_BOOLEANS, lambda value, _: not value),
    **dict.fromkeys(("exponent_bits", "mantissa_bits", "feature_index", "index_vector_dim", "k"), _counted),
    "iota_dimension": lambda value, rng: int(rng.integers(value + 2)),
    "index": lambda value, rng: int(rng.integers(value + 2)),
    "direction": lambda _, rng: _one(rng, _DIRECTIONS),
    "transpose_a": lambda _, rng: _one(rng, _TRANSPOSES),
    "fft_type": lambda _, rng: _one(rng, _TRANSFORMS),
    "replica_groups": _regrouped,
    "source_target_pairs": _retargeted,
    "dim_labels": _relabelled,
    _NUMBERS: _renumbered,
}
"""What is near a value of an attribute."""


def other_combiner(module: Module, rng: Rng) -> Module | None:
    """What combines values two by two is another opcode that may be bracketed in any way as well."""
    bodies = {c: None for i in module.instructions() if i.opcode in _COMBINING for c in i.called_computations()}
    roots = [c.root for c in bodies if c.root.opcode in _BRACKETED and list(c.root.operands) == c.parameters]
    if not roots:
        return None
    root = _one(rng, roots)
    return _operation(module, root, _one(rng, [name for name in _BRACKETED if name != root.opcode]), root.operands)


# -- opcodes, operands -----------------------------------------------------------------------------------------------
def other_opcode(module: Module, rng: Rng) -> Module | None:
    """An elementwise instruction does something else with its operands."""
    able = [i for i in _changeable(module) if i.opcode in _PLAIN]
    if not able:
        return None
    for _ in range(_TRIES):
        instruction = _one(rng, able)
        others = [name for name, takes in _PLAIN.items() if takes == _PLAIN[instruction.opcode]]
        made = _operation(module, instruction, _one(rng, others), instruction.operands)
        if made is not None:
            return made
    return None


def other_operand(module: Module, rng: Rng) -> Module | None:
    """An instruction takes another value of the same shape in the place of one of its operands, or two exchanged."""
    positions = [(i, k) for i in _changeable(module) for k in range(len(i.operands)) if not _is_initial(i.operands[k])]
    for _ in range(_TRIES if positions else 0):
        instruction, position = positions[int(rng.integers(len(positions)))]
        operands, old = list(instruction.operands), instruction.operands[position]
        before = _before(instruction)
        others = [value for value in before if value.shape == old.shape and value is not old]
        if not others:
            continue
        operands[position] = _one(rng, others)
        if rng.integers(2) and operands[position] in instruction.operands:
            operands[instruction.operands.index(operands[position])] = old
        return _operation(module, instruction, instruction.opcode, operands)
    return None


def more_of_an_operand(module: Module, rng: Rng) -> Module | None:
    """What takes a piece of an array takes as large a one of a longer array: not all of a dimension any more."""
    taking = [i for i in _changeable(module) if i.opcode in _TAKING and i.operands[0].shape.rank]
    if not taking:
        return None
    one = _one(rng, taking)
    along = int(rng.integers(one.operands[0].shape.rank))
    return _made(compiler.edit.with_more(module, compiler.edit.id_of(one), 0, along))


def _operation(module: Module, instruction: Instruction, opcode: str, operands: Any) -> Module | None:
    ids = list(map(compiler.edit.id_of, operands))
    return _made(compiler.edit.with_operation(module, compiler.edit.id_of(instruction), opcode, ids))


def _before(instruction: Instruction) -> list[Instruction]:
    """What stands before an instruction in its computation."""
    every = list(instruction.parent.instructions)
    return every[: every.index(instruction)]


def _changeable(module: Module) -> Iterator[Instruction]:
    """The instructions of computations that are run as they stand, in an order that everybody keeps."""
    run = compiler.edit.reachable(
        [module.entry], lambda one: [c for i in one.instructions if i.opcode in _RUN for c in i.called_computations()]
    )
    combining = {c for i in module.instructions() if i.opcode not in _RUN for c in i.called_computations()}
    return (i for computation in run if computation not in combining for i in computation.instructions)


def _is_initial(value: Instruction) -> bool:
    """Whether something begins with a value to combine others."""
    return not getattr(value.shape, "dims", ()) and any(user.opcode in _COMBINING for user in value.users)


def _one(rng: Rng, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]
