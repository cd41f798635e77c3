"""Pictures of clusters, where flags ask for them."""

import pytest

import compiler
from compiler.diagnostics import InputError
from compiler.jit import parse_flags
from compiler.jit.hlo_graphs import HloGraphs

MODULE = """HloModule cluster_0
ENTRY e { x = f32[2] parameter(0)  z = f32[] constant(0)  b = f32[2] broadcast(z), dimensions={}
  ROOT y = f32[2] add(x, b) }"""


def drawn(pattern, folder):
    said = []
    flags = parse_flags(f"--xla_generate_hlo_graph={pattern} --xla_hlo_graph_path={folder}")
    HloGraphs(flags, said.append).draw(compiler.parse(MODULE))
    return said


def test_a_module_whose_name_is_asked_for_is_drawn_at_every_stage(tmp_path):
    said = drawn("cluster_.*", tmp_path / "new")
    files = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert len(said) == len(files) > 1
    assert said[0].startswith("computation cluster_0 [as it was lowered]: ")
    assert all("[after " in one for one in said[1:])
    assert (tmp_path / "new" / "hlo_graph_0.dot").read_text().startswith("digraph")


@pytest.mark.parametrize("pattern", ["", "other"])
def test_no_other_is_drawn(pattern, tmp_path):
    assert drawn(pattern, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_flags_that_make_no_sense_are_said(tmp_path):
    with pytest.raises(InputError, match="is no regular expression"):
        drawn("(", tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="--xla_hlo_graph_path names the folder"):
        drawn("cluster", tmp_path / "file")
