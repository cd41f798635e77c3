"""Ops that pass on what they take, and those through which nothing goes."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.diagnostics import InputError
from compiler.tf2xla.gradients.spreading import sizes
from compiler.tf2xla.record import Differentiate, no_gradient, through_functions
from compiler.tf2xla.terms import Built, Gradient, Output


def _same(_node: Built, *gradients: Gradient) -> Sequence[Gradient]:
    return gradients


def _unswitched(node: Built, on_false: Output, on_true: Output) -> Output:
    return node.maker.add("Merge", [on_false, on_true]).output


def _unmerged(node: Built, g: Output, _of_number: Gradient) -> Sequence[Gradient]:
    """To the input that was there, of which the op says the number."""
    return node.maker.add("Switch", g, node["value_index"].op("Equal", 1)).outputs


def _prevented(node: Built, *_gradients: Gradient) -> Gradient:
    message = (node.attribute("message") or b"").decode(errors="replace")
    raise InputError(f"Gradient explicitly disabled. Reason: {message}")


def _left(node: Built, *_gradients: Gradient) -> Gradient:
    raise InputError(f"no gradient goes through {node.node.name!r}, which leaves a cluster: ask for it inside")


def _sharded(node: Built, g: Output) -> Output:
    """On the same devices."""
    return g.op("XlaSharding", **{name: node.attribute(name) for name in ("sharding", "unspecified_dims")})


def _every_axis(x: Output) -> Output:
    return x.built.add("Range", 0, x.op("Rank"), 1)


def _shaped(node: Built, g: Output) -> Output:
    """Back in the sizes of the first input."""
    return g.op("Reshape", sizes(node.inputs[0]))


_CALLS = ("PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "Case", "StatelessCase")
GRADIENTS: dict[str, Differentiate] = {
    **dict.fromkeys((*_CALLS, "While", "StatelessWhile"), through_functions),
    **dict.fromkeys(("Identity", "IdentityN", "PlaceholderWithDefault", "RefIdentity"), _same),
    **dict.fromkeys(("XlaSpmdFullToShardShape", "XlaSpmdShardToFullShape"), _same),
    "CheckNumerics": _same,
    "CheckNumericsV2": _same,
    "XlaSharding": _sharded,
    "Print": lambda _node, g: [g],
    "Switch": _unswitched,
    "Merge": _unmerged,
    "PreventGradient": _prevented,
    "XlaClusterOutput": _left,
    **dict.fromkeys(("Reshape", "ExpandDims", "Squeeze"), _shaped),
    "Fill": lambda _node, g: [None, g.op("Sum", _every_axis(g))],
    **dict.fromkeys(
        (
            *("Const", "StopGradient", "Shape", "ShapeN", "Rank", "Size", "ZerosLike", "OnesLike", "Range", "LinSpace"),
            *("BroadcastGradientArgs", "OneHot", "Assert", "XlaVariadicReduce"),
            *("HashTableV2", "LookupTableFindV2", "LookupTableSizeV2", "InitializeTableV2"),
        ),
        no_gradient,
    ),
}
