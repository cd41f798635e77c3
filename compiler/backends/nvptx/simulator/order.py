"""The basic blocks of a flat program in an order in which lanes that part meet again as early as they can.

The machine always runs the lanes that are furthest back.  That brings the lanes of two branches together where the
branches meet only if the text has that place behind both; compilers may place it before.  So blocks are sorted: what
can come later lies behind, and a loop's blocks lie together, before what follows the loop.  Programs that are in such
an order already, which most are, stay as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from compiler.backends.nvptx.simulator.flatten import FlatProgram, Placed
from compiler.backends.nvptx.simulator.syntax import Address, Instruction, Symbol

_ENDS = frozenset({"bra", "brx", "ret", "exit"})


@dataclass(slots=True)
class _Block:
    """Instructions from `first` up to `last`, the blocks that may follow, and the one that follows without a jump."""

    first: int
    last: int
    next: list[int] = field(default_factory=list)
    falls: int | None = None


def in_order(program: FlatProgram) -> FlatProgram:
    """The program with its blocks sorted."""
    blocks = _blocks(program)
    if blocks is None:
        return program
    order = _sorted(blocks, list(range(len(blocks))), 0)
    order += [number for number in range(len(blocks)) if number not in set(order)]
    return program if order == sorted(order) else _rearranged(program, blocks, order)


def _blocks(program: FlatProgram) -> list[_Block] | None:
    """The basic blocks; None where a jump goes nowhere, which decoding will say."""
    placed, goes = program.placed, [_targets(program, at) for at in program.placed]
    if not placed or any(target is None for targets in goes for target in targets):
        return None
    starts = {0, len(placed)}
    for at, targets in enumerate(goes):
        starts.update(target for target in targets if target is not None)
        if targets or placed[at].instruction.opcode in _ENDS:
            starts.add(at + 1)
    firsts = sorted(starts)
    number = {first: n for n, first in enumerate(firsts)}
    blocks = [_Block(first, last) for first, last in itertools.pairwise(firsts)]
    for block in blocks:
        end = placed[block.last - 1]
        block.next = [number[target] for target in goes[block.last - 1] if target is not None]
        if not (end.instruction.opcode in _ENDS and end.instruction.guard is None):
            block.falls = number[block.last]
            block.next.append(block.falls)
        # Behind the last instruction there is no block, only the end.
        block.next = [n for n in block.next if n < len(blocks)]
    return blocks


def _targets(program: FlatProgram, placed: Placed) -> list[int | None]:
    """Where an instruction may jump to."""
    if placed.jump is not None:
        return (
            [program.labels.get(placed.jump)] if placed.instruction.opcode == "ret" or placed.instruction.guard else []
        )
    opcode, operands, prefix = placed.instruction.opcode, placed.instruction.operands, placed.scope.prefix
    if opcode == "bra" and operands:
        return [program.labels.get(prefix + _name(operands[-1]))]
    if opcode == "brx" and len(operands) > 1:
        labels = placed.scope.function.branch_tables.get(_name(operands[1]), ())
        return [program.labels.get(prefix + label) for label in labels]
    return []


def _name(operand: object) -> str:
    if isinstance(operand, Address):
        operand = operand.base
    return operand.name if isinstance(operand, Symbol) else ""


def _sorted(blocks: Sequence[_Block], among: Sequence[int], entry: int) -> list[int]:
    """Blocks that can be reached from `entry`, loops kept together and sorted in turn without their way back."""
    inside, order = set(among), list[int]()
    for component in _components(blocks, inside, entry):
        if len(component) == 1:
            order += component
            continue
        # Whichever is entered from outside and comes first is where the loop begins.
        entered = {entry}.union(*(blocks[number].next for number in inside - set(component)))
        heads = [number for number in component if number in entered]
        head = min(heads or component)
        inner = [
            _Block(b.first, b.last, [n for n in b.next if n != head], b.falls) if number in component else b
            for number, b in enumerate(blocks)
        ]
        order += _sorted(inner, component, head)
    return order


def _components(blocks: Sequence[_Block], inside: set[int], entry: int) -> Iterator[list[int]]:
    """The strongly connected components that can be reached, in topological order (Tarjan)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    found: list[list[int]] = []
    on_stack: set[int] = set()
    pending: list[tuple[int, Iterator[int]]] = []

    def enter(number: int) -> None:
        index[number] = low[number] = len(index)
        stack.append(number)
        on_stack.add(number)
        # Tarjan finds components from the end, so what is visited last comes first.
        following = sorted({n for n in blocks[number].next if n in inside}, reverse=True)
        pending.append((number, iter(following)))

    enter(entry)
    while pending:
        number, following = pending[-1]
        for after in following:
            if after not in index:
                enter(after)
                break
            if after in on_stack:
                low[number] = min(low[number], index[after])
        else:
            pending.pop()
            if pending:
                low[pending[-1][0]] = min(low[pending[-1][0]], low[number])
            if low[number] == index[number]:
                component: list[int] = []
                while not component or component[-1] != number:
                    component.append(stack.pop())
                on_stack -= set(component)
                found.append(sorted(component))
    return reversed(found)


def _rearranged(program: FlatProgram, blocks: Sequence[_Block], order: Sequence[int]) -> FlatProgram:
    """The program with its blocks in that order; where one falls into a block that is elsewhere now, it jumps."""
    result = FlatProgram(variables=program.variables)
    moved: dict[int, int] = {}
    names = {number: f"#block{number}" for number in range(len(blocks) + 1)}
    for position, number in enumerate(order):
        block = blocks[number]
        moved[block.first] = len(result.placed)
        result.labels[names[number]] = len(result.placed)
        result.placed += program.placed[block.first : block.last]
        following = order[position + 1] if position + 1 < len(order) else len(blocks)
        if block.falls is not None and block.falls != following:
            last = program.placed[block.last - 1]
            jump = Instruction("bra", (), (), None, last.instruction.span)
            result.placed.append(Placed(jump, last.scope, names[block.falls]))
    end = len(program.placed)
    moved[end] = result.labels[names[len(blocks)]] = len(result.placed)
    # Labels stand at the beginning of blocks, but for those that nobody jumps to.
    result.labels |= {label: moved[at] for label, at in program.labels.items() if at in moved}
    return result
