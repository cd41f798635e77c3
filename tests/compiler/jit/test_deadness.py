"""When nodes are alive: the cases of TensorFlow's own deadness_analysis_test, as graphs and what they say."""

import pytest
from cluster_graphs import graph_of

from compiler.diagnostics import InputError
from compiler.jit.deadness import Deadness
from compiler.jit.predicates import Predicates
from compiler.jit.topology import Topology

SWITCHES = "\n".join(
    f"v{n} = Placeholder()\nc{n} = Placeholder() {{dtype=bool}}\ns{n} = Switch(v{n}, c{n})" for n in range(4)
)


def _add(name, *inputs):
    return f"{name} = AddV2({', '.join(inputs)})"


def _merge(name, *inputs):
    return f"{name} = Merge({', '.join(inputs)})"


DIFFER = {
    "BasicPositive": ([_add("add", "s0:1", "s0")], {"add": True}),
    "BasicNegative": ([_add("add", "v0", "v1")], {"add": False}),
    "AndIsCommutative": (
        [
            _add("a0", "s0", "s1"),
            _add("a1", "s1", "s0"),
            _add("b0", "s0", "s1:1"),
            _add("b1", "s1:1", "s0"),
            _add("live0", "a0", "a1"),
            _add("live1", "b0", "b1"),
            _add("half0", "a0", "b0"),
            _add("half1", "a1", "b1"),
        ],
        {"live0": False, "live1": False, "half0": True, "half1": True},
    ),
    "AndIsAssociative": (
        [
            _add("a0", "s0", "s1"),
            _add("a1", "a0", "s2"),
            _add("b0", "s1", "s2"),
            _add("b1", "s0", "b0"),
            _add("add", "a1", "b1"),
        ],
        {"add": False},
    ),
    "OrIsCommutative": (
        [
            _merge("m0", "s0", "s1"),
            _merge("m1", "s1", "s0"),
            _merge("m2", "s0", "s1:1"),
            _merge("m3", "s1:1", "s0"),
            _add("live0", "m0", "m1"),
            _add("live1", "m2", "m3"),
            _add("half0", "m0", "m2"),
            _add("half1", "m1", "m3"),
        ],
        {"live0": False, "live1": False, "half0": True, "half1": True},
    ),
    "OrIsAssociative": (
        [
            _merge("m0", "s0", "s1"),
            _merge("m1", "m0", "s2"),
            _merge("m2", "s1", "s2"),
            _merge("m3", "s0", "m2"),
            _add("add", "m1", "m3"),
        ],
        {"add": False},
    ),
    "AndOfOr": (
        [
            _merge("m0", "s0", "s1"),
            _merge("m1", "s2", "s3"),
            _add("a0", "m0", "m1"),
            _add("a1", "m0", "m1"),
            _add("add", "a0", "a1"),
        ],
        {"add": False},
    ),
    "OrOfAnd": (
        [
            _add("a0", "s0", "s1"),
            _add("a1", "s2", "s3"),
            _merge("m0", "a0", "a1"),
            _merge("m1", "a0", "a1"),
            _add("add", "m0", "m1"),
        ],
        {"add": False},
    ),
    "AndOrDistributive": (
        [
            _merge("m0", "s0", "s1"),
            _add("a0", "m0", "s2"),
            _add("a1", "s0", "s2"),
            _add("a2", "s1", "s2"),
            _merge("m1", "a1", "a2"),
            _add("add", "a0", "m1"),
        ],
        {"add": False},
    ),
    "Ternary": (
        ["t = Switch(v0, c0)", "f = Switch(v0, c0)", _merge("m", "t:1", "f"), _add("add", "m", "v1")],
        {"add": False},
    ),
    "Recv": (["r0 = _Recv()", "r1 = _Recv()", _add("add", "r0", "r1")], {"add": True}),
    "HostRecv": (["r0 = _HostRecv()", "r1 = _HostRecv()", _add("add", "r0", "r1")], {"add": True}),
    "ControlInputs": (
        ["i0 = Identity(s0)", "i1 = Identity(s0:1)", "k0 = Const(^i0)", "k1 = Const(^i1)", _add("add", "k0", "k1")],
        {"add": True},
    ),
    "ControlTrigger": (
        [
            "i0 = Identity(s0)",
            "i1 = Identity(s0:1)",
            "t0 = ControlTrigger(^i0)",
            "t1 = ControlTrigger(^i1)",
            "k0 = Const(^t0)",
            "k1 = Const(^t1)",
            _add("add", "k0", "k1"),
        ],
        {"add": False},
    ),
    "ControlInputsToMerge": (
        [
            "i0 = Identity(s0)",
            "i1 = Identity(s0:1)",
            "k = Const()",
            "m0 = Merge(k, ^i0)",
            "m1 = Merge(k, ^i1)",
            _add("add", "m0", "m1"),
        ],
        {"add": False},
    ),
    "RecvVsSwitch": (["r = _Recv()", "s = Switch(v0, r)", _add("add", "r", "s:1")], {"add": True}),
}
FORMULAS = {
    "AndOrDistributiveSimplified": (
        [
            _add("and0", "s0", "s1:1"),
            _add("and1", "s0", "s1"),
            _merge("or2", "and0", "and1"),
            _add("and3", "or2", "s0"),
            _merge("or4", "and3", "s0:1"),
        ],
        {"or4": "#true"},
    ),
    "RecvVsSwitchText": (["r = _Recv()", "s = Switch(v0, r)", _add("add", "r", "s:1")], {"add": "(r:0 & *r:0)"}),
    "DeMorgan": (
        [
            _add("both", "s0:1", "s1:1"),
            _merge("either_not", "s0", "s1"),
            _add("dead", "both", "either_not"),
            _merge("alive", "both", "either_not"),
        ],
        {"dead": "#false", "alive": "#true"},
    ),
}


def _deadness(lines):
    topology = Topology(graph_of(f"{SWITCHES}\n" + "\n".join(lines)))
    return Deadness(topology), topology.number


@pytest.mark.parametrize("name", DIFFER)
def test_inputs_that_may_be_dead_at_different_times_are_told(name):
    lines, expected = DIFFER[name]
    deadness, number = _deadness(lines)
    assert {node: deadness.inputs_differ(number[node]) for node in expected} == expected


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_are_simplified(name):
    lines, expected = FORMULAS[name]
    deadness, number = _deadness(lines)
    assert {node: str(deadness.of(number[node])) for node in expected} == expected


def _loop(name, frame, start):
    return [
        f"{name}_enter = Enter({start}) {{frame_name={frame}}}",
        f"{name} = Merge({name}_enter, {name}_next)",
        f"{name}_cond = Stop({name})",
        f"{name}_latch = Switch({name}, {name}_cond)",
        f"{name}_next = NextIteration({name}_latch:1)",
        f"{name}_exit = Exit({name}_latch)",
    ]


def _dependent(name, frame, start, cond):
    """A value that goes round as often as another."""
    lines = _loop(name, frame, start)
    return [line.replace(f", {name}_cond)", f", {cond})") for line in lines if f"{name}_cond = " not in line]


def test_loops_of_one_condition_are_alive_together_and_others_are_not():
    lines = [*_loop("iv0", "fr", "v0"), *_loop("iv1", "fr", "v1"), *_dependent("d0", "fr", "v0", "iv0_cond")]
    lines += [*_dependent("d1", "fr", "v1", "iv0_cond"), _add("apart", "iv0", "iv1"), _add("same", "d0", "d1")]
    deadness, number = _deadness(lines)
    assert str(deadness.of(number["iv0"])) == "{#true,&,*iv0_cond:0}<fr>"
    assert deadness.inputs_differ(number["apart"])
    assert not deadness.inputs_differ(number["same"])
    assert deadness.of(number["d0"]) is not deadness.of(number["iv0"])


def test_all_values_of_a_loop_are_alive_together_where_one_condition_holds():
    lines = [
        *_loop("iv", "fr", "v0"),
        *_dependent("d0", "fr", "v0", "iv_cond"),
        *_dependent("d1", "fr", "v1", "iv_cond"),
    ]
    deadness, number = _deadness([*lines, _add("add", "iv", "d1")])
    assert {str(deadness.of(number[name])) for name in ("iv", "d0", "d1", "add")} == {"{#true,&,*iv_cond:0}<fr>"}
    assert str(deadness.of(number["d1_exit"])) == "#true", "a loop ends"


def test_constants_decide_switches():
    deadness, number = _deadness(["k = Const() {dtype=bool}", "s = Switch(v0, k)", "a = Neg(s:1)", "b = Neg(s)"])
    assert [str(deadness.of(number[name])) for name in "ab"] == ["#true", "#false"]


def test_switches_of_many_branches_take_one():
    lines = ["s = _SwitchN(v0, c0) {num_outs=3}", "a = Neg(s)", "b = Neg(s:1)", "c = Neg(s:2)", "m = Merge(a, b, c)"]
    deadness, number = _deadness(lines)
    found = [str(deadness.of(number[name])) for name in "abc"]
    assert found == ["c0:0=0", "(~c0:0=0 & c0:0=1)", "(~c0:0=0 & ~c0:0=1)"]


def test_frames_are_in_formulas_of_loops():
    lines = [*_loop("out", "outer", "v0"), *_loop("in", "inner", "out_latch:1"), *_loop("else", "other", "v0")]
    deadness, number = _deadness(lines)
    assert str(deadness.of(number["in"])).endswith(",&,*in_cond:0}<inner;outer>")
    assert str(deadness.of(number["else"])) == "{#true,&,*else_cond:0}<other>"


def _nested(name):
    """A loop in a loop, and a value of each that goes round as often."""
    return [
        *_loop(f"{name}_out", "outer", "v0"),
        f"{name}_limit = Enter(v1) {{frame_name=outer, is_constant=true}}",
        f"{name}_live = Switch({name}_limit, {name}_out_cond)",
        *_loop(f"{name}_in", "inner", f"{name}_live:1"),
    ]


def test_nested_loops_of_the_same_conditions_are_alive_together():
    lines = _nested("a")
    for number in range(2):
        lines += _dependent(f"o{number}", "outer", f"v{number}", "a_out_cond")
        lines += _dependent(f"i{number}", "inner", f"o{number}", "a_in_cond")
    deadness, number_of = _deadness([*lines, _add("add", "i0", "i1")])
    assert not deadness.inputs_differ(number_of["add"])
    assert str(deadness.of(number_of["add"])).endswith("<inner;outer>")
    assert deadness.of(number_of["add"]) is deadness.of(number_of["i0"])


def test_nested_loops_of_other_conditions_are_not():
    deadness, number = _deadness([*_nested("a"), *_nested("b"), _add("add", "a_in", "b_in")])
    assert deadness.inputs_differ(number["add"])
    inner = "{(*%s_out_cond:0 & {#true,&,*%s_out_cond:0}<outer>),&,*%s_in_cond:0}<inner;outer>"
    assert {str(deadness.of(number[f"{one}_in"])) for one in "ab"} == {inner % (one, one, one) for one in "ab"}


def test_recurrences_of_one_start_and_step_are_others_in_another_frame():
    lines = []
    for frame in ("f", "g"):
        lines += [f"{one}_{frame} = Enter({given}) {{frame_name={frame}, is_constant=true}}"
                  for one, given in (("start", "s0:1"), ("step", "s1:1"))]  # fmt: skip
        lines += [
            f"e_{frame} = Merge(start_{frame}, next_{frame})",
            _add(f"a_{frame}", f"e_{frame}", f"step_{frame}"),
            f"next_{frame} = NextIteration(a_{frame})",
            f"exit_{frame} = Exit(e_{frame})",
        ]
    deadness, number = _deadness(lines)
    for one in ("exit", "next"):
        assert deadness.of(number[f"{one}_f"]) is not deadness.of(number[f"{one}_g"])


def test_a_value_that_is_no_recurrence_is_a_symbol():
    lines = ["e = Enter(v0) {frame_name=f}", "m = Merge(e, back)", "back = NextIteration(e)", "x = Relu(m)"]
    deadness, number = _deadness(lines)
    assert str(deadness.of(number["x"])) == "m:0"
    deadness, number = _deadness(
        [*lines[:2], "back = NextIteration(o)", "g = Enter(s0) {frame_name=f}", "o = AddV2(g, m)"]
    )
    assert str(deadness.of(number["m"])) == "{#true,&,~*c0:0}<f>"
    deadness, number = _deadness(
        [*lines[:2], "back = NextIteration(o)", "g = Enter(s0) {frame_name=f}", "o = Merge(g, m)"]
    )
    assert str(deadness.of(number["m"])) == "m:0"
    with pytest.raises(InputError, match="comes back to it from"):
        _deadness([*lines[:1], "m = Merge(e, back, o)", lines[2], "o = NextIteration(m)"])


def test_formulas_that_stand_deep_in_each_other_stay_comparable():
    made = Predicates()
    one, other = (made.symbol(name, is_value=True) for name in "ab")

    def deep(count):
        formula = one
        for number in range(count):
            symbol = made.symbol(f"s{number}", is_value=True)
            formula = made.any_of([symbol, made.all_of([formula, other])])
        return formula

    assert deep(150) is deep(150)
    assert deep(150) is not deep(149)
