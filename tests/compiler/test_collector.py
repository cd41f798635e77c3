"""Nobody looks for cycles of objects while a program is compiled, and afterwards all is as before."""

import gc
import threading
import time

import pytest

import compiler
from compiler import collector

TEXT = "ENTRY main { x = f32[64,32] parameter(0)  y = f32[64,32] tanh(x)  ROOT z = f32[64,32] add(y, x) }"
REFUSED = "ENTRY main { x = f32[4] parameter(0)  ROOT y = f32[5] tanh(x) }"


@pytest.fixture
def collections():
    """When something was collected since, where a few new objects are enough for it."""
    seen, before = [], gc.get_threshold()

    def note(phase, info):
        if phase == "start":
            seen.append(time.perf_counter_ns())

    gc.callbacks.append(note)
    gc.set_threshold(10, 2, 2)
    yield seen
    gc.set_threshold(*before)
    gc.callbacks.remove(note)


def test_nothing_is_collected_while_a_program_is_compiled(collections):
    phases = compiler.compile(TEXT).phases
    assert [[] for _ in range(100)]
    begin, end = phases[0].start_ns, phases[-1].start_ns + phases[-1].duration_ns
    assert collections
    assert not [moment for moment in collections if begin <= moment <= end]


def test_a_program_that_is_refused_leaves_the_collector_on():
    with pytest.raises(compiler.CompilerError):
        compiler.compile(REFUSED)
    assert gc.isenabled()


def test_who_has_the_collector_off_finds_it_off():
    gc.disable()
    try:
        compiler.compile(TEXT)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_last_of_several_threads_has_it_on_again():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with collector.paused():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    with collector.paused():
        pass
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()
