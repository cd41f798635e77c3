"""What is said of two nights, on synthetic samples: planted slowdowns by name, and nothing where there is none."""

import itertools

import numpy as np
import pytest

from xlabench.timing import change
from xlabench.timing.change import Measured

BASELINE, CANDIDATE = TIMED = ("cpu:fusion=off", "cpu")
SECONDS = {BASELINE: 5e-4, CANDIDATE: 1e-4}
CANARIES = {"compute": 2e-5, "memory": 1e-3, "threads": 8e-4}
PROGRAMS = [f"p{number}" for number in range(15)]


def samples(rng, seconds, noise, processes=3):
    """Rounds of some processes, which differ by `noise`, and a third of the rounds by a neighbour's doing."""
    for _ in range(processes):
        level = seconds * rng.lognormal(0, noise)
        yield level * rng.lognormal(0, 0.01, 20) * np.where(rng.random(20) < 0.3, rng.uniform(1.1, 2, 20), 1)


def measured(rng, *, engines=(), canaries=(), machine=1.0, noise=0.003, **plan):
    """One program in one night, with the factors by which engines and canaries are slower than usual."""
    factors = {**dict(engines), **dict(canaries)}
    rows = {
        kind: [
            {owner: name, "process": process, "samples": list(rounds)}
            for name, seconds in usual.items()
            for process, rounds in enumerate(samples(rng, seconds * machine * factors.get(name, 1), noise, **plan))
        ]
        for kind, owner, usual in (("timings", "engine", SECONDS), ("canaries", "canary", CANARIES))
    }
    return Measured.of(rows)


def nights(later=(), programs=PROGRAMS, seed=0, **both):
    """Two nights in the second of which `p0` is measured otherwise."""
    rng = np.random.default_rng(seed)
    before = {name: measured(rng, **both) for name in programs}
    return before, {name: measured(rng, **both, **(dict(later) if name == "p0" else {})) for name in programs}


def kinds(changes, program="p0"):
    return tuple(next(one.kind for one in changes if (one.program, one.engine) == (program, e)) for e in TIMED)


PLANTED = {
    "nothing": ({}, ("same", "same"), "same"),
    "both are slower, the candidate less": (
        {"engines": {BASELINE: 7, CANDIDATE: 1.2}},
        ("slower", "slower"),
        "both changed",
    ),
    "both are slower alike": ({"engines": {BASELINE: 3.8, CANDIDATE: 3.8}}, ("slower", "slower"), "both changed"),
    "the candidate is slower": ({"engines": {CANDIDATE: 1.25}}, ("same", "slower"), "candidate changed"),
    "the baseline is slower": ({"engines": {BASELINE: 1.25}}, ("slower", "same"), "baseline changed"),
    "the candidate is faster": ({"engines": {CANDIDATE: 0.75}}, ("same", "faster"), "candidate changed"),
    "the baseline is faster": ({"engines": {BASELINE: 0.75}}, ("faster", "same"), "baseline changed"),
    "one is slower, the other faster": (
        {"engines": {BASELINE: 1.3, CANDIDATE: 0.7}},
        ("slower", "faster"),
        "both changed",
    ),
    "the machine is slower": ({"machine": 1.3}, ("same", "same"), "same"),
    "the machine is faster": ({"machine": 0.7}, ("same", "same"), "same"),
    "the machine and an engine are slower": (
        {"machine": 1.2, "engines": {CANDIDATE: 1.3}},
        ("same", "slower"),
        "candidate changed",
    ),
    "a faster machine hides a slower engine": (
        {"machine": 0.75, "engines": {CANDIDATE: 1.3}},
        ("same", "slower"),
        "candidate changed",
    ),
    "too little to be seen": ({"engines": {BASELINE: 1.005, CANDIDATE: 1.005}}, ("same", "same"), "same"),
    "memory is slower, and so is what needs it": (
        {"canaries": {"memory": 1.4}, "engines": {CANDIDATE: 1.3}},
        ("unclear", "unclear"),
        "changed",
    ),
    "another machine": ({"machine": 3.0}, ("unclear", "unclear"), "same"),
}
"""How the second night differs; what is said of baseline and candidate, and of the speed-up."""


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_said_follows_the_own_time_of_each_engine(planted, seed):
    later, own, speedup = PLANTED[planted]
    before, after = nights(later, seed=seed)
    found = change.times(before, after)
    assert kinds(found) == own
    others = [one.kind for one in found if one.program != "p0"]
    assert not set(others) & set(change.CLAIMS)
    said = {one.program: one.kind for one in change.speedups(before, after, TIMED, found)}
    assert said["p0"] == speedup
    assert set(said.values()) - {said["p0"]} <= {"same", "unclear"}


@pytest.mark.parametrize("factor", [0.3, 0.7, 1.3, 4.0])
def test_a_claim_says_the_factor_with_an_interval_that_holds_it(factor):
    found = next(one for one in change.times(*nights({"engines": {CANDIDATE: factor}})) if one.kind in change.CLAIMS)
    assert (found.engine, found.kind) == (CANDIDATE, "slower" if factor > 1 else "faster")
    said = max(factor, 1 / factor)
    assert found.factor.low < said < found.factor.high
    assert found.factor.estimate == pytest.approx(said, rel=0.05)
    assert found.after / found.before == pytest.approx(factor, rel=0.05)


def test_a_machine_that_is_another_leaves_all_undecided_and_says_why():
    before, after = nights({"engines": {CANDIDATE: 4}})
    found = change.times(before, after, obstacle="another machine")
    assert {(one.kind, one.reason, one.speed) for one in found} == {("unclear", "another machine", None)}
    with pytest.raises(ValueError, match="another machine"):
        _ = found[0].factor


@pytest.mark.parametrize(
    ("canaries", "says"),
    [({"memory": 1.8}, "more than 1.5x slower on the canary 'memory'"), ({"compute": 0.5}, "faster on the canary")],
)
def test_a_canary_that_changed_too_much_is_the_reason(canaries, says):
    found = change.times(*nights({"canaries": canaries, "engines": {CANDIDATE: 9}}))
    reasons = [one.reason for one in found if one.program == "p0"]
    assert len(reasons) == 2
    assert all(says in reason for reason in reasons)


@pytest.mark.parametrize("lost", ["before", "after"])
def test_without_canaries_nothing_is_decided_of_times_but_of_speed_ups(lost):
    before, after = nights({"engines": {CANDIDATE: 4}})
    for run in [before] if lost == "before" else [after]:
        run.update({name: Measured(one.engines, {}) for name, one in run.items()})
    found = change.times(before, after)
    assert {one.kind for one in found} == {"unclear"}
    assert all("no canary was timed in both runs" in one.reason for one in found)
    assert change.machine(before, after) == {}
    assert change.speedups(before, after, TIMED, found)[0].kind == "changed"


def test_only_what_both_runs_timed_is_judged():
    before, after = nights()
    del before["p1"]
    before["p0"] = Measured({CANDIDATE: before["p0"].engines[CANDIDATE]}, before["p0"].canaries)
    found = change.times(before, after)
    assert [one.engine for one in found if one.program == "p0"] == [CANDIDATE]
    assert "p1" not in {one.program for one in found}
    assert "p0" not in {one.program for one in change.speedups(before, after, TIMED, found)}


@pytest.mark.slow
def test_what_is_within_the_relevance_is_never_claimed():
    changed = {"engines": dict.fromkeys(TIMED, 1 + change.RELEVANCE)}
    for seed in range(10):
        assert not set(kinds(change.times(*nights(changed, seed=seed)))) & set(change.CLAIMS)


def test_one_process_decides_what_is_large_only():
    for factor, kind in ((1.2, "unclear"), (4, "slower")):
        before, after = nights({"engines": {CANDIDATE: factor}}, processes=1)
        assert kinds(change.times(before, after))[1] == kind


def test_a_clock_that_stood_still_measured_nothing():
    rows = [{"engine": "cpu", "process": 0, "samples": [0.0, 0.0]}]
    assert Measured.of({"timings": rows}) == Measured({}, {})


def test_a_program_alone_is_enough_to_time_it_once_more():
    before, after = (night["p0"] for night in nights({"engines": {BASELINE: 1.3, CANDIDATE: 1.3}}))
    assert change.looks_slower(before, after)
    assert not change.looks_slower(after, before)
    assert not change.looks_slower(before, before)


def test_the_speed_of_the_machine_is_that_of_each_canary():
    before, after = nights({"machine": 1.2}, programs=["p0"])
    assert change.machine(before, after) == {name: pytest.approx(1 / 1.2, rel=0.05) for name in CANARIES}


NIGHTS = 200


def night(rng, spread, programs):
    """A night in which nothing changed but the machine: processes differ, each program's by an amount of its own."""
    drift = dict(zip(CANARIES, rng.uniform(0.9, 1.1, len(CANARIES)), strict=True))
    found = {}
    for program in range(programs):
        weights = np.random.default_rng(program).dirichlet(np.ones(len(CANARIES)))
        own = spread * (1 + program % 3)
        bound = np.prod([drift[name] ** w for name, w in zip(CANARIES, weights, strict=True)])
        found[str(program)] = Measured(
            {e: dict(enumerate(s * bound * rng.lognormal(0, own, 3))) for e, s in SECONDS.items()},
            {c: dict(enumerate(s * drift[c] * rng.lognormal(0, spread, 3))) for c, s in CANARIES.items()},
        )
    return found


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.002, 0.01, 0.03, 0.1])
def test_of_a_hundred_nights_in_which_nothing_changed_one_at_most_says_otherwise(spread):
    """Simulated with a fixed seed, 30 programs of different noise, of any mixture of what the canaries do."""
    rng = np.random.default_rng(int(spread * 1000))
    seen = [night(rng, spread, 30) for _ in range(NIGHTS + 1)]
    alarms = 0
    for before, after in itertools.pairwise(seen):
        times = change.times(before, after)
        speedups = change.speedups(before, after, TIMED, times)
        alarms += any(one.kind in change.CLAIMS for one in times) or any("changed" in one.kind for one in speedups)
    assert alarms <= NIGHTS * change.FALSE_ALARMS
