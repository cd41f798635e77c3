"""A kernel's function takes its inputs, its results and its workspace; what is written over is one pointer."""

from dataclasses import replace

import pytest

import compiler
from compiler.codegen.kernel import kernel_of
from compiler.codegen.signature import arguments, parameters


@pytest.fixture
def kernel():
    text = "ENTRY e { x = f32[8] parameter(0)  ROOT r = f32[8] add(x, x) }"
    return kernel_of(compiler.parse(text).entry.root)


def test_inputs_come_first_then_results_then_the_workspace(kernel):
    assert [name for _, name in parameters(kernel)] == ["in0", "out0", "workspace"]
    given = arguments(kernel)
    assert ([v.name for v in given.inputs], [v.name for v in given.outputs]) == (["%in0"], ["%out0"])
    assert given.workspace.name == "%workspace"


def test_nothing_shares_memory_unless_it_was_said(kernel):
    kinds = {name: kind for kind, name in parameters(kernel)}
    assert all("noalias" in kind for kind in kinds.values())
    assert "readonly" in kinds["in0"]
    assert "readonly" not in kinds["out0"]


def test_a_result_over_an_input_is_written_through_that_inputs_pointer(kernel):
    over = replace(kernel, in_place=((0, 0),))
    assert arguments(over).outputs == arguments(over).inputs
    kinds = {name: kind for kind, name in parameters(over)}
    assert "readonly" not in kinds["in0"]
