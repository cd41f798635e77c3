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
    (node("y", "XlaAllReduce", "x", "groups", T=FLOAT, reduce_op=b"Mean", mode=b"CrossReplica"), 5.5 * X),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_all_give_and_all_get(number):
    call, right = CALLS[number]
    graph = Graph([placeholder("x"), const("two", 2), const("groups", [[0, 1]]), call])
    module = lower(graph, {"x": X}, ["y"]).module
    compiler.verify(module)
    for result in compiler.interpret_devices(module, [[one] for one in INPUTS]):
        np.testing.assert_array_equal(result[0], right)


def test_groups_that_are_not_all_replicas_are_refused():
    call = node("y", "XlaAllReduce", "x", "groups", T=FLOAT, reduce_op=b"Add", mode=b"CrossReplica")
    with pytest.raises(compiler.InputError, match="are not all replicas, each once"):
        lower(Graph([placeholder("x"), const("groups", [[0, 2]]), call]), {"x": X}, ["y"])
