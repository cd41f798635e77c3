"""TensorArrays: gradients of elements are elements of another one, which goes on with the flow backwards.

What was read is where gradients are written to, and what was written where they are read.  Gradients that are asked
for twice in one graph must not be added up together, so each asks for a TensorArray of its own scope.
"""

from __future__ import annotations

from functools import partial

from compiler.tf2xla.record import Differentiate, no_gradient
from compiler.tf2xla.terms import Built, Gradient, Output


def _backwards(node: Built, flow: Output) -> tuple[Output, Output]:
    """The TensorArray of gradients, and the flow with which it is asked for."""
    walk = node.maker.scope_name.rpartition(f"{node.node.name}_grad")[0]
    made = node.maker.add("TensorArrayGradV3", node["handle"], flow, source=walk.rstrip("/") or "gradients")
    return made.outputs[0], made.outputs[1]


def _taken(back: str, which: str, node: Built, g: Output) -> list[Gradient]:
    """What was read is written to the gradients, under the same numbers."""
    handle, flow = _backwards(node, node["flow_in"])
    return [None, None, node.add(back, handle, node[which], g, flow)]


def _put(back: str, which: str, node: Built, g: Output) -> list[Gradient]:
    """What was written is read from the gradients, under the same numbers."""
    handle, flow = _backwards(node, g)
    return [None, None, node.add(back, handle, node[which], flow, dtype=node["value"].type.base), g]


def _joined(node: Built, g: Output, _lengths: Gradient) -> list[Gradient]:
    handle, flow = _backwards(node, node["flow_in"])
    return [None, node.add("TensorArraySplitV3", handle, g, node["lengths"], flow)]


def _split(node: Built, g: Output) -> list[Gradient]:
    handle, flow = _backwards(node, g)
    kind = node["value"].type.base
    return [None, node.add("TensorArrayConcatV3", handle, flow, dtype=kind), None, g]


GRADIENTS: dict[str, Differentiate] = {
    "TensorArrayReadV3": partial(_taken, "TensorArrayWriteV3", "index"),
    "TensorArrayWriteV3": partial(_put, "TensorArrayReadV3", "index"),
    "TensorArrayGatherV3": partial(_taken, "TensorArrayScatterV3", "indices"),
    "TensorArrayScatterV3": partial(_put, "TensorArrayGatherV3", "indices"),
    "TensorArrayConcatV3": _joined,
    "TensorArraySplitV3": _split,
    **dict.fromkeys((f"TensorArray{one}V3" for one in ("", "Grad", "Size", "Close")), no_gradient),
}
