"""One block that does the work of several launches: which of them go side by side, and where barriers stand."""

import pytest
from emitted_kernels import kernel

from compiler.analysis.storage import Buffer, Storage
from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Launch
from compiler.backends.nvptx.persistent_launch import MOST_THREADS, Emission, side_by_side
from compiler.backends.nvptx.steps import ConditionalStep, CopyStep, LaunchStep, WhileStep
from compiler.codegen.llvm_ir import I32, PTR, Module, Value, integer

KERNEL = kernel("ENTRY e { x = s32[64] parameter(0)  ROOT n = s32[64] negate(x) }")
ROOT = KERNEL.roots[0]
A, B, C = (Buffer(Storage.ARENA, 256, ROOT, offset=256 * n) for n in range(3))
FLAG = Buffer(Storage.ARENA, 1, ROOT, offset=1024)
ALL_WAIT, SOME_WAIT = "barrier.cta.sync.aligned.all", "barrier.cta.sync.aligned.count"


class Program:
    """Kernels in a module, each one launch, and what becomes of a row of steps."""

    def __init__(self):
        self.ir, self.kernels = Module(), {}

    def launch(self, source, target, *, blocks=1, threads=64, waits=False):
        def emit(module):
            builder = grid.begin(module, KERNEL, threads)
            if waits:
                grid.barrier(builder)
            builder.store(integer(1, I32), Value(PTR, "%out0"))
            builder.ret()
            return (Launch(builder.function.name, blocks, threads),)

        (launch,) = launches = emit(self.ir)
        self.kernels[launch.function] = EmittedKernel(KERNEL, launches, 0, emit)
        return LaunchStep(launch, (source, target, None), 1 + 1)

    def emitted(self, *steps):
        emission = Emission(self.ir, self.kernels, steps)
        return emission, emission.launch("whole")

    def text(self, *steps):
        _, launch = self.emitted(*steps)
        return next(str(f) for f in self.ir.functions if f.name == launch.launch.function)


@pytest.fixture
def program():
    return Program()


def test_the_launch_is_one_block_given_every_buffer_those_written_last(program):
    steps = [program.launch(A, B), CopyStep(B, C)]
    emission, launch = program.emitted(*steps)
    assert (launch.launch.blocks, launch.within) == (1, tuple(steps))
    assert emission.buffers == (A, B, C)
    assert launch.writes == (B, C)


@pytest.mark.parametrize(
    ("first", "second", "barriers"),
    [((A, B), (B, C), 1), ((A, B), (C, B), 1), ((A, B), (C, A), 1), ((A, B), (A, C), 0)],
    ids=["reads what was written", "writes what was written", "writes what was read", "both read"],
)
def test_a_barrier_stands_where_one_step_touches_what_another_writes(program, first, second, barriers):
    assert program.text(program.launch(*first), program.launch(*second)).count(ALL_WAIT) == barriers


def test_one_barrier_is_enough_for_all_before_it(program):
    steps = [program.launch(A, B), CopyStep(B, C), program.launch(B, Buffer(Storage.ARENA, 256, ROOT, offset=2048))]
    assert program.text(*steps).count(ALL_WAIT) == 1


def test_launches_that_wait_for_different_numbers_of_threads_are_kept_apart(program):
    other = Buffer(Storage.ARENA, 256, ROOT, offset=2048)
    apart = [program.launch(A, B, waits=True), program.launch(C, other, threads=32, waits=True)]
    assert program.text(*apart).count(ALL_WAIT) == 1
    program = Program()
    alike = [program.launch(A, B, waits=True), program.launch(C, other, waits=True)]
    assert program.text(*alike).count(ALL_WAIT) == 0


@pytest.mark.parametrize(
    ("threads", "waits", "together"), [(64, False, 8), (512, False, 1), (64, True, 1), (48, False, 1)]
)
def test_blocks_go_side_by_side_as_far_as_there_are_threads_and_none_waits(program, threads, waits, together):
    step = program.launch(A, B, blocks=20, threads=threads, waits=waits)
    function = next(f for f in program.ir.functions if f.name == step.launch.function)
    assert side_by_side(function, step.launch) == together
    emission, launch = program.emitted(step)
    assert launch.launch.threads == (MOST_THREADS if together > 1 else -(-threads // grid.WARP) * grid.WARP)
    assert emission.threads == launch.launch.threads


def test_fewer_threads_than_the_block_has_do_a_smaller_launch(program):
    text = program.text(program.launch(A, B, threads=64), program.launch(A, C, threads=128))
    assert text.count("some") > 0
    assert "icmp slt i64" in text


def test_a_loop_of_unknown_length_reads_its_predicate_between_two_barriers(program):
    loop = WhileStep((program.launch(A, FLAG),), FLAG, (program.launch(FLAG, B),))
    lines = program.text(loop).splitlines()
    (at,) = (number for number, line in enumerate(lines) if "load i8" in line)
    assert ALL_WAIT in lines[at - 2] + lines[at - 1]
    assert ALL_WAIT in lines[at + 1]


def test_a_counted_loop_reads_nothing(program):
    loop = WhileStep((program.launch(A, FLAG),), FLAG, (program.launch(A, B),), trip_count=3)
    assert "load i8" not in program.text(loop)


@pytest.mark.parametrize(("is_pred", "kind"), [(True, "br i1"), (False, "switch i32")])
def test_a_branch_is_taken_inside(program, is_pred, kind):
    branches = ((program.launch(A, B),), (program.launch(A, C),))
    text = program.text(ConditionalStep(FLAG, is_pred, branches))
    assert kind in text
    assert SOME_WAIT not in text
