"""The state of a loop: taken apart into arrays, made larger, made smaller.

A state is *plain* when it is a tuple of arrays that is put together piece by piece, before the loop and at the end of
its body, and of which nobody takes more than pieces.  Whoever moves values into a loop or out of one wants it so, and
`flatten` brings any other into that form, around which it is put together again for whoever uses it as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from compiler.analysis.loop_view import LoopView
from compiler.expansion.expression import known_element
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves_at
from compiler.ops.build import build

_Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LoopState(LoopView):
    """A `while` of plain state."""

    @staticmethod
    def of(loop: Instruction, calls: Mapping[Computation, int]) -> LoopState | None:
        """A loop with its state; None where that is not plain, or where others run its computations, too.

        `calls` says how many instructions call each computation of the module.
        """
        found = LoopState(loop)
        own = all(calls[callee] == 1 for callee in loop.called_computations())
        return found if own and found._is_plain() else None

    def _is_plain(self) -> bool:
        shape = self.loop.shape
        flat = isinstance(shape, TupleShape) and all(isinstance(piece, ArrayShape) for piece in shape.elements)
        if not flat or self.loop.is_root or {self.loop.operands[0].opcode, self.body.root.opcode} != {"tuple"}:
            return False
        states = [self.loop, *(callee.parameters[0] for callee in self.loop.called_computations())]
        return all(user.opcode == "get-tuple-element" for state in states for user in state.users)

    @property
    def following(self) -> tuple[Instruction, ...]:
        """The pieces after an iteration."""
        return self.body.root.operands

    def is_unchanged(self, number: int) -> bool:
        """Whether an iteration hands a piece on as it is."""
        piece = self.following[number]
        return is_piece(piece) and piece.attributes["index"] == number

    def users(self) -> Iterator[Instruction]:
        """What takes pieces: of the result, of what the condition is given and of what the body is given."""
        for state in (self.loop, self.condition.parameters[0], self.body.parameters[0]):
            yield from list(state.users)

    def extend(self, values: Sequence[Instruction]) -> list[int]:
        """Add values to the state that are handed on as they are; returns the numbers of their pieces."""
        first = len(self.initial)
        numbers = list(range(first, first + len(values)))
        self._resize(TupleShape(tuple(value.shape for value in (*self.initial, *values))))
        pieces = [self.take(self.body, number) for number in numbers]
        self._put([*self.initial, *values], [*self.following, *pieces])
        return numbers

    def keep(self, numbers: Sequence[int], *, dead: Collection[Instruction]) -> None:
        """Leave out all but these pieces, which nothing may take but `dead`: instructions that nothing needs then."""
        initial, following = ([pieces[number] for number in numbers] for pieces in (self.initial, self.following))
        root = self.body.root
        self._put(initial, following)
        for computation in (self.condition, self.body, self.loop.computation):
            computation.remove(i for i in (root, *dead) if i.parent is computation)
        positions = {number: position for position, number in enumerate(numbers)}
        for user in self.users():
            user.attributes["index"] = positions[user.attributes["index"]]
        self._resize(TupleShape(tuple(value.shape for value in initial)))

    def take(self, computation: Computation, number: int) -> Instruction:
        """A new instruction that takes a piece of what the condition or the body is given."""
        return build(computation, "get-tuple-element", computation.parameters, index=number)

    def _resize(self, shape: TupleShape) -> None:
        for computation in self.loop.called_computations():
            computation.parameters[0].shape = shape

    def _put(self, initial: Sequence[Instruction], following: Sequence[Instruction]) -> None:
        state = build(self.loop.computation, "tuple", initial, name=self.loop.operands[0].name)
        self.loop.set_operands([state])
        self.loop.shape = state.shape
        self.body.root = build(self.body, "tuple", following, name=self.body.root.name)


def is_piece(value: Instruction) -> bool:
    """Whether a value is a piece of the state that a computation is given."""
    return value.opcode == "get-tuple-element" and value.operands[0].opcode == "parameter"


def may_be_flattened(loop: Instruction) -> bool:
    """Whether a state can be brought into the plain form: all of it are arrays, in tuples or not."""
    return all(isinstance(shape, ArrayShape) for _, shape in leaves_at(loop.shape))


def flatten(loop: Instruction) -> None:
    """Bring the state of a loop into the plain form; nothing else may run its computations."""
    shape = loop.shape
    paths = [path for path, _ in leaves_at(shape)]
    flat = TupleShape(tuple(leaf for _, leaf in leaves_at(shape)))
    for computation in loop.called_computations():
        (state,) = computation.parameters
        _stand_in(state, shape, flat, paths)
    body: Computation = loop.attributes["body"]
    body.root = _flat(body.root, paths)
    loop.set_operands([_flat(loop.operands[0], paths)])
    _stand_in(loop, shape, flat, paths)
    for computation in (*loop.called_computations(), loop.computation):
        computation.sort()


def _flat(value: Instruction, paths: Sequence[_Path]) -> Instruction:
    """A tuple of the arrays that a value is made of."""
    taken: dict[_Path, Instruction] = {(): value}
    for path in paths:
        for length in range(1, len(path) + 1):
            if (prefix := path[:length]) not in taken:
                taken[prefix] = known_element(taken[prefix[:-1]], prefix[-1])
    return build(value.computation, "tuple", [taken[path] for path in paths])


def _stand_in(state: Instruction, shape: Shape, flat: TupleShape, paths: Sequence[_Path]) -> None:
    """Let a value be flat, and have its users use what is put together of it as it was."""
    users, was_root = list(state.users), state.is_root
    state.shape = flat
    pieces = {
        path: build(state.computation, "get-tuple-element", [state], index=number) for number, path in enumerate(paths)
    }
    whole = _together(state.computation, shape, (), pieces)
    for user in users:
        user.set_operands([whole if operand is state else operand for operand in user.operands])
    if was_root:
        state.computation.root = whole


def _together(computation: Computation, shape: Shape, path: _Path, pieces: Mapping[_Path, Instruction]) -> Instruction:
    if not isinstance(shape, TupleShape):
        return pieces[path]
    elements = [_together(computation, element_, (*path, n), pieces) for n, element_ in enumerate(shape.elements)]
    return build(computation, "tuple", elements)
