"""The messages of TensorFlow's files that are read and written here: fields, and the numbers of enumerations.

TensorFlow keeps them in `tensorflow/core/framework` and `tensorflow/core/protobuf`, that of tfcompile (`Config`) in
`tensorflow/compiler/tf2xla`; the numbers are those of release
2.21.  A field reads `name:number:type`: a type is a scalar of protocol buffers, a message or an enumeration; `*`
behind it means any number of values, `<KEY` a map from keys of that type, and `|GROUP` that at most one field of the
group is there.  Fields that no row names are kept as what they are, numbers and bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.graph.types import WORDS

SCALARS = ("int32", "int64", "uint32", "uint64", "fixed32", "fixed64", "float", "double", "bool", "string", "bytes")
"""The scalar types that occur."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message; `key` is the type of a map's keys, `group` the alternative that the field is one of."""

    name: str
    number: int
    type: str
    is_repeated: bool
    key: str
    group: str


def _field(row: str) -> Field:
    name, number, kind = row.split(":")
    kind, _, group = kind.partition("|")
    kind, _, key = kind.partition("<")
    return Field(name, int(number), kind.rstrip("*"), kind.endswith("*"), key, group)


_MESSAGES = {
    "TensorShapeProto": "dim:2:TensorShapeProto.Dim* unknown_rank:3:bool",
    "TensorShapeProto.Dim": "size:1:int64 name:2:string",
    "ResourceHandleProto": """
        device:1:string container:2:string name:3:string hash_code:4:uint64 maybe_type_name:5:string
        dtypes_and_shapes:6:ResourceHandleProto.DtypeAndShape*""",
    "ResourceHandleProto.DtypeAndShape": "dtype:1:DataType shape:2:TensorShapeProto",
    "VariantTensorDataProto": "type_name:1:string metadata:2:bytes tensors:3:TensorProto*",
    "TensorProto": """
        dtype:1:DataType tensor_shape:2:TensorShapeProto version_number:3:int32 tensor_content:4:bytes
        half_val:13:int32* float_val:5:float* double_val:6:double* int_val:7:int32* string_val:8:bytes*
        scomplex_val:9:float* int64_val:10:int64* bool_val:11:bool* dcomplex_val:12:double*
        resource_handle_val:14:ResourceHandleProto* variant_val:15:VariantTensorDataProto* uint32_val:16:uint32*
        uint64_val:17:uint64* float8_val:18:bytes""",
    "AttrValue": """
        s:2:bytes|value i:3:int64|value f:4:float|value b:5:bool|value type:6:DataType|value
        shape:7:TensorShapeProto|value tensor:8:TensorProto|value list:1:AttrValue.ListValue|value
        func:10:NameAttrList|value placeholder:9:string|value""",
    "AttrValue.ListValue": """
        s:2:bytes* i:3:int64* f:4:float* b:5:bool* type:6:DataType* shape:7:TensorShapeProto* tensor:8:TensorProto*
        func:9:NameAttrList*""",
    "NameAttrList": "name:1:string attr:2:AttrValue<string",
    "FullTypeDef": "type_id:1:FullTypeId args:2:FullTypeDef* s:3:string|attr i:4:int64|attr",
    "NodeDef": """
        name:1:string op:2:string input:3:string* device:4:string attr:5:AttrValue<string
        experimental_debug_info:6:NodeDef.ExperimentalDebugInfo experimental_type:7:FullTypeDef""",
    "NodeDef.ExperimentalDebugInfo": "original_node_names:1:string* original_func_names:2:string*",
    "OpDef": """
        name:1:string input_arg:2:OpDef.ArgDef* output_arg:3:OpDef.ArgDef* control_output:20:string*
        attr:4:OpDef.AttrDef* deprecation:8:OpDeprecation summary:5:string description:6:string
        is_commutative:18:bool is_aggregate:16:bool is_stateful:17:bool allows_uninitialized_input:19:bool
        is_distributed_communication:21:bool""",
    "OpDef.ArgDef": """
        name:1:string description:2:string type:3:DataType type_attr:4:string number_attr:5:string
        type_list_attr:6:string handle_data:7:ResourceHandleProto.DtypeAndShape* is_ref:16:bool
        experimental_full_type:17:FullTypeDef""",
    "OpDef.AttrDef": """
        name:1:string type:2:string default_value:3:AttrValue description:4:string has_minimum:5:bool minimum:6:int64
        allowed_values:7:AttrValue""",
    "OpDeprecation": "version:1:int32 explanation:2:string",
    "FunctionDef": """
        signature:1:OpDef attr:5:AttrValue<string arg_attr:7:FunctionDef.ArgAttrs<uint32
        resource_arg_unique_id:8:uint32<uint32 node_def:3:NodeDef* ret:4:string<string control_ret:6:string<string""",
    "FunctionDef.ArgAttrs": "attr:1:AttrValue<string",
    "GradientDef": "function_name:1:string gradient_func:2:string",
    "RegisteredGradient": "gradient_func:1:string registered_op_type:2:string",
    "FunctionDefLibrary": """
        function:1:FunctionDef* gradient:2:GradientDef* registered_gradients:3:RegisteredGradient*""",
    "VersionDef": "producer:1:int32 min_consumer:2:int32 bad_consumers:3:int32*",
    "GraphDef": """
        node:1:NodeDef* versions:4:VersionDef version:3:int32 library:2:FunctionDefLibrary
        debug_info:5:GraphDebugInfo""",
    "GraphDebugInfo": """
        files:1:string* frames_by_id:4:GraphDebugInfo.FileLineCol<fixed64
        traces_by_id:6:GraphDebugInfo.StackTrace<fixed64 traces:2:GraphDebugInfo.StackTrace<string
        name_to_trace_id:5:fixed64<string""",
    "GraphDebugInfo.FileLineCol": """
        file_index:1:int32|_1 line:2:int32|_2 col:3:int32|_3 func:4:string|_4 code:5:string|_5""",
    "GraphDebugInfo.StackTrace": "file_line_cols:1:GraphDebugInfo.FileLineCol* frame_id:2:fixed64*",
    "TensorInfo": """
        name:1:string|encoding coo_sparse:4:TensorInfo.CooSparse|encoding
        composite_tensor:5:TensorInfo.CompositeTensor|encoding dtype:2:DataType tensor_shape:3:TensorShapeProto""",
    "TensorInfo.CooSparse": """
        values_tensor_name:1:string indices_tensor_name:2:string dense_shape_tensor_name:3:string""",
    "TensorInfo.CompositeTensor": "components:2:TensorInfo*",
    "SignatureDef": """
        inputs:1:TensorInfo<string outputs:2:TensorInfo<string method_name:3:string defaults:4:TensorProto<string""",
    "SaverDef": "filename_tensor_name:1:string save_tensor_name:2:string restore_op_name:3:string",
    "CollectionDef": "node_list:1:CollectionDef.NodeList|kind bytes_list:2:CollectionDef.BytesList|kind",
    "CollectionDef.NodeList": "value:1:string*",
    "CollectionDef.BytesList": "value:1:bytes*",
    "VariableDef": """
        variable_name:1:string initializer_name:2:string snapshot_name:3:string is_resource:5:bool
        initial_value_name:6:string trainable:7:bool""",
    "MetaGraphDef": """
        meta_info_def:1:MetaGraphDef.MetaInfoDef graph_def:2:GraphDef saver_def:3:SaverDef
        collection_def:4:CollectionDef<string
        signature_def:5:SignatureDef<string object_graph_def:7:SavedObjectGraph""",
    "MetaGraphDef.MetaInfoDef": """
        meta_graph_version:1:string tags:4:string* tensorflow_version:5:string tensorflow_git_version:6:string
        function_aliases:8:string<string""",
    "SavedModel": "saved_model_schema_version:1:int64 meta_graphs:2:MetaGraphDef*",
    "SavedObjectGraph": """
        nodes:1:SavedObject* concrete_functions:2:SavedConcreteFunction<string""",
    "SavedObject": """
        children:1:ObjectReference* variable:7:SavedVariable|kind constant:9:SavedConstant|kind
        registered_name:13:string""",
    "ObjectReference": "node_id:1:int32 local_name:2:string",
    "SavedVariable": "dtype:1:DataType shape:2:TensorShapeProto trainable:3:bool name:6:string",
    "SavedConstant": "operation:1:string",
    "SavedConcreteFunction": "bound_inputs:2:int32*",
    "BundleHeaderProto": "num_shards:1:int32 endianness:2:Endianness version:3:VersionDef",
    "BundleEntryProto": """
        dtype:1:DataType shape:2:TensorShapeProto shard_id:3:int32 offset:4:int64 size:5:int64 crc32c:6:fixed32
        slices:7:TensorSliceProto*""",
    "Summary": "value:1:Summary.Value*",
    "Summary.Value": """
        node_name:7:string tag:1:string metadata:9:SummaryMetadata simple_value:2:float|value
        obsolete_old_style_histogram:3:bytes|value image:4:Summary.Image|value histo:5:HistogramProto|value
        audio:6:Summary.Audio|value tensor:8:TensorProto|value""",
    "Summary.Image": "height:1:int32 width:2:int32 colorspace:3:int32 encoded_image_string:4:bytes",
    "Summary.Audio": """
        sample_rate:1:float num_channels:2:int64 length_frames:3:int64 encoded_audio_string:4:bytes
        content_type:5:string""",
    "SummaryMetadata": """
        plugin_data:1:SummaryMetadata.PluginData display_name:2:string summary_description:3:string""",
    "SummaryMetadata.PluginData": "plugin_name:1:string content:2:bytes",
    "HistogramProto": """
        min:1:double max:2:double num:3:double sum:4:double sum_squares:5:double bucket_limit:6:double*
        bucket:7:double*""",
    "Event": """
        wall_time:1:double step:2:int64 file_version:3:string|what graph_def:4:bytes|what summary:5:Summary|what
        tagged_run_metadata:8:TaggedRunMetadata|what meta_graph_def:9:bytes|what""",
    "TaggedRunMetadata": "tag:1:string run_metadata:2:bytes",
    "RunMetadata": "step_stats:1:StepStats",
    "StepStats": "dev_stats:1:DeviceStepStats*",
    "DeviceStepStats": "device:1:string node_stats:2:NodeExecStats*",
    "NodeExecStats": """
        node_name:1:string all_start_micros:2:int64 op_start_rel_micros:3:int64 op_end_rel_micros:4:int64
        all_end_rel_micros:5:int64 memory:6:AllocatorMemoryUsed* output:7:NodeOutput* timeline_label:8:string
        scheduled_micros:9:int64 thread_id:10:uint32 all_start_nanos:13:int64 op_start_rel_nanos:14:int64
        op_end_rel_nanos:15:int64 all_end_rel_nanos:16:int64 scheduled_nanos:17:int64""",
    "AllocatorMemoryUsed": "allocator_name:1:string total_bytes:2:int64 peak_bytes:3:int64 live_bytes:4:int64",
    "NodeOutput": "slot:1:int32 tensor_description:3:TensorDescription",
    "TensorDescription": "dtype:1:DataType shape:2:TensorShapeProto allocation_description:4:AllocationDescription",
    "AllocationDescription": "requested_bytes:1:int64 allocated_bytes:2:int64 allocator_name:3:string",
    "TensorId": "node_name:1:string output_index:2:int64",
    "Feed": "id:1:TensorId shape:2:TensorShapeProto name:3:string type:4:DataType",
    "Fetch": "id:1:TensorId name:2:string shape:3:TensorShapeProto type:4:DataType",
    "Variable": "node_name:1:string name:2:string shape:3:TensorShapeProto type:4:DataType readonly:5:bool",
    "Config": "feed:1:Feed* fetch:2:Fetch* variable:3:Variable*",
    "TensorSliceProto": "extent:1:TensorSliceProto.Extent*",
    "TensorSliceProto.Extent": "start:1:int64 length:2:int64",
}
MESSAGES: Mapping[str, tuple[Field, ...]] = {
    name: tuple(_field(row) for row in text.split()) for name, text in _MESSAGES.items()
}
"""The fields of each message."""

_FULL_TYPES = """
    UNSET=0 VAR=1 ANY=2 PRODUCT=3 NAMED=4 FOR_EACH=20 CALLABLE=100 TENSOR=1000 ARRAY=1001 OPTIONAL=1002 LITERAL=1003
    ENCODED=1004 SHAPE_TENSOR=1005 BOOL=200 UINT8=201 UINT16=202 UINT32=203 UINT64=204 INT8=205 INT16=206 INT32=207
    INT64=208 HALF=209 FLOAT=210 DOUBLE=211 BFLOAT16=215 COMPLEX64=212 COMPLEX128=213 STRING=214 DATASET=10102
    RAGGED=10103 ITERATOR=10104 MUTEX_LOCK=10202 LEGACY_VARIANT=10203"""
ENUMERATIONS: Mapping[str, Mapping[str, int]] = {
    "DataType": WORDS,
    "FullTypeId": {f"TFT_{word}": int(number) for word, number in (row.split("=") for row in _FULL_TYPES.split())},
    "Endianness": {"LITTLE": 0, "BIG": 1},
}
"""The number of each word of an enumeration."""
