"""The graph of one run: what is needed, with feeds and fetches as nodes."""

import pytest
from cluster_graphs import graph_of

from compiler.diagnostics import InputError
from compiler.graph import verify
from compiler.jit import for_execution

TEXT = "x = Placeholder()\ny = Neg(x)\nz = Exp(y, ^n)\nn = NoOp(^x)\nu = Unpack(x) {num=2}\nw = Neg(u:1)"


def test_feeds_and_fetches_are_nodes_and_the_rest_goes():
    run = for_execution(graph_of(TEXT), ["x:0", "u:1"], ["z", "w:0"])
    verify(run.graph)
    assert (run.feeds, run.fetches) == (("_arg_x_0_0", "_arg_u_1_1"), ("_retval_z_0_0", "_retval_w_0_1"))
    inputs = {one.name: one.inputs for one in run.graph.nodes}
    assert inputs == {
        "y": ("_arg_x_0_0",),
        "z": ("y", "^n"),
        "n": ("^_arg_x_0_0",),
        "w": ("_arg_u_1_1",),
        "_arg_x_0_0": (),
        "_arg_u_1_1": (),
        "_retval_z_0_0": ("z",),
        "_retval_w_0_1": ("w",),
    }
    assert str(run.graph.node("_arg_u_1_1").attributes["T"]) == "float32"


def test_targets_run_and_a_fetched_feed_is_handed_through():
    run = for_execution(graph_of(TEXT), ["x"], ["x"], ["n"])
    assert run.graph.node("_retval_x_0_0").inputs == ("_arg_x_0_0",)
    assert "n" in {one.name for one in run.graph.nodes}


@pytest.mark.parametrize(
    ("feeds", "fetches", "said"),
    [
        (["x", "x:0"], ["y"], "fed twice"),
        (["^x"], ["y"], "names no output"),
        ([], ["yy"], "no node 'yy' in the graph; did you mean y"),
        ([], ["u:2"], "has 2 outputs"),
    ],
)
def test_what_is_not_there_is_named(feeds, fetches, said):
    with pytest.raises(InputError, match=said):
        for_execution(graph_of(TEXT), feeds, fetches)
