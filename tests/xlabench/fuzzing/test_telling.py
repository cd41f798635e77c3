"""Which instructions tell: their values, were they others, would show in a result."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from reports.fuzzing import page
from xlabench.cases.inputs import DTYPES
from xlabench.fuzzing import telling
from xlabench.fuzzing.case_records import nothing_known
from xlabench.fuzzing.generate import PROFILES, draw_case
from xlabench.fuzzing.progress import Progress


def counted(found):
    """By opcode how many were asked, and how many told."""
    return {
        opcode: [sum(one.opcode == opcode for one in found), sum(one.opcode == opcode and one.tells for one in found)]
        for opcode in {one.opcode for one in found}
    }


def told(body, *inputs):
    module = compiler.parse(body)
    return counted(telling.told(module, [inputs], np.random.default_rng(0)))


X = np.asarray([1, 2, 3, 4], np.float32)


def test_what_reaches_a_result_tells_and_what_is_swallowed_does_not():
    found = told(
        """ENTRY main { x = f32[4] parameter(0) z = f32[] constant(0) zs = f32[4] broadcast(z), dimensions={}
        e = f32[4] exponential(x) m = f32[4] multiply(e, zs) d = f32[4] negate(x) ROOT s = f32[4] add(m, x) }""",
        X,
    )
    assert found["add"] == [1, 1]
    assert found["multiply"] == [1, 1]
    assert found["exponential"] == [1, 0]
    assert found["negate"] == [1, 0]


def test_a_size_that_was_known_tells_where_another_fits_nowhere():
    found = told(
        """ENTRY main { x = f32[3] parameter(0) n = s32[] get-dimension-size(x), dimensions={0}
        y = f32[3] set-dimension-size(x, n), dimensions={0} ROOT s = f32[3] add(x, y) }""",
        X[:3],
    )
    assert found["get-dimension-size"] == [1, 1]


@pytest.mark.parametrize("dims", ["", "1", "3"])
def test_a_value_of_any_shape_is_another(dims):
    module = compiler.parse(f"ENTRY main {{ x = f32[{dims}] parameter(0) ROOT y = f32[{dims}] negate(x) }}")
    inputs = [np.ones([int(n) for n in dims.split(",") if n], np.float32)]
    assert all(
        counted(telling.told(module, [inputs], np.random.default_rng(seed))) == {"negate": [1, 1]} for seed in range(8)
    )


@pytest.mark.parametrize(
    ("computation", "result", "opcode"),
    [
        ("ROOT c = f32[] add(a, b)", "f32[] reduce(x, z), dimensions={0}, to_apply=f", "add"),
        ("ROOT c = pred[] compare(a, b), direction=LT", "f32[4] sort(x), dimensions={0}, to_apply=f", "compare"),
        ("n = f32[] negate(b) ROOT c = f32[] subtract(a, n)", "f32[] reduce(x, z), dimensions={0}, to_apply=f", ""),
    ],
)
def test_an_operation_by_which_others_combine_is_asked_about_only_if_it_is_run(computation, result, opcode):
    """The reference adds up an array at once: a change of the combiner's own sum shows nowhere."""
    found = told(
        f"""f {{ a = f32[] parameter(0) b = f32[] parameter(1) {computation} }}
        ENTRY main {{ x = f32[4] parameter(0) z = f32[] constant(0) ROOT r = {result} }}""",
        X[::-1],
    )
    assert opcode not in found
    assert (found.keys() & {"negate", "subtract"} != set()) == (not opcode)
    assert all(asked == tells for asked, tells in found.values())


def test_several_inputs_tell_more_than_one():
    module = compiler.parse(
        """ENTRY main { x = f32[4] parameter(0) p = pred[4] parameter(1) c = f32[4] cosine(x)
        ROOT m = f32[4] select(p, c, x) }"""
    )
    none, all_ = (np.full(4, value) for value in (False, True))
    alone = counted(telling.told(module, [[X, none]], np.random.default_rng(0)))
    both = counted(telling.told(module, [[X, none], [X, all_]], np.random.default_rng(0)))
    assert (alone["cosine"], both["cosine"]) == ([1, 0], [1, 1])


def test_a_loop_that_would_not_end_with_another_value_tells():
    found = told(
        """condition { s = (s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(4)
          ROOT c = pred[] compare(i, n), direction=NE }
        body { s = (s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 one = s32[] constant(2)
          j = s32[] add(i, one) ROOT t = (s32[]) tuple(j) }
        ENTRY main { z = s32[] constant(0) s = (s32[]) tuple(z) w = (s32[]) while(s), condition=condition, body=body
          ROOT r = s32[] get-tuple-element(w), index=0 }"""
    )
    assert found["add"] == [1, 1]


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_every_type_has_another_value(dtype):
    values = np.asarray([0, 1, 1, 0]).astype(dtype)
    other = telling._other(values)
    assert other.dtype == dtype
    assert all(one.tobytes() != two.tobytes() for one, two in zip(values, other, strict=True))


@pytest.mark.parametrize("profile", PROFILES)
def test_most_instructions_of_drawn_programs_tell(profile):
    found = []
    for number in range(30):
        case = draw_case(PROFILES[profile], 6, number)
        found += telling.told(case.module, [inputs for _, inputs in case.calls], np.random.default_rng(0))
    assert sum(one.tells for one in found) > len(found) / 2


def test_those_are_asked_first_of_whom_more_is_to_be_known():
    body = " ".join(f"y{number} = f32[4] negate(x)" for number in range(2 * telling.MOST_ASKED))
    module = compiler.parse(f"ENTRY main {{ x = f32[4] parameter(0) {body} ROOT r = f32[4] add(y0, y1) }}")
    found = telling.told(module, [[X]], np.random.default_rng(0), {"main/y1", "main/y7"})
    assert len(found) == telling.MOST_ASKED
    assert {one.instruction_id: one.tells for one in found if one.instruction_id in ("main/y1", "main/y7")} == {
        "main/y1": True,
        "main/y7": False,
    }


def test_shares_are_counted_and_shown():
    progress = Progress()
    record = nothing_known()
    progress.add({**record, "asked": {"add": 4, "and": 2}, "told": {"add": 3}})
    progress.add({**record, "asked": {"add": 2}, "told": {"add": 2}})
    assert Progress.from_json(progress.to_json()).told == {"add": 5}
    summary = progress.telling()
    assert summary == {"asked": 8, "told": 5, "share": 5 / 8, "by_opcode": {"add": [6, 5], "and": [2, 0]}}
    shown = page(
        {
            "config": {"seed": 0, "profile": "ratchet", "engines": ["cpu"]},
            "cases": 2, "cases_per_s": 1.0, "cases_per_s_and_core": 1.0, "instructions_per_case": 3.0, "findings": [],
            "coverage": {"of": "pairs", "reached": 0, "allowed": 0, "rules": {"dce: remove unused": 3},
                         "tellingly": {"dce: remove unused": 1}, "never": ["cpu dot row"], "missing": []},
            "verdicts": {}, "seconds": {"drawing": 1.0, "judging": 3.0}, "telling": summary,
            "variants": {"cpu opt=0": 2},
        }
    )  # fmt: skip
    assert "<td>dce: remove unused</td><td>3</td><td>1</td>" in shown
    assert "<td>cpu dot row</td>" in shown
    assert "62% of 8" in shown
    assert "<td>and</td><td>2</td><td>0%</td>" in shown
    assert "<td>judging</td><td>3.0</td><td>75%</td><td>0.7</td>" in shown
    assert "<td>cpu opt=0</td><td>2</td>" in shown
