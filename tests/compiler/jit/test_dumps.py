"""Graphs between passes as files, under TensorFlow's names and numbers."""

import pytest
from cluster_graphs import SETTLED, graph_of

from compiler.diagnostics import InputError
from compiler.graph import read_graph
from compiler.jit import Options, Progress, optimize, parse_flags

pytest.importorskip("google.protobuf", reason="protobuf is not installed")

NAMES = [
    "before_build_xla_ops",
    "before_increase_dynamism_for_auto_jit_pass",
    "before_mark_for_compilation",
    "build_xla_ops",
    "encapsulate_subgraphs_after",
    "encapsulate_subgraphs_before",
    "mark_for_compilation",
    "mark_for_compilation_annotated",
]
GRAPH = "v = VarHandleOp()\nx = Stop()\na = ReadVariableOp(v, ^x)\nb = Neg(a)"


def _dumped(folder, flags="--tf_xla_clustering_debug", progress=None):
    options = Options(dump_to=str(folder), progress=progress or Progress())
    optimize(graph_of(GRAPH), parse_flags(f"{SETTLED} {flags}"), options)
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@pytest.mark.slow
def test_graphs_are_dumped_with_numbers(tmp_path):
    progress = Progress()
    assert _dumped(tmp_path / "d", progress=progress) == [f"{name}.pbtxt" for name in NAMES]
    again = _dumped(tmp_path / "d", progress=progress)
    assert again == sorted(f"{name}{number}.pbtxt" for name in NAMES for number in ("", "_1"))
    assert _dumped(tmp_path / "e", flags="") == []


def test_the_annotated_graph_says_clusters_in_names(tmp_path):
    _dumped(tmp_path)
    graph = read_graph(tmp_path / "mark_for_compilation_annotated.pbtxt")
    found = {one.name: one.inputs for one in graph.nodes}
    assert found == {
        "varhandle/v": (),
        "unclustered/x": (),
        "cluster_0/a": ("varhandle/v", "^unclustered/x"),
        "cluster_0/b": ("cluster_0/a",),
    }


def test_a_folder_that_cannot_be_is_an_error(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="TF_DUMP_GRAPH_PREFIX names the folder"):
        _dumped(tmp_path / "file" / "d")
