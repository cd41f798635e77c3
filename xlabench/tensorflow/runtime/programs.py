"""Kernels that are lowerings: an op's record lowered for the shapes that it meets, and run by its device's engine.

A program is made once for each op, attributes, types, shapes and values of inputs that must be known, and kept.  So op
by op and compiled are the same formulas, and differ in what clustering, fusion and code make of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from compiler import UnsupportedError
from compiler.tf import (
    RECORDS,
    ArrayShape,
    Function,
    FunctionReference,
    Graph,
    Node,
    NotConstantError,
    PartialShape,
    Port,
    Record,
    Resource,
    element_type_of,
    lower,
    prepare,
    tensor_of,
)
from xlabench.engines import engine
from xlabench.tensorflow.runtime.resources import Resources, Variable

Array = np.ndarray[Any, Any]
_REFERENCE = "reference"
Program = Callable[..., list[Array]]
_ENGINES: dict[tuple[str, str], Any] = {}
_PROGRAMS: dict[Any, Callable[[Sequence[Array]], Sequence[Array]]] = {}


def compiled(spec: str, module: Any, dump_to: str = "") -> Program:
    """A module compiled by the engine of a spec, which may leave its intermediate forms in a folder.

    Args:
        spec: the engine.
        module: the program.
        dump_to: a folder for the forms of a compilation, empty for none.
    """
    if spec == _REFERENCE:  # small kernels take longer to look at than to run
        return prepare(module)
    if (spec, dump_to) not in _ENGINES:
        _ENGINES[spec, dump_to] = engine(spec, dump_to=dump_to)
    program: Program = _ENGINES[spec, dump_to].compile(module)
    return getattr(program, "call", program)  # without the layer that only forwards


def shape_of(value: Array) -> ArrayShape:
    """Type and sizes of an array.

    Raises:
        UnsupportedError: HLO has no such type.
    """
    element_type = element_type_of(value.dtype)
    if element_type is None:
        raise UnsupportedError(f"an array of {value.dtype}", "the lowering to HLO", "HLO has no such type")
    return ArrayShape(element_type, value.shape)


class LoweredKernel:
    """The kernel of one node; a program for every signature that it meets."""

    def __init__(self, node: Node, spec: str, resources: Resources, functions: Sequence[Function] = ()) -> None:
        self._node = node
        self._spec = spec
        self._resources = resources
        calls = any(isinstance(one, FunctionReference) for one in node.attributes.values())
        self._functions = functions if calls else ()
        self._constants = _inputs_of(node, lambda port, record: port.name in record.constants)
        self._references = _inputs_of(node, lambda port, _: port.is_reference)
        self._variables = self._references + _inputs_of(node, lambda port, _: port.type == "resource")
        self._programs: dict[Any, Callable[[Sequence[Any]], Sequence[Array]]] = {}
        self._passes_on = node.op in _PASS_ON

    def __call__(self, inputs: Sequence[Any]) -> Sequence[Array]:
        """The node's outputs on inputs; of variables, what they hold is taken, and changed."""
        if self._passes_on:
            return inputs
        if self._variables:
            key: Any = tuple([_shape_of(one) for one in inputs])
        else:
            key = tuple([one.shape for one in inputs])
        if self._constants:
            key = key, tuple([inputs[number].tobytes() for number in self._constants])
        program = self._programs.get(key)
        if program is None:
            try:
                program = self._programs[key] = self._program(inputs, key)
            except NotConstantError:
                if not self._knows_more(inputs):
                    raise
                return self(inputs)
        return program(inputs)

    def _knows_more(self, inputs: Sequence[Any]) -> bool:
        """Whether there are more integers whose values can be known: sizes may follow from any, as of `Slice`."""
        before = self._constants
        arrays = (number for number, one in enumerate(inputs) if not isinstance(one, Variable))
        self._constants = tuple(number for number in arrays if inputs[number].dtype.kind in "iu")
        return not set(self._constants) <= set(before)

    def _program(self, inputs: Sequence[Any], key: Any) -> Callable[[Sequence[Any]], Sequence[Array]]:
        attributes = {name: value for name, value in self._node.attributes.items() if not name.startswith("_")}
        if self._functions:  # which other graphs have under the same names
            return self._lowered(inputs, attributes)[0]
        types = tuple(_type_of(one) for one in inputs)
        shared = self._spec, self._node.op, tuple(sorted(attributes.items())), types, key
        known = _PROGRAMS.get(shared)
        if known is None:
            known, is_shared = self._lowered(inputs, attributes)
            if is_shared:
                _PROGRAMS[shared] = known
        return known

    def _lowered(
        self, inputs: Sequence[Any], attributes: Mapping[str, Any]
    ) -> tuple[Callable[[Sequence[Any]], Sequence[Array]], bool]:
        """A program, and whether other nodes may use it: not one that keeps something for this node."""
        names = [f"input_{number}" for number in range(len(inputs))]
        count = 0 if self._references else output_count(self._node)
        node = Node(self._node.name, self._node.op, tuple(names), attributes=dict(attributes))
        known = {names[number]: tensor_of(inputs[number]) for number in self._constants}
        constants = [Node(name, "Const", attributes={"dtype": one.type, "value": one}) for name, one in known.items()]
        variables = [_declared(names[number], inputs[number].value) for number in self._references]
        left_out = {*known, *(one.name for one in variables)}
        feeds = {name: _feed(inputs[number], name) for number, name in enumerate(names) if name not in left_out}
        placeholders = [Node(name, "Placeholder") for name in feeds]
        graph = Graph([*constants, *variables, *placeholders, node], list(self._functions))
        fetches = [f"{node.name}:{port}" if port else node.name for port in range(count)]
        lowered = lower(graph, feeds, fetches or [f"^{node.name}"], self._node.op)
        program = compiled(self._spec, lowered.module)
        taken = [names.index(name) for name in lowered.inputs]
        if lowered.reads or lowered.writes:
            kept = {name: self._resources.kept(name, value) for name, value in lowered.initial.items()}
            numbers = {name: number for number, name in enumerate(names)}
            reads, writes = (
                [kept.get(name, numbers.get(name)) for name in names_] for names_ in (lowered.reads, lowered.writes)
            )
            return lambda given: _changing(program, given, (taken, reads, writes), count), not kept
        if taken == list(range(len(inputs))):
            return lambda given: program(*given), True
        return lambda given: program(*[given[number] for number in taken]), True


def _declared(name: str, value: Array) -> Node:
    """A variable as a reference, which holds values like one."""
    return Node(name, "VariableV2", attributes={"dtype": tensor_of(value).type, "shape": PartialShape(value.shape)})


def _feed(value: Any, name: str) -> Any:
    if isinstance(value, Variable):
        held = value.value
        return Resource(name, None if held is None else shape_of(held))
    return shape_of(value)


_PASS_ON = frozenset({"Identity", "IdentityN", "StopGradient", "PreventGradient", "Snapshot", "PlaceholderWithDefault"})


def _changing(program: Program, given: Sequence[Any], arguments: tuple[list[Any], ...], count: int) -> Sequence[Array]:
    """Run a program that takes what variables hold after its inputs, and gives that after its outputs.

    A variable is the number of an input, or one that is kept for the node.
    """
    taken, reads, writes = arguments
    held = [one if isinstance(one, Variable) else given[one] for one in reads]
    results = program(*[given[number] for number in taken], *[one.value for one in held])
    for target, value in zip(writes, results[count:], strict=True):
        changed = target if isinstance(target, Variable) else given[target]
        changed.value = value
    return results[:count]


def _shape_of(value: Any) -> Any:
    if isinstance(value, Variable):
        return None if value.value is None else (value.value.dtype, value.value.shape)
    return value.shape


def _type_of(value: Any) -> Any:
    return None if isinstance(value, Variable) else value.dtype


def output_count(node: Node, functions: Sequence[Function] = ()) -> int:
    """How many outputs a node has."""

    def number_of(name: str) -> int | None:
        value = node.attributes.get(name)
        return value if isinstance(value, int) else len(getattr(value, "values", ()))

    if node.op in RECORDS:
        return RECORDS[node.op].outputs(number_of) or 0
    called = next((one for one in functions if one.name == node.op), None)
    if called is not None:
        return len(called.outputs)
    return _WITHOUT_RECORD[node.op] if node.op in _WITHOUT_RECORD else number_of("Tresults") or 0


READ = "_ReadReference"
"""The op of a node that stands before one that takes a reference as a value."""
_WITHOUT_RECORD = {"_XlaCompile": 2, "_XlaMerge": 2, READ: 1}
"""How many outputs ops have that clustering and plans make."""


def _inputs_of(node: Node, holds: Callable[[Port, Record], bool]) -> tuple[int, ...]:
    """The numbers of the inputs of which something is true."""
    record, at = RECORDS[node.op], 0
    found: list[int] = []
    for port in record.signature.inputs:
        count = 1
        if not port.is_one:
            value = node.attributes.get(port.number or port.type)
            count = value if isinstance(value, int) else len(getattr(value, "values", ()))
        if holds(port, record):
            found += range(at, at + count)
        at += count
    return tuple(found)
