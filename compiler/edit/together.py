"""Several programs as one, side by side: what is compiled once costs once what each of them would."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.module import Computation, Instruction, Module, keep_control
from compiler.ir.shape import TupleShape


def together(modules: Sequence[Module], name: str) -> Module:
    """A module that takes the parameters of all in their order, and gives their results; each stays as it is.

    What their headers say is left out: ask for programs that say nothing there.
    """
    entry = Computation("main")
    whole = Module(name, [entry])
    whole.entry, entry.module = entry, whole
    results: list[Instruction] = []
    taken = 0
    for module in modules:
        copy = module.clone()
        for computation in copy.computations:
            if computation is not copy.entry:
                whole.add_computation(computation)
        root = _moved(copy.entry, entry, taken)
        taken += len(copy.entry.parameters)
        results += root.operands if root.opcode == "tuple" else [root]
    shape = TupleShape(tuple(result.shape for result in results))
    entry.root = entry.add(Instruction("tuple", shape, results, name="results"))
    return whole


def _moved(source: Computation, target: Computation, first: int) -> Instruction:
    """Append what a computation consists of, its parameters from a number on; returns its root there."""
    copies: dict[Instruction, Instruction] = {}
    for instruction in source.instructions:
        copy = instruction.clone([copies[operand] for operand in instruction.operands])
        if copy.opcode == "parameter":
            copy.attributes["parameter_number"] = first + instruction.parameter_number
        copies[instruction] = target.add(copy)
    keep_control(copies)
    return copies[source.root]
