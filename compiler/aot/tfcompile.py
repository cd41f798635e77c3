"""A graph with its feeds and fetches as an object file, and a C++ class that calls it.

The graph is lowered whole, with the variables that it reads as further inputs and those that it writes as further
results, and compiled as any program is ahead of time.  Variables whose values are given are constants of the program.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.aot.config import Config, Feed, Variable
from compiler.aot.header import Array, CppClass, Facts, header
from compiler.diagnostics import InputError
from compiler.driver import compile_ahead
from compiler.graph import DataType, Graph, PartialShape
from compiler.graph.names import endpoint
from compiler.ir.literal import array_literal
from compiler.ir.module import Computation
from compiler.ir.shape import ArrayShape, leaves
from compiler.ops.build import constant
from compiler.options import CompileOptions
from compiler.tf2xla import Lowered, lower
from compiler.tf2xla.variables import variable_name


def tfcompile(
    graph: Graph,
    config: Config,
    cpp_class: CppClass,
    machine: str = "x86_64",
    cpu: str = "",
    options: CompileOptions | None = None,
) -> Mapping[str, bytes]:
    """The files of a graph compiled ahead of time, by name: object and header.

    Args:
        graph: the graph.
        config: what is fed and fetched, and which variables the caller keeps.
        cpp_class: the class that calls it.
        machine: x86_64 or aarch64.
        cpu: LLVM's name of the CPU, by default what runs on every such machine.
        options: the compiler's, by default its own.

    Raises:
        InputError: a feed, fetch or variable is not there, or its sizes are not known.
        UnsupportedError: a node has no lowering.
    """
    config.check("the config")
    feeds = {feed.place: _shape(graph, feed) for feed in config.feeds}
    lowered = lower(graph, feeds, [fetch.place for fetch in config.fetches], cpp_class.name)
    kept = {_variable(graph, one.node): one for one in config.variables}
    fixed = {name: one.value for name, one in kept.items() if one.value is not None}
    kept = {name: one for name, one in kept.items() if one.value is None}
    _check_variables(lowered, kept, fixed)
    reads = _frozen(lowered, fixed)
    made = compile_ahead(lowered.module, machine, cpu, options or CompileOptions(), name=cpp_class.symbol)
    facts = _facts(lowered, config, reads, kept)
    said = json.loads(next(data for name, data in made.items() if name.endswith(".json")))
    (code,) = (data for name, data in made.items() if name.endswith(".o"))
    text = header(cpp_class, said["name"], facts, f"{machine} ({said['cpu']})", said["arena_bytes"])
    return {f"{cpp_class.file}.o": code, f"{cpp_class.file}.h": text.encode()}


def _shape(graph: Graph, feed: Feed) -> ArrayShape:
    """Type and sizes of what is fed."""
    place = endpoint(feed.place)
    if place is None:
        raise InputError(f"feed {feed.place!r} names no output of a node: give it as node:port")
    node = graph.node(place.node)
    stated = node.attributes.get("shape")
    sizes = feed.shape.static
    if sizes is None and isinstance(stated, PartialShape):
        sizes = stated.static
    if sizes is None:
        raise InputError(
            f"feed {feed.place!r} has sizes {feed.shape}: give all of them, a program has arrays of fixed size"
        )
    stated = node.attributes.get("dtype")
    dtype = feed.type or (stated if isinstance(stated, DataType) else None)
    if dtype is None or dtype.element_type is None:
        raise InputError(f"feed {feed.place!r} is of {dtype or 'no type that the graph says'}: give a type of numbers")
    return ArrayShape(dtype.element_type, sizes)


def _variable(graph: Graph, node: str) -> str:
    """What a variable is called among those of a program, by its node."""
    name = variable_name(graph.node(node))
    if name is None:
        raise InputError(f"node {node!r} is no variable but a {graph.node(node).op}")
    return name


def _check_variables(lowered: Lowered, kept: Mapping[str, Variable], fixed: Mapping[str, NDArray[Any]]) -> None:
    """See that the caller keeps what is written, and keeps or has given what is read."""
    for name in (*lowered.writes, *lowered.reads):
        is_written = name in lowered.writes
        if name not in kept and (is_written or name not in fixed):
            said = "say in the config that the caller keeps it, `variable { node_name: ... }`"
            raise InputError(f"variable {name!r} is {'written' if is_written else 'read'}: {said}")
        if is_written and kept[name].is_constant:
            raise InputError(f"variable {name!r} is written, but the config says `readonly: true`")


def _frozen(lowered: Lowered, fixed: Mapping[str, NDArray[Any]]) -> list[str]:
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
    return [name for name in lowered.reads if name not in fixed]


def _facts(lowered: Lowered, config: Config, reads: Sequence[str], kept: Mapping[str, Variable]) -> Facts:
    """What the class has, in order."""
    taken = [parameter.array for parameter in lowered.module.entry.parameters]
    given = list(leaves(lowered.module.entry.root.shape))
    names = {feed.place: feed.name for feed in config.feeds}
    arguments = [Array(names[place], shape) for place, shape in zip(lowered.inputs, taken, strict=False)]
    results = [Array(fetch.name, shape) for fetch, shape in zip(config.fetches, given, strict=False)]
    shapes = dict(zip(reads, taken[len(arguments) :], strict=True))
    shapes |= dict(zip(lowered.writes, given[len(results) :], strict=True))
    variables = {
        name: Array(one.name or one.node, shapes[name], is_constant=one.is_constant)
        for name, one in kept.items()
        if name in shapes
    }
    order = list(variables)
    return Facts(
        arguments,
        results,
        list(variables.values()),
        [order.index(name) for name in reads],
        [order.index(name) for name in lowered.writes],
    )
