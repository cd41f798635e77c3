import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from xlabench.bundles import bundle, packing
from xlabench.cases.inputs import DTYPES
from xlabench.cases.layouts import LAYOUTS
from xlabench.errors import BenchError, ExitCode
from xlabench.judging.bounds import Bounds
from xlabench.judging.tolerance import TolerancePolicy

PROGRAM = """HloModule m

ENTRY e {
  x = bf16[3]{0} parameter(0)
  ROOT y = bf16[3]{0} add(x, x)
}
"""
ENDLESS = """HloModule m

same {
  ROOT s = f32[] parameter(0)
}

always {
  s = f32[] parameter(0)
  ROOT t = pred[] constant(true)
}

ENTRY e {
  x = f32[] parameter(0)
  ROOT y = f32[] while(x), condition=always, body=same
}
"""
X = np.array([1.5, -2.0, np.nan], ml_dtypes.bfloat16)
FLOATS = "ENTRY e { x = f32[3] parameter(0) ROOT y = f32[3] add(x, x) }"
ONES = np.ones(3, np.float32)


def _failure(**changes):
    """A right program whose expected result was tampered with, so that the failure shows wherever it runs."""
    fields = {
        "module_text": PROGRAM,
        "inputs": [X],
        "expected": [X + X + np.float32(1).astype(X.dtype)],
        "actual": [X + X],
        "engine": "reference",
        "reference": "reference",
        "seed": 7,
        "verdict": "wrong",
        "message": "2 of 3 elements are wrong",
    }
    return bundle.Failure(**{**fields, **changes})


def _draft(folder, **changes):
    """A bundle on disk without the verification, which takes a process."""
    folder.mkdir()
    for name, data in bundle._contents(_failure(**changes)).items():
        (folder / name).write_bytes(data)
    return folder


def _edit(folder, **changes):
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.fixture
def draft(tmp_path):
    return _draft(tmp_path / "bundle")


@pytest.mark.slow
def test_a_bundle_is_verified_in_a_fresh_process_before_it_is_there(tmp_path):
    saved = bundle.save(_failure(), tmp_path / "new" / "bundle")
    assert (saved.verified, saved.message) == (True, "")
    names = sorted(path.name for path in saved.path.iterdir())
    assert names == [
        "actual.npz",
        "bounds.npz",
        "expected.npz",
        "inputs.npz",
        "manifest.json",
        "module.hlo",
        "repro.py",
    ]
    assert [path.name for path in saved.path.parent.iterdir()] == ["bundle"]


@pytest.mark.slow
def test_a_failure_that_does_not_show_again_is_kept_but_not_verified(tmp_path):
    saved = bundle.save(_failure(expected=[X + X]), tmp_path / "bundle")
    assert not saved.verified
    assert "the replay ended with 0" in saved.message
    assert (saved.path / "manifest.json").is_file()


@pytest.mark.slow
@pytest.mark.parametrize(("program", "verified"), [(ENDLESS, True), (PROGRAM, False)], ids=["endless", "ends"])
def test_what_did_not_end_is_verified_by_not_ending(tmp_path, program, verified):
    given = [np.float32(1)] if program is ENDLESS else [X]
    failure = _failure(module_text=program, inputs=given, expected=given, actual=[], verdict="timeout")
    saved = bundle.save(failure, tmp_path / "bundle", timeout_s=2)
    assert saved.verified == verified
    assert saved.message == ("" if verified else "the replay ended: wrong")


def test_a_bundle_reads_back_to_the_bit(tmp_path):
    text = f"{PROGRAM}// a byte that is no UTF-8, as dumps have them: \udce9\n"
    failure = bundle.load(_draft(tmp_path / "bundle", module_text=text, original=bundle.Original(text, [X])))
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


def test_the_same_failure_gives_the_same_bytes(tmp_path):
    one, two = (_draft(tmp_path / name) for name in "ab")
    for path in one.iterdir():
        assert path.read_bytes() == (two / path.name).read_bytes(), path.name


def test_no_file_of_a_bundle_names_a_place(draft):
    for path in draft.iterdir():
        assert str(draft.parent).encode() not in path.read_bytes()
        assert b"/home" not in path.read_bytes()


def test_the_inputs_of_a_bundle_are_what_the_command_run_takes(draft):
    with np.load(draft / "inputs.npz", allow_pickle=False) as archive:
        assert archive.files == ["array_0000"]


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
    outcome = bundle.replay(_draft(tmp_path / "bundle", **changes))
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


@pytest.mark.slow
def test_a_bundle_whose_engine_is_not_there_is_saved_and_not_verified(tmp_path):
    saved = bundle.save(_failure(engine="nobody"), tmp_path / "bundle")
    assert not saved.verified
    assert "unknown engine 'nobody'" in saved.message


@pytest.mark.slow
def test_what_shows_another_failure_is_not_verified(tmp_path):
    saved = bundle.save(_failure(verdict="crash"), tmp_path / "bundle")
    assert not saved.verified
    assert "fails otherwise: wrong" in saved.message


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
    folder = _draft(tmp_path / "b", **changes)
    with pytest.raises(BenchError, match=message):
        bundle.load(folder)


@pytest.mark.parametrize(("period", "verdict"), [(2, "flaky"), (1, "bitwise")])
def test_what_is_flaky_is_asked_as_often_as_tells(tmp_path, monkeypatch, period, verdict):
    calls = itertools.count()
    right = [X + X]
    stand_in = SimpleNamespace(spec="cpu", compile=lambda _: lambda x: [x + x + X.dtype.type(next(calls) % period)])
    monkeypatch.setattr(bundle, "engine", lambda _: stand_in)
    folder = _draft(tmp_path / "bundle", expected=right, verdict="flaky")
    answer = bundle.replay_job({"folder": str(folder)}, lambda _: None)
    assert answer["verdict"] == verdict
    assert ("10 of 20 more calls" in answer["message"]) == (period > 1)


def test_what_changes_its_inputs_is_wrong_whatever_it_answers(tmp_path, monkeypatch):
    def call(x):
        x[...] = 99
        return [X + X]

    spoiling = SimpleNamespace(spec="cpu", compile=lambda _: call)
    monkeypatch.setattr(bundle, "engine", lambda _: spoiling)
    folder = _draft(tmp_path / "bundle", expected=[X + X])
    answer = bundle.replay_job({"folder": str(folder)}, lambda _: None)
    assert answer["verdict"] == "wrong"
    assert answer["message"].startswith("changed its inputs, numbers 0; ")


NEAR = (
    ONES + ONES + np.array([0, 0, 2.0**-20], np.float32)
)  # inside of the tolerance of f32, beyond what one sum may err


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "verdict"), [(2.0**-22, "wrong"), (2.0**-10, "within"), (np.inf, "within")])
def test_a_bundle_is_judged_by_the_bounds_it_brings(tmp_path, spread, verdict):
    bounds = (Bounds(NEAR.astype(np.float64), np.full(3, spread)),)
    wrong = _draft(tmp_path / "b", module_text=FLOATS, inputs=[ONES], expected=[NEAR], actual=[], bounds=bounds)
    assert bundle.replay(wrong).verdict == verdict
    assert bundle.load(wrong).bounds[0].error.tobytes() == bounds[0].error.tobytes()


@pytest.mark.slow
def test_bounds_are_found_when_a_bundle_is_saved(tmp_path):
    right = _failure(module_text=FLOATS, inputs=[ONES], expected=[ONES + ONES], actual=[NEAR])
    (bounds,) = bundle.load(bundle.save(right, tmp_path / "b").path).bounds
    assert (bounds.error < 2.0**-20).all()
    given = _failure(
        module_text=FLOATS, inputs=[ONES], expected=[ONES], actual=[NEAR], policy=TolerancePolicy(rtol=0.1)
    )
    assert bundle.load(bundle.save(given, tmp_path / "given").path).bounds is None


def test_bounds_that_do_not_fit_are_refused(tmp_path):
    bounds = (Bounds(np.zeros(2), np.zeros(2)),)
    with pytest.raises(BenchError, match=r"bounds\.npz does not fit"):
        bundle.load(_draft(tmp_path / "b", bounds=bounds))


def test_names_in_another_encoding_are_kept(tmp_path):
    text = PROGRAM.replace("add(x, x)", 'add(x, x), metadata={op_name="caf\udce9"}')
    folder = _draft(tmp_path / "b", module_text=text)
    assert b"caf\xe9" in (folder / "module.hlo").read_bytes()
    assert bundle.load(folder).module_text == text
    with pytest.raises(BenchError, match=r"module\.hlo:1:1: .*") as refusal:
        bundle.load(_draft(tmp_path / "bad", module_text="\udce9"))
    assert "\udce9" not in str(refusal.value)


def test_the_program_before_its_reduction_stays_beside_it(tmp_path):
    original = bundle.Original(FLOATS, [ONES])
    loaded = bundle.load(_draft(tmp_path / "b", original=original)).original
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
    folder = _draft(tmp_path / "b", layout=layout, **failure)
    is_bad = layout in ("strided", "backwards")
    found = bundle.replay_job({"folder": str(folder)}, lambda _: None)
    assert (bundle.load(folder).layout, found["verdict"]) == (layout, "wrong" if is_bad else "bitwise")
    assert (f"where its arrays are {layout}" in found["message"]) == is_bad


@pytest.mark.parametrize(("takes_all", "verdict"), [(True, "compile-error"), (False, "unsupported")])
def test_what_an_engine_refuses_that_takes_all_shows_its_bug(tmp_path, takes_all, verdict):
    refused = "ENTRY e { x = c64[2] parameter(0) ROOT y = f32[4] bitcast(x) }"  # by the passes, not by the reference
    given, result = np.ones(2, np.complex64), np.ones(4, np.float32)
    failure = {"module_text": refused, "inputs": [given], "expected": [result], "actual": [], "engine": "cpu"}
    folder = _draft(tmp_path / "b", verdict="compile-error", takes_all=takes_all, **failure)
    found = bundle.replay_job({"folder": str(folder)}, lambda _: None)
    replay = bundle.Replay(found["verdict"], found["message"], "compile-error")
    assert (replay.verdict, replay.exit_code) == (verdict, ExitCode.WRONG if takes_all else ExitCode.UNDECIDABLE)


@pytest.mark.parametrize(("key", "value"), [("layout", "in a heap"), ("layout", 3), ("takes_all", "yes")])
def test_a_layout_that_nobody_knows_is_refused(draft, key, value):
    _edit(draft, **{key: value})
    with pytest.raises(BenchError, match=key):
        bundle.load(draft)


def test_a_folder_that_is_no_bundle_is_not_replaced(tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(BenchError, match="is not a bundle"):
        bundle.save(_failure(), tmp_path)
    assert (tmp_path / "precious.txt").is_file()


def test_a_place_that_cannot_be_written_to_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchError, match="cannot be written"):
        bundle.save(_failure(), tmp_path / "file" / "bundle")
    with pytest.raises(BenchError, match="cannot be written: File name too long"):
        bundle.save(_failure(), tmp_path / ("x" * 300))


@pytest.mark.slow
def test_an_archive_is_saved_verified_and_read_back(tmp_path):
    saved = bundle.save(_failure(), tmp_path / "new" / "b.zip")
    assert (saved.verified, saved.path.is_file()) == (True, True)
    assert [path.name for path in saved.path.parent.iterdir()] == ["b.zip"]
    assert bundle.load(saved.path).inputs[0].tobytes() == X.tobytes()
    first = saved.path.read_bytes()
    assert bundle.save(_failure(), saved.path).path.read_bytes() == first
    outcome = bundle.replay(saved.path)
    assert (outcome.verdict, outcome.exit_code) == ("wrong", ExitCode.WRONG)


def test_a_file_that_is_no_bundle_is_not_replaced(tmp_path):
    (tmp_path / "b.zip").write_text("mine")
    with pytest.raises(BenchError, match="is not a bundle"):
        bundle.save(_failure(), tmp_path / "b.zip")
    assert (tmp_path / "b.zip").read_text() == "mine"
