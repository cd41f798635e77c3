"""Calls on what ops keep in: for one run TensorArrays, with those of their gradients, and stacks; tables of keys."""

import numpy as np
from op_case import Case
from op_values import numbers

from compiler.graph import BY_NAME, Node, PartialShape
from compiler.tf2xla import RECORDS

_FLOAT = BY_NAME["float32"]
_DTYPE, _ELEMENT = {"dtype": _FLOAT}, {"T": _FLOAT}
_SIZED = {**_DTYPE, "element_shape": PartialShape((2,))}
_WAITS = ("^push1",)


def _made():
    """Nodes: TensorArrays that were scattered to, written to and split to, one of gradients, a stack of three."""
    return (
        Node("array", "TensorArrayV3", ("in2",), "", _SIZED),
        Node("whole", "TensorArrayScatterV3", ("array", "in3", "in0", "array:1"), "", _ELEMENT),
        Node("open", "TensorArrayV3", ("in2",), "", _DTYPE),
        Node("one", "TensorArrayWriteV3", ("open", "in4", "in1", "open:1"), "", _ELEMENT),
        Node("parts", "TensorArrayV3", ("in2",), "", _DTYPE),
        Node("split", "TensorArraySplitV3", ("parts", "in0", "in5", "parts:1"), "", _ELEMENT),
        Node("grad", "TensorArrayGradV3", ("array", "whole"), "", {"source": b"gradients"}),
        Node("added", "TensorArrayScatterV3", ("grad", "in3", "in0", "grad:1"), "", _ELEMENT),
        Node("again", "TensorArrayWriteV3", ("grad", "in4", "in1", "added"), "", _ELEMENT),
        Node("same", "TensorArrayGradV3", ("array", "again"), "", {"source": b"gradients"}),
        Node("stack", "StackV2", ("in2",), "", {"elem_type": _FLOAT}),
        Node("push0", "StackPushV2", ("stack", "in0"), "", _ELEMENT),
        Node("push1", "StackPushV2", ("stack", "twice", "^push0"), "", _ELEMENT),
        Node("twice", "AddV2", ("in0", "in0"), "", _ELEMENT),
        Node("closed", "TensorArrayCloseV3", ("open", "^one")),
        Node("gone", "StackCloseV2", ("stack", "^push1")),
    )


_TAKES = {
    "TensorArrayReadV3": [
        ("array", "in4", "whole"),
        ("open", "in4", "one"),
        ("parts", "in4", "split"),
        ("same", "in4", "same:1"),
    ],
    "TensorArrayGatherV3": [("array", "in3", "whole"), ("parts", "in3", "split"), ("same", "in3", "same:1")],
    "TensorArrayConcatV3": [("parts", "split")],
    "TensorArraySizeV3": [("array", "whole"), ("open", "one")],
    "TensorArrayWriteV3": [("open", "in4", "in1", "open:1")],
    "TensorArrayScatterV3": [("open", "in3", "in0", "open:1")],
    "TensorArraySplitV3": [("open", "in0", "in5", "open:1")],
    "StackPopV2": [("stack", *_WAITS)],
    "StackPushV2": [("stack", "in0", *_WAITS)],
}


def stores(name):
    """What is in a TensorArray, or a stack, after other ops have changed it."""
    given = [numbers(_FLOAT.element_type, 3, 2), numbers(_FLOAT.element_type, 2, seed=1), np.array(3, np.int32)]
    given += [np.array([2, 0, 1], np.int32), np.array(1, np.int32), np.array([1, 1, 1])]
    record = RECORDS[name]
    named = {"dtype": _FLOAT, "T": _FLOAT, "elem_type": _FLOAT}
    attributes = {key: kind for key, kind in named.items() if key in record.signature.attributes}
    count = len(record.signature.outputs)
    return [
        Case(f"{name}/float32/{n}", name, attributes, given, count, (2, 3, 4, 5), _made(), takes)
        for n, takes in enumerate(_TAKES[name])
    ]


def tables(name):
    """What is in tables that were filled with constants: unsorted ones, the same key twice, none at all."""
    for key, value, fill in (
        ("int64", "int64", "LookupTableImportV2"),
        ("int32", "float32", "InitializeTableV2"),
        ("int64", "int32", "LookupTableImportV2"),
    ):
        kinds = BY_NAME[key], BY_NAME[value]
        keys = np.array([30, -7, 10, 2**31 - 1, 10], key)
        values = np.array([3, 5, 1, 8, 1], value)
        named = ("Tkey", "Tval") if fill == "InitializeTableV2" else ("Tin", "Tout")
        filled = dict(zip(named, kinds, strict=True))
        before = (
            Node("table", "HashTableV2", (), "", {"key_dtype": kinds[0], "value_dtype": kinds[1]}),
            Node("fill", fill, ("table", "in2", "in3"), "", filled),
        )
        wanted = np.array([[10, 30, 11], [-7, -8, 2**31 - 1]], key)
        is_find = name == "LookupTableFindV2"
        for label, count in (("some", 5), ("one", 1), ("none", 0)):
            yield Case(
                f"{name}/{key}-{value}/{label}",
                name,
                {"Tin": kinds[0], "Tout": kinds[1]} if is_find else {},
                [wanted, np.array(-1, value), keys[:count], values[:count]],
                known=(2, 3),
                before=before,
                takes=("table", "in0", "in1", "^fill") if is_find else ("table", "^fill"),
            )


ROWS = {**dict.fromkeys(_TAKES, stores), **dict.fromkeys(("LookupTableFindV2", "LookupTableSizeV2"), tables)}
