"""A module as a graph to draw: nodes for instructions, clusters for computations, edges for values.

A fusion is drawn as a cluster in the place of its instruction, with what it fuses inside: operands lead to its
parameters, and its root leads to those who use it.  Every other computation is a cluster of its own; a broken edge
leads from its root to the instruction that calls it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import without_layout
from compiler.ir.traits import NONE
from compiler.ops import OPS, Trait
from compiler.text.printer import instruction_text

_LONGEST_TIP = 400
"""Characters of what a node says when it is pointed at."""
_LONGEST_LINE = 48
"""Characters of a line in a node, so that nodes are not wider than a screen's third."""
_MOST_FUSED = 20_000  # nodes of fusions that are drawn open; a computation may be fused in many places


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of instruction with the colours of its nodes: inside, around and of the writing."""

    name: str
    fill: str
    line: str
    text: str = "#000000"


ELEMENTWISE = Kind("elementwise", "#fff9c4", "#cbc693")
OTHER = Kind("other", "#eceff1", "#b0bec5")
_KINDS: Mapping[Kind, tuple[Trait, str]] = {
    Kind("parameter", "#ffcc80", "#ca9b52"): (NONE, "parameter infeed recv recv-done"),
    Kind("constant", "#ffffff", "#9e9e9e"): (Trait.GENERATES, "partition-id replica-id"),
    Kind("movement", "#c8e6c9", "#97b498"): (
        Trait.MOVES | Trait.SELECTS | Trait.INDEXED,
        "copy copy-start copy-done dynamic-reshape get-dimension-size set-dimension-size sort topk",
    ),
    Kind("structure", "#e3f2fd", "#b1bfca"): (Trait.STRUCTURAL | Trait.TOKENS, "opt-barrier domain"),
    Kind("product", "#0d47a1", "#002171", "#ffffff"): (Trait.PRODUCT | Trait.ALGORITHM, ""),
    Kind("collective", "#bcaaa4", "#8c7b75"): (Trait.COLLECTIVE, ""),
    Kind("reduction", "#e1bee7", "#af8eb5"): (Trait.ACCUMULATES | Trait.COMBINES, ""),
    Kind("control", "#ffcdd2", "#cb9ca1"): (Trait.CONTROL | Trait.CALLS | Trait.ASYNC, "map custom-call"),
    Kind("random", "#ffe0b2", "#cbae82"): (Trait.RANDOM, "rng-bit-generator"),
    ELEMENTWISE: (Trait.ELEMENTWISE, ""),
}
"""The traits that make an opcode of a kind, the first of which it has one; and opcodes that look so without them."""

_NAMED = {opcode: kind for kind, (_, opcodes) in _KINDS.items() for opcode in opcodes.split()}
KINDS = (*_KINDS, OTHER)
"""The kinds, in the order of a legend."""


@dataclass(frozen=True, slots=True)
class Node:
    """An instruction: `key` is its own in the graph, `lines` are written in it, `tip` says all of it."""

    key: str
    lines: tuple[str, ...]
    tip: str
    kind: Kind
    is_root: bool = False


@dataclass(frozen=True, slots=True)
class Cluster:
    """Instructions in a frame, in the order of the computation; clusters among them are fusions."""

    key: str
    label: str
    tip: str
    members: tuple[Node | Cluster, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """A value from one node to another, by their keys; broken where a computation is called."""

    source: str
    target: str
    tip: str
    is_broken: bool = False


@dataclass(slots=True)
class Graph:
    """Nodes, clusters and edges of a drawing, the kinds that a legend names, and texts beneath a page's picture."""

    name: str
    clusters: list[Cluster] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    kinds: tuple[Kind, ...] = KINDS
    texts: Mapping[str, str] = field(default_factory=dict)


def kind_of(opcode: str) -> Kind:
    """The kind of an opcode's nodes."""
    if opcode in _NAMED or opcode not in OPS:
        return _NAMED.get(opcode, OTHER)
    traits = OPS[opcode].traits
    return next((kind for kind, (wanted, _) in _KINDS.items() if traits & wanted), OTHER)


def graph_of(module: Module) -> Graph:
    """The graph of a module: the entry first, then what it calls."""
    drawing = _Drawing(Graph(module.name))
    fused = {id(c) for i in module.instructions() if i.opcode == "fusion" for c in i.called_computations()}
    drawn = [c for c in reversed(module.computations) if id(c) not in fused or c is module.entry]
    drawn.sort(key=lambda computation: computation is not module.entry)
    for number, computation in enumerate(drawn):
        what = "entry " if computation is module.entry else ""
        drawing.roots[id(computation)] = ""
        members = drawing.members(computation, f"c{number}", {})
        label = f"{what}{computation.name}"
        drawing.graph.clusters.append(Cluster(f"c{number}", label, label, members))
        drawing.roots[id(computation)] = drawing.last_root
    drawing.connect_calls()
    return drawing.graph


class _Drawing:
    """The graph while it is made; `roots` are the nodes that give the value of each computation drawn by itself."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.roots: dict[int, str] = {}
        self.last_root = ""
        self._calls: list[tuple[Computation, str]] = []
        self._fused = 0

    def members(self, computation: Computation, prefix: str, sources: Mapping[int, str]) -> tuple[Node | Cluster, ...]:
        """The nodes of a computation; `sources` are the nodes whose values its parameters get, by number."""
        keys: dict[Instruction, str] = {}
        made: list[Node | Cluster] = []
        for number, instruction in enumerate(computation.instructions):
            key = f"{prefix}_{number}"
            given = [keys[operand] for operand in instruction.operands]
            if instruction.opcode == "fusion" and self._may_open(instruction):
                [body] = instruction.called_computations()
                members = self.members(body, key, dict(enumerate(given)))
                label = f"{instruction.attributes.get('kind', '')} fusion {instruction.name}".strip()
                made.append(Cluster(key, _cut(label), _tip(instruction), members))
                keys[instruction] = self.last_root
                continue
            keys[instruction] = key
            made.append(_node(key, instruction))
            if instruction.opcode == "parameter" and instruction.parameter_number in sources:
                given = [sources[instruction.parameter_number]]
            self.graph.edges += [Edge(source, key, str(without_layout(instruction.shape))) for source in given]
            self._calls += [(called, key) for called in instruction.called_computations()]
        self.last_root = keys[computation.root]
        return tuple(made)

    def connect_calls(self) -> None:
        """Add the edges from computations to the instructions that call them."""
        for called, key in self._calls:
            if source := self.roots.get(id(called)):
                self.graph.edges.append(Edge(source, key, f"called: {called.name}", is_broken=True))

    def _may_open(self, fusion: Instruction) -> bool:
        self._fused += sum(len(body.instructions) for body in fusion.called_computations())
        return self._fused <= _MOST_FUSED


def _node(key: str, instruction: Instruction) -> Node:
    shape = _cut(str(without_layout(instruction.shape)))
    lines = (instruction.opcode, _cut(instruction.name), shape)
    if instruction.opcode == "parameter":
        lines = (f"parameter {instruction.parameter_number}", *lines[1:])
    return Node(key, lines, _tip(instruction), kind_of(instruction.opcode), instruction.is_root)


def _tip(instruction: Instruction) -> str:
    return _cut(instruction_text(instruction), _LONGEST_TIP)


def _cut(text: str, most: int = _LONGEST_LINE) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def nodes_of(cluster: Cluster) -> Iterator[Node]:
    """Every node of a cluster, those of clusters within it as well."""
    for member in cluster.members:
        if isinstance(member, Node):
            yield member
        else:
            yield from nodes_of(member)
