"""Quotients that fit in 32 bits are the same when 32 bits are divided."""

import ctypes

import pytest

from compiler.codegen import llvm
from compiler.codegen.llvm_ir import Builder, Module, integer, short_quotient, shortened
from compiler.codegen.llvm_ir.values import Value

TARGET = llvm.Target.host()
EDGES = [1, 2, 3, 7, 4095, 4096, 2**16, 2**31 - 1, 2**31, 2**32 - 1]


def written():
    module = Module()
    builder = Builder(module.function("f", "i64", [("i64", "x"), ("i64", "y")]))
    builder.ret(builder.add(short_quotient(builder, Value("i64", "%x"), Value("i64", "%y")), integer(1)))
    return str(module)


@pytest.mark.parametrize("rewrite", [str, shortened])
def test_quotients_are_exact_to_the_edges_of_32_bits(rewrite):
    library = llvm.Library(llvm.parse(rewrite(written()), TARGET, 3), ("f",), TARGET, 3)
    function = library.function("f", ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64)
    for left in (0, *EDGES):
        assert [function(left, right) for right in EDGES] == [left // right + 1 for right in EDGES]


def test_a_division_of_64_bits_is_left_only_where_nothing_is_known():
    assert "udiv i64" in written()
    assert "udiv i64" not in shortened(written())
    unknown = written().partition(" ;")[0]
    assert "udiv i64" in unknown
    assert shortened(unknown) == unknown
