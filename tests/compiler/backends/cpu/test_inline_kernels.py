"""A small kernel is copied once for the loops that call it; a large one is called as it is."""

from compiler.backends.cpu.inline_kernels import Copies
from compiler.codegen.llvm_ir import Module


def module(lines):
    made = Module()
    function = made.function("f", "void", [])
    function.lines = ["entry:", *["  %x = add i32 1, 2"] * lines, "  ret void"]
    return made


def test_a_copy_is_made_once_with_the_same_lines():
    made = module(5)
    copies = Copies(made)
    name = copies.name("f")
    assert name != "f"
    assert copies.name("f") == name
    original, copy = made.functions
    assert (copy.name, copy.lines) == (name, original.lines)


def test_what_is_large_is_not_copied():
    made = module(10_000)
    assert Copies(made).name("f") == "f"
    assert len(made.functions) == 1
