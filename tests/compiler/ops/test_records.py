"""Every opcode of HLO has a complete record."""

from __future__ import annotations

import pytest

from compiler.ir.attributes import ATTRIBUTES, COMMON
from compiler.ops import OPS
from compiler.text.opcodes import SIGNATURES

_WITHOUT_MEANING = {
    "infeed",
    "outfeed",
    "parameter",
    "recv",
    "recv-done",
    "rng-get-and-update-state",
    "send",
    "send-done",
}


def test_every_opcode_of_the_language_has_a_record() -> None:
    assert len(OPS) == 133
    assert OPS.keys() == SIGNATURES.keys()


@pytest.mark.parametrize("opcode", OPS)
def test_a_record_is_complete(opcode: str) -> None:
    op = OPS[opcode]
    assert op.opcode == opcode
    assert op.doc.endswith(".")
    assert (op.evaluate is None) == (opcode in _WITHOUT_MEANING)
    least, most = op.operands
    assert least >= 0
    assert most is None or most >= least
    assert {*op.required, *op.optional} - {"parameter_number"} <= ATTRIBUTES.keys() - COMMON


@pytest.mark.parametrize("opcode", sorted(OPS.keys() - {"parameter", "constant", "async-update", "async-done"}))
def test_a_record_takes_the_attributes_that_its_text_may_have(opcode: str) -> None:
    assert {*OPS[opcode].required, *OPS[opcode].optional} == SIGNATURES[opcode].allowed - COMMON
