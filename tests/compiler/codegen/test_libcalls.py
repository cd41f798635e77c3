"""No code calls what neither it nor the C library defines, whatever op, type, level and CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest
import x86
from every_type import packed

import compiler
from compiler.backends.cpu import image, program
from compiler.backends.cpu.machine import Machine
from compiler.backends.cpu.machines import target_for
from compiler.codegen import elf, libcalls, llvm
from compiler.ir.module import Module
from compiler.ir.types import PRED, TYPES, ElementType, Kind
from compiler.pipeline import PIPELINES
from compiler.pipeline import run as run_passes

TARGETS = {
    "host": x86.HOST,
    "sse2": x86.SSE2,
    "avx2": x86.AVX2,
    "x86-64-v2": target_for("x86_64", "x86-64-v2"),
    "x86-64-v3": target_for("x86_64", "x86-64-v3"),
    "x86-64-v4": target_for("x86_64", "x86-64-v4"),
    "aarch64": target_for("aarch64"),
    "neoverse-v1": target_for("aarch64", "neoverse-v1"),
}
NUMBERS = {name: row for name, row in TYPES.items() if row.kind is not Kind.OPAQUE}
OFTEN = {("f16", "sse2", 0), ("f16", "host", 3), ("u64", "sse2", 3), ("f64", "x86-64-v2", 1), ("bf16", "aarch64", 2)}
SIGNS = """ENTRY e { x = f16[9,9,9] parameter(0) y = f16[9,9,9] parameter(1) m = f16[9,9,9] minimum(x, y)
  a = f16[9,9,9] abs(m) t = f16[9,9,9] tan(a) ROOT r = f16[9,9,9] remainder(t, a) }"""
"""A half with the sign of what was rounded from a double."""


def objects(module: Module, target: llvm.Target, opt: int) -> list[bytes]:
    """The object files of a program."""
    options = compiler.CompileOptions(opt=opt)
    prepared = module.clone()
    run_passes(prepared, PIPELINES["compile"], options)
    return llvm.compile_all(image.sources(program.build(prepared, Machine.of(target), 2), opt), target, opt, threads=1)


def check(module: Module, target: llvm.Target, opt: int) -> None:
    elf.check_symbols(objects(module, target, opt), libcalls.C_LIBRARY.__contains__)


def cells() -> list[object]:
    every = ((name, target, opt) for name in NUMBERS for target in TARGETS for opt in range(4))
    return [pytest.param(*cell, marks=[] if cell in OFTEN else pytest.mark.sweep) for cell in every]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "target", "opt"), cells())
def test_ops_of_a_type_call_nothing_but_the_c_library(name: str, target: str, opt: int) -> None:
    row = NUMBERS[name]
    pairs: Sequence[Sequence[ElementType]] = [[row], [PRED, row]]
    for types in pairs:
        check(packed(types, (300,)), TARGETS[target], opt)


def chained(first: str, name: str, count: int = 9) -> Module:
    """What each op makes of the result of one, and of a number."""
    ops = ("remainder", "sign", "negate", "abs", "round-nearest-even", "round-nearest-afz", "floor", "ceil", "power",
           "atan2", "maximum", "tan", "tanh", "divide")  # fmt: skip
    shape = f"{name}[{count}]"
    lines = [
        f"r{number} = {shape} {opcode}({'t, x' if compiler.ops.OPS[opcode].operands[0] == 2 else 't'})"
        for number, opcode in enumerate(ops)
    ]
    results = ", ".join(f"r{number}" for number in range(len(ops)))
    return compiler.parse(
        f"ENTRY e {{ x = {shape} parameter(0) t = {shape} {first}(x) {' '.join(lines)}"
        f" ROOT t2 = ({', '.join([shape] * len(ops))}) tuple({results}) }}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("target", ["host", "sse2", "x86-64-v3"])
@pytest.mark.parametrize(
    "opcode", ["tan", pytest.param("sine", marks=pytest.mark.sweep), pytest.param("remainder", marks=pytest.mark.sweep)]
)
def test_halves_made_of_doubles_are_passed_on(opcode: str, target: str) -> None:
    module = chained("tan" if opcode == "remainder" else opcode, "f16")
    check(module, TARGETS[target], 2)


@pytest.mark.slow
@pytest.mark.parametrize("opt", range(4))
def test_a_half_may_take_the_sign_of_a_double(opt: int) -> None:
    module = compiler.parse(SIGNS)
    given = compiler.inputs.draw(module, 0)
    (result,) = compiler.compile(module, options=compiler.CompileOptions(opt=opt))(*given)
    (expected,) = compiler.interpret(module, *given)
    np.testing.assert_array_equal(result.view(np.uint16), expected.view(np.uint16))
    compiler.compile_ahead(module, "x86_64", "x86-64-v3", compiler.CompileOptions(opt=opt))


def converted(symbol: str, source: str, target: str, values: np.ndarray, result: type) -> np.ndarray:
    """What a function here makes of values, called for each."""
    kinds = {np.float16: "half", np.float32: "float", np.float64: "double"}
    text = (
        libcalls.definitions([symbol])
        + f"""
define void @all(ptr %from, ptr %to, i64 %count) {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %more, %next ]
  %at = getelementptr {source}, ptr %from, i64 %i
  %x = load {source}, ptr %at
  %y = call {target} @{symbol}({source} %x)
  %to.at = getelementptr {target}, ptr %to, i64 %i
  store {target} %y, ptr %to.at
  %more = add i64 %i, 1
  %done = icmp eq i64 %more, %count
  br i1 %done, label %end, label %next
end:
  ret void
}}"""
    )
    assert kinds[result] == target
    library = llvm.Library(
        llvm.compile_all([llvm.Source(text, has_loops=False)], x86.HOST, 2, threads=1), ["all"], x86.HOST, 2
    )
    results = np.empty(values.shape, result)
    function = library.function("all", None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    function(values.ctypes.data, results.ctypes.data, values.size)
    return results


def same(got: np.ndarray, expected: np.ndarray) -> None:
    """The same bits, and where there is no number none, with the sign."""
    nan = np.isnan(expected)
    assert (np.isnan(got) == nan).all()
    assert (np.signbit(got) == np.signbit(expected)).all()
    np.testing.assert_array_equal(got[~nan], expected[~nan])


def test_every_half_becomes_the_float_that_it_is() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    same(converted("__extendhfsf2", "half", "float", halves, np.float32), halves.astype(np.float32))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("symbol", "source", "dtype"), [("__truncsfhf2", "float", np.float32), ("__truncdfhf2", "double", np.float64)]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_number_becomes_the_nearest_half(symbol: str, source: str, dtype: type) -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    exact = halves[np.isfinite(halves)].astype(dtype)
    middle = (exact + np.nextafter(exact.astype(np.float16), np.float16(np.inf)).astype(dtype)) / 2
    random = np.random.default_rng(0).integers(0, 1 << 63, 1 << 16, np.uint64).view(np.float64).astype(dtype)
    values = np.concatenate([exact, middle, random, halves.astype(dtype), [np.finfo(dtype).max, np.finfo(dtype).tiny]])
    values = np.concatenate([values, np.nextafter(values, dtype(np.inf)), np.nextafter(values, dtype(-np.inf))])
    values = np.concatenate([values, -values]).astype(dtype)
    same(converted(symbol, source, "half", values, np.float16), values.astype(np.float16))


def test_only_what_is_known_here_is_defined() -> None:
    assert libcalls.definitions(["memcpy", "fma", "nobody.has.it"]) == ""
    assert not libcalls.FUNCTIONS.keys() & libcalls.C_LIBRARY


@pytest.mark.parametrize("symbol", libcalls.FUNCTIONS)
def test_what_goes_into_the_code_is_seen_there_only(symbol: str) -> None:
    text = libcalls.definitions([symbol])
    for target in (x86.SSE2, target_for("aarch64")):
        names = elf.names(llvm.compile_all([llvm.Source(text, has_loops=False)], target, 3, threads=1)[0])
        assert (names.defined, names.undefined) == (frozenset(), {})
