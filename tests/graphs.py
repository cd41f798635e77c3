"""Graphs with one of everything that the files can hold."""

import numpy as np

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
