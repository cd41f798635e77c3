"""The search alone: predicates that look at the program, values from the interpreter in this process."""

import numpy as np
import pytest

import compiler
from xlabench.diagnosis.case import Case, Recorded, recorded
from xlabench.diagnosis.combiners import doubtful
from xlabench.diagnosis.moves import cost, instruction_count
from xlabench.diagnosis.reduce import reduce

TEXT = """
HloModule m

sum { sum.a = f64[] parameter(0)
  sum.b = f64[] parameter(1)
  ROOT sum.r = f64[] add(sum.a, sum.b) }

places { places.a = f64[] parameter(0)
  places.i = s32[] parameter(1)
  places.b = f64[] parameter(2)
  places.j = s32[] parameter(3)
  places.ahead = pred[] compare(places.a, places.b), direction=GT
  places.tie = pred[] compare(places.a, places.b), direction=EQ
  places.first = pred[] compare(places.i, places.j), direction=LT
  places.both = pred[] and(places.tie, places.first)
  places.left = pred[] or(places.ahead, places.both)
  places.v = f64[] select(places.left, places.a, places.b)
  places.n = s32[] select(places.left, places.i, places.j)
  ROOT places.r = (f64[], s32[]) tuple(places.v, places.n) }

body { body.x = f64[32,48] parameter(0)
  body.e = f64[32,48] exponential(body.x)
  ROOT body.r = f64[32,48] tanh(body.e) }

ENTRY main {
  x = f64[32,48] parameter(0)
  y = f64[32,48] parameter(1)
  w = f64[48,16] parameter(2)
  a = f64[32,48] add(x, y)
  b = f64[32,48] call(a), to_apply=body
  c = f64[32,48] multiply(b, x)
  d = f64[32,16] dot(c, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  zero = f64[] constant(0)
  r = f64[32] reduce(c, zero), dimensions={1}, to_apply=sum
  k = s32[32,48] iota(), iota_dimension=1
  nowhere = s32[] constant(48)
  p = (f64[32], s32[32]) reduce(c, k, zero, nowhere), dimensions={1}, to_apply=places
  at = s32[32] get-tuple-element(p), index=1
  cut = f64[8,16] slice(d), slice={[2:18:2], [0:16]}
  n = f64[8,16] negate(cut)
  ROOT out = (f64[32], f64[8,16], f64[32,48], s32[32]) tuple(r, n, c, at)
}
"""

LOOP = """
HloModule m

going { going.s = (s32[], f32[4], f32[4]) parameter(0)
  going.i = s32[] get-tuple-element(going.s), index=0
  going.n = s32[] constant(3)
  ROOT going.r = pred[] compare(going.i, going.n), direction=LT }

iteration { iteration.s = (s32[], f32[4], f32[4]) parameter(0)
  iteration.i = s32[] get-tuple-element(iteration.s), index=0
  iteration.x = f32[4] get-tuple-element(iteration.s), index=1
  iteration.y = f32[4] get-tuple-element(iteration.s), index=2
  iteration.one = s32[] constant(1)
  iteration.next = s32[] add(iteration.i, iteration.one)
  iteration.m = f32[4] negate(iteration.x)
  iteration.t = f32[4] tanh(iteration.y)
  ROOT iteration.r = (s32[], f32[4], f32[4]) tuple(iteration.next, iteration.m, iteration.t) }

late { late.x = f32[4] parameter(0)
  late.a = f32[4] sine(late.x)
  ROOT late.b = f32[4] add(late.a, late.a) }

ENTRY main {
  x = f32[4] parameter(0)
  began = ((f32[4]), f32[4]) async-start(x), calls=late
  y = f32[4] async-done(began)
  i = s32[] constant(0)
  s = (s32[], f32[4], f32[4]) tuple(i, x, y)
  l = (s32[], f32[4], f32[4]) while(s), condition=going, body=iteration
  m = f32[4] get-tuple-element(l), index=1
  t = f32[4] get-tuple-element(l), index=2
  c = f32[4] cosine(t)
  d = f32[4] cosine(t)
  ROOT out = (f32[4], f32[4], f32[4]) tuple(m, c, d)
}
"""


def _drawn(text):
    module = compiler.parse(text)
    compiler.verify(module)
    random = np.random.default_rng(0)
    drawn = (random.normal(size=p.shape.dims) for p in module.entry.parameters)
    return Case(
        module, tuple(a.astype(p.array.element_type.dtype) for a, p in zip(drawn, module.entry.parameters, strict=True))
    )


@pytest.fixture
def case():
    return _drawn(TEXT)


def _has(*opcodes):
    def is_bad(case):
        compiler.verify(case.module)
        compiler.interpret(case.module, *case.inputs)
        return set(opcodes) <= {i.opcode for i in case.module.instructions()}

    return is_bad


PREDICATES = {
    "one instruction": (_has("negate"), 1),
    "inside a body": (_has("tanh"), 1),
    "two that are connected": (_has("dot", "slice"), 2),
    "two far apart": (_has("tanh", "negate"), 3),
    "with a body of its own": (_has("reduce"), 2),
    "with a body of several results": (
        lambda c: any(i.opcode == "reduce" and len(i.operands) > 2 for i in c.module.instructions()),
        4,
    ),
    "a chain of operands": (
        lambda c: any(o.opcode == "multiply" for i in c.module.instructions() for o in i.operands),
        2,
    ),
    "a size": (lambda c: any(i.opcode == "dot" and i.shape.dims[0] > 16 for i in c.module.instructions()), 1),
    "a value": (lambda c: any((abs(a) > 1.5).any() for a in recorded(c).last.values()), 1),
}


@pytest.mark.parametrize(("is_bad", "most"), PREDICATES.values(), ids=PREDICATES)
def test_what_matters_is_left_and_little_else(case, is_bad, most):
    reduction = reduce(case, is_bad, recorded)
    assert is_bad(reduction.case)
    assert instruction_count(reduction.case.module) <= most, reduction.case.text()
    assert reduction.probes <= 200
    assert not doubtful(reduction.case.module), "the order of a reduction must not matter where it did not before"


def _negates_twice(case):
    """By a loop that iterates, or written out."""
    twice = any(i.opcode == o.opcode == "negate" for i in case.module.instructions() for o in i.operands)
    return twice or _has("while", "negate", "add")(case)


def _iterations_twice(case):
    """By what a loop computes in iteration after iteration."""
    computed = []
    compiler.interpret(case.module, *case.inputs, trace=lambda i, _: computed.append(i.opcode))
    return _has("while", "tanh")(case) and computed.count("tanh") > 1


IN_LOOPS = {
    "a loop": (_has("while", "tanh"), 8),
    "a loop of two iterations": (_iterations_twice, 9),
    "what two iterations do": (_negates_twice, 2),
    "in a call in halves": (_has("sine"), 1),
    "what a condition says": (_has("compare"), 1),
}


@pytest.mark.parametrize(("is_bad", "most"), IN_LOOPS.values(), ids=IN_LOOPS)
def test_of_loops_and_halves_little_is_left(is_bad, most):
    reduction = reduce(_drawn(LOOP), is_bad, recorded)
    assert is_bad(reduction.case)
    assert instruction_count(reduction.case.module) <= most, reduction.case.text()


def test_of_two_constants_that_are_taken_for_one_only_they_are_left_however_deep_they_lie():
    deep = [f"{c}n{n} = f32[] negate({c}{f'n{n - 1}' if n else ''})" for c in "ab" for n in range(7)]
    lines = ["a = f32[] constant(-0)", "b = f32[] constant(0)", *deep]
    case = Case(compiler.parse("\n".join(["ENTRY main {", *lines, "ROOT r = (f32[], f32[]) tuple(an6, bn6) }"])), ())

    def is_bad(candidate):
        return len({str(i.literal) for i in candidate.module.instructions() if i.opcode == "constant"}) > 1

    assert instruction_count(reduce(case, is_bad, recorded).case.module) == 3


def test_of_what_is_folded_before_an_operation_only_a_constant_is_left():
    """As a fault in folding asks for: with a parameter in its stead there is nothing to fold."""
    lines = ["a = f32[2] constant({0.5, -1})", "b = u32[2] constant({1, 2})", "c = s32[2] stochastic-convert(a, b)"]
    case = Case(compiler.parse("\n".join(["ENTRY main {", *lines, "ROOT r = s32[2] negate(c)", "}"])), ())

    def is_bad(candidate):
        found = [i for i in candidate.module.instructions() if i.opcode == "negate"]
        return bool(found) and all(
            i.opcode != "parameter" for i in compiler.edit.reachable(found, lambda i: i.operands)
        )

    reduction = reduce(case, is_bad, recorded)
    opcodes = [instruction.opcode for instruction in reduction.case.module.instructions()]
    assert opcodes == ["constant", "negate"], reduction.case.text()


def test_sizes_shrink_no_further_than_the_failure_allows(case):
    reduction = reduce(case, PREDICATES["a size"][0], recorded)
    (dot,) = (i for i in reduction.case.module.instructions() if i.opcode == "dot")
    assert dot.shape.dims == (17, 1)
    assert sorted(array.shape for array in reduction.case.inputs) == [(1, 1), (17, 1)]
    assert {str(dot.shape.element_type)} == {"f32"}
    assert not any(array.any() for array in reduction.case.inputs)


def test_every_success_is_cheaper_than_the_one_before(case):
    costs = [cost(case)]

    def is_bad(candidate):
        bad = _has("negate")(candidate)
        if bad:
            assert cost(candidate) < costs[-1]
            costs.append(cost(candidate))
        return bad

    reduce(case, is_bad, recorded)
    assert len(costs) > 2


def test_no_question_is_asked_twice(case):
    asked = []

    def is_bad(candidate):
        asked.append(candidate.key())
        return _has("tanh", "dot")(candidate)

    reduction = reduce(case, is_bad, recorded)
    assert len(asked) == len(set(asked)) == reduction.probes


@pytest.mark.parametrize("name", PREDICATES)
def test_several_predicates_find_what_one_does_in_as_many_probes(case, name):
    is_bad = PREDICATES[name][0]
    alone, together = reduce(case, is_bad, recorded), reduce(case, [is_bad] * 3, recorded)
    assert (together.case.key(), together.probes) == (alone.case.key(), alone.probes)
    assert together.history == alone.history


def test_all_predicates_are_asked(case):
    asked = set()

    def asking(number):
        def is_bad(candidate):
            asked.add(number)
            return _has("tanh", "dot")(candidate)

        return is_bad

    reduce(case, [asking(0), asking(1), asking(2)], recorded)
    assert asked == {0, 1, 2}


def test_the_search_stops_when_the_probes_are_used_up(case):
    reduction = reduce(case, _has("tanh"), recorded, max_probes=3)
    assert (reduction.probes, reduction.exhausted) == (3, True)


def test_without_values_nothing_is_cut_but_the_rest_still_works(case):
    reduction = reduce(case, _has("negate"), lambda _: Recorded({}, {}))
    assert instruction_count(reduction.case.module) < instruction_count(case.module)


def test_looking_near_the_culprit_first_saves_probes(case):
    near = reduce(case, _has("negate", "slice"), recorded, focus=[("main", "n")])
    assert near.history[0].move == "neighbourhood"
    assert near.history[0].instructions == 2


DEAD = """
often { often.x = f32[4] parameter(0)
  ROOT often.r = f32[4] tanh(often.x) }

never { never.x = f32[4] parameter(0)
  never.a = f32[4] negate(never.x)
  never.unused = f32[4] cosine(never.a)
  ROOT never.r = f32[4] exponential(never.x) }

ENTRY main {
  which = s32[] constant(0)
  x = f32[4] parameter(0)
  chosen = f32[4] conditional(which, x, x), branch_computations={often, never}
  ROOT z = f32[4] add(chosen, x)
}
"""


def test_what_never_runs_and_nothing_uses_is_tried_alone():
    reduction = reduce(_drawn(DEAD), _has("cosine"), recorded, focus=[("never", "never.unused")])
    assert (reduction.history[0].move, instruction_count(reduction.case.module)) == ("neighbourhood", 1)


def test_a_value_out_of_a_tuple_is_the_value():
    text = """ENTRY main { x = f32[4] parameter(0) n = f32[4] negate(x) t = (f32[4], f32[4]) tuple(x, n)
      g = f32[4] get-tuple-element(t), index=1 ROOT z = f32[4] cosine(g) }"""
    assert (
        instruction_count(reduce(_drawn(text), _has("negate", "cosine"), lambda _: Recorded({}, {})).case.module) == 2
    )


ARGMAX = """
greatest {
  x = f32[] parameter(0)
  i = s32[] parameter(1)
  y = f32[] parameter(2)
  j = s32[] parameter(3)
  above = pred[] compare(x, y), direction=GT
  same = pred[] compare(x, y), direction=EQ
  before = pred[] compare(i, j), direction=LT
  first = pred[] and(same, before)
  chosen = pred[] or(above, first)
  value = f32[] select(chosen, x, y)
  number = s32[] select(chosen, i, j)
  ROOT both = (f32[], s32[]) tuple(value, number)
}

ENTRY main {
  x = f32[3,5] parameter(0)
  i = s32[3,5] parameter(1)
  least = f32[] parameter(2)
  none = s32[] parameter(3)
  ROOT r = (f32[3], s32[3]) reduce(x, i, least, none), to_apply=greatest, dimensions={1}
}
"""


def test_of_a_body_that_must_stay_whole_as_a_combiner_little_is_left_of_it_as_a_map():
    def is_bad(case):
        bodies = [{i.attributes.get("direction") for i in c.instructions} for c in case.module.computations]
        return _has("compare")(case) and any({"EQ", "GT"} <= directions for directions in bodies)

    reduction = reduce(_drawn(ARGMAX), is_bad, recorded)
    assert is_bad(reduction.case)
    assert instruction_count(reduction.case.module) <= 5, reduction.case.text()
    assert "open" in {step.move for step in reduction.history}
