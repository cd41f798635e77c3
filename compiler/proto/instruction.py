"""One instruction as an `HloInstructionProto`: where each attribute goes, and as what.

`_PATHS` is the table.  An attribute that has no row is refused by name, so that none is lost in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from compiler.ir.attributes import ATTRIBUTES, AttributeKind, ConvolutionDimensions, Domain, PaddingDimension, Window
from compiler.ir.module import Computation, Instruction
from compiler.ir.sparsity import configured
from compiler.ir.types import ElementType
from compiler.proto.devices import groups_proto, sharding_proto
from compiler.proto.notes import (
    accuracy_proto,
    metadata_proto,
    origin_proto,
    output_aliases,
    statistics_proto,
    strings_proto,
)
from compiler.proto.shape import BY, literal_proto, shape_proto
from compiler.proto.wire import Message


@dataclass(frozen=True, slots=True)
class Identities:
    """The ids of instructions and computations: in a message every name and number is there once in the module."""

    instructions: Mapping[Instruction, tuple[int, str]]
    computations: Mapping[Computation, int]

    def of(self, instruction: Instruction) -> int:
        """The number of an instruction."""
        return self.instructions[instruction][0]


_CALLEES = (
    "to_apply", "calls", "body", "condition", "select", "scatter", "true_computation", "false_computation",
    "branch_computations", "called_computations",
)  # fmt: skip
"""The attributes that name computations, in the order in which XLA lists those that an instruction calls."""


def _within(message: str, names: str) -> dict[str, str]:
    """Attributes that are fields of the same name in a message of the instruction."""
    return {name: f"{message}.{name}" for name in names.split()}


_DOT = {
    f"{side}_{what}_dims": f"dot_dimension_numbers.{side}_{what}_dimensions"
    for side in ("lhs", "rhs")
    for what in ("contracting", "batch")
}

_PATHS: Mapping[str, str] = {
    **{
        name: name
        for name in (
            "sharding",
            "frontend_attributes",
            "metadata",
            "backend_config",
            "result_accuracy",
            "dimensions",
            "dynamic_slice_sizes",
            "indices_are_sorted",
            "unique_indices",
            "is_stable",
            "k",
            "largest",
            "exponent_bits",
            "mantissa_bits",
            "num_carries",
            "is_reverse",
            "is_associative",
            "window",
            "feature_group_count",
            "batch_group_count",
            "sparsity_config",
            "fft_type",
            "fft_length",
            "epsilon",
            "feature_index",
            "is_composite",
            "custom_call_target",
            "custom_call_has_side_effect",
            "padding_type",
            "literal",
            "async_execution_thread",
            "cross_program_prefetch_index",
            "channel_id",
            "constrain_layout",
            "use_global_device_ids",
            "source_target_pairs",
            "is_host_transfer",
            "infeed_config",
            "outfeed_config",
            "outfeed_shape",
            "distribution",
            "delta",
            "parameter_number",
        )
    },
    **_within(
        "gather_dimension_numbers",
        "offset_dims collapsed_slice_dims start_index_map index_vector_dim operand_batching_dims"
        " start_indices_batching_dims",
    ),
    **_within(
        "scatter_dimension_numbers",
        "update_window_dims inserted_window_dims scatter_dims_to_operand_dims input_batching_dims"
        " scatter_indices_batching_dims",
    ),
    **_within("triangular_solve_options", "left_side lower unit_diagonal transpose_a"),
    **_DOT,
    "lhs_ragged_dims": "ragged_dot_dimension_numbers.lhs_ragged_dimensions",
    "rhs_group_dims": "ragged_dot_dimension_numbers.rhs_group_dimensions",
    "operand_precision": "precision_config.operand_precision",
    "algorithm": "precision_config.algorithm",
    "dim_labels": "convolution_dimension_numbers",
    "convolution_kind": "conv_kind",
    "statistics": "statistics_viz",
    "origin": "original_value",
    "parameter_replication": "parameter_replication.replicated_at_leaf_buffers",
    "iota_dimension": "dimensions",
    "inferred_dimension": "dimensions",
    "slice": "slice_dimensions",
    "padding": "padding_config",
    "slice_sizes": "gather_slice_sizes",
    "direction": "comparison_direction",
    "type": "comparison_type",
    "index": "tuple_index",
    "kind": "fusion_kind",
    "output_to_operand_aliasing": "output_operand_aliasing",
    "schedule": "custom_call_schedule",
    "api_version": "custom_call_api_version",
}
"""The field of each attribute, within the message before the dot where there is one."""

_RAGGED = {name: f"ragged_dot_dimension_numbers.{path}" for name, path in _DOT.items()}
_OF_OPCODE: Mapping[str, Mapping[str, str]] = {
    "scatter": {"index_vector_dim": "scatter_dimension_numbers.index_vector_dim"},
    "cholesky": {"lower": "cholesky_options.lower"},
    "rng-bit-generator": {"algorithm": "rng_algorithm"},
    "ragged-dot": _RAGGED,
    "collective-permute": {"slice_sizes": "dynamic_slice_sizes"},
    "collective-permute-start": {"slice_sizes": "dynamic_slice_sizes"},
}
"""Fields of attributes that go elsewhere on some opcodes."""


_DEFAULTS: Mapping[str, Message] = {
    "convolution": {"feature_group_count": 1, "batch_group_count": 1},
    "custom-call": {
        "feature_group_count": 1,
        "batch_group_count": 1,
        "custom_call_api_version": "API_VERSION_ORIGINAL",
    },
    "cholesky": {"cholesky_options": {}},
    "dot": {"dot_dimension_numbers": {}},
    "ragged-dot": {"ragged_dot_dimension_numbers": {"dot_dimension_numbers": {}}},
    "reduce-window": {"window": {}},
    "scaled-dot": {"dot_dimension_numbers": {}},
    "scan": {"is_associative": "TRI_STATE_FALSE"},
    "select-and-scatter": {"window": {}},
    "topk": {"largest": True},
    "triangular-solve": {"triangular_solve_options": {}},
}
"""What the text means where it says nothing, and a field that is missing does not."""


def _window_proto(window: Window) -> Message:
    dimensions = [
        {
            "size": d.size,
            "stride": d.stride,
            "padding_low": d.pad_low,
            "padding_high": d.pad_high,
            "window_dilation": d.rhs_dilate,
            "base_dilation": d.lhs_dilate,
            "window_reversal": d.reversal,
        }
        for d in window
    ]
    return {"dimensions": dimensions}


def _padding_proto(padding: tuple[PaddingDimension, ...]) -> Message:
    dimensions = [
        {"edge_padding_low": d.low, "edge_padding_high": d.high, "interior_padding": d.interior} for d in padding
    ]
    return {"dimensions": dimensions}


def _convolution_proto(value: ConvolutionDimensions) -> Message:
    fields = {f"{name}_dimension": getattr(value, name) for name in _CONVOLUTION}
    return fields | {f"{name}_spatial_dimensions": getattr(value, f"{name}_spatial") for name in _ARRAYS}


_ARRAYS = ("input", "kernel", "output")
_CONVOLUTION = (
    "input_batch", "input_feature", "kernel_input_feature", "kernel_output_feature", "output_batch", "output_feature",
)  # fmt: skip


def _sparsity_proto(value: str) -> Message:
    names = ("num_non_zero", "block_size", "dimension", "stride")
    return {side: dict(zip(names, numbers, strict=True)) for side, numbers in configured(value).items()}


def _flat(values: tuple[Any, ...]) -> list[int]:
    return [number for value in values for number in (value if isinstance(value, tuple) else (value,))]


_K = AttributeKind
_OF_KIND: Mapping[AttributeKind, Callable[[Any], Any]] = {
    _K.INTEGERS: _flat,
    _K.SLICES: lambda value: [{"start": d.start, "limit": d.limit, "stride": d.stride} for d in value],
    _K.WINDOW: _window_proto,
    _K.PADDING: _padding_proto,
    _K.CONVOLUTION: _convolution_proto,
    _K.SHAPE: shape_proto,
    _K.LITERAL: literal_proto,
    _K.STRINGS: strings_proto,
    _K.METADATA: metadata_proto,
    _K.PAIRS: lambda value: [{"source": source, "target": target} for source, target in value],
    _K.SHARDING: sharding_proto,
    _K.RESULT_ACCURACY: accuracy_proto,
    _K.STATISTICS: statistics_proto,
    _K.ORIGIN: origin_proto,
    _K.OUTPUT_ALIASES: output_aliases,
    _K.BACKEND_CONFIG: lambda value: value.encode("utf-8", "surrogateescape"),
}
_OF_NAME: Mapping[str, Callable[[Any], Any]] = {
    "iota_dimension": lambda value: [value],
    "inferred_dimension": lambda value: [value],
    "infeed_config": str.encode,
    "outfeed_config": str.encode,
    "is_associative": lambda value: "TRI_STATE_TRUE" if value else "TRI_STATE_FALSE",
    "distribution": str.upper,
    "convolution_kind": lambda value: f"CONVOLUTION_KIND_{value.upper()}",
    "sparsity_config": _sparsity_proto,
    "operand_precision": lambda value: [word.upper() for word in value],
}
"""How values become those of fields, by their kind or by the attribute's name; others stay as they are."""


def instruction_proto(instruction: Instruction, ids: Identities) -> Message:
    """An `HloInstructionProto`.

    Raises:
        UnsupportedError: there is no field for one of its attributes.
    """
    _check(instruction)
    number, name = ids.instructions[instruction]
    message: dict[str, Any] = {
        "name": name,
        "opcode": instruction.opcode,
        "shape": shape_proto(instruction.shape),
        "id": number,
        "operand_ids": [ids.of(operand) for operand in instruction.operands],
        "called_computation_ids": _callees(instruction, ids),
        **_DEFAULTS.get(instruction.opcode, {}),
    }
    for name, value in instruction.attributes.items():
        if name in _WITH_IDS:
            continue
        if name in _SEVERAL:
            message |= _SEVERAL[name](value)
            continue
        path = _OF_OPCODE.get(instruction.opcode, {}).get(name, _PATHS.get(name, ""))
        if not path:
            raise instruction.unsupported(f"its attribute {name} has no field", by=BY)
        _set_field(message, path, _converted(instruction, name, value))
    if instruction.opcode == "compare" and "type" not in instruction.attributes:
        message["comparison_type"] = _comparison_of(instruction.operands[0].array.element_type)
    before = instruction.attributes.get("control-predecessors", ())
    message["control_predecessor_ids"] = [ids.of(other) for other in before]
    return message


def _check(instruction: Instruction) -> None:
    """Refuse what fields could hold, but XLA does not read from them."""
    attributes = instruction.attributes
    if "operand_layout_constraints" in attributes and len(list(instruction.called_computations())) > 1:
        raise instruction.unsupported("XLA reads one computation at most beside operand_layout_constraints", by=BY)
    if "domain" in attributes and attributes["domain"].kind != "sharding":
        raise instruction.unsupported(f"there are no domains of kind {attributes['domain'].kind!r}", by=BY)


def _comparison_of(element_type: ElementType) -> str:
    """How numbers of a type are compared where nothing is said."""
    if element_type.is_float or element_type.is_complex:
        return "FLOAT"
    return "SIGNED" if element_type.is_signed else "UNSIGNED"


_WITH_IDS = frozenset((*_CALLEES, "control-predecessors"))


def _callees(instruction: Instruction, ids: Identities) -> list[int]:
    listed: list[int] = []
    for name in _CALLEES:
        value = instruction.attributes.get(name, ())
        listed += [ids.computations[callee] for callee in ((value,) if isinstance(value, Computation) else value)]
    return listed


def _converted(instruction: Instruction, name: str, value: Any) -> Any:
    if name == "algorithm":
        return value.upper() if instruction.opcode == "rng-bit-generator" else f"ALG_{value.upper()}"
    if name in _OF_NAME:
        return _OF_NAME[name](value)
    convert = _OF_KIND.get(ATTRIBUTES[name]) if name in ATTRIBUTES else None
    return value if convert is None else convert(value)


def _set_field(message: dict[str, Any], path: str, value: Any) -> None:
    """Put a value where a path leads, through messages that are made where they are missing."""
    name, _, rest = path.partition(".")
    if rest:
        message[name] = inner = dict(message.get(name, {}))  # defaults stay as they are
        _set_field(inner, rest, value)
    else:
        message[name] = value


def _domain_fields(value: Domain) -> Message:
    """The fields are named as seen from the operand, the text as seen from the users."""
    return {"domain_entry_sharding": sharding_proto(value.exit), "domain_exit_sharding": sharding_proto(value.entry)}


def _constraint_fields(value: tuple[Any, ...]) -> Message:
    return {"constrain_layout": True, "operand_shapes_with_layout": [shape_proto(shape) for shape in value]}


_SEVERAL: Mapping[str, Callable[[Any], Message]] = {
    "domain": _domain_fields,
    "operand_layout_constraints": _constraint_fields,
    "replica_groups": groups_proto,
}
"""Attributes that become several fields."""
