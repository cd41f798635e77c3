"""Object files say what they lack and who asks for it, and what lacks something is not linked."""

from __future__ import annotations

import pytest

from compiler.backends.cpu.machines import target_for
from compiler.codegen import elf, llvm

TEXT = """
declare void @nobody.has.it(i64)
declare double @floor(double)
@words = global i64 3
define void @first(i64 %n) noinline { call void @nobody.has.it(i64 %n) ret void }
define double @second(double %x) { %y = call double @floor(double %x) ret double %y }
define void @third(i64 %n) { call void @nobody.has.it(i64 %n) call void @first(i64 %n) ret void }
define internal void @inside() noinline { ret void }
define void @fourth() { call void @inside() ret void }
"""


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_names_are_those_of_the_module(machine: str) -> None:
    (code,) = llvm.compile_all([llvm.Source(TEXT, has_loops=False)], target_for(machine), 0, threads=1)
    names = elf.names(code)
    assert names.defined == {"words", "first", "second", "third", "fourth"}
    assert names.undefined["nobody.has.it"] == ("first", "third")
    assert names.undefined.keys() <= {"nobody.has.it", "floor"}


def test_other_files_are_refused() -> None:
    with pytest.raises(ValueError, match="not an object file of 64-bit"):
        elf.names(b"MZ" * 100)


def test_what_lacks_a_symbol_is_not_linked(capfd: pytest.CaptureFixture[str]) -> None:
    host = llvm.Target.host()
    code = llvm.compile_all([llvm.Source(TEXT, has_loops=False)], host, 0, threads=1)
    with pytest.raises(elf.UndefinedSymbolError, match=r"nobody\.has\.it, asked for by first and third"):
        llvm.Library(code, ["third"], host, 0)
    assert capfd.readouterr().err == ""
    llvm.Library(code, ["third"], host, 0, imports={"nobody.has.it": 1})
