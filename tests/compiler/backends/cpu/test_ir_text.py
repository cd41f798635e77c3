"""Types and operands are found in the text of LLVM IR, however they nest."""

from __future__ import annotations

import pytest

from compiler.backends.cpu.ir_text import leading_type, size_of, split

TYPES = {
    "i1": 1, "i8": 1, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "double": 8, "ptr": 8, "i17": 3,
    "<16 x float>": 64, "<12 x i1>": 2, "[3 x i16]": 6, "[2 x <4 x i8>]": 8, "{ i64, [2 x float] }": 16,
}  # fmt: skip
"""Bytes by type."""


@pytest.mark.parametrize("type_", TYPES)
def test_types_are_told_from_what_follows_and_have_their_sizes(type_):
    assert leading_type(f"{type_} %v1") == type_
    assert size_of(type_) == TYPES[type_]


def test_operands_are_told_apart_by_commas_outside_of_brackets():
    assert split("ptr %a, { i64, i64 } %b, <2 x i1> splat (i1 true), i32 4") == [
        "ptr %a", "{ i64, i64 } %b", "<2 x i1> splat (i1 true)", "i32 4",
    ]  # fmt: skip
    assert split("") == []
