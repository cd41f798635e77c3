"""What `_XlaCompile` and `_XlaRun` mean: executables of clusters, kept by their signatures.

A signature is the cluster's name, the types and sizes of what it takes, the *values* of what must be a compile-time
constant, and which variables it takes, with what they hold.  Whether an executable is made at all says `profiler`, if
the cluster may run op by op too; and a cluster that something has no lowering of runs op by op for ever.  Where it must
be compiled (`Mode.STRICT`), the error is raised.  With `--tf_xla_async_compilation` what may run op by op does so while
a thread compiles it.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from compiler.diagnostics import InputError, UnsupportedError
from compiler.driver import compile as compile_module
from compiler.driver import interpret
from compiler.graph import Attribute, Function, FunctionReference, Graph
from compiler.ir.module import Module
from compiler.ir.shape import ArrayShape
from compiler.ir.types import of_dtype
from compiler.jit.flags import DEFAULTS, Flags
from compiler.jit.hlo_graphs import HloGraphs, Say
from compiler.jit.profiler import Statistics
from compiler.options import CompileOptions
from compiler.tf2xla import Lowered, Resource, known_arguments, lower_function
from compiler.tf2xla.operation import NotConstantError

Array = NDArray[Any]
Run = Callable[..., Sequence[Array]]
"""A compiled module: takes its parameters, gives the leaves of its result."""
Build = Callable[[Module], Run]
"""Compiles a module."""
_AT_ONCE = 10
"""Compilations beside the run that go on at once (TensorFlow, async_compilation)."""
Argument = Array | Resource
"""What a cluster is given: an array, or a variable with what it holds."""


class Mode(enum.Enum):
    """What happens where compiling is not worth it, or not possible."""

    LAZY = "lazy"
    STRICT = "strict"


def on_backend(backend: str = "cpu", options: CompileOptions | None = None) -> Build:
    """Compile for a back end."""
    return lambda module: compile_module(module, backend, options or CompileOptions())


def on_reference() -> Build:
    """Do not compile at all: the reference runs the module."""
    return lambda module: lambda *inputs: interpret(module, *inputs)


@dataclass(frozen=True, slots=True)
class Compiled:
    """An executable of a cluster.

    Attributes:
        lowered: the module, and what its parameters and results are.
        is_new: whether it was compiled just now, and how long that took.
        compile_ns: how long it took to compile.
    """

    lowered: Lowered
    _run: Run
    _argument_numbers: tuple[int, ...]
    is_new: bool
    compile_ns: int

    def __call__(
        self, arguments: Sequence[Argument], variables: Mapping[str, Array] | None = None
    ) -> tuple[list[Array], dict[str, Array]]:
        """Run it.

        Args:
            arguments: what it was compiled for, with any values, but those of constants.
            variables: what the variables hold that the module reads.

        Returns:
            The results of the cluster, and what variables hold afterwards, by their names.
        """
        held = variables or {}
        missing = [name for name in self.lowered.reads if name not in held]
        if missing:
            raise InputError(f"variable {missing[0]!r} is read, and no value is given for it")
        given = [arguments[number] for number in self._argument_numbers]
        results = list(self._run(*given, *(held[name] for name in self.lowered.reads)))
        count = len(self.lowered.outputs)
        return results[:count], dict(zip(self.lowered.writes, results[count:], strict=True))


@dataclass(slots=True)
class _Entry:
    """A signature: how often it was asked for, what compiles it beside the run, and what came of it."""

    requests: int = 0
    pending: Future[Compiled] | None = None
    compiled: Compiled | None = None
    error: Exception | None = None


@dataclass(slots=True)
class _Cluster:
    """A function and what happened to it."""

    known: frozenset[int]
    statistics: Statistics = field(default_factory=Statistics)
    unsupported: UnsupportedError | None = None


class DeviceCompiler:
    """The executables of one device.

    Attributes:
        build: how modules are compiled.
    """

    def __init__(
        self, graph: Graph, build: Build | None = None, flags: Flags = DEFAULTS, say: Say = lambda _: None
    ) -> None:
        """Compile functions of a graph's library.

        Args:
            graph: whose functions are known.
            build: how modules are compiled; for the CPU unless something else is given.
            flags: of these, whether compilation is deferred, and which modules are drawn.
            say: hears which files were written.

        Raises:
            InputError: a flag makes no sense.
        """
        self.build = build or on_backend()
        self._graphs = HloGraphs(flags, say)
        self._functions: dict[str, Function] = {}
        self._flags = flags
        self._entries: dict[tuple[object, ...], _Entry] = {}
        self._clusters: dict[str, _Cluster] = {}
        self._beside = ThreadPoolExecutor(_AT_ONCE)  # has no threads before there is work
        self.add_functions(graph)

    def add_functions(self, graph: Graph) -> None:
        """Know the functions of one graph more.

        Raises:
            InputError: another function has the name of one of them, whose executables would be taken for its own.
        """
        for function in graph.functions:
            if self._functions.setdefault(function.name, function) != function:
                said = "let graphs that are compiled together share their Progress, which numbers clusters"
                raise InputError(f"two functions are named {function.name!r}, and are not alike: {said}")

    def statistics(self, function: str) -> Statistics:
        """What happened to a cluster, or function."""
        return self._cluster(function).statistics

    def unsupported(self, function: str) -> UnsupportedError | None:
        """Why a cluster runs op by op for ever; None if it does not."""
        return self._cluster(function).unsupported

    def compile(
        self,
        function: str | FunctionReference,
        arguments: Sequence[Argument],
        mode: Mode = Mode.LAZY,
        variables: Mapping[str, ArrayShape] | None = None,
    ) -> Compiled | None:
        """An executable for a function on arguments, or None where it is to run op by op.

        Args:
            function: the function, with attributes where it has any.
            arguments: in order; of arrays that are no constants only types and sizes matter.
            mode: whether it may run op by op.
            variables: the variables that have values, with types and sizes; None where all have those that they are
                declared with.

        Raises:
            InputError: the function makes no sense on these arguments.
            UnsupportedError: in strict mode, something has no lowering.
        """
        reference = FunctionReference(function) if isinstance(function, str) else function
        cluster = self._cluster(reference.name)
        if mode is Mode.LAZY and (cluster.unsupported is not None or self._flags.always_defer_compilation):
            return None
        cluster.statistics.executed()
        entry = self._entries.setdefault(self._signature(reference, cluster, arguments, variables), _Entry())
        entry.requests += 1
        if entry.error is not None:
            raise entry.error
        if entry.compiled is not None:
            return replace(entry.compiled, is_new=False)
        if mode is Mode.LAZY and not cluster.statistics.pays(entry.requests):
            return None
        try:
            feeds = [_feed(argument, is_known=number in cluster.known) for number, argument in enumerate(arguments)]
            entry.compiled = self._made(entry, mode, lambda: self._compiled(reference, cluster, feeds, variables))
        except UnsupportedError as error:
            if mode is Mode.STRICT:
                raise
            cluster.unsupported = error
            return None
        except InputError as error:
            entry.error = error
            raise
        return entry.compiled

    def _made(self, entry: _Entry, mode: Mode, work: Callable[[], Compiled]) -> Compiled | None:
        """What comes of compiling, None while it goes on beside the run."""
        if mode is Mode.STRICT or not self._flags.async_compilation:
            return work()
        entry.pending = entry.pending or self._beside.submit(work)
        return entry.pending.result() if entry.pending.done() else None

    def _cluster(self, name: str) -> _Cluster:
        if name not in self._clusters:
            self._clusters[name] = _Cluster(known_arguments(self._graph(), name))
        return self._clusters[name]

    def _graph(self) -> Graph:
        return Graph([], [*self._functions.values()])

    def _signature(
        self,
        reference: FunctionReference,
        cluster: _Cluster,
        arguments: Sequence[Argument],
        variables: Mapping[str, ArrayShape] | None,
    ) -> tuple[object, ...]:
        described: list[object] = []
        for number, argument in enumerate(arguments):
            if isinstance(argument, Resource):
                described.append((argument.name, argument.shape))
            else:
                value = argument.tobytes() if number in cluster.known else None
                described.append((argument.dtype, argument.shape, value))
        attributes = tuple(sorted(_keys(reference.attributes)))
        held = None if variables is None else tuple(sorted((name, str(shape)) for name, shape in variables.items()))
        return (reference.name, attributes, tuple(described), held)

    def _compiled(
        self,
        reference: FunctionReference,
        cluster: _Cluster,
        feeds: Sequence[ArrayShape | Resource | Array],
        variables: Mapping[str, ArrayShape] | None,
    ) -> Compiled:
        start = time.perf_counter_ns()
        try:
            lowered = lower_function(self._graph(), reference.name, feeds, variables, is_bounded=True)
        except NotConstantError as error:
            reason = f"a size in it depends on a value that it computes: {error}"
            raise UnsupportedError(f"cluster {reference.name}", "the lowering to HLO", reason) from error
        self._graphs.draw(lowered.module)
        run = self.build(lowered.module)
        duration = time.perf_counter_ns() - start
        cluster.statistics.compiled(duration)
        names = [argument.name for argument in self._functions[reference.name].inputs]
        numbers = tuple(names.index(name) for name in lowered.inputs)
        return Compiled(lowered, run, numbers, is_new=True, compile_ns=duration)


def _keys(attributes: Mapping[str, Attribute]) -> list[tuple[str, str]]:
    return [(name, repr(value)) for name, value in attributes.items()]


def _feed(argument: Argument, *, is_known: bool) -> ArrayShape | Resource | Array:
    """What the lowering is given of an argument; whose memory may be another's when it is compiled beside the run."""
    if isinstance(argument, Resource):
        return argument
    if is_known:
        return argument.copy()
    element_type = of_dtype(argument.dtype)
    if element_type is None:
        raise UnsupportedError(f"an argument of {argument.dtype}", "the lowering to HLO", "HLO has no such type")
    return ArrayShape(element_type, argument.shape)
