"""What clustering reads of nodes is empty where nothing is said, or something else than text."""

from compiler.graph import Function, Node
from compiler.jit.attributes import CLUSTER, COMPILE, cluster_of, text_of, truth_of


def test_text_is_decoded_whatever_it_is():
    assert cluster_of(Node("a", "Abs", attributes={CLUSTER: b"cluster_0"})) == "cluster_0"
    assert cluster_of(Node("a", "Abs")) == ""
    assert text_of(Node("a", "Abs", attributes={"x": 3}), "x") == ""
    assert text_of(Node("a", "Abs", attributes={"x": b"\xff"}), "x") == "\ufffd"


def test_a_node_goes_before_the_function_that_it_calls():
    library = {"f": Function("f", (), (), attributes={COMPILE: True})}
    assert truth_of(Node("a", "f"), COMPILE, library) is True
    assert truth_of(Node("a", "f", attributes={COMPILE: False}), COMPILE, library) is False
    assert truth_of(Node("a", "f", attributes={COMPILE: 1}), COMPILE, library) is True
    assert truth_of(Node("a", "Abs"), COMPILE, library) is None
