"""Whatever an engine does to its process, the one who asked lives on, and says truthfully what happened."""

from importlib import import_module
from pathlib import Path

import made_bundles
import numpy as np
import pytest

import compiler
from xlabench import running
from xlabench.cases.layouts import LAYOUTS
from xlabench.errors import BenchError
from xlabench.judging.tolerance import TolerancePolicy
from xlabench.worker import ENGINES, Worker

PROGRAM = "HloModule m\n\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] add(x, x)\n}\n"


@pytest.fixture(scope="module")
def worker():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        with Worker(memory_bytes=1 << 30, preload=ENGINES) as worker:
            yield worker


def judge(worker, subject, reference="right", timeout_s=60.0):
    case = running.Case(compiler.parse(PROGRAM), [np.ones(4, np.float32)], 0, "generated", TolerancePolicy())
    factory = "faulty_engines:engine"
    return running.judge_watched(case, (subject, reference), worker, timeout_s=timeout_s, factory=factory)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "verdict", "code", "message"),
    [
        ("right", "bitwise", 0, "all results are equal to the bit"),
        ("segfault@compile", "crash", 4, "segfault@compile (compile): the process was killed by SIGSEGV"),
        ("segfault@run", "crash", 4, "segfault@run (run): the process was killed by SIGSEGV"),
        ("hog@compile", "compile-error", 3, "Unable to allocate"),
        ("hog@run", "crash", 4, "Unable to allocate"),
        ("raise@compile", "compile-error", 3, "raise@compile (compile): kernel launch failed"),
        ("raise@run", "crash", 4, "raise@run (run): kernel launch failed"),
        ("refuse@compile", "unsupported", 125, "opcode fft is not supported by this engine"),
        ("refuse@run", "unsupported", 125, "opcode fft is not supported by this engine"),
        ("clobber", "wrong", 1, "changed its inputs, numbers 0; "),
        (
            "flaky",
            "flaky",
            1,
            "a second call gave other results; 20 of 20 more calls gave other results, a rate of 84% to 100%",
        ),
    ],
)
def test_how_an_engine_ends_is_the_verdict(worker, subject, verdict, code, message):
    judgement = judge(worker, subject)
    assert (judgement.verdict, judgement.exit_code) == (verdict, code)
    assert message in judgement.message


def test_what_changes_its_inputs_is_wrong_in_this_process_too(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    faulty_engines = import_module("faulty_engines")
    inputs = [np.ones(4, np.float32)]
    case = running.Case(compiler.parse(PROGRAM), inputs, 0, "generated", TolerancePolicy())
    spoiling, right = faulty_engines.engine("clobber"), faulty_engines.engine("right")
    judgement = running.judge_here(case, spoiling, right)
    assert judgement.verdict == "wrong"
    assert judgement.message.startswith("changed its inputs, numbers 0; ")
    np.testing.assert_array_equal(inputs, np.ones((1, 4)))


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["compile", "run"])
def test_a_hang_ends_at_the_time_limit_and_says_where(worker, stage):
    judgement = judge(worker, f"hang@{stage}", timeout_s=2.0)
    assert (judgement.verdict, judgement.exit_code, judgement.stage) == ("timeout", 5, stage)
    assert "no result after 2 s" in judgement.message
    assert "in hang" in judgement.message


@pytest.mark.slow
def test_the_last_words_of_a_crash_are_kept(worker):
    assert "about to read address 0" in judge(worker, "segfault@run").message
    assert "in raise_error" in judge(worker, "raise@run").message


def test_a_reference_that_fails_is_named(worker):
    judgement = judge(worker, "right", reference="segfault@run")
    assert judgement.verdict == "crash"
    assert judgement.message.startswith("segfault@run (run): the process was killed by SIGSEGV")


@pytest.mark.slow
def test_an_option_that_cannot_be_used_is_bad_input(worker):
    with pytest.raises(BenchError, match="give another option"):
        judge(worker, "complain@compile")


def test_the_environment_becomes_part_of_the_spec():
    flags = {
        "XLA_FLAGS": "--xla_disable_hlo_passes=algsimp,cse --xla_backend_optimization_level=1 --xla_dump_to=d --xla_x=1"
    }
    spec, dump_to, notes = running.with_environment("cpu:opt=0", flags)
    assert (spec, dump_to) == ("cpu:disable_passes=algebraic-simplification+cse,opt=0", "d")
    assert "--xla_x is no flag that XLA is known to have" in notes[0]
    assert running.with_environment("reference", flags) == ("reference", "", ())
    assert running.with_environment("nvptx:sim", {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=0"})[0] == "nvptx:sim"


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("is_watched", [False, True])
def test_the_inputs_of_a_bundle_lie_as_they_did(worker, monkeypatch, tmp_path, layout, is_watched):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    engine = import_module("broken_engines").engine
    ones = np.ones(4, np.float32)
    failure = {"module_text": PROGRAM, "inputs": [ones], "expected": [2 * ones], "engine": "takes-views-for-zeros"}
    folder = made_bundles.draft(tmp_path / "b", layout=layout, **failure)
    request = running.Request(folder, "cpu", "reference", *[None] * 8, timeout=60.0)
    case = running.prepare(request)
    specs = "takes-views-for-zeros", "right"
    if is_watched:
        found = running.judge_watched(case, specs, worker, timeout_s=60.0, factory="broken_engines:engine")
    else:
        found = running.judge_here(case, *map(engine, specs))
    is_bad = layout in ("strided", "backwards")
    assert (found.verdict == "wrong", f"where its arrays are {layout}" in found.message) == (is_bad, is_bad)
