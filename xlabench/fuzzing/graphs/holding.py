"""What every graph of a campaign is held to beside its runs, since no run shows it.

| what | against what |
|---|---|
| its forms | themselves, and a reader of its own (`xlabench.graphs.forms`) |
| its clusters, and those of wires alone | what no clustering may do (`clustering`) |
| its functions, written out | the same graph with calls |
| which requests of clusters are compiled | the rule, counted anew |
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import compiler
from compiler.tf import (
    BY_NAME,
    Argument,
    DeviceCompiler,
    Function,
    Graph,
    Node,
    inline_functions,
    output_types,
    tensor_of,
)
from xlabench.fuzzing.graphs import clustering
from xlabench.fuzzing.graphs.operands import Generator
from xlabench.fuzzing.values import make_inputs
from xlabench.graphs import forms
from xlabench.graphs.case import GraphCase, port_of, source_of
from xlabench.repeats import same_bytes
from xlabench.survival import about

_FLOAT, _INT = BY_NAME["float32"], BY_NAME["int32"]
_REQUESTS, _SIZES = 14, 3
"""How often a cluster is asked for, and of how many sizes each of its arguments is."""
_FIRST, _OFTEN, _MOST = 1, 2, 10
"""TensorFlow's rule: the first request of a cluster is compiled, later ones when they come again; up to so many."""


class WrongForm(AssertionError):
    """A graph is not the same in all of its forms, or its functions not where they are called."""


class WrongRequests(AssertionError):
    """A cluster is compiled when it should not be, or is not when it should."""


def hold(rng: Generator, case: GraphCase) -> None:
    """Hold a graph to what needs no run of it.

    Args:
        rng: draws devices, flags, and where a file is cut off.
        case: the graph.

    Raises:
        WrongForm: of the graph.
        WrongClustering: of its clusters.
        WrongRequests: of the compiler of clusters.
    """
    found = forms.problems(case.graph, float(rng.random()))
    if found:
        raise WrongForm(about(found[0].partition(":")[0], "; ".join(found)))
    clustering.hold(rng, case)
    _hold_inlined(rng, case)
    _hold_requests(rng)


def _hold_inlined(rng: Generator, case: GraphCase) -> None:
    """Hold a graph whose calls are written out against the graph with calls, to the bit."""
    if not any(node.op in ("PartitionedCall", "StatefulPartitionedCall") for node in case.graph.nodes):
        return
    handed_on = _handed_on(case)
    module, _ = handed_on.program()
    given = GraphCase.of(module, make_inputs(module, rng, "tame"))
    assert given is not None, "it carries its graph"
    (program, inputs), (other, others) = given.program(), replace(given, graph=inline_functions(given.graph)).program()
    if not same_bytes(compiler.interpret(program, *inputs), compiler.interpret(other, *others)):
        raise WrongForm(about("calls", "written out they give something else"))


def _handed_on(case: GraphCase) -> GraphCase:
    """The graph, in which nothing is fetched of a call itself, since that is not there when it is written out."""
    nodes, fetches = [], []
    for number, text in enumerate(case.fetches):
        if text.startswith("^"):
            fetches.append(text)
            continue
        types = output_types(case.graph.node(source_of(text)), case.library) or ()
        nodes.append(Node(f"handed_on_{number}", "Identity", (text,), "", {"T": types[port_of(text)] or _FLOAT}))
        fetches.append(nodes[-1].name)
    return replace(case, graph=replace(case.graph, nodes=[*case.graph.nodes, *nodes]), fetches=tuple(fetches))


def _hold_requests(rng: Generator) -> None:
    """Ask for a cluster again and again, with few values of a constant and few sizes of an array."""
    asked = DeviceCompiler(Graph([], [_sized()]), lambda _module: lambda *_inputs: [])
    counts: dict[tuple[int, int], int] = {}
    made: set[tuple[int, int]] = set()
    for number in range(_REQUESTS):
        key = size, value = int(rng.integers(_SIZES)), int(rng.integers(_SIZES))
        counts[key] = counts.get(key, 0) + 1
        is_due = number + 1 == _FIRST or counts[key] >= _OFTEN
        found = asked.compile("sized", [np.array([value], np.int32), np.zeros((size, 2), np.float32)])
        if (found is not None) != is_due or (found is not None and found.is_new != (key not in made)):
            raise WrongRequests(about("requests", f"request {number}, of {key} the {counts[key]}th"))
        made |= {key} if is_due else set()
    statistics = asked.statistics("sized")
    if (statistics.executions, statistics.compilations) != (_REQUESTS, len(made)):
        raise WrongRequests(about("statistics", f"{statistics} after {_REQUESTS} requests, {len(made)} compiled"))


def _sized() -> Function:
    """A function with a value that must be known, and an array."""
    total = Node("total", "Sum", ("x", "all:output:0"), "", {"T": _FLOAT, "Tidx": _INT, "keep_dims": False})
    every = Node("all", "Range", ("first:output:0", "rank:output:0", "step:output:0"), "", {"Tidx": _INT})
    filled = Node("filled", "Fill", ("dims", "total:output:0"), "", {"T": _FLOAT, "index_type": _INT})
    rank = Node("rank", "Rank", ("x",), "", {"T": _FLOAT})
    constants = [
        Node(name, "Const", (), "", {"dtype": _INT, "value": tensor_of(np.array(value, np.int32))})
        for name, value in (("first", 0), ("step", 1))
    ]
    takes = (Argument("dims", _INT), Argument("x", _FLOAT))
    nodes = [*constants, rank, every, total, filled]
    return Function("sized", takes, (Argument("y", _FLOAT),), nodes, {"y": "filled:output:0"})
