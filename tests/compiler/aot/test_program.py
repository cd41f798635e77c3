"""Graphs in files as programs: what is fed and fetched lies beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("google.protobuf", reason="protobuf is not installed")

import compiler
from compiler.aot import carried_by, is_graph, read_program_of_graph
from compiler.diagnostics import InputError, UnsupportedError
from compiler.frontends.exported import only_kept
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


WHERE = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "z" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "at" op: "Where" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "y" op: "Square" input: "z" attr { key: "T" value { type: DT_FLOAT } } }
"""
WHERE_CONFIG = """
feed { id { node_name: "x" } shape { dim { size: 3 } } }
feed { id { node_name: "z" } shape { dim { size: 1 } } }
fetch { id { node_name: "at" } }
fetch { id { node_name: "y" } }
"""


def test_a_feed_that_sizes_follow_from_is_known_where_its_value_is_given(tmp_path: Path) -> None:
    path = tmp_path / "net.pbtxt"
    path.write_text(WHERE)
    (tmp_path / "net.config.pbtxt").write_text(WHERE_CONFIG)
    with pytest.raises(UnsupportedError, match=r"depend on the values .* --inputs FILE\.npz"):
        read_program_of_graph(path)
    x, z = np.array([0, 1, 2], np.float32), np.array([3], np.float32)
    module = read_program_of_graph(path, lambda: {"arr_0": x, "arr_1": z})
    found = compiler.interpret(module, z)
    assert [one.tolist() for one in found] == [[[1], [2]], [9]]
    assert only_kept([x, z], module.attributes, 1) == [z]
    np.testing.assert_array_equal(carried_by(module).known["x"], x)  # type: ignore[union-attr]


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
