"""What a campaign's worker does with a case, in this process."""

from __future__ import annotations

import gc
import itertools
import os
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.generate.choices import RandomChoices
from compiler.generate.exhaustive import Packing, space_of
from compiler.generate.kernels import KERNELS
from compiler.generate.lapack import BY_ROUTINE
from compiler.ir.types import F32
from xlabench import custom_calls
from xlabench.cases.layouts import LAYOUTS
from xlabench.fuzzing import asking, blocks, case_failure, case_records, fuzz_jobs, generate, packs, seed_order
from xlabench.fuzzing.case import Case

HERE = Path(__file__).resolve().parents[1]


@pytest.fixture
def batch(tmp_path, monkeypatch):
    """Runs cases whose first engine is wrong, in a folder of theirs."""
    monkeypatch.syspath_prepend(HERE)
    arguments = {
        "factory": "broken_engines:engine",
        "engines": ["spoils", "right"],
        "drawing": {"drawer": "broken_engines:draw_with_the_same_inputs"},
        "folder": str(tmp_path),
    }
    return lambda *numbers: fuzz_jobs.batch({**arguments, "numbers": numbers}, lambda _stage: None)


def test_an_engine_that_changes_its_inputs_spoils_neither_the_evidence_nor_others(tmp_path, batch):
    batch(0, 1)
    for record in case_records.records_in(tmp_path):
        assert record["verdicts"]["spoils"] == ["wrong", "changed its inputs", "inputs"]
        assert record["verdicts"]["right"][0] == "bitwise"
    kept = list(case_failure.left_in(tmp_path))
    assert [failure.number for failure in kept] == [0, 1]
    for failure in kept:
        np.testing.assert_array_equal(failure.inputs[0], [0, 1, 2])
        np.testing.assert_array_equal(failure.expected[0], [0, -1, -2])
        np.testing.assert_array_equal(failure.actual[0], [0, -1, -2])


def test_what_a_process_was_writing_when_it_ended_spoils_no_other_record(tmp_path, batch):
    batch(0)
    with (tmp_path / "records.jsonl").open("a") as records:
        records.write('{"number": 1, "verd')
    assert [record["number"] for record in case_records.records_in(tmp_path)] == [0]
    batch(2)
    assert [record["number"] for record in case_records.records_in(tmp_path)] == [0, 2]


def test_a_finding_that_is_half_written_is_none(tmp_path, batch, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _descriptor: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        batch(0)
    assert list(case_failure.left_in(tmp_path)) == []


def test_cycles_of_one_batch_are_gone_before_the_next():
    class Node(list):
        pass

    with fuzz_jobs.seldom_collecting():
        node = Node()
        node.append(node)
        left = weakref.ref(node)
        del node
    assert left() is None
    assert not gc.get_freeze_count()


def test_findings_of_engines_that_say_much_have_names_that_files_may_have():
    specs = [f"cpu:disable_passes={'+'.join(['loop-invariant-code-motion'] * count)}" for count in (9, 10)]
    names = [fuzz_jobs._name_of(7, spec) for spec in specs]
    assert len(set(names)) == 2
    assert all(len(name) < 128 and name.startswith("7-cpu-") for name in names)


def test_a_program_is_called_with_all_its_inputs_and_those_that_fail_are_kept(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    arguments = {
        "factory": "broken_engines:engine",
        "engines": ["errs-on-nan", "right"],
        "drawing": {"drawer": "broken_engines:draw_with_two_kinds_of_inputs"},
        "folder": str(tmp_path),
        "numbers": [0],
    }
    said = []
    fuzz_jobs.batch(arguments, said.append)
    (record,) = case_records.records_in(tmp_path)
    assert [verdict for verdict, *_ in record["verdicts"].values()] == ["wrong", "bitwise"]
    (failure,) = case_failure.left_in(tmp_path)
    assert (failure.engine, failure.note) == ("errs-on-nan", "inputs of the kind special")
    np.testing.assert_array_equal(failure.inputs[0], [1, np.nan, 2])
    np.testing.assert_array_equal(failure.expected[0], [-1, np.nan, -2])
    np.testing.assert_array_equal(failure.actual[0], [0, 0, 0])
    assert [stage for stage in said if " right run" in stage] == [
        "0 right run",
        "0 right run@special",
        "0 right run@equal",
        "0 right run",
        "0 right run",
    ]
    stages = {"drawing", "reference", "judging", "trying the judge", "tracing", "telling"}
    stages |= {f"{spec} {stage}" for spec in arguments["engines"] for stage in ("compile", "run")}
    assert set(record["seconds"]) == stages
    assert all(seconds >= 0 for seconds in record["seconds"].values())


@pytest.mark.parametrize(
    ("engine", "verdict", "said"),
    [("writes-on", "wrong", "changed while another call ran"), ("forgets", "flaky", "differently")],
)
def test_results_are_held_while_other_calls_run_and_the_first_call_is_made_again(
    tmp_path, monkeypatch, engine, verdict, said
):
    monkeypatch.syspath_prepend(HERE)
    arguments = {
        "factory": "broken_engines:engine",
        "engines": [engine],
        "drawing": {"drawer": "broken_engines:draw_with_two_kinds_of_inputs"},
        "folder": str(tmp_path),
        "numbers": [0],
    }
    fuzz_jobs.batch(arguments, lambda _stage: None)
    (failure,) = case_failure.left_in(tmp_path)
    assert (failure.verdict, said in failure.message) == (verdict, True)


def test_the_first_call_is_made_again_on_arrays_that_lie_otherwise(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    arguments = {
        "factory": "broken_engines:engine",
        "engines": ["takes-views-for-zeros"],
        "drawing": {"drawer": "broken_engines:draw_with_two_kinds_of_inputs"},
        "folder": str(tmp_path),
        "numbers": list(range(len(LAYOUTS))),
    }
    fuzz_jobs.batch(arguments, lambda _stage: None)
    left = case_failure.left_in(tmp_path)
    said = {failure.number: (failure.verdict, failure.message, failure.layout) for failure in left}
    assert said == {
        number: ("wrong", f"answers otherwise where its arrays are {name}", name)
        for number, name in enumerate(LAYOUTS)
        if name in ("strided", "backwards")
    }


def test_a_simulator_is_called_less_often_than_a_processor():
    case = Case(0, None, [], others={"special": [], "equal": [], "ties": []})
    engines = ("cpu", "xla", "nvptx", "nvptx:sim", "reference")
    assert [len(asking.call_numbers_on(spec, case)) for spec in engines] == [4, 4, 4, 1, 1]


SCATTERED = """
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main { x = f32[9] parameter(0) i = s32[COUNT,1] parameter(1) u = f32[COUNT] parameter(2)
  ROOT y = f32[9] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
    index_vector_dim=1, to_apply=sum }
"""


@pytest.mark.parametrize(("count", "every"), [(4096, "KERNELS_SIMULATED"), (4097, "DEAR_SIMULATED")])
def test_a_simulator_comes_to_kernels_often_but_to_many_updates_as_to_all_that_takes_it_seconds(count, every, tmp_path):
    module = compiler.parse(SCATTERED.replace("COUNT", str(count)))
    work = fuzz_jobs._Work(None, ("cpu", "nvptx:sim"), None, None, tmp_path, None, None, is_endless=True)
    numbers = [n for n in range(2000) if not seed_order.is_seed(n)]
    asked = [n for n in numbers if "nvptx:sim" in work._asked(Case(n, module, [], is_apart=True))]
    found = sorted({n // blocks.BLOCK for n in asked})
    assert {one - other for other, one in itertools.pairwise(found)} == {getattr(blocks, f"{every}_EVERY")}


def test_a_simulator_comes_to_what_it_takes_seconds_for_in_turn_but_not_first(tmp_path):
    large = compiler.parse("ENTRY main { x = f32[70000] parameter(0)  ROOT y = f32[70000] negate(x) }")
    work = fuzz_jobs._Work(None, ("cpu", "nvptx:sim"), None, None, tmp_path, None, None, is_endless=True)
    numbers = [n for n in range(3000) if not seed_order.is_seed(n) and "nvptx:sim" in work._asked(Case(n, large, []))]
    found = sorted({n // blocks.BLOCK for n in numbers})
    assert found == list(range(blocks.DEAR_SIMULATED_FROM, 150, blocks.DEAR_SIMULATED_EVERY))
    assert sum(map(generate.is_of_routines, numbers)) == 1


def test_a_simulator_is_not_asked_about_kernels_that_call_lapack_unless_there_is_nothing_else(tmp_path):
    def called(recipe):
        packing = Packing("m", replace(space_of(("f32", "pred", "s32"), frozenset()), most_elements=1 << 14))
        packing.kernel(recipe, F32, RandomChoices(1))
        return Case(0, packing.finish(), [], is_apart=True)

    def asked(specs, case):
        work = fuzz_jobs._Work(None, specs, None, None, tmp_path, None, None, is_endless=True)
        return work._asked(case)

    assert asked(("cpu", "nvptx:sim"), called(BY_ROUTINE["getrf"])) == ["cpu"]
    assert asked(("nvptx:sim",), called(BY_ROUTINE["getrf"])) == ["nvptx:sim"]
    assert asked(("cpu", "nvptx:sim"), called(KERNELS["rows"])) == ["cpu", "nvptx:sim"]


def test_only_engines_that_call_functions_are_asked_about_programs_that_do(tmp_path):
    custom_calls.use_own()
    module = compiler.parse("""ENTRY e { x = f32[2,3] parameter(0)
      ROOT r = f32[3,2] custom-call(x), custom_call_target="xlabench.turned" }""")
    specs = ("reference", "cpu", "cpu:fusion=off", "nvptx:sim", "xla")
    for is_endless in (False, True):
        work = fuzz_jobs._Work(None, specs, None, None, tmp_path, None, None, is_endless=is_endless)
        assert work._asked(Case(0, module, [])) == ["reference", "cpu", "cpu:fusion=off"]
    assert not packs.is_fit(Case(1, module, []))
