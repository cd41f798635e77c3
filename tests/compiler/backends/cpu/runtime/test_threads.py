"""The pool: workers help where they are running, nobody waits for one that is not, and it survives fork and exit."""

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from compiler.backends.cpu.runtime import threads
from compiler.codegen import llvm, llvm_ir
from compiler.codegen.llvm_ir import Builder, Value, integer
from compiler.diagnostics import InputError, UnsupportedError
from tests.compiler.backends.cpu.runtime.phased import emit_program

ROUNDS = 200
MASK = (1 << 32) - 1
COUNTS = [1, 2, 3, 4]
LONG = 1_000_000
"""Work in ns that workers are woken for."""
MANY = 3_000_000
"""Looks at a word, which take some milliseconds."""


def new_cells(build: Builder, arguments: list[Value]) -> None:
    """Each chunk's new cell is 3 x (sum of all cells) + its number + how many there are."""
    cells, new, _, _, chunk, count = arguments
    zero = integer(0)
    with build.loop(zero, count, carried=[zero], nonempty=True) as loop:
        loop.carry(build.binary("add", loop.carried[0], build.load("i64", build.gep("i64", cells, loop.index))))
    tripled = build.binary("mul", loop.results[0], integer(3))
    value = build.binary("add", build.binary("add", tripled, chunk), count)
    build.store(build.binary("and", value, integer(MASK)), build.gep("i64", new, chunk))


def keep_cells(build: Builder, arguments: list[Value]) -> None:
    cells, new, _, _, chunk, _ = arguments
    build.store(build.load("i64", build.gep("i64", new, chunk)), build.gep("i64", cells, chunk))


def meet(build: Builder, arguments: list[Value]) -> None:
    """Count up `parameters[0]` and spin until `parameters[1]` is set: chunks that end when told to."""
    build.emit("i64", f"atomicrmw add {arguments[0]}, i64 1 seq_cst")
    flag = build.gep("i64", arguments[0], integer(1))
    build.branch("look")
    build.begin("look")
    seen = build.emit("i64", f"load atomic i64, {flag} acquire, align 8")
    build.branch_if(build.compare("ne", seen, integer(0)), "done", "look")
    build.begin("done")


def number_of_chunks(build: Builder, arguments: list[Value]) -> None:
    """Each chunk's cell is how many there are."""
    cells, _, _, _, chunk, count = arguments
    build.store(count, build.gep("i64", cells, chunk))


def when_done(build: Builder, arguments: list[Value]) -> None:
    """Each chunk's cell is how many were done before it; behind all is how many were."""
    cells, _, _, _, chunk, count = arguments
    done = build.emit("i64", f"atomicrmw add {build.gep('i64', cells, count)}, i64 1 seq_cst")
    build.store(done, build.gep("i64", cells, chunk))


def last_late(build: Builder, arguments: list[Value]) -> None:
    """The last chunk says that it has begun and goes on for long; the others end when it has, or after as long."""
    cell, (chunk, count) = arguments[0], arguments[-2:]
    is_last = build.compare("eq", build.add(chunk, integer(1)), count)
    with build.when(is_last, "last"):
        build.emit("i64", f"atomicrmw add {cell}, i64 1 seq_cst")
    looks = build.emit("ptr", "alloca i64")
    build.store(integer(0), looks)
    build.branch("look")
    build.begin("look")
    number = build.add(build.load("i64", looks), integer(1))
    build.store(number, looks)
    begun = build.compare("ne", build.emit("i64", f"load atomic i64, {cell} acquire, align 8"), integer(0))
    is_over = build.compare("sge", number, integer(MANY))
    others_end = build.select(is_last, is_over, begun)
    build.branch_if(build.binary("or", is_over, others_end), "end", "look")
    build.begin("end")


@pytest.fixture(scope="module")
def library() -> llvm.Library:
    module = llvm_ir.Module()
    for count in COUNTS:
        emit_program(module, f"rounds{count}", [new_cells, keep_cells], count, times=ROUNDS)
    emit_program(module, "meet", [meet], 2)
    emit_program(module, "counted", [number_of_chunks], 2, most=4, work=LONG)
    emit_program(module, "ordered", [when_done], 2, most=4, work=LONG)
    emit_program(module, "uneven", [last_late], 2, most=4, work=LONG)
    target = llvm.Target.host()
    return llvm.Library(
        llvm.parse(str(module), target, 1),
        [*(f"rounds{count}" for count in COUNTS), "meet", "counted", "ordered", "uneven"],
        target,
        1,
    )


@pytest.fixture(scope="module")
def pool() -> Iterator[threads.Pool]:
    """A pool of more workers than some machines have cores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "available", lambda: 4)
        pool = threads.new_pool()
        pool.ensure(4)
        yield pool


def expected_rounds(count: int) -> list[int]:
    cells = [0] * count
    for _ in range(ROUNDS):
        total = sum(cells)
        cells = [(3 * total + chunk + count) & MASK for chunk in range(count)]
    return cells


def run_rounds(pool: threads.Pool, library: llvm.Library, count: int, work: int = LONG) -> list[int]:
    cells, new = (ctypes.c_int64 * 4)(), (ctypes.c_int64 * 4)()
    given, made = ctypes.addressof(cells), ctypes.addressof(new)
    pool.run(library.address(f"rounds{count}"), given, made, 0, threads=count, work=work)
    return list(cells)


def padded(count: int) -> list[int]:
    return expected_rounds(count) + [0] * (4 - count)


ALONE = [padded(1)]
"""What a program gives whose phases are one chunk each, as a caller runs them that has no team."""


@pytest.mark.parametrize("count", COUNTS)
def test_no_phase_begins_before_the_last_has_ended(pool: threads.Pool, library: llvm.Library, count: int) -> None:
    for _ in range(5):
        assert run_rounds(pool, library, count) in [padded(count), *ALONE]


@pytest.mark.parametrize("count", COUNTS)
def test_eager_callers_share_every_phase(pool: threads.Pool, library: llvm.Library, count: int) -> None:
    with pool.eager():
        assert run_rounds(pool, library, count, work=0) == padded(count)


def test_chunks_are_done_backwards_by_the_caller_alone(pool: threads.Pool, library: llvm.Library) -> None:
    with pool.backwards(), pool.eager():
        assert run_counted(pool, library) == [4, 4, 4, 4]
        cells = (ctypes.c_int64 * 5)()
        pool.run(library.address("ordered"), ctypes.addressof(cells), 0, 0, threads=2, work=LONG)
        assert list(cells) == [3, 2, 1, 0, 4]


def test_callers_that_come_and_go_in_any_order_leave_no_manner_behind(pool: threads.Pool) -> None:
    eager = ctypes.c_int32.from_address(pool._library.address("eager"))
    first, second = pool.eager(), pool.backwards()
    first.__enter__()
    second.__enter__()
    assert eager.value == 2
    first.__exit__(None, None, None)
    assert eager.value == 2
    second.__exit__(None, None, None)
    assert eager.value == 0


def run_counted(pool: threads.Pool, library: llvm.Library) -> list[int]:
    cells = (ctypes.c_int64 * 4)()
    pool.run(library.address("counted"), ctypes.addressof(cells), 0, 0, threads=2, work=LONG)
    return list(cells)


def held_up(pool: threads.Pool) -> ctypes.c_int64:
    """How many phases more are cut finely."""
    return ctypes.c_int64.from_address(pool._library.address("held_up"))


def test_phases_are_cut_finely_where_threads_are_held_up(pool: threads.Pool, library: llvm.Library) -> None:
    held_up(pool).value = 0
    assert run_counted(pool, library) in [[2, 2, 0, 0], [1, 0, 0, 0]], "1 while the team rests"
    held_up(pool).value = 1
    assert run_counted(pool, library) in [[4, 4, 4, 4], [1, 0, 0, 0], [2, 2, 0, 0]]
    with pool.eager():
        assert run_counted(pool, library) == [4, 4, 4, 4]


def test_who_waits_for_long_is_held_up(pool: threads.Pool, library: llvm.Library) -> None:
    held_up(pool).value = 0
    cells = (ctypes.c_int64 * 4)()
    for _ in range(100):
        cells[0] = 0
        pool.run(library.address("uneven"), ctypes.addressof(cells), 0, 0, threads=2, work=LONG)
        if held_up(pool).value:
            return
        time.sleep(0.01)  # a team that rests goes on after a while
    pytest.fail("the caller waited, and did not notice")


def test_short_programs_wake_nobody(pool: threads.Pool, library: llvm.Library) -> None:
    fall_asleep(pool)
    assert run_rounds(pool, library, 2, work=0) == ALONE[0]


def test_short_programs_soon_after_each_other_do(pool: threads.Pool, library: llvm.Library) -> None:
    fall_asleep(pool)
    cells, new = (ctypes.c_int64 * 4)(), (ctypes.c_int64 * 4)()
    run = threads._RUN_TYPE(pool.run_address)
    arguments = library.address("rounds2"), ctypes.addressof(cells), ctypes.addressof(new), 0, 2, 20_000
    found = []
    for _ in range(1000):
        cells[:] = 0, 0, 0, 0
        run(*arguments)
        found.append(cells[1])
    assert padded(2)[1] in found, "one chunk writes one cell"


def fall_asleep(pool: threads.Pool) -> None:
    """Wait until all workers sleep, and a rest is over."""
    sleepers = ctypes.c_int32.from_address(pool._library.address("sleepers"))
    time.sleep(0.1)
    while sleepers.value < pool.workers:
        time.sleep(0.01)


def test_workers_that_fell_asleep_wake_up(pool: threads.Pool, library: llvm.Library) -> None:
    with pool.eager():
        for _ in range(5):
            fall_asleep(pool)
            assert run_rounds(pool, library, 2, work=0) == padded(2)


def test_a_busy_pool_makes_nobody_wait(pool: threads.Pool, library: llvm.Library) -> None:
    state = (ctypes.c_int64 * 2)()
    arguments = (library.address("meet"), ctypes.addressof(state), 0, 0)
    with pool.eager():
        first = threading.Thread(target=pool.run, args=arguments, kwargs={"threads": 2, "work": 0})
        first.start()
        while state[0] < 2:
            pass
        assert run_rounds(pool, library, 2) == ALONE[0]
        state[1] = 1
        first.join()
        assert run_rounds(pool, library, 2) == padded(2)


def test_nobody_waits_for_a_worker_that_does_not_come(pool: threads.Pool, library: llvm.Library) -> None:
    fall_asleep(pool)
    state = (ctypes.c_int64 * 2)(0, 1)
    for _ in range(1000):
        pool.run(library.address("meet"), ctypes.addressof(state), 0, 0, threads=2, work=0)
    assert state[0] == 1000, "each program was one chunk"


@pytest.mark.parametrize("eager", [False, True])
def test_many_python_threads_call_at_once(pool: threads.Pool, library: llvm.Library, *, eager: bool) -> None:
    outcomes: list[bool] = []

    def call() -> None:
        outcomes.append(all(run_rounds(pool, library, 3) in [padded(3), *ALONE] for _ in range(20)))

    callers = [threading.Thread(target=call) for _ in range(32)]
    with pool.eager() if eager else nullcontext():
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert outcomes == [True] * 32


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_starts_its_own_pool(pool: threads.Pool, library: llvm.Library) -> None:
    with pool.eager():
        run_rounds(pool, library, 3)
        child = os.fork()
        if child == 0:
            fresh = pool.workers == 0
            right = run_rounds(pool, library, 2) == padded(2) and pool.workers == 1
            os._exit(0 if fresh and right else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert run_rounds(pool, library, 3) == padded(3)


@pytest.mark.parametrize("available", [1, 2, 3])
def test_there_are_no_more_workers_than_cores_besides_the_callers(
    available: int, library: llvm.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "available", lambda: available)
    pool = threads.new_pool()
    with pool.eager():
        assert run_rounds(pool, library, 4) == (padded(4) if available > 1 else ALONE[0])
    assert pool.workers == available - 1


def test_where_no_worker_can_be_started_the_caller_does_all(
    library: llvm.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "available", lambda: 4)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    pool = threads.new_pool()
    assert run_rounds(pool, library, 4) == ALONE[0]
    assert pool.workers == 0


EXIT = """
import threading
import numpy, compiler
x = numpy.linspace(0, 1, 300_000, dtype=numpy.float32)
text = "HloModule m\\nENTRY e { x = f32[300000] parameter(0)  ROOT y = f32[300000] cosine(x) }"
made = compiler.compile(text, options=compiler.CompileOptions(threads=3))
def forever():
    while True:
        made(x)
BUSY
made(x)
"""


def in_a_process(script: str) -> int:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", script], timeout=60, env=environment).returncode


@pytest.mark.slow
@pytest.mark.parametrize("busy", ["", "threading.Thread(target=forever, daemon=True).start()"])
def test_the_interpreter_exits_while_workers_spin(busy: str) -> None:
    assert in_a_process(EXIT.replace("BUSY", busy)) == 0


@pytest.mark.parametrize("count", [0, -1, threads.MOST_THREADS + 1])
def test_an_impossible_number_of_threads_is_refused(count: int) -> None:
    with pytest.raises(InputError, match=f"threads={count}"):
        threads.pool().ensure(count)


def test_share_is_defined_once() -> None:
    module = llvm_ir.Module()
    assert threads.emit_share(module) == threads.emit_share(module) == "@share"
    assert str(module).count("define internal void @share") == 1


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_the_pool_compiles_for_each_architecture(architecture: str) -> None:
    target = llvm.Target(f"{architecture}-unknown-linux-gnu", "generic", "")
    words = {"x86_64": {"pause", "rdtsc"}, "aarch64": {"yield", "CNTVCT_EL0"}}[architecture]
    module = llvm.parse(threads.code(target), target, 1)
    assert words <= set(llvm.assembly(module, target, 1).split())


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="riscv64"):
        threads.code(llvm.Target("riscv64-unknown-linux-gnu", "", ""))
