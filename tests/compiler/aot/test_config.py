"""Configs from text and bytes, and from the signatures of SavedModels."""

from __future__ import annotations

from pathlib import Path

import pytest
from graphs import FIRST, FLOAT, meta, write_model

from compiler.diagnostics import InputError, UnsupportedError
from compiler.graph import BY_NAME, PartialShape

pytest.importorskip("google.protobuf", reason="protobuf is not installed")

from compiler.aot import Config, Feed, Fetch, Variable, parse_config, read_graph_and_config
from compiler.graph.messages import CLASSES

TEXT = """
feed { id { node_name: "a" output_index: 1 } shape { dim { size: 2 } dim { size: -1 } } name: "x" type: DT_HALF }
feed { id { node_name: "b" } shape { unknown_rank: true } }
fetch { id { node_name: "c" } name: "y" }
variable { node_name: "v" name: "w" readonly: true }
"""
READ = Config(
    (Feed("a:1", "x", PartialShape((2, None)), BY_NAME["float16"]), Feed("b:0")),
    (Fetch("c:0", "y"),),
    (Variable("v", "w", is_constant=True),),
)


def in_binary_form(text: str) -> bytes:
    from google.protobuf import text_format  # noqa: PLC0415 - only where it is installed

    return bytes(text_format.Parse(text, CLASSES["Config"]()).SerializeToString())


def test_both_forms_are_read() -> None:
    assert parse_config(TEXT) == READ
    assert parse_config(in_binary_form(TEXT), "c.pb") == READ


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fetch { id { nodename: 'a' } }", "<string>:1:"),
        ("fetch { id { node_name: 'a' } } feed { id { node_name: 'b' } } feed { id { node_name: 'b' } }", "'b:0'"),
    ],
)
def test_what_makes_no_sense_is_said_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_config(text)


def test_what_fetches_nothing_adds_to_the_signature_of_a_model(tmp_path: Path) -> None:
    path = tmp_path / "net.config.pbtxt"
    path.write_text(
        "feed { id { node_name: 'x' } shape { dim { size: 3 } dim { size: 2 } } } variable { node_name: 'w' }"
    )
    model = write_model(tmp_path / "model")
    _, config = read_graph_and_config(model, path, "serving_default")
    assert (config.feeds, config.fetches) == ((Feed("x:0", "x", PartialShape((3, 2)), FLOAT),), (Fetch("w:0", "y"),))
    assert config.variables == (Variable("w"),)
    path.write_text("feed { id { node_name: 'z' } }")
    with pytest.raises(InputError, match="'z:0' is no feed of the signature; there are: x:0"):
        read_graph_and_config(model, path, "serving_default")
    graph = tmp_path / "net.pbtxt"
    graph.write_text("node { name: 'z' op: 'Placeholder' }")
    with pytest.raises(InputError, match="nothing is fetched"):
        read_graph_and_config(graph, path, "")


def test_a_signature_whose_output_is_several_tensors_is_refused_by_name(tmp_path: Path) -> None:
    text = meta(FIRST).replace('name: "x:0"', 'coo_sparse { values_tensor_name: "v:0" }')
    model = write_model(tmp_path / "model", text)
    with pytest.raises(UnsupportedError, match=r"'x' of signature 'serving_default'.*no tensor but several"):
        read_graph_and_config(model, None, "serving_default")
