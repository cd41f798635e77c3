"""What a process costs that a program ends: of a campaign for XLA one of some twenty programs ends its own.

In CPU time of all processes, of new ones and of such as are forked from one that has everything loaded.
"""

import resource
import signal

import pytest

from xlabench.engines import files_of
from xlabench.nursery import Nursery
from xlabench.worker import Worker

pytestmark = pytest.mark.bench

LOADED = ("xlabench.fuzzing.fuzz_jobs", "xlabench.engines", *files_of(["cpu", "nvptx:sim"]))
FEW, MANY = 1, 5
_LEAST_GAIN = 3


def end(arguments, say):
    """A job that ends its process."""
    say("ending")
    signal.raise_signal(signal.SIGKILL)


def _spent_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _ends(begin, count):
    """The seconds of CPU time that so many ends take."""
    before = _spent_s()
    with Nursery(LOADED) as nursery, Worker(preload=LOADED, begin=begin(nursery)) as worker:
        for _ in range(count):
            assert worker.run("test_worker_ends:end", {}, timeout_s=60).stage == "ending"
    return _spent_s() - before


def test_processes_that_are_ended_and_begun_again(benchmark, monkeypatch, request):
    monkeypatch.setenv("PYTHONPATH", str(request.path.parent))
    ways = {"new": lambda _: None, "forked": lambda nursery: nursery.begin}

    def measured():
        return {way: (_ends(begin, MANY) - _ends(begin, FEW)) / (MANY - FEW) for way, begin in ways.items()}

    spent_s = benchmark.pedantic(measured, rounds=1)
    benchmark.extra_info["cpu_seconds_of_one"] = spent_s
    assert spent_s["new"] > _LEAST_GAIN * spent_s["forked"]
