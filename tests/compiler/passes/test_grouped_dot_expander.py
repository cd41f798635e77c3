"""Products of groups mean the same as products of full factors, on every type and whatever sizes say."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.ir.rewrite import Fuel
from compiler.ir.types import TYPES
from compiler.passes import grouped_dot_expander

ROWS = """ENTRY e {{ x = {type}[3,2] parameter(0) y = {type}[2,2,2] parameter(1) sizes = {sizes}[2] parameter(2)
  ROOT r = {type}[3,2] ragged-dot(x, y, sizes), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}},
    lhs_ragged_dims={{0}}, rhs_group_dims={{0}} }}"""
TERMS = """ENTRY e {{ x = {type}[2,3] parameter(0) y = {type}[3,2] parameter(1) sizes = {sizes}[2] parameter(2)
  ROOT r = {type}[2,2,2] ragged-dot(x, y, sizes), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}},
    lhs_ragged_dims={{1}} }}"""
ODD = {"pred", "token", "opaque"}


def expanded(text: str, *arrays: np.ndarray) -> tuple[bytes, bytes]:
    """The bytes of the result, before and after the pass."""
    module = compiler.parse(text)
    before = compiler.interpret(module, *arrays)[0].tobytes()
    assert grouped_dot_expander.run(module, Fuel())
    return before, compiler.interpret(module, *arrays)[0].tobytes()


@pytest.mark.parametrize("text", [ROWS, TERMS])
@pytest.mark.parametrize("name", [name for name in TYPES if name not in ODD])
@pytest.mark.parametrize("sizes", [(1, 1), (3, 0), (0, 0)])
def test_every_type_has_what_stands_for_no_group(name: str, text: str, sizes: tuple[int, int]) -> None:
    """Also powers of two, among which is no zero."""
    module = compiler.parse(text.format(type=name, sizes="s32"))
    factors = [np.ones(p.array.dims).astype(TYPES[name].dtype) for p in module.entry.parameters[:2]]
    before, after = expanded(text.format(type=name, sizes="s32"), *factors, np.array(sizes, np.int32))
    assert before == after


@pytest.mark.parametrize("sizes", [(7865499282525783263, 17203646097298514278), (2**53 + 1, 1), (2**63, 2**63), (1, 1)])
def test_sizes_of_64_bits_are_added_up_exactly(sizes: tuple[int, int]) -> None:
    factors = [np.ones((3, 2), np.int32), np.ones((2, 2, 2), np.int32)]
    before, after = expanded(ROWS.format(type="s32", sizes="u64"), *factors, np.array(sizes, np.uint64))
    assert before == after
