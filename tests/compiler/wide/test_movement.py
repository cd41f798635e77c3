"""What is moved is known as well as it was."""

from __future__ import annotations

import numpy as np
from wide_results import wide

import compiler
from compiler.ir.types import TYPES


def test_a_token_is_copied_like_any_value() -> None:
    text = """ENTRY e { x = f32[] parameter(0) t = token[] after-all() c = token[] copy(t)
      ROOT d = f32[] add-dependency(x, c) }"""
    (result,) = compiler.interpret(compiler.parse(text), np.float32(0.5), wide=True)
    assert (float(result.value), float(result.bound)) == (0.5, 0.0)


def test_zeros_that_nobody_sends_are_undecided_in_a_type_without_zero() -> None:
    lines = ("x = KIND[2] parameter(0)", "ROOT r = KIND[2] collective-permute(x), source_target_pairs={}")
    for kind, is_open in (("f8e8m0fnu", True), ("f8e5m2", False), ("s32", False)):
        (result,) = wide(*(line.replace("KIND", kind) for line in lines), inputs=(np.ones(2, TYPES[kind].dtype),))
        assert result.undecided.tolist() == [is_open] * 2
