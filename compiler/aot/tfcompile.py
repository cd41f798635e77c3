"""A graph with its feeds and fetches as an object file, and a C++ class that calls it.

Its program (`program`) is compiled as any is ahead of time; the class knows which array is what.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from compiler.aot.config import Config
from compiler.aot.header import Array, CppClass, Facts, header
from compiler.aot.program import Program, program
from compiler.diagnostics import UnsupportedError
from compiler.driver import compile_ahead
from compiler.graph import Graph
from compiler.ir.shape import leaves
from compiler.options import CompileOptions


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
        UnsupportedError: a node has no lowering, or values decide the size of a result.
    """
    entry = program(graph, config, cpp_class.name)
    for fetch, shape in zip(config.fetches, leaves(entry.module.entry.root.shape), strict=False):
        if shape.is_dynamic:
            reason = f"values decide the sizes of {shape}, which the class has no method for"
            raise UnsupportedError(f"fetch {fetch.name or fetch.endpoint}", "tfcompile", reason)
    made = compile_ahead(entry.module, machine, cpu, options or CompileOptions(), name=cpp_class.symbol)
    facts = _facts(entry, config)
    said = json.loads(next(data for name, data in made.items() if name.endswith(".json")))
    (code,) = (data for name, data in made.items() if name.endswith(".o"))
    text = header(cpp_class, said["name"], facts, f"{machine} ({said['cpu']})", said["arena_bytes"])
    return {f"{cpp_class.file}.o": code, f"{cpp_class.file}.h": text.encode()}


def _facts(entry: Program, config: Config) -> Facts:
    """What the class has, in order."""
    taken = [parameter.array for parameter in entry.module.entry.parameters]
    given = list(leaves(entry.module.entry.root.shape))
    names = {feed.endpoint: feed.name for feed in config.feeds}
    arguments = [Array(names[source], shape) for source, shape in zip(entry.feeds, taken, strict=False)]
    results = [Array(fetch.name, shape) for fetch, shape in zip(config.fetches, given, strict=False)]
    shapes = dict(zip(entry.reads, taken[len(arguments) :], strict=True))
    shapes |= dict(zip(entry.writes, given[len(results) :], strict=True))
    variables = {
        name: Array(one.name or one.node, shapes[name], is_constant=one.is_constant)
        for name, one in entry.kept.items()
        if name in shapes
    }
    order = list(variables)
    return Facts(
        arguments,
        results,
        list(variables.values()),
        [order.index(name) for name in entry.reads],
        [order.index(name) for name in entry.writes],
    )
