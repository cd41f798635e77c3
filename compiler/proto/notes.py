"""What is said about instructions, as messages: metadata, statistics, origins, accuracy, aliases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from compiler.ir.attributes import (
    BufferDonor,
    Origin,
    OriginArray,
    OutputAlias,
    ParameterAlias,
    ResultAccuracy,
    StackFrames,
    Statistics,
)
from compiler.proto.schema import ENUMERATIONS
from compiler.proto.wire import Message

_PROFILES = {number: word for word, number in ENUMERATIONS["ProfileType"].items()}
_ALIASES = {"may-alias": "MAY_ALIAS", "must-alias": "MUST_ALIAS"}


def metadata_proto(value: Sequence[tuple[str, Any]]) -> Message:
    """An `OpMetadata`, whose fields have the names that the text gives them."""
    message = dict(value)
    if "profile_type" in message:
        message["profile_type"] = [_PROFILES[number] for number in message["profile_type"]]
    if "metadata_payload" in message:
        message["metadata_payload"] = {"value": message["metadata_payload"].encode()}
    return message


def strings_proto(value: Sequence[tuple[str, str]]) -> Message:
    """A `FrontendAttributes`."""
    return {"map": [{"key": key, "value": text} for key, text in value]}


def statistics_proto(value: Statistics) -> Message:
    """A `StatisticsViz`."""
    listed = [{"stat_name": name, "stat_val": number} for name, number in value.values]
    return {"stat_index_to_visualize": value.shown, "statistics": listed}


def accuracy_proto(value: ResultAccuracy) -> Message:
    """A `ResultAccuracy`."""
    if value.mode:
        return {"mode": value.mode.upper()}
    return {"tolerance": {"atol": value.atol, "rtol": value.rtol, "ulps": value.ulps}}


def origin_proto(value: Origin) -> Message:
    """An `OriginalValueProto`."""
    if value.tree is None:
        return {"is_synthetic_call": True}
    elements = []
    for index, leaf in _leaves(value.tree, ()):
        element: dict[str, Any] = {"shape_index": index}
        if leaf is not None and leaf.instruction:
            element["original_array"] = origin_array(leaf)
        elements.append(element)
    return {"elements": elements}


def _leaves(tree: Any, index: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], OriginArray | None]]:
    """The leaves of an origin; an empty tuple is one."""
    if not isinstance(tree, tuple):
        yield index, tree
        return
    for number, element in enumerate(tree):
        yield from _leaves(element, (*index, number))


def origin_array(value: OriginArray) -> Message:
    """An `OriginalArrayProto`."""
    return {"instruction_name": value.instruction, "shape_index": value.index}


def output_aliases(value: Sequence[OutputAlias]) -> list[Message]:
    """Each an `OutputOperandAliasing`."""
    return [
        {
            "output_shape_index": alias.output_index,
            "operand_index": alias.operand,
            "operand_shape_index": alias.operand_index,
        }
        for alias in value
    ]


def parameter_aliases(value: Sequence[ParameterAlias]) -> Message:
    """An `HloInputOutputAliasProto`."""
    entries = [
        {
            "output_shape_index": alias.output_index,
            "parameter_number": alias.parameter,
            "parameter_shape_index": alias.parameter_index,
            "kind": _ALIASES[alias.kind],
        }
        for alias in value
    ]
    return {"entries": entries}


def buffer_donors(value: Sequence[BufferDonor]) -> Message:
    """An `HloBufferDonorProto`."""
    return {
        "entries": [
            {"parameter_number": donor.parameter, "parameter_shape_index": donor.parameter_index} for donor in value
        ]
    }


def stack_frames(value: StackFrames) -> Message:
    """A `StackFrameIndexProto`, in which a frame without a parent has 0, where the text counts from 1."""
    frames = [dict(frame) for frame in value.frames]
    return {
        "file_names": value.file_names,
        "function_names": value.function_names,
        "file_locations": list(map(dict, value.file_locations)),
        "stack_frames": [frame | {"parent_frame_id": frame["parent_frame_id"] - 1} for frame in frames],
    }
