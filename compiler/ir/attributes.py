"""What may be written behind an instruction's operands, as typed values.

`ATTRIBUTES` gives each attribute name its kind: XLA uses one name for one kind of value on every opcode.  The kinds are
what parser and printer are written against; which opcode takes which names is in the op's record.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


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


class AttributeKind(enum.Enum):
    """How an attribute's value is spelled, and which Python value stands for it."""

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
    STRUCTURED = "a value of a class of its own, or the text between balanced brackets"
    BACKEND_CONFIG = "str: a quoted string, or a JSON dictionary kept as text"


_K = AttributeKind

ATTRIBUTES: dict[str, AttributeKind] = {
    # common to all opcodes
    "sharding": _K.STRUCTURED,
    "frontend_attributes": _K.STRINGS,
    "metadata": _K.METADATA,
    "backend_config": _K.BACKEND_CONFIG,
    "control-predecessors": _K.INSTRUCTIONS,
    "statistics": _K.STRUCTURED,
    "parameter_replication": _K.STRUCTURED,
    "origin": _K.STRUCTURED,
    "result_accuracy": _K.STRUCTURED,
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
    "is_associative": _K.STRUCTURED,
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
    "sparsity_config": _K.STRUCTURED,
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
    "output_to_operand_aliasing": _K.STRUCTURED,
    "custom_call_target": _K.STRING,
    "operand_layout_constraints": _K.SHAPES,
    "custom_call_has_side_effect": _K.BOOLEAN,
    "called_computations": _K.COMPUTATIONS,
    "padding_type": _K.WORD,
    "literal": _K.LITERAL,
    "schedule": _K.WORD,
    "api_version": _K.WORD,
    "domain": _K.STRUCTURED,
    "async_execution_thread": _K.STRING,
    "cross_program_prefetch_index": _K.INTEGER,
    # collectives
    "replica_groups": _K.STRUCTURED,
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
"""Attributes that do not change what an instruction computes on one device; CSE looks past them."""
