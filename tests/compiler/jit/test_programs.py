"""Each cluster's program is shown where the sizes that it takes are known, and else why not."""

import pytest
from cluster_graphs import graph_of

import compiler
from compiler.jit import Options
from compiler.jit.programs import programs

TEXT = """
    x = Placeholder() {SHAPE}
    a = Abs(x) {_XlaCluster=one}
    b = Neg(a) {_XlaCluster=one}
    c = Stop(b)
"""


def found(text):
    return programs(graph_of(text), Options())


def test_a_program_is_the_text_of_a_module():
    text = """
        k = Const() {value=[4], dtype=int32}
        a = Fill(k, v) {index_type=int32}
        v = Const()
        b = Abs(a) {_XlaCluster=one}
        c = Stop(b)
    """
    (program,) = found(text).values()
    module = compiler.parse(program)
    compiler.verify(module)
    assert "abs" in [i.opcode for i in module.instructions()]


def test_of_unknown_sizes_that_is_said():
    (said,) = found(TEXT.replace(" {SHAPE}", "")).values()
    assert "not known" in said


@pytest.mark.parametrize("text", ["x = Placeholder()\na = Abs(x)", ""])
def test_without_clusters_there_are_no_programs(text):
    assert found(text) == {}
