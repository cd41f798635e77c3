"""Which entry parameters a program uses as indices, and the range that keeps them inside.

Random integers make a gather read its clamped edges and a scatter drop everything: the program runs, and nothing of it
is tested.  From every index operand the data flow is followed back to the entry parameters (`xlabench.cases.origins`),
through the operations that keep an index what it is: reshape, convert, the `select(i < 0, i + n, i)` of a frontend,
tuples, calls, loops.  A parameter that reaches several index operands gets the tightest of their ranges.  Only integers
are indices: of floats and truth values that are converted to some, nothing is said.

What a sparse matrix stands on, the starts of its rows and the columns of its elements, no implementation checks: one
that lies outside is read as an address, and so are starts that do not ascend.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import compiler
from xlabench.cases.origins import Origins, Value, arguments

Instruction = Any  # the compiler's; the harness sees its data by attribute only
Module = Any


def index_limits(module: Module) -> dict[int, int]:
    """For each entry parameter used as an index, its number and the largest value that is surely inside."""
    tracer, limits = _Tracer(module), dict[int, int]()
    for instruction in module.instructions():
        for operand, largest in _INDEX_USES.get(instruction.opcode, _none)(instruction):
            for number in tracer.parameters(operand):
                limits[number] = max(0, min(limits.get(number, largest), largest))
    return limits


def unchecked_indices(module: Module) -> dict[int, bool]:
    """The entry parameters that must lie inside, since nobody checks them, and whether they must ascend as well."""
    tracer, found = _Tracer(module), dict[int, bool]()
    for instruction in filter(_is_sparse, module.instructions()):
        for operand, ascends in zip(instruction.operands[1:3], (True, False), strict=True):
            found |= {number: ascends or found.get(number, False) for number in tracer.parameters(operand)}
    return found


def _none(_instruction: Instruction) -> Iterator[tuple[Instruction, int]]:
    return iter(())


def _is_sparse(instruction: Instruction) -> bool:
    return instruction.opcode == "custom-call" and bool(compiler.edit.is_sparse_product(instruction))


def _sparse_product(instruction: Instruction) -> Iterator[tuple[Instruction, int]]:
    if _is_sparse(instruction):
        elements, starts, columns, right = instruction.operands
        yield starts, elements.shape.dims[0]
        yield columns, right.shape.dims[0] - 1


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
    "custom-call": _sparse_product,
}


@dataclass
class _Tracer:
    """Follows indices back to the entry's parameters."""

    module: Module
    origins: Origins = field(default_factory=Origins)

    @cached_property
    def callers(self) -> dict[Any, list[Instruction]]:
        """Who calls each computation; most programs have no index, and nobody asks."""
        found = defaultdict[Any, list[Instruction]](list)
        for caller in self.module.instructions():
            for called in dict.fromkeys(caller.called_computations()):
                found[called].append(caller)
        return found

    def parameters(self, start: Instruction) -> Iterator[int]:
        """The numbers of the entry's parameters of integers that `start` is made of."""
        seen: set[Value] = set()
        pending: list[Value] = [(start, ())]
        while pending:
            for value in self.origins.of(pending.pop()) - seen:
                seen.add(value)
                parameter, path = value
                if parameter.computation is self.module.entry and _is_of_integers(parameter.shape):
                    yield parameter.parameter_number
                for caller in self.callers[parameter.computation]:
                    pending += arguments(caller, parameter.computation, parameter.parameter_number, path)


def _is_of_integers(shape: Any) -> bool:
    return hasattr(shape, "dims") and bool(shape.element_type.is_integer)
