"""Collectives of a program for one device: what it would send to others or receive from them is its own.

A reduction over one value is that value, a permutation keeps it where the pair (0, 0) is listed and gives zeros
elsewhere.  Programs for several devices are left as they are, and so is what only several devices can do, such as
making an array longer by what others have.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.analysis.expansion import Expand, expand
from compiler.analysis.expression import Expression, element, iota, number
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import TupleShape
from compiler.ir.shape_rules import agree
from compiler.ir.types import S64, U32
from compiler.ops.build import build


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    devices = module.attributes.get("replica_count", 1) * module.attributes.get("num_partitions", 1)
    return devices == 1 and expand(module, fuel, _EXPANSIONS)


def _bundle(owner: Instruction, parts: Sequence[Instruction]) -> Instruction:
    """One instruction as it is, several as a tuple."""
    return parts[0] if len(parts) == 1 else build(owner.computation, "tuple", parts)


def _same(instruction: Instruction) -> Instruction | None:
    result = instruction.shape
    shapes = result.elements if isinstance(result, TupleShape) else (result,)
    if not all(agree(operand.shape, shape) for operand, shape in zip(instruction.operands, shapes, strict=True)):
        return None
    return _bundle(instruction, instruction.operands)


def _moved(instruction: Instruction) -> Instruction:
    pairs = instruction.attributes.get("source_target_pairs")
    operands = instruction.operands
    if pairs is None or (0, 0) in pairs:
        return _bundle(instruction, operands)
    computation = instruction.computation
    zeros = [number(computation, 0, o.array.element_type).spread(o.array.dims, ()).instruction for o in operands]
    return _bundle(instruction, zeros)


def _permute(instruction: Instruction) -> Instruction:
    # The form of four operands moves a slice of the first into the second.
    return instruction.operands[1] if len(instruction.operands) == 4 else _moved(instruction)


def _start(start: Instruction) -> Instruction | None:
    """The first half of an op whose value holds operands and results."""
    shape = start.shape
    assert isinstance(shape, TupleShape)
    moved = _moved(start)
    if not agree(moved.shape, shape.elements[1]):
        return None
    contexts = [number(start.computation, 0, U32).instruction for _ in shape.elements[2:]]
    return build(start.computation, "tuple", [_bundle(start, start.operands), moved, *contexts])


def _done(done: Instruction) -> Instruction:
    return element(done.operands[0], 1)


def _number(instruction: Instruction) -> Instruction:
    return number(instruction.computation, 0, U32).instruction


def _ragged(instruction: Instruction) -> Instruction:
    """Each row of the target by the number of the row that it receives; of several that are sent to it, the last."""
    source, target, *rest = instruction.operands
    starts, sizes, offsets = (Expression(o).to(S64).reshape(o.array.size) for o in rest[:3])
    rows, count = target.array.dims[0], starts.dims[0]
    row = iota(instruction.computation, S64, (rows,))
    chosen = row.literal(-1).spread((rows,), ())
    for segment in range(count):
        start, size, offset = (v.slice((segment, segment + 1)).reshape() for v in (starts, sizes, offsets))
        inside = row.compare("GE", offset) & row.compare("LT", offset + size)
        chosen = inside.where(row - offset + start, chosen)
    received = build(
        instruction.computation,
        "gather",
        [source, chosen.instruction],
        offset_dims=tuple(range(1, source.array.rank)),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
        slice_sizes=(1, *source.array.dims[1:]),
    )
    arrives = chosen.compare("GE", 0).spread(target.array.dims, (0,))
    return arrives.where(Expression(received), Expression(target)).instruction


_EXPANSIONS: dict[str, Expand] = {
    **dict.fromkeys(
        (
            "all-gather",
            "all-reduce",
            "all-reduce-start",
            "all-reduce-done",
            "reduce-scatter",
            "all-to-all",
            "collective-broadcast",
        ),
        _same,
    ),
    **dict.fromkeys(("all-gather-start", "collective-permute-start"), _start),
    **dict.fromkeys(("all-gather-done", "collective-permute-done"), _done),
    **dict.fromkeys(("partition-id", "replica-id"), _number),
    "collective-permute": _permute,
    "ragged-all-to-all": _ragged,
}
