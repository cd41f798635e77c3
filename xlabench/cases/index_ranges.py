"""Which entry parameters a program uses as indices, and the range that keeps them inside.

Random integers make a gather read its clamped edges and a scatter drop everything: the program runs, and nothing of it
is tested.  From every index operand the data flow is followed back to the entry parameters, through the operations
that keep an index what it is (reshape, convert, the `select(i < 0, i + n, i)` of a frontend, tuples, calls, loops).
A parameter that reaches several index operands gets the tightest of their ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from compiler.ops import Trait, having

Instruction = Any  # the compiler's; the harness sees its data by attribute only
Module = Any
Value = tuple[Instruction, tuple[int, ...]]

# The operands through which an index goes on unchanged, by opcode; None stands for all.
_CARRIERS: Mapping[str, tuple[int, ...] | None] = {
    "reshape": (0,),
    "bitcast": (0,),
    "convert": (0,),
    "copy": (0,),
    "broadcast": (0,),
    "transpose": (0,),
    "slice": (0,),
    "reverse": (0,),
    "pad": (0,),
    "dynamic-slice": (0,),
    "gather": (0,),
    "concatenate": None,
    "opt-barrier": (0,),
    "select": (1, 2),
    "clamp": (1,),
    "sort": None,
}
_CALLS = having(Trait.CALLS)


def index_limits(module: Module) -> dict[int, int]:
    """For each entry parameter used as an index, its number and the largest value that is surely inside."""
    tracer = _Tracer(module)
    for computation in module.computations:
        for instruction in computation.instructions:
            for operand, largest in _INDEX_USES.get(instruction.opcode, _none)(instruction):
                tracer.trace(operand, max(0, largest))
    return tracer.limits


def _none(_instruction: Instruction) -> Iterator[tuple[Instruction, int]]:
    return iter(())


def _gather(instruction: Instruction) -> Iterator[tuple[Instruction, int]]:
    dims = instruction.operands[0].shape.dims
    sizes = instruction.attributes["slice_sizes"]
    yield (
        instruction.operands[1],
        min((dims[d] - sizes[d] for d in instruction.attributes["start_index_map"]), default=0),
    )


def _scatter(instruction: Instruction) -> Iterator[tuple[Instruction, int]]:
    count = len(instruction.operands) // 2
    dims = instruction.operands[0].shape.dims
    updates = instruction.operands[count + 1].shape.dims
    attributes = instruction.attributes
    absent = {*attributes.get("inserted_window_dims", ()), *attributes.get("input_batching_dims", ())}
    present = [d for d in range(len(dims)) if d not in absent]
    window = dict(zip(present, attributes.get("update_window_dims", ()), strict=False))
    sizes = {d: updates[window[d]] if d in window else 1 for d in range(len(dims))}
    mapped = attributes["scatter_dims_to_operand_dims"]
    yield instruction.operands[count], min((dims[d] - sizes[d] for d in mapped), default=0)


def _dynamic_slice(instruction: Instruction) -> Iterator[tuple[Instruction, int]]:
    dims, sizes = instruction.operands[0].shape.dims, instruction.attributes["dynamic_slice_sizes"]
    return _per_dimension(instruction.operands[1:], dims, sizes)


def _dynamic_update_slice(instruction: Instruction) -> Iterator[tuple[Instruction, int]]:
    operand, update, *indices = instruction.operands
    return _per_dimension(indices, operand.shape.dims, update.shape.dims)


def _per_dimension(
    indices: list[Instruction], dims: tuple[int, ...], sizes: tuple[int, ...]
) -> Iterator[tuple[Instruction, int]]:
    """One scalar index for each dimension, or, as XLA still reads, one vector for all of them."""
    room = [dim - size for dim, size in zip(dims, sizes, strict=True)]
    if len(indices) == 1 and indices[0].shape.dims:
        return iter([(indices[0], min(room, default=0))])
    return iter(zip(indices, room, strict=True))


_INDEX_USES: Mapping[str, Callable[[Instruction], Iterator[tuple[Instruction, int]]]] = {
    "gather": _gather,
    "scatter": _scatter,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
}


@dataclass(slots=True)
class _Tracer:
    """Follows values back; a value is an instruction and the path to a leaf of its tuple."""

    module: Module
    limits: dict[int, int] = field(default_factory=dict)

    def trace(self, start: Instruction, largest: int) -> None:
        """Bound every entry parameter that `start` is made of."""
        seen: set[Value] = set()
        pending: list[Value] = [(start, ())]
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            instruction, path = value
            if instruction.opcode == "parameter":
                pending.extend(self._parameter(instruction, path, largest))
            else:
                pending.extend(_sources(instruction, path))

    def _parameter(self, parameter: Instruction, path: tuple[int, ...], largest: int) -> Iterator[Value]:
        """Bound an entry parameter; of any other computation, go on at its callers."""
        number = parameter.parameter_number
        if parameter.computation is self.module.entry:
            self.limits[number] = min(self.limits.get(number, largest), largest)
            return
        for caller in self.module.instructions():
            if parameter.computation not in caller.called_computations():
                continue
            if caller.opcode == "while":
                yield caller.operands[0], path
            elif caller.opcode == "conditional":
                branch = list(caller.called_computations()).index(parameter.computation)
                yield caller.operands[branch + 1], path
            elif caller.opcode in _CALLS:
                yield caller.operands[number], path


def _sources(instruction: Instruction, path: tuple[int, ...]) -> Iterator[Value]:
    """The values that a value is made of."""
    opcode = instruction.opcode
    if opcode == "get-tuple-element":
        yield instruction.operands[0], (instruction.attributes["index"], *path)
    elif opcode == "tuple":
        yield instruction.operands[path[0]], path[1:]
    elif opcode == "while":
        yield instruction.operands[0], path
    elif opcode in _CALLS or opcode == "conditional":
        for computation in instruction.called_computations():
            yield computation.root, path
    elif opcode in _CARRIERS:
        chosen = _CARRIERS[opcode]
        operands = instruction.operands if chosen is None else [instruction.operands[i] for i in chosen]
        for operand in operands:
            yield operand, ()
