"""What a device sends to itself arrives, whether it is alone or one of several, as a whole and in slices."""

import numpy as np
import pytest

import compiler

_HEAD = """a = s32[] constant(1) b = s32[] constant(0)
  from = (s32[], s32[]) tuple(a, b) to = (s32[], s32[]) tuple(b, a)
  """
FORMS = {
    "as a whole": "ROOT z = f32[4,3] collective-permute(x), {pairs}",
    "a slice": _HEAD + "ROOT z = f32[4,3] collective-permute(x, y, from, to), {pairs}, slice_sizes={{{{2,2}}}}",
    "two slices": _HEAD
    + """begins = ((s32[], s32[]), (s32[], s32[])) tuple(from, to)
      ends = ((s32[], s32[]), (s32[], s32[])) tuple(to, from)
      ROOT z = f32[4,3] collective-permute(x, y, begins, ends), {pairs}, slice_sizes={{{{2,2}},{{1,2}}}}""",
    "in two halves": _HEAD
    + """s = (f32[4,3], f32[4,3], u32[], u32[]) collective-permute-start(x, y, from, to), {pairs},
        slice_sizes={{{{2,2}}}}
      ROOT z = f32[4,3] collective-permute-done(s)""",
    "slices of two arrays": _HEAD
    + """begins = ((s32[], s32[]), (s32[], s32[])) tuple(from, to)
      ends = ((s32[], s32[]), (s32[], s32[])) tuple(to, from)
      xs = (f32[4,3], f32[4,3]) tuple(x, y) ys = (f32[4,3], f32[4,3]) tuple(y, x)
      r = (f32[4,3], f32[4,3]) collective-permute(xs, ys, begins, ends), {pairs}, slice_sizes={{{{2,2}},{{1,2}}}}
      u = f32[4,3] get-tuple-element(r), index=0 v = f32[4,3] get-tuple-element(r), index=1
      ROOT z = f32[4,3] subtract(u, v)""",
}  # fmt: skip


def module(form, devices, *, is_sent):
    pairs = ",".join(f"{{{n},{n}}}" for n in range(devices)) if is_sent else ""
    text = FORMS[form].format(pairs=f"source_target_pairs={{{pairs}}}")
    head = f"HloModule m, replica_count={devices}" if devices > 1 else "HloModule m"
    return compiler.parse(f"{head}\nENTRY e {{ x = f32[4,3] parameter(0) y = f32[4,3] parameter(1)\n {text} }}")


@pytest.mark.parametrize("is_sent", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_a_device_alone_has_what_one_of_several_has(form, is_sent):
    x = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
    y = -100 * x
    one, two = (module(form, devices, is_sent=is_sent) for devices in (1, 2))
    alone, expected = compiler.interpret(one, x, y)[0], compiler.interpret(two, x, y, x, y)[0]
    np.testing.assert_array_equal(alone, expected)
    (other,) = compiler.interpret(module(form, 1, is_sent=not is_sent), x, y)
    assert not np.array_equal(alone, other)
    np.testing.assert_array_equal(compiler.compile(one)(x, y)[0], expected)
    np.testing.assert_array_equal(compiler.compile(two)(x, y, x, y)[0], expected)


def test_bounds_of_what_is_put_in_stand_where_it_was_put():
    text = FORMS["a slice"].format(pairs="source_target_pairs={{0,0}}").replace("(x, y, from", "(w, y, from")
    text = f"ENTRY e {{ x = f32[4,3] parameter(0) y = f32[4,3] parameter(1) w = f32[4,3] exponential(x)\n {text} }}"
    ones = np.ones((4, 3), np.float32)
    (result,) = compiler.interpret(compiler.parse(text), ones, ones, wide=True)
    assert np.array_equal(result.bound > 0, [[False, True, True], [False, True, True], [False] * 3, [False] * 3])
