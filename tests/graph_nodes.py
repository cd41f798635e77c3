"""Nodes, functions and graphs in few words, for tests of the lowering."""

import numpy as np

import compiler
from compiler.graph import BY_NAME, Argument, AttributeList, Function, FunctionReference, Node, tensor_of

FLOAT, INT, BOOL, STRING = (BY_NAME[name] for name in ("float32", "int32", "bool", "string"))
X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)

TRUE = np.ones((), bool)


def node(name, op, *inputs, **attributes):
    return Node(name, op, inputs, "", attributes)


def const(name, value, dtype=np.int32):
    tensor = tensor_of(np.array(value, dtype))
    return node(name, "Const", dtype=tensor.type, value=tensor)


def placeholder(name, data_type=FLOAT):
    return node(name, "Placeholder", dtype=data_type)


def function(name, inputs, outputs, nodes, returns, **more):
    arguments, results = (tuple(Argument(key, kind) for key, kind in ports.items()) for ports in (inputs, outputs))
    return Function(name, arguments, results, list(nodes), returns, **more)


def types(*listed):
    return AttributeList("type", listed)


def run(lowered, *more):
    compiler.verify(lowered.module)
    given = [lowered.values[name] for name in lowered.inputs if name in lowered.values]
    return compiler.interpret(lowered.module, *given, *more)


DOUBLE = function("double", {"a": FLOAT}, {"b": FLOAT}, [node("t", "AddV2", "a", "a", T=FLOAT)], {"b": "t:z:0"})
OUTER = function(
    "outer",
    {"a": FLOAT},
    {"b": FLOAT, "c": FLOAT},
    [
        node("t", "double", "a"),
        node("u", "PartitionedCall", "t:b:0", f=FunctionReference("double"), Tin=types(FLOAT), Tout=types(FLOAT)),
    ],
    {"b": "u:output:0", "c": "a"},
)
