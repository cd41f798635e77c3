"""How often loops iterate: what is said must be what the reference does."""

from __future__ import annotations

import itertools

import pytest

import compiler
from compiler.analysis.trip_count import known_trip_count

LOOP = """
cond {{ s = ({t}[], {t}[]) parameter(0)  i = {t}[] get-tuple-element(s), index=0  n = {t}[] constant({limit})
  ROOT p = pred[] compare({compared}), direction={direction} }}
body {{ s = ({t}[], {t}[]) parameter(0)  i = {t}[] get-tuple-element(s), index=0
  k = {t}[] get-tuple-element(s), index=1
  c = {t}[] constant({step})  one = {t}[] constant(1)  j = {t}[] {opcode}({summed})
  ROOT t = ({t}[], {t}[]) tuple(j, {t}[] add(k, one)) }}
ENTRY e {{ p = {t}[] parameter(0)  i = {t}[] constant({start})  z = {t}[] constant(0)
  s = ({t}[], {t}[]) tuple({first}, z)  ROOT w = ({t}[], {t}[]) while(s), condition=cond, body=body }}"""
PLAIN = {
    "t": "s32", "limit": 7, "compared": "i, n", "direction": "LT", "step": 1, "opcode": "add", "summed": "i, c",
    "start": 0, "first": "i",
}  # fmt: skip


def found(**change: object) -> tuple[compiler.Module, int | None]:
    module = compiler.parse(LOOP.format(**{**PLAIN, **change}))
    return module, known_trip_count(next(i for i in module.entry.instructions if i.opcode == "while"))


@pytest.mark.parametrize(("start", "limit", "step"), [*itertools.product((-3, 0, 5), (-4, 0, 5, 17), (1, 2, 7))])
@pytest.mark.parametrize("summed", ["i, c", "c, i"])
def test_trip_counts_are_those_of_the_reference(start: int, limit: int, step: int, summed: str) -> None:
    module, trip_count = found(start=start, limit=limit, step=step, summed=summed)
    _, count = compiler.interpret(module, module.entry.parameters[0].array.element_type.dtype.type(0))
    assert trip_count == int(count)


@pytest.mark.parametrize(
    "change",
    [
        {"direction": "NE"},
        {"compared": "n, i"},
        {"opcode": "multiply", "step": 2},
        {"step": -1},
        {"first": "p"},
        {"t": "s8", "limit": 120, "step": 9},
        {"summed": "k, c"},
    ],
    ids=str,
)
def test_what_is_not_certain_is_not_said(change: dict[str, object]) -> None:
    assert found(**change)[1] is None


def test_a_counter_that_a_fusion_computes_with_other_things_is_counted() -> None:
    fused = """f {{ x = s32[] parameter(0)  y = s32[] parameter(1)  one = s32[] constant({step})  up = s32[] add(x, one)
      more = s32[] add(y, x)  ROOT t = (s32[], s32[]) tuple({order}) }}
    body {{ s = (s32[], s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
      k = s32[] get-tuple-element(s), index=1  g = (s32[], s32[]) fusion({given}), kind=kLoop, calls=f
      a = s32[] get-tuple-element(g), index=0  b = s32[] get-tuple-element(g), index=1
      ROOT t = (s32[], s32[]) tuple(a, b) }}
    cond {{ s = (s32[], s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(7)
      ROOT p = pred[] compare(i, n), direction=LT }}
    ENTRY e {{ z = s32[] constant(0)  s = (s32[], s32[]) tuple(z, z)
      ROOT w = (s32[], s32[]) while(s), condition=cond, body=body }}"""
    for order, given, step, trip_count in (
        ("up, more", "i, k", 2, 4),
        ("more, up", "i, k", 2, None),
        ("up, more", "k, i", 2, None),
        ("up, more", "i, k", -2, None),
    ):
        module = compiler.parse(fused.format(order=order, given=given, step=step))
        (loop,) = (i for i in module.entry.instructions if i.opcode == "while")
        assert known_trip_count(loop) == trip_count
