"""Loops computed block by block agree with the reference iteration by iteration, wherever a block or a vector ends."""

from __future__ import annotations

import numpy as np
import pytest

import compiler

COUNTED = """HloModule m
body {{
  s = (s32[], {type}[{dims}], {type}[{dims}], {type}[{dims}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = {type}[{dims}] get-tuple-element(s), index=1
  y = {type}[{dims}] get-tuple-element(s), index=2
  c = {type}[{dims}] get-tuple-element(s), index=3
  sum = {type}[{dims}] {op}(y, c)
  ROOT r = (s32[], {type}[{dims}], {type}[{dims}], {type}[{dims}]) tuple(next, sum, x, c)
}}
condition {{
  s = (s32[], {type}[{dims}], {type}[{dims}], {type}[{dims}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({trip_count})
  ROOT again = pred[] compare(i, n), direction=LT
}}
ENTRY e {{
  zero = s32[] constant(0)
  x = {type}[{dims}] parameter(0)
  y = {type}[{dims}] parameter(1)
  v = {type}[{last}] parameter(2)
  c = {type}[{dims}] broadcast(v), dimensions={{{along}}}
  t = (s32[], {type}[{dims}], {type}[{dims}], {type}[{dims}]) tuple(zero, x, y, c)
  w = (s32[], {type}[{dims}], {type}[{dims}], {type}[{dims}]) while(t), condition=condition, body=body
  a = {type}[{dims}] get-tuple-element(w), index=1
  b = {type}[{dims}] get-tuple-element(w), index=2
  ROOT both = ({type}[{dims}], {type}[{dims}]) tuple(b, a)
}}
"""

UNTIL_ALL_REST = """HloModule m
any {{
  a = pred[] parameter(0)
  b = pred[] parameter(1)
  ROOT or = pred[] or(a, b)
}}
body {{
  s = (s32[], f32[{n}], s32[{n}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[{n}] get-tuple-element(s), index=1
  k = s32[{n}] get-tuple-element(s), index=2
  limit = f32[] constant(100)
  limits = f32[{n}] broadcast(limit), dimensions={{}}
  alive = pred[{n}] compare(x, limits), direction=LT
  doubled = f32[{n}] add(x, x)
  moved = f32[{n}] select(alive, doubled, x)
  more = s32[{n}] convert(alive)
  counted = s32[{n}] add(k, more)
  ROOT r = (s32[], f32[{n}], s32[{n}]) tuple(next, moved, {counted})
}}
condition {{
  s = (s32[], f32[{n}], s32[{n}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  most = s32[] constant(9)
  few = pred[] compare(i, most), direction=LT
  x = f32[{n}] get-tuple-element(s), index=1
  limit = f32[] constant(100)
  limits = f32[{n}] broadcast(limit), dimensions={{}}
  alive = pred[{n}] compare(x, limits), direction=LT
  no = pred[] constant(false)
  left = pred[] reduce(alive, no), dimensions={{0}}, to_apply=any
  ROOT again = pred[] and(few, left)
}}
ENTRY e {{
  zero = s32[] constant(0)
  zeros = s32[{n}] broadcast(zero), dimensions={{}}
  x = f32[{n}] parameter(0)
  t = (s32[], f32[{n}], s32[{n}]) tuple(zero, x, zeros)
  w = (s32[], f32[{n}], s32[{n}]) while(t), condition=condition, body=body
  a = f32[{n}] get-tuple-element(w), index=1
  b = s32[{n}] get-tuple-element(w), index=2
  ROOT both = (f32[{n}], s32[{n}]) tuple(a, b)
}}
"""


SCAN = """HloModule m
body {{
  s = (s32[], f32[{n}], f32[{rows},{n}], f32[{rows},{n}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  zero = s32[] constant(0)
  last = s32[] constant({last})
  back = s32[] subtract(last, i)
  h = f32[{n}] get-tuple-element(s), index=1
  xs = f32[{rows},{n}] get-tuple-element(s), index=3
  ys = f32[{rows},{n}] get-tuple-element(s), index=2
  x = f32[1,{n}] dynamic-slice(xs, {at}, zero), dynamic_slice_sizes={{1,{n}}}
  x1 = f32[{n}] reshape(x)
  h1 = f32[{n}] add(h, x1)
  y = f32[1,{n}] reshape(h1)
  ys1 = f32[{rows},{n}] dynamic-update-slice(ys, y, {at}, zero)
  ROOT r = (s32[], f32[{n}], f32[{rows},{n}], f32[{rows},{n}]) tuple(next, h1, ys1, xs)
}}
condition {{
  s = (s32[], f32[{n}], f32[{rows},{n}], f32[{rows},{n}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({rows})
  ROOT again = pred[] compare(i, n), direction=LT
}}
ENTRY e {{
  first = s32[] constant({first})
  h = f32[{n}] parameter(0)
  xs = f32[{rows},{n}] parameter(1)
  ys = f32[{rows},{n}] negate(xs)
  t = (s32[], f32[{n}], f32[{rows},{n}], f32[{rows},{n}]) tuple(first, h, ys, xs)
  w = (s32[], f32[{n}], f32[{rows},{n}], f32[{rows},{n}]) while(t), condition=condition, body=body
  b = f32[{rows},{n}] get-tuple-element(w), index=2
  ROOT both = (f32[{rows},{n}]) tuple(b)
}}
"""


def is_one_kernel(text: str) -> bool:
    """Whether a program's loop became part of a kernel."""
    return all(i.opcode != "while" for i in compiler.optimize(compiler.parse(text)).entry.instructions)


def check(text: str, *, threads: int = 2, low: int = 0) -> None:
    """The results are the reference's, bit for bit."""
    module = compiler.parse(text)
    inputs = draw(module, low)
    got = compiler.compile(module, options=compiler.CompileOptions(threads=threads))(*inputs)
    for mine, theirs in zip(got, compiler.interpret(module, *inputs), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def draw(module: compiler.Module, low: int = 0) -> list[np.ndarray]:
    """Small whole numbers for each parameter."""
    random = np.random.default_rng(0)
    shapes = [parameter.array for parameter in module.entry.parameters]
    return [random.integers(low, 5, shape.dims).astype(shape.element_type.dtype) for shape in shapes]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dims", [(16,), (64,), (65,), (5, 77), (3, 5, 20), (300, 130)])
def test_a_counted_loop_of_any_shape(dims, threads):
    text = COUNTED.format(
        type="f32", op="add", dims=",".join(map(str, dims)), last=dims[-1], along=len(dims) - 1, trip_count=7
    )

    assert is_one_kernel(text)
    check(text, threads=threads)


@pytest.mark.parametrize(
    ("type_", "op"),
    [
        ("f64", "add"),
        ("bf16", "multiply"),
        ("f16", "add"),
        ("s8", "add"),
        ("u64", "multiply"),
        ("s4", "add"),
        ("pred", "xor"),
        ("c64", "add"),
    ],
)
def test_a_state_of_any_type(type_, op):
    check(COUNTED.format(type=type_, op=op, dims="70", last=70, along=0, trip_count=4))


@pytest.mark.parametrize("trip_count", [0, 1, -3])
def test_a_loop_of_few_iterations_or_none(trip_count):
    check(COUNTED.format(type="s32", op="add", dims="40", last=40, along=0, trip_count=trip_count))


@pytest.mark.parametrize("n", [16, 63, 64, 200, 5000])
def test_blocks_stop_when_their_elements_rest(n):
    text = UNTIL_ALL_REST.format(n=n, counted="counted")

    assert is_one_kernel(text)
    check(text, low=1)


@pytest.mark.parametrize("at", ["i", "back"])
@pytest.mark.parametrize(("rows", "first"), [(1, 0), (9, 0), (9, 3), (9, -2), (9, 20)])
def test_a_scan_writes_its_rows_and_leaves_the_others(rows, first, at):
    text = SCAN.format(rows=rows, last=rows - 1, first=first, at=at, n=70)

    assert is_one_kernel(text)
    check(text)


def test_an_array_that_is_read_before_the_end_keeps_the_loop_whole():
    text = SCAN.format(rows=9, last=8, first=0, at="i", n=70).replace("dynamic-slice(xs,", "dynamic-slice(ys,")

    assert not is_one_kernel(text)
    check(text)


def test_notes_do_not_tell_condition_and_body_apart():
    old = "compare(x, limits), direction=LT"
    text = UNTIL_ALL_REST.format(n=200, counted="counted")
    text = text.replace(old, f"{old}, metadata={{source_line=1}}", 1)

    assert is_one_kernel(text)
    check(text, low=1)


def test_the_state_itself_may_say_what_is_left_to_do():
    """Truth values of the state: once false, they stay so."""
    text = UNTIL_ALL_REST.format(n=200, counted="counted")
    for old, new in (
        ("s32[200]", "pred[200]"),
        ("more = pred[200] convert(alive)", "more = pred[200] get-tuple-element(s), index=2"),
        ("counted = pred[200] add(k, more)", "counted = pred[200] and(k, alive)"),
        ("select(alive, doubled", "select(k, doubled"),
        ("reduce(alive, no)", "reduce(k, no)"),
        ("  left = ", "  k = pred[200] get-tuple-element(s), index=2\n  left = "),
        ("zeros = pred[200] broadcast(zero)", "yes = pred[] constant(true)\n  zeros = pred[200] broadcast(yes)"),
    ):
        assert old in text, old
        text = text.replace(old, new)

    assert is_one_kernel(text)
    check(text, low=1)


def test_a_counter_is_a_result_unless_elements_stop_at_different_iterations():
    counted = COUNTED.format(type="s32", op="add", dims="100", last=100, along=0, trip_count=5)
    resting = UNTIL_ALL_REST.format(n=100, counted="counted")
    for text, alone in ((counted, True), (resting, False)):
        old = text.splitlines()[-2].strip()
        parts = old.partition("tuple(")[2]
        with_counter = text.replace(
            "  " + old,
            f"  iterations = s32[] get-tuple-element(w), index=0\n  ROOT all = {_shape(old)} tuple(iterations, {parts}",
        )

        assert is_one_kernel(with_counter) is alone
        check(with_counter, low=1)


def _shape(root: str) -> str:
    """The shape of a tuple with a counter before it."""
    return "(s32[], " + root.partition("= (")[2].partition(") tuple")[0] + ")"


def test_elements_that_do_not_rest_keep_the_loop_whole():
    text = UNTIL_ALL_REST.format(n=64, counted="k2").replace(
        "  ROOT r = ", "  k2 = s32[64] add(k, k)\n  k3 = s32[64] add(counted, counted)\n  ROOT r = "
    )

    assert not is_one_kernel(text)
    check(text)
