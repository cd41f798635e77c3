"""Ops that talk to the world outside: infeed, outfeed, send, recv; a program run here has no one to talk to."""

from __future__ import annotations

from compiler.diagnostics import ShapeError
from compiler.ir.module import Instruction
from compiler.ir.opdef import Op
from compiler.ir.shape import TOKEN_SHAPE, ArrayShape, Shape, TupleShape
from compiler.ir.shape_rules import agree, require, stated
from compiler.ir.traits import Trait
from compiler.ir.types import U32

_CONTEXT = ArrayShape(U32, ())


def _token(instruction: Instruction, index: int) -> None:
    shape = instruction.operands[index].shape
    require(agree(shape, TOKEN_SHAPE), f"operand {index} of {instruction.opcode} must be a token, not {shape}")


def _received(instruction: Instruction) -> Shape:
    """What is to arrive: only the stated shape knows."""
    shape = stated(instruction)
    if not isinstance(shape, TupleShape) or not shape.elements:
        raise ShapeError(f"{instruction.opcode} yields a tuple that begins with what is received, not {shape}")
    return shape.elements[0]


def _infer_infeed(instruction: Instruction) -> Shape:
    _token(instruction, 0)
    return TupleShape((_received(instruction), TOKEN_SHAPE))


def _infer_outfeed(instruction: Instruction) -> Shape:
    _token(instruction, 1)
    return TOKEN_SHAPE


def _infer_send(instruction: Instruction) -> Shape:
    # What a send waits for may be any value: XLA asks for a token nowhere.
    return TupleShape((instruction.operands[0].shape, _CONTEXT, TOKEN_SHAPE))


def _infer_recv(instruction: Instruction) -> Shape:
    return TupleShape((_received(instruction), _CONTEXT, TOKEN_SHAPE))


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
            traits=Trait.SIDE_EFFECT | Trait.STRICT_TYPES | Trait.STATED_SHAPE | Trait.TOKENS,
        ),
        Op(
            "outfeed",
            (2, 2),
            _infer_outfeed,
            None,
            "Send to the host's queue.",
            optional=("outfeed_config", "outfeed_shape"),
            traits=Trait.SIDE_EFFECT | Trait.STRICT_TYPES | Trait.STATED_SHAPE | Trait.TOKENS,
        ),
        Op(
            "send",
            (2, 2),
            _infer_send,
            None,
            "Begin to send.",
            optional=_CHANNEL,
            traits=Trait.SIDE_EFFECT | Trait.STRICT_TYPES | Trait.TOKENS,
        ),
        Op(
            "send-done",
            (1, 1),
            _infer_send_done,
            None,
            "Wait until sent.",
            optional=_CHANNEL,
            traits=Trait.SIDE_EFFECT | Trait.STRICT_TYPES | Trait.TOKENS,
        ),
        Op(
            "recv",
            (1, 1),
            _infer_recv,
            None,
            "Begin to receive.",
            optional=_CHANNEL,
            traits=Trait.SIDE_EFFECT | Trait.STRICT_TYPES | Trait.TOKENS,
        ),
        Op(
            "recv-done",
            (1, 1),
            _infer_recv_done,
            None,
            "Wait until received.",
            optional=_CHANNEL,
            traits=Trait.SIDE_EFFECT | Trait.STRICT_TYPES | Trait.TOKENS,
        ),
    )
}
