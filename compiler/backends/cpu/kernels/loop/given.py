"""The loops of a loop kernel, one for each group of results of a shape, as its strategies get them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

from compiler.backends.cpu.kernels.emitted import begin, parameters
from compiler.backends.cpu.kernels.loop import memory_table
from compiler.backends.cpu.kernels.strategy import Functions, Given, Plan
from compiler.backends.cpu.kernels.vectors import lanes
from compiler.backends.cpu.kernels.vectors.interleaving import SHORT
from compiler.backends.cpu.kernels.vectors.lanes import Lanes
from compiler.backends.strategy import Detail
from compiler.codegen import nest, scalar
from compiler.codegen.in_place import Pairs, same_element
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import Module
from compiler.codegen.signature import elemental_of, store_roots
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ops import Trait, having

_FEW = 64
"""Elements of an array up to which it counts as a few numbers that others are drawn from."""
_COPYING = having(Trait.VIEW) | {"slice", "concatenate"}
"""Of what moves or selects elements what keeps neighbours together: the others make no moves of bytes."""
_SHORT_PIECE, _SHORT_ROW = 16, 32
"""Elements between edges that make no vectors, or just one, and those of a row of which that is most."""


class LoopGiven(Given):
    """A kernel whose results have equal dimensions and are computed element by element."""

    @cached_property
    def group(self) -> nest.LoopNest:
        """The loops over the results' elements, cut where the body takes its index apart."""
        kernel = self.kernel
        if _keeps_indices(kernel):
            group = nest.uncut(kernel.outputs[0].size)
        else:
            (group,) = nest.plan(self.scratch, parameters(kernel), [kernel.outputs[0].size], body_of(kernel))
        group = replace(group, once=bool(kernel.in_place))
        if _is_drawn(kernel):
            return nest.without_tiny_loops(group)
        return nest.without_innermost(group) if _has_short_rows(kernel, group) else group

    def in_lanes(
        self, chosen: Lanes, builder: type[LaneBuilder], details: Mapping[str, Detail], *, divisible: bool = True
    ) -> Plan:
        """The plan of loops that are written in vectors.

        Args:
            chosen: which vectors.
            builder: how operations on them are written.
            details: what else there is to say of the plan.
            divisible: whether threads may share the loops.
        """
        kernel = self.kernel

        def emit(module: Module) -> Functions:
            function = begin(module, kernel)
            writer = builder(function)
            values = elemental_of(kernel, Emission(writer))
            lanes.store_each(kernel, self.group, values, chosen, parallel=plan.parallel)
            writer.ret()
            return (function.name,)

        plan = self.plan(emit, self.cost_ns, divisible=divisible, details=details)
        return plan


def _keeps_indices(kernel: Kernel) -> bool:
    """Whether each element is computed of elements at the same position, and of scalars: many kernels are that plain.

    To find out by writing the body where nobody reads it takes as long as writing it.
    """
    dims = kernel.outputs[0].dims
    shapes = [leaf.shape for leaf, _ in kernel.leaves] + [instruction.shape for instruction in kernel.body()]
    are_alike = all(isinstance(shape, ArrayShape) and shape.dims in (dims, ()) for shape in shapes)
    return are_alike and all(_keeps_index(instruction) for instruction in kernel.body())


def _keeps_index(instruction: Instruction) -> bool:
    if instruction.opcode == "broadcast":
        return not instruction.operands[0].array.rank
    is_scalar = instruction.opcode == "constant" and not instruction.array.rank
    return is_scalar or instruction.opcode in scalar.RULES


def body_of(kernel: Kernel, tables: Sequence[memory_table.Table] = ()) -> nest.Body:
    """Computes and stores the results at a point, what has tables by looking it up."""

    def body(emission: Emission, linear: Sequence[Index]) -> None:
        values = memory_table.looking_up(elemental_of(kernel, emission), tables)
        store_roots(kernel, values, nest.coordinates(emission, linear[0], kernel.outputs[0].dims), linear[0])

    return body


def _is_drawn(kernel: Kernel) -> bool:
    """Whether functions are computed of numbers that come from few others, such as random ones, and not from arrays."""
    few = all(leaf.array.size <= _FEW for leaf, _ in kernel.leaves if isinstance(leaf.shape, ArrayShape))
    return few and any(instruction.opcode in scalar.APPROXIMATE for instruction in kernel.body())


def _has_short_rows(kernel: Kernel, group: nest.LoopNest) -> bool:
    """Whether rows that run in pieces leave little to be made vectors of, while neighbours lie behind one another."""
    if len(group.loops) < 2 or not group.breaks or any(group.moving):
        return False
    arrays = [leaf.array.dims for leaf, _ in kernel.leaves if isinstance(leaf.shape, ArrayShape) and leaf.array.rank]
    alike = all(dims == kernel.outputs[0].dims for dims in arrays)
    return alike and not _is_copied(kernel) and _is_short(group.loops[-1], group.breaks[-1]) and not group.breaks[-2]


def _is_copied(kernel: Kernel) -> bool:
    """Whether pieces of rows are copies, however short: LLVM makes moves of bytes of their loops."""
    return all(
        instruction.opcode in _COPYING and not instruction.array.element_type.is_complex
        for instruction in kernel.body()
    )


def _is_short(length: int, edges: Sequence[int]) -> bool:
    """Whether edges are better masked than run apart; of rows no power of two they are found by a division."""
    pieces = [end - start for start, end in pairwise((0, *edges, length))]
    return bool(edges) and (length == _SHORT_ROW or (2 < length < _SHORT_ROW and max(pieces) < _SHORT_PIECE))


def overwrites(kernel: Kernel) -> Pairs:
    """Operands over which a loop may write: none where some strategy would compute elements again, and gain by it.

    Functions have cheaper forms, after which some elements are computed once more; transposes are done in tiles, those
    at the edges of which overlap others.
    """
    crosses = kernel.of_opcode("transpose") + [i for i in kernel.of_opcode("broadcast") if _permutes(i)]
    goes_back = bool(crosses) or has_fast_path(kernel, kernel.outputs[0].size)
    return () if goes_back else same_element(kernel)


def _permutes(broadcast: Instruction) -> bool:
    dimensions = broadcast.attributes["dimensions"]
    return list(dimensions) != sorted(dimensions)


def has_fast_path(kernel: Kernel, length: int) -> bool:
    """Whether a kernel calls functions that have a cheaper form, in loops that are long enough."""
    return bool(functions_of(kernel)) and length >= SHORT


def functions_of(kernel: Kernel) -> list[Instruction]:
    """The functions in a kernel that have a cheaper form."""
    body = [i for i in kernel.body() if i.operands and isinstance(i.operands[0].shape, ArrayShape)]
    return [instruction for instruction in body if scalar.has_fast_path(instruction)]
