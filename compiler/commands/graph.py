"""`python -m compiler graph`: a graph of TensorFlow's read, checked, and printed or written back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compiler.commands.files import json_option, output_option, write
from compiler.graph import (
    Graph,
    is_saved_model,
    parse_graph,
    read_graph,
    read_saved_model,
    to_binary,
    to_text,
    write_saved_model,
)

if TYPE_CHECKING:
    from compiler.graph.savedmodel import Port, SavedModel

FORMS: Mapping[str, Callable[[Graph], str | bytes]] = {
    "listing": lambda graph: f"{graph}\n",
    "text": to_text,
    "binary": to_binary,
}
"""What a graph can be written as."""
_MODEL = "saved-model"


@click.command("graph")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--form", type=click.Choice([*FORMS, _MODEL]), default="listing", show_default=True, help="What to write it as."
)
@click.option("--tags", default="", metavar="A,B", help="Which graph of a SavedModel that has several.")
@output_option
@json_option
def command(file: Path, form: str, tags: str, output: Path | None, *, as_json: bool) -> None:
    """Read a graph of TensorFlow's, check it, and print it.

    FILE is a GraphDef as text (.pbtxt) or in binary form (.pb), compressed by gzip or not, or the folder of a
    SavedModel.  It needs the package protobuf (the extra `graphs`), and no TensorFlow.

    The listing has a line for each node, `name = Op(inputs) {attributes}`, then the functions; text and binary are
    GraphDef in these forms.  Of a SavedModel the listing begins with its signatures and variables; with
    `--form saved-model` it is written again into the new folder that --output names, as TensorFlow reads it.

    With --json: `nodes` and `functions` (how many), `ops` (how often each is used, with functions), of a SavedModel
    `signatures` and `variables`, and `text` (of binary `base64`), or `output`.
    """
    if form == _MODEL:
        _copy(file, _listed(tags), output, as_json=as_json)
        return
    facts: dict[str, Any] = {}
    head = ""
    if str(file) == "-":
        graph = parse_graph(sys.stdin.buffer.read(), "<stdin>")
    elif is_saved_model(file):
        model = read_saved_model(file, _listed(tags))
        graph, facts, head = model.graph, _facts(model), _head(model)
    else:
        graph = read_graph(file)
    written = FORMS[form](graph)
    content = head + written if isinstance(written, str) and form == "listing" else written
    counts = {"nodes": len(graph.nodes), "functions": len(graph.functions), "ops": dict(graph.counts())}
    write(output, content, {**counts, **facts} if as_json else None)


def _listed(tags: str) -> list[str]:
    return [tag.strip() for tag in tags.split(",") if tag.strip()]


def _copy(file: Path, tags: list[str], output: Path | None, *, as_json: bool) -> None:
    """Read a SavedModel and write it to a folder."""
    if output is None or str(output) == "-":
        raise click.UsageError("a SavedModel is a folder: give a new one by --output")
    if not is_saved_model(file):
        raise click.UsageError(f"{file} is no SavedModel: a graph alone has no signatures; write it as text or binary")
    model = read_saved_model(file, tags)
    write_saved_model(model, output)
    counts = {"nodes": len(model.graph.nodes), "functions": len(model.graph.functions)}
    if as_json:
        facts = {**counts, "ops": dict(model.graph.counts()), **_facts(model), "output": str(output)}
        write(None, json.dumps(facts) + "\n", None)


def _facts(model: SavedModel) -> dict[str, Any]:
    signatures = {
        name: {
            "method": signature.method,
            "inputs": {key: _port(port) for key, port in signature.inputs.items()},
            "outputs": {key: _port(port) for key, port in signature.outputs.items()},
        }
        for name, signature in model.signatures.items()
    }
    return {"signatures": signatures, "variables": {node: _variable(model, node) for node in model.keys}}


def _head(model: SavedModel) -> str:
    """What a SavedModel has besides a graph, as comments."""
    lines = [f"# tags {','.join(model.tags)}, made by TensorFlow {model.made_by or 'of no stated release'}"]
    for name, signature in model.signatures.items():
        takes, gives = (
            ", ".join(f"{key}: {_port(port)}" for key, port in ports.items())
            for ports in (signature.inputs, signature.outputs)
        )
        lines.append(f"# signature {name}({takes}) -> ({gives})")
    lines += [f"# variable {node}: {_variable(model, node)}" for node in model.keys]
    return "".join(f"{line}\n" for line in lines)


def _port(port: Port) -> str:
    return f"{port.type}{port.shape} {port.name}"


def _variable(model: SavedModel, node: str) -> str:
    """Type and sizes of a variable, and the key of its value."""
    key = model.keys[node]
    if model.bundle is None or key not in model.bundle:
        return f"no value under the key {key!r}"
    sizes = ",".join(map(str, model.bundle.dims(key)))
    return f"{model.bundle.type(key)}[{sizes}] {key}"
