"""Some results are theirs in the whole, and trials of excuses run what is wrong, within the work that they may do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import compiler
from xlabench.judging import excuses, liberties
from xlabench.judging.judge import Judgement, Standard, judge
from xlabench.judging.liberties import LIBERTIES, Allowance, SpentError, runs, touches
from xlabench.judging.some_results import slice_of

TINY = np.array([1e-45, 0.5, -1e-45, 3], np.float32)
SEVERAL = """ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) u = f32[4] ceil(y) s = f32[4] sine(x)
  t = f32[4] cosine(s) ROOT r = (f32[4], f32[4], f32[4]) tuple(t, u, s) }"""
TWICE = """ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) u = f32[4] ceil(y) s = f32[4] sine(x)
  ROOT r = (f32[4], f32[4], f32[4]) tuple(u, s, u) }"""
DRAWN = """ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) u = f32[4] ceil(y) a = f32[] constant(0)
  b = f32[] constant(1) s = f32[4] rng(a, b), distribution=rng_uniform
  ROOT r = (f32[4], f32[4], f32[4]) tuple(s, u, x) }"""
ROUNDS = """cond { p = (s32[], f32[4], f32[4]) parameter(0) i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(ROUNDS) ROOT c = pred[] compare(i, n), direction=LT }
body { p = (s32[], f32[4], f32[4]) parameter(0) i = s32[] get-tuple-element(p), index=0
  x = f32[4] get-tuple-element(p), index=1 v = f32[4] get-tuple-element(p), index=2 u = f32[4] ceil(x)
  s = f32[4] maximum(u, v) o = s32[] constant(1) j = s32[] add(i, o)
  ROOT t = (s32[], f32[4], f32[4]) tuple(j, x, s) }
ENTRY e { x = f32[4] parameter(0) z = s32[] constant(0) t = (s32[], f32[4], f32[4]) tuple(z, x, x)
  w = (s32[], f32[4], f32[4]) while(t), condition=cond, body=body
  ROOT r = f32[4] get-tuple-element(w), index=2 }"""


def judged(text: str, inputs: list[np.ndarray], number: int, factors: list[float]) -> Judgement:
    """What is said where elements of one result are so many times what they should be."""
    module = compiler.parse(text)
    expected = compiler.interpret(module, *inputs)
    actual = [np.array(array) for array in expected]
    actual[number] = (actual[number] * np.float32(factors)).astype(np.float32)
    return judge(module, inputs, expected, actual, Standard(liberties=frozenset(LIBERTIES)))


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, tuple[str, ...]]]:
    """The programs and liberties of all trials."""
    found: list[tuple[Any, tuple[str, ...]]] = []

    def noted(module: Any, inputs: Any, names: Any, *more: Any) -> Iterator[list[np.ndarray]]:
        found.append((module, tuple(names)))
        return runs(module, inputs, names, *more)

    monkeypatch.setattr(excuses.liberties, "runs", noted)
    return found


@pytest.mark.parametrize(("factors", "verdict"), [([0, 1, 1, 1], "undecided"), ([0, 2, 1, 1], "wrong")])
def test_only_what_is_wrong_is_tried(tried: list[Any], factors: list[float], verdict: str) -> None:
    assert judged(SEVERAL, [TINY, TINY], 1, factors).verdict == verdict
    assert tried
    assert {one.opcode for module, _ in tried for one in module.instructions()} == {"parameter", "ceil"}


@pytest.mark.parametrize("text", [TWICE, DRAWN], ids=["one array twice", "beside what is random"])
@pytest.mark.parametrize(("factors", "verdict"), [([0, 1, 1, 1], "undecided"), ([0, 2, 1, 1], "wrong")])
def test_results_have_their_excuses_beside_others(text: str, factors: list[float], verdict: str) -> None:
    module = compiler.parse(text)
    number = [operand.name for operand in module.entry.root.operands].index("u")
    assert judged(text, [TINY, TINY], number, factors).verdict == verdict


@pytest.mark.parametrize("text", [SEVERAL, TWICE])
@pytest.mark.parametrize("numbers", [{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}])
def test_some_results_are_theirs_in_the_whole(text: str, numbers: set[int]) -> None:
    module, inputs = compiler.parse(text), [TINY, TINY[::-1]]
    whole = compiler.interpret(module, *inputs)
    some = slice_of(module, 3, numbers)
    assert some is not None
    assert set(some.indices) == numbers
    found = compiler.interpret(some.module, *some.given(inputs))
    for number, index in some.indices.items():
        assert found[index].tobytes() == whole[number].tobytes()


def test_what_is_random_is_not_taken_apart() -> None:
    module = compiler.parse(DRAWN)
    assert slice_of(module, 3, {0}) is None
    assert slice_of(module, 3, {1}) is not None


@pytest.mark.parametrize(
    ("liberty", "meant", "others"),
    [
        ("added-zeros", ["add(x, x)", "subtract(x, x)"], ["multiply(x, x)", "ceil(x)"]),
        ("denormals", ["add(x, x)", "ceil(x)"], []),
        ("initial-values", ["reduce(x, z), dimensions={}, to_apply=f"], ["add(x, x)", "ceil(x)"]),
        ("payloads", ["add(x, x)", "ceil(x)"], []),
    ],
)
def test_a_liberty_touches_what_it_has_to_do_with(liberty: str, meant: list[str], others: list[str]) -> None:
    text = """f {{ a = {t}[] parameter(0) b = {t}[] parameter(1) ROOT c = {t}[] maximum(a, b) }}
      ENTRY e {{ x = {t}[] parameter(0) z = {t}[] parameter(1) ROOT r = {t}[] {op} }}"""
    for operation in meant + others:
        assert touches(liberty, compiler.parse(text.format(t="f32", op=operation))) is (operation in meant)
    integers = compiler.parse(text.format(t="s32", op="multiply(x, x)"))
    assert not touches(liberty, integers)


@pytest.mark.parametrize("rounds", [3, 1_000, 100_000])
def test_trials_end_after_so_many_instructions(monkeypatch: pytest.MonkeyPatch, rounds: int) -> None:
    made: list[Allowance] = []

    def noted(left: int) -> Allowance:
        made.append(Allowance(left))
        return made[-1]

    monkeypatch.setattr(excuses.liberties, "Allowance", noted)
    monkeypatch.setattr(excuses, "_MOST_WORK", 2_000)
    module, inputs = compiler.parse(ROUNDS.replace("ROUNDS", str(rounds))), [TINY]
    expected = [np.ceil(np.maximum(TINY, 0))]
    actual = [expected[0] * np.float32([0, 2, 1, 1])]
    question = excuses.Question(
        module, inputs, expected, actual, Standard().policy, None, frozenset(LIBERTIES), rounding=False, own=expected
    )
    found = excuses.answer(question)
    assert not found.excuse
    assert ("2,000 instructions" in found.trouble) is (rounds > 3)
    (allowance,) = made
    assert (allowance.left == -1) is (rounds > 3)


def test_what_stays_wrong_says_that_not_all_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excuses, "_MOST_WORK", 40)
    judgement = judged(ROUNDS.replace("ROUNDS", "5"), [TINY], 0, [0, 2, 1, 1])
    assert judgement.verdict == "wrong"
    assert "not every excuse was looked for: trials of it come to more than 40 instructions" in judgement.message


def test_large_results_count_as_several() -> None:
    module = compiler.parse(f"ENTRY e {{ x = f32[{1 << 14}] parameter(0) ROOT y = f32[{1 << 14}] ceil(x) }}")
    inputs = [np.zeros(1 << 14, np.float32)]
    assert len(list(runs(module, inputs, ["denormals"], 1, Allowance(5)))) == 1
    with pytest.raises(SpentError):
        list(runs(module, inputs, ["denormals"], 1, Allowance(4)))
    assert liberties.SpentError is SpentError
