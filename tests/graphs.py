"""Graphs with one of everything that the files can hold, and SavedModels as both releases of TensorFlow write them."""

from importlib import import_module

import numpy as np
from checkpoints import write_checkpoint

from compiler.graph import (
    BY_NAME,
    Argument,
    AttributeList,
    Function,
    FunctionReference,
    Graph,
    Node,
    PartialShape,
    PlaceholderName,
    Tensor,
    Unset,
    tensor_of,
)
from compiler.ir.types import TYPES

FLOAT, STRING = (BY_NAME[name] for name in ("float32", "string"))


def element_types():
    """Those that a data type holds."""
    held = {data_type.element_type for data_type in BY_NAME.values()}
    return [element_type for element_type in TYPES.values() if element_type in held]


def arrays(element_type):
    """Arrays of a type: a scalar, none, several, many alike."""
    some = np.array([0, 1, -1, 2.5, 7, 100, np.inf, np.nan], np.float32)
    with np.errstate(all="ignore"):
        values = np.abs(some[:5]) if element_type.kind.value != "signed" else some[:5]
        values = values if not element_type.is_float else some
        cast = values.astype(element_type.dtype)
    return [cast[1].reshape(()), cast[:0].reshape(0, 3), cast, cast[:4].reshape(2, 2), np.full((3, 1, 5), cast[1])]


ATTRIBUTES = {
    "text": b"a\x00\xff\"'\n",
    "number": -(1 << 63),
    "real": 1.5,
    "tiny": -0.0,
    "yes": True,
    "no": False,
    "type": FLOAT,
    "reference": BY_NAME["int64"].__class__(109),
    "unknown_type": FLOAT.__class__(77),
    "shape": PartialShape((None, 3)),
    "named": PartialShape((2, 3), ("rows", "")),
    "scalar": PartialShape(()),
    "no_rank": PartialShape(None),
    "zeros": Tensor(FLOAT, (1 << 40,), np.zeros(0, np.float32)),
    "splat": Tensor(FLOAT, (1 << 40, 3), np.array([2.5], np.float32)),
    "strings": Tensor(STRING, (2, 1), None, (b"one", b"")),
    "function": FunctionReference("g", {"T": FLOAT, "inner": FunctionReference("h")}),
    "placeholder": PlaceholderName("T"),
    "unset": Unset(),
    "empty": AttributeList("", ()),
    "texts": AttributeList("s", (b"x", b"")),
    "numbers": AttributeList("i", (1, -1)),
    "reals": AttributeList("f", (0.5, float("inf"))),
    "flags": AttributeList("b", (True, False)),
    "types": AttributeList("type", (FLOAT, STRING)),
    "shapes": AttributeList("shape", (PartialShape(None), PartialShape((1, None)))),
    "tensors": AttributeList("tensor", (tensor_of(np.arange(3, dtype=np.int32)),)),
    "functions": AttributeList("func", (FunctionReference("g"), FunctionReference("h", {"N": 2}))),
}


def everything():
    """A graph with every kind of attribute, and a function."""
    tensors = {
        f"{element_type}_{number}": tensor_of(array)
        for element_type in element_types()
        for number, array in enumerate(arrays(element_type))
    }
    body = [
        Node("sum", "AddV2", ("x", "y:1"), attributes={"T": PlaceholderName("T")}),
        Node("both", "Wild", ("sum:z:0", "^sum"), "/device:GPU:0"),
    ]
    inputs = (Argument("x", FLOAT), Argument("y", type_attribute="T", number_attribute="N"))
    outputs = (Argument("a", FLOAT), Argument("rest", list_attribute="L"))
    function = Function(
        "f", inputs, outputs, body, {"a": "sum:z:0", "rest": "both:out"}, {"done": "both"}, {"_noinline": True}
    )
    nodes = [
        Node("values", "Unheard", (), "/device:CPU:0", dict(ATTRIBUTES)),
        Node("tensors", "Of/Nobody", ("values", "values:3", "^values"), attributes=tensors),
    ]
    return Graph(nodes, [function], 1882, 12)


FIRST = """
node { name: "w" op: "VariableV2" }
node { name: "x" op: "Placeholder" }
node { name: "names" op: "Const" attr { key: "value" value {
  tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: "unused" string_val: "kernel" } } } }
node { name: "file" op: "Const" }
node { name: "restore" op: "RestoreV2" input: "file" input: "names" input: "file" }
node { name: "same" op: "Identity" input: "restore:1" }
node { name: "assign" op: "Assign" input: "w" input: "same" }
node { name: "all" op: "NoOp" input: "^assign" }
"""
SECOND = """
node { name: "w" op: "VarHandleOp" }
node { name: "x" op: "Placeholder" }
node { name: "file" op: "Placeholder" }
node { name: "call" op: "StatefulPartitionedCall" input: "file" input: "w"
  attr { key: "f" value { func { name: "restore" } } } }
library { function {
  signature { name: "restore" input_arg { name: "file" type: DT_STRING } input_arg { name: "h" type: DT_RESOURCE } }
  node_def { name: "names" op: "Const" attr { key: "value" value {
    tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: "unused" string_val: "kernel" } } } }
  node_def { name: "r" op: "RestoreV2" input: "file" input: "names:output:0" input: "names:output:0" }
  node_def { name: "same" op: "Identity" input: "r:tensors:1" }
  node_def { name: "assign" op: "AssignVariableOp" input: "h" input: "same:output:0" }
} }
"""
SIGNATURE = """
signature_def { key: "serving_default" value { method_name: "predict"
  inputs { key: "x" value { name: "x:0" dtype: DT_FLOAT tensor_shape { dim { size: -1 } dim { size: 2 } } } }
  outputs { key: "y" value { name: "w:0" dtype: DT_FLOAT tensor_shape { unknown_rank: true } } } } }
"""
VALUE = np.array([[1, 2], [3, 4]], np.float32)


def meta(graph, tags="tags: 'serve'"):
    return (
        f"meta_graphs {{ meta_info_def {{ {tags} tensorflow_version: '2.21.0' }} graph_def {{ {graph} }} {SIGNATURE} }}"
    )


def write_model(folder, text=None, name="saved_model.pb"):
    """A SavedModel's folder; needs protobuf."""
    messages = import_module("compiler.graph.messages")
    text = meta(FIRST) if text is None else text
    model = messages.from_text("SavedModel", text, "t")
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(text.encode() if name.endswith("txt") else model.SerializeToString())
    write_checkpoint(folder / "variables" / "variables", {"kernel": (1, VALUE)}, messages.CLASSES)
    return folder
