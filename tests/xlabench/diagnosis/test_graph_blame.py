"""Bugs planted in a lowering, in a rule of clustering, in a pass and in code: each is blamed on its own layer."""

from dataclasses import replace

import pytest
from graph_cases import counter, program, two_ways
from in_process import Telling

import compiler
from compiler.jit.clusters import Contraction
from compiler.passes import algebraic_simplification
from compiler.tf2xla import RECORDS
from xlabench.diagnosis import graph_blame, probe
from xlabench.diagnosis.probe import Prober, Setup
from xlabench.diagnosis.triage import triage
from xlabench.graphs.case import GraphCase
from xlabench.tensorflow.runtime import plan, programs

ADD, OBJECTION, FOR_EXECUTION = RECORDS["AddV2"], Contraction._objection, plan.for_execution
EVERYWHERE = "clusters:on=cpu,min=1"


@pytest.fixture(autouse=True)
def in_process(monkeypatch):
    monkeypatch.setattr(probe, "Worker", Telling)
    monkeypatch.setattr(programs, "_PROGRAMS", {})


def _subtracts_constants(operation):
    x, y = operation["x"], operation["y"]
    return ADD.lower(operation) if operation.library.value(y) is None else x - y


def _whatever_is_alive(self, source, target):
    kept, source.alive = source.alive, target.alive
    said = OBJECTION(self, source, target)
    source.alive = kept
    return said


@pytest.fixture
def wrong_lowering(monkeypatch):
    monkeypatch.setitem(RECORDS, "AddV2", replace(ADD, lower=_subtracts_constants))


@pytest.fixture
def wrong_clustering(monkeypatch):
    monkeypatch.setattr(Contraction, "_objection", _whatever_is_alive)


@pytest.fixture
def wrong_rule(monkeypatch):
    def positive(instruction):
        return instruction.operands[0]

    monkeypatch.setitem(algebraic_simplification.RULES, "negate", (positive,))


SLIPS = {
    "inputs in another order": lambda inputs: inputs[::-1],
    "nobody waits": lambda inputs: tuple(text for text in inputs if not text.startswith("^")),
    "the first output in place of any": lambda inputs: tuple(text.partition(":")[0] for text in inputs),
}


def _executes(monkeypatch, slip):
    """Let runs have another graph."""

    def for_execution(graph, *sides):
        nodes = [replace(node, inputs=SLIPS[slip](node.inputs)) for node in graph.nodes]
        return FOR_EXECUTION(replace(graph, nodes=nodes), *sides)

    monkeypatch.setattr(plan, "for_execution", for_execution)


def _found(graph, engine):
    with Prober(Setup(engine)) as prober:
        return graph_blame.find(prober, program(graph), in_detail=False)


def _small(graph, engine):
    case = program(graph)
    return triage(Setup(engine), case.text(), case.inputs, max_probes=60)


@pytest.mark.parametrize("engine", ["ops", "ops:on=cpu", EVERYWHERE])
def test_what_agrees_is_no_failure(engine):
    with Prober(Setup(engine)) as prober:
        for chosen in (True, False):
            assert not prober.judge(program(two_ways(chosen=chosen))).is_failure


@pytest.mark.usefixtures("wrong_lowering")
def test_an_op_that_is_lowered_otherwise_among_others():
    found = _found(two_ways(chosen=True), "ops")
    assert (found.blame.signature, found.blame.where, found.is_about_graph) == ("tf2xla/AddV2", "a", True)


@pytest.mark.usefixtures("wrong_lowering")
def test_a_graph_is_reduced_to_the_op():
    small = _small(two_ways(chosen=True), "ops")
    graph = GraphCase.of(compiler.parse(small.module_text), small.inputs).graph
    assert small.cause == "tf2xla/AddV2"
    assert graph.counts() == {"Placeholder": 1, "Const": 1, "AddV2": 1}
    assert graph.node("Const").attributes["value"].size == 1


@pytest.mark.usefixtures("wrong_clustering")
def test_the_node_with_which_clusters_begin_to_be_wrong():
    found = _found(two_ways(chosen=True), "clusters:min=1")
    assert found.blame.signature == "clustering/AddV2"
    assert found.blame.where == "with_u"
    assert found.blame.first_bad == f"clusters:min=1,fuel={found.blame.rewrite}"
    assert "+  with_u (AddV2)" in found.blame.diff


@pytest.mark.usefixtures("wrong_clustering")
def test_a_graph_is_reduced_to_what_is_clustered_wrongly():
    small = _small(two_ways(chosen=True), "clusters:min=1")
    graph = GraphCase.of(compiler.parse(small.module_text), small.inputs).graph
    assert small.cause == "clustering/AddV2"
    assert {"Switch", "AddV2"} <= set(graph.counts())
    assert {"Mul", "Const"}.isdisjoint(graph.counts())


@pytest.mark.usefixtures("wrong_rule")
@pytest.mark.parametrize("engine", ["ops:on=cpu", EVERYWHERE])
def test_what_compiles_is_blamed_for_a_program(engine):
    found = _found(two_ways(chosen=False), engine)
    assert found.blame.signature == "pass/algebraic-simplification/positive"
    assert (found.engine, found.is_about_graph) == ("cpu", False)


@pytest.mark.usefixtures("wrong_rule")
def test_what_compiles_is_reduced_as_a_program():
    small = _small(two_ways(chosen=False), EVERYWHERE)
    assert small.engine == "cpu"
    assert "tensorflow_graph" not in small.module_text
    assert small.cause == "pass/algebraic-simplification/positive"


@pytest.mark.parametrize("engine", ["ops", "clusters:on=cpu,min=1"])
@pytest.mark.parametrize(
    ("graph", "slip"),
    [
        (two_ways(chosen=True), "inputs in another order"),
        (two_ways(chosen=True), "the first output in place of any"),
        (counter(), "nobody waits"),
    ],
)
def test_how_a_graph_is_put_together_is_no_lowering(monkeypatch, graph, slip, engine):
    _executes(monkeypatch, slip)
    assert _found(graph, engine).blame.signature == "execution"


def test_what_is_known_is_not_reduced_again(monkeypatch):
    _executes(monkeypatch, "inputs in another order")
    case = program(two_ways(chosen=True))
    kept = triage(Setup("ops"), case.text(), case.inputs, max_probes=60, is_known=lambda found: True)
    assert (kept.cause, kept.module_text, kept.probes) == ("execution", case.text(), 0)
