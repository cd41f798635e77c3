"""Ops that TensorFlow compiles nothing for; `tests/peers` compares the tables with its registry."""

import pytest
from cluster_graphs import node_of

from compiler.jit.compiled_ops import NEVER_COMPILED, WITHOUT, problem_of
from compiler.tf2xla import RECORDS


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a = Cumsum(x, y) {T=int8}", "not compiled for the T int8"),
        ("a = Cumsum(x, y) {T=int64}", ""),
        ("a = SegmentSum(x, y)", "never compiled"),
        ("a = StatelessRandomUniform(x, y) {Tseed=int64}", "not compiled for the Tseed int64"),
        ("a = Neg(x)", ""),
    ],
)
def test_ops_and_types_without_a_compiled_kernel_are_told(line, said):
    problem = problem_of(node_of(line))
    assert said in problem if said else not problem


def test_types_are_those_that_records_have():
    for (op, attribute), types in WITHOUT.items():
        allowed = RECORDS[op].signature.attributes[attribute].allowed
        assert not allowed or types <= allowed, op
        assert op not in NEVER_COMPILED
