"""What moves blocks of places one way is differentiated by what moves them the other way."""

from __future__ import annotations

from compiler.tf2xla.record import Differentiate
from compiler.tf2xla.terms import Built, Output


def _back(op: str) -> Differentiate:
    """By the inverse op on the same blocks and edges."""

    def formula(node: Built, g: Output) -> Output:
        stated = {
            name: node.attribute(name) for name in ("block_size", "data_format") if name in node.signature.attributes
        }
        return g.op(op, *node.inputs[1:], **stated)

    return formula


def _reversed(node: Built, g: Output) -> Output:
    return g.op("Reverse", node["dims"])


def _sequences_reversed(node: Built, g: Output) -> Output:
    stated = {name: node.attribute(name) for name in ("seq_dim", "batch_dim")}
    return g.op("ReverseSequence", node["seq_lengths"], **stated)


def _conjugate_transpose(node: Built, g: Output) -> Output:
    return g.op("ConjugateTranspose", node["perm"].op("InvertPermutation"))


GRADIENTS: dict[str, Differentiate] = {
    "SpaceToBatchND": _back("BatchToSpaceND"),
    "BatchToSpaceND": _back("SpaceToBatchND"),
    "SpaceToBatch": _back("BatchToSpace"),
    "BatchToSpace": _back("SpaceToBatch"),
    "SpaceToDepth": _back("DepthToSpace"),
    "DepthToSpace": _back("SpaceToDepth"),
    "Reverse": _reversed,
    "ReverseSequence": _sequences_reversed,
    "ConjugateTranspose": _conjugate_transpose,
}
