"""Graphs of campaigns: the same for the same seed, and what they hold."""

from itertools import chain, count

import numpy as np
import pytest

import compiler
from compiler import aot
from compiler.graph import PartialShape
from compiler.tf import BY_NAME, Graph, Node
from xlabench.engines import build, engine, execute
from xlabench.fuzzing.graphs import cases
from xlabench.fuzzing.graphs.drawing import PLAIN, TYPES, Drawer, Fed
from xlabench.graphs.case import GraphCase
from xlabench.judging.judge import judge
from xlabench.tensorflow.framework import graph as building

SEED = 5
DRAWN = [cases.draw_case(SEED, number) for number in range(14)]


def _is_without_rank(node):
    shape = node.attributes.get("shape")
    return node.op == "Placeholder" and isinstance(shape, PartialShape) and shape.static is None


_CALLS = {"If", "StatelessIf", "While", "StatelessWhile", "StatelessCase", "PartitionedCall"}
MORE_THAN_OPS = {
    "a variable": lambda node: node.op == "VarHandleOp",
    "a function": lambda node: node.op in _CALLS,
    "an order without data": lambda node: any(text.startswith("^") for text in node.inputs),
    "a fed value that must be known": lambda node: aot.VALUE in node.attributes,
    "sizes that are not known": _is_without_rank,
}


def test_a_seed_and_a_number_give_the_same_case():
    again = cases.draw_case(SEED, 3)
    assert compiler.to_text(again.module) == compiler.to_text(DRAWN[3].module)
    assert [one.tobytes() for one in again.inputs] == [one.tobytes() for one in DRAWN[3].inputs]
    assert compiler.to_text(cases.draw_case(SEED + 1, 3).module) != compiler.to_text(DRAWN[3].module)


@pytest.mark.parametrize("what", MORE_THAN_OPS)
def test_graphs_hold_more_than_ops(what):
    """However rare it is: further graphs are drawn until one has it."""
    further = (cases.draw_case(SEED, number) for number in range(len(DRAWN), 200))
    graphs = (aot.carried_by(case.module).graph for case in chain(DRAWN, further))
    assert any(MORE_THAN_OPS[what](node) for graph in graphs for node in graph.nodes)


def test_each_op_has_its_turn():
    turn = {PLAIN[number % len(PLAIN)] for number in range(len(PLAIN))}
    assert turn == set(PLAIN)


_MOST_STEPS = 1_000_000
"""What the reference does in some seconds."""


def _count(steps):
    def counted(_, operands, evaluate):
        assert next(steps) < _MOST_STEPS
        return evaluate(operands)

    return counted


@pytest.mark.parametrize("op", ["Igamma", "Igammac", "IgammaGradA", "RandomGammaGrad", "Betainc"])
def test_loops_whose_end_is_up_to_what_they_are_given_end_soon(op, monkeypatch):
    """Of large numbers that are the same some series have millions of terms: every other call has those here."""
    real = BY_NAME["float32"]
    nodes = [
        Node("x", "Placeholder", (), "", {"dtype": real, "shape": PartialShape((4,))}),
        Node("y", op, ("x",) * (3 if op == "Betainc" else 2), "", {"T": real}),
    ]
    drawn = GraphCase(Graph(nodes), {"x": np.zeros(4, np.float32)}, ("y",))
    monkeypatch.setattr(cases, "draw_graph", lambda *_: drawn)
    monkeypatch.setattr(cases, "several", lambda _, rng, __: {"uneven": (np.full(4, rng.choice([0.5, 1e12]), "f"),)})
    for number in range(3):
        case = cases.draw_case(SEED, number)
        for _, inputs in case.calls:
            compiler.interpret(case.module, *inputs, around=_count(count()))


@pytest.mark.parametrize("spec", ["ops", "clusters"])
def test_on_the_reference_graphs_are_what_the_whole_is_to_the_bit(spec):
    for case in DRAWN:
        subject = engine(case.on(spec))
        for _, inputs in case.calls[:1]:
            results = execute(subject, build(subject, case.module), inputs).results
            judged = judge(case.module, inputs, compiler.interpret(case.module, *inputs), results)
            assert judged.verdict == "bitwise", case.number


def test_every_engine_runs_graphs_in_three_ways():
    assert cases.engines_for(("cpu:opt=0,fusion=off", "reference")) == (
        "ops",
        "clusters:on=reference",
        "ops:on=cpu/opt=0/fusion=off",
        "clusters:on=cpu/opt=0/fusion=off",
        "cpu:opt=0,fusion=off",
    )


def test_engines_of_graphs_are_varied_with_what_they_run_on():
    case = DRAWN[0]
    varied = case.on("clusters:on=cpu")
    assert varied.startswith("clusters:on=cpu/")
    assert set(case.options["cpu"]) <= {word.partition("=")[0] for word in varied.replace(",", "/").split("/")}


@pytest.mark.slow
def test_each_op_is_drawn():
    left, seed = set(PLAIN), 0
    while left and seed < 200:
        drawer = Drawer(building.Graph(), np.random.default_rng(seed), TYPES, PLAIN, Fed())
        drawer.pool.append(drawer.source("float32", (2, 3)))
        left -= {op for op in sorted(left) if drawer.attempt(op)}
        seed += 1
    assert left == set()
