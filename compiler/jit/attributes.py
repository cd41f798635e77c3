"""The attributes that clustering reads and writes, under TensorFlow's names."""

from __future__ import annotations

from compiler.graph import Node
from compiler.tf2xla.node_types import Library

COMPILE = "_XlaCompile"
"""Whether to compile a node, or a function; from `jit_scope`."""
MUST_COMPILE = "_XlaMustCompile"
"""Whether a function must be compiled; from `tf.function(jit_compile=True)`."""
SCOPE = "_XlaScope"
INTERNAL_SCOPE = "_XlaInternalScope"
CLUSTER = "_XlaCluster"
CLUSTERED = "_XlaAlreadyClustered"
COMPILED_KERNEL = "_XlaCompiledKernel"
CONSTANT_ARGS = "_XlaNumConstantArgs"
RESOURCE_ARGS = "_XlaNumResourceArgs"
REFERENCE_VARS = "_XlaHasReferenceVars"


def cluster_of(node: Node) -> str:
    """The name of a node's cluster; empty if it is in none."""
    return text_of(node, CLUSTER)


def text_of(node: Node, name: str) -> str:
    """An attribute that is text; empty if it is not there."""
    value = node.attributes.get(name)
    return value.decode(errors="replace") if isinstance(value, bytes) else ""


def truth_of(node: Node, name: str, library: Library) -> bool | None:
    """An attribute of a node, or else of the function that it calls; None if neither has it.

    Args:
        node: of a graph.
        name: of the attribute.
        library: functions by name.
    """
    value = node.attributes.get(name)
    if not isinstance(value, bool) and node.op in library:
        value = library[node.op].attributes.get(name)
    return value if isinstance(value, bool) else None
