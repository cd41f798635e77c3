"""Programs in a graph: those that JAX exports, sizes from arguments, and what is refused by name."""

import numpy as np
import pytest
from graph_nodes import FLOAT, X, node, placeholder, types

import compiler
from compiler.diagnostics import CompilerError
from compiler.graph import AttributeList, FunctionReference, Graph, PartialShape
from compiler.tf2xla import lower

HLO = b"""
HloModule m
pick { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY main { x = f32[2,3] parameter(0) z = f32[] constant(0) r = f32[2] reduce(x, z), dimensions={1}, to_apply=pick
  ROOT t = (f32[2], f32[2,3]) tuple(r, x) }
"""
OPEN = b"""
module @m { func.func public @main(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %y = stablehlo.add %x, %x : tensor<?x3xf32>
  return %y : tensor<?x3xf32> } }
"""


def graph(module, gives, **more):
    stated = {"version": 9, "module": module, "Tin": types(FLOAT), "Tout": types(*[FLOAT] * gives)}
    shapes = AttributeList("shape", tuple(PartialShape(None) for _ in range(gives)))
    return Graph(
        [placeholder("x"), *(node(f"c{n}", "XlaCallModule", "x", **stated, Sout=shapes, **more) for n in (0, 1))]
    )


def ran(found, fetches, given=X):
    lowered = lower(found, {"x": given}, fetches)
    compiler.verify(lowered.module)
    assert compiler.to_text(compiler.parse(compiler.to_text(lowered.module))) == compiler.to_text(lowered.module)
    return compiler.interpret(lowered.module, *(lowered.values[name] for name in lowered.inputs))


def test_a_program_is_called_as_often_as_the_graph_says():
    sums, same, again = ran(graph(HLO, 2), ["c0:0", "c0:1", "c1:0"])
    np.testing.assert_array_equal(sums, X.sum(1))
    np.testing.assert_array_equal(same, X)
    np.testing.assert_array_equal(again, sums)


@pytest.mark.slow
def test_sizes_that_a_program_leaves_open_are_those_of_its_arguments():
    pytest.importorskip("jaxlib", reason="jaxlib is not installed")
    for rows in (1, 4):
        given = np.ones((rows, 3), np.float32)
        np.testing.assert_array_equal(ran(graph(OPEN, 1), ["c0"], given)[0], given + given)


@pytest.mark.parametrize(
    ("module", "gives", "more", "said"),
    [
        (HLO, 2, {"function_list": AttributeList("func", (FunctionReference("f"),))}, "calls functions of the graph"),
        (HLO, 2, {"has_token_input_output": True}, "tokens"),
        (HLO, 2, {"platforms": AttributeList("s", (b"CPU", b"CUDA"))}, "for one of CPU, CUDA"),
        (HLO, 1, {}, "gives f32, f32, and the node says f32"),
        (HLO.replace(b"2,3", b"3,3"), 2, {}, r"takes f32\[3,3\], and is given f32\[2,3\]"),
        (b"HloModule m ENTRY", 1, {}, "its module cannot be read"),
    ],
)
def test_what_a_program_does_not_say_is_refused(module, gives, more, said):
    with pytest.raises(CompilerError, match=said):
        lower(graph(module, gives, **more), {"x": X}, ["c0"])
