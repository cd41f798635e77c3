"""A reducer that minds which of two values comes first is told from one that does not."""

import pytest

import compiler
from compiler.analysis.commutativity import goes_by_numbers, in_any_order, is_commutative

PAIR = "a = {t}[] parameter(0) i = s32[] parameter(1) b = {t}[] parameter(2) j = s32[] parameter(3)"
ARGMAX = """g = pred[] compare(a, b), direction=GT{how} e = pred[] compare(a, b), direction=EQ{how}
  l = pred[] compare(i, j), direction=LT t = pred[] and(e, l) q = pred[] or(g, t) v = {t}[] select(g, a, b)
  k = s32[] select(q, i, j) ROOT r = ({t}[], s32[]) tuple(v, k)"""


def reducer(
    body: str, parameters: str = "a = {t}[] parameter(0) b = {t}[] parameter(1)", t: str = "f32", how: str = ""
):
    text = f"f {{{{ {parameters} {body} }}}} ENTRY e {{{{ ROOT x = f32[] parameter(0) }}}}".format(t=t, how=how)
    return next(one for one in compiler.parse(text).computations if one.name == "f")


@pytest.mark.parametrize(
    "one",
    [
        reducer("ROOT r = {t}[] add(b, a)"),
        reducer("x = {t}[] multiply(a, b) y = {t}[] multiply(b, a) ROOT r = {t}[] maximum(y, x)"),
        reducer("p = pred[] compare(a, b), direction=GE ROOT r = {t}[] select(p, a, b)", t="s32"),
        reducer("p = pred[] compare(a, b), direction=LT, type=TOTALORDER ROOT r = {t}[] select(p, a, b)"),
        reducer(ARGMAX, PAIR, "s32"),
        reducer(ARGMAX, PAIR, how=", type=TOTALORDER"),
        reducer("s = {t}[] add(b, a) k = s32[] multiply(i, j) ROOT r = ({t}[], s32[]) tuple(s, k)", PAIR),
    ],
    ids=range(7),
)
def test_either_value_may_come_first(one):
    assert is_commutative(one)


@pytest.mark.parametrize(
    "one",
    [
        reducer("ROOT r = {t}[] subtract(a, b)"),
        reducer("ROOT r = {t}[] copy(a)"),
        reducer("ROOT r = {t}[] multiply(b, b)"),
        reducer("p = pred[] compare(a, b), direction=GE ROOT r = {t}[] select(p, a, b)"),
        reducer("z = {t}[] constant(0) p = pred[] compare(b, z), direction=NE ROOT r = {t}[] select(p, b, a)", t="s32"),
        reducer(
            "x = {t}[] abs(a) y = {t}[] abs(b) p = pred[] compare(x, y), direction=GE ROOT r = {t}[] select(p, a, b)",
            t="s32",
        ),
        reducer(ARGMAX, PAIR),
        reducer("n = {t}[] multiply(a, b) k = s32[] multiply(i, i) ROOT r = ({t}[], s32[]) tuple(n, k)", PAIR),
    ],
    ids=range(8),
)
def test_the_first_value_is_another_than_the_second(one):
    assert not is_commutative(one)


@pytest.mark.parametrize(
    ("numbers", "free"),
    [
        ("iota(), iota_dimension=1", True),
        ("iota(), iota_dimension=0", False),
        ("broadcast(n), dimensions={1}", True),
        ("broadcast(m), dimensions={0}", False),
        ("parameter(1)", False),
    ],
)
def test_numbers_of_elements_are_never_equal(numbers, free):
    module = compiler.parse(f"""f {{ {PAIR.format(t="f32")} p = pred[] compare(i, j), direction=LT
      v = f32[] select(p, a, b) k = s32[] select(p, i, j) ROOT r = (f32[], s32[]) tuple(v, k) }}
    ENTRY e {{ x = f32[3,4] parameter(0) n = s32[4] iota(), iota_dimension=0 m = s32[3] iota(), iota_dimension=0
      at = s32[3,4] {numbers} z = f32[] constant(0) none = s32[] constant(0)
      ROOT r = (f32[3], s32[3]) reduce(x, at, z, none), dimensions={{1}}, to_apply=f }}""")
    assert in_any_order(module.entry.root) is free


JAX_ARGMAX = """g = pred[] compare(a, b), direction=GT n = pred[] compare(a, a), direction=NE h = pred[] or(g, n)
  e = pred[] compare(a, b), direction=EQ l = pred[] compare(i, j), direction=LT t = pred[] and(e, l)
  q = pred[] or(h, t) v = {t}[] select(h, a, b) k = s32[] select(q, i, j) ROOT r = ({t}[], s32[]) tuple(v, k)"""


@pytest.mark.parametrize(
    ("one", "is_value_used", "is_free"),
    [
        (reducer(ARGMAX, PAIR), False, False),
        (reducer(ARGMAX, PAIR, "s32"), True, True),
        (reducer(ARGMAX, PAIR, how=", type=TOTALORDER"), True, True),
        (reducer(JAX_ARGMAX, PAIR), False, True),
        (reducer(JAX_ARGMAX, PAIR), True, False),
        (reducer(JAX_ARGMAX, PAIR, "bf16"), False, True),
    ],
    ids=["NaN on no side", "integers", "a total order", "the first NaN", "the sign of its zero", "bf16"],
)
def test_a_choice_by_an_order_of_the_values_goes_by_their_numbers(one, is_value_used, is_free):
    assert goes_by_numbers(one, is_value_used=is_value_used) is is_free
