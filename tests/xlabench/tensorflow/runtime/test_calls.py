"""Functions op by op: a body is a graph of its own with an entry for each argument and an exit for each result."""

import numpy as np
import pytest

from compiler.tf import Argument, AttributeList, Function, FunctionReference, Graph, Node, PlaceholderName, tensor_of
from xlabench.tensorflow.framework.device_names import device_name_of
from xlabench.tensorflow.runtime.calls import CALLS, body_of, callee
from xlabench.tensorflow.runtime.plan import Around
from xlabench.tensorflow.runtime.resources import Resources
from xlabench.tensorflow.runtime.settings import Device

FLOAT, INT, BOOL = (tensor_of(np.zeros(1, kind)).type for kind in (np.float32, np.int32, bool))
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def function(name, takes, gives, nodes, returns):
    arguments, results = (tuple(Argument(key, kind) for key, kind in ports.items()) for ports in (takes, gives))
    return Function(name, arguments, results, nodes, returns)


def node(name, op, *inputs, **attributes):
    return Node(name, op, inputs, "", attributes)


def const(name, value):
    tensor = tensor_of(np.array(value))
    return node(name, "Const", dtype=tensor.type, value=tensor)


TWICE = function("twice", {"a": FLOAT}, {"b": FLOAT}, [node("t", "AddV2", "a", "a", T=FLOAT)], {"b": "t:z:0"})
MINUS = function("minus", {"a": FLOAT}, {"b": FLOAT}, [node("t", "Neg", "a", T=PlaceholderName("T"))], {"b": "t:y:0"})
OUTER = function("outer", {"a": FLOAT}, {"b": FLOAT}, [node("c", "twice", "a"), node("d", "twice", "c:b:0", "^c")],
                 {"b": "d:b:0"})  # fmt: skip
BELOW = function("below", {"n": INT, "x": FLOAT}, {"go": BOOL},
                 [const("three", np.int32(3)), node("l", "Less", "n", "three:output:0", T=INT)],
                 {"go": "l:z:0"})  # fmt: skip
STEP = function("step", {"n": INT, "x": FLOAT}, {"n1": INT, "x1": FLOAT},
                [const("one", np.int32(1)), node("m", "AddV2", "n", "one:output:0", T=INT),
                 node("y", "AddV2", "x", "x", T=FLOAT)], {"n1": "m:z:0", "x1": "y:z:0"})  # fmt: skip
LIBRARY = {one.name: one for one in (TWICE, MINUS, OUTER, BELOW, STEP)}
GRAPH = Graph([], list(LIBRARY.values()))
X = np.float32(5)


@pytest.fixture
def around():
    return Around(
        {CPU: Device(device_name_of(CPU), "reference", "reference")}, Resources(), lambda g: g, CALLS, is_soft=True
    )


@pytest.fixture
def kernel(around):
    def make(op, **attributes):
        return CALLS[op](Node("n", op, (), CPU, attributes), GRAPH, around)

    return make


def test_a_body_has_an_entry_for_each_argument_and_an_exit_for_each_result():
    graph, entries, exits = body_of(OUTER, FunctionReference("outer"), LIBRARY)
    by_name = {one.name: one for one in graph.nodes}
    assert [by_name[name].op for name in (*entries, *exits)] == ["_Arg", "_Retval"]
    assert by_name["c"].inputs == (entries[0],)
    assert by_name["d"].inputs == ("c", "^c")
    assert by_name[exits[0]].inputs == ("d",)


def test_outputs_are_numbered_as_the_op_gives_them():
    split = node("s", "Split", "axis:output:0", "a", T=FLOAT, num_split=3)
    made = function("f", {"a": FLOAT}, {"b": FLOAT}, [const("axis", np.int32(0)), split], {"b": "s:output:2"})
    graph, _, exits = body_of(made, FunctionReference("f"), {})
    assert next(one for one in graph.nodes if one.name == exits[0]).inputs == ("s:2",)


def test_what_no_result_needs_runs_only_if_it_has_effects():
    spare = [
        node("spare", "Neg", "a", T=FLOAT),
        node("said", "Print", "a", "a", T=FLOAT, U=AttributeList("type", (FLOAT,))),
    ]
    made = function("f", {"a": FLOAT}, {"b": FLOAT}, [*spare, node("n", "Neg", "a", T=FLOAT)], {"b": "n:y:0"})
    graph, _, _ = body_of(made, FunctionReference("f"), {})
    assert [one.name for one in graph.nodes if not one.name.startswith("_")] == ["said", "n"]


def test_names_that_are_taken_are_left_alone():
    made = function("f", {"a": FLOAT}, {"b": FLOAT}, [node("_arg_a", "Neg", "a", T=FLOAT)], {"b": "_arg_a:y:0"})
    graph, entries, _ = body_of(made, FunctionReference("f"), {})
    assert entries == ["_arg_a_"]
    assert len({one.name for one in graph.nodes}) == len(graph.nodes)


def test_attributes_that_the_caller_gives_are_put_in():
    graph, _, _ = body_of(MINUS, FunctionReference("minus", {"T": FLOAT}), LIBRARY)
    assert next(one for one in graph.nodes if one.name == "t").attributes == {"T": FLOAT}


def test_a_function_is_planned_when_it_is_first_called(around):
    unknown = callee(FunctionReference("nobody"), CPU, GRAPH, around)
    with pytest.raises(Exception, match="nobody"):
        unknown([X])
    assert callee(FunctionReference("outer"), CPU, GRAPH, around)([X]) == [20]


@pytest.mark.parametrize("op", ["PartitionedCall", "StatefulPartitionedCall"])
def test_a_call_gives_the_functions_results(kernel, op):
    assert list(kernel(op, f=FunctionReference("twice"))([X])) == [10]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [(np.ones((), bool), 10), (np.zeros((), bool), -5), (np.float32(0.5), 10), (np.zeros(1), 10), (np.zeros(0), -5)],
    ids=["true", "false", "a number", "an array", "an empty array"],
)
def test_a_condition_is_true_as_tensorflow_has_it(kernel, condition, expected):
    branches = {"then_branch": FunctionReference("twice"), "else_branch": FunctionReference("minus", {"T": FLOAT})}
    assert list(kernel("If", **branches)([condition, X])) == [expected]


@pytest.mark.parametrize(("number", "expected"), [(0, 10), (1, -5), (2, -5), (-1, -5)])
def test_a_number_that_is_no_branchs_is_the_lasts(kernel, number, expected):
    branches = AttributeList("func", (FunctionReference("twice"), FunctionReference("minus", {"T": FLOAT})))
    assert list(kernel("Case", branches=branches)([np.int32(number), X])) == [expected]


@pytest.mark.parametrize(("first", "expected"), [(0, [3, 40]), (2, [3, 10]), (3, [3, 5])])
def test_a_loop_runs_as_long_as_its_condition_holds(kernel, first, expected):
    loop = kernel("While", cond=FunctionReference("below"), body=FunctionReference("step"))
    assert loop([np.int32(first), X]) == expected


def test_an_op_without_a_record_may_be_in_a_function():
    nodes = [node("h", "StringToHashBucketFast", "a"), node("y", "Identity", "h:output:0", T=INT)]
    body = body_of(function("f", {"a": INT}, {"b": INT}, nodes, {"b": "y:output:0"}), FunctionReference("f"), {})
    assert body.graph.node("y").inputs == ("h",)
