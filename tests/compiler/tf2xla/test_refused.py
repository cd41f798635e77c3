"""An op that has no record is refused with what to do instead; what has a record is in no row."""

from fnmatch import fnmatchcase

import pytest
from graph_nodes import node

import compiler
from compiler.graph import Graph
from compiler.tf2xla import RECORDS, lower
from compiler.tf2xla.refused import REASONS, why_not


@pytest.mark.parametrize("pattern", REASONS)
def test_what_is_refused_is_refused_with_what_to_do(pattern):
    op = pattern.replace("*", "").replace("?", "2").replace("[DQR]", "D")
    with pytest.raises(compiler.UnsupportedError, match=rf"op {op} \(node 'y'\) .*no record has it: \w+"):
        lower(Graph([node("y", op)]), {}, ["y"])


def test_what_is_misspelled_is_guessed():
    assert why_not("Conw2D").startswith("no record has it; did you mean Conv2D")


def test_no_advice_names_what_is_not_there():
    named = [word.rstrip(",:") for said in REASONS.values() for word in said.split() if word.rstrip(",:") in RECORDS]
    assert {"QuantizeAndDequantizeV4", "GatherV2", "ScatterNd"} <= set(named)


_SPARSE = ("SparseToDense", "SparseTensorDenseMatMul", "SparseSoftmaxCrossEntropyWithLogits")


def test_ops_with_records_are_not_said_to_have_none():
    """But for the few that patterns of families take in."""
    taken = {op for op in RECORDS for pattern in REASONS if fnmatchcase(op, pattern)}
    assert taken == {"StringFormat", "SparseMatMul", *_SPARSE} | {
        op for op in RECORDS if op.startswith(("SparseApply", "SparseSegment"))
    }
