"""Kernels touch only their arrays, whatever they compute in advance, in vectors or twice; and checks see where not.

Each program is compiled with a check before every access, which sees neighbours in the arena too, and as it runs
otherwise, between pages without access that its arrays touch at their end, then at their start.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import cycle, product

import numpy as np
import pytest
from moved_elements import program
from op_programs import EVALUATED
from op_programs import program as program_of

import compiler
from compiler.backends.cpu import bounds
from compiler.backends.cpu.runtime import guarded
from compiler.backends.cpu.runtime.bounds import OutOfBounds
from compiler.codegen import cost, math, scalar
from compiler.codegen.llvm_ir import Module
from compiler.codegen.scalar import complex_functions
from compiler.inputs import draw
from compiler.ops import OPS
from xlabench.judging.judge import judge

CHECKED = compiler.CompileOptions(check_bounds=True)


def verify(text: str, *, threads: int) -> None:
    """Run a program in all these ways; large arguments, too, of what has a form for small ones."""
    module = compiler.parse(text)
    arrays = [a * np.array(50).astype(a.dtype) if a.dtype.kind in "fcV" else a for a in draw(module, 0)]
    expected = compiler.interpret(module, *arrays)
    plain = compiler.compile(module, options=compiler.CompileOptions(threads=threads))
    ways = [compiler.compile(module, options=replace(CHECKED, threads=threads))]
    ways += [partial(guarded.call, plain._entry.snapshot(), at_end=at_end) for at_end in (True, False)]
    for run in ways:
        judgement = judge(module, arrays, expected, run(*arrays))
        assert judgement.verdict in ("bitwise", "within", "undecided"), judgement.message


# -- functions and what moves their elements --------------------------------------------------------------------

SIZES = (1, 7, 16, 33, 127, 257, 1024, 4099, 32_768)
"""Around vectors, what is computed side by side, and blocks of a cheaper form."""
LONG = SIZES[-3:]

FAST = [
    *product(sorted(filter(math.has_fast_path, scalar.RULES)), ("f32", "f64", "bf16")),
    *product(sorted(complex_functions.FAST), ("c64", "c128")),
]
"""What is computed in a form for small arguments first, if loops are long."""


def is_heavy(opcode: str) -> bool:
    """Whether loops compute several vectors at once for an opcode, or look it up, or have two forms of it."""
    return opcode in scalar.APPROXIMATE or cost.COST[opcode] >= cost.COST["divide"]


@cache
def is_valid(opcode: str, type_: str) -> bool:
    """Whether there is such a function of numbers of a type."""
    try:
        compiler.verify(compiler.parse(program(opcode, type_, 1, after=True)))
    except compiler.CompilerError:
        return False
    return True


HEAVY = [
    (opcode, type_)
    for opcode, type_ in product(sorted(filter(is_heavy, scalar.RULES)), ("f32", "bf16", "c64", "s32"))
    if OPS[opcode].operands[0] in (1, 2) and is_valid(opcode, type_)
]


@pytest.mark.sweep
@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize(("pair", "size"), list(zip(FAST, cycle(LONG), strict=False)))
def test_near_forms_read_only_what_there_is(pair, size, after):
    verify(program(*pair, size, after=after), threads=1 + size % 2)


@pytest.mark.sweep
@pytest.mark.parametrize(("pair", "size", "after"), list(zip(HEAVY, cycle(SIZES), cycle((True, False)), strict=False)))
def test_all_that_is_computed_in_vectors_reads_only_what_there_is(pair, size, after):
    verify(program(*pair, size, after=after), threads=1 + size % 2)


@pytest.mark.sweep
@pytest.mark.parametrize("type_", ["f16", "bf16"])
@pytest.mark.parametrize("opcode", ["tanh", "cosine"])
def test_tables_are_looked_up_for_what_there_is(opcode, type_):
    verify(program(opcode, type_, (4 << 16) + 8, after=True), threads=2)


# -- the checks see what they should ----------------------------------------------------------------------------


def shorten(monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    """Have kernels checked as if their operands, or results, were a byte shorter."""
    extents = bounds._extents

    def shorter(built):
        return {
            name: [replace(one, size_bytes=one.size_bytes - one.name.startswith(role)) for one in pointers]
            for name, pointers in extents(built).items()
        }

    monkeypatch.setattr(bounds, "_extents", shorter)


@pytest.mark.parametrize("opcode", EVALUATED)
def test_every_kernel_is_told_of_that_writes_beyond_the_end_of_its_result(opcode, monkeypatch):
    shorten(monkeypatch, "result")
    module = compiler.parse(program_of(opcode))
    executable = compiler.compile(module, options=CHECKED)
    if executable.image.kernels:
        with pytest.raises(OutOfBounds, match="of result 0 of"):
            executable(*draw(module, 0))


@pytest.mark.parametrize("opcode", sorted(scalar.RULES.keys() & set(EVALUATED)))
def test_every_loop_is_told_of_that_reads_beyond_the_end_of_an_operand(opcode, monkeypatch):
    shorten(monkeypatch, "operand")
    module = compiler.parse(program_of(opcode))
    with pytest.raises(OutOfBounds, match=r" = load .*of operand"):
        compiler.compile(module, options=CHECKED)(*draw(module, 0))


FORMS = {
    "masked.gather": """add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
    ENTRY e { x = f32[37,100] parameter(0)  w = f32[100,37] parameter(1)  zero = f32[] constant(0)
      t = f32[100,37] transpose(x), dimensions={1,0}  m = f32[100,37] multiply(t, w)
      ROOT r = f32[100] reduce(m, zero), dimensions={1}, to_apply=add }""",
    "masked.load": """add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
    ENTRY e { x = f32[37] parameter(0)  zero = f32[] constant(0)
      ROOT r = f32[] reduce(x, zero), dimensions={0}, to_apply=add }""",
    "load <": """add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
    ENTRY e { x = f32[64] parameter(0)  zero = f32[] constant(0)
      ROOT r = f32[] reduce(x, zero), dimensions={0}, to_apply=add }""",
}
"""A program by what it reads the last element of an operand with."""


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_access_is_checked(form, monkeypatch):
    shorten(monkeypatch, "operand")
    module = compiler.parse(FORMS[form])
    with pytest.raises(OutOfBounds, match=rf"{form}.*of operand"):
        compiler.compile(module, options=CHECKED)(*draw(module, 0))


def test_programs_kept_on_disk_are_checked_too(tmp_path, monkeypatch):
    shorten(monkeypatch, "operand")
    module = compiler.parse("ENTRY e { x = f32[5] parameter(0)  ROOT y = f32[5] negate(x) }")
    for _ in range(2):
        executable = compiler.compile(module, options=replace(CHECKED, cache=str(tmp_path)))
        with pytest.raises(OutOfBounds, match=r"e_y: .* = load float, .*, of operand x: 4 bytes at byte 16 of 19"):
            executable(np.zeros(5, np.float32))
    assert list(tmp_path.iterdir())


def test_tokens_have_no_arrays_to_be_counted():
    text = """ENTRY e { x = s8[3] parameter(0)  u = token[] parameter(1)  y = s8[9] parameter(2)
      t = token[] after-all()  ROOT r = (token[], s8[3], token[], s8[9]) tuple(t, x, u, y) }"""
    found = compiler.compile(text, options=CHECKED)(np.arange(3, dtype=np.int8), np.arange(9, dtype=np.int8))
    assert [array.tolist() for array in found] == [list(range(3)), list(range(9))]


def test_of_a_copy_both_sides_are_checked_by_bounds_that_callers_give():
    module = Module()
    function = module.function("f", "void", [("ptr", "x"), ("ptr", "y"), ("i64", "n")])
    check = "call i64 @bounds.check_length"
    copy = "  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %v1, i64 {n}, i1 false)"
    function.lines += ["entry:", "  %v1 = getelementptr inbounds i8, ptr %x, i64 8", copy.format(n="%n"), "  ret void"]
    bounds._Checked(module, function, {}, {}).rewrite()
    assert [name for _, name in function.parameters] == ["x", "y", "n", "x.low", "x.high", "y.low", "y.high"]
    assert function.lines[2:5] == [
        f"  %bounds.1 = {check}(ptr %y, i64 %n, i64 %y.low, i64 %y.high, ptr @bounds.site)",
        f"  %bounds.2 = {check}(ptr %v1, i64 %bounds.1, i64 %x.low, i64 %x.high, ptr @bounds.site.2)",
        copy.format(n="%bounds.2"),
    ]


def test_a_form_of_access_that_is_not_known_is_refused():
    module = Module()
    function = module.function("f", "void", [("ptr", "x")])
    function.lines += ["entry:", "  %v1 = atomicrmw add ptr %x, i32 1 seq_cst", "  ret void"]
    with pytest.raises(AssertionError, match="no bounds are known to be checked"):
        bounds._Checked(module, function, {}, {}).rewrite()
