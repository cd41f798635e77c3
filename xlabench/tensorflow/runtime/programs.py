"""Kernels that are lowerings: an op's record lowered for the shapes that it meets, and run by its device's engine.

A program is made once for each op, attributes, types, shapes and values of inputs that must be known, and kept.  So op
by op and compiled are the same formulas, and differ in what clustering, fusion and code make of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.tf import RECORDS, ArrayShape, Function, Graph, Node, element_type_of, lower
from xlabench.engines import engine

Array = np.ndarray[Any, Any]
Program = Callable[..., list[Array]]
_ENGINES: dict[str, Any] = {}
_PROGRAMS: dict[Any, Callable[[Sequence[Array]], Sequence[Array]]] = {}


def compiled(spec: str, module: Any) -> Program:
    """A module compiled by the engine of a spec."""
    if spec not in _ENGINES:
        _ENGINES[spec] = engine(spec)
    program: Program = _ENGINES[spec].compile(module)
    return getattr(program, "call", program)  # without the layer that only forwards


class LoweredKernel:
    """The kernel of one node; a program for every signature that it meets."""

    def __init__(self, node: Node, spec: str, functions: Sequence[Function] = ()) -> None:
        self._node = node
        self._spec = spec
        self._functions = functions
        self._constants = _constant_inputs(node)
        self._programs: dict[Any, Callable[[Sequence[Array]], Sequence[Array]]] = {}
        self.is_trivial = node.op in ("Identity", "StopGradient", "PreventGradient", "Snapshot")

    def __call__(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """The node's outputs on inputs."""
        if self.is_trivial:
            return inputs
        key: Any = tuple([one.shape for one in inputs])
        if self._constants:
            key = key, tuple([inputs[number].tobytes() for number in self._constants])
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = self._program(inputs, key)
        return program(inputs)

    def _program(self, inputs: Sequence[Array], key: Any) -> Callable[[Sequence[Array]], Sequence[Array]]:
        attributes = {name: value for name, value in self._node.attributes.items() if not name.startswith("_")}
        try:
            shared = self._spec, self._node.op, tuple(sorted(attributes.items())), tuple(x.dtype for x in inputs), key
            known = _PROGRAMS.get(shared)
        except TypeError:  # functions are not told apart by their names
            return self._lowered(inputs, attributes)
        if known is None:
            known = _PROGRAMS[shared] = self._lowered(inputs, attributes)
        return known

    def _lowered(
        self, inputs: Sequence[Array], attributes: Mapping[str, Any]
    ) -> Callable[[Sequence[Array]], Sequence[Array]]:
        names = [f"input_{number}" for number in range(len(inputs))]
        count = output_count(self._node)
        node = Node(self._node.name, self._node.op, tuple(names), attributes=dict(attributes))
        graph = Graph([*(Node(name, "Placeholder") for name in names), node], list(self._functions))
        feeds = {
            name: value if number in self._constants else ArrayShape(element_type_of(value.dtype), value.shape)
            for number, (name, value) in enumerate(zip(names, inputs, strict=True))
        }
        fetches = [f"{node.name}:{port}" if port else node.name for port in range(count)]
        lowered = lower(graph, feeds, fetches, self._node.op)
        program = compiled(self._spec, lowered.module)
        taken = [names.index(name) for name in lowered.inputs]
        if taken == list(range(len(inputs))):
            return lambda given: program(*given)
        return lambda given: program(*[given[number] for number in taken])


def output_count(node: Node) -> int:
    """How many outputs a node has."""

    def number_of(name: str) -> int | None:
        value = node.attributes.get(name)
        return value if isinstance(value, int) else len(getattr(value, "values", ()))

    return RECORDS[node.op].outputs(number_of) or 0


def _constant_inputs(node: Node) -> tuple[int, ...]:
    """The numbers of the inputs whose values a program depends on."""
    record, found, at = RECORDS[node.op], [], 0
    for port in record.signature.inputs:
        count = 1
        if not port.is_one:
            value = node.attributes.get(port.number or port.type)
            count = value if isinstance(value, int) else len(getattr(value, "values", ()))
        if port.name in record.constants:
            found += range(at, at + count)
        at += count
    return tuple(found)
