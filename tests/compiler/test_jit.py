"""Graphs made at random: what is clustered computes what it computed op by op, and clusters keep what they promise.

Damaged graphs end as errors that name what is wrong, or run: nothing else comes of them.
"""

import random
from dataclasses import replace

import numpy as np
import pytest
from cluster_graphs import FLOAT, SETTLED, graph_of
from graph_nodes import function, node
from graph_runs import Run
from parts import every

from compiler.diagnostics import CompilerError
from compiler.graph import BY_NAME, AttributeList, FunctionReference, PartialShape, verify
from compiler.jit import Options, Progress, cluster, cluster_of, for_execution, optimize, parse_flags
from compiler.jit.clusters import Contraction
from compiler.jit.drawing import drawing_of
from compiler.jit.programs import programs
from compiler.tf2xla import RECORDS, output_count

FEEDS = {"x": np.array([[1, -2], [3, 0.5]], np.float32), "p": np.array(True)}  # noqa: FBT003 - a value
UNARY = ("Neg", "Tanh", "Relu", "Square", "Identity", "Softmax", "Stop", "Stop")
BINARY = ("AddV2", "Mul", "MatMul", "Maximum")


def _drawn(seed):
    """A graph, and outputs that may be dead or not."""
    draw = random.Random(seed)
    lines = ["x = Placeholder()", "p = Placeholder() {dtype=bool}", "v = VarHandleOp()", "k = Const()"]
    lines += ["h = Const() {dtype=int32, value=[4]}"]
    values, last = ["x"], ""
    for number in range(draw.randint(6, 22)):
        name, a, b = f"n{number}", draw.choice(values), draw.choice(values)
        wait = f", ^{draw.choice(values).partition(':')[0]}" if draw.random() < 0.15 else ""
        kind = draw.random()
        if kind < 0.35:
            lines.append(f"{name} = {draw.choice(UNARY)}({a}{wait})")
        elif kind < 0.6:
            lines.append(f"{name} = {draw.choice(BINARY)}({a}, {b}{wait})")
        elif kind < 0.68:
            lines += [f"{name}s = Shape({a}{wait})", f"{name} = Reshape({b}, {name}s) {{Tshape=int32}}"]
        elif kind < 0.74:
            lines += [f"{name}f = Reshape({a}, h) {{Tshape=int32}}", f"{name}s = Shape({b})"]
            lines += [f"{name} = Reshape({name}f, {name}s{wait}) {{Tshape=int32}}"]
        elif kind < 0.84:
            lines.append(f"{name}s = Switch({a}, p)")
            lines += [f"{name}a = Neg({name}s)", f"{name}b = Tanh({name}s:1)", f"{name} = Merge({name}a, {name}b)"]
            values.append(draw.choice([f"{name}a", f"{name}b"]))
        else:
            before = f", ^{last}" if last else ""
            op = draw.choice(("ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp"))
            lines.append(f"{name} = {op}(v{before})" if op.startswith("Read") else f"{name} = {op}(v, {a}{before})")
            last = name
            if not op.startswith("Read"):
                continue
        values.append(name)
    fetches = draw.sample(values, min(len(values), 3))
    return for_execution(graph_of("\n".join(lines)), ["x", "p"], fetches, [last] if last else [])


def _results(run, graph, flags=None):
    """What the fetches are, None where one is dead, and what the variable holds."""
    ran = Run(graph, {"v": np.full((2, 2), 3, np.float32)}, flags)
    fed = dict(zip(run.feeds, ([value] for value in FEEDS.values()), strict=True))
    found = ran.values(graph, fed)
    fetched = [found[name] for name in run.fetches]
    return [one[0] if isinstance(one, list) else None for one in fetched], ran


@pytest.mark.parametrize("seed", every(25, range(300)))
@pytest.mark.parametrize("flags", ["", "--tf_xla_min_cluster_size=4", "--tf_xla_enable_lazy_compilation=false"])
def test_clusters_compute_what_their_ops_do(seed, flags):
    run = _drawn(seed)
    expected, plain = _results(run, run.graph)
    settled = parse_flags(f"{SETTLED} {flags}")
    optimized = optimize(run.graph, settled, Options(progress=Progress())).graph
    verify(optimized, output_count)
    deferred = replace(settled, always_defer_compilation=True)
    for how, compiles in ((settled, True), (deferred, not settled.enable_lazy_compilation)):
        found, ran = _results(run, optimized, how)
        for one, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, wanted)
        np.testing.assert_array_equal(ran.variables["v"], plain.variables["v"])
        asked = any(one.op == "_XlaCompile" for one in optimized.nodes)
        assert (ran.compiled > 0) <= (asked and compiles)


@pytest.mark.parametrize("seed", range(40))
def test_clusters_keep_their_promises(seed, monkeypatch):
    again = []

    def run_and_try_again(contraction):
        plain(contraction)
        again.append(contraction.walk())

    plain = Contraction.run
    monkeypatch.setattr(Contraction, "run", run_and_try_again)
    graph, most = _drawn(seed).graph, 2 + seed % 5
    clustered: set[str] = set()
    for fuel in (0, 3, 7, 1000):
        limits = f"--tf_xla_clustering_fuel={fuel} --tf_xla_max_cluster_size={most} --tf_xla_min_cluster_size=0"
        flags = parse_flags(f"{SETTLED} {limits}")
        marked, marking = cluster(graph, flags, Options(progress=Progress()))
        members = marking.members()
        assert all(len(nodes) <= most for nodes in members.values())
        assert len(marking.clusters) <= fuel
        assert clustered <= marking.clusters.keys(), "more fuel clusters more"
        clustered = {*marking.clusters}
        for name, nodes in members.items():
            assert not _leaves_and_returns(marked, {*nodes}), name
    assert not any(again), "what is left cannot be contracted"
    assert not any(cluster_of(one) for one in graph.nodes), "the graph itself stays"


def _leaves_and_returns(graph, members):
    """Whether a way leads out of some nodes and back, so that together they would wait for themselves."""
    users = {one.name: [] for one in graph.nodes}
    for one in graph.nodes:
        for text in one.inputs:
            users[text.removeprefix("^").partition(":")[0]].append(one.name)
    seen, stack = set(), [user for member in members for user in users[member] if user not in members]
    while stack:
        name = stack.pop()
        if name in members:
            return True
        if name not in seen:
            seen.add(name)
            stack += users[name]
    return False


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
