"""Functions of the library as graphs that can be added to, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compiler.diagnostics import InputError, UnsupportedError
from compiler.graph import Argument, Attribute, AttributeList, DataType, Function, Node, PartialShape, PlaceholderName
from compiler.graph.names import endpoint, is_control
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.terms import Built, Output


@dataclass(frozen=True, slots=True)
class Body:
    """A function that is open: its nodes in a builder, arguments as placeholders, what it returns."""

    builder: Builder
    arguments: list[Output]
    results: list[Output]
    runs: dict[str, Node]

    def closed(
        self,
        name: str,
        results: Sequence[Output],
        arguments: Sequence[Output] | None = None,
        replaced: Mapping[Output, Output] | None = None,
    ) -> Function:
        """A function of the nodes, with other results, or arguments.

        Args:
            name: what it is called.
            results: what it gives.
            arguments: what it takes, by default what it took.
            replaced: outputs that are arguments in it; where this is said, it has only the nodes that it needs.
        """
        given = list(self.arguments if arguments is None else arguments)
        inputs = tuple(Argument(one.built.node.name, one.type) for one in given)
        taken = {one.built.node.name for one in given}
        outputs = tuple(Argument(f"output_{number}", one.type) for number, one in enumerate(results))
        gone = {one.built.node.name for one in replaced or ()}
        runs = {key: node.name for key, node in self.runs.items() if node.name not in gone}
        known = replaced or {}
        needed = self._needed(results, runs.values(), known) if replaced is not None else set(self.builder.built)
        nodes = [
            _respelled(built, taken, known)
            for name, built in self.builder.built.items()
            if name in needed and name not in taken
        ]
        returns = {one.name: spelled(known.get(r, r), taken) for one, r in zip(outputs, results, strict=True)}
        return Function(name, inputs, outputs, nodes, returns, runs)

    def _needed(self, results: Sequence[Output], runs: Iterable[str], replaced: Mapping[Output, Output]) -> set[str]:
        """The nodes that results, and nodes that are run, need."""
        stack = [*(replaced.get(one, one).built.node.name for one in results), *runs]
        gone = {one.built.node.name for one in replaced}
        needed: set[str] = set()
        while stack:
            name = stack.pop()
            if name in needed:
                continue
            needed.add(name)
            built = self.builder.built[name]
            stack += [replaced.get(one, one).built.node.name for one in built.inputs]
            stack += [text[1:] for text in built.node.inputs if is_control(text) and text[1:] not in gone]
        return needed


def placeholder(builder: Builder, name: str, like: Output) -> Output:
    """An argument that is like an output: a placeholder, which says what a variable holds.

    Args:
        builder: adds the node.
        name: of the node.
        like: the output.
    """
    more: dict[str, Any] = {}
    if like.holds is not None:
        more["_handle_dtypes"] = AttributeList("type", (like.holds,))
        more["_handle_shapes"] = AttributeList("shape", (like.held_shape,))
    return builder.add("Placeholder", name=name, dtype=like.type.base, shape=like.shape, **more).output


def opened(
    builder: Builder, name: str, inputs: Sequence[Output], attributes: Mapping[str, Attribute] | None = None
) -> Body:
    """A function of a builder's library, whose arguments are like these outputs.

    Args:
        builder: whose library has the function.
        name: the function's.
        inputs: what it is called with.
        attributes: of the call, for those that the function leaves open.

    Raises:
        InputError: it is not there, or takes other arguments.
        UnsupportedError: an argument of it is several tensors.
    """
    called = builder.graph.function(name)
    if len(called.inputs) != len(inputs):
        raise InputError(f"function {name!r} takes {len(called.inputs)} arguments, {len(inputs)} are given")
    body = Builder()
    body.graph.functions = builder.graph.functions
    for argument in called.inputs:
        if not argument.is_one:
            raise UnsupportedError(f"function {name!r}", "its gradient", f"{argument.name!r} is several tensors")
    arguments = [
        placeholder(body, f"{argument.name}/", one) for argument, one in zip(called.inputs, inputs, strict=True)
    ]
    pending = {node.name: node for node in called.nodes}
    for start in called.nodes:
        _adopt(body, pending, start, attributes or {})
    results = [_flat(body, called.returns[one.name]) for one in called.outputs]
    runs = {key: body.built[node].node for key, node in called.control_returns.items()}
    return Body(body, arguments, results, runs)


def _adopt(body: Builder, pending: Mapping[str, Node], start: Node, attributes: Mapping[str, Attribute]) -> None:
    """A node, after those that it needs, in the spelling of graphs."""
    stack = [start]
    while stack:
        node = stack[-1]
        needed = (endpoint(text, in_function=True) for text in node.inputs)
        waiting = [one.node for one in needed if one and one.node in pending and one.node not in body.built]
        if waiting and len(stack) <= len(pending):
            stack.append(pending[waiting[0]])
            continue
        stack.pop()
        if node.name in body.built:
            continue
        inputs = tuple(text if is_control(text) else _flat(body, text).text for text in node.inputs)
        bound = {
            key: attributes.get(value.name, value) if isinstance(value, PlaceholderName) else value
            for key, value in node.attributes.items()
        }
        body.adopt(replace(node, inputs=inputs, attributes=bound))


def _flat(body: Builder, text: str) -> Output:
    """The output that an input in a function's spelling names."""
    source = endpoint(text, in_function=True)
    built = body.built.get(source.node) if source else None
    if source is None or built is None:
        raise InputError(f"no node of the function gives {text!r}")
    among = built.gives.get(source.output) if source.output else built.outputs
    if among is None or source.port >= len(among):
        raise InputError(f"{text!r}: {built.node.op} has no such output")
    return among[source.port]


def spelled(output: Output, arguments: set[str]) -> str:
    """An output in the spelling of functions."""
    name = output.built.node.name
    if name in arguments:
        return name
    for port, outputs in output.built.gives.items():
        if output in outputs:
            return f"{name}:{port}:{list(outputs).index(output)}"
    raise AssertionError(f"{output} is no output of its node")


def _respelled(built: Built, arguments: set[str], replaced: Mapping[Output, Output]) -> Node:
    texts = [spelled(replaced.get(one, one), arguments) for one in built.inputs]
    gone = arguments | {one.built.node.name for one in replaced}
    waits = [text for text in built.node.inputs if is_control(text) and text[1:] not in gone]
    return replace(built.node, inputs=(*texts, *waits))


def fresh_name(builder: Builder, name: str) -> str:
    """A name that no function of the library has."""
    taken = {one.name for one in builder.graph.functions}
    number = 0
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def types(outputs: Sequence[Output]) -> tuple[DataType, ...]:
    """The types of outputs, as attributes list them."""
    return tuple(one.type.base for one in outputs)


def shapes(outputs: Sequence[Output]) -> tuple[PartialShape, ...]:
    """The shapes of outputs."""
    return tuple(one.shape for one in outputs)
