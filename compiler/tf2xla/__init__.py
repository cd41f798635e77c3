"""Graphs of TensorFlow's lowered to HLO, op by op, by the records in `ops/`.

`lower` makes one module of a graph with feeds and fetches, `lower_function` of a function of its library.  What is
refused is refused by its op's name, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.diagnostics import InputError, UnsupportedError
from compiler.expansion.expression import Expression
from compiler.graph import AttributeList, FunctionReference, Graph, Node, verify
from compiler.graph.lookup import with_constant_tables
from compiler.graph.names import endpoint
from compiler.ir.literal import array_literal
from compiler.ir.module import Computation, Module
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32, of_dtype
from compiler.ops.build import build, constant, parameter
from compiler.tf2xla.body import Body, without_unused
from compiler.tf2xla.constants import CONSTANT_INPUTS, known_arguments, must_be_known
from compiler.tf2xla.functionalize import functionalize
from compiler.tf2xla.lowering import Lowering, identifier
from compiler.tf2xla.operation import NotConstantError, Operation
from compiler.tf2xla.ops import RECORDS
from compiler.tf2xla.record import Record, Trait
from compiler.tf2xla.values import Handle, ListType, Resource, TensorList, Value, no_handle

__all__ = [
    "CONSTANT_INPUTS",
    "RECORDS",
    "ListType",
    "Lowered",
    "Record",
    "Resource",
    "Trait",
    "known_arguments",
    "lower",
    "lower_function",
    "must_be_known",
    "output_count",
]

Feed = ArrayShape | Resource | ListType | np.ndarray[Any, Any]
"""What is fed: a type with sizes, a variable, a list of tensors (as `NAME` and `NAME/count`), or a value."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program made of a graph.

    Attributes:
        module: takes the inputs and what is read in order, gives a tuple of the outputs and what is written.
        inputs: the feeds that are its parameters, by their names.
        outputs: the fetches that have values.
        values: those of the inputs for which values were given.
        reads: the variables whose values it takes, after the inputs; one of them without a value is an error.
        writes: the variables whose new values it gives, after the outputs.
        lists: the outputs that are lists of tensors, each of which gives two arrays: its rows, and how many are in use.
        initial: of what ops keep for themselves, generators of random numbers, with which value each begins.
    """

    module: Module
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    values: Mapping[str, np.ndarray[Any, Any]]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    initial: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    lists: Mapping[str, ListType] = field(default_factory=dict)


def output_count(node: Node) -> int | None:
    """How many outputs a node has, None where no record says so."""
    record = RECORDS.get(node.op)

    def number_of(name: str) -> int | None:
        value = node.attributes.get(name)
        if isinstance(value, AttributeList):
            return len(value.values)
        return value if isinstance(value, int) else None

    return None if record is None else record.outputs(number_of)


def lower(
    graph: Graph,
    feeds: Mapping[str, Feed],
    fetches: Sequence[str],
    name: str = "graph",
    variables: Mapping[str, ArrayShape] | None = None,
) -> Lowered:
    """One module of the part of a graph that fetches need.

    Args:
        graph: the graph.
        feeds: outputs of nodes (`x`, `x:0`), each with its type and sizes, or with a value; a value that the program
            must know is written into it, any other is an input like those without.
        fetches: outputs of nodes; `^node` is run and gives nothing.
        name: the module's name.
        variables: the variables that have values when the program starts, with types and sizes; None where every
            variable has a value of the sizes that it is declared with.

    Raises:
        VerifyError: the graph breaks rules.
        InputError: a feed or fetch is not there, a node makes no sense, or a variable is read that has no value.
        UnsupportedError: a node has no lowering.
    """
    verify(graph, output_count, name)
    whole = with_constant_tables(graph)
    graph, wanted = functionalize(whole, fetches, feeds)
    known = must_be_known(graph, wanted)

    def written(room: Mapping[str, int] | None) -> tuple[Lowering, Lowered]:
        module, entry = _started(name)
        lowering = Lowering(graph, module, variables, room)
        given: dict[str, list[Value | None]] = {}
        inputs: list[str] = []
        unknown: list[str] = []
        for text, feed in feeds.items():
            source = endpoint(text)
            if source is None or source.port < 0:
                raise InputError(f"a feed {text!r} names no output of a node: give it as node or node:port")
            whole.node(source.node)
            fed = _fed(lowering, entry, feed, text, is_known=source.node in known)
            inputs += _names(text, fed)
            unknown += [text] * (isinstance(feed, ArrayShape) and source.node in known)
            ports = given.setdefault(source.node, [])
            ports += [None] * (source.port + 1 - len(ports))
            ports[source.port] = fed
        body = Body(lowering, graph.nodes, entry, given)
        with _blamed_on(unknown):
            body.run(wanted)
        named = zip(fetches, wanted, strict=True)
        results = [(text, body.at(output)[0]) for text, output in named if not text.startswith("^")]
        _finish(lowering, entry, results)
        return lowering, _done(lowering, module, tuple(inputs), results, _values(feeds, inputs))

    return _with_room(written)


def lower_function(
    graph: Graph,
    name: str,
    inputs: Sequence[Feed],
    variables: Mapping[str, ArrayShape] | None = None,
    *,
    is_bounded: bool = False,
) -> Lowered:
    """One module of a function of the library, on inputs in the order of its arguments.

    Arguments of the type `resource` are given as `Resource`; others variables, and what is raised, are as in `lower`.

    Args:
        graph: whose library has the function.
        name: the function's.
        inputs: types and sizes, or values, in the order of its arguments.
        variables: their types and sizes by name.
        is_bounded: whether the program may have sizes that values decide, where the node says a bound of them.
    """
    verify(graph, output_count, name)
    graph, _ = functionalize(graph, ())
    called = graph.function(name)
    names = [argument.name for argument in called.inputs]
    if len(names) != len(inputs):
        raise InputError(f"function {name!r} takes {len(names)} inputs, {len(inputs)} are given: {', '.join(names)}")
    calling = Graph([Node("call", name, tuple(names)), *(Node(one, "Placeholder") for one in names)], graph.functions)
    known = must_be_known(calling, ["call"])

    def written(room: Mapping[str, int] | None) -> tuple[Lowering, Lowered]:
        module, entry = _started(name)
        library = Lowering(graph, module, variables, room, is_bounded=is_bounded)
        kept: list[str] = []
        given: list[Value] = []
        for argument, feed in zip(names, inputs, strict=True):
            given.append(_fed(library, entry, feed, argument, is_known=argument in known))
            kept += _names(argument, given[-1])
        caller = Operation(
            Node(name, name),
            RECORDS["PartitionedCall"].signature,
            (),
            entry,
            library,
            checked=False,
        )
        given_shapes = (one for one, feed in zip(names, inputs, strict=True) if isinstance(feed, ArrayShape))
        with _blamed_on([one for one in given_shapes if one in known]):
            results = library.inline(FunctionReference(name), given, caller)
        named = list(zip((one.name for one in called.outputs), results, strict=True))
        _finish(library, entry, named)
        return library, _done(library, module, tuple(kept), named, _values(dict(zip(names, inputs, strict=True)), kept))

    return _with_room(written)


def _with_room(written: Callable[[Mapping[str, int] | None], tuple[Lowering, Lowered]]) -> Lowered:
    """A program; it is written again where stacks must have room for what was pushed when it was written first."""
    lowering, lowered = written(None)
    return written(lowering.variables.pushed)[1] if lowering.variables.unsized else lowered


def _started(name: str) -> tuple[Module, Computation]:
    module, entry = Module(identifier(name)), Computation("main")
    module.entry = module.add_computation(entry)
    return module, entry


@contextmanager
def _blamed_on(feeds: Sequence[str]) -> Iterator[None]:
    """Say which feed it is whose value must be known, of those that have none."""
    try:
        yield
    except NotConstantError as error:
        if not feeds:
            raise
        said = "its value decides sizes or dimensions, and must be a compile-time constant: give the value"
        raise InputError(f"feed {feeds[0]!r}: {said}, not only a type and sizes ({error})") from error


def _names(text: str, fed: Value) -> list[str]:
    """The inputs of the program that a feed is."""
    if isinstance(fed, TensorList):
        return [text, f"{text}/count"]
    return [text] if isinstance(fed, Expression) and fed.instruction.opcode == "parameter" else []


def _fed(lowering: Lowering, entry: Computation, feed: Feed, text: str, *, is_known: bool) -> Value:
    if isinstance(feed, Resource):
        if feed.shape is not None:
            lowering.variables.declare(feed.name, feed.shape)
        return Handle(feed.name, None if feed.shape is None else feed.shape.element_type)
    number = len(entry.parameters)
    if isinstance(feed, ListType):
        rows = parameter(entry, number, ArrayShape(feed.type, (feed.most, *feed.dims)), name=identifier(text))
        count = parameter(entry, number + 1, ArrayShape(S32, ()), name=identifier(f"{text}.count"))
        return TensorList(feed.type, feed.most, Expression(rows), Expression(count))
    if isinstance(feed, ArrayShape):
        return Expression(parameter(entry, number, feed, name=identifier(text)))
    feed = np.asarray(feed)
    element_type = of_dtype(feed.dtype)
    if element_type is None:
        raise UnsupportedError(f"feed {text!r} of {feed.dtype}", "the lowering to HLO", "HLO has no such type")
    if is_known:
        return Expression(constant(entry, array_literal(feed, element_type)))
    return Expression(parameter(entry, number, ArrayShape(element_type, feed.shape), name=identifier(text)))


def _finish(lowering: Lowering, entry: Computation, results: Sequence[tuple[str, Value]]) -> None:
    """Let the program give its results, and what variables hold after it."""
    arrays = [output for text, one in results for output in _fetched(lowering, text, one)]
    written = list(lowering.variables.written.values())
    entry.root = build(entry, "tuple", [one.instruction for one in (*arrays, *written)])
    assert entry.module is not None
    without_unused(entry)
    entry.module.sort_computations()


def _fetched(lowering: Lowering, text: str, value: Value) -> list[Expression]:
    """The arrays that a fetch is."""
    if isinstance(value, Handle) and value.is_reference:
        return [lowering.variables.read(value.name)]
    if isinstance(value, TensorList) and value.buffer is not None:
        return [value.buffer, value.count]
    return [no_handle(value, f"{text!r} is fetched")]


def _lists(results: Sequence[tuple[str, Value]]) -> dict[str, ListType]:
    return {
        text: ListType(one.type, one.most, one.buffer.dims[1:])
        for text, one in results
        if isinstance(one, TensorList) and one.buffer is not None
    }


def _done(
    lowering: Lowering,
    module: Module,
    inputs: tuple[str, ...],
    results: Sequence[tuple[str, Value]],
    values: Mapping[str, np.ndarray[Any, Any]],
) -> Lowered:
    outputs = tuple(text for text, _ in results)
    reads, writes = tuple(lowering.variables.reads), tuple(lowering.variables.written)
    return Lowered(module, inputs, outputs, values, reads, writes, lowering.variables.initial, _lists(results))


def _values(feeds: Mapping[str, Feed], inputs: Sequence[str]) -> dict[str, np.ndarray[Any, Any]]:
    described = ArrayShape | ListType | Resource
    return {n: np.asarray(feed) for n in inputs if n in feeds and not isinstance(feed := feeds[n], described)}
