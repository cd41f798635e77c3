"""Runs the graph that a program carries, as a session does: op by op, or with clusters.

Each op is its lowering alone, and each cluster a function that is lowered and compiled for what it takes; so these
differ from the whole program in what was lowered together, and in the order in which things are done.  What goes in and
comes out is that of the whole program, in its order, so that whoever judges the one can judge the others.

A run begins with the values of variables that it is given, and keeps none.  Runs that threads ask for at the same time
take turns, since the variables are those of the graph.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

import compiler
from compiler import aot
from compiler.tf import CompilerError, DataType, Flags, Graph, Node, PartialShape, Tensor
from xlabench.errors import BenchError, RunFailure
from xlabench.tensorflow.config import ConfigProto
from xlabench.tensorflow.errors import OpError
from xlabench.tensorflow.framework.device_names import LOCAL, DeviceName
from xlabench.tensorflow.runtime import calls, clustering, executor, plan
from xlabench.tensorflow.runtime.kernels import DEAD
from xlabench.tensorflow.runtime.resources import Resources
from xlabench.tensorflow.runtime.settings import Device

Array = np.ndarray[Any, Any]

_DEVICE = DeviceName(LOCAL.job, LOCAL.replica, LOCAL.task, "CPU", "0")
HOST = str(_DEVICE)
"""The device that everything runs on, whatever a graph says."""
HOST_DEVICE = Device(_DEVICE, "reference", "reference")
_VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})


@dataclass(frozen=True, slots=True)
class GraphEngine:
    """An engine of graphs.

    Attributes:
        spec: as it was given.
        ops: the spec of the engine that runs ops outside of clusters.
        on: that of the engine that compiles clusters.
        flags: those of clustering; None where there are to be no clusters.
    """

    spec: str
    ops: str
    on: str
    flags: Flags | None = None

    def compile(self, module_or_text: Any) -> Callable[..., list[Array]]:
        """The graph that a program carries, planned; what it compiles it compiles when it first runs.

        Raises:
            UnsupportedError: the program carries no graph.
        """
        module = compiler.parse(module_or_text) if isinstance(module_or_text, str | bytes) else module_or_text
        carried = aot.carried_by(module)
        if carried is None:
            reason = "it runs graphs, and the program carries none, or was changed since it was lowered from one"
            raise compiler.UnsupportedError(f"program {module.name}", f"engine {self.spec}", reason)
        return _Runner(self, carried)


class _Runner:
    """One graph on one engine."""

    def __init__(self, engine: GraphEngine, carried: aot.Carried) -> None:
        self._engine = engine
        self._carried = carried
        self._resources = Resources()
        self._alone = threading.Lock()
        host = Device(_DEVICE, engine.ops, engine.on)
        clusters = clustering.Clusters(ConfigProto(), HOST, engine.flags)
        around = plan.Around(
            {HOST: host},
            self._resources,
            clusters.cluster if engine.flags is not None else _as_it_is,
            {**calls.CALLS, **clusters.kernels},
            is_soft=True,
            refuses=False,  # what is compiled whole computes something of any values, and is compared with
        )
        fed = {_endpoint(text).partition(":")[0] for text in carried.feeds}
        given = {name: value for name, value in carried.known.items() if name not in fed}
        self._given = {name: value for name, value in given.items() if _is_fed(carried.graph.node(name))}
        feeds = [*carried.feeds, *self._given]
        fetches = [_endpoint(text) for text in carried.fetches if not text.startswith("^")]
        targets = [text[1:] for text in carried.fetches if text.startswith("^")]
        try:
            self._plan = plan.make(carried.graph, feeds, fetches, targets, around)
        except OpError as error:
            _fail(engine, error)
        self._before = _variables(carried.graph)

    def __call__(self, *inputs: Array) -> list[Array]:
        carried, resources = self._carried, self._resources
        with self._alone:
            results = self.run(inputs)
            written = [resources.variable(name).value for name in carried.writes]
        if any(one is DEAD for one in results):
            dead = carried.fetches[[one is DEAD for one in results].index(True)]
            raise RunFailure(f"{self._engine.spec}: what is fetched of {dead} is dead")
        return [np.array(one) for one in (*results, *written)]

    def run(self, inputs: Sequence[Array]) -> list[Any]:
        """What is fetched, or `DEAD` for it."""
        carried, resources = self._carried, self._resources
        count = len(carried.feeds)
        inputs = [np.require(one, one.dtype.newbyteorder("="), ["C", "A"]) for one in inputs]
        for name, value in self._before.items():
            resources.variable(name).value = value
        for name, value in zip(carried.reads, inputs[count:], strict=True):
            resources.variable(name).value = value
        try:
            with np.errstate(all="ignore"):  # special values are what graphs are run on, too
                return executor.run(self._plan, [*inputs[:count], *self._given.values()])
        except OpError as error:
            _fail(self._engine, error)


def values_of(carried: aot.Carried, endpoints: Sequence[str], inputs: Sequence[Array]) -> dict[str, Array]:
    """What outputs of nodes are, op by op on the reference; of those that are dead nothing.

    Args:
        carried: the graph of a program, and what is fed.
        endpoints: the outputs that are asked for.
        inputs: the program's.
    """
    runner = _Runner(GraphEngine("ops", "reference", "reference"), replace(carried, fetches=tuple(endpoints)))
    return {
        endpoint: np.array(one) for endpoint, one in zip(endpoints, runner.run(inputs), strict=True) if one is not DEAD
    }


def _as_it_is(graph: Graph, _around: plan.Around) -> Graph:
    return graph


def _endpoint(text: str) -> str:
    return text if ":" in text else f"{text}:0"


def _is_fed(node: Node) -> bool:
    return node.op not in _VARIABLES


def _variables(graph: Graph) -> Mapping[str, Array]:
    """What variables hold before a run that is given nothing for them: as the whole program has it, something."""
    found: dict[str, Array] = {}
    nodes: Sequence[Node] = [*graph.nodes, *(node for function in graph.functions for node in function.nodes)]
    for node in nodes:
        if node.op not in _VARIABLES:
            continue
        shared, shape, kind, value = (node.attributes.get(n) for n in ("shared_name", "shape", "dtype", aot.VALUE))
        name = shared.decode() if isinstance(shared, bytes) and shared else node.name
        if isinstance(value, Tensor):
            found[name] = value.array()
        elif isinstance(shape, PartialShape) and shape.static is not None and isinstance(kind, DataType):
            element = kind.element_type
            found[name] = np.zeros(shape.static, None if element is None else element.dtype)
    return found


def _fail(engine: GraphEngine, error: OpError) -> NoReturn:
    """Raise what is behind an error of a node."""
    cause = error.__cause__
    if isinstance(cause, CompilerError | BenchError):
        raise cause
    raise RunFailure(f"{engine.spec}: {error}") from error
