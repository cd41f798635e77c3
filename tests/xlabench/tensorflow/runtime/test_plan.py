"""What a run does, settled once: only what is needed, in an order that is always the same, copies between devices."""

from dataclasses import replace

import numpy as np
import pytest

from compiler.tf import Graph, Node, tensor_of
from xlabench.tensorflow import errors
from xlabench.tensorflow.framework.device_names import device_name_of
from xlabench.tensorflow.runtime import executor
from xlabench.tensorflow.runtime.calls import CALLS
from xlabench.tensorflow.runtime.plan import Around, make
from xlabench.tensorflow.runtime.resources import Resources
from xlabench.tensorflow.runtime.settings import Device
from xlabench.tensorflow.runtime.steps import COPY

FLOAT = tensor_of(np.zeros(1, np.float32)).type
CPU, XLA = (f"/job:localhost/replica:0/task:0/device:{name}:0" for name in ("CPU", "XLA_CPU"))


def node(name, op, *inputs, device="", **attributes):
    return Node(name, op, inputs, device, {"T": FLOAT, **attributes})


NODES = [
    node("x", "Placeholder", dtype=FLOAT),
    node("c", "Const", dtype=FLOAT, value=tensor_of(np.float32(3))),
    node("n", "Neg", "x"),
    node("z", "Mul", "n", "c"),
    node("wild", "Wild", "x"),
]


@pytest.fixture
def around():
    devices = {name: Device(device_name_of(name), "reference", "reference") for name in (CPU, XLA)}
    return Around(devices, Resources(), lambda graph, _: graph, CALLS, is_soft=True)


@pytest.fixture
def planned(around):
    def plan(feeds, fetches, nodes=NODES, targets=()):
        return make(Graph(list(nodes)), feeds, fetches, targets, around)

    return plan


def ops(steps):
    return [step.node.op for step in steps]


def test_only_what_is_wanted_is_in_it_after_what_it_takes(planned):
    made = planned(["x:0"], ["z:0"], NODES[::-1])
    assert [op for op in ops(made.steps) if not op.startswith("_")] in (
        ["Const", "Neg", "Mul"],
        ["Neg", "Const", "Mul"],
    )
    assert executor.run(made, [np.float32(2)]) == [-6]


def test_of_what_could_be_next_the_first_that_was_made_is(planned):
    made = [node(f"n{number}", "Neg", "x") for number in (3, 1, 2)]
    found = planned(["x:0"], ["n1:0", "n2:0", "n3:0"], [*NODES[:1], *made])
    assert [step.node.name for step in found.steps if step.node.op == "Neg"] == ["n3", "n1", "n2"]


def test_constants_are_there_before_a_run_and_what_is_idle_is_left_out_of_it(planned):
    made = planned(["x:0"], ["z:0"])
    assert ops(made.quick) == ["Neg", "Mul"]
    assert any(isinstance(value, np.ndarray) and value == 3 for value in made.slots)
    assert not made.may_die


def test_what_waits_for_a_side_that_may_be_dead_is_not_left_out(planned):
    predicate = node("p", "Placeholder", dtype=tensor_of(np.ones(1, bool)).type)
    switch = [node("s", "Switch", "x", "p"), node("i", "Identity", "s:1"), node("w", "NoOp", "^i")]
    made = planned(["x:0", "p:0"], [], [NODES[0], predicate, *switch], ["w"])
    assert made.may_die
    assert ops(made.quick)[-1] == "NoOp"


def test_a_value_is_copied_once_to_each_device_that_takes_it(planned):
    elsewhere = [replace(node(name, "Neg", "n"), device=XLA) for name in ("a", "b")]
    made = planned(["x:0"], ["a:0", "b:0"], [*NODES[:3], *elsewhere])
    assert made.copies[CPU, XLA] == 1
    assert ops(made.steps).count(COPY) == sum(made.copies.values()) == 3, "and both results come back"
    assert executor.run(made, [np.float32(2)]) == [2, 2]


def test_a_fed_node_is_not_waited_for(planned):
    made = planned(["x:0"], ["n:0"], [NODES[0], node("n", "Neg", "x", "^x")])
    assert executor.run(made, [np.float32(2)]) == [-2]


@pytest.mark.parametrize(
    ("fetch", "said"),
    [("wild:0", "No OpKernel was registered to support Op 'Wild' used by {{node wild}}"), ("none:0", "none")],
)
def test_what_cannot_run_is_refused_by_name(planned, fetch, said):
    with pytest.raises(errors.InvalidArgumentError) as caught:
        planned(["x:0"], [fetch])
    assert said in str(caught.value)


def test_where_there_is_nothing_nothing_runs(around, planned):
    with pytest.raises(errors.InvalidArgumentError, match="Cannot assign a device for operation n"):
        make(Graph([NODES[0], node("n", "Neg", "x", device="/device:TPU:0")]), ["x:0"], ["n:0"], [],
             replace(around, is_soft=False))  # fmt: skip
