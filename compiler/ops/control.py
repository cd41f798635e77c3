"""Ops that run other computations: call, fusion, while, conditional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.diagnostics import ShapeError
from compiler.ir.module import Computation, Instruction
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.shape import ArrayShape, Shape
from compiler.ir.shape_rules import agree, operand, require, signature
from compiler.ir.traits import Trait
from compiler.ir.types import PRED, S32


def _infer_call(instruction: Instruction) -> Shape:
    return signature(instruction, instruction.attributes["to_apply"], [o.shape for o in instruction.operands])


def _call(instruction: Instruction, values: Sequence[Value], evaluator: Evaluator) -> Value:
    return evaluator.call(instruction.attributes["to_apply"], values)


FUSION_KINDS = ("kLoop", "kInput", "kOutput", "kCustom")


def _infer_fusion(instruction: Instruction) -> Shape:
    kind = instruction.attributes["kind"]
    require(kind in FUSION_KINDS, f"kind={kind} is none of {', '.join(FUSION_KINDS)}")
    computation = instruction.attributes["calls"]
    # Operands beyond the parameters are not read; passes of XLA's leave such behind.
    taken = instruction.operands[: len(computation.parameters)]
    return signature(instruction, computation, [o.shape for o in taken])


def _fusion(instruction: Instruction, values: Sequence[Value], evaluator: Evaluator) -> Value:
    return evaluator.call(instruction.attributes["calls"], values)


def _infer_while(instruction: Instruction) -> Shape:
    state = instruction.operands[0].shape
    signature(instruction, instruction.attributes["condition"], [state], ArrayShape(PRED, ()))
    signature(instruction, instruction.attributes["body"], [state], state)
    return state


def _while(instruction: Instruction, values: Sequence[Value], evaluator: Evaluator) -> Value:
    condition, body = instruction.attributes["condition"], instruction.attributes["body"]
    state = values[0]
    while evaluator.call(condition, [state]):
        state = evaluator.call(body, [state])
    return state


def branches(instruction: Instruction) -> tuple[Computation, ...]:
    """The computations that a conditional chooses from; of the two-way form the one for false first.

    Raises:
        ShapeError: it names none, or only one of two.
    """
    attributes = instruction.attributes
    if "branch_computations" in attributes:
        chosen: tuple[Computation, ...] = attributes["branch_computations"]
        return chosen
    if "true_computation" not in attributes or "false_computation" not in attributes:
        raise ShapeError("conditional takes branch_computations, or both true_computation and false_computation")
    return (attributes["false_computation"], attributes["true_computation"])


def branches_by_operand(instruction: Instruction) -> tuple[Computation, ...]:
    """The branches in the order of the operands that they are given: of the two-way form the one for true first."""
    chosen = branches(instruction)
    selector = instruction.operands[0].array.element_type
    return chosen[::-1] if selector is PRED and "branch_computations" not in instruction.attributes else chosen


def _infer_conditional(instruction: Instruction) -> Shape:
    selector = operand(instruction, 0)
    require(
        not selector.dims and selector.element_type in (PRED, S32),
        f"a conditional is decided by a pred or s32 scalar, not {selector}",
    )
    chosen = branches(instruction)
    arguments = instruction.operands[1:]
    require(chosen, "conditional needs at least one branch")
    require(len(arguments) == len(chosen), f"{len(chosen)} branches take {len(chosen)} operands, not {len(arguments)}")
    require(selector.element_type is S32 or len(chosen) == 2, f"a pred chooses between 2 branches, not {len(chosen)}")
    in_order = branches_by_operand(instruction)
    results = [
        signature(instruction, computation, [argument.shape])
        for computation, argument in zip(in_order, arguments, strict=True)
    ]
    for computation, result in zip(in_order, results, strict=True):
        require(
            agree(results[0], result), f"branches yield different shapes: {results[0]}, but {computation.name} {result}"
        )
    return results[0]


def _conditional(instruction: Instruction, values: Sequence[Value], evaluator: Evaluator) -> Value:
    selector, *arguments = values
    index = chosen_branch(instruction, selector)
    return evaluator.call(branches_by_operand(instruction)[index], [arguments[index]])


def chosen_branch(instruction: Instruction, selector: Any) -> int:
    """The number of the branch that a value of the selector chooses."""
    if instruction.operands[0].array.element_type is PRED:
        return 0 if selector else 1
    last = len(instruction.operands) - 2
    index = int(selector)
    return index if 0 <= index < last else last


OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "call",
            (0, None),
            _infer_call,
            _call,
            "Run a computation.",
            required=("to_apply",),
            optional=("is_composite",),
            traits=Trait.EXACT | Trait.CONTROL | Trait.CALLS | Trait.STRICT_TYPES,
        ),
        Op(
            "fusion",
            (0, None),
            _infer_fusion,
            _fusion,
            "Run a computation as one kernel.",
            required=("calls", "kind"),
            optional=("output_to_operand_aliasing",),
            traits=Trait.EXACT | Trait.CALLS | Trait.STRICT_TYPES | Trait.STATED_SHAPE,
        ),
        Op(
            "while",
            (1, 1),
            _infer_while,
            _while,
            "Run the body on the state as long as the condition holds.",
            required=("condition", "body"),
            traits=Trait.EXACT | Trait.CONTROL | Trait.STRICT_TYPES,
        ),
        Op(
            "conditional",
            (2, None),
            _infer_conditional,
            _conditional,
            "Run one of several computations.",
            optional=("true_computation", "false_computation", "branch_computations"),
            traits=Trait.EXACT | Trait.CONTROL | Trait.STRICT_TYPES,
        ),
    )
}
