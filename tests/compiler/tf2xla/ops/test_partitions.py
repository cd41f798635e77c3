"""Variables in pieces, and arrays of which one device holds all."""

import numpy as np
import pytest
from graph_nodes import FLOAT, X, node, placeholder

import compiler
from compiler.graph import AttributeList, Graph, PartialShape
from compiler.tf2xla import lower

HELD = np.arange(20, dtype=np.float32).reshape(4, 5)


def _variable(shape):
    return node("v", "VarHandleOp", dtype=FLOAT, shape=PartialShape(shape), shared_name=b"v")


def _numbers(*values):
    return AttributeList("i", values)


def test_a_variable_is_read_in_pieces_and_assigned_of_them():
    grid = {"T": FLOAT, "N": 4, "paddings": _numbers(0, 1)}
    pieces = [f"read:{number}" for number in range(4)]
    graph = Graph(
        [
            _variable(HELD.shape),
            node("read", "ReadVariableXlaSplitND", "v", num_splits=_numbers(2, 2), **grid),
            node("write", "AssignVariableXlaConcatND", "v", *reversed(pieces), num_concats=_numbers(2, 2), **grid),
        ]
    )
    lowered = lower(graph, {}, [*pieces, "^write"])
    *found, written = compiler.interpret(lowered.module, HELD)
    padded = np.pad(HELD, ((0, 0), (0, 1)))
    expected = [padded[row : row + 2, column : column + 3] for row in (0, 2) for column in (0, 3)]
    for piece, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(piece, right)
    np.testing.assert_array_equal(written, np.block([[expected[3], expected[2]], [expected[1], expected[0]]])[:, :5])


@pytest.mark.parametrize(
    ("sharding", "tiles"), [(b"\x08\x03\x1a\x02\x01\x02", r"\[1, 2\]"), (b"\x08\x03\x18\x02", r"\[2\]")]
)
def test_a_sharding_on_several_devices_is_refused(sharding, tiles):
    graph = Graph([placeholder("x"), node("s", "XlaSpmdFullToShardShape", "x", T=FLOAT, manual_sharding=sharding)])
    with pytest.raises(compiler.UnsupportedError, match=f"a sharding in {tiles} pieces"):
        lower(graph, {"x": X}, ["s"])
