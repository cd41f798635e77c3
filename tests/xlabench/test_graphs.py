"""The engines `ops` and `clusters`: graphs that programs carry, in three ways, and what is refused."""

import numpy as np
import pytest
from graph_cases import counter, program, two_ways

import compiler
from compiler import aot
from compiler.graph import BY_NAME
from compiler.tf2xla.builder import Builder
from xlabench.engines import OF_GRAPHS, apart, compiled_by, engine, is_simulated, nested
from xlabench.errors import BenchError, RunFailure
from xlabench.graphs.case import GraphCase

FLOAT = BY_NAME["float32"]
SPECS = ["ops", "ops:on=cpu/opt=0", "clusters:min=1", "clusters:on=cpu/opt=0,min=1", "clusters:min=1,fuel=2,lazy=off"]
GRAPHS = {"one way": two_ways(chosen=True), "the other": two_ways(chosen=False), "variables": counter()}


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_is_what_its_program_is(name, spec):
    case = program(GRAPHS[name])
    expected = compiler.interpret(case.module, *case.inputs)
    run = engine(spec).compile(case.text())
    for _ in range(2):  # a run keeps nothing
        for result, wanted in zip(run(*case.inputs), expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-5)


def test_a_program_gives_its_graph_back_while_it_is_what_that_was_lowered_to():
    case = program(two_ways(chosen=True))
    again = compiler.parse(case.text())
    carried = aot.carried_by(again)
    assert str(carried.graph) == str(aot.carried_by(case.module).graph)
    assert (carried.feeds, carried.fetches) == (("x", "p"), ("y", "u"))
    again.entry.root.operands[0].attributes["metadata"] = {"op_name": "changed"}  # a note changes nothing
    assert aot.carried_by(again) is not None
    again.entry.root.set_operands(again.entry.root.operands[::-1])
    assert aot.carried_by(again) is None
    assert aot.carried_by(aot.without_graph(case.module)) is None


def test_a_value_that_must_be_known_is_no_parameter():
    b = Builder()
    x = b.add("Placeholder", name="x", dtype=FLOAT, shape=[2, 3]).output
    axis = b.add("Placeholder", name="axis", dtype=BY_NAME["int32"], shape=[1]).output
    b.add("Sum", x, axis, name="y")
    case = program(GraphCase(b.graph, {"x": np.ones((2, 3), np.float32), "axis": np.array([1], np.int32)}, ("y",)))
    assert len(case.inputs) == 1
    assert GraphCase.of(case.module, case.inputs).values["axis"].tolist() == [1]
    for spec in ("ops", "clusters:min=1"):
        assert engine(spec).compile(case.module)(*case.inputs)[0].tolist() == [3, 3]


def test_a_program_without_a_graph_is_not_supported():
    with pytest.raises(compiler.UnsupportedError, match="the program carries none"):
        engine("ops").compile("ENTRY main { ROOT x = f32[] parameter(0) }")


@pytest.mark.parametrize("damage", ["eJx+/ab==", "", "AAAA", "eJyLNoyNBQACiQEi"])
def test_a_damaged_graph_is_bad_input(damage):
    header = f'HloModule m, frontend_attributes={{tensorflow_graph="{damage}"}}'
    text = f"{header}\nENTRY main {{ ROOT x = f32[] parameter(0) }}"
    with pytest.raises(compiler.InputError, match="the graph that the program carries"):
        engine("clusters").compile(text)


def test_an_op_that_fails_is_a_failure_of_the_engine():
    b = Builder()
    x = b.add("Placeholder", name="x", dtype=FLOAT, shape=[2]).output
    b.add("Print", x, [x], name="p", U=[FLOAT])
    b.add("CheckNumerics", x, name="y", message="here")
    case = program(GraphCase(b.graph, {"x": np.array([1, np.inf], np.float32)}, ("y",)))
    with pytest.raises(RunFailure, match="Tensor had Inf values"):
        engine("ops").compile(case.module)(*case.inputs)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("ops:on=nope", "unknown engine 'nope'"),
        ("clusters:on=ops", "what it runs on must compile programs"),
        ("ops:on=cpu/fusio=off", "did you mean fusion"),
        ("clusters:min=x", "give an integer"),
        ("ops:min=1", "unknown option 'min'"),
    ],
)
def test_what_makes_no_sense_is_refused(spec, said):
    with pytest.raises(BenchError, match=said):
        engine(spec)


def test_a_spec_within_another():
    assert nested("nvptx:sim,opt=0") == "nvptx/sim/opt=0"
    assert compiled_by(f"clusters:on={nested('nvptx:sim,opt=0')},min=1") == "nvptx:sim,opt=0"
    assert compiled_by("cpu:opt=0") == "cpu:opt=0"
    assert is_simulated("ops:on=nvptx/sim")
    assert apart(["ops:on=xla", "cpu", "xla"]) == [("cpu",), ("ops:on=xla", "xla")]


@pytest.mark.parametrize("name", sorted(OF_GRAPHS))
def test_an_engine_of_graphs_runs_on_another_and_not_on_one_of_graphs(name):
    assert compiled_by(f"{name}:on=cpu/opt=0") == "cpu:opt=0"
    with pytest.raises(BenchError):
        engine(f"{name}:on={name}")
