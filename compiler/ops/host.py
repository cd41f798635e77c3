"""Ops that talk to the world outside: infeed, outfeed, send, recv and custom-call.

A program run here has no one to talk to.  Custom calls have a meaning where they merely mark their operand, or are one
of XLA's own names for an op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.diagnostics import ShapeError, UnsupportedError
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array, ranking
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.shape import TOKEN_SHAPE, ArrayShape, Shape, TupleShape, leaves
from compiler.ir.shape_rules import agree, require, stated
from compiler.ir.types import U32


def _token(instruction: Instruction, index: int) -> None:
    shape = instruction.operands[index].shape
    require(agree(shape, TOKEN_SHAPE), f"operand {index} of {instruction.opcode} must be a token, not {shape}")


def _ends_in_token(instruction: Instruction) -> TupleShape:
    shape = stated(instruction)
    if not isinstance(shape, TupleShape) or not shape.elements or not agree(shape.elements[-1], TOKEN_SHAPE):
        raise ShapeError(f"{instruction.opcode} yields a tuple that ends in a token, not {shape}")
    return shape


def _infer_infeed(instruction: Instruction) -> Shape:
    _token(instruction, 0)
    return _ends_in_token(instruction)


def _infer_outfeed(instruction: Instruction) -> Shape:
    _token(instruction, 1)
    return TOKEN_SHAPE


def _infer_send(instruction: Instruction) -> Shape:
    _token(instruction, 1)
    return TupleShape((instruction.operands[0].shape, ArrayShape(U32, ()), TOKEN_SHAPE))


def _infer_recv(instruction: Instruction) -> Shape:
    _token(instruction, 0)
    return _ends_in_token(instruction)


def _carried(instruction: Instruction) -> TupleShape:
    shape = instruction.operands[0].shape
    if not isinstance(shape, TupleShape) or len(shape.elements) != 3:
        raise ShapeError(f"{instruction.opcode} takes (data, context, token), not {shape}")
    return shape


def _infer_send_done(instruction: Instruction) -> Shape:
    _carried(instruction)
    return TOKEN_SHAPE


def _infer_recv_done(instruction: Instruction) -> Shape:
    shape = _carried(instruction)
    return TupleShape((shape.elements[0], shape.elements[2]))


def _infer_custom_call(instruction: Instruction) -> Shape:
    return stated(instruction)


MARKS = frozenset(
    {
        "Sharding",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "LayoutConstraint",
        "MoveToHost",
        "MoveToDevice",
        "annotate_device_placement",
        "xla.sdy.FuncResultSharding",
        "xla.sdy.GlobalToLocalShape",
        "xla.sdy.LocalToGlobalShape",
    }
)
"""Targets that only mark their operand; on one device they yield it."""


def _top_k(instruction: Instruction, value: Array) -> Value:
    """XLA's name for topk on the CPU: the greatest of each row with their indices, as many as the result holds."""
    shape = instruction.shape
    assert isinstance(shape, TupleShape)
    count = next(leaves(shape)).dims[-1]
    order = ranking(value, instruction.operands[0].array.element_type, descending=True)[..., :count]
    return (np.take_along_axis(value, order, axis=-1), order.astype(np.int32))


def _custom_call(instruction: Instruction, values: Sequence[Any], _: Evaluator) -> Value:
    target = instruction.attributes["custom_call_target"]
    if target == "TopK" and len(values) == 1 and isinstance(instruction.shape, TupleShape):
        return _top_k(instruction, values[0])
    if target in MARKS and len(values) == 1 and agree(instruction.shape, instruction.operands[0].shape):
        marked: Value = values[0]
        return marked
    raise UnsupportedError(f"custom-call to {target!r} ({instruction.name})", "the interpreter")


_CHANNEL = ("channel_id", "is_host_transfer")

OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "infeed",
            (1, 1),
            _infer_infeed,
            None,
            "Receive from the host's queue.",
            optional=("infeed_config",),
            side_effect=True,
        ),
        Op(
            "outfeed",
            (2, 2),
            _infer_outfeed,
            None,
            "Send to the host's queue.",
            optional=("outfeed_config", "outfeed_shape"),
            side_effect=True,
        ),
        Op("send", (2, 2), _infer_send, None, "Begin to send.", optional=_CHANNEL, side_effect=True),
        Op("send-done", (1, 1), _infer_send_done, None, "Wait until sent.", optional=_CHANNEL, side_effect=True),
        Op("recv", (1, 1), _infer_recv, None, "Begin to receive.", optional=_CHANNEL, side_effect=True),
        Op("recv-done", (1, 1), _infer_recv_done, None, "Wait until received.", optional=_CHANNEL, side_effect=True),
        Op(
            "custom-call",
            (0, None),
            _infer_custom_call,
            _custom_call,
            "Code from outside the program, by its name.",
            required=("custom_call_target",),
            optional=(
                "window",
                "dim_labels",
                "feature_group_count",
                "batch_group_count",
                "operand_layout_constraints",
                "custom_call_has_side_effect",
                "to_apply",
                "called_computations",
                "output_to_operand_aliasing",
                "padding_type",
                "literal",
                "operand_precision",
                "schedule",
                "api_version",
            ),
            side_effect=True,
        ),
    )
}
