"""The messages of XLA's protocol buffers that are written here: their fields, and the numbers of their enumerations.

XLA keeps modules in `xla/service/hlo.proto` and what they are made of in `xla/xla_data.proto`; the numbers are those of
jaxlib 0.10.2, whose own descriptors the tests hold this table to.  A field reads `name:number:type`: a type is a scalar
of protocol buffers, a message or an enumeration, `*` behind it means any number of values, and `!` a field that is
written even where its value is the default.  Fields that are never written do not stand here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message."""

    number: int
    type: str
    is_repeated: bool
    is_explicit: bool


def _fields(text: str) -> dict[str, Field]:
    rows = (row.split(":") for row in text.split())
    return {name: Field(int(number), kind.rstrip("*!"), "*" in kind, "!" in kind) for name, number, kind in rows}


def _numbers(text: str) -> dict[str, int]:
    return {name: int(number) for name, number in (row.split("=") for row in text.split())}


_ENUMERATIONS = {
    "ConvolutionKind": """
        CONVOLUTION_KIND_UNSET=0 CONVOLUTION_KIND_FPROP=1 CONVOLUTION_KIND_DGRAD=2 CONVOLUTION_KIND_WGRAD=3""",
    "CustomCallApiVersion": """
        API_VERSION_UNSPECIFIED=0 API_VERSION_ORIGINAL=1 API_VERSION_STATUS_RETURNING=2
        API_VERSION_STATUS_RETURNING_UNIFIED=3 API_VERSION_TYPED_FFI=4""",
    "CustomCallSchedule": "SCHEDULE_NONE=0 SCHEDULE_LATEST=1 SCHEDULE_EARLIEST=2",
    "DimLevelType": "DIM_DENSE=0 DIM_COMPRESSED=1 DIM_SINGLETON=2 DIM_LOOSE_COMPRESSED=3",
    "FftType": "FFT=0 IFFT=1 RFFT=2 IRFFT=3",
    "Kind": "UNDEFINED_ALIAS=0 MAY_ALIAS=1 MUST_ALIAS=2",
    "OpSharding.ShardGroupType": "AS=0 LIKE=1",
    "OpSharding.Type": "REPLICATED=0 MAXIMAL=1 TUPLE=2 OTHER=3 MANUAL=4 UNKNOWN=5 UNREDUCED=6",
    "PaddingType": "PADDING_INVALID=0 PADDING_VALID=1 PADDING_SAME=2",
    "PrecisionConfig.Algorithm": """
        ALG_UNSET=0 ALG_DOT_ANY_F8_ANY_F8_F32=1 ALG_DOT_ANY_F8_ANY_F8_F32_FAST_ACCUM=2 ALG_DOT_F16_F16_F16=3
        ALG_DOT_F16_F16_F32=4 ALG_DOT_BF16_BF16_BF16=5 ALG_DOT_BF16_BF16_F32=6 ALG_DOT_BF16_BF16_F32_X3=7
        ALG_DOT_BF16_BF16_F32_X6=8 ALG_DOT_TF32_TF32_F32=9 ALG_DOT_TF32_TF32_F32_X3=10
        ALG_DOT_F32_F32_F32=11 ALG_DOT_F64_F64_F64=12 ALG_DOT_BF16_BF16_F32_X9=13""",
    "PrecisionConfig.Precision": "DEFAULT=0 HIGH=1 HIGHEST=2",
    "PrimitiveType": """
        PRIMITIVE_TYPE_INVALID=0 PRED=1 S1=30 S2=26 S4=21 S8=2 S16=3 S32=4 S64=5 U1=31 U2=27 U4=22 U8=6
        U16=7 U32=8 U64=9 F16=10 F32=11 BF16=16 F64=12 F8E5M2=19 F8E4M3=28 F8E4M3FN=20 F8E4M3B11FNUZ=23
        F8E3M4=29 F8E5M2FNUZ=24 F8E4M3FNUZ=25 F4E2M1FN=32 F8E8M0FNU=33 F6E3M2FN=35 F6E2M3FN=36 C64=15
        C128=18 TUPLE=13 OPAQUE_TYPE=14 TOKEN=17 BUFFER=34""",
    "ProfileType": "INVALID=0 WINDOW=1 FLAG=2 INTEGER=3",
    "RandomAlgorithm": "RNG_DEFAULT=0 RNG_THREE_FRY=1 RNG_PHILOX=2",
    "RandomDistribution": "RNG_INVALID=0 RNG_UNIFORM=1 RNG_NORMAL=2",
    "ResultAccuracy.Mode": "DEFAULT=0 HIGHEST=1",
    "TriState": "TRI_STATE_UNSPECIFIED=0 TRI_STATE_TRUE=1 TRI_STATE_FALSE=2",
    "TriangularSolveOptions.Transpose": "TRANSPOSE_INVALID=0 NO_TRANSPOSE=1 TRANSPOSE=2 ADJOINT=3",
}
ENUMERATIONS: Mapping[str, Mapping[str, int]] = {name: _numbers(text) for name, text in _ENUMERATIONS.items()}
"""The number of each word of an enumeration."""

_MESSAGES = {
    "HloInstructionProto": """
        name:1:string opcode:2:string shape:3:ShapeProto metadata:7:OpMetadata literal:8:LiteralProto
        parameter_number:9:int64 fusion_kind:11:string tuple_index:13:int64 dimensions:14:int64*
        window:15:Window convolution_dimension_numbers:16:ConvolutionDimensionNumbers
        feature_group_count:50:int64 batch_group_count:58:int64
        slice_dimensions:17:HloInstructionProto.SliceDimensions* exponent_bits:18:int32
        mantissa_bits:19:int32 dynamic_slice_sizes:20:int64* padding_config:21:PaddingConfig
        outfeed_config:22:bytes distribution:23:RandomDistribution epsilon:24:float feature_index:25:int64
        channel_id:26:int64 infeed_config:27:bytes custom_call_target:28:string outfeed_shape:29:ShapeProto
        dot_dimension_numbers:30:DotDimensionNumbers
        ragged_dot_dimension_numbers:90:RaggedDotDimensionNumbers fft_type:31:FftType fft_length:32:int64*
        comparison_direction:63:string gather_dimension_numbers:33:GatherDimensionNumbers
        gather_slice_sizes:34:int64* id:35:int64 operand_ids:36:int64* control_predecessor_ids:37:int64*
        called_computation_ids:38:int64* sharding:40:OpSharding backend_config:43:bytes
        use_global_device_ids:71:bool is_host_transfer:47:bool is_stable:60:bool
        scatter_dimension_numbers:48:ScatterDimensionNumbers precision_config:51:PrecisionConfig
        source_target_pairs:52:SourceTarget* domain_entry_sharding:54:OpSharding
        domain_exit_sharding:55:OpSharding constrain_layout:56:bool
        operand_shapes_with_layout:57:ShapeProto* triangular_solve_options:59:TriangularSolveOptions
        cholesky_options:62:CholeskyOptions parameter_replication:61:ParameterReplication
        custom_call_has_side_effect:65:bool output_operand_aliasing:74:OutputOperandAliasing*
        custom_call_schedule:76:CustomCallSchedule delta:66:int64 indices_are_sorted:67:bool
        frontend_attributes:68:FrontendAttributes unique_indices:69:bool rng_algorithm:70:RandomAlgorithm
        comparison_type:72:string cross_program_prefetch_index:80:int32! padding_type:75:PaddingType
        custom_call_api_version:77:CustomCallApiVersion async_execution_thread:79:string k:81:int64
        largest:85:bool statistics_viz:82:StatisticsViz collective_device_list:87:CollectiveDeviceListProto
        iota_collective_device_list:92:IotaReplicaGroupListProto
        mesh_axes_replica_group_list:93:MeshAxesReplicaGroupListProto original_value:88:OriginalValueProto
        is_composite:89:bool result_accuracy:91:ResultAccuracy is_reverse:94:bool num_carries:95:int64
        is_associative:96:TriState conv_kind:97:ConvolutionKind sparsity_config:98:SparsityConfig""",
    "HloInstructionProto.SliceDimensions": "start:1:int64 limit:2:int64 stride:3:int64",
    "HloComputationProto": """
        name:1:string instructions:2:HloInstructionProto* program_shape:4:ProgramShapeProto id:5:int64
        root_id:6:int64 is_fusion_computation:7:bool execution_thread:8:string""",
    "HloScheduleProto": "sequences:1:HloScheduleProto.SequencesEntry*",
    "HloScheduleProto.InstructionSequence": "instruction_ids:1:int64*",
    "HloScheduleProto.SequencesEntry": "key:1:int64 value:2:HloScheduleProto.InstructionSequence",
    "HloInputOutputAliasProto": "entries:1:HloInputOutputAliasProto.AliasEntryProto*",
    "HloInputOutputAliasProto.AliasEntryProto": """
        output_shape_index:1:int64* parameter_number:2:int64 parameter_shape_index:3:int64* kind:4:Kind""",
    "HloBufferDonorProto": "entries:1:HloBufferDonorProto.BufferDonorEntryProto*",
    "HloBufferDonorProto.BufferDonorEntryProto": "parameter_number:1:int64 parameter_shape_index:2:int64*",
    "StackFrameIndexProto": """
        file_names:1:string* function_names:2:string* file_locations:3:StackFrameIndexProto.FileLocation*
        stack_frames:4:StackFrameIndexProto.StackFrame*""",
    "StackFrameIndexProto.FileLocation": """
        file_name_id:1:int32 function_name_id:2:int32 line:3:int32 end_line:5:int32 column:4:int32
        end_column:6:int32""",
    "StackFrameIndexProto.StackFrame": "file_location_id:1:int32 parent_frame_id:2:int32",
    "HloModuleProto": """
        name:1:string entry_computation_name:2:string entry_computation_id:6:int64
        computations:3:HloComputationProto* host_program_shape:4:ProgramShapeProto id:5:int64
        schedule:7:HloScheduleProto input_output_alias:8:HloInputOutputAliasProto
        buffer_donor:18:HloBufferDonorProto device_assignment:15:DeviceAssignmentProto
        stack_frame_index:17:StackFrameIndexProto frontend_attributes:19:FrontendAttributes
        original_value_recovery_table:20:OriginalValueRecoveryTableProto""",
    "HloProto": "hlo_module:1:HloModuleProto",
    "HloSnapshot": """
        hlo:1:HloProto arguments:2:LiteralProto* result:3:LiteralProto execution_platform:4:string""",
    "HloInputs": "arguments:1:LiteralProto*",
    "HloUnoptimizedSnapshot": "hlo_module:1:HloModuleProto partitions:2:HloInputs*",
    "OriginalValueRecoveryTableProto": "entries:1:OriginalValueRecoveryTableProto.Entry*",
    "OriginalValueRecoveryTableProto.Entry": """
        old_original_array:1:OriginalArrayProto new_original_array:2:OriginalArrayProto
        recovery_module:3:HloModuleProto""",
    "PaddingConfig": "dimensions:1:PaddingConfig.PaddingConfigDimension*",
    "PaddingConfig.PaddingConfigDimension": """
        edge_padding_low:1:int64 edge_padding_high:2:int64 interior_padding:3:int64""",
    "TileProto": "dimensions:1:int64*",
    "SplitConfigProto": "dimension:1:int64 split_indices:2:int64*",
    "LayoutProto": """
        minor_to_major:1:int64* dim_level_types:9:DimLevelType* tiles:6:TileProto*
        tail_padding_alignment_in_elements:16:int64 element_size_in_bits:7:int64 memory_space:8:int64
        index_primitive_type:11:PrimitiveType pointer_primitive_type:12:PrimitiveType
        physical_shape:10:ShapeProto dynamic_shape_metadata_prefix_bytes:15:int64
        split_configs:17:SplitConfigProto*""",
    "ShapeProto": """
        element_type:2:PrimitiveType dimensions:3:int64* is_dynamic_dimension:6:bool*
        tuple_shapes:4:ShapeProto* layout:5:LayoutProto""",
    "ProgramShapeProto": "parameters:1:ShapeProto* result:2:ShapeProto parameter_names:3:string*",
    "Payload": "value:1:bytes",
    "OpMetadata": """
        op_type:1:string op_name:2:string source_file:3:string source_line:4:int32 source_end_line:17:int32
        source_column:18:int32 source_end_column:19:int32 profile_type:5:ProfileType*
        deduplicated_name:12:string stack_frame_id:15:int32 scheduling_name:16:string
        metadata_payload:20:Payload""",
    "DeviceAssignmentProto": """
        replica_count:1:int32 computation_count:2:int32
        computation_devices:3:DeviceAssignmentProto.ComputationDevice*""",
    "DeviceAssignmentProto.ComputationDevice": "replica_device_ids:1:int64*",
    "LiteralProto": """
        shape:1:ShapeProto preds:2:bool* s2s:26:bytes s4s:21:bytes s8s:15:bytes u2s:27:bytes u4s:22:bytes
        u8s:3:bytes s32s:4:int32* s64s:5:int64* u32s:6:uint32* u64s:7:uint64* f32s:8:float* f64s:9:double*
        c64s:12:float* c128s:18:double* tuple_literals:10:LiteralProto* f16s:11:bytes bf16s:13:bytes
        u16s:16:bytes s16s:17:bytes f4e2m1fns:32:bytes f8e3m4s:29:bytes f8e4m3b11fnuzs:23:bytes
        f8e4m3fns:20:bytes f8e4m3fnuzs:25:bytes f8e4m3s:28:bytes f8e5m2fnuzs:24:bytes f8e5m2s:19:bytes
        f8e8m0fnus:33:bytes dynamic_sizes:34:int32*""",
    "WindowDimension": """
        size:1:int64 stride:2:int64 padding_low:3:int64 padding_high:4:int64 window_dilation:5:int64
        base_dilation:6:int64 window_reversal:7:bool""",
    "Window": "dimensions:1:WindowDimension*",
    "GatherDimensionNumbers": """
        offset_dims:1:int64* collapsed_slice_dims:2:int64* start_index_map:3:int64* index_vector_dim:4:int64
        operand_batching_dims:5:int64* start_indices_batching_dims:6:int64*""",
    "ScatterDimensionNumbers": """
        update_window_dims:1:int64* inserted_window_dims:2:int64* scatter_dims_to_operand_dims:3:int64*
        index_vector_dim:4:int64 input_batching_dims:5:int64* scatter_indices_batching_dims:6:int64*""",
    "ConvolutionDimensionNumbers": """
        input_batch_dimension:7:int64 input_feature_dimension:8:int64 input_spatial_dimensions:11:int64*
        kernel_input_feature_dimension:3:int64 kernel_output_feature_dimension:4:int64
        kernel_spatial_dimensions:6:int64* output_batch_dimension:9:int64 output_feature_dimension:10:int64
        output_spatial_dimensions:12:int64*""",
    "SparsityConfig": """
        lhs:1:SparsityConfig.TensorSparsityConfig rhs:2:SparsityConfig.TensorSparsityConfig""",
    "SparsityConfig.TensorSparsityConfig": """
        num_non_zero:1:int64 block_size:2:int64 dimension:3:int64 stride:4:int64""",
    "DotDimensionNumbers": """
        lhs_contracting_dimensions:1:int64* rhs_contracting_dimensions:2:int64*
        lhs_batch_dimensions:3:int64* rhs_batch_dimensions:4:int64*""",
    "RaggedDotDimensionNumbers": """
        dot_dimension_numbers:1:DotDimensionNumbers lhs_ragged_dimensions:2:int64*
        rhs_group_dimensions:3:int64*""",
    "TriangularSolveOptions": """
        left_side:1:bool lower:2:bool unit_diagonal:3:bool transpose_a:4:TriangularSolveOptions.Transpose""",
    "CholeskyOptions": "lower:1:bool",
    "FrontendAttributes": "map:1:FrontendAttributes.MapEntry*",
    "FrontendAttributes.MapEntry": "key:1:string value:2:string",
    "Statistic": "stat_name:1:string stat_val:2:double",
    "StatisticsViz": "stat_index_to_visualize:1:int64 statistics:2:Statistic*",
    "MeshProto": """
        axes:1:MeshProto.MeshAxis* device_ids:2:int64* iota_transform:3:MeshProto.IotaTransform""",
    "MeshProto.MeshAxis": "name:1:string size:2:int64",
    "MeshProto.IotaTransform": "reshape_dims:1:int64* transpose_perm:2:int64*",
    "AxisRefProto": "mesh_axis_index:1:int64 sub_axis_info:2:AxisRefProto.SubAxis",
    "AxisRefProto.SubAxis": "pre_size:1:int64 size:2:int64",
    "NamedShardingProto": """
        mesh:2:MeshProto dim_shardings:3:NamedShardingProto.DimensionSharding*
        replicated_axes:4:AxisRefProto* unreduced_axes:5:AxisRefProto* manual_axes:7:AxisRefProto*
        metadata:6:OpMetadata*""",
    "NamedShardingProto.DimensionSharding": "axes:1:AxisRefProto* is_closed:2:bool",
    "OpSharding": """
        type:1:OpSharding.Type tile_assignment_dimensions:3:int64* tile_assignment_devices:4:int64*
        tuple_shardings:5:OpSharding* replicate_on_last_tile_dim:6:bool metadata:7:OpMetadata*
        last_tile_dims:8:OpSharding.Type* iota_reshape_dims:9:int64* iota_transpose_perm:10:int32*
        is_shard_group:11:bool shard_group_id:12:int64 shard_group_type:13:OpSharding.ShardGroupType
        named_sharding:14:NamedShardingProto""",
    "ReplicaGroup": "replica_ids:1:int64*",
    "MeshAxesReplicaGroupListProto": "mesh:1:MeshProto axes:2:AxisRefProto*",
    "CollectiveDeviceListProto": "replica_groups:1:ReplicaGroup*",
    "IotaReplicaGroupListProto": """
        num_replica_groups:1:int64 num_devices_per_group:2:int64 iota_reshape_dims:3:int64*
        iota_transpose_perm:4:int32*""",
    "SourceTarget": "source:1:int64 target:2:int64",
    "ResultAccuracy": "mode:1:ResultAccuracy.Mode! tolerance:2:ResultAccuracy.Tolerance",
    "ResultAccuracy.Tolerance": "atol:1:double rtol:2:double ulps:3:int64",
    "PrecisionConfig": """
        operand_precision:1:PrecisionConfig.Precision* algorithm:2:PrecisionConfig.Algorithm""",
    "ParameterReplication": "replicated_at_leaf_buffers:1:bool*",
    "OutputOperandAliasing": """
        output_shape_index:1:int64* operand_index:2:int64 operand_shape_index:3:int64*""",
    "OriginalArrayProto": "instruction_name:1:string shape_index:2:int64*",
    "OriginalValueElementProto": "shape_index:1:int64* original_array:2:OriginalArrayProto",
    "OriginalValueProto": "elements:1:OriginalValueElementProto* is_synthetic_call:2:bool",
}
MESSAGES: Mapping[str, Mapping[str, Field]] = {name: _fields(text) for name, text in _MESSAGES.items()}
"""The fields of each message by their names."""
