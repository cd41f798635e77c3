"""Modules that carry the graph that they were lowered from."""

import numpy as np
import pytest
from graph_nodes import X, node, placeholder

import compiler
from compiler.aot import carried
from compiler.aot.carried import ATTRIBUTE, KEY, carried_by, lower_with_graph, with_values, without_graph
from compiler.diagnostics import InputError
from compiler.graph import BY_NAME, Graph, Node, PartialShape, tensor_of
from compiler.ir.literal import array_literal
from compiler.ir.types import F32

FLOAT = BY_NAME["float32"]


def lowered():
    graph = Graph([placeholder("x"), node("y", "Neg", "x", T=FLOAT)])
    return lower_with_graph(graph, {"x": X}, ["y"]).module


def test_a_module_carries_its_graph_through_text():
    module = compiler.parse(compiler.to_text(lowered()))
    found = carried_by(module)
    assert [one.op for one in found.graph.nodes] == ["Placeholder", "Neg"]
    assert (found.feeds, found.fetches, found.reads, found.writes) == (("x",), ("y",), (), ())
    np.testing.assert_array_equal(compiler.interpret(module, X)[0], -X)


def test_a_module_that_was_changed_carries_nothing():
    text = compiler.to_text(lowered())
    assert "negate(" in text
    assert carried_by(compiler.parse(text.replace("negate(", "sign("))) is None


def weighted(weights):
    weight = node("w", "Const", dtype=FLOAT, value=tensor_of(weights))
    graph = Graph([placeholder("x"), weight, node("y", "AddV2", "x", "w", T=FLOAT)])
    return lower_with_graph(graph, {"x": X.reshape(-1)[:1]}, ["y"]).module


def test_a_large_graph_is_carried_as_it_is(monkeypatch):
    monkeypatch.setattr(carried, "_MOST_PACKED", 64)
    module = compiler.parse(compiler.to_text(weighted(np.full(2000, np.nan, np.float32))))
    assert np.isnan(carried_by(module).graph.node("w").attributes["value"].array()).all()


def test_a_module_that_has_other_weights_carries_nothing():
    weights = np.arange(2000, dtype=np.float32)
    module = weighted(weights)
    [constant] = [one for one in module.instructions() if one.opcode == "constant"]
    constant.attributes["literal"] = array_literal(weights + (weights == 1999), F32)
    assert carried_by(module) is None


def test_what_is_compressed_grows_only_so_far(monkeypatch):
    module = weighted(np.zeros(20000, np.float32))
    monkeypatch.setattr(carried, "_MOST_PACKED", 30000)
    with pytest.raises(InputError, match="grows to more than 60,000 bytes"):
        carried_by(module)


def test_without_its_graph_a_module_is_what_it_was_and_other_notes_stay():
    module = lowered()
    module.attributes[ATTRIBUTE] = (*module.attributes[ATTRIBUTE], ("other", "note"))
    bare = without_graph(module)
    assert bare.attributes[ATTRIBUTE] == (("other", "note"),)
    assert carried_by(bare) is None


@pytest.mark.parametrize("text", ["", "!", "AAAA", "eJwDAAAAAAE="])
def test_what_cannot_be_read_is_said(text):
    module = without_graph(lowered())
    module.attributes[ATTRIBUTE] = ((KEY, text),)
    with pytest.raises(InputError, match="it cannot be read"):
        carried_by(module)


def test_values_are_written_on_their_nodes_and_read_back():
    graph = Graph([placeholder("x"), placeholder("y")])
    found = with_values(graph, {"y": X})
    assert [set(one.attributes) - {"dtype"} == set() for one in found.nodes] == [True, False]
    assert graph.node("y").attributes.keys() == {"dtype"}


@pytest.mark.parametrize("value", [np.int32(2), np.array(2, np.int32)])
def test_a_value_that_must_be_known_is_carried_as_a_scalar_of_numpy_s_too(value):
    stated = {"dtype": BY_NAME["int32"], "shape": PartialShape(())}
    graph = Graph(
        [
            placeholder("x"),
            Node("axis", "Placeholder", (), "", stated),
            node("y", "ExpandDims", "x", "axis", T=FLOAT, Tdim=BY_NAME["int32"]),
        ]
    )
    made = lower_with_graph(graph, {"x": X, "axis": value}, ["y"])
    assert made.inputs == ("x",)
    found = carried_by(made.module).known
    assert {name: (one.dtype, one.tolist()) for name, one in found.items()} == {"axis": (np.dtype("int32"), 2)}
