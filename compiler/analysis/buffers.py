"""Buffer assignment: where every value of a scheduled module lies in memory.

The schedule is the order of instructions, with called computations laid out where they are called.  A value is an array
(a tuple is just its leaves) and lies in a parameter, in a result, in a constant, or in the arena: one block of scratch
memory in which values whose lives do not overlap share space (best fit, largest first).  Opcodes that only give another
view of their operand share its buffer.  A while loop's state has one buffer per leaf; the program copies the initial
value in, and each iteration's new value over it.  What a loop only reads stays where it is, and so does an initial
value that nothing else needs from then on: a loop within a loop changes the outer one's state where it lies.

A result may lie where an operand lies that nobody reads afterwards, if the kernel can write there (`Reuses`).  Who
reads last is known from a first walk in which nothing is reused; the second one relies on its clock.  Memory of the
program's results, too, may hold other values until they are written.

Relies on `copy_insertion`: every leaf of the entry's root is computed by a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from compiler.analysis.aliasing import origin, overwritten
from compiler.analysis.storage import ALIGNMENT, Buffer, Storage, largest_live_set, pack, pack_into
from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves
from compiler.ir.types import TOKEN
from compiler.ops import Trait, having

Buffers = tuple[Buffer, ...]
Reuses = Callable[[Instruction], Sequence[tuple[int, Instruction]]]
"""Which result of an instruction may be written where which of its operands, an array, lies: the kernel does not read
an element there once it has written it."""


@dataclass(slots=True)
class Assignment:
    """The buffers of a module's values, and where they lie.

    Attributes:
        of: the buffers of an instruction's leaves.
        workspaces: scratch memory of instructions that asked for some.
        exchanged: for a loop, leaves of its state that have two buffers, the present and the next value's, which
            may change roles from iteration to iteration.
        reused: for an instruction, which of its results lie where which of its operands lie.
        times: when an instruction runs, by the clock of the buffers' lives.
        arena_bytes: size of the arena.
        lower_bound_bytes: the most that is alive at one moment: no assignment can do with less.
    """

    of: dict[Instruction, Buffers] = field(default_factory=dict)
    workspaces: dict[Instruction, Buffer] = field(default_factory=dict)
    exchanged: dict[Instruction, tuple[tuple[Buffer, Buffer], ...]] = field(default_factory=dict)
    reused: dict[Instruction, tuple[tuple[int, Instruction], ...]] = field(default_factory=dict)
    times: dict[Instruction, int] = field(default_factory=dict)
    arena_bytes: int = 0
    lower_bound_bytes: int = 0

    @property
    def buffers(self) -> dict[Buffer, None]:
        """All of them that take any space, each once."""
        everything = (*self.of.values(), tuple(self.workspaces.values()))
        return dict.fromkeys(buffer for buffers in everything for buffer in buffers if buffer.size_bytes)

    def to_text(self) -> str:
        """The assignment as text, for dumps."""
        lines = [f"arena: {self.arena_bytes} bytes; lower bound: {self.lower_bound_bytes} bytes", ""]
        for instruction, buffers in self.of.items():
            parent = instruction.parent.name if instruction.parent else "?"
            for number, buffer in enumerate(buffers):
                lines.append(f"{parent}/{instruction.name}{{{number}}}: {buffer}, live [{buffer.first}, {buffer.last}]")
        for instruction, pairs in self.reused.items():
            lines += [f"{instruction.name}{{{number}}} in place of {operand.name}" for number, operand in pairs]
        for instruction, buffer in self.workspaces.items():
            lines.append(f"workspace of {instruction.name}: {buffer}")
        return "\n".join(lines) + "\n"


VIEWS = having(Trait.VIEW | Trait.TUPLES)
"""Opcodes that give another view of their operands' memory."""


def assign(module: Module, workspace_bytes: Mapping[Instruction, int]) -> Assignment:
    """Assign buffers to every value that the entry computation needs."""
    assignment = lay_out(module)
    complete(assignment, workspace_bytes)
    return assignment


def lay_out(module: Module, reuses: Reuses | None = None) -> Assignment:
    """Decide which values share a buffer; where those in the arena lie is left to `complete`."""
    entry = module.entry
    walk = _Walk(entry)
    if reuses is not None:
        walk = _Walk(entry, walk, reuses)
    shapes = leaves(entry.root.shape)
    _store_results([b for b, leaf in zip(walk.results, shapes, strict=True) if leaf.element_type is not TOKEN])
    return walk.assignment


def complete(assignment: Assignment, workspace_bytes: Mapping[Instruction, int], *, lend_results: bool = False) -> None:
    """Find storage for everything in the arena and, until it is written, in the memory of results.

    Args:
        assignment: the buffers, of which those of the interface have their storage.
        workspace_bytes: scratch memory of each kernel, by its instruction.
        lend_results: whether results' memory may hold other values until it is written.
    """
    for instruction, size in workspace_bytes.items():
        if size:
            time = assignment.times[instruction]
            assignment.workspaces[instruction] = Buffer(Storage.ARENA, size, instruction, first=time, last=time)
    if lend_results:
        results = [buffer for buffer in assignment.buffers if buffer.storage is Storage.RESULT]
        pack_into(results, _arena(assignment), dict.fromkeys(assignment.workspaces.values(), ALIGNMENT))
    arena = _arena(assignment)
    assignment.arena_bytes = pack(arena)
    assignment.lower_bound_bytes = largest_live_set(arena)


def _arena(assignment: Assignment) -> list[Buffer]:
    return [buffer for buffer in assignment.buffers if buffer.storage is Storage.ARENA]


def _parameter_buffers(entry: Computation) -> list[Buffers]:
    """The buffers of each parameter; they are numbered through, but for tokens, which nobody gives an array for."""
    numbers = count()

    def buffer(parameter: Instruction, leaf: ArrayShape) -> Buffer:
        number = 0 if leaf.element_type is TOKEN else next(numbers)
        return Buffer(Storage.PARAMETER, leaf.size_bytes, parameter, number)

    return [tuple(buffer(parameter, leaf) for leaf in leaves(parameter.shape)) for parameter in entry.parameters]


def _store_results(results: Sequence[Buffer]) -> None:
    for number, buffer in enumerate(results):
        assert buffer.storage is Storage.ARENA, f"{buffer.owner!r} is a result and needs a copy"
        buffer.storage, buffer.number = Storage.RESULT, number


class _Walk:
    """Goes through the schedule once, a clock tick per instruction; `before` is the walk without any reuse."""

    def __init__(self, entry: Computation, before: _Walk | None = None, reuses: Reuses = lambda _: ()) -> None:
        self.before = before
        self.reuses = reuses
        self.assignment = Assignment()
        self.clock = 0
        # Of loops that are being walked: their state and predicate, by their bodies.
        self.loops: dict[Computation, tuple[Buffers, Buffers]] = {}
        # When the body of a loop last reads its state.
        self.state_reads: dict[Buffer, int] = {}
        self.rules: dict[str, Callable[[Instruction], Buffers]] = {
            "constant": self._constant,
            "while": self._while,
            "conditional": self._conditional,
            "call": self._call,
        }
        self.results = self.visit(entry, _parameter_buffers(entry))

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
            self.assignment.times[instruction] = self.clock
            of[instruction] = self.rules.get(instruction.opcode, self._computed)(instruction)
        result = of[computation.root]
        if computation.root is not computation.instructions[-1]:
            self.clock += 1  # who takes the result does so after all that stands behind the root, used or not
        self._touch(result)
        return result

    def _touch(self, buffers: Iterable[Buffer]) -> None:
        for buffer in buffers:
            buffer.last = self.clock

    def _new(self, owner: Instruction, sizes: Iterable[int]) -> Buffers:
        return tuple(Buffer(Storage.ARENA, size, owner, first=self.clock, last=self.clock) for size in sizes)

    def _computed(self, instruction: Instruction) -> Buffers:
        changed = overwritten(instruction)
        if changed is not None:
            return self.assignment.of[changed]
        reused = self._reused(instruction)
        if reused:
            of = self.assignment.of
            self.assignment.reused[instruction] = tuple(reused.items())
            self._touch(of[operand][0] for operand in reused.values())
        sizes = [leaf.size_bytes for leaf in leaves(instruction.shape)]
        return tuple(
            self.assignment.of[reused[number]][0] if number in reused else self._new(instruction, [size])[0]
            for number, size in enumerate(sizes)
        )

    def _reused(self, instruction: Instruction) -> dict[int, Instruction]:
        """By result, the operands where some results of an instruction lie."""
        of = self.assignment.of
        read = [buffer for operand in dict.fromkeys(instruction.operands) for buffer in of[operand]]
        found: dict[int, Instruction] = {}
        for number, operand in self.reuses(instruction) if self.before else ():
            (buffer,) = of[operand]
            free = number not in found and operand not in found.values() and read.count(buffer) == 1
            if free and buffer.storage is Storage.ARENA and self._is_last_reader(instruction, number, operand):
                found[number] = operand
        return found

    def _is_last_reader(self, instruction: Instruction, number: int, operand: Instruction) -> bool:
        """Whether nobody reads an operand afterwards; of a loop's state, where the result is the next value of it."""
        assert self.before
        (known,) = self.before.assignment.of[operand]
        if known.last == self.clock:
            return True
        body = instruction.computation
        if self.before.state_reads.get(known) != self.clock or body not in self.loops:
            return False
        (buffer,) = self.assignment.of[operand]
        state, predicate = self.loops[body]
        made = [one == (instruction, (number,)) or one == (instruction, ()) for one in map(origin, _results_of(body))]
        following = [piece for piece, mine in zip(state, made, strict=True) if mine] if len(made) == len(state) else []
        return following == [buffer] and buffer not in predicate

    def _constant(self, instruction: Instruction) -> Buffers:
        return tuple(Buffer(Storage.CONSTANT, leaf.size_bytes, instruction) for leaf in leaves(instruction.shape))

    def _view(self, instruction: Instruction) -> Buffers:
        of = self.assignment.of
        buffers_of = [of[operand] for operand in instruction.operands]
        if instruction.opcode == "tuple":
            return tuple(buffer for one in buffers_of for buffer in one)
        if instruction.opcode != "get-tuple-element":
            return buffers_of[0]
        shape = instruction.operands[0].shape
        assert isinstance(shape, TupleShape)
        widths = [_width(element) for element in shape.elements]
        index = instruction.attributes["index"]
        start = sum(widths[:index])
        return buffers_of[0][start : start + widths[index]]

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
        self.loops[instruction.attributes["body"]] = state, predicate
        following = self.visit(instruction.attributes["body"], [state])
        self.clock += 1
        self.state_reads |= {buffer: buffer.last for buffer in state}
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
        if buffer.storage is not Storage.ARENA or not once or not buffer.size_bytes:
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
        if computation not in self.loops or computation.root.opcode != "tuple" or not _is_flat(loop.shape):
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
            and other.storage is Storage.ARENA
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
    return isinstance(shape, TupleShape) and all(isinstance(element, ArrayShape) for element in shape.elements)


def _results_of(body: Computation) -> Sequence[Instruction]:
    """The pieces of a loop's next state, as far as they are arrays."""
    return body.root.operands if body.root.opcode == "tuple" else [body.root]


def _width(shape: Shape) -> int:
    return len(list(leaves(shape)))


def pack_again(assignment: Assignment, may_share: Callable[[Buffer, Buffer], bool]) -> None:
    """Pack the arena anew, where buffers may share space only if `may_share` says so too."""
    assignment.arena_bytes = pack(_arena(assignment), may_share)


def check_unique_callers(module: Module) -> None:
    """Refuse a module in which two instructions run the same computation: its values would have two buffers."""
    seen: set[Computation] = set()
    for instruction in module.instructions():
        if instruction.opcode not in ("while", "conditional", "call"):
            continue
        for callee in instruction.called_computations():
            if callee in seen:
                raise UnsupportedError(f"computation {callee.name} with two callers", "buffer assignment")
            seen.add(callee)
