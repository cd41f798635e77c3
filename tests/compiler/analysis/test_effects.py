"""What must stay, what may be done twice, and what others rely on, through calls of any depth."""

import pytest

import compiler
from compiler.analysis.effects import control_predecessors, has_effect, is_repeatable, within_fusions

TEXT = """
inner { p = f32[] parameter(0)  ROOT n = f32[] negate(p) }
sends { p = f32[] parameter(0)  t = token[] after-all()  o = token[] outfeed(p, t)  ROOT r = f32[] negate(p) }
deep { p = f32[] parameter(0)  ROOT c = f32[] call(p), to_apply=sends }
draws { p = f32[] parameter(0)  ROOT r = f32[] rng(p, p), distribution=rng_uniform }
fused { p = f32[] parameter(0)  ROOT c = f32[] call(p), to_apply=inner }
ENTRY e {
  x = f32[] parameter(0)
  plain = f32[] negate(x)
  quiet = f32[] call(x), to_apply=inner
  loud = f32[] call(x), to_apply=deep
  random = f32[] rng(x, x), distribution=rng_uniform
  drawn = f32[] call(x), to_apply=draws
  unknown = f32[] custom-call(x), custom_call_target="op"
  acting = f32[] custom-call(x), custom_call_target="op", custom_call_has_side_effect=true
  fusion = f32[] fusion(x), kind=kLoop, calls=fused
  ROOT waits = f32[] add(plain, fusion), control-predecessors={plain, random}
}"""


@pytest.fixture
def module():
    return compiler.parse(TEXT)


@pytest.mark.parametrize(
    ("name", "stays", "repeats"),
    [
        ("x", True, True),
        ("plain", False, True),
        ("quiet", False, True),
        ("loud", True, False),
        ("random", False, False),
        ("drawn", False, False),
        ("unknown", True, False),
        ("acting", True, False),
        ("fusion", False, True),
    ],
)
def test_what_must_stay_and_what_may_be_done_twice(module, name, stays, repeats):
    instruction = next(i for i in module.entry.instructions if i.name == name)
    assert (has_effect(instruction), is_repeatable(instruction)) == (stays, repeats)


def test_what_others_wait_for_is_known(module):
    assert {i.name for i in control_predecessors(module.entry)} == {"plain", "random"}


def test_the_insides_of_fusions_are_those_that_they_call_at_any_depth(module):
    assert {c.name for c in within_fusions(module)} == {"fused", "inner"}
