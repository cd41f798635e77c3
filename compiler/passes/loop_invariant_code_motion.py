"""What a loop's body computes from pieces of the state that never change is computed once, before the loop.

The result becomes one more piece of the state that never changes.  Only what is worth memory of its own moves: a
product, a transpose, a function, or what a product is made of, and nothing that is larger than what it comes from.
The rest costs no more within the kernels of the body that use it.

    while(s), body: ... f(s.i) ...  ->  t = f(s.i), while(s, t), body: ... t ...   where the body returns s.i as it is

A product of a slice of such a piece, another one in every turn, is a slice of a product that moves
(`expansion.sliced_products` says where that pays).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from compiler.analysis.effects import held_by_control, is_repeatable, within_fusions
from compiler.analysis.opcodes import EXPENSIVE, PRODUCTS
from compiler.expansion import sliced_products
from compiler.ir.control import is_ordered
from compiler.ir.graph import reachable
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape
from compiler.ops import Trait, having
from compiler.ops.build import build

_SOURCES = having(Trait.STRUCTURAL)
_WORTH = EXPENSIVE | PRODUCTS | having(Trait.ALGORITHM) | {"transpose", "sort", "reduce"}
"""What pays to be computed once instead of in each iteration, whatever else a loop does."""
_CALLING = having(Trait.CONTROL) | {"fusion"}


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    inside = within_fusions(module)
    calls = Counter(callee for i in module.instructions() for callee in i.called_computations())
    changed = False
    for computation in [c for c in module.computations if c not in inside]:
        loops = [i for i in computation.instructions if i.opcode == "while" and _is_plain(i, calls)]
        for loop in loops:
            changed |= _move(loop, fuel)
        if loops:
            computation.sort()
    return changed


def _is_plain(loop: Instruction, calls: Counter[Computation]) -> bool:
    """Whether the state is put together, and taken apart, piece by piece, and by this loop only: then it may grow."""
    roots = loop.operands[0], loop.attributes["body"].root
    states = [loop, *(callee.parameters[0] for callee in loop.called_computations())]
    apart = all(user.opcode == "get-tuple-element" for state in states for user in state.users)
    own = all(calls[callee] == 1 for callee in loop.called_computations())
    return apart and own and not loop.is_root and all(root.opcode == "tuple" for root in roots)


def _move(loop: Instruction, fuel: Fuel) -> bool:
    body: Computation = loop.attributes["body"]
    still = _invariant(body)
    products = _whole_products(loop, still, fuel)
    copies: dict[Instruction, Instruction] = {}
    moved = []
    for instruction in list(body.instructions):
        worth = instruction in still and _is_worth_moving(instruction, still)
        if instruction in products or (worth and fuel.spend("compute before the loop", instruction)):
            moved.append((instruction, _copied(instruction, loop, copies)))
    if moved:
        _extend(loop, [copy for _, copy in moved])
        first = len(body.root.operands) - len(moved)
        for number, (instruction, _) in enumerate(moved):
            instruction.replace_uses_with(body.root.operands[first + number])
        body.sort()
    return bool(moved)


def _whole_products(loop: Instruction, still: set[Instruction], fuel: Fuel) -> set[Instruction]:
    """Put slices of products into the place of products of slices; returns those products, which have to move."""
    body: Computation = loop.attributes["body"]
    held, products = held_by_control(body), set[Instruction]()
    for dot in [i for i in body.instructions if i.opcode == "dot" and i not in still and _may_move(i, held)]:
        found = sliced_products.find(loop, dot, still)
        if found and _may_move(found.taken, held) and fuel.spend("multiply all slices before the loop", dot):
            products.add(sliced_products.widen(found))
            body.remove([dot])
    return products


def _invariant(body: Computation) -> set[Instruction]:
    """The instructions that compute the same in every turn: of constants and of pieces that are handed on."""
    held, found = held_by_control(body), set[Instruction]()
    for instruction in body.instructions:
        if instruction.opcode == "get-tuple-element" and instruction.operands[0].opcode == "parameter":
            if body.root.operands[instruction.attributes["index"]] is instruction:
                found.add(instruction)
        elif (
            instruction.opcode != "parameter"
            and _may_move(instruction, held)
            and found.issuperset(instruction.operands)
        ):
            found.add(instruction)
    return found


def _may_move(instruction: Instruction, held: set[Instruction]) -> bool:
    if not isinstance(instruction.shape, ArrayShape) or instruction.array.is_dynamic or instruction in held:
        return False
    ordered = is_ordered(instruction)
    return not ordered and instruction.opcode not in _CALLING and is_repeatable(instruction)


def _is_worth_moving(instruction: Instruction, still: set[Instruction]) -> bool:
    """Whether what changes from turn to turn uses a value that is not had for nothing."""
    users = [user for user in instruction.users if user not in still]
    if not users or instruction.opcode in _SOURCES:
        return False
    before = set(_closure(instruction))
    sources = {i for i in before if i.opcode == "get-tuple-element"}
    if not sources or instruction.array.size > sum(source.array.size for source in sources):
        return False
    is_computed = any(i.opcode in _WORTH for i in before)
    feeds_product = any(user.opcode in PRODUCTS for user in users)
    return is_computed or (feeds_product and any(i.opcode not in _SOURCES for i in before))


def _closure(instruction: Instruction) -> Iterator[Instruction]:
    """The instruction and all that it is computed from, within the body."""
    return reachable([instruction], lambda current: () if current.opcode in _SOURCES else current.operands)


def _copied(instruction: Instruction, loop: Instruction, copies: dict[Instruction, Instruction]) -> Instruction:
    """The same computed before the loop, of what the loop starts with."""
    initial = loop.operands[0]
    needed = set(_closure(instruction))
    for current in loop.attributes["body"].instructions:
        if current not in needed or current in copies:
            continue
        if current.opcode == "get-tuple-element":
            copies[current] = initial.operands[current.attributes["index"]]
        else:
            copies[current] = loop.computation.add(current.clone([copies[o] for o in current.operands]))
    return copies[instruction]


def _extend(loop: Instruction, values: list[Instruction]) -> None:
    """Add values to the loop's state that are handed on as they are."""
    initial, body = loop.operands[0], loop.attributes["body"]
    state = build(loop.computation, "tuple", [*initial.operands, *values], name=initial.name)
    first = len(initial.operands)
    for computation in (body, loop.attributes["condition"]):
        computation.parameters[0].shape = state.shape
    loop.set_operands([state])
    loop.shape = state.shape
    (parameter,) = body.parameters
    pieces = [build(body, "get-tuple-element", [parameter], index=first + n) for n in range(len(values))]
    body.root = build(body, "tuple", [*body.root.operands, *pieces], name=body.root.name)
