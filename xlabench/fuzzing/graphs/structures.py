"""What of a graph no signature says: functions in branches and loops, variables, dead values, gradients.

Whoever touches a variable waits for those who did so before, or an order that nobody states would decide what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from compiler.tf import BY_NAME, FunctionReference
from xlabench.fuzzing.graphs.drawing import REFUSED, Drawer, dims_of, dtype_of
from xlabench.tensorflow.framework.functions import Traced, all_captures, free_name
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Operation, Tensor
from xlabench.tensorflow.ops import control_flow
from xlabench.tensorflow.training.gradients import gradients

_KEEP_SHAPE = (
    "Neg",
    "Abs",
    "Tanh",
    "Relu",
    "Sigmoid",
    "Square",
    "Identity",
    "AddV2",
    "Mul",
    "Maximum",
    "Minimum",
    "Sub",
)
_MOST_STEPS, _MOST_TRIPS = 3, 3
_CHANGES = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")


class Structures:
    """Draws what is more than one op."""

    def __init__(self, drawer: Drawer) -> None:
        self._drawer = drawer
        self._rng = drawer.rng
        self.variables: list[Variable] = []

    def draw(self) -> None:
        """Add something, unless what was drawn does not go together."""
        with suppress(*REFUSED):
            _KINDS[int(self._rng.integers(len(_KINDS)))](self)

    def branch(self) -> None:
        """`If`: one of two functions."""
        taken = self._drawer.any()
        with self._drawer.graph.as_default():
            made = control_flow.cond(self._truth(), lambda: self._changed([taken]), lambda: self._changed([taken]))
        self._keep(made)

    def loop(self) -> None:
        """`While`: a few trips around a function."""
        taken = self._drawer.any()
        trips = int(self._rng.integers(_MOST_TRIPS, endpoint=True))
        graph = self._drawer.graph
        with graph.as_default():
            first = self._drawer.constant(np.array(0, np.int32))
            made = control_flow.while_loop(
                lambda i, _: self._inside("Less", [i, np.array(trips, np.int32)]),
                lambda i, x: [self._inside("AddV2", [i, np.array(1, np.int32)]), self._changed([x])],
                [first, taken],
            )
        self._keep(made[1])

    def case(self) -> None:
        """`Case`: one of several functions, by a number that may be none of theirs."""
        taken = self._drawer.any()
        graph = self._drawer.graph
        branches = [Traced(lambda: self._changed([taken]), [], graph) for _ in range(int(self._rng.integers(2, 4)))]
        captures = all_captures(*branches)
        references = [self._function(one, captures, "case") for one in branches]
        number = self._drawer.of(lambda name: name == "int32", ())
        types = [BY_NAME[one.dtype.base_dtype.name] for one in branches[0].results]
        inputs = [number, captures]
        self._keep(*self._drawer.create("StatelessCase", inputs, branches=references, Tout=types))

    def call(self) -> None:
        """`PartitionedCall`: a function."""
        taken = [self._drawer.any(), self._drawer.any()]
        traced = Traced(lambda: [self._changed(taken)], [], self._drawer.graph)
        captures = all_captures(traced)
        reference = self._function(traced, captures, "call")
        types = [BY_NAME[one.dtype.base_dtype.name] for one in traced.results]
        self._keep(*self._drawer.create("PartitionedCall", [captures], f=reference, Tout=types))

    def dead(self) -> None:
        """`Switch` and `Merge`: one of two ways is dead."""
        taken = self._drawer.any()
        ways = self._drawer.create("Switch", [taken, self._truth()])
        ends = [self._step([one])[0] for one in ways]
        self._keep(self._drawer.create("Merge", [ends])[0])

    def variable(self) -> None:
        """A variable, or a read or a change of one that is there."""
        if not self.variables or self._rng.random() < 0.4:
            like = self._drawer.any()
            self.variables.append(Variable(self._drawer, like))
        chosen = self.variables[int(self._rng.integers(len(self.variables)))]
        if self._rng.random() < 0.5:
            self._keep(chosen.read())
        else:
            chosen.change(str(self._rng.choice(_CHANGES)))

    def gradient(self) -> None:
        """The gradients of some array to those that are fed."""
        ends = [one for one in self._drawer.pool if one.dtype.base_dtype.name == "float32"]
        fed = [one for one in ends if one.op.type == "Placeholder"]
        if not fed or len(ends) == len(fed):
            return
        end = ends[-1]
        with self._drawer.graph.as_default():
            self._keep(*(one for one in gradients([end], fed[:2]) if isinstance(one, Tensor)))

    def _truth(self) -> Tensor:
        return self._drawer.of(lambda name: name == "bool", ())

    def _keep(self, *made: Any) -> None:
        self._drawer.pool += [one for one in made if isinstance(one, Tensor) and dims_of(one) is not None]

    def _function(self, traced: Traced, captures: Sequence[Tensor], word: str) -> FunctionReference:
        graph = self._drawer.graph
        function = traced.function(free_name(graph, word), captures)
        graph.builder.graph.functions.append(function)
        return FunctionReference(function.name)

    def _changed(self, taken: Sequence[Tensor]) -> Tensor:
        """An array of the type and sizes of the first of those that are taken, within the graph that is being drawn."""
        graph = _current()
        inner = Drawer(graph, self._rng, self._drawer.types, self._drawer.ops, self._drawer.fed)
        own = [one if one.graph is graph else graph.capture(one) for one in taken]
        inner.pool += own
        found = own[0]
        for _ in range(int(self._rng.integers(1, _MOST_STEPS, endpoint=True))):
            found = self._step([found, *own], inner)[0]
        inner.op()
        like = [one for one in inner.pool if _is_like(one, own[0])]
        return like[-1] if len(like) > 1 and self._rng.random() < 0.5 else found

    def _step(self, taken: Sequence[Tensor], inner: Drawer | None = None) -> list[Tensor]:
        """An op that keeps the type and sizes of what it takes."""
        drawer = inner or self._drawer
        allowed = [one for one in _KEEP_SHAPE if one in drawer.ops]
        for _ in range(len(_KEEP_SHAPE)):
            name = str(self._rng.choice(allowed)) if allowed else "Identity"
            takes = [taken[0]] if name not in _BINARY else [taken[0], taken[-1]]
            if len(takes) == 2 and not _is_like(takes[1], takes[0]):
                takes[1] = takes[0]
            with suppress(*REFUSED):  # the record refuses these types
                return drawer.create(name, takes)
        return drawer.create("Identity", [taken[0]])

    def _inside(self, op: str, inputs: Sequence[Any]) -> Tensor:
        graph = _current()
        inner = Drawer(graph, self._rng, self._drawer.types, self._drawer.ops, self._drawer.fed)
        return inner.create(op, [one if isinstance(one, Tensor) else inner.constant(one) for one in inputs])[0]


class Variable:
    """A variable of a graph; who touches it waits for who did before."""

    def __init__(self, drawer: Drawer, like: Tensor) -> None:
        self._drawer = drawer
        self._kind, self.dims = like.dtype.base_dtype.name, dims_of(like) or ()
        name = f"variable_{len(drawer.graph.get_operations())}"
        self.name = name
        self._handle = drawer.create(
            "VarHandleOp", [], dtype=BY_NAME[self._kind], shape=list(self.dims), shared_name=name
        )
        self._last: list[Operation] = []
        self._since: list[Operation] = []

    def read(self) -> Tensor:
        """What it holds now."""
        with self._drawer.graph.as_default(), self._drawer.graph.control_dependencies(self._last):
            made = self._drawer.graph.create(
                "ReadVariableOp", [self._handle[0]], {"dtype": BY_NAME[self._kind]}, "ReadVariableOp"
            )
        self._since.append(made)
        return made.outputs[0]

    def change(self, op: str) -> None:
        """Let it hold something else."""
        if self._kind == "bool":
            op = "AssignVariableOp"
        value = self._drawer.of(lambda name: name == self._kind, self.dims)
        with self._drawer.graph.as_default(), self._drawer.graph.control_dependencies([*self._last, *self._since]):
            made = self._drawer.graph.create(op, [self._handle[0], value], {}, op)
        self._last, self._since = [made], []

    @property
    def dtype(self) -> Any:
        """NumPy's type of what it holds."""
        return dtype_of(self._kind)

    @property
    def last(self) -> Sequence[Operation]:
        """The change that nothing waits for yet."""
        return self._last


def _current() -> Any:
    return get_default_graph()


def _is_like(one: Tensor, other: Tensor) -> bool:
    return dims_of(one) == dims_of(other) and one.dtype.base_dtype == other.dtype.base_dtype


_BINARY = frozenset({"AddV2", "Mul", "Maximum", "Minimum", "Sub"})
_KINDS: Sequence[Callable[[Structures], None]] = (
    Structures.branch,
    Structures.loop,
    Structures.case,
    Structures.call,
    Structures.dead,
    Structures.variable,
    Structures.variable,
    Structures.gradient,
)
KINDS: Mapping[str, Callable[[Structures], None]] = {one.__name__: one for one in _KINDS}
"""What is drawn, by name."""
