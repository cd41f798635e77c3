"""Graphs in a compact text, for tests of clustering: a node a line, what is left out being what its op needs.

    a = Placeholder()
    b = Relu(a) {_XlaCompile=true}
    c = MatMul(a, b, ^d) on /gpu:0

Types are float32, a `Const` is a scalar unless `value` says something else, and `Stop` is an op that nobody knows.
"""

import re

import numpy as np

from compiler.graph import (
    BY_NAME,
    AttributeList,
    DataType,
    FunctionReference,
    Graph,
    Node,
    PartialShape,
    Tensor,
    tensor_of,
    verify,
)
from compiler.jit import Options, Progress, parse_flags
from compiler.jit.mark_for_compilation import mark_for_compilation
from compiler.tf2xla import RECORDS, output_count

FLOAT, INT, BOOL = (BY_NAME[name] for name in ("float32", "int32", "bool"))
SETTLED = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit --tf_xla_min_cluster_size=1"
"""Flags with which everything is clustered that can be."""

_LINE = re.compile(r"(\S+) = (\w+)\((.*?)\)(?: \{(.*)\})?(?: on (\S+))?\Z")


def graph_of(text, *functions):
    """A graph of text, and functions for its library."""
    return Graph([node_of(line.strip()) for line in text.strip().splitlines() if line.strip()], list(functions))


def node_of(line):
    name, op, inputs, attributes, device = _LINE.match(line).groups()
    taken = tuple(one.strip() for one in inputs.split(",") if one.strip())
    stated = dict(_attribute(one) for one in re.split(r", (?=\w+=)", attributes or "") if one)
    return Node(name, op, taken, device or "", {**_needed(op, taken), **stated})


def text_of(graph):
    """A graph in that text: types, and sizes of constants, which is all that clustering looks at."""
    return "\n".join(_line(node) for node in graph.nodes)


def _line(node):
    stated = []
    for name, value in sorted(node.attributes.items()):
        if isinstance(value, DataType) and value != FLOAT:
            stated.append(f"{name}={value}")
        elif name in ("frame_name", "num_outs"):
            stated.append(f"{name}={value.decode() if isinstance(value, bytes) else value}")
        elif isinstance(value, Tensor) and value.dims and str(value.type) == "int32":
            stated.append(f"{name}=[{' '.join(map(str, value.array().reshape(-1)))}]")
    attributes = f" {{{', '.join(stated)}}}" if stated else ""
    return f"{node.name} = {node.op}({', '.join(node.inputs)}){attributes}"


def _attribute(text):
    name, _, value = text.partition("=")
    if value in ("true", "false"):
        return name, value == "true"
    if value in BY_NAME:
        return name, BY_NAME[value]
    if value.startswith("@"):
        return name, FunctionReference(value[1:])
    if value.startswith("["):
        return name, tensor_of(np.array([int(one) for one in value.strip("[]").split()], np.int32))
    return name, int(value) if value.isdigit() else value.encode()


def _needed(op, inputs):
    """The attributes that an op must have."""
    if op == "Const":
        return {"dtype": FLOAT, "value": tensor_of(np.array(2, np.float32))}
    if op not in RECORDS:
        return {"T": FLOAT} if op in ("_Arg", "_Retval", "Switch", "Merge") else {}
    signature = RECORDS[op].signature
    data = len([one for one in inputs if not one.startswith("^")])
    single = sum(port.is_one for port in signature.inputs)
    found = {}
    for name, row in signature.attributes.items():
        if row.default is not None:
            continue
        if row.kind == "type":
            found[name] = FLOAT if not row.allowed or FLOAT in row.allowed else INT
        elif row.kind == "shape":
            found[name] = PartialShape(())
        elif row.kind == "int":
            found[name] = data - single
        elif row.kind == "list(type)":
            takes = any(port.type == name for port in signature.inputs)
            found[name] = AttributeList("type", (FLOAT,) * (data - single if takes else 1))
    return found


def marked(text, *functions, flags="", options=None):
    """The clusters of a graph: each as its nodes in the order of their names, and the marking."""
    graph = text if isinstance(text, Graph) else graph_of(text, *functions)
    verify(graph, output_count)
    settled = parse_flags(flags, parse_flags(SETTLED))
    marking = mark_for_compilation(graph, settled, options or Options(progress=Progress()))
    return sorted(" ".join(sorted(nodes)) for nodes in marking.members().values()), marking
