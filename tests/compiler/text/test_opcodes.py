"""What an opcode's text may say follows from its record."""

import pytest

from compiler.ir.attributes import COMMON
from compiler.ops import OPS
from compiler.text.opcodes import DERIVED, PAYLOADS, SIGNATURES, STATED


@pytest.mark.parametrize("opcode", OPS)
def test_what_is_required_is_allowed_and_what_stands_in_parentheses_is_not_asked_for_again(opcode):
    signature = SIGNATURES[opcode]
    assert set(signature.required) <= signature.allowed
    assert signature.allowed >= COMMON
    assert PAYLOADS.get(opcode) not in signature.required


def test_shapes_that_must_be_written_are_of_opcodes():
    assert set(OPS) >= STATED
    assert set(OPS) >= DERIVED
    assert {"parameter", "constant", "convert", "iota"} <= STATED
    assert not {"add", "dot", "tuple"} & STATED
