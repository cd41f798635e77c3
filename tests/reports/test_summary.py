"""What a run came to: the worst verdict on each engine, doubts said once, and speed-ups where there are two times."""

import pytest

from reports.summary import ratio_json, summarise, to_json
from xlabench.timing.stats import Ratio


def verdict(engine, kind):
    return {"engine": engine, "verdict": kind}


def timing(engine, process, *samples, doubts=()):
    return {"engine": engine, "process": process, "samples": list(samples), "doubts": list(doubts)}


def case(name="p", verdicts=(), timings=()):
    return {"name": name, "digest": "d", "verdicts": list(verdicts), "timings": list(timings), "bundles": []}


def summary(*cases, timed=("xla", "cpu"), engines=("cpu", "xla")):
    return summarise(
        {
            "run": {"options": {"timed": list(timed)}, "seed": 0, "reference": "reference", "engines": list(engines)},
            "cases": list(cases),
        }
    )


def test_a_run_of_nothing_came_to_nothing():
    found = summary()
    assert (found.total, found.right, found.geometric_mean, found.engines) == (0, 0, None, ("cpu", "xla"))
    assert to_json(found)["geometric_mean_speedup"] is None


def test_the_worst_verdict_on_an_engine_counts():
    found = summary(case(verdicts=[verdict("cpu", "crash"), verdict("cpu", "bitwise"), verdict("xla", "within")]))
    (program,) = found.programs
    assert {engine: one["verdict"] for engine, one in program.verdicts.items()} == {"cpu": "crash", "xla": "within"}
    assert [one["verdict"] for one in program.failures] == ["crash"]
    assert (found.right, found.total, list(found.counts)) == (1, 2, ["within", "crash"])


def test_the_reference_is_shown_where_it_failed():
    assert summary(case(verdicts=[verdict("reference", "crash")])).engines == ("reference", "cpu", "xla")


def test_a_speed_up_is_the_quotient_of_the_times_that_are_shown():
    pairs = [
        timing(engine, n, *[s * (1 + n / 100)] * 20) for engine, s in (("xla", 3.0), ("cpu", 1.5)) for n in range(4)
    ]
    (program,) = summary(case(timings=pairs)).programs
    assert program.speedup.estimate == pytest.approx(program.timed["xla"].seconds / program.timed["cpu"].seconds)
    assert program.speedup.estimate == pytest.approx(2)
    assert (program.timed["cpu"].samples, program.timed["cpu"].processes) == (80, 4)
    assert program.timed["cpu"].spread == pytest.approx(0.03)


def test_one_side_alone_has_a_time_and_no_speed_up():
    (program,) = summary(case(timings=[timing("cpu", 0, 1.0, 1.0)])).programs
    assert (program.speedup, program.timed.keys()) == (None, {"cpu"})
    assert program.doubts == ("only one process",)


def test_doubts_are_said_once_with_how_many_had_them():
    doubt = ("drift", "details")
    timings = [timing("cpu", n, 1.0, doubts=[doubt] * (n < 2)) for n in range(3)] + [
        timing("xla", n, 1.0) for n in range(3)
    ]
    (program,) = summary(case(timings=timings)).programs
    assert program.doubts == ("drift on cpu, 2 of 3 processes",)


def test_a_ratio_says_what_may_be_claimed_of_it():
    assert ratio_json(None) is None
    assert ratio_json(Ratio(2.0, 1.9, 2.1))["verdict"] == "faster"
    assert ratio_json(Ratio(1.0, 0.5, 2.0))["verdict"] == "unclear"
