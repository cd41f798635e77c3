"""A bundle reads back to the bit, and a replay of it says what became of the failure."""

import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import made_bundles
import numpy as np
import pytest
from made_bundles import FLOATS, NEAR, ONES, PROGRAM, X

from xlabench.bundles import bundle, packing
from xlabench.bundles.failure import Original
from xlabench.cases.inputs import DTYPES
from xlabench.cases.layouts import LAYOUTS
from xlabench.errors import BenchError, CompileFailure, ExitCode, RunFailure
from xlabench.judging.bounds import Bounds
from xlabench.judging.tolerance import TolerancePolicy


def _edit(folder, **changes):
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.fixture
def draft(tmp_path):
    return made_bundles.draft(tmp_path / "bundle")


def test_a_bundle_reads_back_to_the_bit(tmp_path):
    text = f"{PROGRAM}// a byte that is no UTF-8, as dumps have them: \udce9\n"
    failure = bundle.load(made_bundles.draft(tmp_path / "bundle", module_text=text, original=Original(text, [X])))
    assert failure.module_text == failure.original.module_text == text
    assert (failure.engine, failure.seed, failure.verdict) == ("reference", 7, "wrong")
    assert failure.inputs[0].dtype == X.dtype
    assert failure.inputs[0].tobytes() == X.tobytes()


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_every_element_type_is_kept_whole(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    for value in (array, array.T, array[:0], array[0, 0]):
        (back,) = packing.unpack_arrays(packing.pack_arrays([value]), [dtype.name], 1 << 20)
        assert (back.dtype, back.shape) == (dtype, np.shape(value))
        assert back.tobytes() == np.asarray(value).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "verdict", "code"),
    [
        ({}, "wrong", ExitCode.WRONG),
        ({"expected": [X + X]}, "bitwise", ExitCode.FINE),
        ({"policy": TolerancePolicy(rtol=2.0)}, "within", ExitCode.FINE),
    ],
)
def test_a_replay_says_what_became_of_the_failure(tmp_path, changes, verdict, code):
    outcome = bundle.replay(made_bundles.draft(tmp_path / "bundle", **changes))
    assert (outcome.verdict, outcome.exit_code, outcome.recorded) == (verdict, code, "wrong")


@pytest.mark.parametrize(
    ("recorded", "verdict", "answer", "code"),
    [
        ("wrong", "wrong", "shows", 1),
        ("flaky", "wrong", "shows", 1),
        ("crash", "crash", "shows", 1),
        ("wrong", "within", "gone", 0),
        ("crash", "undecided", "gone", 0),
        ("wrong", "timeout", "fails otherwise", 125),
        ("wrong", "crash", "fails otherwise", 125),
        ("crash", "wrong", "fails otherwise", 125),
        ("wrong", "unsupported", "cannot be decided here", 125),
    ],
)
def test_a_failure_of_another_kind_does_not_show_the_bug(recorded, verdict, answer, code):
    outcome = bundle.Replay(verdict, "", recorded)
    assert (outcome.answer, outcome.exit_code) == (answer, code)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": []}, r"inputs\.npz: 0 inputs, but m takes 1"),
        ({"inputs": [X[:2]]}, r"inputs\.npz: input 0 is bfloat16\[2\]"),
        ({"expected": []}, r"expected\.npz: 0 results, but m gives 1"),
        ({"expected": [X[:2]]}, r"expected\.npz: result 0 is bfloat16\[2\], but m gives bf16\[3\]"),
        ({"expected": [ONES]}, r"expected\.npz: result 0 is float32\[3\], but m gives bf16\[3\]"),
    ],
)
def test_a_bundle_whose_parts_do_not_belong_together_is_refused(tmp_path, changes, message):
    folder = made_bundles.draft(tmp_path / "b", **changes)
    with pytest.raises(BenchError, match=message):
        bundle.load(folder)


@pytest.mark.parametrize(("period", "verdict"), [(2, "flaky"), (1, "bitwise")])
def test_what_is_flaky_is_asked_as_often_as_tells(tmp_path, monkeypatch, period, verdict):
    calls = itertools.count()
    right = [X + X]
    stand_in = SimpleNamespace(spec="cpu", compile=lambda _: lambda x: [x + x + X.dtype.type(next(calls) % period)])
    monkeypatch.setattr(bundle, "engine", lambda _: stand_in)
    folder = made_bundles.draft(tmp_path / "bundle", expected=right, verdict="flaky")
    answer = bundle.replay_job({"folder": str(folder)}, lambda _: None)
    assert answer["verdict"] == verdict
    assert ("10 of 20 more calls" in answer["message"]) == (period > 1)


def test_what_changes_its_inputs_is_wrong_whatever_it_answers(tmp_path, monkeypatch):
    def call(x):
        x[...] = 99
        return [X + X]

    spoiling = SimpleNamespace(spec="cpu", compile=lambda _: call)
    monkeypatch.setattr(bundle, "engine", lambda _: spoiling)
    folder = made_bundles.draft(tmp_path / "bundle", expected=[X + X])
    answer = bundle.replay_job({"folder": str(folder)}, lambda _: None)
    assert answer["verdict"] == "wrong"
    assert answer["message"].startswith("changed its inputs, numbers 0; ")


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "verdict"), [(2.0**-22, "wrong"), (2.0**-10, "within"), (np.inf, "within")])
def test_a_bundle_is_judged_by_the_bounds_it_brings(tmp_path, spread, verdict):
    bounds = (Bounds(NEAR.astype(np.float64), np.full(3, spread)),)
    wrong = made_bundles.draft(
        tmp_path / "b", module_text=FLOATS, inputs=[ONES], expected=[NEAR], actual=[], bounds=bounds
    )
    assert bundle.replay(wrong).verdict == verdict
    assert bundle.load(wrong).bounds[0].error.tobytes() == bounds[0].error.tobytes()


def test_bounds_that_do_not_fit_are_refused(tmp_path):
    bounds = (Bounds(np.zeros(2), np.zeros(2)),)
    with pytest.raises(BenchError, match=r"bounds\.npz does not fit"):
        bundle.load(made_bundles.draft(tmp_path / "b", bounds=bounds))


def test_names_in_another_encoding_are_kept(tmp_path):
    text = PROGRAM.replace("add(x, x)", 'add(x, x), metadata={op_name="caf\udce9"}')
    folder = made_bundles.draft(tmp_path / "b", module_text=text)
    assert b"caf\xe9" in (folder / "module.hlo").read_bytes()
    assert bundle.load(folder).module_text == text
    with pytest.raises(BenchError, match=r"module\.hlo:1:1: .*") as refusal:
        bundle.load(made_bundles.draft(tmp_path / "bad", module_text="\udce9"))
    assert "\udce9" not in str(refusal.value)


def test_the_program_before_its_reduction_stays_beside_it(tmp_path):
    original = Original(FLOATS, [ONES])
    loaded = bundle.load(made_bundles.draft(tmp_path / "b", original=original)).original
    assert loaded.module_text == FLOATS
    assert loaded.inputs[0].tobytes() == ONES.tobytes()


@pytest.mark.slow
def test_a_bundle_of_the_first_version_is_still_read(draft):
    _edit(draft, version=1)
    assert bundle.load(draft).bounds is None
    assert bundle.replay(draft).verdict == "wrong"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_replay_has_its_inputs_lie_as_they_did(tmp_path, monkeypatch, layout):
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[1])
    monkeypatch.setattr(bundle, "engine", pytest.importorskip("broken_engines").engine)
    failure = {"module_text": FLOATS, "inputs": [ONES], "expected": [2 * ONES], "engine": "takes-views-for-zeros"}
    folder = made_bundles.draft(tmp_path / "b", layout=layout, **failure)
    is_bad = layout in ("strided", "backwards")
    found = bundle.replay_job({"folder": str(folder)}, lambda _: None)
    assert (bundle.load(folder).layout, found["verdict"]) == (layout, "wrong" if is_bad else "bitwise")
    assert (f"where its arrays are {layout}" in found["message"]) == is_bad


@pytest.mark.parametrize(("takes_all", "verdict"), [(True, "compile-error"), (False, "unsupported")])
def test_what_an_engine_refuses_that_takes_all_shows_its_bug(tmp_path, takes_all, verdict):
    refused = "ENTRY e { x = c64[2] parameter(0) ROOT y = f32[4] bitcast(x) }"  # by the passes, not by the reference
    given, result = np.ones(2, np.complex64), np.ones(4, np.float32)
    failure = {"module_text": refused, "inputs": [given], "expected": [result], "actual": [], "engine": "cpu"}
    folder = made_bundles.draft(tmp_path / "b", verdict="compile-error", takes_all=takes_all, **failure)
    found = bundle.replay_job({"folder": str(folder)}, lambda _: None)
    replay = bundle.Replay(found["verdict"], found["message"], "compile-error")
    assert (replay.verdict, replay.exit_code) == (verdict, ExitCode.WRONG if takes_all else ExitCode.UNDECIDABLE)


@pytest.mark.parametrize(
    ("key", "value"), [("layout", "in a heap"), ("layout", 3), ("takes_all", "yes"), ("is_unanswered", 1)]
)
def test_a_layout_that_nobody_knows_is_refused(draft, key, value):
    _edit(draft, **{key: value})
    with pytest.raises(BenchError, match=key):
        bundle.load(draft)


@pytest.mark.parametrize(
    ("recorded", "ends", "verdict", "answer"),
    [
        ("crash", RunFailure("it fails"), "crash", "shows"),
        ("compile-error", CompileFailure("it fails"), "compile-error", "shows"),
        ("crash", None, "undecided", "gone"),
        ("timeout", None, "undecided", "gone"),
        ("flaky", None, "undecided", "gone"),
        ("compile-error", RunFailure("it fails"), "crash", "fails otherwise"),
    ],
)
def test_where_nobody_had_an_answer_a_replay_asks_how_the_engine_ends(
    tmp_path, monkeypatch, recorded, ends, verdict, answer
):
    def compiled(_):
        if ends is not None:
            raise ends
        return lambda x: [x + x]

    monkeypatch.setattr(bundle, "engine", lambda _: SimpleNamespace(spec="cpu", compile=compiled))
    folder = made_bundles.draft(tmp_path / "b", expected=[], actual=[], verdict=recorded, is_unanswered=True)
    assert (bundle.load(folder).is_unanswered, bundle.load(folder).expected) == (True, [])
    told = bundle.replay_job({"folder": str(folder)}, lambda _: None)
    assert told["verdict"] == verdict
    assert bundle.Replay(told["verdict"], told["message"], recorded).answer == answer
