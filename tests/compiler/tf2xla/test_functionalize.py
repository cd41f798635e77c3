"""Graphs that TensorFlow makes with control flow of version 1 compute as functions what TensorFlow computes."""

import numpy as np
import pytest
from cluster_graphs import graph_of
from frame_programs import PROGRAMS, recorded
from graph_nodes import BOOL, FLOAT, X, function, node, run

from compiler.diagnostics import CompilerError
from compiler.graph import Graph, parse_graph, verify
from compiler.tf2xla import lower, lower_function, output_count
from compiler.tf2xla.functionalize import functionalize

OF_VERSION_1 = {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_computes_what_tensorflow_computes(name):
    _, x = PROGRAMS[name]
    binary, fetches, expected = recorded(name)
    graph = parse_graph(binary)
    made, renamed = functionalize(graph, fetches, ["x"])
    assert not OF_VERSION_1 & made.counts().keys()
    assert len(renamed) == len(fetches)
    lowered = lower(graph, {"x": x}, fetches)
    results = run(lowered, *(np.zeros(3, np.float32) for _ in lowered.reads))
    for result, wanted in zip(results[: len(fetches)], expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_what_is_made_is_a_valid_graph():
    graph = parse_graph(recorded("branch_in_loop")[0])
    fetches = recorded("branch_in_loop")[1]
    verify(functionalize(graph, fetches)[0], output_count)


SIDES = [
    node("s", "Switch", "x", "p", T=FLOAT),
    node("n", "Neg", "s:output_false:0", T=FLOAT),
    node("m", "Merge", "n:y:0", "s:output_true:0", T=FLOAT, N=2),
]
BODY = function("f", {"x": FLOAT, "p": BOOL}, {"first": FLOAT, "y": FLOAT}, SIDES, {"first": "x", "y": "m:output:0"})


@pytest.mark.parametrize(("p", "sign"), [(True, 1), (False, -1)])
def test_the_bodies_of_functions_are_taken_apart(p, sign):
    first, y = run(lower_function(Graph([], [BODY]), "f", [X, np.bool_(p)]))
    np.testing.assert_array_equal(first, X)
    np.testing.assert_array_equal(y, sign * X)


LOOP = """
    x = Placeholder()
    e = Enter(x) {frame_name=f}
    m = Merge(e, n)
    t = Less(m, m)
    c = LoopCond(t)
    s = Switch(m, c)
    d = Neg(s:1)
    n = NextIteration(d)
    y = Exit(s)
    z = Wild(y)
"""


def test_only_what_fetches_need_is_looked_at():
    graph = graph_of(LOOP)
    made, names = functionalize(graph, ["y", "^x"])
    assert (names, dict(made.counts())) == (["f", "^x"], {"Placeholder": 1, "While": 1, "Less": 1, "Neg": 1})
    made, names = functionalize(graph, ["z"], ["y:0"])
    assert ([(one.name, one.op) for one in made.nodes], names) == ([("y", "_Arg"), ("z", "Wild")], ["z"])


def test_what_is_there_on_one_side_only_does_not_go_on_to_the_next_iteration():
    text = LOOP.replace("d = Neg(s:1)", "d = Switch(s:1, t)")
    with pytest.raises(CompilerError, match=r"output 'd' .*on one side of a Switch only, and is taken without a Merge"):
        functionalize(graph_of(text), ["y"])


@pytest.mark.parametrize(
    ("fetch", "said"),
    [("d", "output 'd' is inside of frame 'f'"), ("w", "no node gives 'w'"), ("a b", "no node gives")],
)
def test_what_nobody_can_fetch_is_refused(fetch, said):
    with pytest.raises(CompilerError, match=said):
        functionalize(graph_of(LOOP), [fetch])
