"""Functions of a graph's library, built by Python functions: the bodies of branches and loops.

A body is a graph of its own; a tensor of the graph around it that it takes becomes an argument.  Nodes with effects
wait for those before them that touch the same variable, and are run whenever the function is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from compiler.tf import RECORDS, Argument, Built, Function, Output, Trait
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import Graph
from xlabench.tensorflow.framework.structures import flattened, packed
from xlabench.tensorflow.framework.tensor import Operation, Tensor

_READS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp"})


class Body(Graph):
    """The graph of a function."""

    is_function = True

    def __init__(self, outer: Graph) -> None:
        super().__init__()
        self.outer = outer
        self.builder.graph.functions = outer.builder.graph.functions
        self.scopes = outer.scopes
        self.seed = outer.seed
        self._arguments: dict[str, tuple[Tensor | None, Tensor]] = {}

    def own(self, tensor: Tensor) -> Output:
        """The output that a tensor is in this graph: an argument, if it is one of the graph around."""
        if tensor.graph is self:
            return tensor.output
        return self.capture(tensor).output

    def capture(self, tensor: Tensor) -> Tensor:
        """The argument that a tensor of the graph around is."""
        key = f"{id(tensor.graph)}/{tensor.name}"
        if key not in self._arguments:
            self._arguments[key] = tensor, self.argument_like(tensor)
        return self._arguments[key][1]

    def argument_like(self, tensor: Tensor) -> Tensor:
        """A new node that stands for a value."""
        attributes: dict[str, Any] = {"dtype": tensor.dtype.base_dtype.data_type, "shape": tensor.shape.partial}
        made = self.builder.add("Placeholder", name=f"{tensor.op.name.rpartition('/')[2]}_argument", **attributes)
        return self.operation_of(made).outputs[0]

    @property
    def captures(self) -> dict[str, tuple[Tensor, Tensor]]:
        """What it takes of the graph around, and what that is here."""
        return {key: (outer, inner) for key, (outer, inner) in self._arguments.items() if outer is not None}


class Traced:
    """What a Python function built in a body."""

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Tensor], outer: Graph) -> None:
        """Call a function on arguments like these.

        Raises:
            ValueError: it gives nothing.
        """
        self.body = Body(outer)
        with self.body.as_default():
            self.arguments = [self.body.argument_like(one) for one in arguments]
            self.structure = function(*self.arguments)
            leaves = flattened(self.structure)
            self.results = [self._result(one) for one in leaves if not isinstance(one, Operation)]
            self.is_done = [isinstance(one, Operation) for one in leaves]

    def _result(self, value: Any) -> Tensor:
        tensor = convert_to_tensor(value)
        return tensor if tensor.graph is self.body else self.body.capture(tensor)

    @property
    def is_stateful(self) -> bool:
        """Whether it has effects, or gives others each time."""
        return any(_is_stateful(one.built) for one in self.body.get_operations())

    def function(self, name: str, captures: Sequence[Tensor], *, hands_on: bool = False) -> Function:
        """The function, taking arguments and then what is captured (tensors of the graph around).

        Args:
            name: its name.
            captures: what it takes of the graph around.
            hands_on: whether it gives what it captures, too, after its results.
        """
        inner = [self.body.capture(one) for one in captures]
        taken = [*self.arguments, *inner]
        names = {one.op.name: f"arg_{number}" for number, one in enumerate(taken)}
        operations = [one for one in self.body.get_operations() if one.name not in names]
        waits = _waits(operations)
        nodes = [
            replace(
                one.built.node,
                inputs=(
                    *(_spelled(output, names) for output in one.built.inputs),
                    *(text for text in one.built.node.inputs if text.startswith("^") and text[1:] not in names),
                    *(f"^{other}" for other in waits.get(one.name, ())),
                ),
                attributes=dict(one.built.node.attributes),
            )
            for one in operations
        ]
        given = [*self.results, *(inner if hands_on else [])]
        outputs = tuple(Argument(f"out_{number}", one.dtype.base_dtype.data_type) for number, one in enumerate(given))
        effects = [
            one.name for one in operations if _is_stateful(one.built) and one.type not in (*_READS, "VarHandleOp")
        ]
        return Function(
            name,
            tuple(Argument(names[one.op.name], one.dtype.base_dtype.data_type) for one in taken),
            outputs,
            nodes,
            {output.name: _spelled(one.output, names) for output, one in zip(outputs, given, strict=True)},
            {one: one for one in effects},
        )

    def packed(self, values: Sequence[Any]) -> Any:
        """Values in the structure that the function gave; an operation is None there."""
        pending = iter(values)
        return packed(self.structure, [None if done else next(pending) for done in self.is_done])


def _is_stateful(built: Built) -> bool:
    record = RECORDS.get(built.node.op)
    return record is None or Trait.STATEFUL in record.traits


def _waits(operations: Sequence[Operation]) -> Mapping[str, list[str]]:
    """For each node that touches a variable those before it that it must wait for."""
    last_write: dict[str, str] = {}
    reads: dict[str, list[str]] = {}
    found: dict[str, list[str]] = {}
    for one in operations:
        for output in one.built.inputs:
            if str(output.type) != "resource":
                continue
            key = output.name
            before = [last_write[key]] if key in last_write else []
            if one.type in _READS:
                reads.setdefault(key, []).append(one.name)
            else:
                before += reads.pop(key, [])
                last_write[key] = one.name
            found.setdefault(one.name, []).extend(name for name in before if name != one.name)
    return found


def _spelled(output: Output, arguments: Mapping[str, str]) -> str:
    """What nodes of a function call an output."""
    built = output.built
    if built.node.name in arguments:
        return arguments[built.node.name]
    for name, listed in built.gives.items():
        for number, one in enumerate(listed):
            if one.port == output.port:
                return f"{built.node.name}:{name}:{number}"
    raise AssertionError(f"{output.name} is no output of its node")


def free_name(graph: Graph, word: str) -> str:
    """A name that no function of a library has."""
    taken = {one.name for one in graph.builder.graph.functions}
    number = len(taken)
    while f"{word}_{number}" in taken:
        number += 1
    return f"{word}_{number}"


def all_captures(*traced: Traced) -> list[Tensor]:
    """What several functions take of the graph around."""
    return list({key: outer for one in traced for key, (outer, _) in one.body.captures.items()}.values())
