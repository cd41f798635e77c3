"""Programs compiled together are judged alone, and what fails only together is kept together."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import compiler
from xlabench.fuzzing import blocks, campaign, case_failure, case_records, fuzz_jobs, packs, seed_order
from xlabench.fuzzing.case import Case
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.fuzz import Generated
from xlabench.fuzzing.generate import PROFILES, draw_case

HERE = Path(__file__).resolve().parents[1]
NUMBERS = [1, 2, 3, 4]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs four small programs in a pack on an engine; gives their verdicts, and what was left of what went wrong."""
    monkeypatch.syspath_prepend(HERE)

    def batch(spec):
        arguments = {
            "factory": "broken_engines:engine",
            "engines": [spec],
            "drawing": {"drawer": "broken_engines:draw_small_ones"},
            "folder": str(tmp_path),
            "numbers": NUMBERS,
            "packs": [NUMBERS],
        }
        fuzz_jobs.batch(arguments, lambda _: None)
        records = {record["number"]: record for record in case_records.records_in(tmp_path)}
        return {n: record["verdicts"][spec][0] for n, record in records.items()}, list(case_failure.left_in(tmp_path))

    return batch


def test_what_is_right_together_is_right(run):
    assert run("right") == (dict.fromkeys(NUMBERS, "bitwise"), [])


def test_a_program_that_is_wrong_in_a_pack_is_found_alone(run):
    verdicts, left = run("drops")
    assert verdicts == {1: "bitwise", 2: "bitwise", 3: "wrong", 4: "bitwise"}
    assert [(failure.number, failure.module_text.count("parameter(")) for failure in left] == [(3, 1)]


TOGETHER = {
    "errs-together": ("wrong", 3, [6, 5, 4, -5, -6, -7]),
    "raises-together": ("compile-error", 1, [-2, -3, -4, -3, -4, -5]),
}


@pytest.mark.parametrize(("spec", "verdict", "first", "expected"), [(spec, *row) for spec, row in TOGETHER.items()])
def test_what_is_wrong_together_only_is_kept_with_the_fewest_that_are(run, spec, verdict, first, expected):
    verdicts, (failure,) = run(spec)
    assert sorted(verdicts.values()) == ["bitwise"] * 3 + [verdict]
    assert (failure.verdict, failure.note) == (
        verdict,
        f"the programs {first}, {first + 1} in one, which are right alone",
    )
    np.testing.assert_array_equal(np.concatenate(failure.expected), expected)


def test_a_simulator_is_asked_about_those_of_a_pack_whose_turn_it_is(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    numbers = [blocks.BLOCK + turn for turn in (5, 6, 7, 8)]
    arguments = {
        "factory": "broken_engines:engine",
        "engines": ["right", "nvptx:sim"],
        "drawing": {"drawer": "broken_engines:draw_small_ones", "packed": True},
        "folder": str(tmp_path),
        "numbers": numbers,
        "packs": [numbers],
    }
    fuzz_jobs.batch(arguments, lambda _: None)
    engines = {record["number"]: {*record["verdicts"]} for record in case_records.records_in(tmp_path)}
    of_seed = {number: seed_order.is_seed(number) for number in numbers}
    assert engines == {number: {"right", "nvptx:sim"} if of_seed[number] else {"right"} for number in numbers}
    assert {*of_seed.values()} == {True, False}


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_a_pack_means_what_its_members_mean(profile):
    cases = [case for case in (draw_case(PROFILES[profile], 5, n) for n in range(12)) if packs.is_fit(case)]
    pack = packs.Pack(packs.pack(cases), cases, [_expected(case) for case in cases])
    compiler.verify(pack.case.module)
    for (kind, inputs), expected in zip(pack.case.calls, pack.whole().values(), strict=True):
        actual = compiler.interpret(pack.case.module, *inputs)
        assert [array.tobytes() for array in actual] == [array.tobytes() for array in expected], kind


def _expected(case):
    return {kind: compiler.interpret(case.module, *inputs) for kind, inputs in case.calls}


class OfPacks(Generated):
    """Small programs, of which those are packed whose numbers say so."""

    def support(self, config, support_probe):
        return {"banned": []}

    def drawing(self, config, support):
        return {"drawer": "broken_engines:draw_small_ones", "packed": True}


@pytest.mark.slow
def test_a_pack_that_ends_a_process_is_a_finding_where_no_member_does(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")])))
    config = Config(("dies-together",), count=5, max_probes=0, factory="broken_engines:engine")
    summary = campaign.run(replace(config), OfPacks(), tmp_path / "campaign", observe=lambda *_: None)
    (found,) = summary["findings"]
    assert (found["verdict"], found["cases"]) == ("crash", (1, 3))
    assert found["note"] == "the programs 1, 2 in one, which are right alone"
    assert summary["verdicts"] == {"dies-together bitwise": 3, "dies-together crash": 2}


_CALL = """ENTRY e {{ x = f32[3,3] parameter(0)
    ROOT y = (f32[3,3], s32[3], s32[]) custom-call(x), custom_call_target="{target}" }}"""


@pytest.mark.parametrize("number", [24, 25])
@pytest.mark.parametrize(
    ("text", "is_dear"),
    [
        (_CALL.format(target="lapack_sgetrf_ffi"), True),
        (_CALL.format(target="another"), False),
        ("ENTRY e { x = f32[300,300] parameter(0)  ROOT y = f32[300,300] negate(x) }", True),
        ("ENTRY e { x = f32[3] parameter(0)  ROOT y = f32[3] negate(x) }", False),
    ],
)
def test_what_a_program_holds_makes_it_dear_to_simulate_and_not_its_number(number, text, is_dear):
    assert packs.is_dear(Case(number, compiler.parse(text), [])) == is_dear
