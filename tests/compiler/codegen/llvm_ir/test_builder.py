"""Loops have the blocks that they need."""

from __future__ import annotations

import pytest

from compiler.codegen.llvm_ir import Builder, Module, Value, integer


@pytest.mark.parametrize(("stop", "branches"), [(integer(1), 0), (integer(2), 2), (Value("i64", "%n"), 2)])
def test_a_loop_asks_what_is_not_known_and_is_none_where_it_runs_once(stop, branches):
    builder = Builder(Module().function("f", "i64", [("i64", "n")]))
    with builder.loop(integer(0), stop, carried=[integer(5)]) as loop:
        loop.carry(builder.add(loop.carried[0], builder.add(loop.index, integer(7))))
    builder.ret(*loop.results)
    lines = builder.function.lines
    assert sum(line.startswith("  br ") for line in lines) == branches
    assert sum(line.startswith("  br i1") for line in lines) == {0: 0, 2: 1 if stop.literal else 2}[branches]
    assert branches or lines[-1] == "  ret i64 12"
