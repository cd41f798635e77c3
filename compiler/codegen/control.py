"""Control flow inside the code of one element: a `while` or a `conditional` in a reducer, a comparator or a map.

Such a computation is called for each element, where there is no memory for a state to lie in: the scalars that a tuple
holds are carried from block to block as values.  What holds larger arrays is refused by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from compiler.codegen import complex_numbers, movement
from compiler.codegen.llvm_ir import Value, keep_rolled
from compiler.codegen.movement import Indices
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import Shape, TupleShape, leaves
from compiler.ops.control import branches_by_operand


class Values(movement.Values, Protocol):
    """The values of instructions, and the results of calls."""

    def call(self, computation: Computation, argument: Sequence[Value]) -> list[Value]:
        """The scalars of a computation's result, from those of its one parameter."""


def _check(instruction: Instruction, *shapes: Shape) -> None:
    for leaf in (leaf for shape in shapes for leaf in leaves(shape)):
        if leaf.rank:
            reason = f"of {leaf}, where it is computed for each element; it may hold scalars only"
            raise instruction.unsupported(reason, by="code generation")


def _tuple(values: Values, instruction: Instruction, indices: Indices) -> list[Value]:
    return [value for operand in instruction.operands for value in values.elements(operand, indices)]


def piece(values: Values, instruction: Instruction, indices: Indices) -> list[Value]:
    """One part of a tuple, of whose parts some may be tuples themselves.

    Args:
        values: what evaluates elements.
        instruction: the tuple's piece.
        indices: of the element, one for each dimension.
    """
    (whole,), number = instruction.operands, instruction.attributes["index"]
    assert isinstance(whole.shape, TupleShape)
    counts = [len(list(leaves(element))) for element in whole.shape.elements[: number + 1]]
    return values.elements(whole, indices)[sum(counts[:-1]) : sum(counts)]


def _while(values: Values, loop: Instruction, _: Indices) -> list[Value]:
    _check(loop, loop.shape)
    emission, builder = values.emission, values.builder
    start = values.elements(loop.operands[0], ())
    types, apart, before = [value.type for value in start], complex_numbers.taken_apart(builder, start), builder.block
    header, body, done = (builder.new_label(name) for name in ("while", "while.body", "while.end"))
    builder.branch(header)
    builder.begin(header)
    phis = [builder.placeholders(value.type, 1)[0] for value in apart]
    state = complex_numbers.put_together(builder, phis, types)
    emission.enter()
    (again,) = values.call(loop.attributes["condition"], state)
    builder.branch_if(again, body, done)
    builder.begin(body)
    following = complex_numbers.taken_apart(builder, values.call(loop.attributes["body"], state))
    emission.leave()
    for phi, first, later in zip(phis, apart, following, strict=True):
        builder.fill(phi, [(first, before), (later, builder.block)])
    builder.branch(header, keep_rolled(builder.module, scalar=True))
    builder.begin(done)
    return state


def _conditional(values: Values, conditional: Instruction, _: Indices) -> list[Value]:
    selector, *operands = conditional.operands
    _check(conditional, conditional.shape, *(operand.shape for operand in operands))
    emission, builder = values.emission, values.builder
    choice = values.value(selector, ())
    arguments = [values.elements(operand, ()) for operand in operands]
    labels, done = [builder.new_label("branch") for _ in operands], builder.new_label("conditional.end")
    if choice.type == "i1":
        builder.branch_if(choice, *labels)
    else:
        cases = " ".join(f"{choice.type} {number}, label %{label}" for number, label in enumerate(labels))
        builder.line(f"switch {choice}, label %{labels[-1]} [ {cases} ]")
    found, ends, types = list[list[Value]](), list[str](), list[str]()
    for label, branch, argument in zip(labels, branches_by_operand(conditional), arguments, strict=True):
        builder.begin(label)
        emission.enter()
        results = values.call(branch, argument)
        emission.leave()
        types = [value.type for value in results]
        found.append(complex_numbers.taken_apart(builder, results))
        ends.append(builder.block)
        builder.branch(done)
    builder.begin(done)
    joined = [builder.phi(each[0].type, list(zip(each, ends, strict=True))) for each in zip(*found, strict=True)]
    return complex_numbers.put_together(builder, joined, types)


Rule = Callable[[Values, Instruction, Indices], list[Value]]

RULES: dict[str, Rule] = {"conditional": _conditional, "get-tuple-element": piece, "tuple": _tuple, "while": _while}
"""Rules by opcode; one value for each array of the result, of tuples in tuples too."""
