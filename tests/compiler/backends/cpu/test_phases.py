"""What threads share is gathered into functions of their own, between the points where one must wait for another."""

import pytest

import compiler
from compiler.analysis.buffers import Assignment
from compiler.analysis.storage import Buffer, Storage
from compiler.backends.cpu.phases import Phases, Step
from compiler.backends.cpu.pointers import BASES, Pointers
from compiler.codegen.llvm_ir import Builder, Module, Value

OWNER = compiler.parse("ENTRY e { ROOT x = f32[] parameter(0) }").entry.root
A, B = (Buffer(Storage.ARENA, 64, OWNER, offset=offset) for offset in (0, 64))
FRAME = Buffer(Storage.FRAME, 8, OWNER)


@pytest.fixture
def module():
    return Module()


@pytest.fixture
def written():
    return []


@pytest.fixture
def phases(module):
    caller = Builder(module.function("program", "void", [*BASES, ("ptr", "team"), ("ptr", "told")]))
    return Phases(Pointers(caller, Assignment(), {}, ""), chunks=4, context=Value("ptr", "%told"))


@pytest.fixture
def do(phases, written):
    def add(name, *, reads=(), writes=(), shared=True, work=10.0):
        def emit(pointers):
            written.append((name, pointers.builder.function.name))

        phases.add(Step(emit, reads, writes, shared, work))

    return add


def functions(module):
    return [function.name for function in module.functions if function.name.startswith("program.phase")]


def test_what_nobody_shares_is_done_at_once_where_the_program_is_walked(do, written, module):
    do("alone", writes=[A], shared=False)
    assert written == [("alone", "program")]
    assert functions(module) == []


def test_shared_steps_that_do_not_meet_are_one_phase(do, phases, written, module):
    do("first", writes=[A])
    do("second", writes=[B])
    assert written == [], "it is known only at the end what belongs together"
    phases.end()
    assert written == [("first", "program.phase"), ("second", "program.phase")]
    call = "\n".join(phases.caller.builder.function.lines)
    assert call.count("@program.phase") == 1
    assert "i64 4, i64 20" in call, "four chunks, and the work of both"


def test_a_step_that_reads_what_another_has_written_is_in_the_next_phase(do, phases, written, module):
    do("first", writes=[A])
    do("second", reads=[A], writes=[B])
    phases.end()
    assert [name for name, _ in written] == ["first", "second"]
    assert len(functions(module)) == 2


def test_what_is_not_shared_in_a_phase_is_the_first_chunks_only(do, phases, written, module):
    do("first", writes=[A])
    do("alone", writes=[B], shared=False)
    phases.end()
    (phase,) = (function for function in module.functions if function.name == "program.phase")
    assert [where for _, where in written] == ["program.phase"] * 2
    assert any("icmp eq i64 %thread, 0" in line for line in phase.lines)


def test_the_callers_frame_only_the_caller_touches(do, phases, written):
    do("first", writes=[A])
    do("counter", writes=[FRAME], shared=False)
    assert written == [("first", "program.phase"), ("counter", "program")]


def test_a_phase_is_told_the_addresses_of_buffers_that_change_roles(module, written):
    caller = Builder(module.function("program", "void", [*BASES, ("ptr", "team"), ("ptr", "told"), ("ptr", "here")]))
    phases = Phases(Pointers(caller, Assignment(), {A: Value("ptr", "%here")}, ""), 4, Value("ptr", "%told"))
    phases.add(Step(lambda pointers: written.append(pointers.known[A]), [], [A], shared=True))
    phases.end()
    assert "store ptr %here" in "\n".join(caller.function.lines)
    assert written != [Value("ptr", "%here")], "that name means nothing in the phase"


def test_nothing_is_left_to_do_after_the_end_and_an_empty_phase_is_none(phases, do, module):
    phases.end()
    do("first", writes=[A])
    phases.end()
    phases.end()
    assert len(functions(module)) == 1
