"""Code that LLVM selects fast: a float is read where a float is read, and extrema of integers are comparisons."""

import builtins
import ctypes
import itertools
import re

import pytest

from compiler.codegen import fast_selection
from compiler.codegen.llvm import Library, Source, Target, assembly_text, compile_all

CHOICE = """define {type} @f(ptr %p, {type} %x) {{
  %c = fcmp olt {type} %x, 1.0
  %a = load {type}, ptr %p, align 4
  %r = select i1 %c, {type} %a, {type} 0.0
  ret {type} %r
}}"""
WIDE_READ = re.compile(r"vblendv\w+\s+[^\n]*\(")


@pytest.mark.parametrize("type_", ["float", "double"])
@pytest.mark.parametrize("features", ["+avx", "+avx,+avx2", "+avx,+avx2,+avx512f,+avx512vl", ""])
def test_a_choice_between_floats_reads_no_more_than_one(type_, features, monkeypatch):
    source = Source(CHOICE.format(type=type_), has_loops=False, cold=True)
    target = Target("x86_64-unknown-linux-gnu", "x86-64", features)
    assert not WIDE_READ.search(assembly_text(source, target, 3))
    if features == "+avx":
        monkeypatch.setattr(fast_selection, "guarded", lambda text, *_: text)
        assert WIDE_READ.search(assembly_text(source, target, 3)), "LLVM does it right: no guard is needed any more"


EXTREMA = [(sign, which) for sign in "su" for which in ("min", "max")]


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_extrema_of_integers_are_compared(bits):
    type_ = f"i{bits}"
    lines = [f"declare {type_} @llvm.{sign}{which}.{type_}({type_}, {type_})" for sign, which in EXTREMA]
    for sign, which in EXTREMA:
        lines += [
            f"define {type_} @{sign}{which}({type_} %x, {type_} %y) {{",
            f"  %v1 = call {type_} @llvm.{sign}{which}.{type_}({type_} %x, {type_} 1)",
            f"  %v2 = call {type_} @llvm.{sign}{which}.{type_}({type_} %v1, {type_} %y)",
            f"  ret {type_} %v2",
            "}",
        ]
    text, target = "\n".join(lines), Target.host()
    if target.triple.startswith("x86_64"):
        assert "call" not in fast_selection.prepared(text, target.triple, target.has)
    (code,) = compile_all([Source(text, has_loops=False, cold=True)], target, 3, threads=1)
    library = Library([code], [f"{sign}{which}" for sign, which in EXTREMA], target, 3)
    for sign, which in EXTREMA:
        number = getattr(ctypes, f"c_{'u' * (sign == 'u')}int{bits}")
        found = library.function(f"{sign}{which}", number, number, number)
        ends = (0, 1, 2, -1, 1 << (bits - 1), (1 << (bits - 1)) - 1)
        for x, y in itertools.product((number(end).value for end in ends), repeat=2):
            assert found(x, y) == getattr(builtins, which)(x, 1, y)
