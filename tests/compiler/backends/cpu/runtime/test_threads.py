"""The pool runs SPMD programs, meets at barriers, gives way when busy, and survives fork and exit."""

import ctypes
import os
import subprocess
import sys
import threading

import pytest

from compiler.backends.cpu.runtime import threads
from compiler.codegen import llvm, llvm_ir
from compiler.diagnostics import InputError, UnsupportedError

ROUNDS = 200
MASK = (1 << 32) - 1
PARAMETERS = [("ptr", "parameters"), ("ptr", "results"), ("ptr", "arena"), ("ptr", "sync"), ("i64", "t"), ("i64", "n")]


def emit_rounds(module: llvm_ir.Module) -> None:
    """Every round, each thread replaces its cell by 3 x (sum of all cells) + its number + how many there are."""
    barrier = threads.emit_barrier(module)
    function = module.function("rounds", "void", PARAMETERS)
    cells, _, _, sync, thread, count = function.arguments
    build = llvm_ir.Builder(function)
    zero = llvm_ir.integer(0)
    with build.loop(zero, llvm_ir.integer(ROUNDS)):
        with build.loop(zero, count, carried=[zero], nonempty=True) as loop:
            loop.carry(build.binary("add", loop.carried[0], build.load("i64", build.gep("i64", cells, loop.index))))
        build.call(barrier, "void", [sync, count])
        tripled = build.binary("mul", loop.results[0], llvm_ir.integer(3))
        new = build.binary("add", build.binary("add", tripled, thread), count)
        build.store(build.binary("and", new, llvm_ir.integer(MASK)), build.gep("i64", cells, thread))
        build.call(barrier, "void", [sync, count])
    build.ret()


def emit_wait(module: llvm_ir.Module) -> None:
    """Count up `parameters[0]` and spin until `parameters[1]` is set: a program that ends when told to."""
    function = module.function("wait", "void", PARAMETERS)
    build = llvm_ir.Builder(function)
    build.emit("i64", f"atomicrmw add {function.arguments[0]}, i64 1 seq_cst")
    flag = build.gep("i64", function.arguments[0], llvm_ir.integer(1))
    build.branch("look")
    build.begin("look")
    seen = build.emit("i64", f"load atomic i64, {flag} acquire, align 8")
    build.branch_if(build.compare("ne", seen, llvm_ir.integer(0)), "done", "look")
    build.begin("done")
    build.ret()


@pytest.fixture(scope="module")
def library() -> llvm.Library:
    module = llvm_ir.Module()
    emit_rounds(module)
    emit_wait(module)
    target = llvm.Target.host()
    return llvm.Library(llvm.parse(str(module), target, 1), ["rounds", "wait"], target, 1)


def expected_rounds(count: int) -> list[int]:
    cells = [0] * count
    for _ in range(ROUNDS):
        total = sum(cells)
        cells = [(3 * total + thread + count) & MASK for thread in range(count)]
    return cells


def run_rounds(library: llvm.Library, count: int) -> list[int]:
    cells = (ctypes.c_int64 * 4)()
    address = ctypes.addressof(cells)
    threads.pool().run(library.address("rounds"), address, 0, 0, threads=count)
    return list(cells)


def padded(count: int) -> list[int]:
    return expected_rounds(count) + [0] * (4 - count)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_barriers_keep_every_thread_in_step(library: llvm.Library, count: int) -> None:
    assert run_rounds(library, count) == padded(count)


def test_a_larger_pool_runs_smaller_programs(library: llvm.Library) -> None:
    counts = [4, 2, 3, 1, 2, 4]
    assert [run_rounds(library, count) for count in counts] == [padded(count) for count in counts]


def test_workers_that_fell_asleep_wake_up(library: llvm.Library) -> None:
    pool = threads.pool()
    pool.ensure(2)
    relax = pool._library.function("relax", None, ctypes.c_int64)
    for _ in range(5):
        relax(20 * pool._spins)
        assert run_rounds(library, 2) == padded(2)


def test_a_busy_pool_makes_nobody_wait(library: llvm.Library) -> None:
    state = (ctypes.c_int64 * 2)()
    pool = threads.pool()
    pool.ensure(2)
    arguments = (library.address("wait"), ctypes.addressof(state), 0, 0)
    first = threading.Thread(target=pool.run, args=arguments, kwargs={"threads": 2})
    first.start()
    while state[0] < 2:
        pass
    assert run_rounds(library, 2) == padded(1)
    state[1] = 1
    first.join()
    assert run_rounds(library, 2) == padded(2)


def test_many_python_threads_call_at_once(library: llvm.Library) -> None:
    right = [padded(1), padded(2), padded(3)]
    outcomes: list[bool] = []

    def call() -> None:
        outcomes.append(all(run_rounds(library, 3) in right for _ in range(20)))

    callers = [threading.Thread(target=call) for _ in range(32)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert outcomes == [True] * 32
    assert run_rounds(library, 3) == padded(3)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_starts_its_own_pool(library: llvm.Library) -> None:
    run_rounds(library, 3)
    child = os.fork()
    if child == 0:
        fresh = threads.pool().workers == 0
        right = run_rounds(library, 2) == padded(2) and threads.pool().workers == 1
        os._exit(0 if fresh and right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert run_rounds(library, 3) == padded(3)


EXIT = """
import threading
from compiler.backends.cpu.runtime import threads
from compiler.codegen import llvm, llvm_ir
module = llvm_ir.Module()
pointers = [("ptr", name) for name in "abcd"]
llvm_ir.Builder(module.function("nothing", "void", [*pointers, ("i64", "t"), ("i64", "n")])).ret()
target = llvm.Target.host()
library = llvm.Library(llvm.parse(str(module), target, 0), ["nothing"], target, 0)
run = lambda: threads.pool().run(library.address("nothing"), 0, 0, 0, threads=3)
def forever():
    while True:
        run()
BUSY
run()
"""


@pytest.mark.slow
@pytest.mark.parametrize("busy", ["", "threading.Thread(target=forever, daemon=True).start()"])
def test_the_interpreter_exits_while_workers_spin(busy: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EXIT.replace("BUSY", busy)],
        timeout=60,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0


@pytest.mark.parametrize("count", [0, -1, threads.MOST_THREADS + 1])
def test_an_impossible_number_of_threads_is_refused(count: int) -> None:
    with pytest.raises(InputError, match=f"threads={count}"):
        threads.pool().ensure(count)


def test_the_affinity_mask_says_how_many_are_available() -> None:
    assert threads.available() == len(os.sched_getaffinity(0))


def test_the_barrier_is_defined_once() -> None:
    module = llvm_ir.Module()
    assert threads.emit_barrier(module) == threads.emit_barrier(module) == "@barrier"
    assert str(module).count("define internal void @barrier") == 1


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_the_pool_compiles_for_each_architecture(architecture: str) -> None:
    target = llvm.Target(f"{architecture}-unknown-linux-gnu", "generic", "")
    pause = {"x86_64": "pause", "aarch64": "yield"}[architecture]
    module = llvm.parse(threads.code(target), target, 1)
    assert pause in llvm.assembly(module, target, 1).split()


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="riscv64"):
        threads.code(llvm.Target("riscv64-unknown-linux-gnu", "", ""))
