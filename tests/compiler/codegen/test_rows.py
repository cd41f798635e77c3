"""A row kernel is passes over a row; what two passes need is kept where computing it again would cost, or differ."""

import compiler
from compiler.codegen.kernel import kernel_of
from compiler.codegen.rows import Rows

SOFTMAX = """
most { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
softmax { x = f32[4,6] parameter(0)  low = f32[] constant(-inf)  zero = f32[] constant(0)
  m = f32[4] reduce(x, low), dimensions={1}, to_apply=most  mb = f32[4,6] broadcast(m), dimensions={0}
  d = f32[4,6] subtract(x, mb)  e = f32[4,6] exponential(d)
  s = f32[4] reduce(e, zero), dimensions={1}, to_apply=add  sb = f32[4,6] broadcast(s), dimensions={0}
  ROOT r = f32[4,6] divide(e, sb) }
ENTRY e { x = f32[4,6] parameter(0)  ROOT f = f32[4,6] fusion(x), kind=kCustom, calls=softmax }"""


def rows(text=SOFTMAX):
    return Rows(kernel_of(compiler.parse(text).entry.root))


def names(instructions):
    return [i.name for i in instructions]


def test_reductions_fall_into_passes_by_what_they_need():
    found = rows()
    assert [names(phase.reduces) for phase in found.phases] == [["m"], ["s"], []]
    assert (found.count, found.length, found.row_dims, found.inner_dims) == (4, 6, (4,), (6,))


def test_what_is_expensive_is_kept_and_read_by_the_later_pass():
    first, second, last = rows().phases
    assert (names(first.kept), names(second.kept), names(last.read)) == ([], ["e"], ["e"])
    assert (names(second.spread), names(last.spread)) == (["mb"], ["sb"])


def test_what_is_exact_and_next_to_free_is_computed_again():
    found = rows(SOFTMAX.replace("exponential(d)", "negate(d)"))
    assert [names(phase.kept) for phase in found.phases[1:]] != [["e"], []]


def test_targets_are_what_a_pass_is_there_for():
    found = rows()
    assert [names(found.targets(phase)) for phase in found.phases] == [["x"], ["e"], ["r"]]
    assert not found.is_row_result(found.kernel.roots[0])
    assert "r" in names(found.computed(found.phases[-1]))
