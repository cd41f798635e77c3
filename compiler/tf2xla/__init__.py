"""Graphs of TensorFlow's lowered to HLO, op by op, by the records in `ops/`.

`lower` makes one module of a graph with feeds and fetches, `lower_function` of a function of its library.  What is
refused is refused by its op's name, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.diagnostics import InputError, UnsupportedError
from compiler.expansion.expression import Expression
from compiler.graph import AttributeList, FunctionReference, Graph, Node, verify
from compiler.graph.names import endpoint
from compiler.ir.literal import array_literal
from compiler.ir.module import Computation, Module
from compiler.ir.shape import ArrayShape
from compiler.ir.types import of_dtype
from compiler.ops.build import build, constant, parameter
from compiler.tf2xla.constants import known_arguments, must_be_known
from compiler.tf2xla.lowering import Body, Lowering, without_unused
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops import RECORDS
from compiler.tf2xla.record import Record, Trait

__all__ = [
    "RECORDS",
    "Lowered",
    "Record",
    "Trait",
    "known_arguments",
    "lower",
    "lower_function",
    "must_be_known",
    "output_count",
]

Feed = ArrayShape | np.ndarray[Any, Any]
"""What is fed: a type with sizes, or a value."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program made of a graph.

    Attributes:
        module: takes the inputs in order, gives a tuple of the outputs.
        inputs: the feeds that are its parameters, by their names.
        outputs: the fetches that have values.
        values: those of the inputs for which values were given.
    """

    module: Module
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    values: Mapping[str, np.ndarray[Any, Any]]


def output_count(node: Node) -> int | None:
    """How many outputs a node has, None where no record says so."""
    record = RECORDS.get(node.op)

    def number_of(name: str) -> int | None:
        value = node.attributes.get(name)
        if isinstance(value, AttributeList):
            return len(value.values)
        return value if isinstance(value, int) else None

    return None if record is None else record.outputs(number_of)


def lower(graph: Graph, feeds: Mapping[str, Feed], fetches: Sequence[str], name: str = "graph") -> Lowered:
    """One module of the part of a graph that fetches need.

    Args:
        graph: the graph.
        feeds: outputs of nodes (`x`, `x:0`), each with its type and sizes, or with a value; a value that the program
            must know is written into it, any other is an input like those without.
        fetches: outputs of nodes; `^node` is run and gives nothing.
        name: the module's name.

    Raises:
        VerifyError: the graph breaks rules.
        InputError: a feed or fetch is not there, or a node makes no sense.
        UnsupportedError: a node has no lowering.
    """
    verify(graph, output_count, name)
    known = must_be_known(graph, fetches)
    module, entry = _started(name)
    given: dict[str, list[Expression | None]] = {}
    inputs: list[str] = []
    for text, feed in feeds.items():
        place = endpoint(text)
        if place is None or place.port < 0:
            raise InputError(f"a feed {text!r} names no output of a node: give it as node or node:port")
        graph.node(place.node)
        expression = _fed(entry, feed, text, len(inputs), is_known=place.node in known)
        inputs += [text] if expression.instruction.opcode == "parameter" else []
        ports = given.setdefault(place.node, [])
        ports += [None] * (place.port + 1 - len(ports))
        ports[place.port] = expression
    body = Body(Lowering(graph, module), graph.nodes, entry, given)
    body.run(fetches)
    outputs = tuple(text for text in fetches if not text.startswith("^"))
    _finish(entry, [body.at(text)[0] for text in outputs])
    return Lowered(module, tuple(inputs), outputs, _values(feeds, inputs))


def lower_function(graph: Graph, name: str, inputs: Sequence[Feed]) -> Lowered:
    """One module of a function of the library, on inputs in the order of its arguments; raises as `lower` does."""
    verify(graph, output_count, name)
    called = graph.function(name)
    names = [argument.name for argument in called.inputs]
    if len(names) != len(inputs):
        raise InputError(f"function {name!r} takes {len(names)} inputs, {len(inputs)} are given: {', '.join(names)}")
    calling = Graph([Node("call", name, tuple(names)), *(Node(one, "Placeholder") for one in names)], graph.functions)
    known = must_be_known(calling, ["call"])
    module, entry = _started(name)
    kept: list[str] = []
    given = []
    for argument, feed in zip(names, inputs, strict=True):
        given.append(_fed(entry, feed, argument, len(kept), is_known=argument in known))
        kept += [argument] if given[-1].instruction.opcode == "parameter" else []
    caller = Operation(
        Node(name, name),
        RECORDS["PartitionedCall"].signature,
        (),
        entry,
        (library := Lowering(graph, module)),
        checked=False,
    )
    results = library.inline(FunctionReference(name), given, caller)
    _finish(entry, results)
    return Lowered(
        module,
        tuple(kept),
        tuple(one.name for one in called.outputs),
        _values(dict(zip(names, inputs, strict=True)), kept),
    )


def _started(name: str) -> tuple[Module, Computation]:
    module, entry = Module(_identifier(name)), Computation("main")
    module.entry = module.add_computation(entry)
    return module, entry


def _identifier(name: str) -> str:
    """A name that HLO text can spell."""
    return "".join(one if one.isascii() and (one.isalnum() or one in "_.-") else "_" for one in name) or "graph"


def _fed(entry: Computation, feed: Feed, text: str, number: int, *, is_known: bool) -> Expression:
    if isinstance(feed, ArrayShape):
        if is_known:
            said = "its value decides sizes or dimensions, and must be a compile-time constant: give the value"
            raise InputError(f"feed {text!r}: {said}, not only a type and sizes")
        return Expression(parameter(entry, number, feed, name=_identifier(text)))
    feed = np.asarray(feed)
    element_type = of_dtype(feed.dtype)
    if element_type is None:
        raise UnsupportedError(f"feed {text!r} of {feed.dtype}", "the lowering to HLO", "HLO has no such type")
    if is_known:
        return Expression(constant(entry, array_literal(feed, element_type)))
    return Expression(parameter(entry, number, ArrayShape(element_type, feed.shape), name=_identifier(text)))


def _finish(entry: Computation, results: Sequence[Expression]) -> None:
    entry.root = build(entry, "tuple", [one.instruction for one in results])
    assert entry.module is not None
    without_unused(entry)
    entry.module.sort_computations()


def _values(feeds: Mapping[str, Feed], inputs: Sequence[str]) -> dict[str, np.ndarray[Any, Any]]:
    return {name: np.asarray(feed) for name in inputs if not isinstance(feed := feeds[name], ArrayShape)}
