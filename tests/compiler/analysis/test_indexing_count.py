"""Where a group asks for a value: elementwise users where they are asked themselves, others at places of their own."""

import compiler
from compiler.analysis.indexing_count import IndexingCount, common


def group(text, *members):
    """The counts of members that are added in this order, users first, by name."""
    found = {i.name: i for i in compiler.parse(text).instructions()}
    indexing = IndexingCount([found[members[0]]])
    for name in members[1:]:
        indexing.add(found[name])
    return lambda name: indexing.of(found[name])


CHAIN = """ENTRY e { x = f32[4] parameter(0)  a = f32[4] negate(x)  b = f32[4] add(a, a)  c = f32[4] add(b, a)
  ROOT d = f32[4] exponential(c) }"""
MOVED = """ENTRY e { x = f32[4] parameter(0)  a = f32[4] add(x, x)  r = f32[4] reverse(a), dimensions={0}
  s = f32[4] add(a, r)  t = f32[4] reverse(s), dimensions={0}  ROOT u = f32[4] add(s, t) }"""


def test_elementwise_users_ask_at_one_place_however_many_they_are():
    of = group(CHAIN, "d", "c", "b", "a")
    assert [of(name) for name in "cbax"] == [1, 1, 1, 1]


def test_whoever_moves_elements_asks_at_places_of_its_own():
    of = group(MOVED, "u", "t", "s", "r", "a")
    assert (of("t"), of("s"), of("r"), of("a")) == (1, 2, 2, 4)


def test_a_value_that_no_member_uses_is_asked_for_nowhere():
    of = group(MOVED, "u")
    assert (of("t"), of("s"), of("x")) == (1, 1, 0)


def test_what_two_have_in_common_is_found_by_way_of_the_fewer():
    found = list(compiler.parse(CHAIN).instructions())
    one, other = dict.fromkeys(found), dict.fromkeys(found[1:2])
    assert common(one, other) == common(other, one) == found[1:2]
    assert common({}, one) == []
