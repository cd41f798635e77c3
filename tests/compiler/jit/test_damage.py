"""Damaged graphs end as errors that name what is wrong, or run: nothing else comes of them."""

import random

import pytest
from cluster_graphs import FLOAT, SETTLED, graph_of
from graph_nodes import function, node
from parts import every

from compiler.diagnostics import CompilerError
from compiler.graph import BY_NAME, AttributeList, FunctionReference, PartialShape, verify
from compiler.jit import Options, cluster, optimize, parse_flags
from compiler.jit.drawing import drawing_of
from compiler.jit.programs import programs
from compiler.tf2xla import RECORDS, output_count

GRAPH = """
    x = _Arg()
    v = VarHandleOp()
    p = Placeholder() {dtype=bool}
    k = Const() {dtype=int32, value=[4]}
    a = Neg(x)
    s = Switch(a, p)
    b = Exp(s)
    c = Tanh(s:1)
    m = Merge(b, c)
    r = ReadVariableOp(v)
    t = MatMul(r, m)
    f = Reshape(t, k) {Tshape=int32}
    g = good(f)
    w = AssignVariableOp(v, t, ^f)
    e = Enter(g) {frame_name=loop}
    i = Merge(e, n)
    n = NextIteration(j)
    j = Neg(i)
    o = Exit(j)
    z = _Retval(o)
"""
GOOD = function("good", {"a": FLOAT}, {"c": FLOAT}, [node("c", "Neg", "a", T=FLOAT)], {"c": "c:y:0"})
OPS = [*RECORDS, "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "good", "_Arg", "Stage", "Unstage"]
VALUES = [1, -1, b"x", True, FLOAT, BY_NAME["resource"], BY_NAME["string"], PartialShape(None), FunctionReference("no")]
VALUES += [AttributeList("type", (FLOAT,)), AttributeList("", ()), FunctionReference("good")]


def _damage(graph, draw):
    """Change one thing of a node."""
    one, names = draw.choice(graph.nodes), [other.name for other in graph.nodes]
    waits = tuple(text for text in one.inputs if text.startswith("^"))
    match draw.randrange(6):
        case 0:
            one.op = draw.choice(OPS)
        case 1:
            one.attributes[draw.choice([*one.attributes, "T"])] = draw.choice(VALUES)
        case 2:
            one.attributes.pop(draw.choice([*one.attributes, "T"]), None)
        case 3:
            one.inputs = tuple(text for text in one.inputs if draw.random() < 0.5)
        case 4:
            one.inputs = (*one.data_inputs, f"{draw.choice(names)}:{draw.choice([0, 1, 7])}", *waits)
        case 5:
            one.device = draw.choice(["/gpu:0", "/device:XLA_CPU:0", "nonsense", "/cpu:1"])


@pytest.mark.parametrize("seed", every(10, range(600)))
def test_nothing_but_errors_comes_of_damage(seed):
    draw = random.Random(seed)
    graph = graph_of(GRAPH, GOOD)
    for _ in range(draw.randint(1, 3)):
        _damage(graph, draw)
    flags = parse_flags(f"{SETTLED} --tf_xla_enable_lazy_compilation={draw.choice(['true', 'false'])}")
    try:
        optimized = optimize(graph, flags, Options()).graph
        marked, marking = cluster(graph, flags, Options())
    except CompilerError:
        return
    verify(optimized, output_count)
    drawing_of(marked, marking.reasons, "damaged", programs(marked, Options()))
