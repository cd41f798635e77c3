"""`python -m compiler graph`: listings, both forms, and SavedModels."""

import json

import pytest
from click.testing import CliRunner

from compiler.__main__ import cli
from compiler.graph import Graph, Node, parse_graph, to_text

pytest.importorskip("google.protobuf", reason="protobuf is not installed")

from graphs import everything, write_model


@pytest.mark.parametrize("form", ["listing", "text", "binary"])
def test_a_graph_is_written_in_every_form(tmp_path, form):
    path, made = tmp_path / "g.pbtxt", tmp_path / "made"
    path.write_text(to_text(everything()), encoding="utf-8")
    done = CliRunner().invoke(cli, ["graph", str(path), "--form", form, "-o", str(made), "--json"])
    told = json.loads(done.stdout)
    assert (told["nodes"], told["functions"], told["ops"]["Wild"]) == (2, 1, 1)
    if form == "listing":
        assert made.read_text() == f"{everything()}\n"
    else:
        assert parse_graph(made.read_bytes()) == everything()


def test_a_model_is_listed_with_its_signatures_and_variables(tmp_path):
    folder = write_model(tmp_path / "m")
    lines = CliRunner().invoke(cli, ["graph", str(folder)]).stdout.splitlines()
    assert lines[:3] == [
        "# tags serve, made by TensorFlow 2.21.0",
        "# signature serving_default(x: float32[?,2] x:0) -> (y: float32<unknown> w:0)",
        "# variable w: float32[2,2] kernel",
    ]
    told = json.loads(CliRunner().invoke(cli, ["graph", str(folder), "--json"]).stdout)
    assert told["variables"] == {"w": "float32[2,2] kernel"}
    assert told["signatures"]["serving_default"]["inputs"] == {"x": "float32[?,2] x:0"}


def test_a_graph_of_standard_input_is_read():
    done = CliRunner().invoke(cli, ["graph", "-"], input=to_text(Graph([Node("a", "NoOp")])))
    assert done.stdout == "a = NoOp()\n"
