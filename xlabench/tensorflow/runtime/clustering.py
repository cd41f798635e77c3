"""Clusters in a session: its graphs are clustered as `TF_XLA_FLAGS` and its options say, and its clusters run.

A cluster is compiled by the engine of its device (`runtime/settings.py`); what it takes of variables is in its
signature, and what it writes to them is written when it has run.  `_XlaCompile` hands on what was compiled, where
TensorFlow has a key for it.  What `XLA_FLAGS` asks for is dumped of clusters alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from compiler import environment_options
from compiler.tf import (
    Compiled,
    DeviceCompiler,
    Flags,
    FunctionReference,
    Graph,
    Mode,
    Node,
    Options,
    Progress,
    Resource,
    flags_of,
    inline_functions,
    optimize,
)
from xlabench.tensorflow.config import ConfigProto
from xlabench.tensorflow.runtime.kernels import Kernel
from xlabench.tensorflow.runtime.placement import assign_devices
from xlabench.tensorflow.runtime.plan import Around
from xlabench.tensorflow.runtime.programs import compiled, shape_of
from xlabench.tensorflow.runtime.resources import Variable

_CALLED, _XLA_FLAGS = "TF_DUMP_GRAPH_PREFIX", "XLA_FLAGS"
_PROGRESS = Progress()
"""What the graphs of this process use up: fuel, numbers of clusters, numbers of dumps."""


class Clusters:
    """The clusters of one session."""

    def __init__(self, config: ConfigProto, host: str, flags: Flags | None = None) -> None:
        """Cluster by given flags, for the only session there is, or by the environment's, for one of several."""
        options = config.graph_options.optimizer_options
        self._flags = flags_of(os.environ) if flags is None else flags
        if flags is None:
            say_what_is_passed_over(os.environ.get(_XLA_FLAGS, ""))
        self._options = Options(
            global_jit_level=options.global_jit_level,
            cpu_global_jit=bool(options.cpu_global_jit),
            device=host,
            dump_to=os.environ.get(_CALLED, ""),
            progress=_PROGRESS if flags is None else Progress(),
        )
        self._compilers: dict[str, DeviceCompiler] = {}
        self.kernels = {"_XlaCompile": self._compile, "_XlaRun": _run}

    def cluster(self, graph: Graph, around: Around) -> Graph:
        """A graph with clusters, if it is to have any, also of what the functions that it calls hold."""
        whole = inline_functions(graph)
        assign_devices(whole.nodes, around.devices, is_soft=around.is_soft)  # what functions say of their nodes
        optimized = optimize(whole, self._flags, self._options)
        for note in optimized.marking.notes:
            say_once(note)
        return optimized.graph

    def _compiler(self, spec: str, graph: Graph) -> DeviceCompiler:
        if spec not in self._compilers:
            folder = "" if spec.startswith("reference") else environment_options(os.environ).options.dump_to
            self._compilers[spec] = DeviceCompiler(
                graph, lambda module: compiled(spec, module, folder), self._flags, _say
            )
        self._compilers[spec].add_functions(graph)
        return self._compilers[spec]

    def _compile(self, node: Node, graph: Graph, around: Around) -> Kernel:
        return _Compile(node, self._compiler(around.devices[node.device].cluster_spec, graph))


@cache
def say_what_is_passed_over(flags: str) -> None:
    """Say once what XLA_FLAGS asks for that is not to be had here, and which flags nobody knows."""
    for note in environment_options({_XLA_FLAGS: flags}).notes:
        _say(f"xlabench: {note}")


@cache
def say_once(note: str) -> None:
    """Say what keeps a session from clustering, once in a process, as TensorFlow does."""
    _say(f"xlabench: {note}")


def _say(line: str) -> None:
    """Tell which file was written, where TensorFlow's log goes."""
    print(line, file=sys.stderr)  # noqa: T201 - as its log does


class _Compile:
    """The kernel of `_XlaCompile`."""

    def __init__(self, node: Node, compiler: DeviceCompiler) -> None:
        self._compiler = compiler
        function = node.attributes["function"]
        assert isinstance(function, FunctionReference)
        self._function = function
        self._mode = Mode.STRICT if node.attributes.get("must_compile") is True else Mode.LAZY
        self._constants = len(getattr(node.attributes["Tconstants"], "values", ()))
        self._known: dict[Any, Compiled] = {}
        self._statistics = compiler.statistics(self._function.name)

    def __call__(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """What to run, and whether there is something."""
        key = tuple([_signature(one, is_known=n < self._constants) for n, one in enumerate(inputs)])
        found = self._known.get(key)
        if found is not None:
            self._statistics.executed()
            return (found, self._constants), True
        arguments = [_argument(one) for one in inputs]
        made = self._compiler.compile(self._function, arguments, self._mode)
        if made is None:
            return DEAD_KEY, False
        self._known[key] = made
        return (made, self._constants), True


DEAD_KEY = (None, 0)
"""The key of what was not compiled."""


def _signature(value: Any, *, is_known: bool) -> Any:
    if isinstance(value, Variable):
        held = value.value
        return value, None if held is None else (held.dtype, held.shape)
    return value.shape, value.tobytes() if is_known else None


def _argument(value: Any) -> Any:
    if not isinstance(value, Variable):
        return value
    held = value.value
    return Resource(value.name, None if held is None else shape_of(held))


def _run(_node: Node, _graph: Graph, around: Around) -> Kernel:
    """The kernel of `_XlaRun`."""

    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        executable, constants = inputs[-1]
        arguments: list[Any] = [*[None] * constants, *inputs[:-1]]
        variables = {one.name: one for one in inputs if isinstance(one, Variable)}
        for name, value in executable.lowered.initial.items():
            variables[name] = around.resources.kept(name, value)
        held = {name: variables[name].value for name in executable.lowered.reads}
        results: Sequence[Any]
        results, written = executable(arguments, held)
        for name, value in written.items():
            variables[name].value = value
        return results

    return kernel
