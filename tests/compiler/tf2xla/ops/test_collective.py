"""What replicas do together, on several devices."""

import numpy as np
import pytest
from graph_nodes import FLOAT, X, const, node, placeholder

import compiler
from compiler.graph import Graph
from compiler.tf2xla import lower

INPUTS = [X, 10 * X]
KEYS = {"group_size": 2, "group_key": 1, "instance_key": 1, "T": FLOAT}
MERGE = {"merge_op": b"Add", "final_op": b"Id"}
CALLS = [
    (node("y", "CollectiveReduce", "x", **KEYS, **MERGE), 11 * X),
    (node("y", "CollectiveReduce", "x", **KEYS, merge_op=b"Max", final_op=b"Id"), 10 * X),
    (node("y", "CollectiveReduceV2", "x", "two", "two", "two", T=FLOAT, merge_op=b"Add", final_op=b"Div"), 5.5 * X),
    (node("y", "CollectiveGather", "x", **KEYS), np.concatenate(INPUTS)),
    (node("y", "CollectiveReduceV2", "x", "group:0", "group:1", "two", T=FLOAT, **MERGE), 11 * X),
    (node("y", "XlaAllReduce", "x", "groups", T=FLOAT, reduce_op=b"Mean", mode=b"CrossReplica"), 5.5 * X),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_all_give_and_all_get(number):
    call, right = CALLS[number]
    group = node("group", "CollectiveAssignGroupV2", "groups", "one", "one")
    graph = Graph([placeholder("x"), const("one", 1), const("two", 2), const("groups", [[0, 1]]), group, call])
    module = lower(graph, {"x": X}, ["y"]).module
    compiler.verify(module)
    for result in compiler.interpret_devices(module, [[one] for one in INPUTS]):
        np.testing.assert_array_equal(result[0], right)


@pytest.mark.parametrize("axis", [0, -2])
@pytest.mark.parametrize(("kind", "right"), [(b"Add", 11 * X), (b"Mean", 5.5 * X), (b"Max", 10 * X)])
def test_each_gets_a_slice_of_what_all_give(axis, kind, right):
    call = node("y", "XlaReduceScatter", "x", "groups", "axis", T=FLOAT, reduce_op=kind)
    graph = Graph([placeholder("x"), const("groups", [[0, 1]]), const("axis", axis), call])
    module = lower(graph, {"x": X}, ["y"]).module
    compiler.verify(module)
    for number, result in enumerate(compiler.interpret_devices(module, [[one] for one in INPUTS])):
        np.testing.assert_array_equal(result[0], right[number : number + 1])


def test_slices_that_do_not_come_out_even_are_refused():
    call = node("y", "XlaReduceScatter", "x", "groups", "axis", T=FLOAT, reduce_op=b"Add")
    graph = Graph([placeholder("x"), const("groups", [[0, 1]]), const("axis", 1), call])
    with pytest.raises(compiler.InputError, match="3 elements cannot be dealt out to 2 replicas"):
        lower(graph, {"x": X}, ["y"])


GROUPS = [
    ([[0, 1]], 0, 0, "the key 0 of a group is reserved"),
    ([[0, 1], [2, 3]], 3, -1, "the key 0 of a group is reserved"),
    ([[0, 1], [2, 3]], 3, 0, "the key 0 of a group is reserved"),
    ([[0, 2]], 1, 1, "name a device that is not there"),
    ([[0, 1]], 2, 1, "device 2 is in none of its groups"),
]


@pytest.mark.parametrize(("groups", "device", "first", "said"), GROUPS)
def test_groups_without_a_device_or_a_key_are_refused(groups, device, first, said):
    call = node("y", "CollectiveAssignGroupV2", "groups", "device", "first")
    graph = Graph([const("groups", groups), const("device", device), const("first", first), call])
    with pytest.raises(compiler.InputError, match=said):
        lower(graph, {}, ["y:1"])


def test_groups_that_are_not_all_replicas_are_refused():
    call = node("y", "XlaAllReduce", "x", "groups", T=FLOAT, reduce_op=b"Add", mode=b"CrossReplica")
    with pytest.raises(compiler.InputError, match="are not all replicas, each once"):
        lower(Graph([placeholder("x"), const("groups", [[0, 2]]), call]), {"x": X}, ["y"])
