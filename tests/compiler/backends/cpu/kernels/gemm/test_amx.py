"""Products of bf16 and of 8-bit and 16-bit factors on tile registers and in vectors of words, as this machine can."""

import ctypes
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
import x86

from compiler.backends.cpu.kernels.gemm.amx import suits
from compiler.backends.cpu.kernels.gemm.product import Array, Gemm, Narrow, Operand
from compiler.backends.cpu.machine import Machine
from compiler.codegen.llvm import Library, Target, assembly, optimise, parse
from compiler.codegen.llvm_ir import PTR, Module, Value, integer
from tests.compiler.backends.cpu.kernels.products import emit

# Element type of a factor: NumPy, LLVM, and how LLVM converts it to the type of the sums.
KINDS = {
    "bf16": (ml_dtypes.bfloat16, "bfloat", "fpext"),
    "s8": (np.int8, "i8", "sext"),
    "u8": (np.uint8, "i8", "zext"),
    "s16": (np.int16, "i16", "sext"),
}
_VNNI = Target(x86.HOST.triple, "alderlake", "+avx2,+fma,+avxvnni")
_FLAT = Target(x86.HOST.triple, x86.HOST.cpu, ",".join(f for f in x86.HOST.features.split(",") if "amx" not in f))
_TILES = Machine.of(Target("x86_64-unknown-linux-gnu", "sapphirerapids", "+amx-tile,+amx-bf16,+amx-int8", jit=False))
SHAPES = [(16, 16, 16), (17, 33, 67), (32, 32, 64), (45, 70, 131), (64, 96, 128), (33, 300, 18), (96, 64, 640)]


def operand(name, kind, extents, *, transposed, total):
    _, type_, conversion = KINDS[kind]
    rows, columns = extents
    row, column = (1, rows) if transposed else (columns, 1)

    def base(b, batch):
        return b.gep(type_, Value(PTR, f"%{name}"), b.mul(batch, integer(rows * columns)))

    def load(b, batch, i, j):
        return b.load(type_, b.gep(type_, base(b, batch), b.add(b.mul(i, integer(row)), b.mul(j, integer(column)))))

    narrow = Narrow(type_, load, kind != "u8", Array(base, row, column))
    return Operand(lambda b, *where: b.cast(conversion, load(b, *where), total), not transposed, None, narrow)


def product(kinds, shape, *, batch=1, transposed=(False, False), plain=True):
    m, n, k = shape
    total = "float" if kinds[0] == "bf16" else "i32"

    def base(b, index):
        return b.gep(total, Value(PTR, "%out"), b.mul(index, integer(m * n)))

    def store(b, index, i, j, value):
        b.store(value, b.gep(total, base(b, index), b.add(b.mul(i, integer(n)), j)))

    return Gemm(
        *(batch, m, n, k, total),
        lhs=operand("lhs", kinds[0], (m, k), transposed=transposed[0], total=total),
        rhs=operand("rhs", kinds[1], (k, n), transposed=transposed[1], total=total),
        store=store,
        out=Array(base, n, 1) if plain else None,
    )


def factor(kind, shape, seed):
    generator = np.random.default_rng(seed)
    if kind == "bf16":
        return generator.standard_normal(shape).astype(ml_dtypes.bfloat16)
    limits = np.iinfo(KINDS[kind][0])
    return generator.integers(limits.min, limits.max, shape, KINDS[kind][0], endpoint=True)


def check(gemm, kinds, transposed, target=x86.HOST):
    module = Module()
    size = emit(module, "product", gemm, target, [(f"{PTR} noalias", name) for name in ("lhs", "rhs", "out")])
    native = parse(str(module), target, 1)
    optimise(native, target, 1)
    library = Library(native, ["product"], target, 1)
    run = library.function("product", None, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_int64)
    sides = [
        factor(kind, (gemm.batch, *(extents[::-1] if swapped else extents)), seed)
        for seed, (kind, extents, swapped) in enumerate(
            zip(kinds, ((gemm.m, gemm.k), (gemm.k, gemm.n)), transposed, strict=True)
        )
    ]
    left, right = (
        (side.swapaxes(1, 2) if swapped else side).astype(np.float64)
        for side, swapped in zip(sides, transposed, strict=True)
    )
    results = []
    for threads in (1, 2, 3):
        out = np.full((gemm.batch, gemm.m, gemm.n), 77, np.float32 if gemm.type == "float" else np.int32)
        work = np.full(size * threads + 64, 0xFF, np.uint8)
        for thread in range(threads):
            aligned = work.ctypes.data + -work.ctypes.data % 64
            run(sides[0].ctypes.data, sides[1].ctypes.data, out.ctypes.data, aligned, thread, threads)
        results.append(out)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
    if gemm.type == "i32":
        np.testing.assert_array_equal(results[0], (left.astype(np.int64) @ right.astype(np.int64)).astype(np.int32))
        return
    bound = np.finfo(np.float32).eps * (np.sqrt(gemm.k) + 2) * (np.abs(left) @ np.abs(right))
    assert (np.abs(results[0] - left @ right) <= bound).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "kinds", [("bf16", "bf16"), ("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")], ids="-".join
)
def test_products_of_narrow_factors(kinds, shape):
    check(product(kinds, shape), kinds, (False, False))


@pytest.mark.slow
@pytest.mark.parametrize("transposed", [(True, False), (False, True), (True, True)], ids=["tn", "nt", "tt"])
@pytest.mark.parametrize("kind", ["bf16", "s8"])
@pytest.mark.parametrize("plain", [True, False])
def test_transposed_narrow_factors_and_batches(transposed, kind, plain):
    for shape in ((45, 70, 131), (64, 64, 128)):
        gemm = product((kind, kind), shape, batch=2, transposed=transposed, plain=plain)
        check(gemm, (kind, kind), transposed)


@pytest.mark.slow
@pytest.mark.parametrize("target", [x86.SSE2, x86.AVX2, _VNNI, _FLAT], ids=["sse2", "avx2", "avxvnni", "avx512"])
@pytest.mark.parametrize(
    "kinds", [("bf16", "bf16"), ("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8"), ("s16", "s16")], ids="-".join
)
def test_products_of_words_in_vectors_of_every_width(kinds, target):
    x86.require(target)
    for shape, transposed, plain in (
        ((45, 70, 131), (False, False), True),
        ((45, 7, 64), (True, True), False),
        ((9, 100, 4200), (False, True), True),
    ):
        check(product(kinds, shape, transposed=transposed, plain=plain), kinds, transposed, target)


@pytest.mark.parametrize(
    ("kind", "target", "instruction"),
    [
        ("bf16", Target(x86.HOST.triple, "znver4", "+avx512f,+avx512bf16"), "vdpbf16ps"),
        ("u8", Target(x86.HOST.triple, "znver4", "+avx512f,+avx512vnni"), "vpdpbusd"),
        ("s8", _VNNI, "vpdpbusd"),
        ("s8", x86.AVX2, "vpmaddwd"),
        ("s16", x86.SSE2, "pmaddwd"),
    ],
)
def test_word_instructions_are_used_where_there_are_any(kind, target, instruction):
    module = Module()
    emit(module, "product", product((kind, kind), (64, 64, 64)), target, [(PTR, n) for n in ("lhs", "rhs", "out")])
    assert instruction in assembly(parse(str(module), target, 1), target, 1)


def test_small_products_stay_in_vectors():
    for shape in ((1, 64, 64), (64, 15, 64), (64, 64, 8)):
        assert not suits(product(("bf16", "bf16"), shape), _TILES)


def test_the_sums_decide_with_the_factors():
    gemm = product(("s8", "s8"), (64, 64, 64))
    assert suits(gemm, _TILES)
    assert not suits(replace(gemm, type="i64"), _TILES)
    assert not suits(replace(gemm, rhs=product(("bf16", "bf16"), (64, 64, 64)).rhs), _TILES)


@pytest.mark.parametrize(("kind", "instruction"), [("bf16", "tdpbf16ps"), ("s8", "tdpbssd"), ("u8", "tdpbuud")])
def test_tile_instructions_are_used_where_there_are_any(kind, instruction):
    gemm, target = product((kind, kind), (64, 64, 64)), Target.host()
    module = Module()
    emit(module, "product", gemm, target, [(PTR, name) for name in ("lhs", "rhs", "out")])
    assert (instruction in assembly(parse(str(module), target, 1), target, 1)) == bool(suits(gemm, Machine.of(target)))
