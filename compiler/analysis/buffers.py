"""Buffer assignment: where every value of a scheduled module lies in memory.

The schedule is the order of instructions, with called computations laid out where they are called.  A value is an array
(a tuple is just its leaves) and lies in a parameter, in a result, in a constant, or in the arena: one block of scratch
memory in which values whose lives do not overlap share space (best fit, largest first).  Opcodes that only give another
view of their operand share its buffer.  A while loop's state has one buffer per leaf; the program copies the initial
value in, and each turn's new value over it.  What a loop only reads stays where it is, and so does an initial value
that nothing else needs from then on: a loop within a loop changes the outer one's state where it lies.

Relies on `copy_insertion`: every leaf of the entry's root is computed by a kernel of its own.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from compiler.analysis.aliasing import overwritten
from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves
from compiler.ir.types import TOKEN

ALIGNMENT = 64


class Place(enum.Enum):
    """The memory that a buffer is part of."""

    PARAMETER = "parameter"
    RESULT = "result"
    CONSTANT = "constant"
    ARENA = "arena"


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory for one array: its place, its number there (or its offset in the arena), and when it is alive."""

    place: Place
    size_bytes: int
    owner: Instruction
    number: int = 0
    offset: int = 0
    first: int = 0
    last: int = 0

    def __str__(self) -> str:
        at = f"offset {self.offset}" if self.place is Place.ARENA else f"{self.number}"
        return f"{self.place.value} {at}, {self.size_bytes} bytes"

    def overlaps(self, other: Buffer) -> bool:
        """Whether the two may share a byte of memory."""
        if self is other:
            return True
        if self.place is not Place.ARENA or other.place is not Place.ARENA:
            return False
        return self.offset < other.offset + other.size_bytes and other.offset < self.offset + self.size_bytes


Buffers = tuple[Buffer, ...]


@dataclass(slots=True)
class Assignment:
    """Where everything lies.

    Attributes:
        of: the buffers of an instruction's leaves.
        workspaces: scratch memory of instructions that asked for some.
        exchanged: for a loop, leaves of its state that have two buffers, the present and the next value's, which
            may change roles from turn to turn.
        arena_bytes: size of the arena.
        lower_bound_bytes: the most that is alive at one moment: no assignment can do with less.
    """

    of: dict[Instruction, Buffers] = field(default_factory=dict)
    workspaces: dict[Instruction, Buffer] = field(default_factory=dict)
    exchanged: dict[Instruction, tuple[tuple[Buffer, Buffer], ...]] = field(default_factory=dict)
    arena_bytes: int = 0
    lower_bound_bytes: int = 0

    def to_text(self) -> str:
        """The assignment as text, for dumps."""
        lines = [f"arena: {self.arena_bytes} bytes; lower bound: {self.lower_bound_bytes} bytes", ""]
        for instruction, buffers in self.of.items():
            parent = instruction.parent.name if instruction.parent else "?"
            for number, buffer in enumerate(buffers):
                lines.append(f"{parent}/{instruction.name}{{{number}}}: {buffer}, live [{buffer.first}, {buffer.last}]")
        for instruction, buffer in self.workspaces.items():
            lines.append(f"workspace of {instruction.name}: {buffer}")
        return "\n".join(lines) + "\n"


VIEWS = frozenset({"bitcast", "reshape", "opt-barrier", "get-tuple-element", "tuple"})
"""Opcodes that give another view of their operands' memory."""


def assign(module: Module, workspace_bytes: Mapping[Instruction, int]) -> Assignment:
    """Assign buffers to every value that the entry computation needs."""
    walk = _Walk(workspace_bytes)
    entry = module.entry
    arguments = [_parameter_buffers(parameter, entry) for parameter in entry.parameters]
    results = walk.visit(entry, arguments)
    shapes = leaves(entry.root.shape)
    _place_results([buffer for buffer, leaf in zip(results, shapes, strict=True) if leaf.element_type is not TOKEN])
    arena = [b for b in walk.buffers if b.place is Place.ARENA and b.size_bytes]
    walk.assignment.arena_bytes = _pack(arena)
    walk.assignment.lower_bound_bytes = _largest_live_set(arena)
    return walk.assignment


def _parameter_buffers(parameter: Instruction, entry: Computation) -> Buffers:
    before = sum(len(list(leaves(p.shape))) for p in entry.parameters[: parameter.parameter_number])
    return tuple(
        Buffer(Place.PARAMETER, leaf.size_bytes, parameter, before + number)
        for number, leaf in enumerate(leaves(parameter.shape))
    )


def _place_results(results: Sequence[Buffer]) -> None:
    for number, buffer in enumerate(results):
        assert buffer.place is Place.ARENA, f"{buffer.owner!r} is a result and needs a copy"
        buffer.place, buffer.number = Place.RESULT, number


class _Walk:
    """Goes through the schedule once, a clock tick per instruction."""

    def __init__(self, workspace_bytes: Mapping[Instruction, int]) -> None:
        self.workspace_bytes = workspace_bytes
        self.assignment = Assignment()
        self.buffers: list[Buffer] = []
        self.bodies: set[Computation] = set()
        self.clock = 0
        self.rules: dict[str, Callable[[Instruction], Buffers]] = {
            "constant": self._constant,
            "while": self._while,
            "conditional": self._conditional,
            "call": self._call,
        }

    def visit(self, computation: Computation, arguments: Sequence[Buffers]) -> Buffers:
        """Assign buffers in a computation whose parameters lie in `arguments`; returns the root's."""
        of = self.assignment.of
        for instruction in computation.instructions:
            self.clock += 1
            if instruction.opcode == "parameter":
                of[instruction] = arguments[instruction.parameter_number]
                continue
            if instruction.opcode in VIEWS:
                of[instruction] = self._view(instruction)
                continue
            for operand in instruction.operands:
                self._touch(of[operand])
            of[instruction] = self.rules.get(instruction.opcode, self._computed)(instruction)
            size = self.workspace_bytes.get(instruction, 0)
            if size:
                (self.assignment.workspaces[instruction],) = self._new(instruction, [size])
        result = of[computation.root]
        self._touch(result)
        return result

    def _touch(self, buffers: Iterable[Buffer]) -> None:
        for buffer in buffers:
            buffer.last = self.clock

    def _new(self, owner: Instruction, sizes: Iterable[int]) -> Buffers:
        made = tuple(Buffer(Place.ARENA, size, owner, first=self.clock, last=self.clock) for size in sizes)
        self.buffers += made
        return made

    def _computed(self, instruction: Instruction) -> Buffers:
        changed = overwritten(instruction)
        if changed is not None:
            return self.assignment.of[changed]
        return self._new(instruction, (leaf.size_bytes for leaf in leaves(instruction.shape)))

    def _constant(self, instruction: Instruction) -> Buffers:
        return tuple(Buffer(Place.CONSTANT, leaf.size_bytes, instruction) for leaf in leaves(instruction.shape))

    def _view(self, instruction: Instruction) -> Buffers:
        of = self.assignment.of
        parts = [of[operand] for operand in instruction.operands]
        if instruction.opcode == "tuple":
            return tuple(buffer for part in parts for buffer in part)
        if instruction.opcode != "get-tuple-element":
            return parts[0]
        shape = instruction.operands[0].shape
        assert isinstance(shape, TupleShape)
        widths = [_width(element) for element in shape.elements]
        index = instruction.attributes["index"]
        start = sum(widths[:index])
        return parts[0][start : start + widths[index]]

    def _while(self, instruction: Instruction) -> Buffers:
        shapes = list(leaves(instruction.shape))
        initial = self.assignment.of[instruction.operands[0]]
        stays = [
            buffer if _is_lent(instruction, number) or self._is_given_up(instruction, number, buffer) else None
            for number, buffer in enumerate(initial)
        ]
        made = iter(
            self._new(instruction, (leaf.size_bytes for leaf, b in zip(shapes, stays, strict=True) if b is None))
        )
        state = tuple(next(made) if buffer is None else buffer for buffer in stays)
        start = self.clock
        predicate = self.visit(instruction.attributes["condition"], [state])
        self.bodies.add(instruction.attributes["body"])
        following = self.visit(instruction.attributes["body"], [state])
        self.clock += 1
        # A slow thread may still be reading the predicate while a fast one is well into the body.
        self._touch((*state, *predicate))
        pairs = self._exchanged(state, following, instruction.attributes["body"])
        self.assignment.exchanged[instruction] = pairs
        for _, other in pairs:
            other.first = start
            self._touch([other])
        return state

    def _is_given_up(self, loop: Instruction, number: int, buffer: Buffer) -> bool:
        """Whether nobody needs a piece of a loop's initial state any more: then it is the state where it lies."""
        computation, of = loop.computation, self.assignment.of
        once = of[loop.operands[0]].count(buffer) == 1
        if buffer.place is not Place.ARENA or not once or not buffer.size_bytes:
            return False
        if buffer.owner.parent is not computation and not self._is_handed_on(loop, number, buffer):
            return False
        order = {instruction: position for position, instruction in enumerate(computation.instructions)}
        holders = [i for i in computation.instructions[: order[loop]] if buffer in of[i]]
        users = {user for holder in holders for user in holder.users if order[user] > order[loop]}
        return not any(user.opcode != "get-tuple-element" or buffer in self._view(user) for user in users)

    def _is_handed_on(self, loop: Instruction, number: int, buffer: Buffer) -> bool:
        """Whether a buffer is a piece of the state of the loop around this one, whose next value this one computes."""
        computation = loop.computation
        if computation not in self.bodies or computation.root.opcode != "tuple" or not _is_flat(loop.shape):
            return False
        state = self.assignment.of[computation.parameters[0]]
        if state.count(buffer) != 1 or not _is_flat(computation.root.shape):
            return False
        following = computation.root.operands[state.index(buffer)]
        piece = following.opcode == "get-tuple-element" and following.operands[0] is loop
        return piece and following.attributes["index"] == number

    @staticmethod
    def _exchanged(state: Buffers, following: Buffers, body: Computation) -> tuple[tuple[Buffer, Buffer], ...]:
        """The leaves of a loop's state whose next value is computed beside the present one, in memory of its own."""
        return tuple(
            (present, other)
            for present, other in zip(state, following, strict=True)
            if other is not present
            and other.place is Place.ARENA
            and other.owner.parent is body
            and following.count(other) == 1
            and present.size_bytes > 0
        )

    def _conditional(self, instruction: Instruction) -> Buffers:
        result = self._computed(instruction)
        for branch, operand in zip(branches(instruction), instruction.operands[1:], strict=True):
            self.visit(branch, [self.assignment.of[operand]])
            self.clock += 1
            self._touch(result)
        for operand in instruction.operands:
            self._touch(self.assignment.of[operand])
        return result

    def _call(self, instruction: Instruction) -> Buffers:
        callee: Computation = instruction.attributes["to_apply"]
        return self.visit(callee, [self.assignment.of[operand] for operand in instruction.operands])


def branches(conditional: Instruction) -> tuple[Computation, ...]:
    """The computations of a conditional; those of the pred form as (true, false)."""
    attributes = conditional.attributes
    if "branch_computations" in attributes:
        computations: tuple[Computation, ...] = attributes["branch_computations"]
        return computations
    return attributes["true_computation"], attributes["false_computation"]


def _is_lent(loop: Instruction, number: int) -> bool:
    """Whether a piece of a loop's state is only read, in the loop and never after it: it may stay where it is."""
    root = loop.attributes["body"].root
    states = [loop, *(c.parameters[0] for c in loop.called_computations())]
    if not _is_flat(loop.shape) or root.opcode != "tuple" or loop.is_root:
        return False
    if any(user.opcode != "get-tuple-element" for state in states for user in state.users):
        return False
    piece = root.operands[number]
    same = piece.opcode == "get-tuple-element" and piece.operands[0].opcode == "parameter"
    return (
        same and piece.attributes["index"] == number and all(user.attributes["index"] != number for user in loop.users)
    )


def _is_flat(shape: Shape) -> bool:
    """Whether a shape is that of a tuple of arrays."""
    return isinstance(shape, TupleShape) and all(isinstance(part, ArrayShape) for part in shape.elements)


def _width(shape: Shape) -> int:
    return len(list(leaves(shape)))


def _always(_: Buffer, __: Buffer) -> bool:
    return True


def _pack(buffers: list[Buffer], may_share: Callable[[Buffer, Buffer], bool] = _always) -> int:
    """Give each buffer an offset: the largest first, into the tightest gap between those alive at the same time."""
    placed: list[Buffer] = []
    end = 0
    for buffer in sorted(buffers, key=lambda b: (-b.size_bytes, b.first)):
        rivals = [o for o in placed if (o.first <= buffer.last and buffer.first <= o.last) or not may_share(buffer, o)]
        buffer.offset = _best_gap(sorted(rivals, key=lambda o: o.offset), _padded(buffer.size_bytes))
        placed.append(buffer)
        end = max(end, buffer.offset + _padded(buffer.size_bytes))
    return end


def pack_again(assignment: Assignment, may_share: Callable[[Buffer, Buffer], bool]) -> None:
    """Pack the arena anew, where buffers may share space only if `may_share` says so too."""
    everything = (*assignment.of.values(), tuple(assignment.workspaces.values()))
    arena = dict.fromkeys(b for buffers in everything for b in buffers if b.place is Place.ARENA and b.size_bytes)
    assignment.arena_bytes = _pack(list(arena), may_share)


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _best_gap(rivals: Sequence[Buffer], size: int) -> int:
    position, best, best_size = 0, -1, -1
    for rival in rivals:
        gap = rival.offset - position
        if gap >= size and (best < 0 or gap < best_size):
            best, best_size = position, gap
        position = max(position, rival.offset + _padded(rival.size_bytes))
    return best if best >= 0 else position


def _largest_live_set(buffers: Sequence[Buffer]) -> int:
    changes: list[tuple[int, int]] = []
    for buffer in buffers:
        changes += [(buffer.first, buffer.size_bytes), (buffer.last + 1, -buffer.size_bytes)]
    live = most = 0
    for _, change in sorted(changes):
        live += change
        most = max(most, live)
    return most


def check_unique_callers(module: Module) -> None:
    """Refuse a module in which two instructions run the same computation: its values would have two places."""
    seen: set[Computation] = set()
    for instruction in module.instructions():
        if instruction.opcode not in ("while", "conditional", "call"):
            continue
        for callee in instruction.called_computations():
            if callee in seen:
                raise UnsupportedError(f"computation {callee.name} with two callers", "buffer assignment")
            seen.add(callee)
