"""IncreaseDynamismForAutoJit: slices whose results have the size of a value, whatever their beginning is.

A `Slice` to the end of a dimension (a size of -1) has a result whose size follows from where it begins.  Instead what
is left is computed on the host, as an int64 like its beginning, and is the slice's size; that must be a compile-time
constant, and so what it is computed of is part of the cluster's signature, or leaves the cluster.  A slice whose
beginning is a constant needs nothing of this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from compiler.graph import BY_NAME, Attribute, AttributeList, DataType, Graph, Node, Tensor, tensor_of
from compiler.graph.names import Names, is_control
from compiler.jit.attributes import CLUSTER, cluster_of
from compiler.jit.devices import device_of
from compiler.jit.options import Options
from compiler.tf2xla import CONSTANT_INPUTS

_INT32, _INT64 = BY_NAME["int32"], BY_NAME["int64"]
_MADE = "static_shaped_slice"


def increase_dynamism(graph: Graph, options: Options) -> bool:
    """Rewrite the slices of clusters; whether there were any."""
    by_name = {node.name: node for node in graph.nodes}
    names = Names(by_name)
    made: list[Node] = []
    successors: dict[str, str] = {}
    for node in graph.nodes:
        sizes = _rewritten_sizes(node, by_name)
        if sizes is not None:
            waits = by_name[_source(node.data_inputs[2])].inputs
            successors[node.name] = _Rewriting(made, node, waits, options, names).run(sizes)
    graph.nodes = [*(node for node in graph.nodes if node.name not in successors), *made]
    for user in graph.nodes if successors else ():
        user.inputs = tuple(_renamed(text, successors) for text in user.inputs)
    return bool(successors)


def _rewritten_sizes(node: Node, by_name: dict[str, Node]) -> Sequence[int] | None:
    """The sizes of a slice that is to be rewritten; None where it stays."""
    if node.op != "Slice" or not cluster_of(node):
        return None
    begin, size = (by_name[_source(text)] for text in node.data_inputs[1:])
    value = size.attributes.get("value")
    if begin.op == "Const" or size.op != "Const" or not isinstance(value, Tensor) or len(value.dims) != 1:
        return None
    sizes = [int(one) for one in value.array()]
    return sizes if all(one >= -1 for one in sizes) else None


@dataclass(slots=True)
class _Rewriting:
    """One slice on its way to a static shape; `waits` is what its size waits for."""

    made: list[Node]
    node: Node
    waits: Sequence[str]
    options: Options
    names: Names

    def run(self, sizes: Sequence[int]) -> str:
        """Make the slice's successor; its name."""
        x, begin, size = self.node.data_inputs
        begin = self._wide(begin, "begin")
        wide = self._left(x, begin, sizes) if any(one < 0 for one in sizes) else self._wide(size, "size")
        attributes: dict[str, Attribute] = {
            "T": self.node.attributes["T"],
            "Index": _INT64,
            CONSTANT_INPUTS: AttributeList("s", (b"size",)),
        }
        control = tuple(text for text in self.node.inputs if is_control(text))
        return self._add(_MADE, "Slice", (x, begin, wide, *control), attributes, device=self.node.device)

    def _wide(self, text: str, name: str) -> str:
        if self.node.attributes["Index"] == _INT64:
            return text
        return self._add(f"{name}_s64", "Cast", (text,), {"SrcT": self.node.attributes["Index"], "DstT": _INT64})

    def _left(self, x: str, begin: str, sizes: Sequence[int]) -> str:
        """The sizes, where one is -1 what is left behind the beginning."""
        kind = self.node.attributes["T"]
        shape = self._add("input_shape", "Shape", (x,), {"T": kind, "out_type": _INT64})
        constants: dict[int, str] = {}
        pieces = []
        for number, size in enumerate(sizes):
            if size >= 0:
                pieces.append(self._constant(size, constants))
                continue
            ends = [
                self._add(
                    f"{name}_{number}",
                    "Slice",
                    (text, self._constant(number, constants), self._constant(1, constants)),
                    {"T": _INT64, "Index": _INT64},
                )
                for name, text in (("begin", begin), ("input_shape", shape))
            ]
            pieces.append(self._add(f"slice_size_{number}", "Sub", (ends[1], ends[0]), {"T": _INT64}))
        if len(pieces) == 1:
            return pieces[0]
        axis = self._add("concat_axis", "Const", self.waits, _stated(np.array(0, np.int32), _INT32))
        listed: dict[str, Attribute] = {"N": len(pieces), "T": _INT64, "Tidx": _INT32}
        return self._add("slice_size", "ConcatV2", (*pieces, axis), listed)

    def _constant(self, value: int, made: dict[int, str]) -> str:
        """A vector of one number, which waits for what the slice's own size waits for."""
        if value not in made:
            made[value] = self._add(f"const_{value}", "Const", self.waits, _stated(np.array([value]), _INT64))
        return made[value]

    def _add(
        self, name: str, op: str, inputs: Sequence[str], attributes: dict[str, Attribute], device: str | None = None
    ) -> str:
        """A node more in the slice's cluster, on the host unless something else is said."""
        host = replace(device_of(self.node.device, self.options.default_device), type="CPU", index="0")
        stated = {**attributes, CLUSTER: self.node.attributes[CLUSTER]}
        made = self.names.free(f"{self.node.name}/{_MADE}/{name}")
        self.made.append(Node(made, op, tuple(inputs), str(host) if device is None else device, stated))
        return made


def _source(text: str) -> str:
    return text.partition(":")[0]


def _stated(value: np.ndarray[Any, Any], kind: DataType) -> dict[str, Attribute]:
    return {"dtype": kind, "value": tensor_of(value)}


def _renamed(text: str, successors: Mapping[str, str]) -> str:
    mark = text[: is_control(text)]
    name, colon, port = text[len(mark) :].partition(":")
    return f"{mark}{successors.get(name, name)}{colon}{port}"
