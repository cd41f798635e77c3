"""The form of a reduction kernel, and the pieces that it is emitted from on either back end.

All reductions of one kernel share the dimensions of their operands and which of these they reduce.  Neighbouring
dimensions that are all kept, or all reduced, are one *group*, walked by one linear index.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compiler.analysis.commutativity import chooses, in_any_order, numbers_of
from compiler.codegen import access, element, elemental, scalar
from compiler.codegen.index import Emission, Index, reshape
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Value, integer
from compiler.codegen.movement import NEVER, always
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.codegen.windows import combiner_of
from compiler.codegen.workspace import whole_lines
from compiler.diagnostics import UnsupportedError
from compiler.interpreter import Interpreter, flatten
from compiler.ir.combiner import binary_opcode
from compiler.ir.graph import reachable
from compiler.ir.module import Instruction, computed_from
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType, Kind

REASSOCIATE = f"reassoc {scalar.CONTRACT}"
"""Fast-math flags inside a reducer: which neighbours it is applied to first is free."""


MINDS_ORDER = "a reducer minds which of two values comes first"
"""Why elements that are not neighbours are not combined."""


def _least(element_type: ElementType) -> float:
    if element_type.is_float:
        return -math.inf
    return -(1 << (element_type.bits - 1)) if element_type.is_signed else 0


def _greatest(element_type: ElementType) -> float:
    if element_type.is_float:
        return math.inf
    return (1 << (element_type.bits - element_type.is_signed)) - 1


IDENTITIES: dict[str, Callable[[ElementType], complex]] = {
    # -0 and not 0: adding +0 to -0 would change its sign.
    "add": lambda t: complex(-0.0, -0.0) if t.is_complex else -0.0 if t.is_float else 0,
    "multiply": lambda _: 1,
    "maximum": _least,
    "minimum": _greatest,
    "and": lambda t: 1 if t.kind is Kind.PRED else -1,
    "or": lambda _: 0,
    "xor": lambda _: 0,
}
"""For a reducer's opcode, the value that leaves any other unchanged."""


def identities_of(reduce: Instruction) -> list[Value] | None:
    """Values that may be joined to a reduction any number of times; None if they are not known.

    Where the reducer of the start values with themselves yields them again (the first maximum, from minus infinity),
    they are such: they are part of the reduction already, and may be so in more places (StableHLO, `reduce`).
    """
    half = len(reduce.operands) // 2
    of_type = IDENTITIES.get(binary_opcode(reduce.attributes["to_apply"]) or "")
    if of_type is not None and half == 1:
        return [element.constant(reduce.array.element_type, of_type(reduce.array.element_type))]
    start = reduce.operands[half:]
    arrays = [i.literal.array.reshape(()) for i in start if i.opcode == "constant" and i.literal.array is not None]
    if len(arrays) != half or not all(isinstance(i.shape, ArrayShape) for i in start):
        return None
    with np.errstate(all="ignore"):
        again = list(flatten(Interpreter().call(reduce.attributes["to_apply"], [*arrays, *arrays])))
    if [a.tobytes() for a in again] != [a.tobytes() for a in arrays]:
        return None
    return [element.constant(i.array.element_type, a[()]) for i, a in zip(start, arrays, strict=True)]


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring dimensions `first` to `last - 1`, all kept or all reduced; `size` elements together."""

    first: int
    last: int
    reduced: bool
    size: int


class Reduction:
    """The form that all reductions of a kernel share, and its accumulators."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.reduces = _outermost(kernel.of_opcode("reduce"))
        first = self.reduces[0]
        self.dims = first.operands[0].array.dims
        reduced = set(first.attributes["dimensions"])
        for other in self.reduces[1:]:
            if other.operands[0].array.dims != self.dims or set(other.attributes["dimensions"]) != reduced:
                raise UnsupportedError("a fusion of reductions of different form", "code generation", kernel.name)
        self.kept_dims = tuple(size for d, size in enumerate(self.dims) if d not in reduced)
        self.groups = _groups(self.dims, reduced)

    @cached_property
    def accumulators(self) -> list[tuple[Instruction, Instruction]]:
        """Every accumulator as (operand, initial value), over all reduces in order."""
        pairs: list[tuple[Instruction, Instruction]] = []
        for reduce in self.reduces:
            half = len(reduce.operands) // 2
            pairs += zip(reduce.operands[:half], reduce.operands[half:], strict=True)
        return pairs

    @cached_property
    def identities(self) -> list[Value] | None:
        """For each accumulator a value that may be joined to it any number of times; None if one is not known."""
        known = [identities_of(reduce) for reduce in self.reduces]
        found = [value for values in known if values is not None for value in values]
        return found if None not in known else None

    @cached_property
    def in_any_order(self) -> bool:
        """Whether elements may be combined with others than their neighbours."""
        return all(map(in_any_order, self.reduces))

    def computed(self) -> tuple[list[Instruction], list[Instruction]]:
        """The instructions computed at each element that is reduced, and the leaves that they are read from."""
        given = {leaf for leaf, _ in self.kernel.leaves}
        starts = [operand for operand, _ in self.accumulators]
        walked = reachable(starts, lambda value: () if value in given or not value.array.rank else value.operands)
        found = [value for value in walked if value.array.rank]
        return [i for i in found if i not in given], [i for i in found if i in given]

    def reducers(self) -> list[Instruction]:
        """The instructions computed to combine two elements."""
        inner = [i for reduce in self.reduces for i in reduce.attributes["to_apply"].instructions]
        return [i for i in inner if i.opcode not in ("parameter", "tuple")]

    def results(self, accumulators: Sequence[Value]) -> dict[Instruction, Value]:
        """The inner instructions whose values the accumulators are."""
        known: dict[Instruction, Value] = {}
        queue = iter(accumulators)
        for reduce in self.reduces:
            mine = [next(queue) for _ in range(len(reduce.operands) // 2)]
            if len(mine) == 1:
                known[reduce] = mine[0]
            else:
                elements = [user for user in reduce.users if user.opcode == "get-tuple-element"]
                known.update({user: mine[user.attributes["index"]] for user in elements})
        return known

    def partial_bytes(self, chunks: int) -> list[int]:
        """The room that each accumulator's partial results take in the workspace."""
        return [whole_lines(type_.size_bytes * self.kept * chunks) for type_ in self.types]

    @property
    def types(self) -> list[ElementType]:
        """The type that each accumulator is kept in."""
        return [type_ for reduce in self.reduces for type_ in combiner_of(reduce).types]

    @property
    def kept(self) -> int:
        """The number of results."""
        return math.prod(self.kept_dims)

    @property
    def is_row(self) -> bool:
        """Whether the last group is reduced."""
        return self.groups[-1].reduced

    def operand_indices(self, emission: Emission, of_group: Sequence[Index]) -> tuple[Index, ...]:
        """The operands' indices from one linear index per group."""
        result: list[Index] = []
        for group, index in zip(self.groups, of_group, strict=True):
            result += reshape(emission, (index,), (group.size,), self.dims[group.first : group.last])
        return tuple(result)

    def elements(self, emission: Emission, of_group: Sequence[Index]) -> list[Value]:
        """The operands' elements at a point, given by one linear index per group."""
        values = elemental_of(self.kernel, emission)
        indices = self.operand_indices(emission, of_group)
        return [values.value(operand, indices) for operand, _ in self.accumulators]

    def initial(self, emission: Emission) -> list[Value]:
        """The initial value of each accumulator."""
        values = elemental_of(self.kernel, emission)
        return [values.value(initial, ()) for _, initial in self.accumulators]

    def combine(
        self, emission: Emission, left: Sequence[Value], right: Sequence[Value], *, is_next: bool = False
    ) -> list[Value]:
        """Apply each reducer to its accumulators; in which pairs is free, so sums may be reassociated.

        Args:
            emission: where code is emitted, with what is known there.
            left: one accumulator for each operand that is reduced.
            right: others, alike.
            is_next: whether those on the right are elements behind all on the left: their numbers are not the lesser.
        """
        values = elemental_of(self.kernel, emission)
        result: list[Value] = []
        for reduce in self.reduces:
            at = slice(len(result), len(result) + len(reduce.operands) // 2)
            known = _known_in_sequence(reduce, left[at], right[at]) if is_next else {}
            if known:
                pair, reducer = [*left[at], *right[at]], reduce.attributes["to_apply"]
                result += elemental.apply(emission, reducer, pair, flags=REASSOCIATE, known=known)
            else:
                result += combiner_of(reduce).combine(values, left[at], right[at], flags=REASSOCIATE)
        return result

    def finish(self, emission: Emission, kept: Index, accumulators: Sequence[Value]) -> None:
        """Evaluate the roots at one result, given by its linear index, and store them.

        Args:
            emission: where code is emitted, with what is known there.
            kept: the number of the result.
            accumulators: one for each operand that is reduced.
        """
        kernel = self.kernel
        outputs = arguments(kernel).outputs
        accumulators = self._rounded(emission, accumulators)
        if kernel.roots == self.reduces and len(kernel.outputs) == len(accumulators):
            stored = list(accumulators)
        else:
            known = {i: always(v) for i, v in self.results(accumulators).items()}
            values = elemental.Elemental(emission, {**elemental_of(kernel, emission).leaves, **known})
            indices = tuple(reshape(emission, (kept,), (self.kept,), self.kept_dims))
            stored = [values.value(root, indices) for root in kernel.roots]
        for shape, value, output in zip(kernel.outputs, stored, outputs, strict=True):
            store(emission, shape, value, output, kept)

    def _rounded(self, emission: Emission, accumulators: Sequence[Value]) -> list[Value]:
        values, queue = elemental_of(self.kernel, emission), iter(accumulators)
        return [
            value
            for combiner in map(combiner_of, self.reduces)
            for value in combiner.finish(values, [next(queue) for _ in combiner.types])
        ]

    def partials(self, emission: Emission, chunks: int) -> list[tuple[ElementType, Value]]:
        """The type and the place in the workspace of each accumulator's partial results."""
        builder, offset, result = emission.builder, 0, []
        workspace = arguments(self.kernel).workspace
        for type_, size in zip(self.types, self.partial_bytes(chunks), strict=True):
            result.append((type_, builder.gep("i8", workspace, integer(offset))))
            offset += size
        return result

    def load_partials(self, emission: Emission, at: Index, chunks: int) -> list[Value]:
        """The partial results number `at`.

        Args:
            emission: where code is emitted.
            at: which results.
            chunks: that the reduction is split into.
        """
        return [access.read(emission, address, type_, at) for type_, address in self.partials(emission, chunks)]

    def store_partials(self, emission: Emission, at: Index, chunks: int, values: Sequence[Value]) -> None:
        """Store the partial results number `at`.

        Args:
            emission: where code is emitted.
            at: which results.
            chunks: that the reduction is split into.
            values: one for each of the reduction's results.
        """
        for (type_, address), value in zip(self.partials(emission, chunks), values, strict=True):
            access.write(emission, address, type_, at, value)


def _known_in_sequence(reduce: Instruction, left: Sequence[Value], right: Sequence[Value]) -> dict[Instruction, Value]:
    """What a reducer finds of its elements' numbers where those on its left are no greater than those on its right."""
    reducer, half = reduce.attributes["to_apply"], len(left)
    known: dict[Instruction, Value] = {}
    for position in numbers_of(reduce) if chooses(reducer) else ():
        pair = reducer.parameters[position], reducer.parameters[half + position]
        if not _begins_before_all(reduce.operands[half + position]):
            continue
        of_opcode = {"minimum": left[position], "maximum": right[position]}
        for instruction in reducer.instructions:
            is_greater = instruction.attributes.get("direction") == "GT"
            value = NEVER if is_greater else of_opcode.get(instruction.opcode)
            if value and tuple(instruction.operands) == pair:
                known[instruction] = value
    return known


def _begins_before_all(initial: Instruction) -> bool:
    """Whether an initial value is no element's number, nor that of a later one than the first."""
    known = initial.literal.array if initial.opcode == "constant" else None
    return known is not None and bool(np.all(known <= 0))


def _outermost(reduces: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """Those reductions that no other one of them is computed from."""
    inside = computed_from(operand for reduce in reduces for operand in reduce.operands)
    return tuple(reduce for reduce in reduces if reduce not in inside)


def _groups(dims: Sequence[int], reduced: set[int]) -> list[Group]:
    groups: list[Group] = []
    for d, size in enumerate(dims):
        if groups and groups[-1].reduced == (d in reduced):
            last = groups.pop()
            groups.append(Group(last.first, d + 1, last.reduced, last.size * size))
        else:
            groups.append(Group(d, d + 1, d in reduced, size))
    if not reduced:
        groups.append(Group(len(dims), len(dims), reduced=True, size=1))
    return groups
