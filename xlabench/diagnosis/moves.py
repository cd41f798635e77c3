"""What a reduction tries: for each kind of edit, where it can be done and how; and what makes one case cheaper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

import compiler
from compiler import edit
from xlabench.diagnosis.case import Case, Values, derive
from xlabench.diagnosis.combiners import COMBINING, callers
from xlabench.diagnosis.simpler import TYPES, sizes, type_rank, value_rank, values_for

Item = tuple[Any, ...]
"""A place, and what the move wants to know besides."""

_LARGEST_CONSTANT = 8
_MOST_ITERATIONS = 3
_MOST_ALONE = 24  # each costs a probe


@dataclass(frozen=True, slots=True)
class Move:
    """One kind of edit.

    Attributes:
        name: how it is called in the history.
        items: where it can be done in a case; an item begins with the names of computation and instruction.
        apply: the case with the edit done at all of the items, None where that is no case.
        together: whether it makes sense to try many items at once.
    """

    name: str
    items: Callable[[Case, Values], Iterator[Item]]
    apply: Callable[[Case, Sequence[Item], Values], Case | None]
    together: bool = True

    def applies(self, case: Case, item: Item) -> bool:
        """Whether the place of an item still exists; an item without a place always applies."""
        if not self.together and not isinstance(item[0], str):
            return True
        return any(edit.id_of(i) == item[:2] for i in case.module.instructions())


def cost(case: Case) -> tuple[int, ...]:
    """What is to become smaller, the most important first."""
    module = case.module
    instructions = list(module.instructions())
    work = sum(i.opcode != "parameter" for i in instructions)
    arrays = [i.shape for i in instructions if isinstance(i.shape, edit.ArrayShape)]
    states = sum(len(getattr(i.shape, "elements", ())) for i in instructions)
    return (
        work,
        len(instructions),
        len(module.computations),
        states,
        sum(shape.size + shape.rank for shape in arrays),
        sum(type_rank(shape.element_type.name) for shape in arrays),
        sum(len(str(value)) for i in instructions for value in i.attributes.values() if _counts(value)),
        sum(value_rank(value) for value in case.inputs),
    )


def _counts(value: object) -> bool:
    """Whether an attribute's value is part of the cost: not a computation, not the value of a constant."""
    return isinstance(value, str | int | tuple)


def instruction_count(module: compiler.Module) -> int:
    """The instructions of all computations, parameters aside: what a reader has to understand."""
    return sum(instruction.opcode != "parameter" for instruction in module.instructions())


def _plain_items(case: Case, _: Values) -> Iterator[Item]:
    yield (*edit.id_of(case.module.entry.root),)


def _plain(case: Case, _items: Sequence[Item], values: Values) -> Case | None:
    return derive(case, edit.plain(case.module), values)


def _result_items(case: Case, _: Values) -> Iterator[Item]:
    root = case.module.entry.root
    if root.opcode == "tuple":
        for operand in dict.fromkeys(root.operands):
            yield (*edit.id_of(operand),)


def _drop_results(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    dropped = set(items)
    root = case.module.entry.root
    kept = [edit.id_of(o) for o in dict.fromkeys(root.operands) if edit.id_of(o) not in dropped]
    return derive(case, edit.keep_results(case.module, kept), values) if root.opcode == "tuple" and kept else None


def _root_items(case: Case, _: Values) -> Iterator[Item]:
    for instruction in case.module.entry.instructions:
        if instruction.opcode not in ("parameter", "constant", "tuple") and not instruction.is_root:
            yield (*edit.id_of(instruction),)


def _new_root(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    return derive(case, edit.keep_results(case.module, [(c, i) for c, i in items]), values)


def _behind_items(case: Case, _: Values) -> Iterator[Item]:
    """Results and what they are made of: constants too, where two are taken for one."""
    for instruction in _results(case):
        for operand in dict.fromkeys(instruction.operands):
            if operand.opcode != "parameter":
                yield (*edit.id_of(instruction), operand.name)


def _results(case: Case) -> list[Any]:
    root = case.module.entry.root
    return list(dict.fromkeys(root.operands)) if root.opcode == "tuple" else [root]


def _behind(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    ((computation, name, operand),) = items
    results = [edit.id_of(result) for result in _results(case)]
    others = [(computation, operand) if result == (computation, name) else result for result in results]
    return derive(case, edit.keep_results(case.module, list(dict.fromkeys(others))), values)


def _cut_items(case: Case, values: Values) -> Iterator[Item]:
    for instruction in case.module.entry.instructions:
        if instruction.opcode not in ("parameter", "tuple") and edit.id_of(instruction) in values:
            yield (*edit.id_of(instruction),)


def _cut(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    return derive(case, edit.to_parameters(case.module, [(c, i) for c, i in items]), values)


def _substitute_items(case: Case, _: Values) -> Iterator[Item]:
    """An instruction and an operand of its shape, or what a tuple has of it, or one like itself; equal parameters."""
    alike: dict[Any, Any] = {}
    for instruction in case.module.instructions():
        is_picked = instruction.opcode == "get-tuple-element" and instruction.operands[0].opcode == "tuple"
        near = instruction.operands[0].operands if is_picked else instruction.operands
        for other in dict.fromkeys(near):
            if other.shape == instruction.shape:
                yield (*edit.id_of(instruction), other.name)
        first = alike.setdefault(_form(instruction), instruction)
        if first is not instruction:
            yield (*edit.id_of(instruction), first.name)
    parameters = case.module.entry.parameters
    for number, parameter in enumerate(parameters):
        twin = next((other for other in parameters[:number] if other.shape == parameter.shape), None)
        if twin is not None:
            yield (*edit.id_of(parameter), twin.name)


def _form(instruction: Any) -> Any:
    """Equal for instructions of a computation that yield the same."""
    meaning = instruction.meaning
    literal = meaning.pop("literal", None)
    attributes = tuple(sorted((name, str(value)) for name, value in meaning.items()))
    return (instruction.parent, instruction.opcode, instruction.shape, instruction.operands, attributes, literal)


def _substitute(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    others = {(computation, name): (computation, other) for computation, name, other in items}
    return derive(case, edit.substitute(case.module, others), values)


def _constant_items(case: Case, values: Values) -> Iterator[Item]:
    """Instructions of called computations, which cannot take their values from outside, and those of constants alone.

    The latter are folded, and fail no more where their values come from outside.
    """
    called = chain.from_iterable(c.instructions for c in case.called_computations())
    for instruction in chain(called, _of_constants(case.module.entry)):
        value = values.get(edit.id_of(instruction))
        if (
            instruction.opcode not in ("parameter", "constant")
            and value is not None
            and value.size <= _LARGEST_CONSTANT
        ):
            yield (*edit.id_of(instruction),)


def _of_constants(computation: Any) -> list[Any]:
    """What is computed of constants alone."""
    known: dict[Any, None] = {}
    for instruction in computation.instructions:
        operands = instruction.operands
        if instruction.opcode == "constant" or (operands and all(operand in known for operand in operands)):
            known[instruction] = None
    return list(known)


def _to_constants(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    given = {(c, i): values[c, i] for c, i in items if (c, i) in values}
    return derive(case, edit.to_constants(case.module, given), values) if given else None


def _body_items(case: Case, _: Values) -> Iterator[Item]:
    for instruction in case.module.instructions():
        if instruction.opcode in ("call", "fusion", "while", "conditional", "async-start"):
            for choice in range(len(list(instruction.called_computations()))):
                yield (*edit.id_of(instruction), choice)


def _expand(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    choices = {(computation, name): choice for computation, name, choice in items}
    return derive(case, edit.expand(case.module, choices), values)


def _combiner_items(case: Case, _: Values) -> Iterator[Item]:
    for instruction in case.module.instructions():
        if instruction.opcode in COMBINING:
            yield (*edit.id_of(instruction),)


def _sum_up(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    return derive(case, edit.sum_up(case.module, [(c, i) for c, i in items]), values)


def _alike_items(case: Case, _: Values) -> Iterator[Item]:
    """Anything, where two bodies have as many instructions: they may be the same."""
    if len({len(c.instructions) for c in case.called_computations()}) < len(case.called_computations()):
        yield (*edit.id_of(case.module.entry.root),)


def _share(case: Case, _items: Sequence[Item], values: Values) -> Case | None:
    return derive(case, edit.share(case.module), values)


def _open_items(case: Case, _: Values) -> Iterator[Item]:
    """What calls bodies that nothing may be left out of, as they would depend on the order: mapped, they do not."""
    for instruction, body in callers(case.module):
        for result in range(len(body.root.operands) if body.root.opcode == "tuple" else 1):
            yield (*edit.id_of(instruction), result)


def _lay_open(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    ((computation, name, result),) = items
    for instruction, body in callers(case.module):
        if edit.id_of(instruction) == (computation, name):
            instruction_ids = [edit.id_of(parameter) for parameter in body.parameters]
            if not all(instruction_id in values for instruction_id in instruction_ids):
                return None
            called = np.broadcast_arrays(*(values[instruction_id] for instruction_id in instruction_ids))
            edited = edit.lay_open(case.module, (computation, name), result, called[0].shape)
            return derive(case, edited, {**values, **dict(zip(instruction_ids, called, strict=True))})
    return None


def _argument_items(case: Case, _: Values) -> Iterator[Item]:
    for instruction in case.module.instructions():
        if edit.unused_arguments(instruction):
            yield (*edit.id_of(instruction),)


def _drop_arguments(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    return derive(case, edit.drop_arguments(case.module, [(c, i) for c, i in items]), values)


def _state_items(case: Case, _: Values) -> Iterator[Item]:
    for instruction in case.module.instructions():
        if instruction.opcode == "while":
            for index in reversed(range(len(getattr(instruction.shape, "elements", ())))):
                yield (*edit.id_of(instruction), index)


def _drop_state(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    ((computation, name, index),) = items
    return derive(case, edit.drop_state(case.module, (computation, name), index), values)


def _iteration_items(case: Case, _: Values) -> Iterator[Item]:
    for instruction in case.module.instructions():
        if instruction.opcode == "while":
            for trip_count in range(1, _MOST_ITERATIONS + 1):
                yield (*edit.id_of(instruction), trip_count)


def _write_out(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    ((computation, name, trip_count),) = items
    return derive(case, edit.write_out(case.module, (computation, name), trip_count), values)


def _go_on(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    ((computation, name, trip_count),) = items
    return derive(case, edit.go_on(case.module, (computation, name), trip_count), values)


def _inner_items(case: Case, _: Values) -> Iterator[Item]:
    """Some instructions of called computations, the last first: what a condition says is near its end."""
    inner = chain.from_iterable(reversed(c.instructions) for c in case.called_computations())
    computing = (i for i in inner if i.opcode not in ("parameter", "constant", "tuple", "get-tuple-element"))
    for instruction in islice(computing, _MOST_ALONE):
        yield (*edit.id_of(instruction),)


def _isolate(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    ((computation, name),) = items
    return derive(case, edit.isolate(case.module, (computation, name)), values)


def _attribute_items(case: Case, _: Values) -> Iterator[Item]:
    for instruction in case.module.instructions():
        if instruction.attributes:
            yield (*edit.id_of(instruction),)


def _simplify_attributes(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    return derive(case, edit.simplify_attributes(case.module, [(c, i) for c, i in items]), values)


def _size_items(case: Case, _: Values) -> Iterator[Item]:
    yield from sizes(case.module)


def _resize(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    ((old, new),) = items
    present = {d for i in case.module.instructions() if isinstance(i.shape, edit.ArrayShape) for d in i.shape.dims}
    if old not in present:
        return None
    multiples = {d: d // old * new for d in present if d % old == 0}
    return derive(case, edit.resize(case.module, multiples), values) or derive(
        case, edit.resize(case.module, {old: new}), values
    )


def _type_items(case: Case, _: Values) -> Iterator[Item]:
    present = {i.shape.element_type.name for i in case.module.instructions() if isinstance(i.shape, edit.ArrayShape)}
    for old in sorted(present):
        for new in TYPES.get(old, ()):
            yield (0, old, new)


def _retype(case: Case, items: Sequence[Item], values: Values) -> Case | None:
    ((_, old, new),) = items
    return derive(case, edit.retype(case.module, old, new), values)


def _value_items(case: Case, _: Values) -> Iterator[Item]:
    for number in range(len(case.inputs)):
        for kind in range(len(values_for(np.zeros(1, np.float32)))):
            yield (number, kind)


def _simplify_values(case: Case, items: Sequence[Item], _: Values) -> Case | None:
    ((number, kind),) = items
    if number >= len(case.inputs):
        return None
    inputs = list(case.inputs)
    inputs[number] = values_for(inputs[number])[kind]
    return Case(case.module, tuple(inputs))


MOVES: tuple[Move, ...] = (
    Move("notes", _plain_items, _plain),
    Move("results", _result_items, _drop_results),
    Move("cut", _cut_items, _cut),
    Move("substitute", _substitute_items, _substitute),
    Move("root", _root_items, _new_root, together=False),
    Move("behind", _behind_items, _behind, together=False),
    Move("bodies", _body_items, _expand),
    Move("loop iterations", _iteration_items, _write_out, together=False),
    Move("going on", _iteration_items, _go_on, together=False),
    Move("combiners", _combiner_items, _sum_up),
    Move("open", _open_items, _lay_open, together=False),
    Move("constants", _constant_items, _to_constants),
    Move("arguments", _argument_items, _drop_arguments),
    Move("state", _state_items, _drop_state, together=False),
    Move("alone", _inner_items, _isolate, together=False),
    Move("sizes", _size_items, _resize, together=False),
    Move("attributes", _attribute_items, _simplify_attributes),
    Move("types", _type_items, _retype, together=False),
    Move("values", _value_items, _simplify_values, together=False),
)
"""In the order in which they are tried: what removes much comes first, what only makes reading easier last."""

LAST: tuple[Move, ...] = (Move("alike", _alike_items, _share),)
"""What makes reading easier, but stands in the way of others: an edit of one body would be one of all that call it."""
