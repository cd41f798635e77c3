"""TensorFlow's half of the compiler for those who build graphs and run them: one name of the front door.

Loaded when it is first asked for, since most programs are HLO.
"""

from compiler.diagnostics import CompilerError
from compiler.graph import (
    BY_NAME,
    Argument,
    Attribute,
    AttributeList,
    DataType,
    Function,
    FunctionReference,
    Graph,
    Node,
    PartialShape,
    PlaceholderName,
    Tensor,
    encoded,
    framed,
    message_class,
    meta_graph,
    parse_graph,
    parse_message,
    read_checkpoint,
    require_protobuf,
    tensor_of,
    to_binary,
    to_text,
    write_checkpoint,
)
from compiler.graph.frames import FRAME, Frame, folded, in_order, inside_loops, is_a, with_outputs
from compiler.graph.lookup import TABLE_KEYS, TABLE_VALUES
from compiler.interpreter import prepare
from compiler.ir.shape import ArrayShape
from compiler.ir.types import of_dtype as element_type_of
from compiler.jit import (
    Compiled,
    DeviceCompiler,
    Flags,
    Marking,
    Mode,
    Options,
    Progress,
    cluster,
    cluster_of,
    flags_of,
    for_execution,
    inline_functions,
    needed,
    optimize,
)
from compiler.ops.random import philox_bits
from compiler.tf2xla import RECORDS, Record, Resource, Trait, lower
from compiler.tf2xla.adoption import adopt_all
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.differentiation import gradients, is_continuous
from compiler.tf2xla.distinct import first_seen
from compiler.tf2xla.errors import NoGradientError
from compiler.tf2xla.inference import trials_of
from compiler.tf2xla.node_types import input_types, output_names, output_types
from compiler.tf2xla.operation import NotConstantError
from compiler.tf2xla.random_numbers import generator_name, initial_state
from compiler.tf2xla.record import no_gradient
from compiler.tf2xla.refused import why_not
from compiler.tf2xla.signature import Port, Signature
from compiler.tf2xla.terms import Built, IndexedSlices, Output

__all__ = [
    "BY_NAME",
    "FRAME",
    "RECORDS",
    "TABLE_KEYS",
    "TABLE_VALUES",
    "Argument",
    "ArrayShape",
    "Attribute",
    "AttributeList",
    "Builder",
    "Built",
    "Compiled",
    "CompilerError",
    "DataType",
    "DeviceCompiler",
    "Flags",
    "Frame",
    "Function",
    "FunctionReference",
    "Graph",
    "IndexedSlices",
    "Marking",
    "Mode",
    "NoGradientError",
    "Node",
    "NotConstantError",
    "Options",
    "Output",
    "PartialShape",
    "PlaceholderName",
    "Port",
    "Progress",
    "Record",
    "Resource",
    "Signature",
    "Tensor",
    "Trait",
    "adopt_all",
    "cluster",
    "cluster_of",
    "element_type_of",
    "encoded",
    "first_seen",
    "flags_of",
    "folded",
    "for_execution",
    "framed",
    "generator_name",
    "gradients",
    "in_order",
    "initial_state",
    "inline_functions",
    "input_types",
    "inside_loops",
    "is_a",
    "is_continuous",
    "lower",
    "message_class",
    "meta_graph",
    "needed",
    "no_gradient",
    "optimize",
    "output_names",
    "output_types",
    "parse_graph",
    "parse_message",
    "philox_bits",
    "prepare",
    "read_checkpoint",
    "require_protobuf",
    "tensor_of",
    "to_binary",
    "to_text",
    "trials_of",
    "why_not",
    "with_outputs",
    "write_checkpoint",
]
