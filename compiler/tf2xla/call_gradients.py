"""Gradients of ops that run functions: each function's gradient is a function, which computes what it needs again.

Written where it is called, what a call and its gradient compute alike is one instruction in the end.  Random numbers
would be others the second time, so the call gives those that it draws, and its gradient takes them.  What has effects
would have them again, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from compiler.graph import Attribute, AttributeList, FunctionReference, Node
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.errors import NoGradientError
from compiler.tf2xla.functions import Body, fresh_name, opened, placeholder
from compiler.tf2xla.ops import RECORDS
from compiler.tf2xla.random_numbers import KEEP_GENERATORS
from compiler.tf2xla.record import Trait
from compiler.tf2xla.terms import Built, Gradient, IndexedSlices, Output

Gradients = Callable[[Builder, Sequence[Output], Sequence[Output], Sequence[Output | None]], list[Gradient]]
DRAWS = KEEP_GENERATORS | {
    *("StatefulUniform", "StatefulUniformInt", "StatefulUniformFullInt", "StatefulStandardNormalV2"),
    "StatefulTruncatedNormal",
}
"""Ops that give other numbers each time that they run."""
_HARMLESS = frozenset(
    (
        *("ReadVariableOp", "VarHandleOp", "PartitionedCall", "StatefulPartitionedCall", "If", "Case", "While"),
        "Assert",  # what held once holds again
        *(name for name in RECORDS if name.startswith("TensorArray")),
    )
)
"""Ops that may stand in a function that runs again: with what gradients need of it, which no effects are among."""


@dataclass(frozen=True, slots=True)
class Differentiation:
    """Where gradients of functions are added, and how a graph is differentiated.

    Attributes:
        builder: the graph.
        gradients: gradients of outputs in any graph.
        is_continuous: whether gradients go through an output.
    """

    builder: Builder
    gradients: Gradients
    is_continuous: Callable[[Output], bool]

    def opened(self, function: FunctionReference, inputs: Sequence[Output]) -> Body:
        """A function that may run again.

        Raises:
            NoGradientError: it must not.
        """
        body = opened(self.builder, function.name, inputs, function.attributes)
        for built in body.builder.built.values():
            record = RECORDS.get(built.node.op)
            if record is not None and Trait.STATEFUL in record.traits and built.node.op not in _HARMLESS | DRAWS:
                raise NoGradientError(
                    f"No gradient defined for function {function.name!r}: its node {built.node.name!r} "
                    f"({built.node.op}) has effects, or gives others each time, and would run again"
                )
        return body

    def drawn(self, body: Body) -> list[Output]:
        """What nodes of a body give that draw random numbers, or run functions that do."""
        found = [built for built in body.builder.built.values() if self.draws(built.node)]
        return [one for built in found for one in built.outputs if one.type.element_type is not None]

    def draws(self, node: Node) -> bool:
        """Whether a node gives others each time that it runs."""
        library = {one.name: one for one in self.builder.graph.functions}
        stack, seen = [node], set[str]()
        while stack:
            one = stack.pop()
            if one.op in DRAWS:
                return True
            values = (FunctionReference(one.op), *one.attributes.values())
            called = {each.name for value in values for each in _references(value)} - seen
            seen |= called
            stack += [inner for name in called if name in library for inner in library[name].nodes]
        return False

    def backward(self, body: Body, arrived: Sequence[Output | None]) -> tuple[list[Output], list[Output | None]]:
        """Placeholders for the gradients of a body's results that are there, and the gradients of its arguments."""
        ys = [result for result, one in zip(body.results, arrived, strict=True) if one is not None]
        starts = [
            placeholder(body.builder, f"gradient_{number}", one)
            for number, one in enumerate(arrived)
            if one is not None
        ]
        xs = [one for one in body.arguments if self.is_continuous(one)]
        found = iter(self.gradients(body.builder, ys, xs, starts))
        return starts, [_dense(next(found)) if self.is_continuous(one) else None for one in body.arguments]

    def function(
        self,
        name: str,
        body: Body,
        results: Sequence[Output],
        arguments: Sequence[Output],
        replaced: Mapping[Output, Output] | None = None,
    ) -> str:
        """Add a function to the library; gives its name.

        Args:
            name: wanted for it.
            body: the function's nodes.
            results: what it gives.
            arguments: outputs of the body that are its arguments.
            replaced: outputs of the body that others stand for.
        """
        name = fresh_name(self.builder, name)
        self.builder.graph.functions.append(body.closed(name, results, arguments, replaced))
        return name


def _references(value: Attribute) -> Iterator[FunctionReference]:
    """The functions that an attribute names."""
    for one in (value, *getattr(value, "values", ())):
        if isinstance(one, FunctionReference):
            yield one


def _dense(gradient: Gradient) -> Output | None:
    return gradient.dense() if isinstance(gradient, IndexedSlices) else gradient


def zeros_of(one: Output) -> Output:
    """Zeros as an array, or as what a variable holds."""
    value = one if one.holds is None else one.op("ReadVariableOp", dtype=one.holds)
    return value.op("ZerosLike")


def kinds(outputs: Sequence[Output]) -> AttributeList:
    """Types of outputs as an attribute."""
    return AttributeList("type", tuple(one.type.base for one in outputs))


def through_branches(work: Differentiation, built: Built, arrived: Sequence[Output | None]) -> list[Gradient]:
    """A call, or branches, on gradients: the same op with the gradients of its functions.

    Args:
        work: the differentiation.
        built: a call, or branches.
        arrived: the gradient of each output, None where none came.
    """
    functions, selector = _functions(built)
    inputs = built.inputs[1:] if selector else built.inputs
    bodies = [work.opened(function, inputs) for function in functions]
    arrived = [
        one if work.is_continuous(result) else None for one, result in zip(arrived, bodies[0].results, strict=True)
    ]
    branches = [work.backward(body, arrived) for body in bodies]
    wanted = [n for n in range(len(inputs)) if any(found[n] is not None for _, found in branches)]
    drawn = [work.drawn(body) for body in bodies]
    every = [one for piece in drawn for one in piece]
    kept = _kept(work, built, functions, bodies, every) if every else []
    names, result_kinds = [], AttributeList("type", ())
    for function, body, own, (starts, found) in zip(functions, bodies, drawn, branches, strict=True):
        results = [found[n] or zeros_of(body.arguments[n]) for n in wanted]
        given = [placeholder(body.builder, f"drawn_{n}", one) for n, one in enumerate(every)]
        replaced = {one: there for one, there in zip(every, given, strict=True) if any(one is each for each in own)}
        arguments = [*body.arguments, *given, *starts]
        names.append(work.function(f"{function.name}_grad", replace(body, runs={}), results, arguments, replaced))
        result_kinds = kinds(results)
    given = [*inputs, *kept, *(one for one in arrived if one is not None)]
    outputs = iter(_called(built, names, selector, given, result_kinds).outputs if wanted else ())
    before: list[Gradient] = [None] * len(selector)
    return [*before, *(next(outputs) if n in wanted else None for n in range(len(inputs)))]


def _kept(
    work: Differentiation,
    built: Built,
    functions: Sequence[FunctionReference],
    bodies: Sequence[Body],
    every: Sequence[Output],
) -> list[Output]:
    """What the functions of a node draw, as more outputs of it; a branch that does not run gives zeros for it."""
    if built.node.op not in RECORDS:
        said = "which draws random numbers: call it by PartitionedCall"
        raise NoGradientError(f"No gradient defined for function {built.node.op!r}, {said}")
    names = []
    for function, body in zip(functions, bodies, strict=True):
        own = {id(one) for node in body.builder.built.values() for one in node.outputs}
        more = [one if id(one) in own else _nothing(body, one) for one in every]
        names.append(work.function(f"{function.name}_drawing", body, [*body.results, *more], body.arguments, {}))
    return work.builder.give_more(built, every, _stated(built.node.op, names))


def _nothing(body: Body, like: Output) -> Output:
    """Zeros of the sizes of an output, as far as they are known."""
    sizes = np.array([one or 0 for one in like.shape.dims or ()], np.int32)
    return body.builder.add("Fill", sizes, body.builder.constant(0, like.type.base)).output


def _functions(built: Built) -> tuple[list[FunctionReference], list[Output]]:
    """The functions that a node runs, and what chooses among them."""
    match built.node.op.removeprefix("Stateless"):
        case "If":
            return [built.attribute("then_branch"), built.attribute("else_branch")], [built["cond"]]
        case "Case":
            return list(built.attribute("branches")), [built["branch_index"]]
        case "PartitionedCall" | "StatefulPartitionedCall":
            return [built.attribute("f")], []
        case op:
            return [FunctionReference(op, built.node.attributes)], []


def _called(
    built: Built, names: Sequence[str], selector: Sequence[Output], inputs: Sequence[Output], results: AttributeList
) -> Built:
    op = built.node.op if built.node.op in RECORDS else "PartitionedCall"
    return built.maker.add(op, *selector, list(inputs), Tout=results, **_stated(op, names))


def _stated(op: str, names: Sequence[str]) -> dict[str, Any]:
    """The functions of an op as its attributes."""
    functions = [FunctionReference(name) for name in names]
    if op.endswith("If"):
        return {"then_branch": functions[0], "else_branch": functions[1]}
    return {"branches": AttributeList("func", tuple(functions))} if op.endswith("Case") else {"f": functions[0]}
