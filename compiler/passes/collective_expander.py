"""Collectives of a program for one device: what it would send to others or receive from them is its own.

A reduction over one value is that value, a permutation keeps it where the pair (0, 0) is listed and gives zeros
elsewhere.  What only several devices can do, such as making an array longer by what others have, is left as it is.
"""

from __future__ import annotations

from compiler.expansion.expression import Expression, element, number
from compiler.expansion.replacement import Expand, expand
from compiler.expansion.wiring import bundle, permuted, received_rows
from compiler.ir.module import Instruction, Module
from compiler.ir.permuting import moves_slice, sends_to_itself
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import TupleShape
from compiler.ir.shape_rules import agree
from compiler.ir.types import S64, U32
from compiler.ops.build import build


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    devices = module.attributes.get("replica_count", 1) * module.attributes.get("num_partitions", 1)
    return devices == 1 and expand(module, fuel, _EXPANSIONS)


def _same(instruction: Instruction) -> Instruction | None:
    result = instruction.shape
    shapes = result.elements if isinstance(result, TupleShape) else (result,)
    if not all(agree(operand.shape, shape) for operand, shape in zip(instruction.operands, shapes, strict=True)):
        return None
    if isinstance(result, TupleShape):
        return build(instruction.computation, "tuple", instruction.operands)
    return instruction.operands[0]


def _permute(instruction: Instruction) -> Instruction:
    """What the one device has, which may send to itself."""
    row = list(instruction.operands)
    return permuted(instruction, row if sends_to_itself(instruction) else None, row)


def _start(start: Instruction) -> Instruction | None:
    """The first half of an op whose value holds operands and results."""
    shape = start.shape
    assert isinstance(shape, TupleShape)
    moved = _permute(start)
    if not agree(moved.shape, shape.elements[1]):
        return None
    carried = start.operands[:1] if moves_slice(start) else start.operands
    contexts = [number(start.computation, 0, U32).instruction for _ in shape.elements[2:]]
    return build(start.computation, "tuple", [bundle(carried, start.computation), moved, *contexts])


def _done(done: Instruction) -> Instruction:
    return element(done.operands[0], 1)


def _number(instruction: Instruction) -> Instruction:
    return number(instruction.computation, 0, U32).instruction


def _ragged(instruction: Instruction) -> Instruction:
    source, target, *rest = instruction.operands
    starts, sizes, offsets = (Expression(o).to(S64).reshape(o.array.size) for o in rest[:3])
    return received_rows(source, target, starts, sizes, offsets)


_EXPANSIONS: dict[str, Expand] = {
    **dict.fromkeys(
        (
            "all-gather",
            "all-reduce",
            "all-reduce-start",
            "reduce-scatter",
            "all-to-all",
            "collective-broadcast",
        ),
        _same,
    ),
    **dict.fromkeys(("all-gather-start", "collective-permute-start"), _start),
    **dict.fromkeys(("all-gather-done", "collective-permute-done"), _done),
    **dict.fromkeys(("partition-id", "replica-id"), _number),
    "all-reduce-done": lambda done: done.operands[0],
    "collective-permute": _permute,
    "ragged-all-to-all": _ragged,
}
