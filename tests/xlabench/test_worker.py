"""A watched worker: answers come back, and nothing a job does takes the parent along."""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from xlabench.errors import BenchError
from xlabench.worker import ENGINES, Worker


@pytest.fixture
def worker(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    with Worker(memory_bytes=1 << 31) as worker:
        yield worker


@contextlib.contextmanager
def limit(seconds):
    """Fail where this process itself waits for ever."""

    def fail(*_):
        pytest.fail("it waited for ever")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def ask(worker, job, timeout_s=30.0, **arguments):
    return worker.run(f"fake_engines:{job}", arguments, timeout_s=timeout_s)


@pytest.mark.slow
def test_an_answer_comes_back_with_the_stage_and_without_the_chatter(worker):
    outcome = ask(worker, "echo", n=3)
    assert (outcome.ending, outcome.stage, outcome.value) == ("answered", "thinking", {"got": {"n": 3}})


@pytest.mark.slow
def test_an_exception_is_an_answer_and_the_worker_lives_on(worker):
    before = ask(worker, "process").value
    outcome = ask(worker, "fail")
    assert (outcome.ending, outcome.stage) == ("raised", "thinking")
    assert outcome.error.split()[0] == "KeyError"
    assert "no such thing" in outcome.message
    assert ask(worker, "process").value == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL"])
def test_a_crash_names_the_signal_and_the_next_job_gets_a_new_worker(worker, name):
    outcome = ask(worker, "die", signal=getattr(signal, name))
    assert (outcome.ending, outcome.stage) == ("died", "dying")
    assert name in outcome.message
    assert ask(worker, "echo").ending == "answered"


@pytest.mark.slow
def test_a_crash_keeps_the_stack_that_faulthandler_wrote(worker):
    assert "in die" in ask(worker, "die", signal=signal.SIGABRT).output


@pytest.mark.slow
def test_a_silent_exit_is_a_death_with_its_last_words(worker):
    outcome = ask(worker, "leave")
    assert (outcome.ending, outcome.output) == ("died", "last words\n")
    assert "status 3" in outcome.message


@pytest.mark.slow
def test_a_hang_ends_at_the_limit_and_says_where(worker):
    outcome = ask(worker, "hang", timeout_s=2.0)
    assert (outcome.ending, outcome.stage) == ("timeout", "hanging")
    assert "in hang" in outcome.output
    assert ask(worker, "echo").ending == "answered"


@pytest.mark.slow
@pytest.mark.parametrize(("job", "stage"), [("leave_a_thread", "leaving"), ("close_everything", "closing")])
def test_a_process_that_closes_its_pipe_and_lives_on_is_ended(worker, job, stage):
    before = ask(worker, "process").value["pid"]
    outcome = ask(worker, job)
    assert (outcome.ending, outcome.stage) == ("died", stage)
    assert outcome.message == "the process closed its pipe and went on"
    assert "most recent call first" in outcome.output
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)
    assert ask(worker, "echo").ending == "answered"


@pytest.mark.slow
def test_a_process_that_takes_no_request_is_ended_at_the_limit(worker, monkeypatch):
    monkeypatch.setattr("xlabench.worker._LAST_WORDS_S", 0.5)
    os.kill(ask(worker, "process").value["pid"], signal.SIGSTOP)
    with limit(20):
        outcome = ask(worker, "echo", timeout_s=1.0, more_than_a_pipe_holds="x" * (1 << 20))
    assert outcome.ending == "timeout"
    assert ask(worker, "echo", more_than_a_pipe_holds="x" * (1 << 20)).ending == "answered"


@pytest.mark.slow
@pytest.mark.parametrize("what", [b"\x00\xffgarbage", b"[]", b'{"ending": "answered"}'])
def test_what_is_no_answer_is_a_death(worker, what):
    outcome = ask(worker, "babble", what=list(what))
    assert (outcome.ending, outcome.stage) == ("died", "babbling")
    assert outcome.message == "what the process answered cannot be read"
    assert ask(worker, "echo").ending == "answered"


@pytest.mark.slow
def test_memory_is_limited(worker):
    assert ask(worker, "hog").error.split()[0] == "MemoryError"


@pytest.mark.slow
def test_no_process_is_left_behind(worker):
    process = ask(worker, "process").value["pid"]
    worker.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


PARENT = """
import sys
sys.path[:0] = {path!r}
from xlabench.worker import Worker
worker = Worker()
print(worker.run("fake_engines:process", {{}}, timeout_s=30).value["pid"], flush=True)
worker.run("fake_engines:hang", {{}}, timeout_s=600)
"""


@pytest.mark.slow
def test_a_worker_dies_with_its_parent_even_in_the_middle_of_a_job():
    path = [str(Path(__file__).parent), *sys.path]
    environment = {**os.environ, "PYTHONPATH": path[0]}
    command = [sys.executable, "-c", PARENT.format(path=path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as parent:
        worker = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(worker, selectors.EVENT_READ)
            assert selector.select(timeout=30)
    finally:
        os.close(worker)


def test_a_machine_that_starts_no_process_is_no_finding(worker, monkeypatch):
    monkeypatch.setattr("xlabench.worker._START_S", 0.0)
    outcome = ask(worker, "echo")
    assert outcome.ending == "timeout"
    with pytest.raises(BenchError, match=r"no worker can be started: the process was not ready after 0 s"):
        outcome.require_start()


def test_a_limit_in_which_nothing_starts_is_said():
    with Worker(memory_bytes=16 << 20, preload=ENGINES) as worker:
        outcome = worker.run("xlabench.jobs:none", {}, timeout_s=60)
    with pytest.raises(BenchError, match=r"no worker can be started: .*; its memory is limited to 16 MiB, give more"):
        outcome.require_start()
