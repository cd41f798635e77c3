"""A loop is one kernel if its elements go their own ways; whatever lets one look at another, it is not."""

import pytest

import compiler
from compiler.analysis.iteration import depends_on, find, iteration_of
from compiler.diagnostics import UnsupportedError

STATE = "(s32[], f32[6], f32[3,6])"
COUNTED = {
    "computations": "any { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT c = pred[] or(a, b) }",
    "below": "n = s32[] constant(3)  ROOT c = pred[] compare(i, n), direction=LT",
    "element": "y = f32[6] add(x, x)",
    "counter": "one = s32[] constant(1)  j = s32[] add(i, one)",
    "rows": "u = f32[3,6] copy(all)",
    "user": "ROOT g = f32[6] get-tuple-element(w), index=1",
    "start": "z = s32[] constant(0)",
}
ROW = """row = f32[1,6] reshape(y)  zero = s32[] constant(0)
  u = f32[3,6] dynamic-update-slice(all, row, i, zero)"""
ALIVE = """limit = f32[] constant(9)  limits = f32[6] broadcast(limit), dimensions={}
  live = pred[6] compare(x, limits), direction=LT"""
FIRST = "one.of = f32[1] slice(x), slice={[0:1]}  first = f32[] reshape(one.of)"
UNTIL_DONE = f"""{ALIVE}  no = pred[] constant(false)
  some = pred[] reduce(live, no), dimensions={{0}}, to_apply=any  n = s32[] constant(3)
  few = pred[] compare(i, n), direction=LT  ROOT c = pred[] and(few, some)"""
RESTING = f"{ALIVE}  twice = f32[6] add(x, x)  y = f32[6] select(live, twice, x)"


def loop(**changed):
    """The loop of a program whose pieces are those above, but for these; the third of its state stays as it is."""
    p = COUNTED | changed
    u = p["rows"]
    text = f"""{p["computations"]}
    below {{ s = {STATE} parameter(0)  i = s32[] get-tuple-element(s), index=0
      x = f32[6] get-tuple-element(s), index=1  {p["below"]} }}
    next {{ s = {STATE} parameter(0)  i = s32[] get-tuple-element(s), index=0
      x = f32[6] get-tuple-element(s), index=1  {p["counter"]}  all = f32[3,6] get-tuple-element(s), index=2
      {p["element"]}  {u if "rows" in changed else ""}
      ROOT t = {STATE} tuple(j, y, {"u" if "rows" in changed else "all"}) }}
    ENTRY e {{ {p["start"]}  x = f32[6] parameter(0)  a = f32[3,6] parameter(1)  s = {STATE} tuple(z, x, a)
      w = {STATE} while(s), condition=below, body=next  {p["user"]} }}"""
    module = compiler.parse(text)
    return next(i for i in module.entry.instructions if i.opcode == "while")


def test_arrays_that_change_are_told_from_scalars_and_from_what_stays():
    found = find(loop())
    assert (found.arrays, found.scalars, found.rows, found.alive) == ((1,), (0,), (), None)
    assert found.dims == (6,)


@pytest.mark.parametrize("taken", ["x", "get-tuple-element(pair), index=0"])
def test_what_is_put_together_on_the_way_and_taken_apart_again_is_left_to_simplification(taken):
    """Also where a variant of the engines leaves that pass out."""
    value = taken if taken == "x" else "v"
    lines = "pair = (f32[6], s32[]) tuple(x, i)" + ("" if taken == "x" else f"  v = f32[6] {taken}")
    assert find(loop(below=f"{lines}  {COUNTED['below']}")) is None
    assert find(loop(element=f"{lines}  y = f32[6] add({value}, x)")) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"element": "y = f32[6] reverse(x), dimensions={0}"},
        {"element": f"{FIRST}  y = f32[6] broadcast(first), dimensions={{}}"},
        {"counter": f"{FIRST}  j = s32[] convert(first)"},
        {"below": f"{FIRST}  n = f32[] constant(3)  ROOT c = pred[] compare(first, n), direction=LT"},
        {"rows": "u = f32[3,6] negate(all)"},
    ],
    ids=["moves elements", "all of one", "a counter of one", "a condition on one", "arrays of two forms"],
)
def test_a_loop_in_which_one_element_sees_another_is_none(changed):
    assert find(loop(**changed)) is None


def test_a_state_that_somebody_takes_whole_is_none():
    assert find(loop(user=f"ROOT t = ({STATE}) tuple(w)")) is None


def test_rows_may_be_filled_in_a_reshaped_array_each_iteration():
    found = find(loop(rows=ROW))
    assert (found.rows, found.row(2).name) == ((2,), "y")
    assert [start.name for start in found.starts(2)] == ["i", "zero"]
    assert find(loop(rows=ROW.replace("reshape(y)", "broadcast(y), dimensions={1}"))) is None


@pytest.mark.parametrize(
    ("changed", "is_all"),
    [
        ({}, True),
        ({"start": "z = s32[] constant(1)"}, False),
        ({"start": "z = s32[] parameter(2)"}, False),
        ({"counter": "one = s32[] constant(2)  j = s32[] add(i, one)"}, False),
        ({"below": COUNTED["below"].replace("LT", "LE")}, False),
        ({"below": COUNTED["below"].replace("(3)", "(2)")}, False),
    ],
    ids=["from 0 to the last", "not from 0", "from anywhere", "every second", "beyond", "not to the last"],
)
def test_all_rows_are_sure_to_be_written_by_a_counter_from_first_to_last_only(changed, is_all):
    assert find(loop(rows=ROW, **changed)).writes_all(2) is is_all


def test_a_condition_may_ask_whether_anything_is_left_to_do_where_what_is_done_rests():
    found = find(loop(below=UNTIL_DONE, element=RESTING))
    assert found.alive.name == "some"
    assert find(loop(below=UNTIL_DONE)) is None, "elements go on when they are done"
    assert find(loop(below=UNTIL_DONE.replace("(false)", "(true)"), element=RESTING)) is None
    assert find(loop(below=UNTIL_DONE, element=RESTING, rows=ROW)) is None


def test_scalars_are_not_agreed_upon_where_elements_stop_each_at_its_time():
    counter = "ROOT g = s32[] get-tuple-element(w), index=0"
    assert find(loop(user=counter)) is not None
    assert find(loop(below=UNTIL_DONE, element=RESTING, user=counter)) is None


def test_what_depends_on_some_of_the_state_is_found_through_all_that_it_is_used_in():
    found = find(loop())
    assert {i.name for i in depends_on(found.body, [1])} == {"x", "y", "t"}
    assert {i.name for i in depends_on(found.condition, [1])} == {"x"}


def test_a_fusion_with_any_other_loop_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="a fusion with the loop w inside"):
        iteration_of(loop(element="y = f32[6] reverse(x), dimensions={0}"))
    assert iteration_of(loop()).arrays == (1,)
