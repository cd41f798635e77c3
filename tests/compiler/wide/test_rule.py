"""An operand that stands in two of an instruction's positions means in each what that position means."""

from itertools import combinations

import numpy as np
import pytest
from op_programs import FORMS, program

import compiler
from compiler import edit
from compiler.ops import OPS, Trait, having
from xlabench.judging.bounds import basis_of

_OPEN = having(Trait.RANDOM) | {"sort"}
"""Of which the judge knows no number."""


def integers(text):
    """A program, or its twin; None where it has none."""
    module = compiler.parse(text)
    if all(leaf.element_type.is_integer for i in module.instructions() for leaf in edit.leaves(i.shape)):
        return module
    try:
        return edit.integer_twin(module)
    except compiler.UnsupportedError:
        return None


def with_one_twice(module):
    """The program with each two operands of one shape of its instructions made the same."""
    for instruction in module.entry.instructions:
        if OPS[instruction.opcode].elementwise or instruction.opcode in _OPEN:
            continue
        operands = instruction.operands
        for one, other in combinations(range(len(operands)), 2):
            if operands[one].shape == operands[other].shape and operands[one] is not operands[other]:
                ids = [edit.id_of(operands[one if number == other else number]) for number in range(len(operands))]
                edited = edit.with_operation(module, edit.id_of(instruction), instruction.opcode, ids)
                if edited is not None:
                    yield edited.module


TEXTS = {opcode: program(opcode) for opcode, op in OPS.items() if op.evaluate is not None} | FORMS
SCALARS = """second { a = s32[] parameter(0) ROOT b = s32[] parameter(1) }
ENTRY e { x = s32[1,8] parameter(0) i = s32[] parameter(1) u = s32[] parameter(2) ROOT r = s32[1,8] scatter(x, i, u),
  update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={1}, index_vector_dim=0,
  to_apply=second }"""
FOUND = {
    f"{name} {number}": module
    for name, text in {**TEXTS, "scatter of a number": SCALARS}.items()
    if (whole := integers(text)) is not None
    for number, module in enumerate(with_one_twice(whole))
}


@pytest.mark.parametrize("name", FOUND)
def test_what_is_exact_stays_so(name):
    module = FOUND[name]
    inputs = [np.full(p.array.dims, 3, p.array.element_type.dtype) for p in module.entry.parameters]
    expected = compiler.interpret(module, *inputs)
    basis = basis_of(module, inputs, expected)
    assert not basis.flaws
    assert all(not bound.error.any() for bound in basis.bounds if bound is not None)
