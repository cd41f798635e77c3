"""`python -m compiler tf2xla`: a graph of TensorFlow's lowered to HLO."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

import compiler
from compiler.commands.files import json_option, output_option, write
from compiler.diagnostics import InputError
from compiler.graph import Graph, PartialShape, parse_graph, read_graph
from compiler.ir.shape import ArrayShape
from compiler.text.parser import parse_literal, parse_shape
from compiler.tf2xla import Feed, lower, lower_function


@click.command("tf2xla")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--feed",
    "feeds",
    multiple=True,
    metavar="NAME=SHAPE",
    help="An input: x=f32[2,3], or with its value: dims='s32[2] {3, 2}'.",
)
@click.option("--fetch", "fetches", multiple=True, metavar="NAME", help="An output: y, or y:1; ^y runs only.")
@click.option("--function", metavar="NAME", help="Lower this function of the library, not the graph.")
@output_option
@json_option
def command(
    file: Path,
    feeds: Sequence[str],
    fetches: Sequence[str],
    function: str | None,
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    """Lower a graph of TensorFlow's to HLO, and print the module.

    FILE is a GraphDef as text or in binary form.  Of a graph, feeds are outputs of nodes, which become the module's
    parameters in this order; placeholders that state their sizes need not be named.  Of a function, feeds are its
    arguments.  Where sizes follow from an input, its value must be given: it is written into the program.

    What has no lowering is refused by its op's name (exit code 125).  It needs the package protobuf (the extra
    `graphs`), and no TensorFlow.

    Variables that the graph reads are parameters after the inputs, what it writes are results after the outputs.

    With --json: `inputs`, `reads`, `outputs` and `writes` (names, in order), and `text`, or `output`.
    """
    graph = parse_graph(sys.stdin.buffer.read(), "<stdin>") if str(file) == "-" else read_graph(file)
    given = dict(map(_feed, feeds))
    if function is not None:
        names = [argument.name for argument in graph.function(function).inputs]
        missing = [name for name in names if name not in given]
        if missing or len(given) > len(names):
            raise InputError(f"function {function!r} takes {', '.join(names) or 'nothing'}: give one --feed for each")
        lowered = lower_function(graph, function, [given[name] for name in names])
    else:
        if not fetches:
            raise InputError("nothing is asked for: give --fetch NAME, an output of a node, once or more often")
        lowered = lower(graph, {**given, **dict(_placeholders(graph, given))}, fetches, file.stem)
    facts = {name: list(getattr(lowered, name)) for name in ("inputs", "reads", "outputs", "writes")}
    write(output, compiler.to_text(lowered.module), facts if as_json else None)


def _feed(text: str) -> tuple[str, Feed]:
    """A feed from the command line."""
    name, _, what = text.partition("=")
    stated, bracket, literal = what.partition("]")
    if not name or not bracket:
        raise InputError(f"--feed {text!r}: give it as NAME=SHAPE, as in x=f32[2,3]")
    shape = parse_shape(stated + bracket)
    if not isinstance(shape, ArrayShape):
        raise InputError(f"--feed {text!r}: {shape} is no array")
    if not literal.strip():
        return name, shape
    array = parse_literal(literal.strip(), shape).array
    if array is None:
        raise InputError(f"--feed {text!r}: its value is left out")
    return name, array


def _placeholders(graph: Graph, given: dict[str, Feed]) -> Iterator[tuple[str, Feed]]:
    """The placeholders that state their sizes and are not fed otherwise."""
    for node in graph.nodes:
        shape, data_type = node.attributes.get("shape"), node.attributes.get("dtype")
        element_type = getattr(data_type, "element_type", None)
        if node.op != "Placeholder" or {node.name, f"{node.name}:0"} & given.keys() or element_type is None:
            continue
        if isinstance(shape, PartialShape) and shape.static is not None:
            yield node.name, ArrayShape(element_type, shape.static)
