"""A bundle is written whole or not at all, the same bytes each time, and replayed before it is told of."""

import made_bundles
import numpy as np
import pytest
from made_bundles import ENDLESS, FLOATS, NEAR, ONES, PROGRAM, X

from xlabench.bundles import bundle, saving
from xlabench.errors import BenchError, ExitCode
from xlabench.judging.tolerance import TolerancePolicy


@pytest.fixture
def draft(tmp_path):
    return made_bundles.draft(tmp_path / "bundle")


@pytest.mark.slow
def test_a_bundle_is_verified_in_a_fresh_process_before_it_is_there(tmp_path):
    saved = saving.save(made_bundles.failure(), tmp_path / "new" / "bundle")
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
    saved = saving.save(made_bundles.failure(expected=[X + X]), tmp_path / "bundle")
    assert not saved.verified
    assert "the replay ended with 0" in saved.message
    assert (saved.path / "manifest.json").is_file()


@pytest.mark.slow
@pytest.mark.parametrize(("program", "verified"), [(ENDLESS, True), (PROGRAM, False)], ids=["endless", "ends"])
def test_what_did_not_end_is_verified_by_not_ending(tmp_path, program, verified):
    given = [np.float32(1)] if program is ENDLESS else [X]
    failure = made_bundles.failure(module_text=program, inputs=given, expected=given, actual=[], verdict="timeout")
    saved = saving.save(failure, tmp_path / "bundle", timeout_s=2)
    assert saved.verified == verified
    assert saved.message == ("" if verified else "the replay ended: wrong")


@pytest.mark.slow
@pytest.mark.parametrize(("program", "verified"), [(ENDLESS, True), (PROGRAM, False)], ids=["endless", "ends"])
@pytest.mark.parametrize("name", ["bundle", "bundle.zip"])
def test_what_nobody_had_an_answer_for_is_verified_as_well(tmp_path, name, program, verified):
    given = [np.float32(1)] if program is ENDLESS else [X]
    fields = {"module_text": program, "inputs": given, "expected": [], "actual": [], "verdict": "timeout"}
    failure = made_bundles.failure(**fields, is_unanswered=True)
    saved = saving.save(failure, tmp_path / name, timeout_s=2)
    assert bundle.load(saved.path).is_unanswered
    assert (saved.verified, saved.message) == (verified, "" if verified else "the replay ended: undecided")


@pytest.mark.slow
def test_a_script_replays_what_nobody_had_an_answer_for(tmp_path):
    failure = made_bundles.failure(expected=[], actual=[], verdict="crash", is_unanswered=True)
    saved = saving.save(failure, tmp_path / "bundle")
    assert (saved.verified, "the replay ended with 0: gone: undecided" in saved.message) == (False, True)


def test_the_same_failure_gives_the_same_bytes(tmp_path):
    one, two = (made_bundles.draft(tmp_path / name) for name in "ab")
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
def test_a_bundle_whose_engine_is_not_there_is_saved_and_not_verified(tmp_path):
    saved = saving.save(made_bundles.failure(engine="nobody"), tmp_path / "bundle")
    assert not saved.verified
    assert "unknown engine 'nobody'" in saved.message


@pytest.mark.slow
def test_what_shows_another_failure_is_not_verified(tmp_path):
    saved = saving.save(made_bundles.failure(verdict="crash"), tmp_path / "bundle")
    assert not saved.verified
    assert "fails otherwise: wrong" in saved.message


@pytest.mark.slow
def test_bounds_are_found_when_a_bundle_is_saved(tmp_path):
    right = made_bundles.failure(module_text=FLOATS, inputs=[ONES], expected=[ONES + ONES], actual=[NEAR])
    (bounds,) = bundle.load(saving.save(right, tmp_path / "b").path).bounds
    assert (bounds.error < 2.0**-20).all()
    given = made_bundles.failure(
        module_text=FLOATS, inputs=[ONES], expected=[ONES], actual=[NEAR], policy=TolerancePolicy(rtol=0.1)
    )
    assert bundle.load(saving.save(given, tmp_path / "given").path).bounds is None


def test_a_folder_that_is_no_bundle_is_not_replaced(tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(BenchError, match="is not a bundle"):
        saving.save(made_bundles.failure(), tmp_path)
    assert (tmp_path / "precious.txt").is_file()


def test_a_place_that_cannot_be_written_to_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchError, match="cannot be written"):
        saving.save(made_bundles.failure(), tmp_path / "file" / "bundle")
    with pytest.raises(BenchError, match="cannot be written: File name too long"):
        saving.save(made_bundles.failure(), tmp_path / ("x" * 300))


@pytest.mark.slow
def test_an_archive_is_saved_verified_and_read_back(tmp_path):
    saved = saving.save(made_bundles.failure(), tmp_path / "new" / "b.zip")
    assert (saved.verified, saved.path.is_file()) == (True, True)
    assert [path.name for path in saved.path.parent.iterdir()] == ["b.zip"]
    assert bundle.load(saved.path).inputs[0].tobytes() == X.tobytes()
    first = saved.path.read_bytes()
    assert saving.save(made_bundles.failure(), saved.path).path.read_bytes() == first
    outcome = bundle.replay(saved.path)
    assert (outcome.verdict, outcome.exit_code) == ("wrong", ExitCode.WRONG)


def test_a_file_that_is_no_bundle_is_not_replaced(tmp_path):
    (tmp_path / "b.zip").write_text("mine")
    with pytest.raises(BenchError, match="is not a bundle"):
        saving.save(made_bundles.failure(), tmp_path / "b.zip")
    assert (tmp_path / "b.zip").read_text() == "mine"
