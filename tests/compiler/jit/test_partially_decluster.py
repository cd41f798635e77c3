"""Nodes that leave clusters again: the cases of TensorFlow's partially_decluster_pass_test."""

import pytest
from cluster_graphs import graph_of

from compiler.graph import verify
from compiler.jit import Options, cluster_of, parse_flags
from compiler.jit.partially_decluster import partially_decluster

IN = "{T=int32, _XlaCluster=cluster_0}"
RESHAPED = """
    p = Placeholder() {dtype=int32}
    q = Placeholder() {dtype=int32}
    shape = AddV2(p, q) {T=int32, _XlaCluster=SHAPE}DEVICE
    x = Placeholder()
    r = Reshape(x, shape) {Tshape=int32, _XlaCluster=cluster_0}
"""
CASES = {
    "DeclusterMustBeConstantNodes": (RESHAPED.replace("SHAPE", "cluster_0").replace("DEVICE", ""), {"r": "cluster_0"}),
    "EdgeAcrossDifferentClusters": (
        RESHAPED.replace("SHAPE", "cluster_1").replace("DEVICE", ""),
        {"shape": "cluster_1", "r": "cluster_0"},
    ),
    "DontDeclusterXlaDeviceOps": (
        RESHAPED.replace("SHAPE", "cluster_0").replace("DEVICE", " on /device:XLA_GPU:0"),
        {"shape": "cluster_0", "r": "cluster_0"},
    ),
    "DeclusteringStopsAtMetadataOps": (
        """
        a = Placeholder() {dtype=int32}
        b = Placeholder()
        m = Mul(b, b) {_XlaCluster=cluster_0}
        s = Shape(m) {_XlaCluster=cluster_0}
        shape = AddV2(s, a) {T=int32, _XlaCluster=cluster_0}
        x = Placeholder()
        r = Reshape(x, shape) {Tshape=int32, _XlaCluster=cluster_0}
        """,
        dict.fromkeys(("m", "s", "shape", "r"), "cluster_0"),
    ),
    "ChainsGoOutOneAfterTheOther": (
        f"""
        p = Placeholder() {{dtype=int32}}
        a = Neg(p) {IN}
        shape = Neg(a) {IN}
        x = Placeholder()
        r = Reshape(x, shape) {{Tshape=int32, _XlaCluster=cluster_0}}
        """,
        {"r": "cluster_0"},
    ),
    "ConstantsStay": (
        """
        k = Const() {dtype=int32, value=[4], _XlaCluster=cluster_0}
        x = Placeholder()
        r = Reshape(x, k) {Tshape=int32, _XlaCluster=cluster_0}
        """,
        {"k": "cluster_0", "r": "cluster_0"},
    ),
    "ConstInLoopWithCrossDeviceControlInputsAreDeclustered": (
        """
        g = NoOp() on /gpu:0
        k = Const(^g) {dtype=int32, value=[4], _XlaCluster=cluster_0}
        x = Placeholder()
        r = Reshape(x, k) {Tshape=int32, _XlaCluster=cluster_0}
        """,
        {"r": "cluster_0"},
    ),
    "MetadataOpsDontStartClusters": (
        """
        x = Placeholder()
        b = Shape(x) {_XlaCluster=cluster_0}
        c = Rank(b) {T=int32, _XlaCluster=cluster_0}
        d = Size(c) {T=int32, _XlaCluster=cluster_0}
        e = Shape(d) {T=int32, _XlaCluster=cluster_0}
        """,
        {},
    ),
    "MetaConsumersArentDeclustered": (
        "x = Placeholder()\nb = AddV2(x, x) {_XlaCluster=cluster_0}\nc = Rank(b) {_XlaCluster=cluster_0}\ne = Stop(c)",
        {"b": "cluster_0", "c": "cluster_0"},
    ),
    "ConstInputsToSliceArentDeclustered": (
        """
        x = Placeholder()
        b = Const() {dtype=int32, value=[1], _XlaCluster=cluster_0}
        c = Const() {dtype=int32, value=[2], _XlaCluster=cluster_0}
        d = Slice(x, b, c) {Index=int32, _XlaCluster=cluster_0}
        """,
        dict.fromkeys("bcd", "cluster_0"),
    ),
    "RootShapeConsumers": (
        "x = Placeholder()\ns = Size(x) {_XlaCluster=cluster_0}\nn = Neg(s) {T=int32, _XlaCluster=cluster_0}",
        {"n": "cluster_0"},
    ),
}
GPU = """
    i = Placeholder() {dtype=int32}
    p = AddV2(i, i) {T=int32, _XlaCluster=cluster_0}
    other = OTHER
    own = OWN
"""
TWO = """
    i = Placeholder() {dtype=int32}
    p0 = AddV2(i, i) {T=int32, _XlaCluster=cluster_0}
    p1 = AddV2(p0, i) {T=int32, _XlaCluster=cluster_0}
    other = AddV2(p1, i) {T=int32}
"""


def _declustered(text, device=""):
    graph = graph_of(text)
    partially_decluster(graph, parse_flags(""), Options(device=device or Options().device))
    verify(graph)
    return graph


@pytest.mark.parametrize("name", CASES)
def test_nodes_leave_where_that_saves_compilations(name):
    text, expected = CASES[name]
    assert {one.name: cluster_of(one) for one in _declustered(text).nodes if cluster_of(one)} == expected


def _gpu(other, own=f"Neg(p) {IN}"):
    return GPU.replace("OTHER", other).replace("OWN", own)


def test_whole_numbers_for_the_host_are_computed_again():
    graph = _declustered(_gpu("Neg(p) {T=int32, _XlaCluster=cluster_1}"), "/gpu:0")
    assert graph.node("other").inputs == ("p/declustered",)
    assert graph.node("own").inputs == ("p",)
    assert (cluster_of(graph.node("p")), cluster_of(graph.node("p/declustered"))) == ("cluster_0", "")
    assert graph.node("p/declustered").inputs == ("i", "i")


@pytest.mark.parametrize(
    ("other", "device"),
    [
        ("Neg(p) {T=int32, _XlaCluster=cluster_1}", "/cpu:0"),
        ("Cast(p) {SrcT=float32, DstT=float32}", "/gpu:0"),
        ("NoOp(^p)", "/gpu:0"),
        (f"Neg(p) {IN}", "/gpu:0"),
    ],
)
def test_nothing_is_copied_where_nothing_goes_to_the_host(other, device):
    assert "p/declustered" not in {one.name for one in _declustered(_gpu(other), device).nodes}


def test_what_reads_variables_is_not_run_twice():
    read = "p = ReadVariableOp(v) {dtype=int32, _XlaCluster=cluster_0}"
    text = f"v = VarHandleOp() {{dtype=int32}}\n{read}\no = Neg(p) {{T=int32}}"
    assert "p/declustered" not in {one.name for one in _declustered(text, "/gpu:0").nodes}


def test_copies_take_from_copies():
    graph = _declustered(TWO + f"\n    own = AddV2(p1, i) {IN}", "/gpu:0")
    assert graph.node("other").inputs == ("p1/declustered", "i")
    assert graph.node("p1/declustered").inputs == ("p0/declustered", "i")


def test_what_has_no_users_left_goes():
    assert {one.name for one in _declustered(TWO, "/gpu:0").nodes} == {"i", "other", "p0/declustered", "p1/declustered"}
