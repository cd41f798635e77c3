"""Calls from Python: what is accepted, what is refused and how, and that nothing leaks or is shared."""

import gc
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from compiler.backends.cpu.runtime import entry, layout, memory
from compiler.backends.cpu.runtime.arguments import Leaf
from compiler.backends.cpu.runtime.entry import Entry
from compiler.codegen import llvm, llvm_ir
from compiler.diagnostics import InputError
from tests.compiler.backends.cpu.runtime.phased import emit_program

F32 = np.dtype(np.float32)
PARAMETERS = [("ptr", "parameters"), ("ptr", "results"), ("ptr", "arena"), ("ptr", "team")]
LARGE = 1 << 18
WORK = 1_000_000
THREADS = [1, 2, 3, 4]
I64 = llvm_ir.integer


def begin(module: llvm_ir.Module, name: str) -> tuple[llvm_ir.Builder, list[llvm_ir.Value]]:
    function = module.function(name, "void", PARAMETERS)
    return llvm_ir.Builder(function), function.arguments


def pointer(build: llvm_ir.Builder, array: llvm_ir.Value, index: int) -> llvm_ir.Value:
    return build.load("ptr", build.gep("ptr", array, I64(index)))


def emit_copies(module: llvm_ir.Module, name: str, count: int, size_bytes: int) -> None:
    """Result i is parameter i, byte for byte, by way of nothing else."""
    build, (inputs, outputs, *_) = begin(module, name)
    for index in range(count):
        arguments = [pointer(build, outputs, index), pointer(build, inputs, index), I64(size_bytes)]
        callee = module.declare("llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
        build.call(callee, "void", [*arguments, llvm_ir.Value("i1", "false")])
    build.ret()


def emit_add(module: llvm_ir.Module) -> None:
    build, (inputs, outputs, *_) = begin(module, "add")
    left, right = (build.load("float", pointer(build, inputs, index)) for index in range(2))
    build.store(build.binary("fadd", left, right), pointer(build, outputs, 0))
    build.ret()


def ends(build: llvm_ir.Builder, part: llvm_ir.Value, count: llvm_ir.Value) -> list[llvm_ir.Value]:
    return [build.binary("sdiv", build.mul(end, I64(LARGE)), count) for end in (part, build.add(part, I64(1)))]


def double(build: llvm_ir.Builder, arguments: list[llvm_ir.Value]) -> None:
    inputs, _, arena, _, chunk, count = arguments
    source = pointer(build, inputs, 0)
    with build.loop(*ends(build, chunk, count)) as loop:
        value = build.load("float", build.gep("float", source, loop.index))
        build.store(build.binary("fadd", value, value), build.gep("float", arena, loop.index))


def copy_out(build: llvm_ir.Builder, arguments: list[llvm_ir.Value]) -> None:
    _, outputs, arena, _, chunk, count = arguments
    target = pointer(build, outputs, 0)
    neighbour = build.binary("srem", build.add(chunk, I64(1)), count)
    with build.loop(*ends(build, neighbour, count)) as loop:
        value = build.load("float", build.gep("float", arena, loop.index))
        build.store(value, build.gep("float", target, loop.index))


def emit_doubled(module: llvm_ir.Module) -> None:
    """By way of the arena: each chunk doubles its part there, then copies out the part of its neighbour."""
    for count in THREADS:
        emit_program(module, f"doubled{count}", [double, copy_out], count, work=WORK)


@pytest.fixture(scope="module")
def library() -> llvm.Library:
    module = llvm_ir.Module()
    emit_add(module)
    emit_doubled(module)
    emit_copies(module, "none", 0, 0)
    emit_copies(module, "copy24", 1, 24)
    emit_copies(module, "copy16x4", 16, 4)
    target = llvm.Target.host()
    names = ["add", *(f"doubled{count}" for count in THREADS), "none", "copy24", "copy16x4"]
    return llvm.Library(llvm.parse(str(module), target, 1), names, target, 1)


@pytest.fixture(params=["native", "portable"])
def add(request: pytest.FixtureRequest, library: llvm.Library, monkeypatch: pytest.MonkeyPatch) -> Entry:
    if request.param == "portable":
        monkeypatch.setattr(layout, "layouts_hold", lambda: False)
    return made(library, "add", [Leaf(F32, (), "f32[]")] * 2, [Leaf(F32, ())], release_gil=False)


def made(
    library: llvm.Library, name: str, parameters: Sequence[Leaf], results: Sequence[Leaf], **options: Any
) -> Entry:
    settings = {"arena_bytes": 0, "threads": 1, "keep": library} | options
    return Entry(library.address(name), parameters, results, **settings)


def copier(library: llvm.Library, dtype: Any, shape: tuple[int, ...], text: str = "") -> Entry:
    leaf = Leaf(np.dtype(dtype), shape, text)
    return made(library, "copy24" if leaf.size_bytes else "none", [leaf], [leaf])


def doubler(library: llvm.Library, count: int) -> Entry:
    leaf = Leaf(F32, (LARGE,))
    return made(library, f"doubled{count}", [leaf], [leaf], arena_bytes=4 * LARGE, threads=count, work=WORK)


def scalar(value: float) -> np.ndarray:
    return np.asarray(value, F32)


def test_the_layouts_hold_here() -> None:
    assert layout.layouts_hold()


def test_a_scalar_add_adds(add: Entry) -> None:
    (result,) = add(scalar(2), scalar(3))
    assert (result.shape, result.dtype, float(result)) == ((), F32, 5.0)
    assert type(add.call(scalar(2), scalar(3))) is list


def test_one_array_may_be_passed_twice(add: Entry) -> None:
    same = scalar(4)
    assert add(same, same)[0] == 8


class Subclass(np.ndarray):
    pass


class Wrapper:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return scalar(1.5)


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        np.float32(1.5),
        scalar(1.5).view(Subclass),
        scalar(1.5).astype(">f4"),
        np.asarray(1.5, np.dtype("f4", metadata={"a": 1})),
        np.broadcast_to(scalar(1.5), ()),
        Wrapper(),
    ],
    ids=["float", "generic", "subclass", "swapped", "metadata", "readonly", "protocol"],
)
def test_what_is_a_scalar_by_another_name_is_accepted(add: Entry, value: object) -> None:
    assert add(value, scalar(1))[0] == 2.5
    assert add(scalar(1), value)[0] == 2.5


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((), r"given 0 inputs, the program takes 2: f32\[\], f32\[\]"),
        ((scalar(1),), "given 1 inputs, the program takes 2"),
        ((scalar(1),) * 3, "given 3 inputs, the program takes 2"),
        ((scalar(1), np.float64(1)), r"parameter 1 is f32\[\], given float64\[\]: convert it"),
        ((np.zeros(1, F32), scalar(1)), r"parameter 0 is f32\[\], given float32\[1\]: give it that shape"),
        ((scalar(1), 1j), r"parameter 1 is f32\[\], given 1j: pass a value of that kind"),
        ((scalar(1), True), r"parameter 1 is f32\[\], given True"),
        ((scalar(1), "1"), r"parameter 1 is f32\[\], given <U1\[\]|given str"),
        ((scalar(1), None), r"parameter 1 is f32\[\], given None: pass an array of numbers"),
        ((scalar(1), [[1], [1, 2]]), r"parameter 1 is f32\[\], given \[\[1\], \[1, 2\]\]: pass an array"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(add: Entry, inputs: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        add(*inputs)


def test_keywords_are_refused(library: llvm.Library) -> None:
    with pytest.raises(TypeError):
        made(library, "none", [], []).call(x=1)


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        (np.float32, (2, 3)),
        (np.float64, (3,)),
        (np.complex64, (3, 1)),
        (np.int8, (4, 3, 2)),
        (np.uint64, (1, 3, 1)),
        (np.bool_, (24,)),
        (np.float16, (2, 2, 3)),
        (ml_dtypes.bfloat16, (12,)),
        (ml_dtypes.float8_e4m3fn, (24,)),
        (ml_dtypes.int4, (6, 4)),
    ],
)
def test_every_dtype_passes_in_any_layout(library: llvm.Library, dtype: Any, shape: tuple[int, ...]) -> None:
    copy = copier(library, dtype, shape)
    array = (np.arange(24) % 3)[: np.prod(shape)].astype(dtype).reshape(shape)
    padded = np.zeros((*shape, 3), dtype)
    padded[..., 1] = array
    unaligned = np.frombuffer(b"\1" + array.tobytes(), np.uint8)[1:].view(dtype).reshape(shape)
    readonly = array.copy()
    readonly.flags.writeable = False
    variants = [array, np.asfortranarray(array), padded[..., 1], unaligned, readonly, array[::-1][::-1]]
    for variant in [*variants, array.tolist()] if np.dtype(dtype).kind != "V" else variants:
        (result,) = copy(variant)
        assert (result.dtype, result.shape, result.tobytes()) == (np.dtype(dtype), shape, array.tobytes())


@pytest.mark.parametrize("value", [[-129] + [0] * 23, [128] + [0] * 23, [1 << 70] + [0] * 23, [0.5] + [0] * 23])
def test_python_numbers_out_of_range_are_refused(library: llvm.Library, value: list[float]) -> None:
    with pytest.raises(InputError, match=r"parameter 0 is s8\[24\]"):
        copier(library, np.int8, (24,), "s8[24]")(value)


def test_python_integers_become_floats(library: llvm.Library) -> None:
    assert copier(library, np.float64, (3,))([1, 2, 3])[0].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5, 2)])
def test_empty_arrays_pass(library: llvm.Library, shape: tuple[int, ...]) -> None:
    assert copier(library, np.float32, shape)(np.zeros(shape, F32))[0].shape == shape


def test_a_program_may_take_and_give_nothing(library: llvm.Library) -> None:
    assert made(library, "none", [], [])() == []
    assert made(library, "none", [], [], arena_bytes=100)() == []


def test_results_are_fresh_and_in_order(library: llvm.Library) -> None:
    leaves = [Leaf(F32, ())] * 16
    copy = made(library, "copy16x4", leaves, leaves)
    first = copy(*map(scalar, range(16)))
    second = copy(*map(scalar, range(16, 32)))
    assert [float(value) for value in first + second] == list(range(32))


@pytest.mark.parametrize("count", THREADS)
def test_a_large_program_runs_on_any_number_of_threads(library: llvm.Library, count: int) -> None:
    double = doubler(library, count)
    source = np.arange(LARGE, dtype=F32)
    held = [double(source)[0] for _ in range(3)]
    source += 1
    expected = np.arange(LARGE, dtype=F32) * 2
    assert all(np.array_equal(result, expected) for result in held)
    assert np.array_equal(double(source)[0], expected + 2)


def test_repeated_calls_reuse_memory(library: llvm.Library) -> None:
    double = doubler(library, 2)
    source = np.ones(LARGE, F32)
    places = [double(source)[0].ctypes.data for _ in range(20)]
    before = memory.statistics()
    assert places == places[:1] * 20
    assert double(source)[0][-1] == 2
    after = memory.statistics()
    assert (after.mapped_bytes, after.blocks_in_use) == (before.mapped_bytes, before.blocks_in_use)


@pytest.mark.parametrize("count", [1, 2])
def test_thirty_two_threads_call_at_once(library: llvm.Library, count: int) -> None:
    double = doubler(library, count)
    wrong: list[int] = []

    def call(number: int) -> None:
        source = np.full(LARGE, number, F32)
        for _ in range(4):
            (result,) = double(source)
            if not np.array_equal(result, source + source):
                wrong.append(number)

    before = memory.statistics().blocks_in_use
    callers = [threading.Thread(target=call, args=(number,)) for number in range(32)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert (wrong, memory.statistics().blocks_in_use) == ([], before)


@pytest.mark.slow
def test_calls_leak_nothing(library: llvm.Library) -> None:
    leaves = [Leaf(F32, ())] * 16
    copy = made(library, "copy16x4", leaves, leaves)
    values = [scalar(value) for value in range(16)]
    gc.collect()
    references = sys.getrefcount(F32), sys.getrefcount(values[0])

    def growth() -> int:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            copy(*values)
            with suppress(InputError):
                copy(*values[1:])
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before

    tracemalloc.start()
    try:
        # A leak of one object per call would be 6400 bytes every time.
        assert min(growth() for _ in range(4)) < 2000
    finally:
        tracemalloc.stop()
    after = sys.getrefcount(F32), sys.getrefcount(values[0])
    assert all(now <= before for now, before in zip(after, references, strict=True))


def test_the_callable_keeps_the_code_and_lets_it_go(library: llvm.Library) -> None:
    class Owner:
        pass

    owner = Owner()
    watch = weakref.ref(owner)
    call = made(library, "add", [Leaf(F32, ())] * 2, [Leaf(F32, ())], keep=owner).call
    del owner
    assert watch() is not None
    assert call(1.0, 2.0)[0] == 3
    del call
    assert watch() is None


def test_no_memory_for_a_result_or_the_arena_is_a_memory_error(library: llvm.Library) -> None:
    before = memory.statistics().blocks_in_use
    huge = Leaf(np.dtype(np.int8), (1 << 50,))
    with pytest.raises(MemoryError):
        made(library, "none", [], [Leaf(F32, (LARGE,)), huge])()
    with pytest.raises(MemoryError):
        made(library, "none", [], [Leaf(F32, (LARGE,))], arena_bytes=1 << 50)()
    assert memory.statistics().blocks_in_use == before


@pytest.mark.slow
def test_programs_made_and_dropped_leak_nothing(library: llvm.Library) -> None:
    def growth(count: int) -> int:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(count):
            made(library, "add", [Leaf(F32, ())] * 2, [Leaf(F32, ())])(1.0, 2.0)
        return tracemalloc.get_traced_memory()[0] - before

    gc.disable()  # Nothing of a program may wait for the collector: it may own much memory.
    tracemalloc.start()
    try:
        growth(2500)  # CPython keeps up to 2000 dead tuples of each length.
        assert min(growth(100) for _ in range(4)) < 2000
    finally:
        tracemalloc.stop()
        gc.enable()


def test_the_builtin_is_one_for_all_programs(library: llvm.Library) -> None:
    assert entry._native() is entry._native()
    assert type(made(library, "none", [], []).call) is type(len)
