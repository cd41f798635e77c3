"""Which arguments must be known: the cases of TensorFlow's const_analysis_test, on graphs and on functions."""

import pytest
from cluster_graphs import BOOL, FLOAT, INT, graph_of, node_of
from graph_nodes import const, function

from compiler.graph import AttributeList
from compiler.tf2xla import CONSTANT_INPUTS as STATED
from compiler.tf2xla import known_arguments, must_be_known

RESHAPES = function(
    "reshapes", {"a": FLOAT, "n": INT}, {"b": FLOAT}, [node_of("r = Reshape(a, n) {Tshape=int32}")], {"b": "r:output:0"}
)
CALLS = function(
    "calls",
    {"n": INT, "a": FLOAT},
    {"b": FLOAT},
    [node_of("m = Neg(n) {T=int32}"), node_of("c = PartitionedCall(a, m:y:0) {f=@reshapes}")],
    {"b": "c:output:0"},
)
STATEFUL = function(
    "stateful",
    {"n": INT, "a": FLOAT},
    {"b": FLOAT},
    [node_of("c = StatefulPartitionedCall(a, n) {f=@reshapes}")],
    {"b": "c:output:0"},
)
SAME = function("same", {"a": FLOAT, "n": INT}, {"b": FLOAT}, [], {"b": "a"})
TEST = function("test", {"a": FLOAT, "n": INT}, {"t": BOOL}, [const("k", 1, bool)], {"t": "k:output:0"})
LOOPED = function(
    "looped",
    {"a": FLOAT, "n": INT},
    {"b": FLOAT},
    [node_of("w = While(a, n) {cond=@test, body=@reshapes}")],
    {"b": "w:output:0"},
)
CHOSEN = function(
    "chosen",
    {"p": BOOL, "a": FLOAT, "n": INT},
    {"b": FLOAT},
    [node_of("i = If(p, a, n) {then_branch=@same, else_branch=@reshapes, Tcond=bool}")],
    {"b": "i:output:0"},
)
ENDLESS = function("endless", {"n": INT}, {"b": INT}, [node_of("e = endless(n)")], {"b": "e:b:0"})
LIBRARY = (RESHAPES, CALLS, STATEFUL, SAME, TEST, LOOPED, CHOSEN, ENDLESS)

GRAPHS = {
    "Basics": (
        """
        a = Placeholder() {dtype=int32}
        n = Placeholder() {dtype=int32}
        x = Placeholder() {dtype=int32}
        axes = Placeholder() {dtype=int32}
        s = Shape(a) {T=int32}
        d = AddV2(s, n) {T=int32}
        y = Reshape(x, d) {T=int32, Tshape=int32}
        t = Sum(axes, axes) {T=int32, Tidx=int32}
        r = Mul(y, t) {T=int32}
        """,
        {"n", "s", "d", "axes"},
    ),
    "RespectExplicitAttr_0": (
        "a = Placeholder() {dtype=int32}\nr = Reshape(a, a) {T=int32, Tshape=int32, _XlaCompileTimeConstantInputs=[]}",
        set(),
    ),
    "RespectExplicitAttr_1": (
        """
        a = Placeholder()
        b = Placeholder()
        r = AddV2(a, b) {_XlaCompileTimeConstantInputs=x}
        """,
        {"a"},
    ),
    "TopologicalOrder_0": (
        """
        a = Placeholder() {dtype=int32}
        n = Placeholder() {dtype=int32}
        x = Placeholder() {dtype=int32}
        y = Reshape(a, n) {T=int32, Tshape=int32}
        z = Reshape(x, y) {T=int32, Tshape=int32}
        r = AddV2(y, z) {T=int32}
        """,
        {"a", "n", "y"},
    ),
    "TopologicalOrder_1": (
        """
        a = Placeholder() {dtype=int32}
        n = Placeholder() {dtype=int32}
        x = Placeholder() {dtype=int32}
        y = Reshape(a, n) {T=int32, Tshape=int32}
        z = Reshape(x, y) {T=int32, Tshape=int32}
        r = AddV2(z, y) {T=int32}
        """,
        {"a", "n", "y"},
    ),
    "ThroughOps": (
        "a = Placeholder()\nn = Placeholder() {dtype=int32}\nm = Neg(n) {T=int32}\nr = Reshape(a, m) {Tshape=int32}",
        {"n", "m"},
    ),
    "DontFollowControlDependencies": (
        """
        a = Placeholder()
        n = Placeholder() {dtype=int32}
        k = Const(^n) {dtype=int32, value=[4]}
        r = Reshape(a, k) {Tshape=int32}
        """,
        {"k"},
    ),
    "StopAtShapes": (
        "a = Placeholder()\nb = Placeholder()\ns = Shape(b)\nr = Reshape(a, s) {Tshape=int32}",
        {"s"},
    ),
    "OnlyWhatIsUsed": (
        "a = Placeholder()\nn = Placeholder() {dtype=int32}\nr = Reshape(a, n) {Tshape=int32}\nu = Neg(a)",
        None,
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_what_a_value_is_computed_from_must_be_known(name):
    text, expected = GRAPHS[name]
    graph = graph_of(text)
    for node in graph.nodes:
        if STATED in node.attributes:
            said = node.attributes[STATED]
            node.attributes[STATED] = AttributeList("s", (said,) if isinstance(said, bytes) else ())
    assert must_be_known(graph, ["u" if expected is None else "r"]) == (expected or set())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("reshapes", {1}),
        ("calls", {0}),
        ("stateful", {0}),
        ("same", set()),
        ("looped", {1}),
        ("chosen", {2}),
        ("endless", set()),
        ("no", set()),
    ],
)
def test_arguments_of_functions_must_be_known_where_what_they_call_asks(name, expected):
    assert known_arguments(graph_of("x = NoOp()", *LIBRARY), name) == expected
