"""Where a buffer lies, as an address: from the function's parameters, or as it is known in its frame."""

import pytest

import compiler
from compiler.analysis.buffers import Assignment
from compiler.analysis.storage import ALIGNMENT, Buffer, Storage
from compiler.backends.cpu.pointers import BASES, Pointers
from compiler.codegen.llvm_ir import Builder, Module, Value

MODULE = compiler.parse(
    "ENTRY e { c = f32[3] constant({1, 2, 3}) h = f32[3] constant({...}) ROOT r = f32[3] add(c, h) }"
)
CONSTANT, HIDDEN, ROOT = MODULE.entry.instructions


def pointers(assignment=None, **known):
    builder = Builder(Module().function("f", "void", BASES))
    return Pointers(builder, assignment or Assignment(), known.get("known", {}), ", !invariant.load !0")


def emitted(found):
    return "\n".join(found.builder.function.lines)


@pytest.mark.parametrize(
    ("kind", "base", "loads"),
    [(Storage.PARAMETER, "%parameters", True), (Storage.RESULT, "%results", True), (Storage.ARENA, "%arena", False)],
)
def test_an_address_is_computed_from_the_parameter_that_is_its_base(kind, base, loads):
    found = pointers()
    address = found.of(Buffer(kind, 12, ROOT, number=5, offset=192))
    text = emitted(found)
    assert address.type == "ptr"
    assert f"ptr {base}, i64 {5 if loads else 192}" in text
    assert ("load ptr" in text, "!invariant.load" in text) == (loads, loads)
    assert "i64 192" in text


def test_what_is_known_is_not_computed():
    buffer, address = Buffer(Storage.FRAME, 4, ROOT), Value("ptr", "%here")
    found = pointers(known={buffer: address})
    assert found.of(buffer) == address
    assert emitted(found) == emitted(pointers())


def test_a_constant_is_data_of_the_module_and_one_left_out_is_refused():
    found = pointers()
    assert found.of(Buffer(Storage.CONSTANT, 12, CONSTANT)).name == "@data.e_c"
    with pytest.raises(compiler.UnsupportedError, match=r"the constant h .*elided"):
        found.of(Buffer(Storage.CONSTANT, 12, HIDDEN))


@pytest.mark.parametrize(("kind", "is_rounded"), [(Storage.ARENA, False), (Storage.RESULT, True)])
def test_a_workspace_starts_at_a_line_wherever_it_lies(kind, is_rounded):
    found = pointers(Assignment(workspaces={ROOT: Buffer(kind, 64, ROOT)}))
    assert found.workspace(ROOT).type == "ptr"
    assert ("and i64" in emitted(found) and f"-{ALIGNMENT}" in emitted(found)) == is_rounded


def test_who_asked_for_no_workspace_has_none():
    assert pointers().workspace(ROOT) == Value("ptr", "null")
