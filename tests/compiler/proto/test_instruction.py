"""Instructions as protocol buffers: every attribute has a field, or is refused by name."""

import pytest

import compiler
from compiler.ir.attributes import ATTRIBUTES, COMMON
from compiler.ops import OPS
from compiler.proto import hlo_proto, instruction
from compiler.text.opcodes import SIGNATURES

UNSAID = {"mode", "has_dynamic_root"}
"""Attributes that XLA's messages have no field for."""


def test_every_attribute_of_every_opcode_has_a_field_or_is_refused():
    placed = set(instruction._PATHS) | set(instruction._SEVERAL) | instruction._WITH_IDS
    assert set(ATTRIBUTES) - placed == UNSAID
    for opcode in OPS:
        assert SIGNATURES[opcode].allowed - COMMON <= placed | UNSAID


HEADER = "HloModule m{}\n\nadd {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }}\n"
_CONSTRAINED = """ROOT r = f32[4] custom-call(x), custom_call_target="f", called_computations={add, add},
  operand_layout_constraints={f32[4]{0}}"""
REFUSED = {
    "its attribute mode has no field": (
        "",
        "ROOT r = f32[4] all-reduce(x), to_apply=add, replica_groups={}, mode=cross_replica",
    ),
    "its attribute alias_passthrough_params has no field": (
        ", alias_passthrough_params=true",
        "ROOT r = f32[4] negate(x)",
    ),
    "its attribute allow_spmd_sharding_propagation_to_output has no field": (
        ", allow_spmd_sharding_propagation_to_output={true}",
        "ROOT r = f32[4] negate(x)",
    ),
    "is not known": ("", "c = f32[4] constant({...}) ROOT r = f32[4] add(x, c)"),
    "XLA reads no values of s1": ("", "c = s1[2] constant({0, -1}) ROOT r = f32[4] negate(x)"),
    "no tile with a dimension that is combined": ("", "ROOT r = f32[4]{0:T(*,2)} copy(x)"),
    "not ordered or not unique": ("", "ROOT r = f32[4]{0:D(C+)} copy(x)"),
    "one computation at most beside operand_layout_constraints": ("", _CONSTRAINED),
    "no domains of kind": (
        "",
        'ROOT r = f32[4] domain(x), domain={kind="other", entry={replicated}, exit={replicated}}',
    ),
    "its devices are not as many": ("", "ROOT r = f32[4] negate(x), sharding={devices=[2]<=[3]}"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_has_no_field_is_refused_by_name(reason):
    header, line = REFUSED[reason]
    text = f"{HEADER.format(header)}ENTRY e {{\n  x = f32[4] parameter(0)\n  {line}\n}}\n"
    with pytest.raises(compiler.UnsupportedError, match=reason) as error:
        hlo_proto(compiler.parse(text))
    assert "is not supported by XLA's protocol buffers" in str(error.value)
