"""Gradients of a graph: from the results backwards, each node by its record, as `tf.gradients` adds them to a graph.

What several nodes take has several gradients, which are added up when all are there.  Nothing goes through types that
are not continuous, nor through what is said to stop it.  An op of which TensorFlow knows no gradient is an error only
where a gradient arrives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial

from compiler.diagnostics import InputError
from compiler.graph import BY_NAME, Attribute
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.call_gradients import Differentiation, through_branches
from compiler.tf2xla.errors import NoGradientError
from compiler.tf2xla.loop_gradients import through_loop
from compiler.tf2xla.ops import RECORDS
from compiler.tf2xla.record import no_gradient, through_functions
from compiler.tf2xla.terms import Built, Gradient, IndexedSlices, Output

_CONTINUOUS = frozenset(("float16", "float32", "float64", "bfloat16", "complex64", "complex128", "variant"))


def is_continuous(output: Output) -> bool:
    """Whether gradients go through an output: floats, and variables."""
    return str(output.type.base) in _CONTINUOUS or output.holds is not None


def gradients(  # noqa: PLR0913  # as `tf.gradients` has them
    builder: Builder,
    ys: Sequence[Output],
    xs: Sequence[Output],
    grad_ys: Sequence[Output | None] | None = None,
    stop_gradients: Sequence[Output] = (),
    name: str = "gradients",
    *,
    gated: bool = False,
) -> list[Gradient]:
    """The gradient of the sum of all `ys` to each of `xs`, None where nothing leads from it to them.

    Args:
        builder: the graph that they are in, to which nodes are added.
        ys: what is differentiated.
        xs: what it is differentiated with respect to.
        grad_ys: the gradients that it begins with; ones where they are None.
        stop_gradients: what is taken as constant.
        name: the scope of the new nodes.
        gated: whether all gradients of a node wait for each other, as TensorFlow's optimizers have it.

    Raises:
        NoGradientError: an op on the way has no gradient.
        InputError: `ys` are not continuous.
    """
    with builder.scope(name):
        walk = _Backwards(builder, ys, xs, stop_gradients, gated=gated)
        starts = grad_ys or [None] * len(ys)
        for number, (y, start) in enumerate(zip(ys, starts, strict=True)):
            walk.begin(y, start, f"grad_ys_{number}")
        walk.run()
        return [walk.total(x) for x in xs]


class _Backwards:
    """One walk."""

    def __init__(
        self,
        builder: Builder,
        ys: Sequence[Output],
        xs: Sequence[Output],
        stops: Sequence[Output],
        *,
        gated: bool,
    ) -> None:
        self._builder = builder
        self._scope = builder.scope_name  # of functions, too: gradients of TensorArrays are told apart by it
        self._gated = gated
        self._arrived: dict[Output, list[Output | IndexedSlices]] = {}
        self._totals: dict[Output, Gradient] = {}
        self._between = _between(builder, ys, xs)
        self._stopped = {id(one.built) for one in stops} | {
            id(x.built) for x in xs if not any(id(one.built) in self._between for one in x.built.inputs)
        }
        self._waiting = dict.fromkeys(self._between, 0)
        for built in self._between.values():
            for one in built.inputs:
                if id(one.built) in self._waiting:
                    self._waiting[id(one.built)] += 1
        self._ready = deque(built for key, built in self._between.items() if not self._waiting[key])

    def begin(self, y: Output, start: Output | None, name: str) -> None:
        """The gradient that one result begins with."""
        if not is_continuous(y):
            raise InputError(f"Gradient of {y.name} is asked for, which is {y.type}: only floats have gradients")
        if start is not None and start.type.base != (y.holds or y.type).base:
            raise InputError(f"Gradient type {start.type} generated for tensor {y} does not match its type {y.type}")
        self._arrived.setdefault(y, []).append(self._ones(y, name) if start is None else start)

    def _ones(self, y: Output, name: str) -> Output:
        static = y.shape.static
        shape = y.op("Shape") if static is None else self._builder.constant(static, BY_NAME["int32"], name="Shape")
        with self._builder.scope(
            f"{name}/" if not self._builder.names.scope else f"{self._builder.names.scope}{name}/"
        ):
            one = self._builder.constant(1, y.type.base)
        return self._builder.add("Fill", shape, one, name=name).output

    def run(self) -> None:
        """Every node between results and what they are differentiated by, users first."""
        while self._ready:
            built = self._ready.popleft()
            arrived = [self.total(one) for one in built.outputs]
            if any(one is not None for one in arrived) and id(built) not in self._stopped:
                found = self._through(built, arrived)  # which may let a loop take more
                for source, gradient in zip(built.inputs, found, strict=True):
                    if gradient is not None and is_continuous(source):
                        self._arrived.setdefault(source, []).append(gradient)
            for source in built.inputs:
                self._release(source.built)

    def _release(self, built: Built) -> None:
        key = id(built)
        if key in self._waiting:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                self._ready.append(built)

    def total(self, output: Output) -> Gradient:
        """The sum of what has arrived at an output."""
        if output not in self._totals:
            self._totals[output] = self._sum(self._arrived.get(output, []))
        return self._totals[output]

    def _sum(self, summands: Sequence[Output | IndexedSlices]) -> Gradient:
        if len(summands) <= 1:
            return summands[0] if summands else None
        rows = [one for one in summands if isinstance(one, IndexedSlices)]
        if len(rows) == len(summands):
            values, indices = (
                self._builder.add("ConcatV2", [getattr(one, what) for one in rows], 0).output
                for what in ("values", "indices")
            )
            return IndexedSlices(values, indices, rows[0].sizes)
        return self._builder.add("AddN", [dense(one) for one in summands]).output

    def _through(self, built: Built, arrived: Sequence[Gradient]) -> Sequence[Gradient]:
        """The gradients of a node's inputs."""
        record = RECORDS.get(built.node.op)
        is_called = any(one.name == built.node.op for one in self._builder.graph.functions)
        if record.gradient is None if record is not None else not is_called:
            raise NoGradientError(
                f"No gradient defined for operation '{built.node.name}' (op type: {built.node.op}). "
                "In general every operation must have an associated gradient for correct autodiff"
            )
        if record is not None and record.gradient is no_gradient:
            return [None] * len(built.inputs)
        given: Sequence[Gradient]
        with self._builder.scope(f"{built.node.name}_grad"), self._builder.within(attributes=_inherited(built)):
            given = [
                self._zeros(one) if gradient is None and is_continuous(one) else dense(gradient)
                for one, gradient in zip(built.outputs, arrived, strict=True)
            ]
            if built.node.op in _PASS_ON:
                given = arrived
            found: Gradient | Sequence[Gradient]
            if record is None or record.gradient in (None, through_functions):
                found = self._through_functions(built, [dense(one) for one in given])
            else:
                assert record.gradient is not None
                found = record.gradient(built, *given)
            listed = list(found) if isinstance(found, Sequence) else [found]
            listed += [None] * (len(built.inputs) - len(listed))
            return self._together(listed) if self._gated else listed

    def _through_functions(self, built: Built, arrived: Sequence[Output | None]) -> Sequence[Gradient]:
        work = Differentiation(self._builder, partial(gradients, name=self._scope), is_continuous)
        through = through_loop if built.node.op.endswith("While") else through_branches
        return through(work, built, arrived)

    def _zeros(self, output: Output) -> Output | None:
        return None if output.type.element_type is None else output.op("ZerosLike", name="zeros_like")

    def _together(self, found: Sequence[Gradient]) -> Sequence[Gradient]:
        """Gradients that are there when all are."""
        there = [one for one in found if one is not None]
        if len(there) < 2:
            return found
        with self._builder.scope("tuple"):
            nodes = [(one.values if isinstance(one, IndexedSlices) else one).built.node for one in there]
            group = self._builder.add("NoOp", name="group_deps", control=nodes).node
            return [self._after(one, group) for one in found]

    def _after(self, gradient: Gradient, group: object) -> Gradient:
        if gradient is None:
            return None
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        held = self._builder.add("Identity", values, name="control_dependency", control=[group]).output  # type: ignore[list-item]  # a node
        return IndexedSlices(held, gradient.indices, gradient.sizes) if isinstance(gradient, IndexedSlices) else held


_PASS_ON = frozenset(("ReadVariableOp", "Identity", "RefIdentity"))
"""Ops that hand gradients of rows on as they are."""


def dense(gradient: Gradient) -> Output | None:
    """A gradient as an array."""
    return gradient.dense() if isinstance(gradient, IndexedSlices) else gradient


def _inherited(built: Built) -> Mapping[str, Attribute]:
    """What gradients of a node take over from it: that they are to be compiled, and where."""
    names = ("_XlaCompile", "_XlaScope", "_XlaInternalScope", "_XlaSeparateCompiledGradients")
    return {name: built.node.attributes[name] for name in names if name in built.node.attributes}


def _between(builder: Builder, ys: Sequence[Output], xs: Sequence[Output]) -> dict[int, Built]:
    """The nodes on ways from `xs` to `ys`, the ends included, over outputs that are continuous."""
    reached: set[int] = {id(x.built) for x in xs}
    for built in builder.built.values():  # made after what they take
        if any(id(one.built) in reached and is_continuous(one) for one in built.inputs):
            reached.add(id(built))
    found: dict[int, Built] = {}
    stack = [y.built for y in ys]
    while stack:
        built = stack.pop()
        if id(built) in reached and id(built) not in found:
            found[id(built)] = built
            stack += [one.built for one in built.inputs]
    return found
