"""Code that LLVM selects fast reads a float where a float is read, on CPUs with AVX and without AVX-512."""

import re

import pytest

from compiler.codegen import fast_selection
from compiler.codegen.llvm import Source, Target, assembly_text

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
