"""What branches are written with: values that are known, and those that somebody rounds."""

import pytest
from cluster_graphs import FLOAT, graph_of, node_of
from graph_nodes import function

from compiler.ir.shape import ArrayShape
from compiler.ir.types import PRED
from compiler.tf2xla import lower

TAKES = function("takes", {"a": FLOAT}, {"b": FLOAT}, [node_of("m = Neg(a)")], {"b": "m:y:0"})
GRAPH = """
    p = Placeholder() {dtype=bool}
    k = Const()
    e = Exp(k)
    y = If(p, GIVEN) {then_branch=@takes, else_branch=@takes, Tcond=bool}
"""


@pytest.mark.parametrize(("given", "is_known"), [("k", True), ("e", False)])
def test_a_float_that_is_computed_is_no_constant_of_a_branch(given, is_known):
    text = GRAPH.replace("GIVEN", given)
    lowered = lower(graph_of(text, TAKES), {"p": ArrayShape(PRED, ())}, ["y"])
    [branch] = {one.operands[0].opcode for one in lowered.module.instructions() if one.opcode == "negate"}
    assert (branch == "constant") is is_known
