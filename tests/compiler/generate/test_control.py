"""Branches are drawn that take a tuple apart and hand it on as a whole, or yield it as it is."""

import pytest

import compiler
from compiler.generate import RandomChoices, Space
from compiler.ir.module import computed_from
from compiler.ir.shape import TupleShape
from compiler.ops import Trait, having

DRAWN = 60


def branches_of(opcodes, depth):
    """The conditionals of several programs, each with its branches."""
    space = Space(
        frozenset(opcodes), frozenset({"f32", "s32", "pred"}), most_elements=64, depth=depth, most_instructions=6
    )
    for seed in range(DRAWN):
        module = compiler.generate.program(RandomChoices(seed), space)
        compiler.verify(module)
        for one in module.instructions():
            if one.opcode == "conditional":
                yield one, one.called_computations()


@pytest.mark.parametrize("opcodes", [("conditional", "add"), ("conditional", "while", "multiply")])
@pytest.mark.parametrize("depth", [1, 2])
def test_tuples_are_taken_apart_and_handed_on_as_they_are(opcodes, depth):
    """What reads the elements of a tuple only is not what a pass may rely on."""
    apart = whole = both = yielded = shared = 0
    for one, branches in branches_of(opcodes, depth):
        for branch in branches:
            (parameter,) = branch.parameters
            if isinstance(parameter.shape, TupleShape):
                uses = {user.opcode for user in parameter.users}
                apart += uses == {"get-tuple-element"}
                both += "get-tuple-element" in uses and len(uses) > 1
                yielded += branch.root is parameter
        tuples = [operand for operand in one.operands[1:] if isinstance(operand.shape, TupleShape)]
        shared += len(tuples) > len({*tuples})
        whole += any(operand.opcode != "tuple" for operand in tuples)
    assert min(apart, both, yielded, shared, whole) > 2


@pytest.mark.parametrize("depth", [1, 2])
def test_little_that_is_drawn_in_a_branch_is_dead(depth):
    """What comes of a branch has all of it, but floats among integers; nothing is drawn beside what is handed on."""
    aside = having(Trait.STRUCTURAL | Trait.GENERATES)
    drawn = dead = 0
    for _, branches in branches_of(("conditional", "add", "negate", "transpose", "xor"), depth):
        for branch in branches:
            work = {one for one in branch.instructions if one.opcode not in aside}
            drawn += len(work)
            dead += len(work - computed_from([branch.root]))
    assert drawn > 100
    assert dead < drawn / 8, (dead, drawn)
