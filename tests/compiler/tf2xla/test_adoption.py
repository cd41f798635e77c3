"""Graphs taken into ones that are being built: what nobody knows of a node is its shape, and of an op its types."""

import numpy as np
import pytest
from graph_nodes import FLOAT, INT, const, node, placeholder

from compiler.diagnostics import InputError
from compiler.tf2xla.adoption import adopt_all
from compiler.tf2xla.builder import Builder


def adopted(*nodes):
    builder = Builder()
    adopt_all(builder, nodes)
    return builder


def test_nodes_may_stand_in_any_order():
    builder = adopted(node("y", "Neg", "x", T=INT), const("x", [1, 2]))
    assert builder.output("y").shape.dims == (2,)


def test_edges_that_lead_back_are_there():
    builder = adopted(
        const("zero", 0),
        node("merge", "Merge", "zero", "next", T=INT, N=2),
        node("next", "NextIteration", "merge", T=INT),
    )
    merge = builder.built["merge"]
    assert [one.name for one in merge.inputs] == ["zero:0", "next:0"]
    assert merge.output.shape.dims is None


def test_an_op_that_nobody_knows_has_the_types_that_others_take():
    builder = adopted(node("a", "Unheard", "x"), placeholder("x"), node("y", "AddV2", "a:2", "x", T=FLOAT))
    [x] = builder.built["a"].inputs
    assert x.name == "x:0"
    assert [str(one.type) for one in builder.built["a"].outputs] == ["variant", "variant", "float32"]


def test_what_is_not_there_is_refused():
    with pytest.raises(InputError, match="no output 'x' in the graph"):
        adopted(node("y", "Neg", "x", T=FLOAT), const("z", 0, np.int32))
