"""The program of a graph, by what a config says of it: feeds are its parameters, fetches its results.

Variables that the caller keeps come after either: those that are read are parameters, those that are written results.
Variables whose values are given are constants of the program; so is a feed whose value sizes follow from, as of what
`tf.where` asks, which must be given for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from compiler.aot.carried import ATTRIBUTE, Carried, carry, with_values
from compiler.aot.config import Config, Feed, Variable, read_graph_and_config
from compiler.diagnostics import InputError
from compiler.frontends import Opened
from compiler.frontends.exported import NOTE, note
from compiler.graph import MODEL_FILES, DataType, Graph, Node, PartialShape
from compiler.graph.names import endpoint
from compiler.ir.literal import array_literal
from compiler.ir.module import Computation, Module
from compiler.ir.shape import ArrayShape
from compiler.ops.build import constant
from compiler.tf2xla import Lowered, lower
from compiler.tf2xla.variables import variable_name

Array = NDArray[Any]
SIGNATURE = "serving_default"
"""The signature of a SavedModel that is meant where none is named: TensorFlow's own name for it."""


@dataclass(frozen=True, slots=True)
class Program:
    """A graph as a program.

    Attributes:
        module: takes the feeds and the variables in `reads`, gives the fetches and the variables in `writes`.
        feeds: its first parameters, by the tensors' places in the graph.
        reads: the variables that it takes, by their names.
        writes: the variables that it gives.
        kept: what the config says of the variables that the caller keeps.
    """

    module: Module
    feeds: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    kept: Mapping[str, Variable]


def program(
    graph: Graph,
    config: Config,
    name: str,
    values: Mapping[str, Array] = MappingProxyType({}),
    *,
    starts_as_given: bool = False,
) -> Program:
    """The program of a graph.

    Args:
        graph: the graph.
        config: what is fed and fetched, and which variables the caller keeps.
        name: the module's.
        values: what is fed, by the tensors' places in the graph: used where the program must know it.
        starts_as_given: whether a variable whose value the config has may be written: it begins as that every time, and
            what is written is a result.

    Raises:
        InputError: a feed, fetch or variable is not there, or its sizes are not known.
        UnsupportedError: a node has no lowering.
    """
    config.check("the config")
    feeds: dict[str, ArrayShape | Array] = {feed.endpoint: _shape(graph, feed) for feed in config.feeds}
    feeds |= {text: one for text, one in values.items() if _is_of(one, feeds[text])}
    lowered = lower(graph, feeds, [fetch.endpoint for fetch in config.fetches], name)
    variables = {_variable(graph, one.node): one for one in config.variables}
    fixed = {name: one.value for name, one in variables.items() if one.value is not None}
    kept = {name: one for name, one in variables.items() if one.value is None}
    fixed |= lowered.initial if starts_as_given else {}
    _check_variables(lowered, kept, fixed, starts_as_given=starts_as_given)
    reads = _frozen(lowered, fixed)
    return Program(lowered.module, lowered.inputs, reads, lowered.writes, kept)


def is_graph(path: Path) -> bool:
    """Whether a path is that of a graph: a SavedModel, GraphDef as text, or GraphDef with a config beside it."""
    name = path.name.removesuffix(".gz")
    return _is_model(path) or name.endswith(".pbtxt") or (name.endswith(".pb") and _config_beside(path).exists())


Given = Callable[[], Mapping[str, Sequence[int] | Array] | None]
"""The arrays that a program is to run on, in order, by their names, or the sizes of each; None where nobody says."""


def read_program_of_graph(
    path: Path, given: Given = lambda: None, signature: str = "", opened: Opened | None = None
) -> Module:
    """The program of a graph in a file, which carries the graph.

    Variables of a model begin as the model has them; those that are written are results.

    Args:
        path: a GraphDef with what is fed and fetched of it beside it, `NAME.config.pbtxt` beside `NAME.pb`; or a
            SavedModel, of which it is a signature.
        given: asked where the graph leaves sizes of feeds open, or values must be known.
        signature: of a SavedModel; `serving_default` where none is named.
        opened: asked for the sizes of feeds where some stay open.

    Raises:
        InputError: something cannot be read or makes no sense.
        VerifyError: the graph breaks rules.
        UnsupportedError: a node has no lowering, or the library `protobuf` is not installed.
    """
    folder = path.parent if path.name in MODEL_FILES else path
    if _is_model(path):
        graph, config = read_graph_and_config(path, None, signature or SIGNATURE)
        return _carrying(graph, config, folder.absolute().name, _Sizes(given, opened), starts_as_given=True)
    if signature:
        raise InputError(f"{path}: it is no SavedModel, and has no signature {signature!r}: leave --signature out")
    beside = _config_beside(path)
    if not beside.exists():
        said = f"give {beside.name} beside it, a message tensorflow.tf2xla.Config"
        raise InputError(f"{path}: a graph does not say what is fed and fetched: {said}")
    graph, config = read_graph_and_config(path, beside, SIGNATURE)
    return _carrying(graph, config, path.name.partition(".")[0], _Sizes(given, opened))


class _Sizes(NamedTuple):
    """Who says sizes: inputs, and who is asked for what these leave open."""

    given: Given
    opened: Opened | None


def with_open_sizes(graph: Graph, config: Config, opened: Opened) -> Config:
    """The config with sizes where it and the graph leave some open.

    Args:
        graph: the graph.
        config: what is fed and fetched of it.
        opened: asked for the sizes of all feeds where some are open.
    """
    stated = [_stated(graph, feed) for feed in config.feeds]
    if all(shape.static is not None for shape in stated):
        return config
    names = [feed.name or feed.endpoint for feed in config.feeds]
    sizes = opened(names, [shape.dims for shape in stated])
    feeds = (replace(feed, shape=PartialShape(one)) for feed, one in zip(config.feeds, sizes, strict=True))
    return replace(config, feeds=tuple(feeds))


def _by_endpoint(config: Config, given: Given) -> Mapping[str, Sequence[int] | Array]:
    """What is said of the feeds, by the tensors' places in the graph: by the names of feeds, else in order."""
    said = given() or {}
    names = [feed.name for feed in config.feeds]
    found = [said[name] for name in names] if all(name in said for name in names) else list(said.values())
    return dict(zip((feed.endpoint for feed in config.feeds), found, strict=False))


def _with_sizes(config: Config, said: Mapping[str, Sequence[int] | Array]) -> Config:
    """The config with the sizes that are said where it leaves some open."""
    sizes = {text: one.shape if isinstance(one, np.ndarray) else tuple(one) for text, one in said.items()}
    feeds = tuple(
        replace(feed, shape=PartialShape(sizes[feed.endpoint]))
        if feed.endpoint in sizes and feed.shape.static is None and _fits(feed.shape, sizes[feed.endpoint])
        else feed
        for feed in config.feeds
    )
    return replace(config, feeds=feeds)


def _fits(shape: PartialShape, sizes: Sequence[int]) -> bool:
    """Whether sizes are some that a shape allows."""
    if shape.dims is None:
        return True
    return len(shape.dims) == len(sizes) and all(a in (None, b) for a, b in zip(shape.dims, sizes, strict=True))


def _carrying(graph: Graph, config: Config, name: str, sizes: _Sizes, *, starts_as_given: bool = False) -> Module:
    """The program of a graph, with the graph, and the values of variables and feeds that are none of its parameters."""
    said = _by_endpoint(config, sizes.given)
    values = {text: one for text, one in said.items() if isinstance(one, np.ndarray)}
    config = _with_sizes(config, said)
    if sizes.opened is not None:
        config = with_open_sizes(graph, config, sizes.opened)
    made = program(graph, config, name, values, starts_as_given=starts_as_given)
    known = {text.partition(":")[0]: one for text, one in values.items() if text not in made.feeds}
    known |= {one.node: np.asarray(one.value) for one in config.variables if one.value is not None}
    fetches = tuple(fetch.endpoint for fetch in config.fetches)
    kept = [number for number, feed in enumerate(config.feeds) if feed.endpoint in made.feeds]
    if left := note(kept, len(config.feeds)):
        made.module.attributes[ATTRIBUTE] = ((NOTE, left),)
    carry(made.module, Carried(with_values(graph, known), made.feeds, made.reads, fetches, made.writes))
    return made.module


def _is_model(path: Path) -> bool:
    return path.name in MODEL_FILES or any((path / name).is_file() for name in MODEL_FILES)


def _config_beside(path: Path) -> Path:
    name = path.name.removesuffix(".gz")
    return path.with_name(f"{name.removesuffix('.pb').removesuffix('.pbtxt')}.config.pbtxt")


def _fed(graph: Graph, feed: Feed) -> Node:
    """The node that a feed stands for."""
    source = endpoint(feed.endpoint)
    if source is None:
        raise InputError(f"feed {feed.endpoint!r} names no output of a node: give it as node:port")
    return graph.node(source.node)


def _stated(graph: Graph, feed: Feed) -> PartialShape:
    """What is stated of a feed's sizes: by the config, or by its node where that knows more."""
    stated = _fed(graph, feed).attributes.get("shape")
    if isinstance(stated, PartialShape) and (feed.shape.dims is None or stated.static is not None):
        return feed.shape if feed.shape.static is not None else stated
    return feed.shape


def _shape(graph: Graph, feed: Feed) -> ArrayShape:
    """Type and sizes of what is fed."""
    node = _fed(graph, feed)
    sizes = _stated(graph, feed).static
    if sizes is None:
        raise InputError(
            f"feed {feed.endpoint!r} has sizes {feed.shape}: give all of them, by inputs to run on or in a config, "
            f"`feed {{ id {{ node_name: {node.name!r} }} shape {{ ... }} }}`; a program has arrays of fixed size"
        )
    stated = node.attributes.get("dtype")
    dtype = feed.type or (stated if isinstance(stated, DataType) else None)
    if dtype is None or dtype.element_type is None:
        raise InputError(
            f"feed {feed.endpoint!r} is of {dtype or 'no type that the graph says'}: give a type of numbers"
        )
    return ArrayShape(dtype.element_type, sizes)


def _is_of(array: Array, shape: ArrayShape | Array) -> bool:
    """Whether an array has a type and sizes; what has not is refused where it is to be run on."""
    return isinstance(shape, ArrayShape) and (array.dtype, array.shape) == (shape.element_type.dtype, shape.dims)


def _variable(graph: Graph, node: str) -> str:
    """What a variable is called among those of a program, by its node."""
    name = variable_name(graph.node(node))
    if name is None:
        raise InputError(f"node {node!r} is no variable but a {graph.node(node).op}")
    return name


def _check_variables(
    lowered: Lowered, kept: Mapping[str, Variable], fixed: Mapping[str, NDArray[Any]], *, starts_as_given: bool
) -> None:
    """See that the caller keeps what is written, and keeps or has given what is read."""
    for name in (*lowered.writes, *lowered.reads):
        is_written = name in lowered.writes
        if name not in kept and (is_written or name not in fixed):
            if starts_as_given and (name in fixed or name not in lowered.reads):
                continue
            said = "say in the config that the caller keeps it, `variable { node_name: ... }`"
            raise InputError(f"variable {name!r} is {'written' if is_written else 'read'}: {said}")
        if is_written and name in kept and kept[name].is_constant:
            raise InputError(f"variable {name!r} is written, but the config says `readonly: true`")


def _frozen(lowered: Lowered, fixed: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """Write the values of variables into a program; returns the variables that it takes afterwards."""
    entry: Computation = lowered.module.entry
    parameters = list(entry.parameters)
    known = [
        (parameter, fixed[name])
        for parameter, name in zip(parameters[len(lowered.inputs) :], lowered.reads, strict=True)
        if name in fixed
    ]
    for parameter, value in known:
        array = np.asarray(value)
        if (array.dtype, array.shape) != (parameter.array.element_type.dtype, parameter.array.dims):
            raise InputError(
                f"{parameter.name} is {parameter.array}; the value given is {array.dtype}{list(array.shape)}"
            )
        parameter.replace_uses_with(constant(entry, array_literal(array, parameter.array.element_type)))
    gone = {parameter for parameter, _ in known}
    entry.remove(gone)
    entry.sort()
    for number, parameter in enumerate(one for one in parameters if one not in gone):
        parameter.attributes["parameter_number"] = number
    return tuple(name for name in lowered.reads if name not in fixed)
