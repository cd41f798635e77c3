"""No two chunks of a phase touch the same memory where one of them changes it; where they do it is told, every time."""

from __future__ import annotations

import pytest
from strategy_programs import CPU

import compiler
from compiler.backends.cpu import bounds
from compiler.backends.cpu.ir_text import size_of
from compiler.backends.cpu.runtime.bounds import ChunkRace
from compiler.backends.cpu.touches import Touches
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.inputs import draw

SHARED = compiler.CompileOptions(check_bounds=True, threads=4, share_all=True, opt=0)
_CALLS = 3
_LINE_BYTES = 64
COMPILED = sorted(name for name in CPU if not name.startswith("foreign"))


def run(name: str) -> None:
    module = compiler.parse(CPU[name])
    compiler.compile(module, options=SHARED)(*draw(module, 0))


@pytest.mark.parametrize("name", COMPILED)
def test_chunks_of_every_kind_of_kernel_keep_apart(name):
    run(name)


BLOCKED = ("scatter: windows shared", "sort: selection", "sort: network shared by threads")
"""Kernels each thread of which has a block of scratch memory, or of rows, and uses all of it."""


@pytest.mark.parametrize("name", BLOCKED)
def test_blocks_of_threads_that_overlap_are_told_of_in_every_call(name, monkeypatch):
    """A line is missing between one thread's block and the next."""
    multiply = Builder.mul

    def closer(self: Builder, a: Value, b: Value) -> Value:
        for thread, size in ((a, b), (b, a)):
            if thread.name == "%thread" and (size.literal or 0) >= _LINE_BYTES:
                return multiply(self, thread, integer(size.literal - _LINE_BYTES))
        return multiply(self, a, b)

    monkeypatch.setattr(Builder, "mul", closer)
    module = compiler.parse(CPU[name])
    executable, given = compiler.compile(module, options=SHARED), draw(module, 0)
    for _ in range(_CALLS):
        with pytest.raises(ChunkRace, match="of the same phase"):
            executable(*given)


@pytest.mark.parametrize("type_", ["float", "<16 x float>", "<64 x i8>", "<8 x bfloat>", "i32", "<4 x double>"])
def test_of_a_store_that_is_put_on_record_each_element_is_compared(type_):
    lines: list[str] = []

    def let(text: str) -> str:
        lines.append(text)
        return f"%{len(lines)}"

    Touches(Module(), let, lines.append).stored("%p", type_, "%v", 4, "@site")
    count, *_ = type_[1:].split(" x ") if type_[0] == "<" else ("1",)
    lanes = "-1" if count == "64" else str((1 << int(count)) - 1)
    assert lines[0] == f"load {type_}, ptr %p, align 4"
    assert f"(ptr %p, i64 {lanes}, i64 {size_of(type_) // int(count)}, i64 1, i64 %" in lines[-1]


@pytest.mark.parametrize("type_", ["<128 x i8>", "<8 x i1>", "ptr", "[2 x i64]"])
def test_of_one_that_has_no_lanes_all_counts_as_changed(type_):
    lines: list[str] = []
    Touches(Module(), str, lines.append).stored("%p", type_, "%v", 1, "@site")
    assert f"@bounds.touch(ptr %p, i64 {size_of(type_)}, i64 " in lines[-1]
    assert lines[-1].endswith("i64 1, ptr @site)")


@pytest.mark.parametrize("value", ["%v", "zeroinitializer", "splat (float 1.0)"])
def test_of_a_masked_store_only_lanes_that_are_on_and_differ_count_as_changed(value):
    lines: list[str] = []

    def let(text: str) -> str:
        lines.append(text)
        return f"%{len(lines)}"

    arguments = [f"<4 x float> {value}", "ptr %q", "i32 4", "<4 x i1> %mask"]
    Touches(Module(), let, lines.append).replaced("%p", "@llvm.masked.store.v4f32.p0", arguments, "%on", "@site")
    before = "call <4 x float> @llvm.masked.load.v4f32.p0(ptr %p, i32 4, <4 x i1> %mask, <4 x float> zeroinitializer)"
    assert lines[0] == before
    assert f"bitcast <4 x float> {value} to <4 x i32>" in lines
    assert lines[-1].startswith("  call void @bounds.touch_lanes(ptr %p, i64 %on, i64 4, i64 1, i64 %")


FLAG = "%v = load {order}i8, ptr %flag{how}, align 1", "store {order}i8 1, ptr %flag{how}, align 1"
"""What each thread asks, and says, of a byte of them all."""


@pytest.mark.parametrize("line", FLAG, ids=("load", "store"))
@pytest.mark.parametrize(("order", "how"), [("atomic ", " monotonic"), ("", "")], ids=("atomic", "plain"))
def test_atomic_accesses_are_no_race_and_have_bounds(line, order, how):
    module = Module()
    function = module.function("f", "void", [("ptr", "flag")])
    function.lines += ["entry:", f"  {line.format(order=order, how=how)}", "  ret void"]
    bounds._Checked(module, function, {}, {}, shares=True).rewrite()
    assert any("@bounds.check(" in each for each in function.lines)
    assert any("@bounds.touch" in each for each in function.lines) == (not order)
