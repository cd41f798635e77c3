"""Questions are shared out over workers; answers come in the order of the questions."""

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from parts import every

from compiler.generate import PAIRS
from xlabench.engines import is_complete
from xlabench.fuzzing import fuzz_jobs
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.fuzz import Generated
from xlabench.fuzzing.generate import PROFILES
from xlabench.fuzzing.support_probe import SupportProbe
from xlabench.jobs import ENGINES


class Refused(Exception):
    pass


def test_answers_come_in_order_from_as_many_workers_as_there_are():
    seen, asked = [], set()

    def ask(worker, item):
        asked.add(id(worker))
        return item * item

    answers = SupportProbe(2, None, (), lambda *numbers: seen.append(numbers)).each(ask, range(40))
    assert answers == [n * n for n in range(40)]
    assert seen == [(n, 40) for n in range(1, 41)]
    assert 1 <= len(asked) <= 2


def test_what_a_question_raises_ends_the_probe():
    def ask(_worker, item):
        if item == 3:
            raise Refused(item)

    with pytest.raises(Refused):
        SupportProbe(2, None, (), lambda *_: None).each(ask, range(100))


@pytest.mark.slow
def test_what_is_broken_off_waits_for_no_answer_and_leaves_no_process(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    processes = []

    def ask(worker, item):
        processes.append(worker.start().pid)
        return worker.run(f"fake_engines:{item}", {}, timeout_s=600)

    def interrupt(*_):
        raise KeyboardInterrupt

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        SupportProbe(2, None, (), interrupt).each(ask, ["process", *["hang"] * 9])
    assert time.monotonic() - begin < 60
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["cpu:opt=0", "nvptx:sim,opt=0"])
@pytest.mark.parametrize("first", every(16, range(16)))
def test_engines_that_are_not_asked_what_they_support_take_all_that_is_generated(spec, first):
    assert is_complete(spec)
    pairs = [(opcode, kind) for opcode, kind in sorted(PAIRS) if kind in PROFILES["discovery"].space.element_types]
    asked = {"factory": ENGINES, "engine": spec, "pairs": pairs[first::16]}
    assert fuzz_jobs.probe(asked, lambda _stage: None) == {"unsupported": []}


def test_only_engines_of_others_are_asked_what_they_support():
    asked = []
    support_probe = SimpleNamespace(each=lambda _ask, questions: asked.extend(questions) or [(set(), [])] * len(asked))
    Generated().support(Config(("cpu", "reference", "nvptx:sim", "nvptx", "xla")), support_probe)
    assert {spec for spec, *_ in asked} == {"nvptx", "xla"}
