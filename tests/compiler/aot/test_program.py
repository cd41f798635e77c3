"""Graphs in files as programs: what is fed and fetched lies beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("google.protobuf", reason="protobuf is not installed")

import compiler
from compiler.aot import is_graph, read_program_of_graph
from compiler.diagnostics import InputError
from compiler.graph import parse_graph, to_binary

GRAPH = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "Square" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
"""
CONFIG = """
feed { id { node_name: "x" } shape { dim { size: 3 } } }
fetch { id { node_name: "y" } }
"""


@pytest.mark.parametrize("name", ["net.pbtxt", "net.pb"])
def test_a_graph_with_its_config_beside_it_is_a_program(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(to_binary(parse_graph(GRAPH)) if name.endswith(".pb") else GRAPH.encode())
    (tmp_path / "net.config.pbtxt").write_text(CONFIG)
    assert is_graph(path)
    module = read_program_of_graph(path)
    (found,) = compiler.interpret(module, np.array([1, -2, 3], np.float32))
    assert (module.name, found.tolist()) == ("net", [1, 4, 9])


def test_without_it_people_are_asked_for_it(tmp_path: Path) -> None:
    path = tmp_path / "net.pbtxt"
    path.write_text(GRAPH)
    assert is_graph(path)
    with pytest.raises(InputError, match=r"give net\.config\.pbtxt beside it"):
        read_program_of_graph(path)


def test_other_programs_are_no_graphs(tmp_path: Path) -> None:
    for name in ("net.pb", "net.hlo"):
        (tmp_path / name).write_bytes(b"")
    assert not any(map(is_graph, (tmp_path / "net.pb", tmp_path / "net.hlo", tmp_path)))
