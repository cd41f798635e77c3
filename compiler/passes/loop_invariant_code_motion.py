"""What a loop computes anew in every iteration, and always the same, is computed once, before the loop.

That is what its body, or its condition, computes from constants and from pieces of the state that never change.  The
result becomes one more piece of the state that never changes:

    while(s), body: ... f(s.i) ...  ->  t = f(s.i), while(s, t), body: ... t ...   where the body returns s.i as it is

Only what is worth memory of its own moves: a product, a transpose, a function, what a product is made of, what reads
much more than it yields, what takes many steps.  The rest costs no more within the kernels of the body that use it.
Nothing moves that is larger than its operands: of a value that is spread out, that is what it is spread from.

Loops and branches move as a whole, if they are sure to end.  Inner loops come first, so that what does not change in
any of several loops ends up before the outermost.  A body that runs once, or not at all, is left alone.

A product of a slice of such a piece, another one in every iteration, is a slice of a product that moves
(`expansion.sliced_products` says where that pays).
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator

from compiler.analysis.effects import control_predecessors, is_repeatable, within_fusions
from compiler.analysis.opcodes import EXPENSIVE, MOVES, PRODUCTS
from compiler.analysis.trip_count import known_trip_count
from compiler.analysis.updates import is_elementwise
from compiler.expansion import sliced_products
from compiler.expansion.loop_state import LoopState, is_piece
from compiler.ir.calls import calls_of, reached
from compiler.ir.control import is_ordered
from compiler.ir.graph import reachable
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.outline import is_scalar_constant
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape, leaves
from compiler.ops import Trait, having

_SOURCES = having(Trait.STRUCTURAL)
_STAYING = having(Trait.ASYNC | Trait.COLLECTIVE | Trait.TOKENS) | {"parameter"}
"""What stays where it is, because others count on when it is done."""
_RUNNING = having(Trait.CONTROL)
_WORTH = EXPENSIVE | PRODUCTS | having(Trait.ALGORITHM) | {"transpose"}
"""What pays to be computed once instead of in each iteration although kernels may have forms that take it in."""
_CHEAP_MOVES = MOVES - _WORTH
_PARTIAL = having(Trait.PARTIAL)
_MOST_READ = 3
"""How much more a kernel of the body may read in order to compute a value than by reading it."""
_MOST_STEPS = 8
"""Elementwise steps that take about as long as reading their result."""


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    inside = within_fusions(module)
    calls = calls_of(module)
    changed = False
    for computation in [c for c in module.computations if c not in inside]:
        loops = [i for i in computation.instructions if i.opcode == "while"]
        for loop in loops:
            state = LoopState.of(loop, calls)
            if state is not None:
                changed |= _move(state, fuel)
        if loops:
            computation.sort()
    return changed


def _move(state: LoopState, fuel: Fuel) -> bool:
    trip_count, changed = known_trip_count(state.loop), False
    if trip_count is None or trip_count > 1:
        still = _invariant(state, state.body, is_run=trip_count is not None)
        products = _whole_products(state, still, fuel)
        moved = _worth_moving(state.body, still, fuel) | products
        changed |= _compute_before(state, state.body, still, moved)
    if trip_count != 0:
        still = _invariant(state, state.condition, is_run=True)
        changed |= _compute_before(state, state.condition, still, _worth_moving(state.condition, still, fuel))
    return changed


def _whole_products(state: LoopState, still: set[Instruction], fuel: Fuel) -> set[Instruction]:
    """Put slices of products into the place of products of slices; returns those products, which have to move."""
    awaited, products = control_predecessors(state.body), set[Instruction]()
    for dot in [i for i in state.body.instructions if i.opcode == "dot" and i not in still and _may_move(i, awaited)]:
        found = sliced_products.find(state.loop, dot, still)
        if found and _may_move(found.taken, awaited) and fuel.spend("multiply all slices before the loop", dot):
            products.add(sliced_products.widen(found))
            state.body.remove([dot])
    return products


def _compute_before(
    state: LoopState, computation: Computation, still: set[Instruction], chosen: set[Instruction]
) -> bool:
    """Compute values of the body, or of the condition, before the loop, and take them from the state instead."""
    moved = [i for i in computation.instructions if i in chosen]
    if not moved:
        return False
    copies: dict[Instruction, Instruction] = {}
    values = [_copied(value, state, copies) for value in moved]
    for value, number in zip(moved, state.extend(values), strict=True):
        piece = state.following[number] if computation is state.body else state.take(computation, number)
        value.replace_uses_with(piece)
    _remove_unused(computation, still)
    computation.sort()
    return True


def _remove_unused(computation: Computation, still: set[Instruction]) -> None:
    """Remove what has moved, above all loops and branches: their computations must not be those of two."""
    awaited, unused = control_predecessors(computation), set[Instruction]()
    for instruction in reversed(computation.instructions):
        goes = instruction in still and instruction not in awaited and not is_piece(instruction)
        if goes and not instruction.is_root and unused.issuperset(instruction.users):
            unused.add(instruction)
    computation.remove(unused)


# -- what may move --------------------------------------------------------------------------------------------------
def _invariant(state: LoopState, computation: Computation, *, is_run: bool) -> set[Instruction]:
    """The instructions that compute the same in every iteration: of constants and of pieces that are handed on.

    `is_run` says that the computation is sure to be run: then what may never end may come earlier.
    """
    awaited, found = control_predecessors(computation), set[Instruction]()
    for instruction in computation.instructions:
        if is_piece(instruction):
            if state.is_unchanged(instruction.attributes["index"]):
                found.add(instruction)
        elif (
            instruction.opcode != "parameter"
            and found.issuperset(instruction.operands)
            and _may_move(instruction, awaited)
            and (is_run or _ends(instruction))
        ):
            found.add(instruction)
    return found


def _may_move(instruction: Instruction, awaited: set[Instruction]) -> bool:
    if instruction in awaited or is_ordered(instruction) or instruction.opcode in _STAYING:
        return False
    return not any(leaf.is_dynamic for leaf in leaves(instruction.shape)) and is_repeatable(instruction)


def _ends(instruction: Instruction) -> bool:
    """Whether an instruction is known to end, as all do that hold no loop."""
    inner = [i for callee in reached(instruction.called_computations()) for i in callee.instructions]
    return all(known_trip_count(i) is not None for i in (instruction, *inner) if i.opcode == "while")


# -- what is worth it -----------------------------------------------------------------------------------------------
def _worth_moving(computation: Computation, still: set[Instruction], fuel: Fuel) -> set[Instruction]:
    """What of the invariant is to be computed before the loop, so that the rest costs no more than reading that."""
    read = _Reading()
    used = [i for i in computation.instructions if i in still and any(user not in still for user in i.users)]
    cuts = dict.fromkeys(cut for value in used for cut in read.cuts(value))
    if any(i.opcode in _RUNNING for i in still):
        # What takes results of a loop, or of a branch, moves with all others that do.
        return set(cuts) if cuts and fuel.spend("compute before the loop", next(iter(cuts))) else set()
    return {value for value in cuts if fuel.spend("compute before the loop", value)}


class _Reading:
    """What it costs kernels of a loop's body to have values that do not change, in elements read."""

    def __init__(self) -> None:
        self._known: dict[Instruction, float] = {}
        self._cuts: set[Instruction] = set()

    def cuts(self, value: Instruction) -> list[Instruction]:
        """What is to be computed before the loop of what a value is computed from, the value itself perhaps."""
        self._cost(value)
        if any(user.opcode in PRODUCTS for user in value.users) and _is_made_of_more(value):
            self._cuts.add(value)
        walk = reachable([value], lambda member: () if member in self._cuts else member.operands)
        found = [member for member in walk if member in self._cuts]
        # Where memory is taken anyway, it had better hold all that is computed, unless that is more.
        whole = isinstance(value.shape, ArrayShape) and value.array.size <= min(_sizes(found), _sizes(value.operands))
        return [value] if found and whole and value.opcode not in _CHEAP_MOVES else found

    def _cost(self, value: Instruction) -> float:
        for member in _in_order(value, self._known):
            self._known[member] = self._cost_of_operands_known(member)
        return self._known[value]

    def _cost_of_operands_known(self, value: Instruction) -> float:
        if is_piece(value) or value.opcode in ("constant", "parameter") or not isinstance(value.shape, ArrayShape):
            return 0.0 if not isinstance(value.shape, ArrayShape) or is_scalar_constant(value) else value.array.size
        size, computed = float(value.array.size), self._computed(value)
        if computed > _MOST_READ * size and size <= _sizes(value.operands):
            self._cuts.add(value)
            return size
        return computed if computed < math.inf else size

    def _computed(self, value: Instruction) -> float:
        """What it costs to compute a value where it is used."""
        size = float(value.array.size)
        operands = sum(self._known[operand] for operand in dict.fromkeys(value.operands))
        if value.opcode in _CHEAP_MOVES:
            return min(operands, size) if value.opcode in _PARTIAL else operands
        return operands + size / _MOST_STEPS if is_elementwise(value) and value.opcode not in _WORTH else math.inf


def _sizes(values: Iterable[Instruction]) -> int:
    return sum(leaf.size for value in values for leaf in leaves(value.shape))


def _in_order(value: Instruction, known: Container[Instruction]) -> list[Instruction]:
    """The value and all that it is computed from within its computation and is not known, operands first."""
    missing = set(reachable([value], lambda member: () if member in known or is_piece(member) else member.operands))
    return [i for i in value.computation.instructions if i in missing and i not in known]


def _is_made_of_more(value: Instruction) -> bool:
    """Whether an operand of a product is computed, of no less than it is itself."""
    before = set(_closure(value))
    sources = {i for i in before if is_piece(i)}
    size = sum(source.array.size for source in sources)
    return before > sources and value.opcode not in _SOURCES and value.array.size <= size


def _closure(instruction: Instruction) -> Iterator[Instruction]:
    """The instruction and all that it is computed from, within the body."""
    return reachable([instruction], lambda current: () if is_piece(current) else current.operands)


def _copied(instruction: Instruction, state: LoopState, copies: dict[Instruction, Instruction]) -> Instruction:
    """The same computed before the loop, of what the loop starts with."""
    needed = set(_closure(instruction))
    for current in instruction.computation.instructions:
        if current not in needed or current in copies:
            continue
        if is_piece(current):
            copies[current] = state.initial[current.attributes["index"]]
        else:
            copies[current] = state.loop.computation.add(current.clone([copies[o] for o in current.operands]))
    return copies[instruction]
