"""Loops of frames run op by op, and with clusters between their switches, as in TensorFlow."""

from functools import cache

import numpy as np
import pytest
from cluster_graphs import graph_of
from frame_programs import PROGRAMS, recorded

from compiler import aot
from compiler.diagnostics import InputError
from compiler.graph import parse_graph
from compiler.jit import parse_flags
from xlabench.errors import RunFailure
from xlabench.graphs.running import GraphEngine, values_of

FLAGS = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit --tf_xla_min_cluster_size=2"
ENGINES = {
    "ops": GraphEngine("ops", "reference", "reference"),
    "clusters": GraphEngine("clusters", "reference", "reference", parse_flags(FLAGS)),
}


@cache
def module(name):
    """A program as a module that carries its graph."""
    binary, fetches, _ = recorded(name)
    return aot.lower_with_graph(parse_graph(binary), {"x": PROGRAMS[name][1]}, fetches).module


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_tensorflow_gives(name, engine):
    expected = recorded(name)[2]
    held = [np.zeros(3, np.float32)] * (len(module(name).entry.parameters) - 1)
    results = ENGINES[engine].compile(module(name))(PROGRAMS[name][1], *held)
    for result, wanted in zip(results[: len(expected)], expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


def alive(text, x, *fetches, p=False):
    """What of a graph is alive, op by op."""
    carried = aot.Carried(graph_of(text), ("x", "p"), (), fetches, ())
    return values_of(carried, fetches, [np.float32(x), np.bool_(p)])


LOOP = """
    x = Placeholder()
    p = Placeholder() {dtype=bool}
    u = Switch(x, p)
    k = Enter(x) {frame_name=f, is_constant=true}
    e = Enter(u) {frame_name=f}
    m = Merge(e, n)
    two = Const(^m)
    t = Less(m, k)
    c = LoopCond(t)
    s = Switch(m, c)
    d = AddV2(s:1, two)
    n = NextIteration(d)
    y = Exit(s)
    w = Exit(k)
    z = Merge(y, u:1)
"""


def test_a_loop_on_the_side_that_is_not_taken_leaves_dead_values():
    assert alive(LOOP, 5, "y", "z") == {"y": 5, "z": 5}
    assert alive(LOOP, 5, "y", "z", p=True) == {"z": 5}


def test_a_constant_enters_every_iteration_and_any_other_value_the_first():
    text = LOOP.replace("Enter(u)", "Enter(start)").replace("x = Pl", "start = Const()\n x = Pl")
    assert alive(text, 7, "y") == {"y": 8}
    once = (
        text.replace(", is_constant=true", "")
        .replace("u = Switch(x, p)\n", "")
        .replace("z = Merge(y, u:1)", "z = Neg(y)")
    )
    assert alive(once, 7, "y", "z") == {}


def test_what_only_iterations_have_is_not_fetched():
    with pytest.raises(InputError, match="output 'd' is inside of frame 'f'"):
        alive(LOOP, 5, "d")


def test_a_predicate_is_a_scalar():
    with pytest.raises(RunFailure, match="The second input must be a scalar, but it has shape"):
        alive(LOOP, 5, "z", p=[True, False])
