"""What may be written behind an instruction's operands, as typed values.

`ATTRIBUTES` gives each attribute name its kind: XLA uses one name for one kind of value on every opcode.  The kinds are
what parser and printer are written against; which opcode takes which names is in the op's record.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from compiler.ir.devices import Sharding
from compiler.ir.shape import Shape


@dataclass(frozen=True, slots=True)
class WindowDimension:
    """One dimension of a window; defaults are what XLA leaves out of the text."""

    size: int = 1
    stride: int = 1
    pad_low: int = 0
    pad_high: int = 0
    lhs_dilate: int = 1
    rhs_dilate: int = 1
    reversal: bool = False


Window = tuple[WindowDimension, ...]


@dataclass(frozen=True, slots=True)
class SliceDimension:
    """`[start:limit:stride]`."""

    start: int
    limit: int
    stride: int = 1


@dataclass(frozen=True, slots=True)
class PaddingDimension:
    """`low_high_interior`."""

    low: int
    high: int
    interior: int = 0


@dataclass(frozen=True, slots=True)
class ConvolutionDimensions:
    """`b01f_01io->b01f`: which dimension of lhs, rhs and output is batch, feature or spatial.

    Spatial tuples list dimension numbers in the order of the spatial labels 0, 1, ...
    """

    input_batch: int
    input_feature: int
    input_spatial: tuple[int, ...]
    kernel_input_feature: int
    kernel_output_feature: int
    kernel_spatial: tuple[int, ...]
    output_batch: int
    output_feature: int
    output_spatial: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ResultAccuracy:
    """The accuracy that a transcendental must have: a mode, or (`mode` empty) a tolerance."""

    mode: str = ""
    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


@dataclass(frozen=True, slots=True)
class Statistics:
    """Named numbers that a profiler left, and which of them to show."""

    shown: int
    values: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class OriginArray:
    """The array of the program as it once was that a leaf stands for; no instruction: not known."""

    instruction: str = ""
    index: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """A tuple tree (nested Python tuples) of `OriginArray`, or None for `[synthetic_call]`."""

    tree: Any


@dataclass(frozen=True, slots=True)
class RecoveryEntry:
    """A way to compute an array that was optimised away again: from which array, by which module (its text)."""

    replaced: OriginArray
    replacing: OriginArray
    module: str | None = None


@dataclass(frozen=True, slots=True)
class Domain:
    """The shardings on both sides of a `domain` instruction."""

    kind: str
    entry: Sharding
    exit: Sharding


@dataclass(frozen=True, slots=True)
class OutputAlias:
    """A part of the output shares its buffer with a part of an operand."""

    output_index: tuple[int, ...]
    operand: int
    operand_index: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ParameterAlias:
    """A part of the program's result may, or must, share its buffer with a part of a parameter."""

    output_index: tuple[int, ...]
    parameter: int
    parameter_index: tuple[int, ...]
    kind: str = "may-alias"


@dataclass(frozen=True, slots=True)
class BufferDonor:
    """A part of a parameter whose buffer the program may overwrite."""

    parameter: int
    parameter_index: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EntryLayout:
    """Shapes with layouts of the entry computation's parameters and result."""

    parameters: tuple[Shape, ...]
    result: Shape


@dataclass(frozen=True, slots=True)
class StackFrames:
    """Tables by which metadata's `stack_frame_id` names a place in the source; rows are (key, number) pairs."""

    file_names: tuple[str, ...] = ()
    function_names: tuple[str, ...] = ()
    file_locations: tuple[tuple[tuple[str, int], ...], ...] = ()
    frames: tuple[tuple[tuple[str, int], ...], ...] = ()


class AttributeKind(enum.Enum):
    """The spelling of an attribute's value, and the Python value that stands for it."""

    INTEGER = "int"
    INTEGERS = "tuple of int"
    BOOLEAN = "bool"
    FLOAT = "float"
    WORD = "str, an identifier of a fixed set"
    WORDS = "tuple of str"
    STRING = "str, quoted"
    COMPUTATION = "Computation"
    COMPUTATIONS = "tuple of Computation, in braces"
    INSTRUCTIONS = "tuple of Instruction, in braces"
    WINDOW = "Window"
    SLICES = "tuple of SliceDimension"
    PADDING = "tuple of PaddingDimension"
    CONVOLUTION = "ConvolutionDimensions"
    SHAPE = "Shape"
    SHAPES = "tuple of Shape, in braces"
    LITERAL = "Literal"
    STRINGS = "tuple of (key, value) pairs of str: frontend_attributes"
    METADATA = "tuple of (key, value) pairs"
    PAIRS = "tuple of tuple of int: {{0,1},{1,0}}"
    BOOLEANS = "tuple of bool, in braces"
    BOOLEAN_OR_BOOLEANS = "bool or tuple of bool"
    SHARDING = "Sharding"
    DEVICE_GROUPS = "DeviceGroups"
    RESULT_ACCURACY = "ResultAccuracy"
    STATISTICS = "Statistics"
    ORIGIN = "Origin"
    RECOVERY_TABLE = "tuple of RecoveryEntry"
    DOMAIN = "Domain"
    OUTPUT_ALIASES = "tuple of OutputAlias"
    PARAMETER_ALIASES = "tuple of ParameterAlias"
    BUFFER_DONORS = "tuple of BufferDonor"
    ENTRY_LAYOUT = "EntryLayout"
    STACK_FRAMES = "StackFrames"
    BRACED_TEXT = "str, braces and what they hold"
    BACKEND_CONFIG = "str: a quoted string, or a JSON dictionary kept as text"


_K = AttributeKind

ATTRIBUTES: dict[str, AttributeKind] = {
    # common to all opcodes
    "sharding": _K.SHARDING,
    "frontend_attributes": _K.STRINGS,
    "metadata": _K.METADATA,
    "backend_config": _K.BACKEND_CONFIG,
    "control-predecessors": _K.INSTRUCTIONS,
    "statistics": _K.STATISTICS,
    "parameter_replication": _K.BOOLEANS,
    "origin": _K.ORIGIN,
    "result_accuracy": _K.RESULT_ACCURACY,
    # data movement
    "iota_dimension": _K.INTEGER,
    "dimensions": _K.INTEGERS,
    "inferred_dimension": _K.INTEGER,
    "slice": _K.SLICES,
    "padding": _K.PADDING,
    "dynamic_slice_sizes": _K.INTEGERS,
    "offset_dims": _K.INTEGERS,
    "collapsed_slice_dims": _K.INTEGERS,
    "start_index_map": _K.INTEGERS,
    "index_vector_dim": _K.INTEGER,
    "slice_sizes": _K.INTEGERS,
    "indices_are_sorted": _K.BOOLEAN,
    "operand_batching_dims": _K.INTEGERS,
    "start_indices_batching_dims": _K.INTEGERS,
    "update_window_dims": _K.INTEGERS,
    "inserted_window_dims": _K.INTEGERS,
    "scatter_dims_to_operand_dims": _K.INTEGERS,
    "unique_indices": _K.BOOLEAN,
    "input_batching_dims": _K.INTEGERS,
    "scatter_indices_batching_dims": _K.INTEGERS,
    "is_stable": _K.BOOLEAN,
    "k": _K.INTEGER,
    "largest": _K.BOOLEAN,
    # elementwise
    "direction": _K.WORD,
    "type": _K.WORD,
    "exponent_bits": _K.INTEGER,
    "mantissa_bits": _K.INTEGER,
    # reductions and windows
    "to_apply": _K.COMPUTATION,
    "num_carries": _K.INTEGER,
    "is_reverse": _K.BOOLEAN,
    "is_associative": _K.BOOLEAN,
    "window": _K.WINDOW,
    "select": _K.COMPUTATION,
    "scatter": _K.COMPUTATION,
    # linear algebra
    "lhs_contracting_dims": _K.INTEGERS,
    "rhs_contracting_dims": _K.INTEGERS,
    "lhs_batch_dims": _K.INTEGERS,
    "rhs_batch_dims": _K.INTEGERS,
    "lhs_ragged_dims": _K.INTEGERS,
    "rhs_group_dims": _K.INTEGERS,
    "operand_precision": _K.WORDS,
    "algorithm": _K.WORD,
    "dim_labels": _K.CONVOLUTION,
    "feature_group_count": _K.INTEGER,
    "batch_group_count": _K.INTEGER,
    "convolution_kind": _K.WORD,
    "sparsity_config": _K.BRACED_TEXT,
    "fft_type": _K.WORD,
    "fft_length": _K.INTEGERS,
    "lower": _K.BOOLEAN,
    "left_side": _K.BOOLEAN,
    "unit_diagonal": _K.BOOLEAN,
    "transpose_a": _K.WORD,
    "epsilon": _K.FLOAT,
    "feature_index": _K.INTEGER,
    # structure and control
    "index": _K.INTEGER,
    "is_composite": _K.BOOLEAN,
    "condition": _K.COMPUTATION,
    "body": _K.COMPUTATION,
    "true_computation": _K.COMPUTATION,
    "false_computation": _K.COMPUTATION,
    "branch_computations": _K.COMPUTATIONS,
    "calls": _K.COMPUTATION,
    "kind": _K.WORD,
    "output_to_operand_aliasing": _K.OUTPUT_ALIASES,
    "custom_call_target": _K.STRING,
    "operand_layout_constraints": _K.SHAPES,
    "custom_call_has_side_effect": _K.BOOLEAN,
    "called_computations": _K.COMPUTATIONS,
    "padding_type": _K.WORD,
    "literal": _K.LITERAL,
    "schedule": _K.WORD,
    "api_version": _K.WORD,
    "domain": _K.DOMAIN,
    "async_execution_thread": _K.STRING,
    "cross_program_prefetch_index": _K.INTEGER,
    # collectives
    "replica_groups": _K.DEVICE_GROUPS,
    "channel_id": _K.INTEGER,
    "constrain_layout": _K.BOOLEAN,
    "use_global_device_ids": _K.BOOLEAN,
    "mode": _K.WORD,
    "has_dynamic_root": _K.BOOLEAN,
    "source_target_pairs": _K.PAIRS,
    "is_host_transfer": _K.BOOLEAN,
    # host and random numbers
    "infeed_config": _K.STRING,
    "outfeed_config": _K.STRING,
    "outfeed_shape": _K.SHAPE,
    "distribution": _K.WORD,
    "delta": _K.INTEGER,
}
"""Every attribute's kind.

`slice_sizes` of collective-permute is a list of lists; the parser reads whichever is written.
"""

MODULE_ATTRIBUTES: dict[str, AttributeKind] = {
    "is_scheduled": _K.BOOLEAN,
    "replica_count": _K.INTEGER,
    "num_partitions": _K.INTEGER,
    "input_output_alias": _K.PARAMETER_ALIASES,
    "buffer_donor": _K.BUFFER_DONORS,
    "alias_passthrough_params": _K.BOOLEAN,
    "entry_computation_layout": _K.ENTRY_LAYOUT,
    "frontend_attributes": _K.STRINGS,
    "debug_attributes": _K.STRINGS,
    "allow_spmd_sharding_propagation_to_parameters": _K.BOOLEAN_OR_BOOLEANS,
    "allow_spmd_sharding_propagation_to_output": _K.BOOLEAN_OR_BOOLEANS,
    "origin_recovery_table": _K.RECOVERY_TABLE,
}
"""What may be written behind a module's name; besides these a module may hold `stack_frames` (StackFrames)."""

OF_ENTRY = frozenset({"entry_computation_layout", "input_output_alias", "buffer_donor"})
"""Those that speak of the entry's parameters and results by number."""

VOCABULARY: dict[str, tuple[str, ...]] = {
    "direction": ("EQ", "NE", "LT", "LE", "GT", "GE"),
    "type": ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"),
    "kind": ("kLoop", "kInput", "kOutput", "kCustom"),
    "fft_type": ("FFT", "IFFT", "RFFT", "IRFFT"),
    "transpose_a": ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT", "TRANSPOSE_INVALID"),
    "distribution": ("rng_uniform", "rng_normal", "rng_invalid"),
    "convolution_kind": ("unset", "fprop", "wgrad", "dgrad"),
    "padding_type": ("PADDING_INVALID", "PADDING_VALID", "PADDING_SAME"),
    "schedule": ("SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"),
    "api_version": (
        "API_VERSION_UNSPECIFIED",
        "API_VERSION_ORIGINAL",
        "API_VERSION_STATUS_RETURNING",
        "API_VERSION_STATUS_RETURNING_UNIFIED",
        "API_VERSION_TYPED_FFI",
    ),
    "mode": ("cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id"),
    "operand_precision": ("default", "high", "highest", "packed_nibble"),
    "algorithm": (
        "rng_default",
        "rng_three_fry",
        "rng_philox",
        "unset",
        "dot_any_f8_any_f8_f32",
        "dot_any_f8_any_f8_f32_fast_accum",
        "dot_any_f8_any_f8_any",
        "dot_any_f8_any_f8_any_fast_accum",
        "dot_f16_f16_f16",
        "dot_f16_f16_f32",
        "dot_bf16_bf16_bf16",
        "dot_bf16_bf16_f32",
        "dot_bf16_bf16_f32_x3",
        "dot_bf16_bf16_f32_x6",
        "dot_bf16_bf16_f32_x9",
        "dot_tf32_tf32_f32",
        "dot_tf32_tf32_f32_x3",
        "dot_f32_f32_f32",
        "dot_f64_f64_f64",
    ),
}
"""The words that an attribute of kind WORD or WORDS may hold."""

COMMON = frozenset(
    {
        "sharding",
        "frontend_attributes",
        "metadata",
        "backend_config",
        "control-predecessors",
        "statistics",
        "parameter_replication",
        "origin",
    }
)
"""Attributes that any opcode takes."""

NOTES = frozenset({"metadata", "statistics", "origin", "frontend_attributes", "sharding", "backend_config"})
"""Attributes that do not change what an instruction computes on one device."""
