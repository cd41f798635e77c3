"""Processes begun by one that has everything loaded: to a worker they are like any other."""

import os
import signal
import time
from pathlib import Path

import pytest

from xlabench.nursery import Begun, Nursery, share_of_cores
from xlabench.worker import ENGINES, Worker


@pytest.fixture
def nursery(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    with Nursery(["fake_engines", "no_such_package"]) as nursery:
        yield nursery


def ask(worker, job, timeout_s=30.0, **arguments):
    return worker.run(f"fake_engines:{job}", arguments, timeout_s=timeout_s)


@pytest.mark.slow
def test_a_process_that_ends_is_followed_by_one_that_is_begun_by_the_same(nursery):
    with Worker(memory_bytes=1 << 31, begin=nursery.begin) as worker:
        assert ask(worker, "echo", n=3).value == {"got": {"n": 3}}
        before = ask(worker, "process").value
        assert ask(worker, "process").value == before
        loaded = nursery._loaded.pid
        for number in (signal.SIGSEGV, signal.SIGKILL):
            outcome = ask(worker, "die", signal=number)
            assert (outcome.ending, outcome.stage) == ("died", "dying")
            assert outcome.message == f"the process was killed by {number.name}"
            assert ask(worker, "process").value != before
        assert "in die" in ask(worker, "die", signal=signal.SIGSEGV).output
        outcome = ask(worker, "hang", timeout_s=0.5)
        assert outcome.ending == "timeout"
        assert "in hang" in outcome.output
        assert ask(worker, "hog").ending in ("raised", "died")
        assert ask(worker, "echo", n=4).value == {"got": {"n": 4}}
        assert nursery._loaded.pid == loaded


@pytest.mark.slow
def test_workers_at_the_same_time_have_processes_of_their_own_which_end_with_the_one_that_loaded(nursery):
    with Worker(begin=nursery.begin) as one, Worker(begin=nursery.begin) as other:
        numbers = {ask(worker, "process").value["pid"] for worker in (one, other)}
        assert len(numbers) == 2
        nursery._loaded.kill()
        until = time.monotonic() + 30
        while any(Path(f"/proc/{number}/cwd").exists() for number in numbers) and time.monotonic() < until:
            time.sleep(0.01)
        outcome = ask(one, "process")
        assert (outcome.ending, outcome.message) == ("died", "the process was killed by SIGKILL")
        assert ask(one, "echo", n=1).ending == "answered"


@pytest.mark.slow
def test_products_of_matrices_take_no_threads_but_that_of_the_worker_unless_somebody_asked_for_them(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    for asked, expected in ((None, 0), ("3", 2)):
        if asked:
            monkeypatch.setenv("OPENBLAS_NUM_THREADS", asked)
        else:
            monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
        with Nursery(["fake_engines"]) as nursery, Worker(begin=nursery.begin) as worker:
            found = ask(worker, "multiply").value
        assert found["of_system"] - found["threads"] in (0, min(expected, os.cpu_count() - 1))
        assert expected or found["of_system"] == found["threads"]


@pytest.mark.slow
def test_where_nothing_can_be_loaded_it_is_said_why(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    with Nursery([*ENGINES, "fake_engines:fail"]) as nursery, Worker(begin=nursery.begin) as worker:
        outcome = ask(worker, "echo")
    assert (outcome.ending, outcome.stage) == ("died", "start")
    assert "fail" in outcome.output


def test_of_what_a_nursery_began_that_is_gone_it_is_known_that_it_was_killed():
    nursery = Nursery([])
    assert Begun(nursery, os.getpid(), None).poll() == -signal.SIGKILL


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 16, 61])
@pytest.mark.parametrize("count", [1, 2, 3, 15, 40])
def test_all_cores_are_shared_out_and_each_share_is_enough_for_two_threads(monkeypatch, cores, count):
    mask = {3 * core + 1 for core in range(cores)}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: mask)
    shares = [share_of_cores(number, count) for number in range(count)]
    assert all(share <= mask and len(share) >= min(2, cores) for share in shares)
    assert all(len(share) <= max(2, -(-cores // count)) for share in shares)
    uses = [sum(core in share for share in shares) for core in mask]
    assert max(uses) <= -(-2 * count // cores) + 1
    assert min(uses) >= 1
    if count * 2 <= cores:
        assert max(uses) == 1


@pytest.mark.slow
def test_what_a_nursery_begins_runs_on_the_cores_that_it_has(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    core = min(os.sched_getaffinity(0))
    with Nursery(["fake_engines"], {core}) as nursery, Worker(begin=nursery.begin) as worker:
        pid = ask(worker, "process").value["pid"]
        assert os.sched_getaffinity(pid) == {core}
