"""Generated matrix products against NumPy in float64 (or exact integers), in memory that ends at a protected page."""

import ctypes
import mmap
from dataclasses import dataclass, replace

import numpy as np
import pytest
import x86

from compiler.backends.cpu.kernels.gemm.plan import plan
from compiler.backends.cpu.kernels.gemm.product import Array, Gemm, Operand
from compiler.backends.cpu.machine import Machine
from compiler.codegen.llvm import Library, Target, assembly, optimise, parse
from compiler.codegen.llvm_ir import PTR, Module, Value, floating, integer
from compiler.diagnostics import UnsupportedError
from tests.compiler.backends.cpu.kernels.products import emit

LLVM_TYPES = {"f4": "float", "f8": "double", "i4": "i32", "i8": "i64", "i1": "i8"}
_CANARY = 0xA5
_NO_ACCESS = 0


@dataclass(frozen=True)
class Case:
    """A product and how its factors lie in memory."""

    m: int
    n: int
    k: int
    batch: int = 1
    dtype: str = "f4"
    lhs_transposed: bool = False
    rhs_transposed: bool = False
    lhs_dtype: str = ""
    plain: bool = True
    bias_and_relu: bool = False
    target: Target = x86.HOST
    opt: int = 1


def guarded(array):
    """A copy that ends where a page that must not be touched begins, and the canary bytes before it."""
    page = mmap.PAGESIZE
    size = array.nbytes
    room = page + -(-size // page) * page
    memory = mmap.mmap(-1, room + page)
    whole = np.frombuffer(memory, np.uint8)
    whole[:] = _CANARY
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(whole.ctypes.data + room), page, _NO_ACCESS) == 0
    view = whole[room - size : room].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view, whole[: room - size]


def operand(name, case, extents, *, transposed, dtype):
    """A factor that lies row-major, or as its transpose, one batch after another."""
    rows, columns = extents
    kind, result = LLVM_TYPES[dtype], LLVM_TYPES[case.dtype]
    row, column = (1, rows) if transposed else (columns, 1)

    def base(b, batch):
        return b.gep(kind, Value(PTR, f"%{name}"), b.mul(batch, integer(rows * columns)))

    def load(b, batch, i, j):
        offset = b.add(b.mul(i, integer(row)), b.mul(j, integer(column)))
        value = b.load(kind, b.gep(kind, base(b, batch), offset))
        return value if kind == result else b.cast("sitofp" if result in ("float", "double") else "sext", value, result)

    plain = case.plain and kind == result
    return Operand(load, not transposed, Array(base, row, column) if plain else None)


def described(case):
    """The product of parameters `lhs` and `rhs` into `out`, with `bias` added per column where asked for."""
    kind = LLVM_TYPES[case.dtype]

    def base(b, batch):
        return b.gep(kind, Value(PTR, "%out"), b.mul(batch, integer(case.m * case.n)))

    def store(b, batch, i, j, value):
        if case.bias_and_relu:
            value = b.binary("fadd", value, b.load(kind, b.gep(kind, Value(PTR, "%bias"), j)))
            value = b.select(b.compare("ogt", value, floating(0.0, kind)), value, floating(0.0, kind))
        b.store(value, b.gep(kind, base(b, batch), b.add(b.mul(i, integer(case.n)), j)))

    return Gemm(
        *(case.batch, case.m, case.n, case.k, kind),
        lhs=operand("lhs", case, (case.m, case.k), transposed=case.lhs_transposed, dtype=case.lhs_dtype or case.dtype),
        rhs=operand("rhs", case, (case.k, case.n), transposed=case.rhs_transposed, dtype=case.dtype),
        store=store,
        out=Array(base, case.n, 1) if case.plain and not case.bias_and_relu else None,
    )


def compiled(case):
    module = Module()
    names = [(f"{PTR} noalias", name) for name in ("lhs", "rhs", "bias", "out")]
    size = emit(module, "product", described(case), case.target, names)
    native = parse(str(module), case.target, case.opt)
    optimise(native, case.target, case.opt)
    library = Library(native, ["product"], case.target, case.opt)
    pointers = [ctypes.c_void_p] * 5
    return library, library.function("product", None, *pointers, ctypes.c_int64, ctypes.c_int64), size


def random(shape, dtype, seed):
    generator = np.random.default_rng(seed)
    if dtype in ("f4", "f8"):
        return generator.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def factors(case):
    """Both factors as they lie in memory, and as (batch, m, k) and (batch, k, n) views."""
    lhs = random(
        (case.batch, case.k, case.m) if case.lhs_transposed else (case.batch, case.m, case.k),
        case.lhs_dtype or case.dtype,
        1,
    )
    rhs = random((case.batch, case.n, case.k) if case.rhs_transposed else (case.batch, case.k, case.n), case.dtype, 2)
    left = lhs.swapaxes(1, 2) if case.lhs_transposed else lhs
    right = rhs.swapaxes(1, 2) if case.rhs_transposed else rhs
    return lhs, rhs, left, right


def computed(case, run, size, threads):
    """The product as `threads` threads compute it one after the other; checks that nothing else is written."""
    lhs, rhs, _, _ = factors(case)
    arrays = (
        lhs,
        rhs,
        random(case.n, "f4", 3).astype(case.dtype),
        np.full((case.batch, case.m, case.n), 77, case.dtype),
    )
    guards = [guarded(array) for array in (*arrays, np.full(size * threads, 0xFF, np.uint8))]
    for thread in range(threads):
        run(*(view.ctypes.data for view, _ in guards), thread, threads)
    for (view, _), given in zip(guards[:3], arrays[:3], strict=True):
        np.testing.assert_array_equal(view, given)
    assert all((before == _CANARY).all() for _, before in guards)
    return guards[3][0].copy()


def check(case):
    _library, run, size = compiled(case)
    one, two, three = (computed(case, run, size, threads) for threads in (1, 2, 3))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, three)
    _, _, left, right = factors(case)
    if case.dtype in ("i4", "i8"):
        np.testing.assert_array_equal(one, left.astype(case.dtype) @ right.astype(case.dtype))
        return
    left, right = left.astype("f8"), right.astype("f8")
    expected, bound = left @ right, np.abs(left) @ np.abs(right)
    if case.bias_and_relu:
        expected = np.maximum(expected + random(case.n, "f4", 3), 0)
    allowed = np.finfo(case.dtype).eps * (np.sqrt(case.k) + 2) * (bound + 1)
    assert (np.abs(one - expected) <= allowed).all()


SHAPES = [
    (1, 1, 1), (1, 1, 40), (1, 5, 3), (5, 1, 3), (2, 3, 4), (3, 300, 17), (300, 3, 17), (4, 70, 33), (5, 7, 6),
    (6, 64, 9), (7, 65, 16), (13, 15, 31), (14, 32, 1), (15, 33, 2), (16, 16, 16), (17, 10, 100), (27, 48, 20),
    (29, 31, 530), (31, 130, 64), (64, 64, 64), (100, 10, 784), (1, 1100, 70), (129, 257, 15), (40, 300, 520),
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_of_plain_arrays(shape):
    check(Case(*shape))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_through_packing_and_epilogue(shape):
    check(Case(*shape, plain=False, bias_and_relu=True))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_epilogues_over_sums_kept_in_the_result(shape):
    check(Case(*shape, bias_and_relu=True))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("transposed", [(True, False), (False, True), (True, True)], ids=["tn", "nt", "tt"])
def test_transposed_factors(shape, transposed):
    check(Case(*shape, lhs_transposed=transposed[0], rhs_transposed=transposed[1], opt=0))


@pytest.mark.parametrize("target", [x86.SSE2, x86.AVX2], ids=["sse2", "avx2"])
@pytest.mark.parametrize("case", [
    Case(50, 70, 40), Case(13, 29, 300, rhs_transposed=True), Case(61, 45, 520, plain=False), Case(9, 9, 9, dtype="f8"),
    Case(1, 100, 30), Case(100, 1, 30), Case(33, 21, 10, dtype="i4"),
])  # fmt: skip
def test_narrower_vectors(case, target):
    x86.require(target)
    check(replace(case, target=target))


@pytest.mark.parametrize("case", [
    Case(50, 8, 300), Case(97, 10, 531), Case(60, 20, 500, rhs_transposed=True), Case(31, 17, 333, rhs_transposed=True),
    Case(60, 7, 500, batch=3), Case(9, 300, 200, rhs_transposed=True), Case(90, 9, 397, dtype="f8", bias_and_relu=True),
    Case(90, 5, 300, rhs_transposed=True, target=x86.AVX2), Case(5, 90, 200, rhs_transposed=True, target=x86.AVX2),
    Case(50, 5, 300, target=x86.SSE2), Case(50, 3, 300, dtype="f8", target=x86.SSE2),
])  # fmt: skip
def test_few_columns_are_summed_along_vectors_of_k(case):
    if case.target is not x86.HOST or x86.HOST.has("avx512f"):
        assert plan(described(case), Machine.of(case.target)).form == "dot"
    x86.require(case.target)
    check(case)


@pytest.mark.parametrize("dtype", ["f8", "i4", "i8"])
@pytest.mark.parametrize("shape", [(1, 30, 40), (30, 1, 40), (3, 3, 3), (13, 29, 30), (40, 50, 300)], ids=str)
def test_other_accumulation_types(shape, dtype):
    check(Case(*shape, dtype=dtype))
    check(Case(*shape, dtype=dtype, rhs_transposed=True, plain=False))


@pytest.mark.parametrize("case", [
    Case(33, 40, 70, lhs_dtype="i1"), Case(33, 40, 600, lhs_dtype="i1", lhs_transposed=True),
    Case(20, 30, 40, dtype="i4", lhs_dtype="i1"), Case(100, 2, 64, lhs_dtype="i1", bias_and_relu=True),
    Case(2, 100, 64, lhs_dtype="i1"),
])  # fmt: skip
def test_conversions_are_fused_into_packing(case):
    check(case)


@pytest.mark.parametrize("case", [
    Case(4, 5, 6, batch=7), Case(1, 20, 30, batch=3), Case(20, 1, 30, batch=3), Case(40, 70, 20, batch=2),
    Case(20, 40, 70, batch=5, rhs_transposed=True, bias_and_relu=True), Case(1, 1, 1, batch=9),
    Case(2, 500, 9, batch=2, plain=False),
])  # fmt: skip
def test_batches(case):
    check(case)


@pytest.mark.parametrize("shape", [(3, 4, 0), (30, 40, 0), (0, 4, 5), (4, 0, 5), (0, 0, 0), (1, 1, 0)], ids=str)
@pytest.mark.parametrize("bias_and_relu", [False, True])
def test_empty_extents(shape, bias_and_relu):
    check(Case(*shape, bias_and_relu=bias_and_relu))


@pytest.mark.slow
@pytest.mark.parametrize("case", [
    Case(200, 300, 1100), Case(150, 600, 1100, plain=False, bias_and_relu=True), Case(300, 100, 700, dtype="f8"),
    Case(1, 3000, 500), Case(700, 1, 3000), Case(96, 1100, 64, rhs_transposed=True),
])  # fmt: skip
def test_blocked_products_at_full_optimisation(case):
    check(replace(case, opt=3))


@pytest.mark.slow
@pytest.mark.parametrize("threads", [5, 16])
def test_more_threads_than_work_change_no_bit(threads):
    for case in (Case(3, 5, 7), Case(40, 300, 50), Case(20, 20, 20, batch=3), Case(2, 200, 10)):
        _library, run, size = compiled(case)
        np.testing.assert_array_equal(computed(case, run, size, 1), computed(case, run, size, threads))


def test_special_values_travel_through_unpadded_lanes_only():
    case = Case(17, 19, 23)
    _library, run, size = compiled(case)
    lhs, rhs = np.ones((17, 23), "f4"), np.ones((23, 19), "f4")
    lhs[4, 5], rhs[7, 18], lhs[16, 0] = np.nan, np.inf, -np.inf
    out = np.zeros((17, 19), "f4")
    work = np.zeros(size + 64, np.uint8)
    aligned = work.ctypes.data + -work.ctypes.data % 64
    run(lhs.ctypes.data, rhs.ctypes.data, 0, out.ctypes.data, aligned, 0, 1)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(out, lhs @ rhs)


def test_arm_uses_fused_vector_instructions():
    target = Target("aarch64-unknown-linux-gnu", "generic", "+neon")
    module = Module()
    names = [(PTR, name) for name in ("lhs", "rhs", "bias", "out")]
    emit(module, "product", described(Case(60, 60, 60)), target, names)
    native = parse(str(module), target, 2)
    optimise(native, target, 2)
    assert "fmla" in assembly(native, target, 2)


def test_an_unknown_accumulation_type_is_named():
    gemm = replace(described(Case(2, 2, 2)), type="half")
    with pytest.raises(UnsupportedError, match=r"accumulation in half .*known are float, double, i32, i64"):
        plan(gemm, Machine.of(Target.host()))
