"""A graph is drawn with a frame for each cluster, and every node says why it is in none."""

from cluster_graphs import graph_of

from compiler.jit.drawing import drawing_of

TEXT = """
    x = _Arg()
    a = Abs(x) {_XlaCluster=one}
    b = Neg(a) {_XlaCluster=one}
    c = Exp(b)
    z = _Retval(c, ^a)
"""


def test_members_of_a_cluster_are_in_its_frame_and_others_beside_it():
    drawing = drawing_of(graph_of(TEXT), {"c": "it is too good"})
    (outer,) = drawing.clusters
    frames = [one for one in outer.members if hasattr(one, "members")]
    assert [[node.lines[0] for node in frame.members] for frame in frames] == [["Abs", "Neg"]]
    beside = {one.lines[0]: one for one in outer.members if not hasattr(one, "members")}
    assert set(beside) == {"_Arg", "Exp", "_Retval"}
    assert "in no cluster: it is too good" in beside["Exp"].tip


def test_edges_that_only_wait_are_broken():
    drawing = drawing_of(graph_of(TEXT), {})
    assert len(drawing.edges) == 5
    assert [edge.is_broken for edge in drawing.edges].count(True) == 1


def test_long_names_are_cut():
    drawing = drawing_of(graph_of(f"{'n' * 100} = Abs(x)\nx = _Arg()"), {})
    assert all(len(line) <= 32 for node in drawing.clusters[0].members for line in node.lines)
