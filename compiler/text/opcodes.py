"""Which attributes each opcode of HLO takes: XLA's whole list, so that any program can be read.

What an op means is in its record (`compiler.ops`); text needs to read and print the ones that have no record as well.
A name that ends in `*` must be written.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir.attributes import COMMON
from compiler.ops import Trait, having

_ACCURATE = (
    "acos acosh asin asinh atanh cbrt cosine cosh erf exponential exponential-minus-one log log-plus-one logistic "
    "rsqrt sine sinh sqrt tan tanh"
)
_BARE = (
    "abs ceil count-leading-zeros floor imag is-finite negate not popcnt real round-nearest-afz round-nearest-even "
    "sign convert bitcast-convert copy add subtract multiply mulhi divide remainder power maximum minimum and or xor "
    "shift-left shift-right-arithmetic shift-right-logical atan2 complex stochastic-convert add-dependency clamp "
    "select bitcast dynamic-reshape dynamic-update-slice parameter constant tuple opt-barrier after-all "
    "all-gather-done all-reduce-done collective-permute-done copy-done partition-id replica-id"
)
_BATCH_NORM = "epsilon* feature_index*"
_CHANNEL = "channel_id is_host_transfer"
_DOT = "lhs_contracting_dims rhs_contracting_dims lhs_batch_dims rhs_batch_dims operand_precision"
_GATHER = "replica_groups channel_id dimensions* constrain_layout use_global_device_ids"
_REDUCE = "to_apply* replica_groups channel_id constrain_layout use_global_device_ids mode"
_PERMUTE = "source_target_pairs* channel_id slice_sizes"
_ASYNC = "calls async_execution_thread output_to_operand_aliasing"

_TAKEN = {
    **dict.fromkeys(_BARE.split(), ""),
    **dict.fromkeys(_ACCURATE.split(), "result_accuracy"),
    "iota": "iota_dimension*",
    "broadcast": "dimensions",
    "reverse": "dimensions*",
    "transpose": "dimensions*",
    "concatenate": "dimensions*",
    "get-dimension-size": "dimensions*",
    "set-dimension-size": "dimensions*",
    "reshape": "inferred_dimension",
    "slice": "slice*",
    "pad": "padding*",
    "dynamic-slice": "dynamic_slice_sizes*",
    "gather": "offset_dims* collapsed_slice_dims* start_index_map* index_vector_dim* slice_sizes* indices_are_sorted "
    "operand_batching_dims start_indices_batching_dims",
    "scatter": "update_window_dims* inserted_window_dims* scatter_dims_to_operand_dims* index_vector_dim* to_apply* "
    "indices_are_sorted unique_indices input_batching_dims scatter_indices_batching_dims",
    "sort": "dimensions* is_stable to_apply*",
    "topk": "k* largest is_stable",
    "compare": "direction* type",
    "reduce-precision": "exponent_bits* mantissa_bits*",
    "map": "to_apply* dimensions",
    "reduce": "to_apply* dimensions*",
    "scan": "to_apply* dimensions* num_carries* is_reverse is_associative",
    "reduce-window": "window to_apply*",
    "select-and-scatter": "select* scatter* window",
    "dot": f"{_DOT} algorithm",
    "scaled-dot": f"{_DOT} algorithm",
    "ragged-dot": f"{_DOT} lhs_ragged_dims rhs_group_dims",
    "convolution": "window dim_labels* feature_group_count batch_group_count convolution_kind operand_precision "
    "algorithm sparsity_config",
    "fft": "fft_type* fft_length*",
    "cholesky": "lower",
    "triangular-solve": "left_side lower unit_diagonal transpose_a",
    "batch-norm-training": _BATCH_NORM,
    "batch-norm-inference": _BATCH_NORM,
    "batch-norm-grad": _BATCH_NORM,
    "get-tuple-element": "index*",
    "call": "to_apply* is_composite",
    "while": "condition* body*",
    "conditional": "true_computation false_computation branch_computations",
    "fusion": "calls* kind* output_to_operand_aliasing",
    "custom-call": "custom_call_target* window dim_labels feature_group_count batch_group_count "
    "operand_layout_constraints custom_call_has_side_effect to_apply called_computations output_to_operand_aliasing "
    "padding_type literal operand_precision schedule api_version",
    "domain": "domain*",
    "async-start": "calls* async_execution_thread output_to_operand_aliasing",
    "async-update": _ASYNC,
    "async-done": _ASYNC,
    "copy-start": "cross_program_prefetch_index",
    "all-gather": _GATHER,
    "all-gather-start": _GATHER,
    "all-reduce": _REDUCE,
    "all-reduce-start": _REDUCE,
    "reduce-scatter": f"{_REDUCE} dimensions*",
    "all-to-all": "replica_groups channel_id dimensions constrain_layout",
    "ragged-all-to-all": "replica_groups channel_id dimensions",
    "collective-broadcast": "replica_groups channel_id has_dynamic_root",
    "collective-permute": _PERMUTE,
    "collective-permute-start": _PERMUTE,
    "send": _CHANNEL,
    "send-done": _CHANNEL,
    "recv": _CHANNEL,
    "recv-done": _CHANNEL,
    "infeed": "infeed_config",
    "outfeed": "outfeed_config outfeed_shape",
    "rng": "distribution*",
    "rng-bit-generator": "algorithm*",
    "rng-get-and-update-state": "delta*",
}


@dataclass(frozen=True, slots=True)
class Signature:
    """The attributes that an opcode takes, those of all opcodes included, and the ones it must have."""

    allowed: frozenset[str]
    required: tuple[str, ...]


def _signature(taken: str) -> Signature:
    names = taken.split()
    required = tuple(name[:-1] for name in names if name.endswith("*"))
    return Signature(frozenset(name.rstrip("*") for name in names) | COMMON, required)


SIGNATURES: dict[str, Signature] = {opcode: _signature(taken) for opcode, taken in _TAKEN.items()}
"""Every opcode of HLO."""

STATED = having(Trait.STATED_SHAPE)
"""Opcodes whose result shape does not follow from operands and attributes, and so must be written."""

DERIVED = frozenset({"send", "send-done", "recv", "recv-done", "infeed", "outfeed", "after-all", "add-dependency"})
"""Opcodes whose result shape XLA's parser takes from elsewhere than the text, which may state anything."""
