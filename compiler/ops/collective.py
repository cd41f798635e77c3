"""Collectives, with their meaning on a single device: replica 0 of partition 0, alone in every group.

What a device would send to others or receive from them is then its own: a reduction over one value is that value, a
permutation keeps it where the pair (0, 0) is listed and gives zeros elsewhere.  The interpreter refuses programs for
several devices before it comes here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from compiler.diagnostics import ShapeError
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.ir.opdef import Evaluator, Op, Value, tuple_or_single_value
from compiler.ir.permuting import moves_slice, permuted, sends_to_itself
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves
from compiler.ir.shape_rules import (
    agree,
    dimension,
    is_stated,
    operand,
    operands,
    require,
    signature,
    stated,
    tuple_or_single,
)
from compiler.ir.traits import Trait
from compiler.ir.types import U32

_CHANNEL = ("replica_groups", "channel_id")
_REDUCTION = (*_CHANNEL, "constrain_layout", "use_global_device_ids", "mode")


def _infer_same(instruction: Instruction) -> Shape:
    return tuple_or_single([ArrayShape(s.element_type, s.dims, s.dynamic) for s in operands(instruction)])


def _same(_: Instruction, values: Sequence[Array], __: Evaluator) -> Value:
    result: Value = tuple_or_single_value(values)
    return result


def begun(instruction: Instruction) -> TupleShape | None:
    """The shape (operands, results, ...) of what begins an exchange; None where the value is the results alone."""
    shape = instruction.shape
    if not instruction.opcode.endswith("-start") or instruction.opcode == "all-reduce-start":
        return None
    assert isinstance(shape, TupleShape)
    return shape


def check_shapes(instruction: Instruction, found: Sequence[tuple[int, ...] | None], by: str = "this compiler") -> None:
    """Refuse results of an `instruction` whose sizes on a device groups of another number of devices have.

    The sizes are what is `found`, None where it is not known; messages say that `by` refuses.
    """
    pair = begun(instruction)
    wanted = leaves(pair.elements[1] if pair else instruction.shape)
    for shape, dims in zip(wanted, found, strict=True):
        if dims is not None and dims != shape.dims and not shape.is_dynamic:
            reason = f"as many devices as there are make {list(dims)} of what is to be {shape}"
            raise instruction.unsupported(reason, by=by)


def check_sizes(instruction: Instruction, result: Value) -> None:
    """Refuse values on devices whose sizes a collective cannot cut; what stands for an array may have no size."""
    values = result if isinstance(result, tuple) else (result,)
    sizes = [value.shape if isinstance(value, np.ndarray) else None for value in values]
    check_shapes(instruction, sizes, by="the interpreter")


def _alone(instruction: Instruction, values: Sequence[Array], evaluator: Evaluator) -> Value:
    """What one device by itself has in the end: what it had."""
    result = _same(instruction, values, evaluator)
    check_sizes(instruction, result)
    return result


def _infer_all_to_all(instruction: Instruction) -> Shape:
    shape = _infer_same(instruction)
    for source in operands(instruction):
        for split in instruction.attributes.get("dimensions") or ():
            dimension(split, source.rank, "dimensions")
    # Without a dimension to split, each operand goes to one device and the result is a tuple, even of one.
    alone = not instruction.attributes.get("dimensions") and not isinstance(shape, TupleShape)
    wanted = is_stated(instruction) and isinstance(instruction.shape, TupleShape)
    return TupleShape((shape,)) if alone and wanted else shape


def _all_to_all(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Value:
    return tuple(values) if isinstance(instruction.shape, TupleShape) else values[0]


def _infer_reduce(instruction: Instruction) -> Shape:
    for index in range(len(instruction.operands)):
        element = ArrayShape(operand(instruction, index).element_type, ())
        if len(instruction.attributes["to_apply"].parameters) == 2:
            signature(instruction, instruction.attributes["to_apply"], [element, element])
    return _infer_same(instruction)


def _resized(instruction: Instruction, fits: Callable[[int, int], bool], says: str) -> Shape:
    """The stated shape, in which one dimension of each operand may have grown or shrunk by the size of a group."""
    shape, sources = stated(instruction), operands(instruction)
    results = shape.elements if isinstance(shape, TupleShape) else (shape,)
    require(len(results) == len(sources), f"{instruction.opcode} of {len(sources)} operands cannot yield {shape}")
    dimensions = instruction.attributes["dimensions"]
    require(len(dimensions) == 1, f"{instruction.opcode} takes one dimension, not {list(dimensions)}")
    for source, result in zip(sources, results, strict=True):
        if not isinstance(result, ArrayShape) or result.rank != source.rank:
            raise ShapeError(f"{instruction.opcode} keeps the rank: {source} cannot become {result}")
        along = dimension(dimensions[0], source.rank, "dimensions")
        require(fits(source.dims[along], result.dims[along]), f"dimension {along} of {source} {says} in {result}")
        rest = result.with_dims((*result.dims[:along], source.dims[along], *result.dims[along + 1 :]))
        require(agree(rest, source), f"{instruction.opcode} changes only dimension {along}: {source} to {result}")
    return shape


def _infer_gather(instruction: Instruction) -> Shape:
    return _resized(
        instruction, lambda before, after: after % before == 0 if before else not after, "does not multiply"
    )


def _infer_reduce_scatter(instruction: Instruction) -> Shape:
    _infer_reduce(instruction)
    return _resized(instruction, lambda before, after: before % after == 0 if after else not before, "does not divide")


def _started(infer: Callable[[Instruction], Shape]) -> Callable[[Instruction], Shape]:
    """The rule of a -start whose value holds operands and results: what it states, with the results checked."""

    def rule(instruction: Instruction) -> Shape:
        shape = stated(instruction)
        if not isinstance(shape, TupleShape) or len(shape.elements) < 2:
            raise ShapeError(f"{instruction.opcode} yields (operands, results, ...), not {shape}")
        given = tuple_or_single([o.shape for o in instruction.operands[: 1 if moves_slice(instruction) else None]])
        require(agree(shape.elements[0], given), f"{instruction.opcode} carries {shape.elements[0]}, given {given}")
        result = Instruction(instruction.opcode, shape.elements[1], instruction.operands, instruction.attributes)
        inferred = infer(result)
        for source in instruction.operands:
            source.users.pop(result, None)
        require(agree(shape.elements[1], inferred), f"{instruction.opcode} yields {inferred}, not {shape.elements[1]}")
        return shape

    return rule


def _start(instruction: Instruction, values: Sequence[Value], evaluator: Evaluator) -> Value:
    pair = begun(instruction)
    assert pair is not None
    moved = values[0] if len(values) == 1 or moves_slice(instruction) else tuple(values)
    return (moved, _permute(instruction, values, evaluator), *(np.zeros((), np.uint32) for _ in pair.elements[2:]))


def _start_gather(instruction: Instruction, values: Sequence[Array], evaluator: Evaluator) -> Value:
    return _start(instruction, [_alone(instruction, values, evaluator)], evaluator)


def _infer_done(instruction: Instruction) -> Shape:
    shape = instruction.operands[0].shape
    if not isinstance(shape, TupleShape) or len(shape.elements) < 2:
        raise ShapeError(f"{instruction.opcode} takes (operands, results, ...), not {shape}")
    return shape.elements[1]


def _done(_: Instruction, values: Sequence[Any], __: Evaluator) -> Value:
    result: Value = values[0][1]
    return result


def _infer_first(instruction: Instruction) -> Shape:
    return instruction.operands[0].shape


def _infer_permute(instruction: Instruction) -> Shape:
    if moves_slice(instruction):
        return instruction.operands[1].shape
    if len(instruction.operands) == 1:
        return _infer_same(instruction)
    # One operand is an array; several may be anything, tuples as well.
    return TupleShape(tuple(operand.shape for operand in instruction.operands))


def _permute(instruction: Instruction, values: Sequence[Value], _: Evaluator) -> Value:
    """What a device has when it permutes with itself."""
    result: Value = permuted(instruction, values if sends_to_itself(instruction) else None, values)
    return result


def _infer_ragged(instruction: Instruction) -> Shape:
    source, target = operand(instruction, 0), operand(instruction, 1)
    fits = source.element_type is target.element_type and source.dims[1:] == target.dims[1:]
    require(fits, f"rows of {source} cannot go into {target}")
    for index in range(2, 6):
        shape = operand(instruction, index)
        require(shape.element_type.is_integer, f"operand {index} of ragged-all-to-all must be integers, not {shape}")
    return target


class RaggedPiece(NamedTuple):
    """What a device sends another: the receiver's number, the rows, and where they begin and end there."""

    receiver: int
    rows: Array
    start: int
    stop: int


def ragged_pieces(instruction: Instruction, values: Sequence[Array], devices: int) -> Iterator[RaggedPiece]:
    """What a device sends.

    Raises UnsupportedError where rows are not in the arrays: nothing says what is meant then.

    Args:
        instruction: the ragged-all-to-all.
        values: its operands on that device: rows, the receiver's rows, starts, sizes, offsets, sizes received.
        devices: how many there are.
    """
    source, target, starts, sizes, offsets, _received = values
    if {starts.size, sizes.size, offsets.size} != {starts.size} or starts.size % devices:
        counts = f"{starts.size}, {sizes.size} and {offsets.size}"
        raise instruction.unsupported(f"{counts} offsets and sizes for {devices} devices", by="the interpreter")
    pieces = max(starts.size // devices, 1)
    rows = zip(starts.ravel().tolist(), sizes.ravel().tolist(), offsets.ravel().tolist(), strict=True)
    for number, (start, size, offset) in enumerate(rows):
        end, until = start + size, offset + size
        if size and (min(start, size, offset) < 0 or end > len(source) or until > len(target)):
            reason = f"rows {start} to {end} of {len(source)} go to rows {offset} to {until} of {len(target)}"
            raise instruction.unsupported(reason, by="the interpreter")
        if size:
            yield RaggedPiece(number // pieces, source[start:end], offset, until)


def _ragged(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Value:
    result = np.array(values[1])
    for _receiver, rows, offset, until in ragged_pieces(instruction, values, 1):
        result[offset:until] = rows
    return result


def _infer_number(_: Instruction) -> Shape:
    return ArrayShape(U32, ())


def _zero(_: Instruction, __: Sequence[Value], ___: Evaluator) -> Value:
    return np.zeros((), np.uint32)


_GATHER = (*_CHANNEL, "constrain_layout", "use_global_device_ids")
_PERMUTE = ("channel_id", "slice_sizes")

OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "all-gather",
            (1, None),
            _infer_gather,
            _alone,
            "Concatenate what the devices of a group have.",
            required=("dimensions",),
            optional=_GATHER,
            traits=Trait.COLLECTIVE,
        ),
        Op(
            "all-gather-start",
            (1, None),
            _started(_infer_gather),
            _start_gather,
            "Begin an all-gather.",
            required=("dimensions",),
            optional=_GATHER,
            traits=Trait.ASYNC | Trait.COLLECTIVE | Trait.STRICT_TYPES,
        ),
        Op(
            "all-gather-done",
            (1, 1),
            _infer_done,
            _done,
            "Wait for an all-gather.",
            traits=Trait.ASYNC | Trait.COLLECTIVE | Trait.STRICT_TYPES,
        ),
        Op(
            "all-reduce",
            (0, None),
            _infer_reduce,
            _same,
            "Combine what the devices of a group have.",
            required=("to_apply",),
            optional=_REDUCTION,
            traits=Trait.COMBINES | Trait.COLLECTIVE,
        ),
        Op(
            "all-reduce-start",
            (0, None),
            _infer_reduce,
            _same,
            "Begin an all-reduce.",
            required=("to_apply",),
            optional=_REDUCTION,
            traits=Trait.COMBINES | Trait.ASYNC | Trait.COLLECTIVE,
        ),
        Op(
            "all-reduce-done",
            (1, 1),
            _infer_first,
            _same,
            "Wait for an all-reduce.",
            traits=Trait.ASYNC | Trait.COLLECTIVE | Trait.STRICT_TYPES,
        ),
        Op(
            "reduce-scatter",
            (1, None),
            _infer_reduce_scatter,
            _alone,
            "Combine, and keep a part on each device.",
            required=("to_apply", "dimensions"),
            optional=_REDUCTION,
            traits=Trait.COMBINES | Trait.COLLECTIVE,
        ),
        Op(
            "all-to-all",
            (1, None),
            _infer_all_to_all,
            _all_to_all,
            "Each device sends a part to each other.",
            optional=(*_CHANNEL, "dimensions", "constrain_layout"),
            traits=Trait.COLLECTIVE,
        ),
        Op(
            "ragged-all-to-all",
            (6, 6),
            _infer_ragged,
            _ragged,
            "Each device sends some rows to each other.",
            optional=(*_CHANNEL, "dimensions"),
            traits=Trait.COLLECTIVE,
        ),
        Op(
            "collective-broadcast",
            (1, None),
            _infer_same,
            _same,
            "One device of a group sends to all.",
            optional=(*_CHANNEL, "has_dynamic_root"),
            traits=Trait.COLLECTIVE,
        ),
        Op(
            "collective-permute",
            (1, None),
            _infer_permute,
            _permute,
            "Send along pairs of devices.",
            required=("source_target_pairs",),
            optional=_PERMUTE,
            traits=Trait.COLLECTIVE,
        ),
        Op(
            "collective-permute-start",
            (1, None),
            _started(_infer_permute),
            _start,
            "Begin a collective-permute.",
            required=("source_target_pairs",),
            optional=_PERMUTE,
            traits=Trait.ASYNC | Trait.COLLECTIVE | Trait.STRICT_TYPES,
        ),
        Op(
            "collective-permute-done",
            (1, 1),
            _infer_done,
            _done,
            "Wait for a collective-permute.",
            traits=Trait.ASYNC | Trait.COLLECTIVE | Trait.STRICT_TYPES,
        ),
        Op("partition-id", (0, 0), _infer_number, _zero, "The number of this partition.", traits=Trait.STRICT_TYPES),
        Op("replica-id", (0, 0), _infer_number, _zero, "The number of this replica.", traits=Trait.STRICT_TYPES),
    )
}

NUMBERS = frozenset({"replica-id", "partition-id"})
"""Those that say which device runs them; all others exchange data."""
