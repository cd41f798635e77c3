"""`python -m compiler cluster`: which nodes of a TensorFlow graph are compiled together, and why others are not."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click

from compiler.aot.program import SIGNATURE
from compiler.commands.files import json_option, output_option, write
from compiler.drawing import write_dot, write_html
from compiler.graph import Graph, is_saved_model, parse_graph, read_graph, read_saved_model, to_text, verify
from compiler.jit import (
    ON_1,
    Marking,
    Options,
    cluster_of,
    flags_of,
    for_execution,
    inline_functions,
    optimize,
    parse_flags,
)
from compiler.jit.drawing import drawing_of
from compiler.jit.dumps import VARIABLE as DUMPS
from compiler.jit.programs import programs
from compiler.tf2xla import output_count


@click.command("cluster", short_help="Cut a graph of TensorFlow's into clusters.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--feed", "feeds", multiple=True, metavar="NAME", help="What is fed: x, or x:1; placeholders need not be."
)
@click.option("--fetch", "fetches", multiple=True, metavar="NAME", help="What is asked for: y, or y:1; ^y runs only.")
@click.option("--flags", "text", default="", metavar="TEXT", help="Flags in the spelling of TF_XLA_FLAGS.")
@click.option(
    "--form",
    type=click.Choice(["listing", "text", "optimized", "html", "dot"]),
    default="listing",
    show_default=True,
    help="What to print.",
)
@output_option
@json_option
def command(
    file: Path, text: str, form: str, output: Path | None, *, as_json: bool, **endpoints: Sequence[str]
) -> None:
    """Cut a graph of TensorFlow's into clusters, and say which node is in which, or why it is in none.

    FILE is a GraphDef as text or in binary form, or the folder of a SavedModel; functions that it calls are written
    out, but those that must be compiled, as TensorFlow does it.  With --fetch only what these need is looked at, as in
    a session's run; of a SavedModel that is what its signature serving_default gives, where nothing else is asked for.
    The session's level is ON_1, on CPUs too; other flags are those of TF_XLA_FLAGS and then of --flags, among them
    --tf_xla_min_cluster_size, --tf_xla_clustering_fuel and --tf_xla_ops_to_cluster; with --tf_xla_clustering_debug
    graphs between passes are written to the folder that TF_DUMP_GRAPH_PREFIX names.

    The listing has a line for each node.  text is the graph as GraphDef, with the attribute _XlaCluster; optimized is
    the graph that runs, with _XlaCompile and _XlaRun; html and dot are drawings, with a colour for each cluster, and
    html also opens the HLO of each whose sizes are known.

    With --json: `clusters` (the nodes of each), `reasons` (of the nodes that are in none), `notes`, and `text`, or
    `output`.
    """
    if str(file) == "-":
        graph = parse_graph(sys.stdin.buffer.read(), "<stdin>")
    elif is_saved_model(file):
        graph, served = _model(file)
        endpoints |= {} if endpoints["fetches"] else served
    else:
        graph = read_graph(file)
    verify(graph, output_count)
    flags = parse_flags(text, flags_of(os.environ))
    if endpoints["fetches"]:
        graph = _needed(graph, endpoints["feeds"], endpoints["fetches"])
    graph = inline_functions(graph)
    options = Options(global_jit_level=ON_1, cpu_global_jit=True, dump_to=os.environ.get(DUMPS, ""))
    optimized = optimize(graph, flags, options)
    marked, marking = optimized.marked, optimized.marking
    made = optimized.graph if form == "optimized" else marked
    for note in marking.notes:
        click.echo(f"compiler: {note}", err=True)
    reasons = _reasons(marked, marking)
    facts = {"clusters": _members(marked), "reasons": reasons, "notes": marking.notes}
    write(output, _FORMS[form](made, reasons, file.stem), facts if as_json else None)


def _model(folder: Path) -> tuple[Graph, dict[str, Sequence[str]]]:
    """The graph of a model, and what is fed and fetched where nobody says it: nothing where no signature does."""
    model = read_saved_model(folder)
    signature = model.signatures.get(SIGNATURE)
    if signature is None:
        return model.graph, {"feeds": (), "fetches": ()}
    feeds, fetches = ([port.name for port in ports.values()] for ports in (signature.inputs, signature.outputs))
    return model.graph, {"feeds": feeds, "fetches": fetches}


def _needed(graph: Graph, feeds: Sequence[str], fetches: Sequence[str]) -> Graph:
    """What fetches need, where placeholders are fed."""
    named = {text.partition(":")[0] for text in feeds}
    others = [node.name for node in graph.nodes if node.op == "Placeholder" and node.name not in named]
    targets = [text[1:] for text in fetches if text.startswith("^")]
    fetched = [text for text in fetches if not text.startswith("^")]
    made = for_execution(graph, [*feeds, *others], fetched, targets)
    used = {text.removeprefix("^").partition(":")[0] for node in made.graph.nodes for text in node.inputs}
    idle = {*made.feeds[len(feeds) :]} - used
    return replace(made.graph, nodes=[node for node in made.graph.nodes if node.name not in idle])


def _members(graph: Graph) -> dict[str, list[str]]:
    members: dict[str, list[str]] = {}
    for node in graph.nodes:
        if cluster_of(node):
            members.setdefault(cluster_of(node), []).append(node.name)
    return members


def _reasons(graph: Graph, marking: Marking) -> dict[str, str]:
    """Why nodes are in no cluster: some that were in one are better outside."""
    outside = "it is better outside of its cluster, at whose edge it was"
    return {node.name: marking.reasons.get(node.name, outside) for node in graph.nodes if not cluster_of(node)}


def _listing(graph: Graph, reasons: Mapping[str, str], _name: str) -> str:
    """A line for each node: those of clusters first."""
    lines = []
    for name, nodes in _members(graph).items():
        lines.append(f"{name}: {len(nodes)} nodes\n")
        lines += [f"  {node} ({graph.node(node).op})\n" for node in nodes]
    lines += ["in no cluster:\n"] if reasons else []
    lines += [f"  {node} ({graph.node(node).op}): {said}\n" for node, said in reasons.items()]
    return "".join(lines)


_FORMS: Mapping[str, Callable[[Graph, Mapping[str, str], str], str]] = {
    "listing": _listing,
    "text": lambda graph, _reasons, _name: to_text(graph),
    "optimized": lambda graph, _reasons, _name: f"{graph}\n",
    "html": lambda graph, reasons, name: write_html(drawing_of(graph, reasons, name, programs(graph, Options()))),
    "dot": lambda graph, reasons, name: write_dot(drawing_of(graph, reasons, name)),
}
