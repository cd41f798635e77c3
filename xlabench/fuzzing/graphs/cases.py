"""What a campaign of graphs draws: a seed and a number give a graph, what it is run on, and how it is clustered.

As of HLO programs each graph is drawn from a space of its own, a few types and a part of the ops, so that those left
meet more often; each op has its turn.  Sizes are known while a graph is drawn, and unknown in some of what is kept.
Cases are modules that carry their graphs, so that all that campaigns do with programs is done with these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.tf import CompilerError, Graph, Node, NotConstantError, PartialShape
from xlabench.engines import OF_GRAPHS, nested
from xlabench.engines.spec import split_spec
from xlabench.fuzzing import variants, variation
from xlabench.fuzzing.case import Case
from xlabench.fuzzing.graphs import drawing, holding, operands
from xlabench.fuzzing.graphs.asked import ALWAYS
from xlabench.fuzzing.graphs.differences import DIFFERENTIATED, check
from xlabench.fuzzing.graphs.drawing import PLAIN, TYPES, Drawer, Fed
from xlabench.fuzzing.graphs.operands import Generator
from xlabench.fuzzing.graphs.structures import Structures
from xlabench.fuzzing.values import make_inputs, several
from xlabench.graphs.case import GraphCase, fed_node
from xlabench.survival import about
from xlabench.tensorflow.framework import graph as building

NAME = "graphs"
"""The profile."""

_ATTEMPTS = 20
_HELD = 3
"""Ops whose gradients are held against differences beside each graph: so many take a sixth of its time."""
_SHARES = (0.05, 0.15, 0.4, 1.0)  # of the ops
_STRUCTURE, _PARTIAL, _SPECIAL = 0.25, 0.3, 0.4
_LEAST_OPS, _MOST_OPS, _MOST_FETCHES, _OTHER_CALLS = 3, 14, 4, 2
_LAZY, _DEFERRED = {"": 80, "off": 20}, {"": 90, "on": 10}
_MIN, _MAX, _FUEL = {"1": 60, "2": 20, "": 20}, {"": 80, "2": 10, "4": 10}, 25
_FUEL_PERCENT = 30
_MOST_STEPS = 500_000
"""Instructions of a call on the reference: the 2,000 iterations that the continued fraction of an incomplete gamma
function may take, of some 100 each, and as many again.  Its series has no such end: where x and a are large, and the
same, XLA's takes the 2^23 iterations after which a number of f32 does not change any more when 1 is added.
"""


def drawer(arguments: Mapping[str, Any]) -> Callable[[int], Case]:
    """What draws cases by number, from arguments as in JSON: seed, variants."""
    return lambda number: draw_case(arguments["seed"], number, varied=arguments.get("varied", True))


def draw_case(seed: int, number: int, *, varied: bool = True) -> Case:
    """The graph of a number, what it is run on, and how engines compile and cluster it, if they are `varied`.

    Args:
        seed: of the campaign.
        number: of the graph.
        varied: whether engines compile it in variants.

    Raises:
        WrongDerivative: beside it, the gradient of some op is not what differences say.
        Refused: what each op takes, and was drawn for, is not taken where it stands among others.
        WrongClustering, WrongForm: a check of the graph says so (`holding`).
    """
    hold_gradients(seed, number)
    for attempt in range(_ATTEMPTS):
        rng = np.random.default_rng([seed, number, attempt])
        case = draw_graph(rng, number)
        try:
            module, _ = case.program(f"graph_{number}")
            case.opened().program()
        except NotConstantError:  # what fits op by op may ask for a constant that is none when it is put together
            continue
        except CompilerError as error:
            raise Refused(about(_op_of(error), str(error))) from error
        holding.hold(np.random.default_rng([seed, number, _ATTEMPTS + _HELD]), case)
        made = _called(case, module, rng, number, varied=varied)
        if variation.ends(module, (inputs for _, inputs in made.calls), _MOST_STEPS):
            return made
    raise AssertionError(f"of {_ATTEMPTS} graphs that were drawn for case {number} none can be lowered and ends soon")


def _called(graph: GraphCase, module: Any, rng: Generator, number: int, *, varied: bool) -> Case:
    """A graph that was lowered, with what it is called with and how engines compile it."""
    kind = "special" if rng.random() < _SPECIAL else "tame"
    options = {**variants.draw(rng), "clusters": clustering(rng)} if varied else {}
    ops = tuple(sorted(graph.graph.counts()))
    inputs, others = make_inputs(module, rng, kind), several(module, rng, _OTHER_CALLS)
    return Case(number, module, inputs, others=others, options=options, ops=ops)


class Refused(AssertionError):
    """A graph whose nodes were all drawn to be taken is refused as a whole."""


def _op_of(error: CompilerError) -> str:
    """The op that an error is about, as far as it says one."""
    found = re.search(r"\((\w+)\): |op (\w+)", str(error))
    return next(filter(None, found.groups()), "") if found else type(error).__name__


def hold_gradients(seed: int, number: int) -> None:
    """Hold the gradients of the ops whose turn it is against differences; raises WrongDerivative."""
    for other in range(_HELD):
        op = DIFFERENTIATED[(number * _HELD + other) % len(DIFFERENTIATED)]
        check(np.random.default_rng([seed, number, _ATTEMPTS + other]), op)


def draw_graph(rng: Generator, number: int = 0) -> GraphCase:
    """A random graph, with some values for all that it is fed with."""
    types = [str(one) for one in rng.choice(TYPES, int(rng.integers(1, 4)))]
    kept = [name for name in PLAIN if rng.random() < float(rng.choice(_SHARES))]
    turn = PLAIN[number % len(PLAIN)]
    fed = Fed()
    drawn = Drawer(building.Graph(), rng, types, (*kept, turn), fed)
    for _ in range(int(rng.integers(1, 4))):
        drawn.source(str(rng.choice(types)), operands.some_dims(rng))
    structures = Structures(drawn)
    steps = int(rng.integers(_LEAST_OPS, _MOST_OPS, endpoint=True))
    featured = int(rng.integers(steps))
    for step in range(steps):
        if step == featured:
            drawn.attempt(turn)
        elif rng.random() < _STRUCTURE:
            structures.draw()
        else:
            drawn.op()
    for one in structures.variables:
        drawn.pool.append(one.read())
    values = {
        name: np.zeros(dims, kind.element_type.dtype) for name, (kind, dims) in fed.shapes.items() if kind.element_type
    }
    graph = _partial(drawn.graph.definition, fed, rng)
    return GraphCase(graph, {**values, **fed.known}, _fetched(drawn, structures), _held(structures)).pruned()


def clustering(rng: Generator) -> dict[str, str]:
    """Options of the engine `clusters`: sizes of clusters, fuel, whether they are compiled lazily."""
    drawn = {"min": variants.one_of(rng, _MIN), "max": variants.one_of(rng, _MAX), "lazy": variants.one_of(rng, _LAZY)}
    if not drawn["lazy"]:
        drawn["defer"] = variants.one_of(rng, _DEFERRED)
    if rng.integers(100) < _FUEL_PERCENT:
        drawn["fuel"] = str(int(rng.integers(_FUEL)))
    return {key: value for key, value in drawn.items() if value}


def engines_for(specs: tuple[str, ...]) -> tuple[str, ...]:
    """The engines of a campaign of graphs: each that is given runs them op by op, in clusters and whole."""
    found = [*ALWAYS]
    for spec in specs:
        if split_spec(spec)[0] in OF_GRAPHS:
            found.append(spec)
            continue
        found += [f"ops:on={nested(spec)}", f"clusters:on={nested(spec)}", spec]
    return tuple(dict.fromkeys(one for one in found if one not in ("ops:on=reference", "reference")))


def _fetched(drawn: Drawer, structures: Structures) -> tuple[str, ...]:
    """What nothing takes, some of what something takes, the last of open size, and each variable's last change."""
    taken = {text.removeprefix("^").partition(":")[0] for node in drawn.graph.definition.nodes for text in node.inputs}
    ends = [one for one in drawn.pool if one.op.name not in taken and one.op.type != "Placeholder"]
    ends = ends[-_MOST_FETCHES:] or [drawn.pool[-1]]
    inner = [one for one in drawn.pool if one.op.name in taken and one.op.type not in ("Placeholder", "Const")]
    if inner and drawn.rng.random() < drawing.SAME_SHAPE:
        ends.append(inner[int(drawn.rng.integers(len(inner)))])
    ends += drawn.open_ends[-1:]
    runs = [f"^{operation.name}" for one in structures.variables for operation in one.last]
    return (*dict.fromkeys(one.output.text for one in ends), *runs)


def _held(structures: Structures) -> Mapping[str, Any]:
    return {one.name: np.zeros(one.dims, one.dtype) for one in structures.variables}


def _partial(graph: Graph, fed: Fed, rng: Generator) -> Graph:
    """The graph, in which some placeholders no longer say all their sizes, and what is fed is no constant any more."""
    return replace(graph, nodes=[_open(node, fed, rng) for node in graph.nodes])


def _open(node: Node, fed: Fed, rng: Generator) -> Node:
    if node.name in fed.known:
        return fed_node(node.name, fed.known[node.name])
    if node.name not in fed.shapes or rng.random() >= _PARTIAL:
        return node
    dims = fed.shapes[node.name][1]
    is_without_rank = rng.random() < _PARTIAL
    shape = PartialShape(None if is_without_rank else tuple(None if rng.integers(2) else one for one in dims))
    return replace(node, attributes={**node.attributes, "shape": shape})
