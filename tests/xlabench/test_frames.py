"""The records as data frames: a row per record, each saying of which night and program it is."""

import pytest

import xlabench
from xlabench.database import DATABASE, Records
from xlabench.errors import BenchError
from xlabench.results import Bundle, Canary, Case, Kernel, Run, Timing, Verdict

RUN = Run("smoke", "", "reference", ["cpu"], 0, {"timed": ["a", "b"]}, {"cpu": None})
RECORDS = (
    Verdict("cpu", "wrong", "1 of 2 elements are wrong", max_ulp=2.0),
    Verdict("cpu:opt=0", "bitwise"),
    Timing("cpu", 0, 10, [1e-3, 2e-3], [["noisy", "why"]]),
    Timing("cpu", 1, 10, [3e-3], []),
    Canary("memory", 0, 3, [4e-3, 5e-3]),
    Bundle("cpu", "bundles/p", verified=False),
    Kernel("nvptx:sim", "add", 16, 0, 0, 8),
)


def record_night(folder, *, programs=("p", "q"), unfinished=()):
    with Records(folder / DATABASE) as records:
        run = records.start_run(RUN)
        for name in (*programs, *unfinished):
            case = records.start_case(run, Case(name, f"digest of {name}"))
            for record in RECORDS:
                records.add(case, record)
            if name not in unfinished:
                records.finish_case(case)
        records.finish_run(run)


@pytest.fixture
def two_nights(tmp_path):
    record_night(tmp_path)
    record_night(tmp_path, programs=("p",), unfinished=("q",))
    return tmp_path


def test_every_record_of_finished_programs_is_a_row(two_nights):
    found = xlabench.records(two_nights)
    assert len(found.runs) == 2
    assert list(found.verdicts.program) == ["p", "p", "q", "q", "p", "p"]
    assert list(found.verdicts.run) == [1, 1, 1, 1, 2, 2]
    assert (len(found.bundles), len(found.kernels)) == (3, 3)
    assert found.kernels.spill_bytes.sum() == 24


def test_timings_have_a_row_per_sample(two_nights):
    timings = xlabench.records(str(two_nights)).timings
    of_p = timings[(timings.run == 1) & (timings.program == "p")]
    assert list(zip(of_p.process, of_p["sample"], of_p.seconds, strict=True)) == [
        (0, 0, 1e-3),
        (0, 1, 2e-3),
        (1, 0, 3e-3),
    ]


@pytest.mark.slow
def test_canaries_have_a_row_per_sample(two_nights):
    canaries = xlabench.records(two_nights).canaries
    assert list(canaries[canaries.run == 2].seconds) == [4e-3, 5e-3]
    assert set(canaries.canary) == {"memory"}


def test_a_history_is_one_groupby(two_nights):
    timings = xlabench.records(two_nights).timings
    history = timings.groupby(["program", "started_at"]).seconds.median().unstack()
    assert history.shape == (2, 2)
    assert history.loc["p"].tolist() == [2e-3, 2e-3]
    assert history.columns.is_monotonic_increasing


def test_times_are_times_and_nothing_recorded_has_columns_all_the_same(tmp_path):
    with Records(tmp_path / DATABASE):
        pass
    found = xlabench.records(tmp_path)
    assert len(found.runs) == len(found.timings) == 0
    assert {"run", "started_at", "finished_at", "suite", "engines"} <= set(found.runs.columns)
    assert {"program", "engine", "seconds"} <= set(found.timings.columns)
    record_night(tmp_path)
    assert str(xlabench.records(tmp_path).runs.started_at.dt.tz) == "UTC"


def test_a_folder_without_records_is_said(tmp_path):
    with pytest.raises(BenchError, match="give the folder of an `xlabench nightly`"):
        xlabench.records(tmp_path)
