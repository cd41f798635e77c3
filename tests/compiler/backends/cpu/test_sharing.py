"""What threads share and what one does alone: by the rules, and to the bit wherever the line is drawn."""

from __future__ import annotations

import numpy as np
import pytest
from parts import every
from shared import share_everything

import compiler
from compiler.generate import RandomChoices, Space
from compiler.generate import program as drawn
from compiler.inputs import draw

LOOP = """
body {{
  state = (s32[], f32[{size}]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[{size}] get-tuple-element(state), index=1
  back = f32[{size}] reverse(x), dimensions={{0}}
  y = f32[{size}] cosine(back)
  ROOT r = (s32[], f32[{size}]) tuple(next, y)
}}
condition {{
  state = (s32[], f32[{size}]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  limit = s32[] constant({trip_count})
  ROOT goes_on = pred[] compare(i, limit), direction=LT
}}
ENTRY main {{
  x = f32[{size}] parameter(0)
  y = f32[{before}] parameter(1)
  first = f32[{before}] cosine(y)
  zero = s32[] constant(0)
  state = (s32[], f32[{size}]) tuple(zero, x)
  loop = (s32[], f32[{size}]) while(state), condition=condition, body=body
  last = f32[{size}] get-tuple-element(loop), index=1
  ROOT r = (f32[{before}], f32[{size}]) tuple(first, last)
}}
"""
OPCODES = frozenset({
    "add", "broadcast", "call", "concatenate", "conditional", "dot", "dynamic-slice", "dynamic-update-slice",
    "exponential", "multiply", "pad", "reduce", "reduce-window", "reverse", "scatter", "select", "slice", "sort",
    "transpose", "while",
})  # fmt: skip
SPACE = Space(OPCODES, frozenset({"f32", "s32", "pred"}), most_instructions=25, most_elements=4000, budget=60_000)


def compiled(module, threads=2):
    return compiler.compile(module, options=compiler.CompileOptions(threads=threads))


def sharing_computations(**sizes):
    """The computations of the program above with kernels that two threads share."""
    emitted = compiled(LOOP.format(**sizes))._lowering().emitted
    return sorted({i.computation.name for i, kernel in emitted.items() if kernel.parallel})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"size": 100, "before": 100, "trip_count": 5}, []),
        ({"size": 100, "before": 100_000, "trip_count": 5}, ["main"]),
        ({"size": 8000, "before": 100_000, "trip_count": 5}, ["main"]),
        ({"size": 200_000, "before": 100, "trip_count": 5}, ["body"]),
        ({"size": 200_000, "before": 100_000, "trip_count": 5}, ["body", "main"]),
        ({"size": 8000, "before": 100_000, "trip_count": 5000}, []),
    ],
    ids=["small", "before it", "iterations too short", "long iterations", "both", "asleep before long"],
)
def test_loops_are_shared_where_an_iteration_saves_more_than_meeting_takes(sizes, expected):
    assert sharing_computations(**sizes) == expected


@pytest.mark.parametrize("trip_count", [0, 1, 2, 7])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_counted_loops_iterate_as_often_as_they_should(trip_count, threads, monkeypatch):
    share_everything(monkeypatch)
    x = np.linspace(-3, 0, 1000, dtype=np.float32)
    expected = x
    for _ in range(trip_count):
        expected = np.cos(expected[::-1])
    found = compiled(LOOP.format(size=1000, before=1, trip_count=trip_count), threads)(x, x[:1])
    assert np.allclose(found[1], expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", every(3, range(40), first=1))
def test_who_does_what_changes_no_bit(seed, monkeypatch):
    module = drawn(RandomChoices(seed), SPACE, name="drawn")
    alone = compiled(module, 1)
    share_everything(monkeypatch)
    for threads in (2, 3):
        together = compiled(module, threads)
        for number in range(3):
            # Other arrays each time, and alone last: what is missing must not lie there from the call before.
            arrays = draw(module, seed + number)
            found = [np.array(result) for result in together(*arrays)]
            for one, other in zip(found, alone(*arrays), strict=True):
                assert one.tobytes() == np.asarray(other).tobytes()


PRODUCT = """ENTRY main {
  x = f32[256,256] parameter(0)
  product = f32[256,256] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  last = f32[1,256] slice(product), slice={[255:256], [0:256]}
  ROOT r = f32[1,256] cosine(last)
}"""


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_the_first_thread_goes_on_alone_only_when_others_are_done(threads):
    alone, together = compiled(PRODUCT, 1), compiled(PRODUCT, threads)
    rng = np.random.default_rng(0)
    for _ in range(50):
        x = rng.standard_normal((256, 256), np.float32)
        found = together(x)[0]
        # Alone last, as above.
        assert np.array_equal(found, alone(x)[0])


def test_threads_share_what_does_not_pay_where_that_is_asked_for():
    text = "ENTRY e { x = f32[4] parameter(0) ROOT r = f32[4] negate(x) }"
    built = {
        is_asked: compiler.compile(text, options=compiler.CompileOptions(threads=2, share_all=is_asked))
        for is_asked in (False, True)
    }
    assert {is_asked: executable.image.threads for is_asked, executable in built.items()} == {False: 1, True: 2}
    assert np.array_equal(built[True](np.arange(4, dtype=np.float32))[0], -np.arange(4, dtype=np.float32))
